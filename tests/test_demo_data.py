"""The demo is importable offline, belongs to its own draws, and says that it is an illustration."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from warrant import artifact, certificates, sample, verdicts
from warrant.blocks import Run
from warrant.config import read_run
from warrant.plan import RunPlan, plan_run
from warrant.sources import read_sources

STUDIES = ("claims", "pairs")
CASES = {"claims": 24, "pairs": 30}


@pytest.fixture(scope="module")
def demo(project: Path) -> Run:
    return read_run(project / "config/runs", "demo")


@pytest.fixture(scope="module")
def plan(project: Path, demo: Run) -> RunPlan:
    """The plan when no source whatever is at hand."""
    return plan_run("demo", demo, read_sources(project / "config/sources.tsv"), lambda source: False)


@pytest.fixture(scope="module")
def built(project: Path, plan: RunPlan, run_step: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Samples and imports of every study, as the rules run them."""
    folder = tmp_path_factory.mktemp("demo")
    for name, study in plan.studies.items():
        out = folder / name
        outputs = {"sample": "sample.parquet", "map": "map.json", "composition": "tables/composition.parquet"}
        inputs = {"sources": [project / file for file in study.sample.files]}
        step = f"sample_{study.sample.format}"
        run_step(step, inputs, {role: out / file for role, file in outputs.items()}, study.sample.settings)
        for arm, prepared in study.arms.items():
            inputs = {
                "sources": [project / file for file in prepared.files],
                "sample": [out / "sample.parquet"],
            }
            written = {role: out / role / f"{arm}.parquet" for role in ("verdicts", "flags")}
            run_step(f"import_{prepared.format}", inputs, written, prepared.settings)
    return folder


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_the_run_says_that_it_is_an_illustration(project: Path, demo: Run) -> None:
    """The notice stands in the demo and in everything that extends it."""
    for name in ("demo", "smoke"):
        notice = read_run(project / "config/runs", name).notice
        assert notice is not None
        assert "ILLUSTRATION" in notice
        assert "evidence of nothing" in notice
    assert demo.audit == []
    assert "An illustration, not a measurement" in (project / "data/demo/README.md").read_text(encoding="utf-8")


def test_the_demo_needs_no_source_and_has_every_table(plan: RunPlan) -> None:
    """Its inputs are files of the project: nothing is absent, nothing is missing, nothing is partial."""
    assert plan.absent == plan.missing == []
    assert tuple(plan.studies) == STUDIES
    for study in plan.studies.values():
        assert sorted(study.tables) == [
            "arithmetic", "confusion", "contrasts", "judges", "ladder", "null", "veto",
        ]  # fmt: skip
        for prepared in (study.sample, *study.arms.values()):
            assert all(file.startswith("data/demo/") for file in prepared.files)


@pytest.mark.parametrize("name", STUDIES)
def test_the_draws_give_the_described_samples(built: Path, name: str) -> None:
    """24 claims with six of each gold label; 12 mixed pairs and six controls of each label."""
    table = sample.read(built / name / "sample.parquet")
    assert table.num_rows == CASES[name]
    expected = {"support": 6, "refute": 6, "insufficient": 6, "conflicting": 6 if name == "claims" else 12}
    assert Counter(table.column("gold").to_pylist()) == expected
    assert table.column("evidence").null_count == 0


@pytest.mark.parametrize("name", STUDIES)
def test_every_output_belongs_to_a_case_of_the_draw(built: Path, name: str) -> None:
    """Each judge has one row a case in each arm, and each case a certificate."""
    for arm, schema, judges in (
        ("3opt", verdicts.SCHEMA, 3),
        ("4opt", verdicts.SCHEMA, 3),
        ("certificate", certificates.SCHEMA, 1),
    ):
        table = artifact.read(built / name / f"verdicts/{arm}.parquet", schema)
        assert table.num_rows == CASES[name] * judges
        assert Counter(table.column("case_id").to_pylist()) == dict.fromkeys(range(CASES[name]), judges)


def test_what_is_flagged_is_what_was_put_there(built: Path) -> None:
    """One certificate cites a piece of evidence that does not exist; nothing else contradicts itself."""
    flags = [
        (path.parent.parent.name, path.stem, row["case_id"], row["field"], row["found"], row["expected"])
        for path in sorted(built.glob("*/flags/*.parquet"))
        for row in artifact.read(path, verdicts.FLAGS).to_pylist()
    ]
    assert flags == [("claims", "certificate", 22, "evidence_ids", "E4", "E1 to E3")]


def test_one_output_of_each_study_has_no_verdict(built: Path) -> None:
    """It stays in the rows of its arm."""
    invalid = [
        (path.parent.parent.name, path.stem, row["model"], row["case_id"])
        for path in sorted(built.glob("*/verdicts/*.parquet"))
        for row in artifact.read(path).to_pylist()
        if row["parse_status"] == "invalid"
    ]
    assert invalid == [("claims", "4opt", "judge-b", 17), ("pairs", "4opt", "judge-c", 16)]


def test_placeholders_in_a_claim_are_text(built: Path) -> None:
    """Case 21 has a placeholder in its claim and in its evidence, as they were written."""
    row = sample.read(built / "claims/sample.parquet").to_pylist()[21]
    assert "<<CLAIM>>" in row["text"]
    assert any("<<EVIDENCE>>" in block for block in row["evidence"])


def test_some_mean_confidence_equals_a_threshold(built: Path) -> None:
    """The demo has cases that the arithmetic decides: a sum of three confidences that is three times a threshold."""
    for name in STUDIES:
        by_case: dict[int, list[Any]] = {}
        for row in artifact.read(built / name / "verdicts/4opt.parquet").to_pylist():
            if row["confidence"] is not None:
                by_case.setdefault(row["case_id"], []).append(row["confidence"])
        means = {sum(stated) / len(stated) for stated in by_case.values()}
        assert {str(mean.normalize()) for mean in means} & {"0.8", "0.85", "0.9", "0.95"}, name


def test_the_readme_counts_what_is_there(project: Path) -> None:
    """Numbers of claims and rows are those of the files."""
    folder = project / "data/demo"
    splits = {name: json.loads((folder / f"averitec_{name}.json").read_text("utf-8")) for name in ("dev", "train")}
    rows = lines(folder / "vitaminc.jsonl")
    assert {name: len(claims) for name, claims in splits.items()} == {"dev": 21, "train": 3}
    labels: dict[str, set[str]] = {}
    for row in rows:
        labels.setdefault(row["claim"], set()).add(row["label"])
    assert len(rows) == 68
    assert sum({"SUPPORTS", "REFUTES"} <= found for found in labels.values()) == 24
    assert sum(found == {"SUPPORTS"} for found in labels.values()) == 4
    assert sum(found == {"REFUTES"} for found in labels.values()) == 4
    for name, cases in (("averitec", 24), ("vitaminc", 30)):
        panel = lines(folder / f"{name}_panel.jsonl")
        assert Counter(row["system"] for row in panel) == dict.fromkeys({row["system"] for row in panel}, cases)
        assert len({row["system"] for row in panel}) == 5
        assert len(lines(folder / f"{name}_certificates.jsonl")) == cases
