"""Table `contrasts`: paired differences of metrics, with bootstrap intervals and exact tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa

from warrant import artifact
from warrant.artifact import field
from warrant.bootstrap import generator, percentile_interval, ratio_differences, resampled_sums
from warrant.intervals import holm, mcnemar_exact
from warrant.labels import Labels
from warrant.metrics import METRICS, Metric
from warrant.systems import Decisions

SCHEMA: Final = pa.schema(
    [
        field("contrast", pa.string(), "what is compared", nullable=False),
        field("metric", pa.string(), "metric", nullable=False),
        field("a", pa.string(), "baseline system", nullable=False),
        field("b", pa.string(), "compared system", nullable=False),
        field("n", pa.int64(), "claims that are resampled", nullable=False),
        field("value_a", pa.float64(), "metric of a; null when not computable"),
        field("value_b", pa.float64(), "metric of b; null when not computable"),
        field("delta", pa.float64(), "value_b - value_a"),
        field("low", pa.float64(), "percentile 95% lower bound, paired bootstrap over claims"),
        field("high", pa.float64(), "percentile 95% upper bound"),
        field("resamples", pa.int64(), "bootstrap resamples", nullable=False),
        field("method", pa.string(), "how the interval was made", nullable=False),
        field("discordant", pa.int64(), "claims on which the metric's numerator differs"),
        field("p_mcnemar", pa.float64(), "two-sided exact; null for selective error, whose denominators differ"),
        field("p_holm", pa.float64(), "p_mcnemar adjusted over the table (Holm)"),
    ]
)


@dataclass(frozen=True)
class Contrast:
    """b against the baseline a on one metric."""

    name: str
    metric: str
    a: str
    b: str


def contrasts(
    gold: Labels, systems: Mapping[str, Decisions], wanted: Sequence[Contrast], resamples: int, seed: int
) -> pa.Table:
    """One row per contrast.

    Claims are resampled from the metric's population (all claims for Cov, SE and CPO_N; the gold labels that
    the rate is about otherwise), with one shared set of resamples per population. A contrast of a partial
    system is null where the metric needs claims that are not known.
    """
    rows: list[dict[str, Any]] = [{} for _ in wanted]
    by_population: dict[frozenset[int], list[int]] = {}
    for position, contrast in enumerate(wanted):
        by_population.setdefault(METRICS[contrast.metric].population, []).append(position)
    for population, positions in by_population.items():
        members = np.isin(gold, list(population))
        rng = generator(seed, sum(1 << label for label in population))
        _fill(rows, positions, gold[members], members, systems, wanted, resamples, rng)
    tested = [row for row in rows if row.get("p_mcnemar") is not None]
    for row, adjusted in zip(tested, holm([row["p_mcnemar"] for row in tested]), strict=True):
        row["p_holm"] = adjusted
    return artifact.from_rows(rows, SCHEMA)


def _fill(
    rows: list[dict[str, Any]],
    positions: Sequence[int],
    gold: Labels,
    members: np.ndarray,
    systems: Mapping[str, Decisions],
    wanted: Sequence[Contrast],
    resamples: int,
    rng: np.random.Generator,
) -> None:
    """Rows of one population; every (system, metric) pair is one numerator and one denominator column."""
    index: dict[tuple[str, str], int] = {}
    columns: list[np.ndarray] = []
    for position in positions:
        contrast = wanted[position]
        for system in (contrast.a, contrast.b):
            if (system, contrast.metric) not in index:
                index[system, contrast.metric] = len(columns)
                columns += _columns(METRICS[contrast.metric], gold, systems[system].decision[members])
    sums = resampled_sums(np.stack(columns, axis=1), resamples, rng)
    for position in positions:
        contrast = wanted[position]
        metric = METRICS[contrast.metric]
        a, b = (index[system, contrast.metric] for system in (contrast.a, contrast.b))
        row: dict[str, Any] = {
            "contrast": contrast.name,
            "metric": contrast.metric,
            "a": contrast.a,
            "b": contrast.b,
            "n": len(gold),
            "resamples": resamples,
            "method": "percentile, paired over claims",
        }
        rows[position] = row
        values = [
            metric.value(gold, systems[system].decision[members], systems[system].known[members])
            for system in (contrast.a, contrast.b)
        ]
        row["value_a"], row["value_b"] = values
        if values[0] is None or values[1] is None:
            continue
        row["delta"] = values[1] - values[0]
        interval = percentile_interval(ratio_differences(sums, (a, b), (a + 1, b + 1)))
        if interval is not None:
            row["low"], row["high"] = interval
        only_a = int(((columns[a] == 1) & (columns[b] == 0)).sum())
        only_b = int(((columns[a] == 0) & (columns[b] == 1)).sum())
        row["discordant"] = only_a + only_b
        if metric.denominator is None:
            row["p_mcnemar"] = mcnemar_exact(only_a, only_b)


def _columns(metric: Metric, gold: Labels, decision: Labels) -> list[np.ndarray]:
    top = metric.numerator(gold, decision)
    bottom = np.ones(len(gold), dtype=np.bool_) if metric.denominator is None else metric.denominator(gold, decision)
    return [(top & bottom).astype(np.float64), bottom.astype(np.float64)]
