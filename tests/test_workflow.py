"""The real workflow in a copy of the checkout, in a folder with a space and an umlaut: what runs, and what reruns."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from checkouts import ROOT, copy_project, edit, planned, project_files, snakemake

pytestmark = pytest.mark.slow
TABLES_OF_3OPT = ["judges", "confusion", "rates", "ladder", "contrasts", "residual", "utility", "anatomy", "taxonomy"]
TABLES_OF_3OPT += ["accounting"]


def content_hashes(folder: Path) -> dict[str, str]:
    manifest = json.loads((folder / "results/smoke/manifest.json").read_text(encoding="utf-8"))
    return {path: about["content_sha256"] for path, about in manifest["artifacts"].items()}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the project with the smoke run built once."""
    folder = copy_project(tmp_path_factory.mktemp("a project ü") / "warrant")
    done = snakemake(folder, "--config", "runs=smoke")
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.fixture
def project(built: Path, tmp_path: Path) -> Path:
    """A clone of the built project: its files, results and metadata, copied without their dates."""
    folder = tmp_path / "clone ü"
    for name in project_files():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(built / name, folder / name)
    shutil.copytree(built / "results", folder / "results", copy_function=shutil.copyfile, dirs_exist_ok=True)
    shutil.copytree(built / ".snakemake/metadata", folder / ".snakemake/metadata")
    return folder


def smoke(folder: Path) -> Counter[str]:
    return planned(folder, "--config", "runs=smoke")


def test_smoke_run_is_small_and_complete(built: Path) -> None:
    """The smoke run has at most 45 jobs, leaves a page and a manifest, and a second run does nothing."""
    benchmarks = list((built / "logs").rglob("*.benchmark.tsv"))
    assert 0 < len(benchmarks) <= 45
    page = (built / "results/smoke/report.html").read_text(encoding="utf-8")
    assert "SIMULATED" in page
    assert smoke(built) == Counter()


def test_clone_with_results_and_metadata_reruns_nothing(project: Path) -> None:
    """A clone plus copied results and metadata has nothing to do, whatever the dates of its files."""
    assert smoke(project) == Counter()


def test_touching_everything_reruns_nothing(project: Path) -> None:
    """Dates alone rerun nothing."""
    for name in project_files():
        (project / name).touch()
    assert smoke(project) == Counter()


def importers_of(folder: Path, module: str) -> set[str]:
    """Programs that import a module, directly or not, found by importing them (independent of the static closure)."""
    code = (
        "import sys, runpy, json; sys.argv=['x']\n"
        "runpy.run_path(sys.argv_path, run_name='imported')\n"
        "print(json.dumps([n for n in sys.modules if n.startswith('warrant')]))"
    )
    found = set()
    for program in sorted((folder / "scripts").glob("*.py")):
        source = code.replace("sys.argv_path", repr(str(program)))
        done = subprocess.run(
            [sys.executable, "-c", source], cwd=folder, env={"PYTHONPATH": "scripts", "PYTHONDONTWRITEBYTECODE": "1"},
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        if module in json.loads(done.stdout.splitlines()[-1]):
            found.add(program.stem)
    return found


def test_edited_module_reruns_its_importers_and_what_follows(project: Path) -> None:
    """Editing one library module reruns exactly the programs that import it, and what depends on their outputs."""
    edit(project / "scripts/warrant/intervals.py", '"""Intervals and tests', '"""Intervals, and tests')
    programs = importers_of(project, "warrant.intervals")
    assert {"table_judges", "table_contrasts", "table_veto"} <= programs
    built_tables = Counter(path.stem for path in project.glob("results/smoke/*/tables/*.parquet"))
    rules = {name.removeprefix("table_") for name in programs if name.startswith("table_")} & set(built_tables)
    jobs = smoke(project)
    followed = {"figures_verdict", "manifest", "page"}
    assert set(jobs) - followed == rules
    assert all(jobs[rule] == built_tables[rule] for rule in rules)  # once for each study that has the table
    ran = snakemake(project, "--config", "runs=smoke")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert smoke(project) == Counter()


def test_edited_program_reruns_only_its_rule(project: Path) -> None:
    """Editing one rule's program reruns that rule, the manifest and the page."""
    edit(project / "scripts/table_veto.py", "write the table.", "write it.")
    assert smoke(project) == Counter({"veto": 1, "manifest": 1, "page": 1})


def test_restored_file_with_old_date_reruns(built: Path, project: Path) -> None:
    """A file that is edited, used, and restored with its old date reruns what used the edited one."""
    path = project / "scripts/table_veto.py"
    before = path.stat()
    original = path.read_text(encoding="utf-8")
    edit(path, "write the table.", "write it.")
    assert snakemake(project, "--config", "runs=smoke").returncode == 0
    path.write_text(original, encoding="utf-8")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns - 10**12))
    assert smoke(project)["veto"] == 1


def test_swapped_settings_rerun_and_reordered_keys_do_not(project: Path) -> None:
    """Two settings that swap their values rerun the step; the same settings in another order do not."""
    run = project / "config/runs/smoke.yaml"
    head, studies = run.read_text(encoding="utf-8").split("studies:\n")
    claims, pairs = studies.split("  pairs:\n")
    run.write_text(f"{head}studies:\n  pairs:\n{pairs}{claims}", encoding="utf-8")
    assert smoke(project) == Counter()
    edit(project / "config/runs/demo.yaml", 'tau_e: "0.90", tau_f: "0.85"', 'tau_e: "0.85", tau_f: "0.90"')
    assert smoke(project) == Counter(["null", "figures_verdict", "manifest", "page"])


def test_content_does_not_depend_on_where_it_was_computed(built: Path) -> None:
    """Sample, verdicts and tables have the committed content hashes: on every Python and machine of the CI matrix.

    After a deliberate change, renew the file: python tests/test_workflow.py
    """
    expected = json.loads((ROOT / "tests/smoke_content.json").read_text(encoding="utf-8"))
    assert content_hashes(built) == expected


def panel_rows(folder: Path) -> bytes:
    """Three-option panel rows in the release's format for the smoke run's pairs: every judge supports every claim."""
    output = {"raw_response": None, "parsed": {"verdict_normal": "support", "confidence": 0.9, "reasoning": None}}
    systems = {"single_haiku_3opt": ["judge-a"], "panel_3judge_3opt": ["judge-a", "judge-b", "judge-c"]}
    rows = [
        {
            "system": system,
            "case_id": case["case_id"],
            "claim": case["text"],
            "gold_normal": case["gold"],
            "verdict_normal": "support",
            "judge_outputs": [{"model": judge, **output} for judge in judges],
        }
        for case in pq.read_table(folder / "results/smoke/pairs/sample.parquet").to_pylist()
        for system, judges in systems.items()
    ]
    return "".join(f"{json.dumps(row)}\n" for row in rows).encode()


def optional_run(folder: Path) -> tuple[Path, bytes]:
    """A run whose three-option arm has an optional source: returns its place in data/raw and its bytes."""
    data = panel_rows(folder)
    pin = hashlib.sha256(data).hexdigest()
    with (folder / "config/sources.tsv").open("a", encoding="utf-8", newline="") as table:
        table.write(f"late_panel\tlate_panel.jsonl\t\t{pin}\t\t{len(data)}\tCC0\t\tyes\ta test\n")
    (folder / "config/runs/late.yaml").write_text(
        "extends: demo\ntitle: Late source\nstudies:\n  claims: null\n  pairs:\n"
        "    sample:\n      - {format: vitaminc, split: data/demo/vitaminc.jsonl, mixed: 12, seed: 7,\n"
        "         controls: {SUPPORTS: 6, REFUTES: 6, NOT ENOUGH INFO: 6}}\n"
        "    bootstrap: {resamples: 200}\n    screening: {resamples: 100, other_deals: 0}\n    risk: {splits: 5}\n"
        "    arms:\n      3opt:\n        calls: null\n        imports:\n"
        "          - {format: panel, rows: late_panel, systems: [single_haiku_3opt, panel_3judge_3opt],\n"
        "             models: {judge-a: judge-a, judge-b: judge-b, judge-c: judge-c}}\n",
        encoding="utf-8",
    )
    return folder / "data/raw/late_panel.jsonl", data


def test_added_optional_source_runs_its_import_tables_and_page(project: Path) -> None:
    """Without an optional source its systems are missing by name; once it is there, only what depends on it runs."""
    place, data = optional_run(project)
    first = snakemake(project, "--config", "runs=late")
    assert first.returncode == 0, first.stdout + first.stderr
    manifest = json.loads((project / "results/late/manifest.json").read_text(encoding="utf-8"))
    assert manifest["missing"] == [
        {
            "sources": ["late_panel"],
            "study": "pairs",
            "tables": TABLES_OF_3OPT,
            "unbuilt": [],
            "what": "arm 3opt",
        }
    ]
    assert "late_panel" in (project / "results/late/report.html").read_text(encoding="utf-8")
    place.parent.mkdir(exist_ok=True)
    place.write_bytes(data)
    jobs = planned(project, "--config", "runs=late")
    jobs.pop("source", None)  # the file put there may be taken into the cache
    assert jobs == Counter(["verdicts", *TABLES_OF_3OPT, "figures_verdict", "cases", "manifest", "page"])
    second = snakemake(project, "--config", "runs=late")
    assert second.returncode == 0, second.stdout + second.stderr
    assert "panel/3opt" in (project / "results/late/pairs/tables/judges.csv").read_text(encoding="utf-8")
    assert planned(project, "--config", "runs=late") == Counter()


def test_wrong_file_put_by_hand_is_refused_and_kept(project: Path) -> None:
    """A file in data/raw with another hash stops what reads it, in one line, and is not deleted."""
    place, data = optional_run(project)
    place.parent.mkdir(exist_ok=True)
    place.write_bytes(data + b"\n")
    done = snakemake(project, "--config", "runs=late")
    assert done.returncode != 0
    assert re.search(
        r"^\w+: data/raw/late_panel\.jsonl.*found 'SHA-256 \w{64}', expected \w{64}$", done.stdout + done.stderr, re.M
    )
    assert place.read_bytes() == data + b"\n"


def test_run_without_its_sources_is_left_out_by_name(project: Path) -> None:
    """By default a run whose required sources are not at hand is left out, named, with the command that brings them."""
    done = snakemake(project, "--dry-run")
    assert done.returncode == 0, done.stderr
    assert "run 'paper' is left out" in done.stderr
    assert "make fetch" in done.stderr
    assert "results/paper" not in done.stdout + done.stderr


def test_unknown_key_and_unknown_run_are_one_line_each(project: Path) -> None:
    """A mistake in the configuration stops at once with the nearest valid word."""
    assert "did you mean 'smoke'" in snakemake(project, "-n", "--config", "runs=smokes").stdout
    assert "did you mean 'strict_audit'" in snakemake(project, "-n", "--config", "strict_audits=true").stdout
    edit(project / "config/runs/smoke.yaml", "extends: demo", "extends: demo\nnotise: x")
    assert "did you mean 'notice'" in snakemake(project, "-n", "--config", "runs=smoke").stdout


if __name__ == "__main__":
    import tempfile

    with tempfile.TemporaryDirectory() as temporary:
        target = copy_project(Path(temporary) / "warrant")
        made = snakemake(target, "--config", "runs=smoke")
        assert made.returncode == 0, made.stdout + made.stderr
        text = json.dumps(content_hashes(target), indent=1, sort_keys=True) + "\n"
        (ROOT / "tests/smoke_content.json").write_text(text, encoding="utf-8")
