"""The VitaminC construction: contradicting revisions side by side, controls from claims that were not used."""

from __future__ import annotations

import io
import json
import random
import zipfile
from collections import Counter
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from warrant import sample, vitaminc
from warrant.sample import Case, Stratum
from warrant.vitaminc import construct

LABELS = ("SUPPORTS", "REFUTES", "NOT ENOUGH INFO")
GOLD = ("support", "refute", "insufficient")
STRATA = ("pure-supports", "pure-refutes", "pure-nei")
CONTROLS = {"SUPPORTS": 3, "REFUTES": 2, "NOT ENOUGH INFO": 4}


def rows_of(*pairs: tuple[str, str]) -> list[dict[str, str]]:
    """Rows from (claim, label); the evidence says which row it is."""
    return [{"claim": claim, "label": label, "evidence": f"row {i}"} for i, (claim, label) in enumerate(pairs)]


ROWS = rows_of(
    *((f"both {i % 6}", LABELS[(i // 6 + i) % 2]) for i in range(24)),  # six claims, each label twice
    *((f"one {i}", LABELS[i % 3]) for i in range(18)),
)


def constructed_again(rows: list[dict[str, str]], mixed: int, controls: dict[str, int], seed: int) -> list[Any]:
    """The construction as the study describes it, written a second time: (stratum, gold, claim, evidence, row)."""
    rng = random.Random(seed)
    claims = list(dict.fromkeys(row["claim"] for row in rows))

    def first(claim: str, label: str) -> int | None:
        found = [i for i, row in enumerate(rows) if (row["claim"], row["label"]) == (claim, label)]
        return found[0] if found else None

    candidates = [c for c in claims if first(c, "SUPPORTS") is not None and first(c, "REFUTES") is not None]
    rng.shuffle(candidates)
    cases: list[Any] = []
    for claim in candidates[:mixed]:
        supports, refutes = first(claim, "SUPPORTS"), first(claim, "REFUTES")
        assert supports is not None
        assert refutes is not None
        a, b = (supports, refutes) if rng.random() < 0.5 else (refutes, supports)
        evidence = [f"Evidence A: {rows[a]['evidence']}", f"Evidence B: {rows[b]['evidence']}"]
        cases.append(("mixed-composite", "conflicting", claim, evidence, supports))
    rng = random.Random(seed + 1)
    pools = []
    for label in LABELS:
        pool = [i for i, row in enumerate(rows) if row["label"] == label and row["claim"] not in candidates[:mixed]]
        rng.shuffle(pool)
        pools.append(pool)
    for label, gold, stratum, pool in zip(LABELS, GOLD, STRATA, pools, strict=True):
        cases += [(stratum, gold, rows[i]["claim"], [rows[i]["evidence"]], i) for i in pool[: controls[label]]]
    return cases


@given(
    pairs=st.lists(st.tuples(st.sampled_from("abcdefgh"), st.sampled_from(LABELS)), max_size=40),
    seed=st.integers(0, 2**32),
    data=st.data(),
)
def test_the_construction_is_the_described_one(pairs: list[tuple[str, str]], seed: int, data: st.DataObject) -> None:
    """For any rows, counts and seed, the cases are what the described procedure gives, and controls are disjoint."""
    rows = rows_of(*pairs)
    labels = {claim: {label for other, label in pairs if other == claim} for claim, _ in pairs}
    mixed = data.draw(st.integers(0, sum({"SUPPORTS", "REFUTES"} <= found for found in labels.values())))
    everything = constructed_again(rows, mixed, dict.fromkeys(LABELS, len(rows)), seed)
    pools = Counter(stratum for stratum, *_ in everything)
    controls = {label: data.draw(st.integers(0, pools[stratum])) for label, stratum in zip(LABELS, STRATA, strict=True)}
    cases, strata = construct(rows, mixed, controls, seed, "split")
    found = [(case.stratum, case.gold, case.text, case.evidence, case.source_row) for case in cases]
    assert found == constructed_again(rows, mixed, controls, seed)
    assert [(item.name, item.n, item.pool) for item in strata[1:]] == [
        (stratum, controls[label], pools[stratum]) for label, stratum in zip(LABELS, STRATA, strict=True)
    ]
    used = {case.text for case in cases[:mixed]}
    assert len(used) == mixed
    assert not used & {case.text for case in cases[mixed:]}


def test_counts_and_order_are_fixed() -> None:
    """Mixed cases come first, then supports, refutes and not enough information; no control row comes twice."""
    cases, strata = construct(ROWS, 4, CONTROLS, 7, "split")
    assert [case.stratum for case in cases] == (
        ["mixed-composite"] * 4 + ["pure-supports"] * 3 + ["pure-refutes"] * 2 + ["pure-nei"] * 4
    )
    assert strata[0] == Stratum("mixed-composite", None, 4, 6)
    assert len({case.source_row for case in cases}) == len(cases)
    assert {case.source for case in cases} == {"split"}


def test_a_mixed_case_shows_the_first_row_of_each_direction() -> None:
    """Whatever rows follow, the evidence is that of the claim's first SUPPORTS and first REFUTES row."""
    firsts = {}
    for row in ROWS:
        firsts.setdefault((row["claim"], row["label"]), row["evidence"])
    cases, _ = construct(ROWS, 6, CONTROLS, 7, "split")
    for case in cases[:6]:
        assert case.evidence is not None
        assert [block[:12] for block in case.evidence] == ["Evidence A: ", "Evidence B: "]
        assert {block[12:] for block in case.evidence} == {
            firsts[case.text, "SUPPORTS"],
            firsts[case.text, "REFUTES"],
        }


def test_either_direction_may_stand_first() -> None:
    """Over seeds, support comes first in about half of the mixed cases."""
    first = [
        case.evidence[0].removeprefix("Evidence A: ") == f"row {case.source_row}"
        for seed in range(50)
        for case in construct(ROWS, 6, CONTROLS, seed, "split")[0][:6]
        if case.evidence is not None
    ]
    assert 100 < sum(first) < 200 < len(first)


def test_the_order_of_keys_in_controls_plays_no_part() -> None:
    """Labels are drawn in their own order, not in that of the configuration."""
    built = [
        construct(ROWS, 4, {label: CONTROLS[label] for label in order}, 7, "split") for order in permutations(CONTROLS)
    ]
    assert all(other == built[0] for other in built)


def test_the_seed_decides_and_the_controls_use_the_next_one() -> None:
    """One seed, one sample; the controls of a seed are the controls of the draw that starts with the next seed."""
    assert construct(ROWS, 4, CONTROLS, 7, "split") == construct(ROWS, 4, CONTROLS, 7, "split")
    assert construct(ROWS, 4, CONTROLS, 7, "split") != construct(ROWS, 4, CONTROLS, 8, "split")
    pool = [i for i, row in enumerate(ROWS) if row["label"] == "SUPPORTS"]
    random.Random(8).shuffle(pool)
    cases, _ = construct(ROWS, 0, {"SUPPORTS": 3}, 7, "split")
    assert [case.source_row for case in cases] == pool[:3]


def test_a_control_label_that_is_not_named_is_not_drawn() -> None:
    """Leaving a label out leaves its stratum out."""
    cases, strata = construct(ROWS, 0, {"REFUTES": 2}, 7, "split")
    assert [case.stratum for case in cases] == ["pure-refutes"] * 2
    assert [item.name for item in strata] == ["mixed-composite", "pure-refutes"]


def test_a_claim_may_be_a_control_more_than_once_by_other_rows() -> None:
    """Controls are rows, not claims: an unused claim with several rows may give several."""
    rows = rows_of(("same", "SUPPORTS"), ("same", "SUPPORTS"))
    cases, _ = construct(rows, 0, {"SUPPORTS": 2}, 7, "split")
    assert [case.text for case in cases] == ["same", "same"]
    assert {case.source_row for case in cases} == {0, 1}


@pytest.mark.parametrize(
    ("mixed", "controls", "parts"),
    [
        (7, {}, ("mixed-composite", "6 to draw from", "at least 7")),
        (6, {"SUPPORTS": 7}, ("pure-supports", "6 to draw from", "at least 7")),
        (0, {"NOT ENOUGH INFO": 7}, ("pure-nei", "6 to draw from", "at least 7")),
    ],
)
def test_a_pool_that_is_too_small_is_refused(
    refused: Any, mixed: int, controls: dict[str, int], parts: tuple[str, ...]
) -> None:
    """The source, the stratum, what is there and what is wanted are named; claims that were used do not count."""
    with refused("split", *parts):
        construct(ROWS, mixed, controls, 7, "split")


def encoded(*rows: Any) -> bytes:
    return "\n".join(json.dumps(row) for row in rows).encode()


@pytest.mark.parametrize(
    ("second", "parts"),
    [
        (b"{", ("one JSON object a line",)),
        (b"\xff", ("one JSON object a line",)),
        (b"[1]", ("found [1]", "a JSON object")),
        (encoded({**ROWS[0], "claim": 3}), ("field claim", "found 3", "a text")),
        (encoded({**ROWS[0], "claim": None}), ("field claim", "None", "a text")),
        (encoded({**ROWS[0], "evidence": ["x"]}), ("field evidence", "['x']", "a text")),
        (encoded({**ROWS[0], "label": "supports"}), ("field label", "'supports'", "SUPPORTS")),
        (encoded({"claim": "c", "evidence": "e"}), ("field label", "None")),
    ],
    ids=["not JSON", "not UTF-8", "no object", "claim", "null claim", "evidence", "label", "no label"],
)
def test_a_row_that_cannot_be_used_is_refused(refused: Any, second: bytes, parts: tuple[str, ...]) -> None:
    """File, line (from 1, blank ones counted), field, what was found and what was expected are named."""
    with refused("split.jsonl", "row 3", *parts):
        vitaminc.read_rows(encoded(ROWS[0]) + b"\n\n" + second + b"\n", "split.jsonl")


def test_a_split_is_read_as_it_stands() -> None:
    """Blank lines are passed over, rows keep their order and their other fields."""
    rows = [{**ROWS[0], "page": "ä"}, ROWS[1]]
    data = json.dumps(rows[0], ensure_ascii=False).encode() + b"\r\n\n" + encoded(rows[1])
    assert vitaminc.read_rows(data, "split.jsonl") == rows


# --- the program -----------------------------------------------------------------------------------------------------


@pytest.fixture
def step_files(tmp_path: Path) -> dict[str, Any]:
    """Inputs, outputs and settings of scripts/sample_vitaminc.py on the small rows."""
    (tmp_path / "split").write_bytes(encoded(*ROWS))
    names = {"sample": "sample.parquet", "map": "sample_map.json", "composition": "tables/composition.parquet"}
    source = {"role": "split", "name": "split", "sha256": "", "sha256_lf": "", "bytes": None}
    return {
        "inputs": {"sources": [tmp_path / "split"]},
        "outputs": {name: tmp_path / "out" / file for name, file in names.items()},
        "settings": {
            "study": "s",
            "sources": [source],
            "member": None,
            "mixed": 4,
            "controls": CONTROLS,
            "seed": 7,
        },
    }


@pytest.mark.parametrize("zipped", [False, True])
def test_the_program_writes_sample_map_and_composition(
    run_step: Any, step_files: dict[str, Any], tmp_path: Path, zipped: bool
) -> None:
    """From a split file or from a member of a zip it writes what the library constructs."""
    if zipped:
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w") as archive:
            archive.writestr("folder/other.jsonl", "{}")
            archive.writestr("folder/split.jsonl", encoded(*ROWS))
        (tmp_path / "split").write_bytes(buffer.getvalue())
        step_files["settings"]["member"] = "folder/split.jsonl"
    run_step("sample_vitaminc", **step_files)
    cases, strata = construct(ROWS, 4, CONTROLS, 7, "split")
    out = step_files["outputs"]
    rows = sample.read(out["sample"]).to_pylist()
    assert rows == sample.to_table(cases, "s").to_pylist()
    assert json.loads(out["map"].read_text()) == [
        {name: row[name] for name in ("case_id", "stratum", "source_row", "sha256")} for row in rows
    ]
    assert [item.n for item in strata] == [4, 3, 2, 4]


def test_a_member_that_is_not_there_is_refused(
    run_step: Any, step_files: dict[str, Any], tmp_path: Path, refused: Any
) -> None:
    """The source and the member are named, whether the zip lacks it or the file is no zip."""
    step_files["settings"]["member"] = "folder/split.jsonl"
    with refused("split", "field member", "folder/split.jsonl"):
        run_step("sample_vitaminc", **step_files)
    with zipfile.ZipFile(tmp_path / "split", "w") as archive:
        archive.writestr("folder/other.jsonl", "{}")
    with refused("split", "field member", "folder/split.jsonl"):
        run_step("sample_vitaminc", **step_files)


def test_evidence_of_a_mixed_case_reads_as_two_labelled_texts() -> None:
    """Evidence A, a blank line, evidence B."""
    case = Case("mixed-composite", "conflicting", "c", ["Evidence A: x", "Evidence B: y"], "s", 0)
    assert case.evidence is not None
    assert sample.evidence_text(case.evidence) == "Evidence A: x\n\nEvidence B: y"
