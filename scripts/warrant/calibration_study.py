"""Importer of real single-turn outputs: an answer letter and a stated confidence for every MMLU-Pro question.

Row i of every file is row i of the question file. The files' gold letters are those of the questions as they were
asked; where the question file has another letter since, the row is flagged and correctness follows the letter asked.
A file says nothing of the other options, so a belief is constructed: c on the answer, (1 - c)/(K - 1) elsewhere.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, Final

import pyarrow as pa

from warrant.artifact import field
from warrant.beliefs import LETTERS, belief_row
from warrant.decimals import ONE, to_units
from warrant.errors import bad_input
from warrant.imported import Imported

NEEDED: Final = ("", "category", "correct_answer", "extracted_answer", "verbal_numerical_confidence")

FAILURES: Final = pa.schema(
    [
        field("model", pa.string(), "agent", nullable=False),
        field("domain", pa.string(), "domain; 'all' sums up", nullable=False),
        field("status", pa.string(), "ok, or why the belief is the uniform fallback", nullable=False),
        field("n", pa.int64(), "beliefs with this status", nullable=False),
        field("total", pa.int64(), "beliefs", nullable=False),
        field("share", pa.float64(), "n/total", nullable=False),
    ]
)


def beliefs(files: Mapping[str, tuple[bytes, str]], sample: pa.Table) -> Imported:
    """Belief rows of every model. files: model -> (bytes, name). sample: the questions (mmlu_pro.SCHEMA)."""
    out = Imported()
    cases = sample.select(["case_id", "source_row", "stratum", "gold", "options", "question_id"]).to_pylist()
    asked: dict[int, str] = {}
    for model in sorted(files):
        data, name = files[model]
        rows = _rows(data, name)
        if cases and len(rows) <= max(case["source_row"] for case in cases):
            raise bad_input(name, found=f"{len(rows)} rows", expected="a row for every question")
        for case in cases:
            number, row = case["source_row"] + 2, rows[case["source_row"]]
            _same_question(row, case, name, number)
            letter = row["correct_answer"]
            if letter not in tuple(LETTERS[: len(case["options"])]):
                raise bad_input(
                    name, row=number, field="correct_answer", found=letter, expected="one of the options' letters"
                )
            if asked.setdefault(case["case_id"], letter) != letter:
                raise bad_input(name, row=number, field="correct_answer", found=letter, expected=asked[case["case_id"]])
            if letter != case["gold"] and model == min(files):
                out.flag(
                    name, number, case["case_id"], "correct_answer", letter, f"{case['gold']} in the question file"
                )
            out.rows.append(_belief(row, case, model, letter))
    return out


def _rows(data: bytes, name: str) -> list[dict[str, str]]:
    try:
        reader = csv.DictReader(io.StringIO(data.decode("utf-8"), newline=""), strict=True)
        rows = list(reader)
    except (UnicodeDecodeError, csv.Error) as error:
        raise bad_input(name, found=str(error), expected="a CSV file in UTF-8") from error
    missing = [column for column in NEEDED if column not in (reader.fieldnames or [])]
    if missing:
        raise bad_input(name, row=1, found=f"no column {missing}", expected=f"the columns {list(NEEDED)}")
    for number, row in enumerate(rows, start=2):
        if None in row or None in row.values():
            raise bad_input(
                name, row=number, found="another number of fields", expected=f"{len(reader.fieldnames or [])}"
            )
    return rows


def _same_question(row: Mapping[str, str], case: Mapping[str, Any], name: str, number: int) -> None:
    if row[""] != str(case["source_row"]):
        raise bad_input(name, row=number, field="index", found=row[""], expected=str(case["source_row"]))
    if row["category"] != case["stratum"]:
        raise bad_input(name, row=number, field="category", found=row["category"], expected=case["stratum"])


def _belief(row: Mapping[str, str], case: Mapping[str, Any], model: str, gold: str) -> dict[str, Any]:
    options = len(case["options"])
    base = {"case_id": case["case_id"], "model": model, "round": 0, "gold": gold}
    answer = row["extracted_answer"].strip()
    confidence = _confidence(row["verbal_numerical_confidence"])
    if not answer:
        return belief_row(base, options, None, _in_range(confidence), "no_answer")
    if answer not in tuple(LETTERS[:options]):
        return belief_row(base, options, None, _in_range(confidence), "letter_outside")
    if confidence is None:
        return belief_row(base, options, answer, None, "no_confidence")
    if _in_range(confidence) is None and 0 <= confidence <= 1:
        return belief_row(base, options, answer, None, "confidence_too_long")
    if _in_range(confidence) is None:
        return belief_row(base, options, answer, None, "confidence_out_of_range")
    return belief_row(base, options, answer, confidence, "ok")


def _confidence(text: str) -> Decimal | None:
    """A stated number; what is no number at all counts as out of range, not as absent."""
    if not text.strip():
        return None
    try:
        number = Decimal(-1 if "_" in text else text.strip())  # Decimal reads "0_1" as 1
    except ArithmeticError:
        return Decimal(-1)
    return number if number.is_finite() else Decimal(-1)


def _in_range(number: Decimal | None) -> Decimal | None:
    if number is None:
        return None
    try:
        return number if 0 <= to_units(number) <= ONE else None
    except ValueError:
        return None


def counts(rows: Sequence[Mapping[str, Any]], domain_of: Sequence[str]) -> list[dict[str, Any]]:
    """Rows of the table `parse_failures`: per model, domain and status, how many beliefs; the domain 'all' sums up."""
    tally: dict[tuple[str, str, str], int] = {}
    totals: dict[tuple[str, str], int] = {}
    for row in rows:
        for domain in (domain_of[row["case_id"]], "all"):
            key = (row["model"], domain, row["parse_status"])
            tally[key] = tally.get(key, 0) + 1
            totals[row["model"], domain] = totals.get((row["model"], domain), 0) + 1
    return [
        {"model": m, "domain": d, "status": s, "n": n, "total": totals[m, d], "share": n / totals[m, d]}
        for (m, d, s), n in sorted(tally.items())
    ]
