"""On the public inputs: the published draws, prompts and profiles, and a release that its importers take whole."""

from __future__ import annotations

import csv
import json
import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from warrant import artifact, averitec, release, sample, verdicts
from warrant.blocks import AveritecSample
from warrant.config import read_run
from warrant.imported import Imported, Known, verdict_defaults
from warrant.labels import CODES, NONE
from warrant.plan import RunPlan, plan_run
from warrant.sample import Case, evidence_text, sha256_text
from warrant.sources import read_sources

RealInput = Callable[[str], Path]
PROFILES = "cherry-pick-override/v2/case_profiles.csv"
needs_averitec = pytest.mark.real_inputs("averitec_dev", "averitec_train", "prompt_4opt_strong")
needs_panel = pytest.mark.real_inputs("vitaminc_panel")


@pytest.fixture(scope="module")
def plan(project: Path) -> RunPlan:
    """The paper's plan without its optional sources."""
    sources = read_sources(project / "config/sources.tsv")
    return plan_run("paper", read_run(project / "config/runs", "paper"), sources, lambda source: not source.optional)


# --- AVeriTeC --------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def settings(project: Path) -> AveritecSample:
    block = read_run(project / "config/runs", "paper").studies["averitec"].sample[0]
    assert isinstance(block, AveritecSample)
    return block


@pytest.fixture(scope="module")
def drawn(settings: AveritecSample, real_input: RealInput) -> list[averitec.Drawn]:
    """The draw with the seed and counts of config/runs/paper.yaml."""
    dev, train = (
        averitec.read_rows(real_input(name).read_bytes(), name) for name in ("averitec_dev", "averitec_train")
    )
    return averitec.draw(dev, train, settings.counts, settings.seed)


@pytest.fixture(scope="module")
def cases(drawn: list[averitec.Drawn]) -> list[Case]:
    return averitec.cases(drawn, {"dev": "averitec_dev", "train": "averitec_train"})


@pytest.fixture(scope="module")
def prompts(cases: list[Case], real_input: RealInput) -> list[str]:
    """Every case in the published prompt, filled in the one way that no text in it can disturb."""
    template = real_input("prompt_4opt_strong").read_bytes().decode("utf-8")
    before, _, rest = template.partition("<<CLAIM>>")
    between, _, after = rest.partition("<<EVIDENCE>>")
    return [f"{before}{case.text}{between}{evidence_text(case.evidence or [])}{after}" for case in cases]


@needs_averitec
def test_the_averitec_draw_is_the_published_one(drawn: list[averitec.Drawn], settings: AveritecSample) -> None:
    """The written map has the SHA-256 of the authors' map."""
    assert len(drawn) == 285
    assert settings.map_sha256 is not None
    assert sha256_text(averitec.sample_map(drawn)) == settings.map_sha256


@needs_averitec
def test_prompts_are_rendered_as_they_were(prompts: list[str], settings: AveritecSample) -> None:
    """Cases 0, 1 and 2 have the published hashes."""
    assert settings.prompts is not None
    assert sorted(settings.prompts.sha256) == [0, 1, 2]
    for case_id, expected in settings.prompts.sha256.items():
        assert sha256_text(prompts[case_id]) == expected


@pytest.mark.real_inputs("averitec_dev", "averitec_train", "prompt_4opt_strong", PROFILES)
def test_every_case_has_the_published_profile(
    drawn: list[averitec.Drawn], cases: list[Case], prompts: list[str], real_input: RealInput
) -> None:
    """Every column of the released profiles, on every claim: labels, groups, characters, tokens, units, prompts."""
    with real_input(PROFILES).open(encoding="utf-8-sig", newline="") as handle:
        published = [row for row in csv.DictReader(handle) if row.pop("dataset") == "AVeriTeC"]
    computed = [
        {
            "case_id": position,
            "label": case.gold,
            "split": claim.split,
            "sample_group": claim.group,
            "claim_characters": len(case.text),
            "claim_whitespace_tokens": len(case.text.split()),
            "evidence_characters": len(evidence_text(case.evidence or [])),
            "evidence_whitespace_tokens": len(evidence_text(case.evidence or []).split()),
            "evidence_units": len(case.evidence or []),
            "rendered_prompt_characters": len(prompts[position]),
        }
        for position, (claim, case) in enumerate(zip(drawn, cases, strict=True))
    ]
    assert len(published) == 285
    assert sorted(published, key=lambda row: int(row["case_id"])) == [
        {name: str(value) for name, value in row.items()} for row in computed
    ]


# --- VitaminC --------------------------------------------------------------------------------------------------------


@pytest.mark.real_inputs("vitaminc_test")
def test_the_construction_on_the_test_split_gives_250_cases(
    plan: RunPlan, run_step: Any, real_input: RealInput, tmp_path: Path
) -> None:
    """100 mixed pairs and 50 controls of each label, no claim of a pair among the controls."""
    prepared = plan.studies["vitaminc_mixed_test"].sample
    names = {"sample": "sample.parquet", "map": "map.json", "composition": "tables/composition.parquet"}
    outputs = {role: tmp_path / file for role, file in names.items()}
    run_step(prepared.program, {"sources": [real_input("vitaminc_test")]}, outputs, prepared.settings)
    rows = sample.read(outputs["sample"]).to_pylist()
    strata = {"mixed-composite": 100, "pure-supports": 50, "pure-refutes": 50, "pure-nei": 50}
    assert len(rows) == 250
    assert Counter(row["stratum"] for row in rows) == strata
    assert [row["stratum"] for row in rows] == [name for name, n in strata.items() for _ in range(n)]
    mixed = {row["text"] for row in rows[:100]}
    assert len(mixed) == 100
    assert not mixed & {row["text"] for row in rows[100:]}
    for row in rows[:100]:
        a, b = row["evidence"]
        assert (a[:12], b[:12]) == ("Evidence A: ", "Evidence B: ")
        assert a[12:] != b[12:]
    total = artifact.read(outputs["composition"]).to_pylist()[-1]
    assert (total["stratum"], total["n"]) == ("total", 250)


# --- the panel file --------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def panel(plan: RunPlan, real_input: RealInput) -> tuple[bytes, Known, dict[str, Any]]:
    """The released panel rows, the sample that they describe, and the settings of the two arms that read them."""
    data = real_input("vitaminc_panel").read_bytes()
    table = sample.to_table(release.sample_cases(data, "vitaminc_panel", "vitaminc_panel"), "vitaminc_mixed")
    arms = plan.studies["vitaminc_mixed"].arms
    return data, Known.of(table), {arm: arms[arm].settings for arm in ("3opt", "4opt")}


def imported(data: bytes, known: Known, settings: Any) -> Imported:
    return release.panel_rows(
        data,
        "vitaminc_panel",
        known,
        settings["systems"],
        settings["all_systems"],
        settings["models"],
        settings["contract"],
    )


def content(found: Imported) -> str:
    return artifact.content_hash(artifact.from_rows(map(verdict_defaults, found.rows), verdicts.SCHEMA))


@needs_panel
def test_the_recomputed_majority_is_the_releases_on_every_row(panel: tuple[bytes, Known, dict[str, Any]]) -> None:
    """All 1,250 rows are looked at by one of the two arms, and no verdict of a row is flagged."""
    data, known, arms = panel
    systems = Counter(json.loads(line)["system"] for line in data.splitlines())
    assert systems == dict.fromkeys([*arms["3opt"]["systems"], *arms["4opt"]["systems"]], 250)
    for settings in arms.values():
        found = imported(data, known, settings)
        assert found.flags == []
        assert Counter(row["model"] for row in found.rows) == dict.fromkeys(settings["models"].values(), 250)


@needs_panel
def test_shuffled_rows_and_judges_import_to_the_same_content(panel: tuple[bytes, Known, dict[str, Any]]) -> None:
    """The order of rows, and of judges inside a row, plays no part in what is imported or sampled."""
    data, known, arms = panel
    rows = [json.loads(line) for line in data.splitlines()]
    rng = random.Random(1)
    rng.shuffle(rows)
    for row in rows:
        rng.shuffle(row["judge_outputs"])
    shuffled = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()
    assert shuffled != data
    for settings in arms.values():
        assert content(imported(shuffled, known, settings)) == content(imported(data, known, settings))
    assert release.sample_cases(shuffled, "f", "s") == release.sample_cases(data, "f", "s")


# --- every importer of the paper's run -------------------------------------------------------------------------------

# What the release says that contradicts itself: study, arm, case, field, found.
KNOWN_FLAGS = {("averitec", "certificate", 205, "evidence_ids")}
ROWS = {"averitec": {"4opt": 450, "contemporary": 1140, "certificate": 285}} | {
    "vitaminc_mixed": {"3opt": 750, "4opt": 750, "contemporary": 1000, "certificate": 250}
}


@pytest.mark.real_inputs
@pytest.mark.parametrize("name", ROWS)
def test_the_public_files_are_imported_whole(
    name: str, plan: RunPlan, run_step: Any, real_input: RealInput, tmp_path: Path
) -> None:
    """Every arm that the required sources allow has its rows, and what is flagged is what is known."""
    study = plan.studies[name]
    names = {"sample": "sample.parquet", "map": "map.json", "composition": "tables/composition.parquet"}

    def files(prepared: Any) -> list[Path]:
        return [real_input(item["name"]) for item in prepared.settings["sources"]]

    outputs = {role: tmp_path / file for role, file in names.items()}
    run_step(study.sample.program, {"sources": files(study.sample)}, outputs, study.sample.settings)
    assert set(study.arms) == set(ROWS[name])
    flags = set()
    for arm, prepared in study.arms.items():
        inputs = {"sources": files(prepared), "sample": [outputs["sample"]]}
        written = {role: tmp_path / role / f"{arm}.parquet" for role in ("verdicts", "flags")}
        run_step(prepared.program, inputs, written, prepared.settings)
        rows = artifact.read(written["verdicts"]).to_pylist()
        assert len(rows) == ROWS[name][arm], arm
        assert {CODES[row["verdict"]] for row in rows if row["verdict"] is not None} <= set(range(NONE))
        for row in artifact.read(written["flags"], verdicts.FLAGS).to_pylist():
            flags.add((name, arm, row["case_id"], row["field"]))
    assert flags == {flag for flag in KNOWN_FLAGS if flag[0] == name}


# --- the demo is our own ---------------------------------------------------------------------------------------------


@pytest.mark.real_inputs("averitec_dev", "averitec_train", "vitaminc_panel")
def test_no_claim_of_the_demo_is_public_data(project: Path, real_input: RealInput) -> None:
    """Claims and answers of data/demo occur in none of the public files."""
    public = "\n".join(real_input(name).read_text("utf-8") for name in ("averitec_dev", "averitec_train"))
    public += real_input("vitaminc_panel").read_text("utf-8")
    folder = project / "data/demo"
    ours = {
        claim["claim"]
        for name in ("averitec_dev", "averitec_train")
        for claim in json.loads((folder / f"{name}.json").read_text("utf-8"))
    }
    ours |= {json.loads(line)["claim"] for line in (folder / "vitaminc.jsonl").read_text("utf-8").splitlines()}
    assert len(ours) == 200
    for claim in ours:
        assert claim not in public
        assert json.dumps(claim)[1:-1] not in public
