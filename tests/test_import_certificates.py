"""Certificates: the verdict follows from the subclaims, and every row is held to the sample and to itself."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mistakes import json_lines, mutated, unless_refused

from warrant import artifact, certificates, sample, strict_json, verdicts
from warrant.certificates import certificate_rows, deterministic_verdict, read_flags
from warrant.errors import InputError
from warrant.imported import Imported, Known, verdict_defaults
from warrant.labels import CODES, NONE, STATES
from warrant.parse_verdict import parse_certificate
from warrant.sample import Case

GOLD = ("support", "conflicting", "insufficient")
BLOCKS: tuple[list[str] | None, ...] = (["e"], ["e", "f"], None)
SAMPLE = sample.to_table(
    [Case("g", gold, f"claim {i}", BLOCKS[i], "source", i) for i, gold in enumerate(GOLD)], "study"
)
KNOWN = Known.of(SAMPLE)
MODELS = {"validator-1": "v"}
Row = dict[str, Any]


def subclaim(state: str, *ids: str, material: bool = True) -> Row:
    return {
        "text": f"t {state}",
        "material": material,
        "evidence_state": state,
        "evidence_ids": list(ids),
        "rationale": "r",
    }


LISTED = (
    [subclaim("supports", "E1", "E1"), subclaim("mixed", "E1", material=False)],
    [subclaim("supports", "E1"), subclaim("refutes", "E2")],
    [subclaim("insufficient")],
)


def row(case: int) -> Row:
    """A validator's row as the release has it, consistent with itself."""
    said = GOLD[case]
    material = [item for item in LISTED[case] if item["material"]]
    states = [item["evidence_state"] for item in material]
    return {
        "case_id": case,
        "claim": f"claim {case}",
        "gold_normal": GOLD[case],
        "model": "validator-1",
        "prompt_final_verdict": "support",
        "validator_verdict": said,
        "certificate": {
            "subclaims": copy.deepcopy(LISTED[case]),
            "reasoning": f"because {case}",
            "final_verdict": "SUPPORTS",
            "confidence": 0.75,
        },
        "validity": {
            "n_subclaims": len(LISTED[case]),
            "n_material_subclaims": len(material),
            "n_cited_evidence_ids": sum(len(item["evidence_ids"]) for item in material),
            "has_material_support": "supports" in states,
            "has_material_refute": "refutes" in states,
            "has_material_mixed": "mixed" in states,
            "has_material_insufficient": "insufficient" in states,
            "validator_verdict": said,
        },
        "raw_response": f"raw {case}",
    }


def valid() -> list[Row]:
    return [row(case) for case in range(3)]


def imported(data: bytes | Sequence[Any]) -> Imported:
    return certificate_rows(data if isinstance(data, bytes) else json_lines(data), "certificates.jsonl", KNOWN, MODELS)


def table_of(found: Imported) -> Any:
    return artifact.from_rows(map(verdict_defaults, found.rows), certificates.SCHEMA)


# --- the verdict -----------------------------------------------------------------------------------------------------

SUBCLAIMS = st.lists(st.builds(subclaim, st.sampled_from(STATES), material=st.booleans()), max_size=5)


@given(SUBCLAIMS)
def test_the_verdict_follows_from_the_material_subclaims(listed: list[Row]) -> None:
    """Mixed, or support beside refutation, is conflicting; else insufficient; else the direction; else nothing."""
    states = {item["evidence_state"] for item in listed if item["material"]}
    two_sided = "mixed" in states or ("supports" in states and "refutes" in states)
    expected = (
        "conflicting"
        if two_sided
        else "insufficient"
        if "insufficient" in states
        else "support"
        if "supports" in states
        else "refute"
        if "refutes" in states
        else None
    )
    assert deterministic_verdict(listed) == expected


@given(st.data())
def test_order_repetition_and_immaterial_subclaims_play_no_part_in_the_verdict(data: st.DataObject) -> None:
    """Permuting, repeating, or adding what is not material changes no verdict."""
    listed = data.draw(SUBCLAIMS)
    more = [{**item, "material": False} for item in data.draw(SUBCLAIMS)]
    changed = data.draw(st.permutations([*listed, *listed, *more]))
    assert deterministic_verdict(changed) == deterministic_verdict(listed)


# --- what is imported ------------------------------------------------------------------------------------------------


def test_a_row_has_verdict_statement_subclaims_and_flags() -> None:
    """The verdict is the deterministic one, the model's own stands beside it, nothing is flagged."""
    found = imported(valid())
    assert found.flags == []
    rows = table_of(found).to_pylist()
    assert [item["verdict"] for item in rows] == list(GOLD)
    assert [item["stated_verdict"] for item in rows] == ["support"] * 3
    assert [item["material_mixed"] for item in rows] == [False, False, False]
    assert [item["material_insufficient"] for item in rows] == [False, False, True]
    assert [item["subclaims"] for item in rows] == list(LISTED)
    assert {(item["model"], item["confidence"], item["parse_status"]) for item in rows} == {
        ("v", Decimal("0.75"), "ok")
    }
    assert [(item["text"], item["reasoning"]) for item in rows] == [(f"raw {i}", f"because {i}") for i in range(3)]


def test_an_immaterial_mixed_subclaim_raises_no_flag() -> None:
    """`material` is the validator's own word: a mixed subclaim that is not material is not material_mixed."""
    rows = valid()
    assert imported(rows).rows[0]["material_mixed"] is False
    rows[0]["certificate"]["subclaims"][1]["material"] = True
    found = imported(rows).rows[0]
    assert (found["material_mixed"], found["verdict"]) == (True, "conflicting")


def test_a_certificate_that_could_not_be_parsed_stays_in_the_rows() -> None:
    """It is invalid: no verdict, no flags (null, not false), no reason to stop."""
    rows = valid()
    rows[1] |= {"certificate": None, "validator_verdict": None, "prompt_final_verdict": None}
    found = imported(rows)
    assert found.flags == []
    invalid = table_of(found).to_pylist()[1]
    assert (invalid["case_id"], invalid["parse_status"], invalid["text"]) == (1, "invalid", "raw 1")
    for name in ("verdict", "confidence", "subclaims", "material_mixed", "material_insufficient", "stated_verdict"):
        assert invalid[name] is None, name


def test_a_certificate_without_a_material_subclaim_is_invalid() -> None:
    """No verdict follows from it: it is what the parser makes of such an answer, with the parser's reason."""
    rows = valid()
    for item in rows[1]["certificate"]["subclaims"]:
        item["material"] = False
    rows[1] |= {"validator_verdict": None, "validity": {"n_subclaims": 2, "n_material_subclaims": 0}}
    found = imported(rows)
    assert found.flags == []
    invalid = table_of(found).to_pylist()[1]
    said = json.dumps({**rows[1]["certificate"], "final_verdict": "SUPPORTS"}, default=float)
    parsed = parse_certificate(said)
    assert (invalid["parse_status"], invalid["reason"]) == (parsed.parse_status, parsed.reason)
    assert parsed.reason == "no_material_subclaim"
    for name in ("verdict", "confidence", "subclaims", "material_mixed", "material_insufficient", "stated_verdict"):
        assert invalid[name] is None, name
    rows[1]["validator_verdict"] = "conflicting"
    assert [flag["field"] for flag in imported(rows).flags] == ["validator_verdict"]
    rows[1]["certificate"]["confidence"] = 2
    with pytest.raises(InputError, match=r"certificate\.confidence"):
        imported(rows)


def test_why_a_released_row_is_invalid_is_not_known() -> None:
    """A certificate that the release has not, for whatever reason: null, not a guess; usable ones have none."""
    rows = valid()
    rows[1]["certificate"] = None
    assert [item["reason"] for item in table_of(imported(rows)).to_pylist()] == [None] * 3


@given(st.permutations(range(3)))
def test_the_order_of_rows_plays_no_part(order: list[int]) -> None:
    """Shuffled rows import to the same content."""
    shuffled = imported([valid()[i] for i in order])
    assert artifact.content_hash(table_of(shuffled)) == artifact.content_hash(table_of(imported(valid())))


def test_the_program_writes_rows_and_flags(run_step: Any, tmp_path: Path) -> None:
    """scripts/import_certificates.py writes what the library imports, in the declared schemas."""
    rows = valid()
    rows[1]["validator_verdict"] = "support"
    (tmp_path / "rows").write_bytes(json_lines(rows))
    artifact.write(SAMPLE, tmp_path / "sample.parquet")
    source = {"role": "rows", "name": "rows", "sha256": "", "sha256_lf": "", "bytes": None}
    outputs = {"verdicts": tmp_path / "verdicts/c.parquet", "flags": tmp_path / "flags/c.parquet"}
    inputs = {"sources": [tmp_path / "rows"], "sample": [tmp_path / "sample.parquet"]}
    run_step("import_certificates", inputs, outputs, {"sources": [source], "models": MODELS})
    verdict, mixed, insufficient, known = read_flags(outputs["verdicts"], 3)
    assert verdict.tolist() == [CODES[gold] for gold in GOLD]
    assert (mixed.tolist(), insufficient.tolist()) == ([False] * 3, [False, False, True])
    assert known.all()
    assert artifact.read(outputs["flags"], verdicts.FLAGS).column("row").to_pylist() == [2]


# --- flags -----------------------------------------------------------------------------------------------------------


def flags_of(rows: list[Row]) -> list[tuple[Any, ...]]:
    found = imported(rows)
    assert all(flag["file"] == "certificates.jsonl" for flag in found.flags)
    return [(flag["row"], flag["case_id"], flag["field"], flag["found"], flag["expected"]) for flag in found.flags]


@pytest.mark.parametrize("said", ["conflicting", "refute", None, 3])
def test_a_validator_verdict_that_does_not_follow_is_flagged(said: object) -> None:
    """What the row says and what follows are kept, and the row's verdict is what follows."""
    rows = valid()
    rows[0]["validator_verdict"] = said
    assert flags_of(rows) == [(1, 0, "validator_verdict", str(said), "support")]
    assert imported(rows).rows[0]["verdict"] == "support"


@pytest.mark.parametrize("cited", ["E3", "E0", "E01", "E1 ", "e1", "1", "", "E-1", "E1.0"])
def test_an_evidence_id_that_does_not_exist_is_flagged(cited: str) -> None:
    """Ids are E1 to the number of evidence blocks; each wrong one is flagged once, however often it is cited."""
    rows = valid()
    ids = [cited, "E2", cited]
    rows[1]["certificate"]["subclaims"][1]["evidence_ids"] = ids
    rows[1]["validity"]["n_cited_evidence_ids"] = 4
    assert flags_of(rows) == [(2, 1, "evidence_ids", cited, "E1 to E2")]


def test_evidence_ids_are_not_checked_where_the_evidence_is_not_at_hand() -> None:
    """A sample without evidence text says nothing about ids."""
    rows = valid()
    rows[2]["certificate"]["subclaims"][0]["evidence_ids"] = ["E99"]
    rows[2]["validity"]["n_cited_evidence_ids"] = 1
    assert flags_of(rows) == []


@pytest.mark.parametrize("name", [name for name in row(0)["validity"] if name != "validator_verdict"])
def test_a_validity_count_that_does_not_fit_is_flagged(name: str) -> None:
    """Counts and booleans are recomputed from the subclaims; citations count those of material ones, repeats too."""
    rows = valid()
    true = rows[0]["validity"][name]
    rows[0]["validity"][name] = (not true) if isinstance(true, bool) else true + 5
    assert flags_of(rows) == [(1, 0, f"validity.{name}", str(rows[0]["validity"][name]), str(true))]


def test_a_row_without_validity_is_not_held_to_it() -> None:
    """Counts that a row does not state cannot be wrong."""
    rows = valid()
    del rows[0]["validity"]
    del rows[1]["validity"]["n_subclaims"]
    assert flags_of(rows) == []


# --- refusals --------------------------------------------------------------------------------------------------------

Edit = Callable[[list[Row]], object]


def first(rows: list[Row]) -> Row:
    found: Row = rows[1]["certificate"]["subclaims"][0]
    return found


REFUSED: dict[str, tuple[Edit, tuple[str, ...]]] = {
    "repeated case": (lambda r: r.append(r[1]), ("row 4", "field case_id", "case 1 again")),
    "missing case": (lambda r: r.pop(1), ("field case_id", "1 cases of the validator missing, first 1", "0 to 2")),
    "no rows": (lambda r: r.clear(), ("field case_id", "3 cases of the validator missing")),
    "unknown case": (lambda r: r[1].update(case_id=3), ("row 2", "field case_id", "found 3", "from 0 to 2")),
    "boolean case": (lambda r: r[1].update(case_id=True), ("row 2", "field case_id", "found True")),
    "other gold": (lambda r: r[1].update(gold_normal="support"), ("row 2", "field gold_normal", "'conflicting'")),
    "other claim": (lambda r: r[1].update(claim="x"), ("row 2", "field claim", "'x'", "'claim 1'")),
    "unknown model": (lambda r: r[1].update(model="w"), ("row 2", "field model", "'w'", "validator-1")),
    "no model": (lambda r: r[1].pop("model"), ("row 2", "field model", "None")),
    "certificate no object": (lambda r: r[1].update(certificate=[]), ("row 2", "field certificate", "found []")),
    "no subclaims": (
        lambda r: r[1]["certificate"].update(subclaims=[]),
        ("row 2", "certificate.subclaims", "found []"),
    ),
    "subclaims absent": (lambda r: r[1]["certificate"].pop("subclaims"), ("row 2", "certificate.subclaims", "None")),
    "subclaim no object": (lambda r: r[1]["certificate"].update(subclaims=["x"]), ("row 2", "subclaims", "'x'")),
    "unknown state": (lambda r: first(r).update(evidence_state="support"), ("row 2", "evidence_state", "'support'")),
    "material a number": (lambda r: first(r).update(material=1), ("row 2", "field material", "found 1")),
    "material absent": (lambda r: first(r).pop("material"), ("row 2", "field material", "None")),
    "ids no list": (lambda r: first(r).update(evidence_ids="E1"), ("row 2", "field evidence_ids", "'E1'")),
    "ids numbers": (lambda r: first(r).update(evidence_ids=[1]), ("row 2", "field evidence_ids", "[1]")),
    "no stated verdict": (lambda r: r[1].pop("prompt_final_verdict"), ("row 2", "prompt_final_verdict", "None")),
    "stated verdict": (
        lambda r: r[1].update(prompt_final_verdict="SUPPORTS"),
        ("row 2", "prompt_final_verdict", "'SUPPORTS'", "conflicting"),
    ),
}


@pytest.mark.parametrize(("edit", "parts"), REFUSED.values(), ids=REFUSED.keys())
def test_what_contradicts_sample_or_contract_is_refused(refused: Any, edit: Edit, parts: tuple[str, ...]) -> None:
    """One line: the file, the row, the field, what was found and what was expected."""
    rows = valid()
    edit(rows)
    with refused("certificates.jsonl", "found", "expected", *parts):
        imported(rows)


@pytest.mark.parametrize("stated", ["-0.1", "1.01", "true", '"high"', "0.12345678901234567890"])
def test_a_confidence_that_is_no_share_is_refused(refused: Any, stated: str) -> None:
    """Out of range, no number, or more digits than are kept exactly: the row and the field are named."""
    with refused("certificates.jsonl, row 1, field certificate.confidence: found", "expected a number from 0 to 1"):
        imported(json_lines(valid()).replace(b"0.75", stated.encode(), 1))


@pytest.mark.parametrize(
    "line",
    [
        *(b"{", b'{"a": 1, "a": 1}', b'{"a": NaN}', b'{"a": "\xff"}', b"[]"),
        *(b'{"a": 1e9999999999999999999}', b'{"a": [-0.5E-9999999999999999999]}'),
    ],
)
def test_a_line_that_is_no_json_object_is_refused(refused: Any, line: bytes) -> None:
    """The file and the line are named."""
    with refused("certificates.jsonl", "row 2"):
        imported(json_lines(valid()[:1]) + line)


def test_a_late_repeated_key_is_found_in_linear_time() -> None:
    """Among 200,000 keys: a search for each key among all would take minutes."""
    keys = "".join(f'"{number}": 1, ' for number in range(200_000))
    with pytest.raises(ValueError, match="key '199999' twice in one object"):
        strict_json.loads("{" + keys + '"199999": 1}')


@settings(max_examples=400)
@given(st.data())
def test_any_mistake_is_one_line_or_an_import_within_the_contract(data: st.DataObject) -> None:
    """One field replaced by any JSON value, or removed: a refusal that names the file, or rows within the contract."""
    rows = mutated(data, valid())
    found = unless_refused(lambda: imported(rows), "certificates.jsonl")
    if found is None:
        return
    artifact.from_rows(found.flags, verdicts.FLAGS)
    written = table_of(found).to_pylist()
    assert [item["case_id"] for item in written] == [0, 1, 2]
    for item in written:
        usable = item["parse_status"] == "ok"
        assert usable == (item["subclaims"] is not None) == (item["material_mixed"] is not None)
        assert (item["verdict"] in sample.GOLD) if usable else (item["verdict"] is None)
        assert item["confidence"] is None or 0 <= item["confidence"] <= 1


# --- reading flags ---------------------------------------------------------------------------------------------------


def test_a_claim_without_a_usable_certificate_raises_no_flag(tmp_path: Path) -> None:
    """Its verdict is none, and neither veto applies to it."""
    rows = valid()
    rows[2]["certificate"] = None
    artifact.write(table_of(imported(rows)).take([2, 0, 1]), tmp_path / "c.parquet")
    verdict, mixed, insufficient, known = read_flags(tmp_path / "c.parquet", 3)
    assert verdict.tolist() == [CODES["support"], CODES["conflicting"], NONE]
    assert not mixed.any()
    assert not insufficient.any()
    assert known.all()


def test_a_certificate_that_did_not_come_is_not_known(tmp_path: Path) -> None:
    """infra_error: no flag, and the claim is not known to have none."""
    table = table_of(imported(valid()))
    statuses = pa.array(["ok", "infra_error", "ok"])
    position = table.schema.get_field_index("status")
    artifact.write(table.set_column(position, table.schema.field(position), statuses), tmp_path / "c.parquet")
    assert read_flags(tmp_path / "c.parquet", 3)[3].tolist() == [True, False, True]


@pytest.mark.parametrize(
    ("taken", "cases", "parts"),
    [
        ([0, 1], 3, ("field case_id", "1 cases missing", "3 cases")),
        ([0, 1, 1], 3, ("row 3", "field case_id", "found 1", "once each")),
        ([0, 1, 2], 2, ("row 3", "field case_id", "found 2", "0 to 1")),
    ],
)
def test_flags_of_a_missing_repeated_or_unknown_case_are_refused(
    tmp_path: Path, refused: Any, taken: list[int], cases: int, parts: tuple[str, ...]
) -> None:
    """Every case of the sample has one row."""
    artifact.write(table_of(imported(valid())).take(taken), tmp_path / "c.parquet")
    with refused("c.parquet", *parts):
        read_flags(tmp_path / "c.parquet", cases)
