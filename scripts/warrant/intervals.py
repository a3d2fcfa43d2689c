"""Intervals and tests for proportions: Wilson, Newcombe, exact McNemar, Holm."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist

Interval = tuple[float, float]


def normal_quantile(confidence: float) -> float:
    """Two-sided standard normal quantile, 1.96 for 0.95."""
    return NormalDist().inv_cdf(0.5 + confidence / 2)


def wilson(k: int, n: int, confidence: float = 0.95) -> Interval | None:
    """Wilson score interval of k successes in n trials; None when n is 0. Exactly 0 at k=0 and 1 at k=n.

    Wilson (1927), JASA 22; the interval that both papers print. ValueError unless 0 <= k <= n.
    """
    if not 0 <= k <= n:
        raise ValueError(f"k={k} is not between 0 and n={n}")
    if n == 0:
        return None
    z = normal_quantile(confidence)
    rate = k / n
    shrink = 1 + z * z / n
    middle = (rate + z * z / (2 * n)) / shrink
    half = z / shrink * math.sqrt(rate * (1 - rate) / n + z * z / (4 * n * n))
    return (0.0 if k == 0 else middle - half, 1.0 if k == n else middle + half)


def newcombe(k1: int, n1: int, k2: int, n2: int, confidence: float = 0.95) -> Interval | None:
    """Interval of the difference k1/n1 - k2/n2 of two independent proportions; None when either n is 0.

    Hybrid score interval, method 10 of Newcombe (1998), Statistics in Medicine 17.
    """
    first, second = wilson(k1, n1, confidence), wilson(k2, n2, confidence)
    if first is None or second is None:
        return None
    p1, p2 = k1 / n1, k2 / n2
    low = p1 - p2 - math.hypot(p1 - first[0], second[1] - p2)
    high = p1 - p2 + math.hypot(first[1] - p1, p2 - second[0])
    return (low, high)


def mcnemar_exact(only_a: int, only_b: int) -> float:
    """Two-sided exact McNemar p from the two discordant counts; 1 when there are none."""
    discordant = only_a + only_b
    tail = ways = 1
    for i in range(1, min(only_a, only_b) + 1):
        ways = ways * (discordant - i + 1) // i
        tail += ways
    return min(1.0, 2 * tail / (1 << discordant))


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's step-down adjusted p values, in the order given (Holm 1979)."""
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    adjusted = [0.0] * len(p_values)
    running = 0.0
    for rank, i in enumerate(order):
        running = max(running, min(1.0, (len(p_values) - rank) * p_values[i]))
        adjusted[i] = running
    return adjusted
