"""MMLU-Pro questions: what is refused by name, complete domains, and subsets pinned by their ids."""

from __future__ import annotations

import io
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from warrant import artifact, mmlu_pro
from warrant.config import read_run
from warrant.debate_blocks import DebateStudy
from warrant.sample import sha256_text
from warrant.sources import Source

Refused = Callable[..., AbstractContextManager[None]]
SIZES = {"engineering": 969, "law": 1101, "chemistry": 1132, "physics": 1299}
SIZES |= {"math": 1351, "economics": 844, "health": 818, "psychology": 798}


def question(number: int, category: str = "law", **other: Any) -> dict[str, Any]:
    row = {"question_id": number, "question": f"Question {number}?", "options": ["a", "b", "c"], "answer": "B"}
    return {**row, "category": category, **other}


def parquet(rows: list[dict[str, Any]]) -> bytes:
    kinds = {"question_id": pa.int64(), "question": pa.string(), "options": pa.list_(pa.string())}
    schema = pa.schema([*kinds.items(), ("answer", pa.string()), ("category", pa.string())])
    buffer = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows, schema), buffer)
    return buffer.getvalue()


def many(per_domain: int = 8) -> list[dict[str, Any]]:
    """Questions of three categories, alternating."""
    names = ("law", "math", "history")
    return [question(100 + i, names[i % 3]) for i in range(3 * per_domain)]


@pytest.mark.parametrize(
    ("other", "parts"),
    [
        ({"answer": "D"}, ["answer (question 7)", "'D'", "a letter from A to C"]),
        ({"answer": "b"}, ["answer (question 7)", "'b'"]),
        ({"answer": ""}, ["answer (question 7)", "''"]),
        ({"answer": "AB"}, ["answer (question 7)", "'AB'"]),
        ({"answer": None}, ["answer (question 7)", "None"]),
        ({"options": ["a", " ", "c"]}, ["options (question 7)", "an empty option"]),
        ({"options": ["a", None, "c"]}, ["options (question 7)", "an empty option"]),
        ({"options": ["a", "b"]}, ["options (question 7)", "found 2", "3 to 10 options"]),
        ({"options": [str(i) for i in range(11)]}, ["options (question 7)", "found 11", "3 to 10 options"]),
        ({"options": None}, ["options (question 7)", "None"]),
        ({"question": " "}, ["question (question 7)", "a text"]),
        ({"category": None}, ["category (question 7)", "None"]),
        ({"question_id": 1}, ["question_id", "found 1", "a unique number"]),
        ({"question_id": None}, ["question_id", "None", "a unique number"]),
    ],
)
def test_a_question_that_cannot_be_used_is_refused_by_name(
    refused: Refused, other: dict[str, Any], parts: list[str]
) -> None:
    """A gold outside the options, an empty or wrong number of options, a repeated id: file, row, field and question."""
    rows = [question(1), {**question(7), **other}]
    with refused("test.parquet, row 2", *parts):
        mmlu_pro.read_questions(parquet(rows), "test.parquet")


@pytest.mark.parametrize("count", [3, 10])
def test_three_to_ten_options_with_any_of_their_letters_are_read(count: int) -> None:
    """The first and last letters of three or ten options are gold letters."""
    options = [f"option {i}" for i in range(count)]
    rows = [question(i, options=options, answer="ABCDEFGHIJ"[i]) for i in (0, count - 1)]
    assert mmlu_pro.read_questions(parquet(rows), "x") == rows


@pytest.mark.parametrize("data", [b"", b"PAR1", b"question_id,question\n"])
def test_what_is_no_question_file_is_refused(refused: Refused, data: bytes) -> None:
    """Bytes that are no Parquet file are one line."""
    with refused("x: found", "an MMLU-Pro Parquet file"):
        mmlu_pro.read_questions(data, "x")


def test_complete_domains_are_taken_in_file_order() -> None:
    """All questions of the domains and no other, in the order of the file whatever the order of domains."""
    rows = many()
    expected = [(i, row) for i, row in enumerate(rows) if row["category"] in ("law", "math")]
    for domains in (["law", "math"], ["math", "law"]):
        assert mmlu_pro.choose(rows, domains, None, 1, "x") == expected
    lines = mmlu_pro.composition(rows, expected, ["math", "law"]).to_pylist()
    assert [(line["stratum"], line["n"], line["pool"], line["exhaustive"]) for line in lines] == [
        ("law", 8, 8, True),
        ("math", 8, 8, True),
        ("total", 16, None, None),
    ]


@given(st.integers(1, 8), st.integers(0, 2**32))
def test_a_subset_is_stratified_and_reproducible(per_domain: int, seed: int) -> None:
    """Exactly so many of each domain, each once, in file order; the seed alone decides, each domain for itself."""
    rows = many()
    chosen = mmlu_pro.choose(rows, ["law", "math"], per_domain, seed, "x")
    numbers = [number for number, _ in chosen]
    assert numbers == sorted(set(numbers))
    for domain in ("law", "math"):
        assert sum(row["category"] == domain for _, row in chosen) == per_domain
    assert mmlu_pro.choose(rows, ["math", "law"], per_domain, seed, "x") == chosen


@pytest.mark.parametrize(("domains", "wanted"), [(["law", "art"], None), (["law"], 9), (["art"], 2)])
def test_a_domain_without_enough_questions_is_refused(refused: Refused, domains: list[str], wanted: int | None) -> None:
    """A domain that is not in the file, or smaller than the draw, is named."""
    with refused(f"field category {domains[-1]}", "questions", "at least"):
        mmlu_pro.choose(many(), domains, wanted, 1, "x")


def sampled(
    run_step: Callable[..., None], folder: Path, data: bytes, domains: list[str], subset: dict[str, Any] | None
) -> pa.Table:
    path = folder / "questions.parquet"
    path.write_bytes(data)
    source = {"role": "questions", **Source("q", "", "", "", "", None, "", "", False, "").settings()}
    outputs = {name: folder / f"{name}.parquet" for name in ("sample", "composition", "map")}
    settings = {"study": "s", "domains": domains, "subset": subset, "sources": [source]}
    run_step("sample_mmlu_pro", {"sources": [path]}, outputs, settings)
    return artifact.read(outputs["sample"], mmlu_pro.SCHEMA)


def test_a_subset_stands_or_falls_with_the_hash_of_its_ids(
    tmp_path: Path, run_step: Callable[..., None], refused: Refused
) -> None:
    """The pinned hash lets exactly its draw through; another seed is refused with the hash that was found."""
    rows = many()
    chosen = mmlu_pro.choose(rows, ["law", "math"], 3, 5, "q")
    pin = sha256_text("".join(f"{row['question_id']}\n" for _, row in chosen))
    subset = {"per_domain": 3, "seed": 5, "sha256": pin}
    table = sampled(run_step, tmp_path, parquet(rows), ["law", "math"], subset)
    assert table.column("question_id").to_pylist() == [row["question_id"] for _, row in chosen]
    assert table.column("case_id").to_pylist() == list(range(6))
    with refused("subset", "question ids", "SHA-256", pin):
        sampled(run_step, tmp_path, parquet(rows), ["law", "math"], {**subset, "seed": 6})


@pytest.mark.real_inputs("mmlu_pro_test")
def test_the_eight_domains_are_complete(
    tmp_path: Path, run_step: Callable[..., None], real_input: Callable[[str], Path], project: Path
) -> None:
    """The run's sample holds all 8,312 questions of the eight categories, as the paper counts them."""
    study = read_run(project / "config/runs", "panel").studies["mmlu_pro"]
    assert isinstance(study, DebateStudy)
    data = real_input("mmlu_pro_test").read_bytes()
    table = sampled(run_step, tmp_path, data, study.sample[0].domains, None)
    strata = table.column("stratum").to_pylist()
    assert {name: strata.count(name) for name in set(strata)} == SIZES
    assert table.num_rows == sum(SIZES.values()) == 8312
    options = {len(item or ()) for item in table.column("options").to_pylist()}
    assert (min(options), max(options)) == (3, 10)
    rows = artifact.read(tmp_path / "composition.parquet").to_pylist()
    assert all(row["exhaustive"] for row in rows if row["stratum"] != "total")
