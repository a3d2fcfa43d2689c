"""Table `rates`: every rate of `judges` and `veto` in one long table, with exact limits beside Wilson's.

The published intervals, Wilson's and for the gap Newcombe's, are kept for the audit; they under-cover at rates near 0
or 1 and among few claims. The exact limits beside them cover (docs/interval-coverage.md).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import pyarrow as pa

from warrant import artifact
from warrant.artifact import field
from warrant.intervals import Interval, clopper_pearson, newcombe
from warrant.labels import Labels
from warrant.systems import Controlled, Decisions
from warrant.tables.judges import WITH_INTERVAL, judges
from warrant.tables.veto import veto

SCHEMA: Final = pa.schema(
    [
        field("system", pa.string(), "judge, panel or validator; veto/FLAG for the validator's flags", nullable=False),
        field(
            "metric", pa.string(), "rate; gap: cpo_c - ovc_i; for a flag the claims that are looked at", nullable=False
        ),
        field("k", pa.int64(), "count; null for a gap, or when not computable"),
        field("n", pa.int64(), "denominator; null for a gap, or when not computable"),
        field("rate", pa.float64(), "k / n; null when not computable"),
        field("low", pa.float64(), "95% lower bound: Wilson; for a gap Newcombe's"),
        field("high", pa.float64(), "95% upper bound: Wilson; for a gap Newcombe's"),
        field("exact_low", pa.float64(), "95% lower bound: Clopper and Pearson; for a gap square-and-add of theirs"),
        field("exact_high", pa.float64(), "95% upper bound: Clopper and Pearson; for a gap square-and-add of theirs"),
    ]
)


def rates(gold: Labels, systems: Mapping[str, Decisions], panel: Controlled | None) -> pa.Table:
    """Per system a row for each rate and one for the gap; per flag one for each population, with a validator.

    Null where the denominator is 0 or claims that the rate needs are not known. panel: the typed one, None without.
    """
    rows: list[dict[str, Any]] = []
    for row in judges(gold, systems).to_pylist():
        rows += [_rate(row, metric) for metric in WITH_INTERVAL]
        rows.append(_gap(row))
    if panel is not None and panel.mixed is not None:
        rows += [_flagged(row) for row in veto(gold, panel).to_pylist()]
    return artifact.from_rows(rows, SCHEMA)


def _rate(row: Mapping[str, Any], metric: str) -> dict[str, Any]:
    k, n = row[f"{metric}_k"], row[f"{metric}_n"]
    published = {"rate": row[metric], "low": row[f"{metric}_low"], "high": row[f"{metric}_high"]}
    return {"system": row["system"], "metric": metric, "k": k, "n": n, **published, **_exact(k, n)}


def _flagged(row: Mapping[str, Any]) -> dict[str, Any]:
    found = {name: row[name] for name in ("k", "n", "rate", "low", "high")}
    return {"system": f"veto/{row['flag']}", "metric": row["population"], **found, **_exact(row["k"], row["n"])}


def _gap(row: Mapping[str, Any]) -> dict[str, Any]:
    line = {"system": row["system"], "metric": "gap"}
    line |= {"rate": row["gap"], "low": row["gap_low"], "high": row["gap_high"]}
    if row["gap"] is None:
        return line
    counts = (row["cpo_c_k"], row["cpo_c_n"], row["ovc_i_k"], row["ovc_i_n"])
    return line | _limits(newcombe(*counts, limits=clopper_pearson))


def _exact(k: int | None, n: int | None) -> dict[str, float]:
    return {} if k is None or n is None else _limits(clopper_pearson(k, n))


def _limits(interval: Interval | None) -> dict[str, float]:
    return {} if interval is None else {"exact_low": interval[0], "exact_high": interval[1]}
