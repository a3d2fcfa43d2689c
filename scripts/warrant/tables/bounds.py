"""Table `bounds`: the least and greatest value of each rate, whatever the missing answers would have been."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import pyarrow as pa

from warrant import artifact
from warrant.artifact import field
from warrant.intervals import clopper_pearson
from warrant.labels import Labels
from warrant.metrics import METRICS, ratio
from warrant.missing import Possible, least_and_greatest

SCHEMA: Final = pa.schema(
    [
        field("system", pa.string(), "judge, panel, controller or validator", nullable=False),
        field("metric", pa.string(), "metric", nullable=False),
        field("claims", pa.int64(), "claims that the metric is about", nullable=False),
        field("open", pa.int64(), "of them, claims whose decision depends on missing answers", nullable=False),
        field("least", pa.float64(), "least value, whatever the missing answers are; null without a denominator"),
        field("greatest", pa.float64(), "greatest value; equal to the least where nothing is missing"),
        field("least_k", pa.int64(), "numerator of the least value", nullable=False),
        field("least_n", pa.int64(), "its denominator", nullable=False),
        field("greatest_k", pa.int64(), "numerator of the greatest value", nullable=False),
        field("greatest_n", pa.int64(), "its denominator", nullable=False),
        field("low", pa.float64(), "exact 95% lower bound (Clopper and Pearson) of the least value"),
        field("high", pa.float64(), "exact 95% upper bound of the greatest value"),
    ]
)


def bounds(gold: Labels, systems: Mapping[str, Possible]) -> pa.Table:
    """One row per system and metric. systems: by name, the decisions that are possible on every claim."""
    return artifact.from_rows(
        (_row(gold, system, metric, possible) for system, possible in systems.items() for metric in METRICS), SCHEMA
    )


def _row(gold: Labels, system: str, name: str, possible: Possible) -> dict[str, Any]:
    metric = METRICS[name]
    least, greatest = least_and_greatest(metric, gold, possible)
    low, high = clopper_pearson(*least), clopper_pearson(*greatest)
    members = metric.members(gold)
    return {
        "system": system,
        "metric": name,
        "claims": int(members.sum()),
        "open": int(np.count_nonzero(members & (possible.sum(axis=1) > 1))),
        "least": ratio(*least),
        "greatest": ratio(*greatest),
        "least_k": least[0],
        "least_n": least[1],
        "greatest_k": greatest[0],
        "greatest_n": greatest[1],
        "low": None if low is None else low[0],
        "high": None if high is None else high[1],
    }
