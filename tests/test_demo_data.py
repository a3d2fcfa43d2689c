"""The demo's claims: how many of each kind, in the upstream formats; and a run that needs nothing else."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from warrant import sample
from warrant.blocks import Run
from warrant.config import read_models, read_run
from warrant.plan import RunPlan, plan_run
from warrant.sources import read_sources

STUDIES = ("claims", "pairs")
CASES = {"claims": 80, "pairs": 120}


@pytest.fixture(scope="module")
def demo(project: Path) -> Run:
    return read_run(project / "config/runs", "demo")


@pytest.fixture(scope="module")
def plan(project: Path, demo: Run) -> RunPlan:
    """The plan when no source whatever is at hand."""
    sources, judges = read_sources(project / "config/sources.tsv"), read_models(project / "config/models.yaml")
    return plan_run("demo", demo, sources, lambda source: False, judges)


@pytest.fixture(scope="module")
def built(plan: RunPlan, project: Path, run_step: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The samples of every study, as the rules draw them."""
    folder = tmp_path_factory.mktemp("demo")
    for name, study in plan.studies.items():
        outputs = {"sample": "sample.parquet", "map": "map.json", "composition": "tables/composition.parquet"}
        inputs = {"sources": [project / file for file in study.sample.files]}
        written = {role: folder / name / file for role, file in outputs.items()}
        run_step(study.sample.program, inputs, written, study.sample.settings)
    return folder


def claims(project: Path) -> dict[str, list[dict[str, Any]]]:
    folder = project / "data/demo"
    return {name: json.loads((folder / f"averitec_{name}.json").read_text("utf-8")) for name in ("dev", "train")}


def rows(project: Path) -> list[dict[str, Any]]:
    text = (project / "data/demo/vitaminc.jsonl").read_text("utf-8")
    return [json.loads(line) for line in text.splitlines()]


def test_the_run_says_that_it_is_simulated(project: Path, demo: Run) -> None:
    """The notice stands in the demo and in everything that extends it."""
    for name in ("demo", "smoke"):
        notice = read_run(project / "config/runs", name).notice
        assert notice is not None
        assert notice.startswith("SIMULATED")
        assert "evidence of nothing" in notice
    assert demo.audit == []


def test_the_demo_needs_no_source_and_has_every_table(plan: RunPlan) -> None:
    """Its inputs are files of the project: nothing is absent, nothing is missing, nothing is partial."""
    assert plan.absent == plan.missing == []
    assert tuple(plan.studies) == STUDIES
    for study in plan.studies.values():
        assert len(study.tables) == 19
        for prepared in (study.sample, *(called.render for called in study.calls.values())):
            assert all(file.startswith(("data/demo/", "config/prompts/")) for file in prepared.files)


@pytest.mark.parametrize("name", STUDIES)
def test_the_draws_take_everything(built: Path, name: str) -> None:
    """80 claims with 20 of each gold label; 60 mixed pairs and 20 controls of each label; every claim once."""
    table = sample.read(built / name / "sample.parquet")
    assert table.num_rows == CASES[name]
    expected = {"support": 20, "refute": 20, "insufficient": 20, "conflicting": 20 if name == "claims" else 60}
    assert Counter(table.column("gold").to_pylist()) == expected
    assert table.column("evidence").null_count == 0
    texts = table.column("text").to_pylist()
    assert len(set(texts)) == len(texts)


def test_claims_have_the_upstream_fields(project: Path) -> None:
    """One layout for all, questions with answers of the four kinds, conflicting claims half in each split."""
    by_split = claims(project)
    listed = [claim for split in by_split.values() for claim in split]
    assert {tuple(claim) for claim in listed} == {tuple(listed[0])}
    conflicting = "Conflicting Evidence/Cherrypicking"
    assert {name: sum(c["label"] == conflicting for c in split) for name, split in by_split.items()} == {
        "dev": 10,
        "train": 10,
    }
    kinds = Counter(a["answer_type"] for c in listed for q in c["questions"] for a in q["answers"])
    assert set(kinds) == {"Extractive", "Abstractive", "Boolean", "Unanswerable"}
    assert all(1 <= len(c["questions"]) <= 4 for c in listed)
    assert all(("boolean_explanation" in a) == (a["answer_type"] == "Boolean")
               for c in listed for q in c["questions"] for a in q["answers"])  # fmt: skip


def test_pairs_are_contrastive_and_controls_are_alone(project: Path) -> None:
    """60 claims beside a supporting and a refuting sentence; 20 of each label beside one; ids are unique."""
    found = rows(project)
    assert len(found) == len({row["unique_id"] for row in found}) == 180
    labels: dict[str, list[str]] = {}
    for row in found:
        labels.setdefault(row["claim"], []).append(row["label"])
    assert Counter(tuple(sorted(each)) for each in labels.values()) == {
        ("REFUTES", "SUPPORTS"): 60,
        ("SUPPORTS",): 20,
        ("REFUTES",): 20,
        ("NOT ENOUGH INFO",): 20,
    }


def test_texts_are_of_many_alphabets_and_some_are_odd(project: Path) -> None:
    """What rendering and parsing must take as data is there: placeholders, braces, instructions, other scripts."""
    listed = [claim for split in claims(project).values() for claim in split]
    text = json.dumps(listed, ensure_ascii=False) + json.dumps(rows(project), ensure_ascii=False)
    for odd in ("<<CLAIM>>", "<<EVIDENCE>>", "{{", "gnore the evidence", "`"):
        assert odd in text, odd
    for script in ("[\u0370-\u03ff]", "[\u0400-\u04ff]", "[\u0590-\u06ff]", "[\u4e00-\u9fff]", "[\u0300-\u036f]"):
        assert re.search(script, text), script
    foreign = sum(not json.dumps(claim, ensure_ascii=False).isascii() for claim in listed)
    assert foreign >= 12


def test_the_readme_counts_what_is_there(project: Path) -> None:
    """Numbers of claims and rows in the README are those of the files."""
    readme = (project / "data/demo/README.md").read_text(encoding="utf-8")
    by_split, found = claims(project), rows(project)
    assert f"{len(by_split['dev'])} and {len(by_split['train'])} claims" in readme
    assert f"{len(found)} rows" in readme
