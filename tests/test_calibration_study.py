"""Importing single-turn answers: every status, every refusal, and the real files whole."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from contextlib import AbstractContextManager
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest

from warrant import artifact, beliefs, calibration_study, mmlu_pro
from warrant.beliefs import FALLBACKS

Refused = Callable[..., AbstractContextManager[None]]
HEADER = ",category,correct_answer,extracted_answer,verbal_numerical_confidence,token_length"
DOMAINS = ["engineering", "law", "chemistry", "physics", "math", "economics", "health", "psychology"]
PANEL = ("claude-3-5-haiku-20241022", "deepseek-reasoner", "Qwen3-32B")
AWKWARD = ("phi-4", "Qwen3-0.6B-think")


def sample_of(*questions: tuple[int, str, str, int]) -> pa.Table:
    """Questions as (row of the source, category, gold, options)."""
    chosen = [
        (
            row,
            {
                "question_id": 100 + row,
                "question": "?",
                "options": [f"o{i}" for i in range(k)],
                "answer": gold,
                "category": category,
            },
        )
        for row, category, gold, k in questions
    ]
    return mmlu_pro.to_table(chosen, "s", "q")


SAMPLE = sample_of((0, "law", "A", 4), (2, "math", "C", 3))


def csv_of(*lines: str) -> bytes:
    return ("\n".join([HEADER, *lines]) + "\n").encode()


def file_of(answer: str = "A", confidence: str = "0.9", gold: str = "A") -> bytes:
    """Row 0 as given, row 1 of a question outside the sample, row 2 ordinary."""
    return csv_of(f"0,law,{gold},{answer},{confidence},1", "1,art,Z,,,1", "2,math,C,B,0.5,1")


@pytest.mark.parametrize(
    ("answer", "confidence", "status"),
    [
        ("A", "0.9", "ok"),
        (" A ", " 0.90 ", "ok"),
        ("D", "0", "ok"),
        ("D", "1", "ok"),
        ("D", "1e-3", "ok"),
        ("", "0.9", "no_answer"),
        (" ", "", "no_answer"),
        ("", "750.0", "no_answer"),
        ("E", "0.9", "letter_outside"),
        ("a", "0.9", "letter_outside"),
        ("AB", "0.9", "letter_outside"),
        ("The answer", "high", "letter_outside"),
        ("A", "", "no_confidence"),
        ("A", "  ", "no_confidence"),
        ("A", "750.0", "confidence_out_of_range"),
        ("A", "-1", "confidence_out_of_range"),
        ("A", "-0.95", "confidence_out_of_range"),
        ("A", "1.0000001", "confidence_out_of_range"),
        ("A", "1e400", "confidence_out_of_range"),
        ("A", "high", "confidence_out_of_range"),
        ("A", "NaN", "confidence_out_of_range"),
        ("A", "nan", "confidence_out_of_range"),
        ("A", "sNaN", "confidence_out_of_range"),
        ("A", "Infinity", "confidence_out_of_range"),
        ("A", "-inf", "confidence_out_of_range"),
        ("A", "95%", "confidence_out_of_range"),
        ("A", "0_1", "confidence_out_of_range"),
        ("A", "0.0012345678901234567", "confidence_too_long"),
    ],
)
def test_every_odd_answer_has_its_status(answer: str, confidence: str, status: str) -> None:
    """What is no answer with a confidence in [0, 1] is the uniform belief under its own name; nothing is rescaled."""
    found = calibration_study.beliefs({"m": (file_of(answer, confidence), "m.csv")}, SAMPLE)
    row = found.rows[0]
    assert row["parse_status"] == status
    assert status in ("ok", *FALLBACKS)
    if status == "ok":
        c, letter = float(Decimal(confidence.strip())), answer.strip()
        other = (1 - c) / 3
        assert row["probability"] == pytest.approx([c if option == letter else other for option in "ABCD"])
    else:
        assert row["probability"] == [0.25] * 4
    assert row["answer"] == (answer.strip() if status not in ("no_answer", "letter_outside") else None)
    in_range = confidence.strip() in ("0.9", "0.90", "0", "1", "1e-3")
    assert row["confidence"] == (Decimal(confidence.strip()) if in_range else None)
    artifact.from_rows(found.rows, beliefs.SCHEMA)  # and the artifact holds it
    assert found.rows[1]["probability"] == pytest.approx([0.25, 0.5, 0.25])


@pytest.mark.parametrize(
    ("lines", "parts"),
    [
        (["1,law,A,A,0.9,1", "1,art,A,,,1", "2,math,C,B,0.5,1"], ["row 2", "index", "'1'", "expected 0"]),
        (["0,law,A,A,0.9,1", "1,art,A,,,1", "3,math,C,B,0.5,1"], ["row 4", "index", "'3'", "expected 2"]),
        (["0,art,A,A,0.9,1", "1,art,A,,,1", "2,math,C,B,0.5,1"], ["row 2", "category", "'art'", "expected law"]),
        (["0,law,E,A,0.9,1", "1,art,A,,,1", "2,math,C,B,0.5,1"], ["row 2", "correct_answer", "'E'"]),
        (["0,law,,A,0.9,1", "1,art,A,,,1", "2,math,C,B,0.5,1"], ["row 2", "correct_answer", "''"]),
        (["0,law,A,A,0.9,1", "1,art,A,,,1"], ["2 rows", "a row for every question"]),
        (["0,law,A,A,0.9", "1,art,A,,,1", "2,math,C,B,0.5,1"], ["row 2", "another number of fields"]),
        (["0,law,A,A,0.9,1,9", "1,art,A,,,1", "2,math,C,B,0.5,1"], ["row 2", "another number of fields"]),
        (['0,law,A,"A"x,0.9,1', "1,art,A,,,1", "2,math,C,B,0.5,1"], ["a CSV file in UTF-8"]),
    ],
)
def test_a_row_that_is_not_about_its_question_is_refused(refused: Refused, lines: list[str], parts: list[str]) -> None:
    """A wrong index or category, a gold outside the options, a short or broken file: one line names row and field."""
    with refused("m.csv", *parts):
        calibration_study.beliefs({"m": (csv_of(*lines), "m.csv")}, SAMPLE)


def test_a_file_without_a_column_or_in_another_encoding_is_refused(refused: Refused) -> None:
    """A missing column is named, and bytes that are not UTF-8 are no crash."""
    data = file_of().replace(b"extracted_answer", b"extracted")
    with refused("m.csv, row 1", "no column ['extracted_answer']"):
        calibration_study.beliefs({"m": (data, "m.csv")}, SAMPLE)
    with refused("m.csv", "a CSV file in UTF-8"):
        calibration_study.beliefs({"m": (file_of(answer="\xff").replace("\xff".encode(), b"\xff"), "m.csv")}, SAMPLE)


def test_models_that_were_asked_with_different_golds_are_refused(refused: Refused) -> None:
    """One gold letter for all models of a question."""
    with refused("z.csv, row 2", "correct_answer", "'B'", "expected A"):
        calibration_study.beliefs({"z": (file_of(gold="B"), "z.csv"), "a": (file_of(), "a.csv")}, SAMPLE)


def test_a_gold_that_was_changed_since_is_flagged_once_and_followed() -> None:
    """Correctness follows the letter asked; the question is flagged once, not once a model."""
    files = {name: (file_of(gold="B"), f"{name}.csv") for name in ("z", "a")}
    found = calibration_study.beliefs(files, SAMPLE)
    assert [(flag["file"], flag["row"], flag["case_id"], flag["field"]) for flag in found.flags] == [
        ("a.csv", 2, 0, "correct_answer")
    ]
    assert [row["gold"] for row in found.rows] == ["B", "C", "B", "C"]


def test_counts_add_up() -> None:
    """Statuses of a model and domain add up to its beliefs, domains to 'all', shares to 1."""
    files = {"m": (file_of(""), "m.csv"), "k": (file_of("A"), "k.csv")}
    rows = calibration_study.beliefs(files, SAMPLE).rows
    found = calibration_study.counts(rows, ["law", "math"])
    listed = {(row["model"], row["domain"], row["status"]): (row["n"], row["total"], row["share"]) for row in found}
    assert listed == {
        ("k", "all", "ok"): (2, 2, 1),
        ("k", "law", "ok"): (1, 1, 1),
        ("k", "math", "ok"): (1, 1, 1),
        ("m", "all", "no_answer"): (1, 2, 0.5),
        ("m", "all", "ok"): (1, 2, 0.5),
        ("m", "law", "no_answer"): (1, 1, 1),
        ("m", "math", "ok"): (1, 1, 1),
    }


# --- the real files --------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def eight_domains(real_input: Callable[[str], Path]) -> pa.Table:
    rows = mmlu_pro.read_questions(real_input("mmlu_pro_test").read_bytes(), "mmlu_pro_test")
    return mmlu_pro.to_table(mmlu_pro.choose(rows, DOMAINS, None, 0, "mmlu_pro_test"), "s", "mmlu_pro_test")


def files_of(real_input: Callable[[str], Path], models: tuple[str, ...]) -> dict[str, tuple[bytes, str]]:
    return {model: (real_input(f"calibration_study_{model}").read_bytes(), model) for model in models}


@pytest.mark.real_inputs("mmlu_pro_test", *(f"calibration_study_{model}" for model in PANEL))
def test_the_panel_is_taken_whole_with_171_golds_flagged(
    eight_domains: pa.Table, real_input: Callable[[str], Path]
) -> None:
    """Three beliefs for each of 8,312 questions, and 171 questions whose gold letter has been changed since."""
    found = calibration_study.beliefs(files_of(real_input, PANEL), eight_domains)
    assert len(found.rows) == 3 * 8312
    assert len(found.flags) == len({flag["case_id"] for flag in found.flags}) == 171
    assert {flag["field"] for flag in found.flags} == {"correct_answer"}


@pytest.mark.real_inputs("mmlu_pro_test", *(f"calibration_study_{model}" for model in AWKWARD))
def test_the_two_awkward_models_have_a_full_table_of_failures(
    eight_domains: pa.Table, real_input: Callable[[str], Path], tmp_path: Path, run_step: Callable[..., None]
) -> None:
    """Files with missing answers and confidences such as 750.0 give every belief a status, per domain and in all."""
    found = calibration_study.beliefs(files_of(real_input, AWKWARD), eight_domains)
    inputs = {"sample": tmp_path / "sample.parquet", "beliefs": tmp_path / "beliefs.parquet"}
    artifact.write(eight_domains, inputs["sample"])
    artifact.write(artifact.from_rows(found.rows, beliefs.SCHEMA), inputs["beliefs"])
    output = tmp_path / "tables" / "parse_failures.parquet"
    output.parent.mkdir()
    settings = {"agents": list(AWKWARD)}
    run_step("table_parse_failures", {name: [path] for name, path in inputs.items()}, {"table": output}, settings)
    table = artifact.read(output, calibration_study.FAILURES).to_pylist()
    statuses = {model: Counter(row["parse_status"] for row in found.rows if row["model"] == model) for model in AWKWARD}
    for model in AWKWARD:
        mine = [row for row in table if row["model"] == model]
        assert {row["domain"] for row in mine} == {*DOMAINS, "all"}
        for domain in (*DOMAINS, "all"):
            assert sum(row["n"] for row in mine if row["domain"] == domain) == next(
                row["total"] for row in mine if row["domain"] == domain
            )
        assert {row["status"]: row["n"] for row in mine if row["domain"] == "all"} == statuses[model]
        assert sum(statuses[model].values()) == 8312
        assert set(statuses[model]) <= {"ok", *FALLBACKS}
        assert statuses[model]["ok"] < 8312
    assert any(status["confidence_out_of_range"] for status in statuses.values())
