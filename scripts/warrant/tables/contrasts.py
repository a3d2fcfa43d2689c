"""Table `contrasts`: paired differences of metrics, with two intervals each and exact tests.

The published percentile bootstrap is kept for the audit; it under-covers where few claims differ. The
square-and-add interval beside it covers (docs/interval-coverage.md).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa

from warrant import artifact
from warrant.artifact import field
from warrant.bootstrap import generator, percentile_interval, ratio_differences, resampled_sums
from warrant.intervals import (
    Interval,
    holm,
    mcnemar_exact,
    paired_correlation,
    paired_square_and_add,
    square_and_add,
)
from warrant.labels import Labels
from warrant.max_t import Floats, max_t
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
        field("score_low", pa.float64(), "95% lower bound from Wilson limits and their correlation"),
        field("score_high", pa.float64(), "95% upper bound from Wilson limits and their correlation"),
        field("score_method", pa.string(), "how this interval was made", nullable=False),
        field("joint_low", pa.float64(), "95% lower bound, joint over the family (single-step max-T)"),
        field("joint_high", pa.float64(), "95% upper bound, joint over the family"),
        field("family", pa.int64(), "contrasts of the same name and metric with a difference", nullable=False),
        field("p_max_t", pa.float64(), "two-sided, adjusted over the family (single-step max-T)"),
        field("discordant", pa.int64(), "claims on which the metric's numerator differs"),
        field("p_mcnemar", pa.float64(), "two-sided exact; null for selective error, whose denominators differ"),
        field("p_holm", pa.float64(), "p_mcnemar adjusted over the table (Holm)"),
    ]
)
_PAIRED: Final = "square-and-add, discordant shares (Zou and Donner 2008)"
_MOVER: Final = "square-and-add, overlapping commits (Zou and Donner 2008)"


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
    the rate is about otherwise), with one shared set of resamples per population. Contrasts of the same name and
    metric are one family, with joint intervals and p values beside the single ones. A contrast of a partial
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
    families: dict[tuple[str, str], list[int]] = {}
    resampled: dict[int, Floats] = {}
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
            "score_method": _PAIRED if metric.denominator is None else _MOVER,
            "family": 0,
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
        resampled[position] = ratio_differences(sums, (a, b), (a + 1, b + 1))
        families.setdefault((contrast.name, contrast.metric), []).append(position)
        interval = percentile_interval(resampled[position])
        if interval is not None:
            row["low"], row["high"] = interval
        only_a = int(((columns[a] == 1) & (columns[b] == 0)).sum())
        only_b = int(((columns[a] == 0) & (columns[b] == 1)).sum())
        row["discordant"] = only_a + only_b
        if metric.denominator is None:
            row["p_mcnemar"] = mcnemar_exact(only_a, only_b)
            score = paired_square_and_add(only_a, only_b, len(gold))
        else:
            score = _square_and_add(*columns[a : a + 2], *columns[b : b + 2])
        if score is not None:
            row["score_low"], row["score_high"] = score
    for family in families.values():
        joint = max_t(
            np.array([rows[position]["delta"] for position in family]),
            np.stack([resampled[position] for position in family], axis=1),
        )
        for position, interval, p in zip(family, joint.interval, joint.p, strict=True):
            rows[position] |= {"family": len(family), "p_max_t": p}
            if interval is not None:
                rows[position] |= {"joint_low": interval[0], "joint_high": interval[1]}


def _square_and_add(
    top_a: np.ndarray, bottom_a: np.ndarray, top_b: np.ndarray, bottom_b: np.ndarray
) -> Interval | None:
    """Interval of b's ratio minus a's from indicator columns; None where a denominator is 0."""
    a, b = (int(top_a.sum()), int(bottom_a.sum())), (int(top_b.sum()), int(bottom_b.sum()))
    pairs = ((top_a, top_b), (top_a, bottom_b), (bottom_a, top_b), (bottom_a, bottom_b))
    return square_and_add(a, b, paired_correlation(a, b, *(int(one @ other) for one, other in pairs)))


def _columns(metric: Metric, gold: Labels, decision: Labels) -> list[np.ndarray]:
    top = metric.numerator(gold, decision)
    bottom = np.ones(len(gold), dtype=np.bool_) if metric.denominator is None else metric.denominator(gold, decision)
    return [(top & bottom).astype(np.float64), bottom.astype(np.float64)]
