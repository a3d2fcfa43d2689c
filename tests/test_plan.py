"""A plan builds what the inputs at hand allow, and names everything else with the sources it lacks."""

from __future__ import annotations

import json
from collections.abc import Collection
from pathlib import Path
from typing import Any

import pytest

from warrant.blocks import Profile, Responses, Run
from warrant.config import read_models, read_run
from warrant.judge_blocks import SimulatedJudge
from warrant.plan import Missing, RunPlan, StudyPlan, missing_settings, plan_run
from warrant.sources import Source, read_sources


@pytest.fixture(scope="module")
def sources(project: Path) -> dict[str, Source]:
    return read_sources(project / "config/sources.tsv")


@pytest.fixture(scope="module")
def paper(project: Path) -> Run:
    return read_run(project / "config/runs", "paper")


def planned(run: Run, sources: dict[str, Source], absent: Collection[str] = ()) -> RunPlan:
    """The plan when every source but the given ones is at hand."""
    return plan_run("paper", run, sources, lambda source: source.name not in absent)


# in the order of plan_tables
RATES = ["judges", "confusion", "rates"]
EVERY_TABLE = [
    *RATES,
    *["ladder", "arithmetic", "contrasts", "null", "veto", "residual", "utility"],
    *["confidence", "sweep", "risk", "frontier", "anatomy", "screening", "taxonomy", "accounting"],
]
READ_BY_3OPT = [*RATES, "ladder", "contrasts", "residual", "utility", "anatomy", "taxonomy", "accounting"]
NEED_EVERY_CLAIM = ["null", "risk", "frontier", "screening"]


# --- the paper -------------------------------------------------------------------------------------------------------


def test_with_every_source_at_hand_nothing_is_missing(paper: Run, sources: dict[str, Source]) -> None:
    """Both studies have every table, each arm comes from its first choice, and a study without arms has none."""
    plan = planned(paper, sources)
    assert plan.missing == plan.absent == []
    for name in ("averitec", "vitaminc_mixed"):
        study = plan.studies[name]
        assert sorted(study.tables) == sorted([*EVERY_TABLE, "profiles"])
        assert {arm: prepared.program for arm, prepared in study.arms.items()} == {
            "3opt": "import_panel",
            "4opt": "import_panel",
            "contemporary": "import_predictions",
            "certificate": "import_certificates",
        }
        assert not any(prepared.partial for prepared in study.arms.values())
    assert plan.studies["vitaminc_mixed"].sample.program == "sample_vitaminc"
    assert list(plan.studies["vitaminc_mixed_test"].tables) == ["profiles"]


def test_without_the_averitec_panel_the_null_table_is_unbuilt_and_named(paper: Run, sources: dict[str, Source]) -> None:
    """The partial panel takes its place: what it allows is built, and the source that is lacking is named."""
    plan = planned(paper, sources, {"averitec_panel"})
    study = plan.studies["averitec"]
    assert sorted(study.tables) == sorted({*EVERY_TABLE, "profiles"} - {*NEED_EVERY_CLAIM})
    assert "3opt" not in study.arms
    assert (study.arms["4opt"].program, study.arms["4opt"].partial) == ("import_taxonomy", True)
    assert plan.missing == [
        Missing("averitec", "arm 3opt", READ_BY_3OPT, [], ["averitec_panel"]),
        Missing("averitec", "arm 4opt: partial, not every claim", EVERY_TABLE, NEED_EVERY_CLAIM, ["averitec_panel"]),
    ]
    assert plan.absent == []  # an optional source is never fetched on its own
    assert plan.studies["vitaminc_mixed"] == planned(paper, sources).studies["vitaminc_mixed"]


def test_without_the_validation_split_the_sample_comes_from_the_panel_file(
    paper: Run, sources: dict[str, Source]
) -> None:
    """The second choice of a sample is used, and the composition is what it takes part in."""
    plan = planned(paper, sources, {"vitaminc_validation"})
    study = plan.studies["vitaminc_mixed"]
    assert study.sample.program == "sample_panel"
    assert study.missing == [
        Missing(
            "vitaminc_mixed",
            "the sample from vitaminc_validation",
            ["composition"],
            [],
            ["vitaminc_validation"],
        )
    ]
    assert sorted(study.tables) == sorted([*EVERY_TABLE, "profiles"])


def test_required_sources_that_are_not_at_hand_are_listed_as_absent(paper: Run, sources: dict[str, Source]) -> None:
    """They count as available, since the workflow fetches them: the plan is the same, their names are listed once."""
    required = {name for name, source in sources.items() if not source.optional and "paper/" in source.needed_by}
    plan = planned(paper, sources, {*required, "averitec_panel"})
    assert plan.absent == sorted(required)
    assert plan.studies == planned(paper, sources, {"averitec_panel"}).studies
    one = planned(paper, sources, {"vitaminc_panel"})
    assert one.absent == ["vitaminc_panel"]


def test_contrasts_keep_the_sides_that_are_at_hand(paper: Run, sources: dict[str, Source]) -> None:
    """Without three-option outputs the contrasts with them are left out, the others stay."""
    every = planned(paper, sources).studies["averitec"].tables["contrasts"].settings["contrasts"]
    kept = planned(paper, sources, {"averitec_panel"}).studies["averitec"].tables["contrasts"].settings["contrasts"]
    three = [item for item in every if "3opt" in item["a"] + item["b"]]
    assert three
    assert [item for item in every if item not in three] == kept


def test_settings_are_plain_data_with_decimals_as_texts(paper: Run, sources: dict[str, Source]) -> None:
    """What reaches a rule is JSON without floats, says which row of the table of sources it rests on, and no other."""

    def no_float(value: Any) -> bool:
        if isinstance(value, dict):
            return all(no_float(inner) for inner in value.values())
        if isinstance(value, list):
            return all(map(no_float, value))
        return not isinstance(value, float)

    plan = planned(paper, sources, {"averitec_panel"})
    for study in plan.studies.values():
        steps = [study.sample, *study.arms.values()]
        for settings in [step.settings for step in steps] + [table.settings for table in study.tables.values()]:
            assert no_float(json.loads(json.dumps(settings)))
        for step in steps:
            assert [file.rpartition("/")[2] for file in step.files] == [
                sources[item["name"]].file for item in step.settings["sources"]
            ]
            for item in step.settings["sources"]:
                assert item == {"role": item["role"], **sources[item["name"]].settings()}
    assert json.loads(json.dumps(missing_settings(plan))) == [
        {name: getattr(item, name) for name in ("study", "what", "tables", "unbuilt", "sources")}
        for item in plan.missing
    ]


# --- small runs ------------------------------------------------------------------------------------------------------


def source(name: str, optional: bool = False) -> Source:
    return Source(name, f"{name}.file", "", "0" * 64, "", None, "", "", optional, "")


SMALL = {name: source(name, optional=name.startswith("o_")) for name in ("claims", "rows", "o_rows", "o_claims", "c")}
MODELS = {"m": "a"}
PANEL = {"format": "panel", "systems": ["s"], "models": MODELS}
SYSTEMS = {
    "single/a/4opt": {"arm": "4opt", "judges": ["a"]},
    "panel/4opt": {"arm": "4opt", "judges": ["a"], "rung": "L1"},
}


def run_of(**study: Any) -> Run:
    """A run of one study; what is not given is the smallest that builds."""
    defaults = {"title": "s", "sample": [{"format": "panel", "rows": "claims"}]}
    return Run.model_validate({"title": "r", "studies": {"s": {**defaults, **study}}})


def small(run: Run, absent: Collection[str] = ()) -> StudyPlan:
    return plan_run("r", run, SMALL, lambda source: source.name not in absent).studies["s"]


def arm(*rows: str, contract: str = "4opt") -> dict[str, Any]:
    return {"contract": contract, "imports": [{**PANEL, "rows": name} for name in rows]}


CERTIFICATE = {"contract": "certificate", "imports": [{"format": "certificates", "rows": "c", "models": MODELS}]}


@pytest.mark.parametrize("place", ["sample", "arm"])
def test_an_unknown_source_is_refused(refused: Any, place: str) -> None:
    """The name and the known ones are given."""
    sample = [{"format": "panel", "rows": "clams" if place == "sample" else "claims"}]
    run = run_of(sample=sample, arms={"4opt": arm("clams" if place == "arm" else "rows")})
    with refused("config/sources.tsv", "'clams'", "'claims'"):
        small(run)


def test_a_name_with_a_slash_is_a_file_of_the_project() -> None:
    """It is at hand, has no pin, and is no source."""
    study = small(run_of(sample=[{"format": "panel", "rows": "data/own.jsonl"}]), absent=SMALL)
    assert study.sample.files == ["data/own.jsonl"]
    assert study.sample.settings["sources"] == [
        {"role": "rows", "name": "data/own.jsonl", "sha256": "", "sha256_lf": "", "bytes": None}
    ]
    assert study.missing == []


def test_a_study_whose_sample_cannot_be_had_is_refused(refused: Any) -> None:
    """Nothing can be computed without claims: the study and what it lacks are named."""
    with refused("study s", "no sample", "o_claims"):
        small(run_of(sample=[{"format": "panel", "rows": "o_claims"}]), absent={"o_claims"})


def test_the_first_input_that_is_at_hand_is_used() -> None:
    """Choices are tried in order; what was passed over is named."""
    run = run_of(arms={"4opt": arm("o_rows", "rows")}, systems=SYSTEMS)
    assert small(run).arms["4opt"].files == ["data/raw/o_rows.file"]
    study = small(run, absent={"o_rows"})
    assert study.arms["4opt"].files == ["data/raw/rows.file"]
    assert [(item.what, item.unbuilt, item.sources) for item in study.missing] == [
        ("arm 4opt: partial, not every claim", [], ["o_rows"])
    ]


def test_an_arm_that_cannot_be_had_takes_its_tables_with_it() -> None:
    """Without any outputs no table of systems is built, and each is named as unbuilt."""
    run = run_of(arms={"4opt": arm("o_rows")}, systems=SYSTEMS, typed_panel="panel/4opt")
    study = small(run, absent={"o_rows"})
    assert study.arms == {}
    assert list(study.tables) == ["profiles"]
    (item,) = study.missing
    assert (item.what, item.sources) == ("arm 4opt", ["o_rows"])
    assert sorted(item.unbuilt) == sorted(item.tables) == sorted(set(small(run).tables) - {"profiles"})


OF_SYSTEMS = {*RATES, "ladder"}
OF_A_PANEL = {"arithmetic", "confidence", "sweep", "risk"}
OF_A_VALIDATOR = {"veto", "frontier", "screening"}
PROFILE = dict.fromkeys(Profile.model_fields, "0")


@pytest.mark.parametrize(
    ("study", "tables"),
    [
        ({}, set()),
        ({"systems": SYSTEMS}, OF_SYSTEMS),
        ({"systems": SYSTEMS, "typed_panel": "panel/4opt"}, OF_SYSTEMS | OF_A_PANEL),
        ({"systems": SYSTEMS, "validator": "certificate"}, OF_SYSTEMS | {"taxonomy"}),
        (
            {"systems": SYSTEMS, "typed_panel": "panel/4opt", "validator": "certificate"},
            OF_SYSTEMS | OF_A_PANEL | OF_A_VALIDATOR | {"taxonomy"},
        ),
        (
            {
                "systems": SYSTEMS,
                "typed_panel": "panel/4opt",
                "validator": "certificate",
                "screening": None,
                "null": {"tau_e": "0.9", "tau_f": "0.9", "matched": ["0.9"]},
            },
            (OF_SYSTEMS | OF_A_PANEL | OF_A_VALIDATOR | {"taxonomy", "null"}) - {"screening"},
        ),
        (
            {"systems": SYSTEMS, "pairwise": [{"name": "p", "systems": list(SYSTEMS), "metrics": ["cov"]}]},
            OF_SYSTEMS | {"contrasts"},
        ),
        ({"systems": SYSTEMS, "residual": ["panel/4opt"]}, OF_SYSTEMS | {"residual"}),
        ({"systems": SYSTEMS, "utility": {"profiles": {"p": PROFILE}}}, OF_SYSTEMS | {"utility"}),
        ({"systems": {"p": {"arm": "4opt", "judges": ["a", "b"]}}}, {*RATES, "anatomy"}),
    ],
    ids=["none", "systems", "panel", "validator", "both", "null", "pairwise", "residual", "utility", "anatomy"],
)
def test_tables_follow_from_what_the_study_has(study: dict[str, Any], tables: set[str]) -> None:
    """A panel brings thresholds, a validator the veto, a null block the null, contrasts the contrasts."""
    run = run_of(arms={"4opt": arm("rows"), "certificate": CERTIFICATE}, **study)
    assert set(small(run).tables) == {*tables, "accounting", "profiles"}


def test_pairs_are_every_pair_once_in_the_listed_order() -> None:
    """Three systems and two metrics are six contrasts, the earlier system the baseline."""
    systems = {f"s{i}": {"arm": "4opt", "judges": ["a"]} for i in range(3)}
    pairwise = [{"name": "p", "systems": ["s2", "s0", "s1"], "metrics": ["cov", "se"]}]
    run = run_of(arms={"4opt": arm("rows")}, systems=systems, pairwise=pairwise)
    found = small(run).tables["contrasts"].settings["contrasts"]
    pairs = [("s2", "s0"), ("s2", "s1"), ("s0", "s1")]
    assert [(item["a"], item["b"], item["metric"]) for item in found] == [
        (a, b, metric) for a, b in pairs for metric in ("cov", "se")
    ]


def test_a_contrast_with_a_veto_needs_a_validator() -> None:
    """E stays without a validator, F, D and the validator itself do not."""
    sides = ["E@0.9", "F@0.9", "D/any", "validator", "conflict_if_any", "vote_margin@0.5"]
    contrasts = [{"name": f"c{i}", "a": "panel/4opt", "b": side, "metrics": ["cov"]} for i, side in enumerate(sides)]
    certificate = {**CERTIFICATE, "imports": [{**CERTIFICATE["imports"][0], "rows": "o_claims"}]}
    run = run_of(
        arms={"4opt": arm("rows"), "certificate": certificate},
        systems=SYSTEMS,
        typed_panel="panel/4opt",
        validator="certificate",
        contrasts=contrasts,
    )
    assert [item["b"] for item in small(run).tables["contrasts"].settings["contrasts"]] == sides
    without = small(run, absent={"o_claims"})
    assert [item["b"] for item in without.tables["contrasts"].settings["contrasts"]] == [
        "E@0.9",
        "conflict_if_any",
        "vote_margin@0.5",
    ]
    (item,) = without.missing
    assert (item.what, item.unbuilt) == ("arm certificate", ["veto", "frontier", "screening", "taxonomy"])


def test_every_system_of_a_file_is_known_to_each_arm_that_reads_it() -> None:
    """A row of another arm's system is passed over, a row of no arm's system is a mistake in the file."""
    three = {"contract": "3opt", "imports": [{**PANEL, "rows": "rows", "systems": ["t"]}]}
    other = {"contract": "4opt", "imports": [{**PANEL, "rows": "claims", "systems": ["u"]}]}
    study = small(run_of(arms={"4opt": arm("rows"), "3opt": three, "other": other}))
    assert study.arms["4opt"].settings["all_systems"] == study.arms["3opt"].settings["all_systems"] == ["s", "t"]
    assert study.arms["other"].settings["all_systems"] == ["u"]


# --- judges that are asked -------------------------------------------------------------------------------------------

RATES = ["sensitivity", "reversal", "false_conflict", "conflict_blindness", "untyped_blindness", "overcommitment"]
RATES += ["correlation", "confidence_right", "confidence_wrong", "confidence_noise"]


def judge(**given: Any) -> SimulatedJudge:
    return SimulatedJudge.model_validate({"provider": "simulated", "seed": 1, **dict.fromkeys(RATES, "0.1"), **given})


def asked(absent: Collection[str] = (), contract: str = "4opt", **calls: Any) -> StudyPlan:
    """A study whose one arm asks the judge `a`, unless told otherwise."""
    block = {"contract": contract, "calls": {"prompt": "config/prompts/p.txt", "judges": ["a"], **calls}}
    run = run_of(arms={"4opt": block}, systems=SYSTEMS)
    judges = {"a": judge(), "b": judge(sensitivity="0.8", latency="0.5")}
    return plan_run("r", run, SMALL, lambda source: source.name not in absent, judges).studies["s"]


def test_an_arm_that_asks_has_requests_and_parses_their_answers() -> None:
    """The prompt is an input of rendering only; verdicts come from the responses; tables do not know the difference."""
    study = asked()
    called = study.calls["4opt"]
    assert (called.render.program, called.render.files) == ("render", ["config/prompts/p.txt"])
    assert called.render.settings["simulated"] is True
    assert (study.arms["4opt"].program, study.arms["4opt"].files) == (
        "parse_verdicts",
        ["results/r/s/responses/4opt.parquet"],
    )
    assert asked(contract="certificate").arms["4opt"].program == "parse_certificates"
    imported = small(run_of(arms={"4opt": arm("rows")}, systems=SYSTEMS))
    assert study.tables == imported.tables
    assert "prompt" not in json.dumps(called.query) + json.dumps(study.arms["4opt"].settings)


def test_a_judge_brings_its_own_row_and_no_other() -> None:
    """What is sent goes to the requests, how the judge is reached to the query; another judge's block to neither."""
    called = asked(judges=["b"]).calls["4opt"]
    assert list(called.render.settings["judges"]) == list(called.query["judges"]) == ["b"]
    assert called.render.settings["judges"]["b"]["sensitivity"] == "0.8"
    assert "latency" not in called.render.settings["judges"]["b"]
    assert called.query["judges"]["b"] == {"provider": "simulated", "latency": "0.5"}


def test_where_answers_may_be_missing_bounds_stand_for_what_needs_every_claim() -> None:
    """allow_missing: table bounds comes, tables that need every claim go, and both are named."""
    block = {"contract": "4opt", "calls": {"prompt": "config/prompts/p.txt", "judges": ["a"]}}
    null = {"tau_e": "0.9", "tau_f": "0.9", "matched": ["0.9"], "draws": 100, "seed": 1}
    flags = {**block, "contract": "certificate"}
    run = run_of(arms={"4opt": block, "c": flags}, systems=SYSTEMS, typed_panel="panel/4opt", validator="c", null=null)
    sure = plan_run("r", run, SMALL, lambda _: True, {"a": judge()}).studies["s"]
    run = run.model_copy(update={"responses": Responses(allow_missing=True)})
    open_ = plan_run("r", run, SMALL, lambda _: True, {"a": judge()}).studies["s"]
    assert set(sure.tables) - set(open_.tables) == set(NEED_EVERY_CLAIM)
    assert set(open_.tables) - set(sure.tables) == {"bounds"}
    assert open_.tables["bounds"].settings["contracts"] == {"4opt": "4opt", "c": "certificate"}
    assert sure.missing == []
    (item,) = open_.missing
    assert (sorted(item.unbuilt), item.sources) == (sorted(NEED_EVERY_CLAIM), [])


def test_an_unknown_judge_is_refused(refused: Any) -> None:
    """The place, the name and the judges that there are."""
    with refused("config/runs/r.yaml", "studies.s.arms.4opt.calls.judges", "'c'", "['a', 'b']", "config/models.yaml"):
        asked(judges=["a", "c"])


def test_a_prompt_that_is_not_at_hand_leaves_its_arm_out_by_name() -> None:
    """A prompt may be a source: without it the arm is missing, as with outputs that are not there."""
    study = asked(absent={"o_rows"}, prompt="o_rows")
    assert study.arms == study.calls == {}
    (item,) = study.missing
    assert (item.what, item.sources) == ("arm 4opt", ["o_rows"])
    assert asked(prompt="rows").calls["4opt"].render.files == ["data/raw/rows.file"]


def test_an_arm_has_one_origin() -> None:
    """Outputs are imported or judges are asked: both or neither is a mistake."""
    calls = {"prompt": "config/prompts/p.txt", "judges": ["a"]}
    for block in ({"contract": "4opt"}, {**arm("rows"), "calls": calls}):
        with pytest.raises(ValueError, match="either imports or calls"):
            run_of(arms={"4opt": block})


@pytest.mark.parametrize(("name", "claims", "expected"), [("live", [285, 250], [2280, 2000]), ("local", [80], [240])])
def test_the_template_runs_ask_as_often_as_they_say(
    project: Path, sources: dict[str, Source], name: str, claims: list[int], expected: list[int]
) -> None:
    """Calls of each study, from its arms and judges; every API judge states a price, as the run has a cap."""
    judges = read_models(project / "config/models.yaml")
    run = read_run(project / "config/runs", name)
    plan = plan_run(name, run, sources, lambda _: True, judges)
    asked = [sum(len(called.query["judges"]) for called in study.calls.values()) for study in plan.studies.values()]
    assert [n * each for n, each in zip(claims, asked, strict=True)] == expected
    for study in plan.studies.values():
        for called in study.calls.values():
            assert all(judge["price"] for judge in called.query["judges"].values())
    if name == "live":
        said = (project / "config/runs/live.yaml").read_text(encoding="utf-8").splitlines()[0]
        assert "2,280 calls on AVeriTeC, 2,000 on VitaminC-Mixed" in said
