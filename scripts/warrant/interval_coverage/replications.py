"""Every sample through the functions that make the tables; coverage of intervals and size of tests."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any, Final

import numpy as np

from warrant.bootstrap import generator
from warrant.interval_coverage.methods import (
    BESIDE,
    MCNEMAR,
    NEWCOMBE,
    PERCENTILE,
    SCORE,
    VETO_DRAWN,
    VETO_EXACT,
    WILSON,
)
from warrant.interval_coverage.samples import Simulated, simulate, wanted
from warrant.interval_coverage.settings import CONTROLLERS, UNTYPED, Setting
from warrant.interval_coverage.truth import Floats, Truth, truths
from warrant.tables.contrasts import contrasts
from warrant.tables.null import null
from warrant.tables.rates import rates

Key = tuple[str, str, str, str]  # table, row, metric, method
TOLERANCE: Final = 1e-9


def estimates(sample: Simulated, resamples: int, seed: int) -> Iterator[tuple[Key, tuple[float, float, float]]]:
    """Estimate, low and high (NaN where undefined) of every interval that the tables give for one sample."""

    def numbers(row: Mapping[str, Any], *names: str) -> tuple[float, float, float]:
        first, second, third = (math.nan if row[name] is None else float(row[name]) for name in names)
        return first, second, third

    shown = {name: one for name, one in sample.systems.items() if name not in CONTROLLERS}
    for row in rates(sample.gold, shown, sample.panel).to_pylist():
        system, metric = row["system"], row["metric"]
        if metric in UNTYPED and system.endswith("3opt"):
            continue
        table, _, flag = system.partition("/")
        about = ("veto", metric, flag) if table == "veto" else ("judges", system, metric)
        method = NEWCOMBE if metric == "gap" else WILSON
        yield (*about, method), numbers(row, "rate", "low", "high")
        yield (*about, BESIDE[method]), numbers(row, "rate", "exact_low", "exact_high")
    for row in contrasts(sample.gold, sample.systems, wanted(), resamples, seed).to_pylist():
        key = ("contrasts", row["contrast"], row["metric"])
        yield (*key, PERCENTILE), numbers(row, "delta", "low", "high")
        yield (*key, SCORE), numbers(row, "delta", "score_low", "score_high")
        if row["contrast"] == "same_parameters" and row["p_mcnemar"] is not None:
            yield (*key, MCNEMAR), (row["p_mcnemar"], math.nan, math.nan)


def veto_tests(sample: Simulated, draws: int, seed: int) -> Iterator[tuple[Key, tuple[float, float, float]]]:
    """One-sided p values of a validator whose vetoes know nothing (NaN where undefined)."""
    taus = (Decimal("0.90"), Decimal("0.85"))
    for row in null(sample.gold, sample.ignorant, taus, taus[:1], draws, seed).to_pylist():
        if row["form"] == "matched" and row["arithmetic"] == "published":
            continue  # confidences in hundredths: the same as exact but for a few ties
        tested = f"{row['form']}, E@{row['tau_e']:.2f}, F@{row['tau_f']:.2f}"
        for method, p in ((VETO_EXACT, row["p_exact"]), (VETO_DRAWN, row["p_monte_carlo"])):
            yield ("null", tested, row["metric"], method), (math.nan if p is None else p, math.nan, math.nan)


def replicate(setting: Setting, replications: int, resamples: int, draws: int, seed: int) -> dict[Key, Floats]:
    """(replications, 3) estimate, low and high of every interval, and p value of every test, over samples."""
    rng = generator(seed, 101)
    everything = simulate(setting, setting.gold(replications, rng), rng)
    collected: dict[Key, list[tuple[float, float, float]]] = {}
    for at in range(replications):
        sample = everything.part(at * setting.claims, (at + 1) * setting.claims)
        for key, numbers in estimates(sample, resamples, seed + at):
            collected.setdefault(key, []).append(numbers)
        for key, numbers in veto_tests(sample, draws, seed + at) if draws else ():
            collected.setdefault(key, []).append(numbers)
    return {key: np.array(numbers) for key, numbers in collected.items()}


def standard_error(share: float, n: int) -> float:
    """Monte Carlo standard error of a share of n replications, never 0: as if one half more had been seen each way."""
    kept = (share * n + 0.5) / (n + 1)
    return math.sqrt(kept * (1 - kept) / n)


def summary(setting: Setting, key: Key, values: Floats, truth: Truth | None) -> dict[str, Any] | None:
    """One row on an interval (against the truth) or a test (without one); None when it was never defined.

    share: coverage of an interval, share of p <= .05 of a test, over the replications in which it is defined.
    """
    table, row, metric, method = key
    estimate, low, high = values[np.isfinite(values[:, 0])].T
    n = len(estimate)
    if n == 0:
        return None
    line: dict[str, Any] = {"setting": setting.name, "table": table, "row": row, "metric": metric, "method": method}
    line |= {"replications": len(values), "defined": n}
    if truth is None:
        share = float((estimate <= 0.05).mean())
        return line | {"nominal": 0.05, "share": share, "share_error": standard_error(share, n)}
    above, below = low > truth.value + TOLERANCE, high < truth.value - TOLERANCE
    share = 1 - float((above | below).mean())
    spread = float(estimate.std(ddof=1) / math.sqrt(n)) if n > 1 else math.nan
    return line | {
        "nominal": 0.95,
        "share": share,
        "share_error": standard_error(share, n),
        "truth": truth.value,
        "truth_error": truth.error,
        "bias": float(estimate.mean()) - truth.value,
        "bias_error": math.hypot(spread, truth.error),
        "above": float(above.mean()),
        "below": float(below.mean()),
        "width": float((high - low).mean()),
        "empty": float((high - low <= TOLERANCE).mean()),
    }


def study(
    setting: Setting, replications: int, resamples: int, draws: int, per_label: int, seed: int
) -> list[dict[str, Any]]:
    """Every row of one setting."""
    known = truths(setting, per_label, generator(seed, 100))
    lines = []
    for key, values in replicate(setting, replications, resamples, draws, seed).items():
        tested = key[3] in (MCNEMAR, VETO_EXACT, VETO_DRAWN)
        if not tested and key[:3] not in known:
            continue  # a rate over claims that do not occur
        line = summary(setting, key, values, None if tested else known[key[:3]])
        if line is not None:
            lines.append(line)
    return lines
