"""Panel rows: what contradicts sample or contract stops at the edge by row and field, what is odd inside is flagged."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mistakes import json_lines, mutated, unless_refused

from warrant import artifact, release, sample, verdicts
from warrant.imported import Imported, Known, verdict_defaults
from warrant.sample import Case

JUDGES = ("judge-x", "judge-y", "judge-z")
MODELS = {"judge-x": "x", "judge-y": "y", "judge-z": "z"}
SINGLE, PANEL, OTHER = "single_x", "panel_xyz", "single_3opt"
GOLD = ("support", "conflicting", "insufficient")
SAMPLE = sample.to_table([Case("g", gold, f"claim {i}", ["e"], "source", i) for i, gold in enumerate(GOLD)], "study")
KNOWN = Known.of(SAMPLE)
VOTES = (("support", "support", "refute"), ("conflicting", "refute", "support"), ("insufficient", None, "support"))
MAJORITY = ("support", "conflicting", "insufficient")
Row = dict[str, Any]


def output(judge: int, case: int) -> Row:
    """One judge's output as the release has it; None among VOTES is an answer that could not be parsed."""
    verdict, text = VOTES[case][judge], f"raw {judge} {case}"
    parsed = {"verdict_raw": "?", "verdict_normal": verdict, "confidence": 0.5 + judge / 10, "reasoning": f"r {text}"}
    return {"model": JUDGES[judge], "raw_response": text, "parsed": None if verdict is None else parsed}


def row(system: str, case: int) -> Row:
    judges = range(3) if system == PANEL else range(1)
    return {
        "system": system,
        "case_id": case,
        "claim": f"claim {case}",
        "gold_normal": GOLD[case],
        "verdict_normal": MAJORITY[case] if system == PANEL else VOTES[case][0],
        "judge_outputs": [output(judge, case) for judge in judges],
    }


def valid() -> list[Row]:
    """Rows of two systems of the arm, and of one that belongs to another arm."""
    return [row(system, case) for system in (SINGLE, PANEL) for case in range(3)] + [{"system": OTHER}]


def imported(data: bytes | Sequence[Any], contract: str = "4opt") -> Imported:
    content = data if isinstance(data, bytes) else json_lines(data)
    arm = (SINGLE, PANEL)
    return release.panel_rows(content, "panel.jsonl", KNOWN, arm, (*arm, OTHER), MODELS, contract)


def content(found: Imported) -> str:
    return artifact.content_hash(artifact.from_rows(map(verdict_defaults, found.rows), verdicts.SCHEMA))


# --- what is imported ------------------------------------------------------------------------------------------------


def test_every_judge_has_one_row_a_case() -> None:
    """Rows come by case and judge, each output once however many systems repeat it, and nothing is flagged."""
    found = imported(valid())
    assert [(item["case_id"], item["model"]) for item in found.rows] == [(i, j) for i in range(3) for j in "xyz"]
    assert [item["verdict"] for item in found.rows] == [vote for votes in VOTES for vote in votes]
    assert [item["confidence"] for item in found.rows[:3]] == [Decimal("0.5"), Decimal("0.6"), Decimal("0.7")]
    assert [item["text"] for item in found.rows[:3]] == ["raw 0 0", "raw 1 0", "raw 2 0"]
    assert found.flags == []


def test_an_answer_without_a_usable_verdict_stays_in_the_rows() -> None:
    """A null output is invalid, with its text and nothing else; it is not dropped."""
    (invalid,) = [item for item in imported(valid()).rows if item["parse_status"] == "invalid"]
    assert invalid == {
        "case_id": 2,
        "model": "y",
        "text": "raw 1 2",
        "parse_status": "invalid",
        "verdict": None,
        "confidence": None,
        "reasoning": None,
    }


def test_confidences_are_exact_decimals() -> None:
    """Eighteen places come through as they stand; 0 and 1 are confidences; none stated is null."""
    for stated in ("0.950000000000000001", "0", "1", "0.0", "1.0", "5e-1"):
        text = json_lines([item for item in valid() if item["system"] != PANEL]).replace(b"0.5", stated.encode(), 1)
        found = release.panel_rows(text, "f", KNOWN, [SINGLE], [SINGLE, OTHER], MODELS, "4opt")
        assert found.rows[0]["confidence"] == Decimal(stated)
        table = artifact.from_rows(map(verdict_defaults, found.rows), verdicts.SCHEMA)
        assert table.column("confidence")[0].as_py() == Decimal(stated)
    rows = valid()
    rows[0]["judge_outputs"][0]["parsed"]["confidence"] = rows[3]["judge_outputs"][0]["parsed"]["confidence"] = None
    assert imported(rows).rows[0]["confidence"] is None


def test_one_number_spelled_twice_is_one_output() -> None:
    """0.5 and 0.50 are the same confidence."""
    data = json_lines(valid()).replace(b'"confidence": 0.5,', b'"confidence": 0.50,', 1)
    assert content(imported(data)) == content(imported(valid()))


def test_systems_of_other_arms_are_passed_over() -> None:
    """A row of a system that another arm takes is not looked into."""
    assert content(imported(valid()[:-1])) == content(imported([*valid(), {"system": OTHER, "case_id": "?"}]))


def test_blank_lines_and_crlf_are_no_rows() -> None:
    """Blank lines are passed over; a line may end in CRLF."""
    data = json_lines(valid()).replace(b"\n", b"\r\n\r\n")
    assert content(imported(data)) == content(imported(valid()))


@given(st.data())
def test_the_order_of_rows_and_of_judges_inside_a_row_plays_no_part(data: st.DataObject) -> None:
    """Shuffled rows with shuffled judges import to the same content."""
    rows = data.draw(st.permutations(valid()[:-1]))
    for item in rows:
        item["judge_outputs"] = data.draw(st.permutations(item["judge_outputs"]))
    assert imported(rows).rows == imported(valid()).rows
    assert content(imported(rows)) == content(imported(valid()))


def test_the_program_writes_rows_and_flags(run_step: Any, tmp_path: Any) -> None:
    """scripts/import_panel.py writes what the library imports, in the declared schemas."""
    rows = valid()
    rows[4]["verdict_normal"] = "support"
    (tmp_path / "panel").write_bytes(json_lines(rows))
    artifact.write(SAMPLE, tmp_path / "sample.parquet")
    settings = {
        "sources": [{"role": "rows", "name": "panel", "sha256": "", "sha256_lf": "", "bytes": None}],
        "systems": [SINGLE, PANEL],
        "all_systems": [SINGLE, PANEL, OTHER],
        "models": MODELS,
        "contract": "4opt",
    }
    outputs = {"verdicts": tmp_path / "verdicts/4opt.parquet", "flags": tmp_path / "flags/4opt.parquet"}
    inputs = {"sources": [tmp_path / "panel"], "sample": [tmp_path / "sample.parquet"]}
    run_step("import_panel", inputs, outputs, settings)
    written = artifact.read(outputs["verdicts"], verdicts.SCHEMA).to_pylist()
    assert len(written) == 9
    assert {(item["round"], item["replicate"], item["status"], item["request_sha256"]) for item in written} == {
        (0, 0, "ok", None)
    }
    (flag,) = artifact.read(outputs["flags"], verdicts.FLAGS).to_pylist()
    assert (flag["file"], flag["row"]) == ("panel", 5)


# --- flags -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("said", ["support", "refute", None, "no label at all", 3])
def test_a_row_verdict_that_the_majority_contradicts_is_flagged(said: object) -> None:
    """Row, case, system, what the row says and what the rule gives are kept; the rows are imported unchanged."""
    rows = valid()
    rows[4]["verdict_normal"] = said
    found = imported(rows)
    assert found.flags == [
        {
            "file": "panel.jsonl",
            "row": 5,
            "case_id": 1,
            "field": f"verdict_normal of {PANEL}",
            "found": str(said),
            "expected": "conflicting",
        }
    ]
    assert found.rows == imported(valid()).rows


def test_a_single_judge_without_a_verdict_has_none() -> None:
    """The majority of one unusable answer is null; anything else is flagged."""
    rows = valid()
    rows[2]["judge_outputs"][0]["parsed"] = rows[5]["judge_outputs"][0]["parsed"] = None
    rows[2]["verdict_normal"], rows[5]["verdict_normal"] = None, "support"
    assert imported(rows).flags == []
    rows[2]["verdict_normal"] = "insufficient"
    assert [(flag["row"], flag["expected"]) for flag in imported(rows).flags] == [(3, "None")]


# --- refusals --------------------------------------------------------------------------------------------------------

Edit = Callable[[list[Row]], object]


def parsed_of(rows: list[Row]) -> Row:
    """The parsed output of the single judge on case 1 (row 2)."""
    found: Row = rows[1]["judge_outputs"][0]["parsed"]
    return found


REFUSED: dict[str, tuple[Edit, tuple[str, ...]]] = {
    "repeated case": (lambda r: r.insert(2, r[1]), ("row 3", "field case_id", "case 1 of single_x again")),
    "missing case": (lambda r: r.pop(1), ("field case_id", "1 cases of single_x missing, first 1", "0 to 2")),
    "missing system": (lambda r: r.__delitem__(slice(0, 3)), ("field case_id", "3 cases of single_x missing")),
    "unknown case": (lambda r: r[1].update(case_id=3), ("row 2", "field case_id", "found 3", "from 0 to 2")),
    "negative case": (lambda r: r[1].update(case_id=-1), ("row 2", "field case_id", "found -1")),
    "extra case": (lambda r: r.append({**r[1], "case_id": 7}), ("row 8", "field case_id", "found 7")),
    "boolean case": (lambda r: r[1].update(case_id=True), ("row 2", "field case_id", "found True")),
    "text case": (lambda r: r[1].update(case_id="1"), ("row 2", "field case_id", "found '1'")),
    "decimal case": (lambda r: r[1].update(case_id=1.0), ("row 2", "field case_id", "Decimal('1.0')")),
    "no case": (lambda r: r[1].pop("case_id"), ("row 2", "field case_id", "found None")),
    "unknown system": (lambda r: r[1].update(system="x"), ("row 2", "field system", "found 'x'", SINGLE, OTHER)),
    "no system": (lambda r: r[1].pop("system"), ("row 2", "field system", "found None")),
    "other gold": (lambda r: r[1].update(gold_normal="support"), ("row 2", "field gold_normal", "'conflicting'")),
    "no gold": (lambda r: r[1].pop("gold_normal"), ("row 2", "field gold_normal", "found None")),
    "other claim": (lambda r: r[1].update(claim="claim 1 "), ("row 2", "field claim", "'claim 1 '", "'claim 1'")),
    "no outputs": (lambda r: r[1].update(judge_outputs=[]), ("row 2", "field judge_outputs", "found []")),
    "outputs no list": (lambda r: r[1].update(judge_outputs={}), ("row 2", "field judge_outputs", "found {}")),
    "output no object": (lambda r: r[1].update(judge_outputs=[1]), ("row 2", "field judge_outputs", "found 1")),
    "unknown model": (
        lambda r: r[1]["judge_outputs"][0].update(model="judge-w"),
        ("row 2", "field judge_outputs.model", "'judge-w'", "judge-x"),
    ),
    "judge twice": (
        lambda r: r[4].update(judge_outputs=[r[4]["judge_outputs"][0]] * 2),
        ("row 5", "field judge_outputs", "a judge twice"),
    ),
    "parsed no object": (
        lambda r: r[1]["judge_outputs"][0].update(parsed="conflicting"),
        ("row 2", "field judge_outputs.parsed", "'conflicting'"),
    ),
    "unknown label": (lambda r: parsed_of(r).update(verdict_normal="mixed"), ("row 2", "verdict_normal", "'mixed'")),
    "label of the release": (lambda r: parsed_of(r).update(verdict_normal="SUPPORTS"), ("row 2", "'SUPPORTS'")),
    "null label": (lambda r: parsed_of(r).update(verdict_normal=None), ("row 2", "verdict_normal", "found None")),
    "codes that are no labels": (lambda r: parsed_of(r).update(verdict_normal="none"), ("row 2", "'none'")),
    "other text": (
        lambda r: r[4]["judge_outputs"][0].update(raw_response="another"),
        ("row 5", "field judge_outputs", "another output of x on case 1 than row 2"),
    ),
    "other confidence": (
        lambda r: r[4]["judge_outputs"][0]["parsed"].update(confidence=0.51),
        ("row 5", "field judge_outputs", "another output of x on case 1 than row 2"),
    ),
    "other parse": (
        lambda r: r[4]["judge_outputs"][0].update(parsed=None),
        ("row 5", "field judge_outputs", "another output of x on case 1 than row 2"),
    ),
}


@pytest.mark.parametrize(("edit", "parts"), REFUSED.values(), ids=REFUSED.keys())
def test_what_contradicts_sample_or_contract_is_refused(refused: Any, edit: Edit, parts: tuple[str, ...]) -> None:
    """One line: the file, the row, the field, what was found and what was expected."""
    rows = copy.deepcopy(valid())
    edit(rows)
    with refused("panel.jsonl", "found", "expected", *parts):
        imported(rows)


def test_a_label_outside_the_contract_is_refused(refused: Any) -> None:
    """Conflicting is no answer under three options."""
    assert imported(valid(), "4opt").rows
    with refused("panel.jsonl", "row 2", "field parsed.verdict_normal", "'conflicting'", "['insufficient', 'refute'"):
        imported(valid(), "3opt")


@pytest.mark.parametrize("stated", ["-0.1", "1.01", "true", '"high"', "1e9", "[0.5]", "0.12345678901234567890"])
def test_a_confidence_that_is_no_share_is_refused(refused: Any, stated: str) -> None:
    """Out of range, no number, or more digits than are kept exactly: the row and the field are named."""
    data = json_lines(valid()).replace(b'"confidence": 0.5,', f'"confidence": {stated},'.encode())
    with refused("panel.jsonl, row 1, field parsed.confidence: found", "expected a number from 0 to 1"):
        imported(data)


@pytest.mark.parametrize("stated", ["NaN", "Infinity", "-Infinity"])
def test_a_confidence_that_is_no_json_is_refused(refused: Any, stated: str) -> None:
    """JSON knows no NaN: the line is named."""
    data = json_lines(valid()).replace(b'"confidence": 0.5,', f'"confidence": {stated},'.encode())
    with refused("panel.jsonl, row 1: found", f"{stated} is not JSON"):
        imported(data)


@pytest.mark.parametrize(
    ("line", "parts"),
    [
        (b'{"system": ', ("one JSON object a line",)),
        (b'{"system": "a", "system": "b"}', ("key 'system' twice", "one JSON object a line")),
        (b'{"system": {"a": 1, "a": 1}}', ("key 'a' twice",)),
        (b'{"system": "\xff"}', ("utf-8", "one JSON object a line")),
        (b'{"system": "a"} {"system": "b"}', ("Extra data",)),
        (b'["system"]', ("['system']", "a JSON object")),
        (b'{"system": NaN}', ("NaN is not JSON",)),
        (b'{"system": -Infinity}', ("-Infinity is not JSON",)),
        (b"[" * 5000, ("one JSON object a line",)),
        (b'{"case_id": 1' + b"0" * 5000 + b"}", ("one JSON object a line",)),
    ],
    ids=["cut", "key twice", "inner key twice", "not UTF-8", "two", "array", "NaN", "-Infinity", "deep", "long"],
)
def test_a_line_that_is_no_json_object_is_refused(refused: Any, line: bytes, parts: tuple[str, ...]) -> None:
    """The file and the line are named, blank lines counted."""
    with refused("panel.jsonl", "row 3", *parts):
        imported(json_lines(valid()[:1]) + b"\n" + line + b"\n" + json_lines(valid()[1:]))


# --- any mistake -----------------------------------------------------------------------------------------------------


@settings(max_examples=400)
@given(st.data())
def test_any_mistake_is_one_line_or_an_import_within_the_contract(data: st.DataObject) -> None:
    """One field replaced by any JSON value: a refusal that names the file, or rows that satisfy the contract."""
    rows = mutated(data, valid())
    found = unless_refused(lambda: imported(rows), "panel.jsonl")
    if found is None:
        return
    artifact.from_rows(found.flags, verdicts.FLAGS)
    written = artifact.from_rows(map(verdict_defaults, found.rows), verdicts.SCHEMA).to_pylist()
    assert {(item["case_id"], item["model"]) for item in written} <= {(i, j) for i in range(3) for j in "xyz"}
    assert {item["case_id"] for item in written} == {0, 1, 2}
    for item in written:
        assert item["verdict"] in ((None,) if item["parse_status"] == "invalid" else sample.GOLD)
        assert item["confidence"] is None or 0 <= item["confidence"] <= 1


# --- the sample that a panel file describes --------------------------------------------------------------------------

STRATA = {
    "vitaminc-mixed": "mixed-composite",
    "vitaminc-pure-supports": "pure-supports",
    "vitaminc-pure-refutes": "pure-refutes",
    "vitaminc-pure-nei": "pure-nei",
}


def described() -> list[Row]:
    """Two systems on four cases, one of each source."""
    gold = ("conflicting", "support", "refute", "insufficient")
    cases = [
        {"case_id": i, "source": source, "claim": f"claim {i}", "gold_normal": gold[i]}
        for i, source in enumerate(STRATA)
    ]
    return [{"system": system, **case} for system in "ab" for case in cases]


@given(st.permutations(described()))
def test_a_panel_file_describes_one_sample_whatever_the_order_of_its_rows(rows: list[Row]) -> None:
    """Claims, gold labels and strata by case id; no evidence, no row of a source."""
    cases = release.sample_cases(json_lines(rows), "panel.jsonl", "vitaminc_panel")
    assert cases == [
        Case(stratum, item["gold_normal"], item["claim"], None, "vitaminc_panel", None)
        for item, stratum in zip(described()[:4], STRATA.values(), strict=True)
    ]


@pytest.mark.parametrize(
    ("change", "parts"),
    [
        ({"claim": "another"}, ("row 6", "field claim", "'another'", "case 1 as in row 2")),
        ({"gold_normal": "refute"}, ("row 6", "case 1 as in row 2")),
        ({"source": "vitaminc-mixed"}, ("row 6", "case 1 as in row 2")),
        ({"claim": None}, ("row 6", "field claim", "a text")),
        ({"gold_normal": "none"}, ("row 6", "field gold_normal", "'none'")),
        ({"source": "fever"}, ("row 6", "field source", "'fever'", "vitaminc-pure-nei")),
        ({"case_id": True}, ("row 6", "field case_id", "True")),
        ({"case_id": -1}, ("row 6", "field case_id", "-1")),
        ({"case_id": 5}, ("field case_id", "1 cases of the sample missing, first 4", "0 to 5")),
    ],
)
def test_rows_that_disagree_on_the_sample_are_refused(refused: Any, change: Row, parts: tuple[str, ...]) -> None:
    """File, row and field are named, and the row that was there before."""
    rows = described()
    rows[5].update(change)
    with refused("panel.jsonl", *parts):
        release.sample_cases(json_lines(rows), "panel.jsonl", "vitaminc_panel")


def test_the_program_takes_sample_and_composition_from_a_panel_file(run_step: Any, tmp_path: Any) -> None:
    """scripts/sample_panel.py writes the cases and counts each stratum, without pools."""
    (tmp_path / "panel").write_bytes(json_lines(described()))
    names = {"sample": "sample.parquet", "map": "map.json", "composition": "tables/composition.parquet"}
    outputs = {name: tmp_path / file for name, file in names.items()}
    source = {"role": "rows", "name": "panel", "sha256": "", "sha256_lf": "", "bytes": None}
    run_step("sample_panel", {"sources": [tmp_path / "panel"]}, outputs, {"study": "s", "sources": [source]})
    assert sample.read(outputs["sample"]).column("evidence").null_count == 4
    rows = artifact.read(outputs["composition"], sample.COMPOSITION).to_pylist()
    assert [(item["stratum"], item["n"], item["pool"]) for item in rows] == [
        *((stratum, 1, None) for stratum in STRATA.values()),
        ("total", 4, None),
    ]
