"""The sample artifact: one row per case of a study, with its gold label, text and evidence."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa

from warrant import artifact
from warrant.artifact import field
from warrant.errors import bad_input
from warrant.labels import CODES, GOLD, Labels

SCHEMA: Final = pa.schema(
    [
        field("case_id", pa.int32(), "position in the sample, from 0", nullable=False),
        field("study", pa.string(), "study of the run", nullable=False),
        field("stratum", pa.string(), "sampling group", nullable=False),
        field("gold", pa.string(), "support, refute, insufficient or conflicting", nullable=False),
        field("text", pa.string(), "the claim", nullable=False),
        field("evidence", pa.list_(pa.string()), "evidence blocks in order; null when the source carries none"),
        field("source", pa.string(), "name of the source in config/sources.tsv", nullable=False),
        field("source_row", pa.int32(), "row of the source, from 0; null when it carries none"),
        field("sha256", pa.string(), "SHA-256 of the JSON array [text, evidence]", nullable=False),
        field("evidence_sha256", pa.string(), "SHA-256 of the evidence text as it is shown to a judge"),
    ]
)
COMPOSITION: Final = pa.schema(
    [
        field("stratum", pa.string(), "sampling group; 'total' for the whole sample", nullable=False),
        field("split", pa.string(), "split of the source it was drawn from"),
        field("n", pa.int64(), "cases in the sample", nullable=False),
        field("pool", pa.int64(), "cases that could have been drawn; null when the source is not at hand"),
        field("exhaustive", pa.bool_(), "whether the whole pool was taken"),
    ]
)
NO_EVIDENCE: Final = "(no evidence provided)"


@dataclass(frozen=True)
class Case:
    """A drawn case before it becomes a row."""

    stratum: str
    gold: str
    text: str
    evidence: Sequence[str] | None
    source: str
    source_row: int | None


@dataclass(frozen=True)
class Stratum:
    """How many cases a sampling group gave, out of how many (None when unknown)."""

    name: str
    split: str | None
    n: int
    pool: int | None


def evidence_text(evidence: Sequence[str]) -> str:
    """Evidence blocks as a judge reads them: a blank line between blocks."""
    return "\n\n".join(evidence) if evidence else NO_EVIDENCE


def to_table(cases: Sequence[Case], study: str) -> pa.Table:
    """Rows in the given order; case_id is the position."""
    rows: list[dict[str, Any]] = []
    for position, case in enumerate(cases):
        if case.gold not in GOLD:
            raise ValueError(f"gold label {case.gold!r} is outside {GOLD}")
        evidence = None if case.evidence is None else list(case.evidence)
        identity = json.dumps([case.text, evidence], ensure_ascii=False)
        rows.append(
            {
                "case_id": position,
                "study": study,
                "stratum": case.stratum,
                "gold": case.gold,
                "text": case.text,
                "evidence": evidence,
                "source": case.source,
                "source_row": case.source_row,
                "sha256": sha256_text(identity),
                "evidence_sha256": None if evidence is None else sha256_text(evidence_text(evidence)),
            }
        )
    return artifact.from_rows(rows, SCHEMA)


def composition(strata: Sequence[Stratum]) -> pa.Table:
    """The composition table: one row per stratum and one for the total."""
    rows: list[dict[str, Any]] = [
        {
            "stratum": item.name,
            "split": item.split,
            "n": item.n,
            "pool": item.pool,
            "exhaustive": None if item.pool is None else item.n == item.pool,
        }
        for item in strata
    ]
    rows.append({"stratum": "total", "split": None, "n": sum(item.n for item in strata)})
    return artifact.from_rows(rows, COMPOSITION)


def sha256_text(text: str) -> str:
    """SHA-256 of the UTF-8 bytes of a text."""
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def read(path: Path) -> pa.Table:
    """Read a sample and put its rows in the order of case_id; a repeated case_id is an error."""
    table = artifact.read(path, SCHEMA).sort_by("case_id")
    ids = table.column("case_id").to_pylist()
    for position, case_id in enumerate(ids):
        if case_id != position:
            raise bad_input(path, field="case_id", found=case_id, expected=f"case ids 0 to {len(ids) - 1}, once each")
    return table


def gold_codes(table: pa.Table) -> Labels:
    """Gold labels as codes, in the order of case_id."""
    return np.array([CODES[str(gold)] for gold in table.column("gold").to_pylist()], dtype=np.int8)
