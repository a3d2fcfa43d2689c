"""Functions and the plan. Functions only: rules are in rules/."""

import json
import os
import sys
from functools import cache
from pathlib import Path

# Steps run with the interpreter that runs Snakemake, whether or not its environment is activated. PATH says so
# instead of an absolute path, which would be recorded with every output and make a moved checkout rerun.
os.environ.update(PATH=os.pathsep.join([str(Path(sys.executable).parent), *os.get_exec_path()]))
# No bytecode caches in the checkout, UTF-8 whatever the locale, no surprises from a user's site packages.
os.environ.update(PYTHONUTF8="1", PYTHONDONTWRITEBYTECODE="1", PYTHONNOUSERSITE="1", PYTHONHASHSEED="0")
SCRIPTS = Path(os.path.relpath(Path(workflow.current_basedir).parent / "scripts"))
sys.path.insert(0, str(SCRIPTS))

from warrant.captions import DRAWN_FROM  # noqa: E402
from warrant.closure import closure, code_hash  # noqa: E402
from warrant.config import read_models, read_run, read_workflow  # noqa: E402
from warrant.errors import InputError  # noqa: E402
from warrant.plan import missing_settings, plan_run  # noqa: E402
from warrant.sources import at_hand, mirror_folder, read_sources  # noqa: E402

RUNS = Path("config/runs")
DEBATE_FIGURES = ["escalation_error", "coverage", "acted_accuracy", "split_distribution", "set_sizes"]
RAW, CACHE = Path("data/raw"), Path("cache/sources")


def planned():
    """Run blocks, plans and sources by name, of the configured runs that can be built; the others are named."""
    try:
        settings = read_workflow(config)
        sources = read_sources(Path("config/sources.tsv"))
        judges = read_models(Path("config/models.yaml"))
        mirror = mirror_folder()
        asked = "runs" in workflow.config_settings.overwrite_config
        blocks, plans = {}, {}
        for name in settings.runs:
            block = read_run(RUNS, name)
            plan = plan_run(name, block, sources, lambda source: at_hand(source, RAW, CACHE, mirror), judges)
            if plan.absent and not asked:
                left_out(name, plan.absent)
                continue
            blocks[name], plans[name] = block, plan
    except InputError as error:
        raise WorkflowError(str(error)) from None
    return settings, sources, blocks, plans


def left_out(name, absent):
    """Say which run is left out, and the command that brings it."""
    print(
        f"run '{name}' is left out: {len(absent)} of its sources are not at hand ({', '.join(absent)}).\n"
        f"  `make fetch` brings them, then the same command builds it.",
        file=sys.stderr,
    )


SETTINGS, SOURCES, BLOCKS, PLANS = planned()


@cache
def program(name):
    """Input files of a step's program: the script and every module that it imports."""
    return [str(path) for path in closure(SCRIPTS / f"{name}.py")]


@cache
def code(name):
    """SHA-256 of the program's closure: a file restored with an older date reruns what used the newer one."""
    return code_hash(SCRIPTS / f"{name}.py")


def as_json(settings):
    """Settings as one JSON object with sorted keys: swapped values rerun a step, reordered keys do not."""
    return json.dumps(settings, sort_keys=True, ensure_ascii=False)


def study(wildcards):
    """The plan of the wildcards' study."""
    return PLANS[wildcards.run].studies[wildcards.study]


def arm(wildcards):
    """The plan of the wildcards' arm."""
    return study(wildcards).arms[wildcards.arm]


def called(wildcards):
    """How the judges of the wildcards' arm are asked."""
    return study(wildcards).calls[wildcards.arm]


def query_settings(wildcards):
    """Settings of the wildcards' query; replay=true on the command line holds for every run."""
    settings = called(wildcards).query
    return as_json({**settings, "replay": settings["replay"] or SETTINGS.replay})


def all_calls():
    """Run, study, arm and how judges are asked, of every configured run."""
    return [
        (run, study_name, arm_name, item)
        for run, plan in PLANS.items()
        for study_name, study_plan in plan.studies.items()
        for arm_name, item in study_plan.calls.items()
    ]


def run_requests():
    """Every request of the configured runs."""
    return [f"results/{run}/{name}/requests/{item}.parquet" for run, name, item, _ in all_calls()]


def price_settings():
    """Settings of a price: those of the first query, with the judges of all."""
    queries = [item.query for *_, item in all_calls()]
    judges = {judge: transport for query in queries for judge, transport in query["judges"].items()}
    return as_json({**queries[0], "judges": judges}) if queries else as_json({})


def price_store():
    """The store of the configured runs' answers."""
    return next((item.query["store"] for *_, item in all_calls()), "cache/responses.sqlite")


def table_inputs(name):
    """Input function: the verdict or belief files that a table reads."""

    def files(wildcards):
        plan = study(wildcards)
        folder = f"results/{wildcards.run}/{wildcards.study}/{plan.outputs}"
        return [f"{folder}/{item}.parquet" for item in plan.tables[name].arms]

    return files


def table_settings(name):
    """Params function: a table's settings."""
    return lambda wildcards: as_json(study(wildcards).tables[name].settings)


def run_tables(wildcards):
    """Every table of a run, compositions first."""
    return [
        f"results/{wildcards.run}/{name}/tables/{table}.parquet"
        for name, plan in PLANS[wildcards.run].studies.items()
        for table in ["composition", *written(plan)]
    ]


def run_flags(wildcards):
    """What the importers of a run flagged."""
    return [
        f"results/{wildcards.run}/{name}/flags/{'beliefs/' if plan.outputs == 'beliefs' else ''}{item}.parquet"
        for name, plan in PLANS[wildcards.run].studies.items()
        for item in plan.arms
    ]


def run_figures(wildcards):
    """Figures of a run that the page shows: those whose tables there are."""
    found = []
    for name, plan in PLANS[wildcards.run].studies.items():
        if plan.kind == "debate":
            drawn = DEBATE_FIGURES if plan.tables else []
        else:
            drawn = [figure for figure, needs in DRAWN_FROM.items() if set(needs) <= set(written(plan))]
        found += [f"results/{wildcards.run}/{name}/figures/{figure}.svg" for figure in drawn]
    return found


def run_cases(wildcards):
    """Cases of a run's verdict studies."""
    return [
        f"results/{wildcards.run}/{name}/cases.json"
        for name, plan in PLANS[wildcards.run].studies.items()
        if plan.kind == "verdict" and plan.arms
    ]


def case_settings(wildcards):
    """Settings of a study's cases: what controllers need, and whether texts may be shown."""
    return as_json({**study(wildcards).cases, "text": shows_text(study(wildcards))})


def shows_text(plan):
    """Whether the licences of everything that a study reads let its texts be passed on, or text=true was said."""
    read = [plan.sample, *plan.arms.values(), *(item.render for item in plan.calls.values())]
    names = {source["name"] for prepared in read for source in prepared.settings["sources"]}
    return SETTINGS.text or all(SOURCES[name].redistributable for name in names & set(SOURCES))


def figure_tables(wildcards):
    """Tables of a verdict study that figures are drawn from."""
    return [
        f"results/{wildcards.run}/{wildcards.study}/tables/{name}.parquet"
        for name in written(study(wildcards))
        if name in {need for needs in DRAWN_FROM.values() for need in needs}
    ]


def written(plan):
    """Tables of a study, with those that the same steps write."""
    return [name for first, item in plan.tables.items() for name in [first, *item.also]]


def study_settings(wildcards):
    """What figures say of a study."""
    block = BLOCKS[wildcards.run].studies[wildcards.study]
    return {"title": block.title, "mark": block.mark}


def run_artifacts(wildcards):
    """Samples and verdicts of a run: what the manifest takes the inputs' hashes from."""
    found = []
    for name, plan in PLANS[wildcards.run].studies.items():
        found.append(f"results/{wildcards.run}/{name}/sample.parquet")
        found += [f"results/{wildcards.run}/{name}/{plan.outputs}/{item}.parquet" for item in plan.arms]
    return found


def run_settings(wildcards):
    """What the run-level steps need of the configuration, as plain data."""
    block, plan = BLOCKS[wildcards.run], PLANS[wildcards.run]
    return {
        "run": wildcards.run,
        "title": block.title,
        "notice": block.notice,
        "studies": {
            name: {"title": item.title, "note": item.note, "kind": item.kind} for name, item in block.studies.items()
        },
        "missing": missing_settings(plan),
    }


def run_sources(wildcards):
    """Rows of config/sources.tsv that the run uses."""
    used = {
        source["name"]
        for plan in PLANS[wildcards.run].studies.values()
        for prepared in [plan.sample, *plan.arms.values(), *(item.render for item in plan.calls.values())]
        for source in prepared.settings["sources"]
    }
    return [
        {
            **SOURCES[name].settings(),
            "url": SOURCES[name].url,
            "licence": SOURCES[name].licence,
            "about": SOURCES[name].about,
        }
        for name in sorted(used & set(SOURCES))
    ]


def source_row(wildcards):
    """The one row of config/sources.tsv behind a file of data/raw."""
    (found,) = [source for source in SOURCES.values() if source.file == wildcards.file]
    return found


def run_targets():
    """What a build of the configured runs consists of."""
    targets = []
    for name, block in BLOCKS.items():
        targets += [f"results/{name}/report.html", f"results/{name}/manifest.json"]
        if SETTINGS.strict_audit and block.audit:
            targets.append(f"results/{name}/audit_no_worse.txt")
    return targets


def required_sources():
    """Files of the required sources."""
    return [str(RAW / source.file) for source in SOURCES.values() if not source.optional]
