"""Table `rates`: every rate of `judges` and `veto` in one long table, with exact limits beside Wilson's.

Wilson's interval is what the papers print and covers near its nominal level but for rates near 0 or 1 and for few
claims (docs/interval-coverage.md); Clopper and Pearson's covers everywhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import pyarrow as pa

from warrant import artifact
from warrant.artifact import field
from warrant.intervals import clopper_pearson, newcombe
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
    """One row per system and rate, and per flag and population where the panel has a validator."""
    rows: list[dict[str, Any]] = []
    for row in judges(gold, systems).to_pylist():
        for metric in WITH_INTERVAL:
            names = {"k": f"{metric}_k", "n": f"{metric}_n", "rate": metric}
            names |= {"low": f"{metric}_low", "high": f"{metric}_high"}
            found = {name: row[source] for name, source in names.items()}
            rows.append({"system": row["system"], "metric": metric, **found, **_exact(found["k"], found["n"])})
        rows.append(_gap(row))
    if panel is not None and panel.mixed is not None:
        for row in veto(gold, panel).to_pylist():
            found = {name: row[name] for name in ("k", "n", "rate", "low", "high")}
            system, metric = f"veto/{row['flag']}", row["population"]
            rows.append({"system": system, "metric": metric, **found, **_exact(row["k"], row["n"])})
    return artifact.from_rows(rows, SCHEMA)


def _exact(k: int | None, n: int | None) -> dict[str, float]:
    interval = None if k is None or n is None else clopper_pearson(k, n)
    return {} if interval is None else {"exact_low": interval[0], "exact_high": interval[1]}


def _gap(row: Mapping[str, Any]) -> dict[str, Any]:
    line = {
        "system": row["system"],
        "metric": "gap",
        "rate": row["gap"],
        "low": row["gap_low"],
        "high": row["gap_high"],
    }
    if row["gap"] is None:
        return line
    counts = (row["cpo_c_k"], row["cpo_c_n"], row["ovc_i_k"], row["ovc_i_n"])
    interval = newcombe(*counts, limits=clopper_pearson)
    return line if interval is None else line | {"exact_low": interval[0], "exact_high": interval[1]}
