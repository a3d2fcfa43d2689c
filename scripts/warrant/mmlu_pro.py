"""MMLU-Pro questions: the complete test categories of the debate study, or a pinned stratified subset."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from warrant.artifact import field, from_rows
from warrant.beliefs import LETTERS, MOST_OPTIONS
from warrant.bootstrap import generator
from warrant.errors import bad_input
from warrant.sample import COMPOSITION, sha256_text

SCHEMA: Final = pa.schema(
    [
        field("case_id", pa.int32(), "position in the sample, from 0", nullable=False),
        field("study", pa.string(), "study of the run", nullable=False),
        field("stratum", pa.string(), "domain", nullable=False),
        field("gold", pa.string(), "gold letter", nullable=False),
        field("text", pa.string(), "the question", nullable=False),
        field("options", pa.list_(pa.string()), "the options, 3 to 10", nullable=False),
        field("question_id", pa.int64(), "id in the source", nullable=False),
        field("source", pa.string(), "name of the source in config/sources.tsv", nullable=False),
        field("source_row", pa.int32(), "row of the source, from 0", nullable=False),
        field("sha256", pa.string(), "SHA-256 of the JSON array [text, options]", nullable=False),
    ]
)
Row = Mapping[str, Any]


def read_questions(data: bytes, file: str) -> list[dict[str, Any]]:
    """Parse the parquet file; InputError names the question and field of one that cannot be used."""
    try:
        table = pq.read_table(io.BytesIO(data), columns=["question_id", "question", "options", "answer", "category"])
    except (pa.ArrowInvalid, KeyError) as error:
        raise bad_input(file, found=str(error), expected="an MMLU-Pro Parquet file") from error
    rows = table.to_pylist()
    seen: set[int] = set()
    for number, row in enumerate(rows, start=1):
        _check(row, seen, file, number)
    return rows


def _check(row: Row, seen: set[int], file: str, number: int) -> None:
    name = f"question {row['question_id']}"
    if not isinstance(row["question_id"], int) or row["question_id"] in seen:
        raise bad_input(file, row=number, field="question_id", found=row["question_id"], expected="a unique number")
    seen.add(row["question_id"])
    if not isinstance(row["question"], str) or not row["question"].strip():
        raise bad_input(file, row=number, field=f"question ({name})", found=row["question"], expected="a text")
    options = row["options"]
    if not isinstance(options, list) or not 3 <= len(options) <= MOST_OPTIONS:
        found = len(options) if isinstance(options, list) else options
        raise bad_input(file, row=number, field=f"options ({name})", found=found, expected="3 to 10 options")
    if not all(isinstance(option, str) and option.strip() for option in options):
        raise bad_input(file, row=number, field=f"options ({name})", found="an empty option", expected="texts")
    if row["answer"] not in tuple(LETTERS[: len(options)]):
        expected = f"a letter from A to {LETTERS[len(options) - 1]}"
        raise bad_input(file, row=number, field=f"answer ({name})", found=row["answer"], expected=expected)
    if not isinstance(row["category"], str):
        raise bad_input(file, row=number, field=f"category ({name})", found=row["category"], expected="a text")


def choose(
    rows: Sequence[Row], domains: Sequence[str], per_domain: int | None, seed: int, file: str
) -> list[tuple[int, Row]]:
    """Source rows of the domains in file order: complete, or `per_domain` of each drawn without replacement."""
    chosen: set[int] = set()
    for position, domain in enumerate(sorted(domains)):
        members = [number for number, row in enumerate(rows) if row["category"] == domain]
        wanted = len(members) if per_domain is None else per_domain
        if not members or wanted > len(members):
            expected = f"at least {max(wanted, 1)}"
            raise bad_input(file, field=f"category {domain}", found=f"{len(members)} questions", expected=expected)
        if wanted < len(members):
            drawn = generator(seed, position).permutation(len(members))[:wanted]
            members = [members[i] for i in drawn.tolist()]
        chosen |= set(members)
    return [(number, rows[number]) for number in sorted(chosen)]


def to_table(chosen: Sequence[tuple[int, Row]], study: str, source: str) -> pa.Table:
    """Sample rows; case_id is the position in the sample."""
    return from_rows(
        (
            {
                "case_id": position,
                "study": study,
                "stratum": row["category"],
                "gold": row["answer"],
                "text": row["question"],
                "options": row["options"],
                "question_id": row["question_id"],
                "source": source,
                "source_row": number,
                "sha256": sha256_text(json.dumps([row["question"], row["options"]], ensure_ascii=False)),
            }
            for position, (number, row) in enumerate(chosen)
        ),
        SCHEMA,
    )


def composition(rows: Sequence[Row], chosen: Sequence[tuple[int, Row]], domains: Sequence[str]) -> pa.Table:
    """Questions per domain and the size of each domain."""
    lines: list[dict[str, Any]] = []
    for domain in sorted(domains):
        n = sum(row["category"] == domain for _, row in chosen)
        pool = sum(row["category"] == domain for row in rows)
        lines.append({"stratum": domain, "split": "test", "n": n, "pool": pool, "exhaustive": n == pool})
    lines.append({"stratum": "total", "split": None, "n": len(chosen)})
    return from_rows(lines, COMPOSITION)
