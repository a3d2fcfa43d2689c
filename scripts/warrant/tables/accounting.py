"""Table `accounting`: per arm and judge, what was asked, what came back, and what could be used of it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, Final

import pyarrow as pa

from warrant import artifact
from warrant.artifact import field

SCHEMA: Final = pa.schema(
    [
        field("arm", pa.string(), "condition under which the judge answered", nullable=False),
        field("model", pa.string(), "judge", nullable=False),
        field("requests", pa.int64(), "answers of the arm: cases times replicates", nullable=False),
        field("answered", pa.int64(), "answers of status ok", nullable=False),
        field("refusals", pa.int64(), "answers of status refusal", nullable=False),
        field("truncated", pa.int64(), "answers of status truncated", nullable=False),
        field("empty", pa.int64(), "answers of status empty", nullable=False),
        field("wrong_model", pa.int64(), "answers of another model than the one asked", nullable=False),
        field("infra_errors", pa.int64(), "requests without an answer", nullable=False),
        field("repaired", pa.int64(), "answers that were used after a repair", nullable=False),
        field("unparsed", pa.int64(), "answers of status ok without a usable verdict", nullable=False),
        field("without_confidence", pa.int64(), "usable answers that state no confidence", nullable=False),
        field("retries", pa.int64(), "calls repeated before an answer; null where the source does not say"),
        field("retry_causes", pa.string(), "JSON: retries by cause; null where the source does not say"),
        field("usage", pa.string(), "JSON: sums of what the provider counted; null where the source does not say"),
    ]
)
Row = Mapping[str, Any]


def accounting(arm: str, rows: Iterable[Row]) -> list[dict[str, Any]]:
    """One row per judge of an arm, in alphabetical order, from the rows of its verdicts."""
    by_judge: dict[str, list[Row]] = {}
    for row in rows:
        by_judge.setdefault(row["model"], []).append(row)
    return [{"arm": arm, "model": judge, **_counts(by_judge[judge])} for judge in sorted(by_judge)]


def _counts(rows: list[Row]) -> dict[str, Any]:
    status = Counter(row["status"] for row in rows)
    known = [row["retries"] for row in rows if row["retries"] is not None]
    causes = _total(row["retry_causes"] for row in rows)
    usage = _total(row["usage"] for row in rows)
    return {
        "requests": len(rows),
        "answered": status["ok"],
        "refusals": status["refusal"],
        "truncated": status["truncated"],
        "empty": status["empty"],
        "wrong_model": status["wrong_model"],
        "infra_errors": status["infra_error"],
        "repaired": sum(row["parse_status"].startswith("repaired") for row in rows),
        "unparsed": sum(row["status"] == "ok" and row["parse_status"] == "invalid" for row in rows),
        "without_confidence": sum(row["verdict"] is not None and row["confidence"] is None for row in rows),
        "retries": sum(known) if known else None,
        "retry_causes": _json(causes) if known else None,
        "usage": _json(usage) if usage else None,
    }


def _total(texts: Iterable[str | None]) -> Counter[str]:
    """Sums of the whole numbers in JSON objects, by name; nested objects (details of a count) are left out."""
    total: Counter[str] = Counter()
    for text in texts:
        for name, count in json.loads(text).items() if text else ():
            if isinstance(count, int) and not isinstance(count, bool):
                total[name] += count
    return total


def _json(counts: Mapping[str, int]) -> str:
    return json.dumps(counts, sort_keys=True)


def table(arms: Mapping[str, Iterable[Row]]) -> pa.Table:
    """The table of every arm, in the order given."""
    return artifact.from_rows([row for arm, rows in arms.items() for row in accounting(arm, rows)], SCHEMA)
