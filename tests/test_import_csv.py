"""Tables of predictions and of the taxonomy: every cell is held to the sample and the contract."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mistakes import unless_refused

from warrant import artifact, release, sample, verdicts
from warrant.imported import Imported, Known, verdict_defaults
from warrant.sample import Case

GOLD = ("support", "conflicting", "insufficient", "conflicting")
SAMPLE = sample.to_table([Case("g", gold, f"claim {i}", ["e"], "s", i) for i, gold in enumerate(GOLD)], "study")
KNOWN = Known.of(SAMPLE)
MODELS = {"slot_a": "a", "slot_b": "b"}
Table = list[list[str]]

PREDICTIONS = ["model_slot", "dataset", "case_id", "gold", "pred"]
TAXONOMY = ["dataset", "case_id", "model", "structural_category", "prediction", "is_dataset_cco", "confidence"]
PREDICTED = {
    "slot_a": ("support", "conflicting", "parse_failure", "refute"),
    "slot_b": ("refute", "insufficient", "insufficient", "conflicting"),
}
JUDGED = {
    "slot_a": {1: ("support", "0.9"), 3: ("conflicting", "0.85")},
    "slot_b": {1: ("parse_failure", ""), 3: ("refute", "0.123456789012345678")},
}


def predictions_table() -> Table:
    cells = [
        [slot, "D", str(i), GOLD[i], said] for slot, answers in PREDICTED.items() for i, said in enumerate(answers)
    ]
    return [PREDICTIONS, *cells]


def taxonomy_table() -> Table:
    cells = [
        ["D", str(i), slot, "none", said, str(int(said in ("support", "refute"))), stated]
        for slot, answers in JUDGED.items()
        for i, (said, stated) in answers.items()
    ]
    return [TAXONOMY, *cells, ["other", "x", "y", "z", "?", "?", "?"]]


def encoded(table: Sequence[Sequence[str]]) -> bytes:
    return "".join(",".join(cells) + "\n" for cells in table).encode()


def predictions(table: bytes | Table, contract: str = "4opt") -> Imported:
    data = table if isinstance(table, bytes) else encoded(table)
    return release.predictions(data, "table.csv", KNOWN, "D", MODELS, contract)


def taxonomy(table: bytes | Table, contract: str = "4opt") -> Imported:
    data = table if isinstance(table, bytes) else encoded(table)
    return release.taxonomy(data, "table.csv", KNOWN, "D", MODELS, contract)


def content(found: Imported) -> str:
    return artifact.content_hash(artifact.from_rows(map(verdict_defaults, found.rows), verdicts.SCHEMA))


# --- what is imported ------------------------------------------------------------------------------------------------


def test_predictions_are_verdicts_without_confidence_or_text() -> None:
    """One row a model and case; an answer that could not be parsed is invalid and stays."""
    found = predictions(predictions_table())
    assert found.flags == []
    assert {(row["model"], row["case_id"]): row["verdict"] for row in found.rows} == {
        (MODELS[slot], i): None if said == "parse_failure" else said
        for slot, answers in PREDICTED.items()
        for i, said in enumerate(answers)
    }
    assert [row["case_id"] for row in found.rows if row["parse_status"] == "invalid"] == [2]
    assert {(row["confidence"], row["text"], row["reasoning"]) for row in found.rows} == {(None, None, None)}


def test_the_taxonomy_is_a_partial_panel_on_the_gold_conflicting_claims() -> None:
    """Votes and exact confidences of every judge there; rows of another data set are passed over."""
    found = taxonomy(taxonomy_table())
    assert found.flags == []
    assert {(row["model"], row["case_id"]): (row["verdict"], row["confidence"]) for row in found.rows} == {
        ("a", 1): ("support", Decimal("0.9")),
        ("a", 3): ("conflicting", Decimal("0.85")),
        ("b", 1): (None, None),
        ("b", 3): ("refute", Decimal("0.123456789012345678")),
    }
    assert [row["parse_status"] for row in found.rows] == ["ok", "ok", "invalid", "ok"]


@given(st.data())
def test_the_order_of_rows_plays_no_part(data: st.DataObject) -> None:
    """Shuffled rows import to the same content."""
    for build, importer in ((predictions_table, predictions), (taxonomy_table, taxonomy)):
        header, *rows = build()
        shuffled = [header, *data.draw(st.permutations(rows))]
        assert content(importer(shuffled)) == content(importer(build()))


def test_a_byte_order_mark_crlf_and_quotes_are_part_of_csv() -> None:
    """The same table with them imports to the same content."""
    data = encoded(predictions_table())
    dressed = b"\xef\xbb\xbf" + data.replace(b"\n", b"\r\n").replace(b"support", b'"support"')
    assert content(predictions(dressed)) == content(predictions(data))


@pytest.mark.parametrize("said", ["0", "", "yes"])
def test_a_commit_flag_that_contradicts_the_vote_is_flagged(said: str) -> None:
    """The row, the case, what the table says and what follows are kept; the vote is imported unchanged."""
    table = taxonomy_table()
    table[1][5] = said
    found = taxonomy(table)
    assert found.flags == [
        {"file": "table.csv", "row": 2, "case_id": 1, "field": "is_dataset_cco", "found": said, "expected": "1"}
    ]
    assert found.rows == taxonomy(taxonomy_table()).rows


@pytest.mark.parametrize("name", ["predictions", "taxonomy"])
def test_the_programs_write_rows_and_flags(run_step: Any, tmp_path: Path, name: str) -> None:
    """scripts/import_predictions.py and import_taxonomy.py write what the library imports."""
    table = {"predictions": predictions_table, "taxonomy": taxonomy_table}[name]()
    (tmp_path / "table").write_bytes(encoded(table))
    artifact.write(SAMPLE, tmp_path / "sample.parquet")
    source = {"role": "rows", "name": "table", "sha256": "", "sha256_lf": "", "bytes": None}
    outputs = {"verdicts": tmp_path / "verdicts/c.parquet", "flags": tmp_path / "flags/c.parquet"}
    inputs = {"sources": [tmp_path / "table"], "sample": [tmp_path / "sample.parquet"]}
    settings = {"sources": [source], "models": MODELS, "dataset": "D", "contract": "4opt"}
    run_step(f"import_{name}", inputs, outputs, settings)
    written = artifact.read(outputs["verdicts"], verdicts.SCHEMA)
    assert artifact.content_hash(written) == content({"predictions": predictions, "taxonomy": taxonomy}[name](table))
    assert artifact.read(outputs["flags"], verdicts.FLAGS).num_rows == 0


# --- refusals --------------------------------------------------------------------------------------------------------


def changed(table: Table, row: int, column: str, value: str) -> Table:
    """The table with one cell replaced; rows are counted from 1 with the header."""
    table[row - 1][table[0].index(column)] = value
    return table


@pytest.mark.parametrize(
    ("row", "column", "value", "parts"),
    [
        (3, "case_id", "0", ("row 3", "field case_id", "case 0 of slot_a again")),
        (3, "case_id", "4", ("row 3", "field case_id", "'4'", "from 0 to 3")),
        (3, "case_id", "-1", ("row 3", "field case_id", "'-1'")),
        (3, "case_id", "1.0", ("row 3", "field case_id", "'1.0'")),
        (3, "case_id", " 1", ("row 3", "field case_id", "' 1'")),
        (3, "case_id", "true", ("row 3", "field case_id", "'true'")),
        (3, "case_id", "¹", ("row 3", "field case_id", "'¹'")),
        (3, "case_id", "", ("row 3", "field case_id", "''")),
        (3, "model_slot", "slot_c", ("row 3", "field model_slot", "'slot_c'", "slot_a")),
        (3, "dataset", "E", ("row 3", "field dataset", "'E'", "expected D")),
        (3, "gold", "support", ("row 3", "field gold", "'support'", "'conflicting'")),
        (3, "pred", "CONFLICTING", ("row 3", "field pred", "'CONFLICTING'", "conflicting")),
        (3, "pred", "", ("row 3", "field pred", "''")),
        (3, "pred", "none", ("row 3", "field pred", "'none'")),
    ],
)
def test_a_prediction_that_contradicts_sample_or_contract_is_refused(
    refused: Any, row: int, column: str, value: str, parts: tuple[str, ...]
) -> None:
    """One line: the file, the row, the field, what was found and what was expected."""
    with refused("table.csv", *parts):
        predictions(changed(predictions_table(), row, column, value))


@pytest.mark.parametrize(
    ("row", "column", "value", "parts"),
    [
        (3, "case_id", "1", ("row 3", "field case_id", "case 1 of slot_a again")),
        (3, "case_id", "2", ("row 3", "field case_id", "found 2", "gold-conflicting")),
        (3, "case_id", "4", ("row 3", "field case_id", "'4'", "from 0 to 3")),
        (3, "model", "slot_c", ("row 3", "field model", "'slot_c'", "slot_a")),
        (3, "prediction", "mixed", ("row 3", "field prediction", "'mixed'")),
        (3, "confidence", "-0.1", ("row 3", "field confidence", "-0.1", "from 0 to 1")),
        (3, "confidence", "1.01", ("row 3", "field confidence", "1.01")),
        (3, "confidence", "high", ("row 3", "field confidence", "'high'")),
        (3, "confidence", "true", ("row 3", "field confidence", "'true'")),
        (3, "confidence", "NaN", ("row 3", "field confidence", "NaN")),
        (3, "confidence", "Infinity", ("row 3", "field confidence", "Infinity")),
        (3, "confidence", "0.12345678901234567890", ("row 3", "field confidence", "0.12345678901234567890")),
        (3, "dataset", "E", ("field case_id", "1 of slot_a's gold-conflicting cases missing, first [3]", "2 cases")),
    ],
)
def test_a_vote_that_contradicts_sample_or_contract_is_refused(
    refused: Any, row: int, column: str, value: str, parts: tuple[str, ...]
) -> None:
    """One line: the file, the row, the field, what was found and what was expected."""
    with refused("table.csv", *parts):
        taxonomy(changed(taxonomy_table(), row, column, value))


def test_a_label_outside_the_contract_is_refused(refused: Any) -> None:
    """Conflicting is no answer under three options."""
    with refused("table.csv", "row 3", "field pred", "'conflicting'"):
        predictions(predictions_table(), "3opt")
    with refused("table.csv", "row 3", "field prediction", "'conflicting'"):
        taxonomy(taxonomy_table(), "3opt")


def test_a_missing_case_is_refused(refused: Any) -> None:
    """Every model has every case; the first that lacks is named."""
    table = predictions_table()
    del table[7]
    with refused("table.csv", "field case_id", "1 cases of slot_b missing, first 2", "0 to 3"):
        predictions(table)
    with refused("table.csv", "field case_id", "4 cases of slot_b missing, first 0"):
        predictions(predictions_table()[:5])


@pytest.mark.parametrize(
    ("data", "parts"),
    [
        (b"", ("row 1", "found []", "model_slot")),
        (encoded([PREDICTIONS[::-1]]), ("row 1", "the header", "model_slot")),
        (encoded([[*PREDICTIONS, "more"]]), ("row 1", "'more'")),
        (encoded([PREDICTIONS, ["slot_a", "D", "0", "support"]]), ("row 2", "4 fields", "5 fields")),
        (encoded([PREDICTIONS, ["slot_a", "D", "0", "support", "support", ""]]), ("row 2", "6 fields", "5 fields")),
        (encoded([PREDICTIONS]) + b"slot_\xff,D,0,support,support\n", ("utf-8", "expected UTF-8")),
    ],
    ids=["empty", "other order", "more columns", "too few", "too many", "not UTF-8"],
)
def test_a_file_of_another_form_is_refused(refused: Any, data: bytes, parts: tuple[str, ...]) -> None:
    """The header is fixed and every row has its fields."""
    with refused("table.csv", *parts):
        predictions(data)


@given(
    row=st.integers(1, 7),
    column=st.integers(0, 6),
    value=st.text(st.characters(exclude_characters=',"\r\n', exclude_categories=["Cs"])),
)
def test_any_mistake_is_one_line_or_an_import_within_the_contract(row: int, column: int, value: str) -> None:
    """One cell replaced by any text: a refusal that names the file, or rows that satisfy the contract."""
    for build, importer in ((predictions_table, predictions), (taxonomy_table, taxonomy)):
        table = build()
        cells = table[min(row, len(table) - 1)]
        cells[min(column, len(cells) - 1)] = value
        found = unless_refused(partial(importer, table), "table.csv")
        if found is None:
            continue
        artifact.from_rows(found.flags, verdicts.FLAGS)
        for item in artifact.from_rows(map(verdict_defaults, found.rows), verdicts.SCHEMA).to_pylist():
            assert item["case_id"] in range(4)
            assert item["verdict"] in ((None,) if item["parse_status"] == "invalid" else sample.GOLD)
            assert item["confidence"] is None or 0 <= item["confidence"] <= 1
