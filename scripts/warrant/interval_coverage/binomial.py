"""Exact coverage of the intervals of rates, and of a gap between two, over ranges of true rates."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from warrant.interval_coverage.methods import CLOPPER_PEARSON, EXACT_GAP, NEWCOMBE, WILSON
from warrant.interval_coverage.replications import TOLERANCE
from warrant.interval_coverage.truth import Floats
from warrant.intervals import Limits, clopper_pearson, newcombe, wilson

EXACT_N: Final = (20, 35, 50, 100, 150, 285)
EXACT_RANGES: Final = ((0.01, 0.99), (0.05, 0.95), (0.10, 0.90), (0.20, 0.80))
GAP_N: Final = ((150, 35), (100, 50), (20, 20))  # conflicting and insufficient claims of the settings
STEPS, GAP_STEPS = 1000, 100


def binomial(n: int, rate: float) -> Floats:
    """Probabilities of 0 ... n successes in n trials."""
    log = math.lgamma(n + 1)
    ways = [log - math.lgamma(k + 1) - math.lgamma(n - k + 1) for k in range(n + 1)]
    return np.array([math.exp(ways[k] + k * math.log(rate) + (n - k) * math.log1p(-rate)) for k in range(n + 1)])


def rate_coverage(n: int, rate: float, limits: Limits = wilson) -> float:
    """Exact coverage of the interval of n trials at a true rate: the binomial probability of what covers."""
    intervals = [limits(k, n, 0.95) or (0.0, 1.0) for k in range(n + 1)]
    mass = binomial(n, rate)
    return math.fsum(mass[k] for k, (low, high) in enumerate(intervals) if low <= rate <= high)


def gap_coverage(n: int, m: int, grid: Sequence[float], limits: Limits = wilson) -> Floats:
    """Exact coverage of the square-and-add interval of a difference of two independent rates, at each pair of them."""
    ends = np.array([[newcombe(k, n, h, m, limits=limits) or (-1.0, 1.0) for h in range(m + 1)] for k in range(n + 1)])
    first, second = ([binomial(trials, rate) for rate in grid] for trials in (n, m))
    found = np.empty((len(grid), len(grid)))
    for i, j in np.ndindex(*found.shape):
        gap = grid[i] - grid[j]
        covers = (ends[:, :, 0] <= gap + TOLERANCE) & (gap - TOLERANCE <= ends[:, :, 1])
        found[i, j] = first[i] @ covers @ second[j]
    return found


def exact_rates() -> Iterator[dict[str, object]]:
    """Exact least coverage of a rate's intervals over ranges of true rates."""
    for method, limits in ((WILSON, wilson), (CLOPPER_PEARSON, clopper_pearson)):
        for n in EXACT_N:
            found = [(step / STEPS, rate_coverage(n, step / STEPS, limits)) for step in range(10, 991)]
            for low, high in EXACT_RANGES:
                rate, share = min(((p, c) for p, c in found if low <= p <= high), key=lambda one: one[1])
                about = {"table": "binomial", "row": f"n={n}", "metric": f"rate in [{low:.2f}, {high:.2f}]"}
                yield {"setting": "exact", **about, "method": method, "nominal": 0.95, "share": share, "truth": rate}


def exact_gaps() -> Iterator[dict[str, object]]:
    """Exact least coverage of a gap's intervals over ranges of two true rates."""
    steps = [step / GAP_STEPS for step in range(1, GAP_STEPS)]
    for method, limits in ((NEWCOMBE, wilson), (EXACT_GAP, clopper_pearson)):
        for n, m in GAP_N:
            found = gap_coverage(n, m, steps, limits)
            for low, high in EXACT_RANGES:
                inside = [i for i, rate in enumerate(steps) if low <= rate <= high]
                share, gap = min((float(found[i, j]), steps[i] - steps[j]) for i in inside for j in inside)
                about = {"table": "binomial", "row": f"n={n}, {m}", "metric": f"rate in [{low:.2f}, {high:.2f}]"}
                yield {"setting": "exact", **about, "method": method, "nominal": 0.95, "share": share, "truth": gap}
