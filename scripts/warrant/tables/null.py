"""Table `null`: the random-veto null in the published and in the matched form."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any, Final

import numpy as np
import pyarrow as pa

from warrant import artifact
from warrant.artifact import field
from warrant.bootstrap import generator
from warrant.decimals import Arithmetic
from warrant.labels import CONFLICTING, Labels, directional
from warrant.metrics import METRICS
from warrant.random_veto import NullResult, random_veto
from warrant.systems import Controlled

SCHEMA: Final = pa.schema(
    [
        field(
            "form",
            pa.string(),
            "published, or matched (same threshold, only F's vetoes among E's commits)",
            nullable=False,
        ),
        field("arithmetic", pa.string(), "arithmetic at the threshold", nullable=False),
        field("metric", pa.string(), "metric", nullable=False),
        field("k", pa.int64(), "vetoes drawn", nullable=False),
        field("commits", pa.int64(), "commits of E that are drawn from", nullable=False),
        field("tau_e", pa.float64(), "threshold of E", nullable=False),
        field("tau_f", pa.float64(), "threshold of F", nullable=False),
        field("baseline", pa.float64(), "E's value"),
        field("observed", pa.float64(), "the value after the validator's vetoes"),
        field("null_mean", pa.float64(), "exact mean under random vetoes"),
        field("p_monte_carlo", pa.float64(), "one-sided, (1 + b) / (1 + draws)"),
        field("p_exact", pa.float64(), "one-sided, hypergeometric"),
        field("draws", pa.int64(), "Monte Carlo draws", nullable=False),
    ]
)
DISTRIBUTION: Final = pa.schema(
    [
        *(SCHEMA.field(name) for name in ("form", "arithmetic", "metric", "tau_e", "tau_f")),
        field("value", pa.float64(), "a value that random vetoes can give", nullable=False),
        field("probability", pa.float64(), "its exact probability (hypergeometric)", nullable=False),
        field("drawn", pa.int64(), "Monte Carlo draws that gave it", nullable=False),
    ]
)


def null(
    gold: Labels,
    panel: Controlled,
    published: tuple[Decimal, Decimal],
    matched: Sequence[Decimal],
    draws: int,
    seed: int,
) -> pa.Table:
    """The table alone: see `null_tables`."""
    return null_tables(gold, panel, published, matched, draws, seed)[0]


def null_tables(
    gold: Labels,
    panel: Controlled,
    published: tuple[Decimal, Decimal],
    matched: Sequence[Decimal],
    draws: int,
    seed: int,
) -> tuple[pa.Table, pa.Table]:
    """Rows of both forms, and the distributions behind them.

    published: thresholds of E and F as the paper pairs them, in its arithmetic; F's own decisions are the
    observation, so vetoes outside E's commits and commits that E never had count for F. matched: thresholds;
    the k commits of E that F removes are promoted within E's decisions, in both arithmetics. ValueError for a
    partial panel: its unknown decisions are not decisions to withhold.
    """
    if panel.proposal.partial:
        raise ValueError("the random-veto null needs the panel's votes on every claim")
    rows: list[tuple[dict[str, Any], NullResult]] = []
    tau_e, tau_f = published
    e, f = panel.e(tau_e, "published").decision, panel.f(tau_f, "published").decision
    rows += _rows(gold, "published", "published", tau_e, tau_f, e, f, draws, generator(seed, 0))
    arithmetics: tuple[Arithmetic, ...] = ("exact", "published")
    for position, arithmetic in enumerate(arithmetics):
        for tau in matched:
            e, f = panel.e(tau, arithmetic).decision, panel.f(tau, arithmetic).decision
            removed = directional(e) & ~directional(f)
            observed = np.where(removed, np.int8(CONFLICTING), e).astype(np.int8)
            key = (1, position, int(tau.scaleb(6)))
            rows += _rows(gold, "matched", arithmetic, tau, tau, e, observed, draws, generator(seed, *key))
    keys = ("form", "arithmetic", "metric", "tau_e", "tau_f")
    distributions = [
        {**{name: row[name] for name in keys}, "value": value, "probability": probability, "drawn": drawn}
        for row, result in rows
        for value, probability, drawn in result.distribution
    ]
    return artifact.from_rows([row for row, _ in rows], SCHEMA), artifact.from_rows(distributions, DISTRIBUTION)


def _rows(
    gold: Labels,
    form: str,
    arithmetic: str,
    tau_e: Decimal,
    tau_f: Decimal,
    e: Labels,
    observed: Labels,
    draws: int,
    rng: np.random.Generator,
) -> list[tuple[dict[str, Any], NullResult]]:
    k = int((directional(e) & ~directional(observed)).sum())
    return [
        (
            {
                "form": form,
                "arithmetic": arithmetic,
                "metric": result.metric,
                "k": k,
                "commits": int(directional(e).sum()),
                "tau_e": float(tau_e),
                "tau_f": float(tau_f),
                "baseline": METRICS[result.metric].value(gold, e),
                "observed": result.observed,
                "null_mean": result.null_mean,
                "p_monte_carlo": result.p_monte_carlo,
                "p_exact": result.p_exact,
                "draws": draws,
            },
            result,
        )
        for result in random_veto(gold, e, observed, k, draws, rng)
    ]
