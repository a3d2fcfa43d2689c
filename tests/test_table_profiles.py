"""Table `profiles`: lengths of claims, evidence and prompts, exact and independent of order."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import GOLD, row, rows

from warrant import artifact, sample
from warrant.audit import audit, read_published
from warrant.blocks import AveritecSample
from warrant.calls.prompt import case_values, parse_template
from warrant.config import read_run
from warrant.plan import plan_run
from warrant.sample import Case
from warrant.sources import read_sources
from warrant.tables.profiles import QUANTITIES, SCHEMA, case_profile, percentile, profiles

RELEASED = "cherry-pick-override/v2/case_profiles.csv"
TEMPLATE = "Judge.\nClaim: <<CLAIM>>\nEvidence:\n<<EVIDENCE>>\n"
STATISTICS = ("mean", "median", "p25", "p75", "min", "max")
texts = st.text(alphabet="ab \n\u00a0é😀", max_size=12)
drawn_cases = st.lists(
    st.tuples(st.sampled_from(GOLD), texts, st.lists(texts, max_size=3), st.integers(0, 40)), max_size=9
)


def made(claims: list[tuple[str, str, list[str] | None]]) -> pa.Table:
    return sample.to_table([Case("g", gold, text, evidence, "s", None) for gold, text, evidence in claims], "study")


@given(st.lists(st.integers(0, 10**6), min_size=1), st.sampled_from([Fraction(1, 4), Fraction(1, 2), Fraction(3, 4)]))
def test_percentiles_are_numpys(values: list[int], share: Fraction) -> None:
    """Linear interpolation between order statistics, exact where numpy rounds."""
    found = percentile(sorted(values), share)
    assert float(found) == pytest.approx(float(np.quantile(values, float(share))))
    assert min(values) <= found <= max(values)
    assert percentile(sorted(-value for value in values), 1 - share) == -found


@given(drawn_cases)
def test_every_number_is_of_the_claims_of_its_label(
    claims: list[tuple[str, str, list[str], int]],
) -> None:
    """Counts, means, percentiles and ends are those of the label's claims, measured one by one."""
    table = profiles(made([claim[:3] for claim in claims]), [claim[3] for claim in claims])
    assert [line["label"] for line in rows(table)] == ["all", *GOLD]
    for line in rows(table):
        members = [claim for claim in claims if line["label"] in ("all", claim[0])]
        evidence = ["\n\n".join(blocks) if blocks else "(no evidence provided)" for _, _, blocks, _ in members]
        assert line["n"] == len(members)
        measured = {
            "claim_chars": [len(text) for _, text, _, _ in members],
            "claim_tokens": [len(text.split()) for _, text, _, _ in members],
            "evidence_chars": [len(text) for text in evidence],
            "evidence_tokens": [len(text.split()) for text in evidence],
            "evidence_units": [len(blocks) for _, _, blocks, _ in members],
            "prompt_chars": [length for _, _, _, length in members],
        }
        for name, values in measured.items():
            found = [line[f"{name}_{at}"] for at in STATISTICS]
            if not members:
                assert found == [None] * 6
                continue
            quartiles = np.quantile(values, [0.5, 0.25, 0.75]).tolist()
            expected = [math.fsum(values) / len(values), *quartiles, min(values), max(values)]
            assert found == pytest.approx(expected, rel=1e-12)


@given(drawn_cases, st.data())
def test_the_order_of_claims_plays_no_part(claims: list[tuple[str, str, list[str], int]], data: st.DataObject) -> None:
    """Permuting claims changes nothing."""
    order = data.draw(st.permutations(claims))
    tables = [profiles(made([claim[:3] for claim in one]), [claim[3] for claim in one]) for one in (claims, order)]
    assert rows(tables[0]) == rows(tables[1])


def test_what_the_sample_does_not_carry_is_null() -> None:
    """Without evidence its columns are null for the rows it is missing from, and prompts are null unless given."""
    found = profiles(made([("support", "a claim", ["E"]), ("refute", "another", None)]))
    everything, supported = row(found, label="all"), row(found, label="support")
    assert everything["evidence_chars_mean"] is None
    assert everything["claim_tokens_mean"] == 1.5
    assert (supported["evidence_chars_mean"], supported["evidence_units_max"]) == (1.0, 1)
    assert {line[f"prompt_chars_{at}"] for line in rows(found) for at in STATISTICS} == {None}
    with pytest.raises(ValueError, match="shorter"):
        profiles(made([("support", "a", None), ("support", "b", None)]), [3])


def test_a_claim_is_measured_as_a_judge_reads_it() -> None:
    """Characters are code points, tokens are separated by any white space, and no block at all is still shown."""
    assert case_profile("é 😀\u00a0b", ["Q: a\nA: b", "Q: c"], 7) == {
        "claim_chars": 5,
        "claim_tokens": 3,
        "evidence_chars": 15,
        "evidence_tokens": 6,
        "evidence_units": 2,
        "prompt_chars": 7,
    }
    assert case_profile("", [])["evidence_chars"] == len("(no evidence provided)")
    assert set(case_profile("", None)) == set(QUANTITIES)


# --- the program -----------------------------------------------------------------------------------------------------

CLAIMS: list[tuple[str, str, list[str] | None]] = [("support", "<<EVIDENCE>>", ["one", "two"]), ("refute", "b", [])]


def prepared(folder: Path) -> tuple[Path, list[str]]:
    """A sample and its prompts as the template renders them."""
    artifact.write(made(CLAIMS), folder / "sample.parquet")
    template = parse_template(TEMPLATE, "template")
    return folder / "sample.parquet", [
        template.render(case_values(text, blocks or []))[0] for _, text, blocks in CLAIMS
    ]


def test_prompts_are_measured_as_the_template_renders_them(run_step: Any, tmp_path: Path) -> None:
    """Fields inside values are not rendered; without a template the lengths of prompts are null."""
    path, prompts = prepared(tmp_path)
    (tmp_path / "template.txt").write_text(TEMPLATE)
    source = {"role": "prompt", "name": "template", "sha256": "", "sha256_lf": "", "bytes": None}
    found = []
    for files, settings in (([tmp_path / "template.txt"], {"sources": [source]}), ([], {"sources": []})):
        out = tmp_path / "table.parquet"
        run_step("table_profiles", {"sample": [path], "sources": files}, {"table": out}, settings)
        found.append(rows(artifact.read(out, SCHEMA)))
    assert found[0] == rows(profiles(made(CLAIMS), list(map(len, prompts))))
    assert found[1] == rows(profiles(made(CLAIMS)))


@pytest.mark.real_inputs("averitec_dev", "averitec_train", "prompt_4opt_strong")
def test_published_profiles_of_averitec(
    project: Path, real_input: Callable[[str], Path], run_step: Any, tmp_path: Path
) -> None:
    """Every released number of the whole sample agrees, rendered prompts included."""
    sources = read_sources(project / "config/sources.tsv")
    run = read_run(project / "config/runs", "paper")
    assert isinstance(run.studies["averitec"].sample[0], AveritecSample)
    drawn = plan_run("paper", run, sources, lambda source: not source.optional).studies["averitec"].sample
    files = [real_input(item["name"]) for item in drawn.settings["sources"]]
    outputs = {"sample": "sample.parquet", "map": "map.json", "composition": "composition.parquet"}
    written = {role: tmp_path / file for role, file in outputs.items()}
    run_step(drawn.program, {"sources": files}, written, drawn.settings)
    (prompt,) = [item for item in drawn.settings["sources"] if item["role"] == "prompt"]
    inputs = {"sample": [written["sample"]], "sources": [real_input(prompt["name"])]}
    out = tmp_path / "profiles.parquet"
    run_step("table_profiles", inputs, {"table": out}, {"sources": [prompt]})
    wanted = [
        line
        for line in read_published(project / "config/published/verdict.tsv")
        if (line.artifact, line.study) == ("profiles", "averitec")
    ]
    found = audit(wanted, {("averitec", "profiles"): artifact.read(out, SCHEMA).to_pylist()}, [], {}).to_pylist()
    assert len(found) == 25
    assert {line["status"] for line in found} == {"match"}


@pytest.mark.real_inputs(RELEASED, "vitaminc_panel")
def test_claims_of_vitaminc_have_their_released_lengths(real_input: Callable[[str], Path]) -> None:
    """Claim by claim, characters and tokens are the released ones, though the evidence is not at hand."""
    with real_input(RELEASED).open(encoding="utf-8-sig", newline="") as handle:
        released = [line for line in csv.DictReader(handle) if line["dataset"] == "VitaminC-Mixed"]
    claims = {}
    for line in real_input("vitaminc_panel").read_text("utf-8").splitlines():
        read = json.loads(line)
        claims[str(read["case_id"])] = case_profile(read["claim"], None)
    assert len(released) == len(claims) == 250
    for line in released:
        measured = claims[line["case_id"]]
        assert str(measured["claim_chars"]) == line["claim_characters"]
        assert str(measured["claim_tokens"]) == line["claim_whitespace_tokens"]
