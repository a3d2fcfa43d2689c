"""Split conformal prediction with exact ranks (debate paper, section 3.3; Vovk et al. 2005, Lei et al. 2018).

Scores are integers on the 10^-12 grid. The threshold is the k-th smallest calibration score with
k = ceil((n + 1)(1 - alpha)), from exact rationals; a rank above n has no score and the threshold is infinite: the
full set. Ties are inside: C(x) = {y : s(x, y) <= q}.
"""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from functools import cache
from typing import Final

import numpy as np

from warrant.grid import INFINITE, ONE, Grid

SCORES: Final = ("lac", "rank")


def rank(n: int, alpha: Decimal | Fraction) -> int:
    """k = ceil((n + 1)(1 - alpha)) in exact arithmetic. ValueError unless 0 < alpha < 1 and n >= 1."""
    if not 0 < alpha < 1:
        raise ValueError(f"alpha={alpha} is not between 0 and 1")
    if n < 1:
        raise ValueError("the calibration set is empty")
    return math.ceil((n + 1) * (1 - Fraction(alpha)))


def threshold(scores: Grid, alpha: Decimal | Fraction) -> int:
    """The k-th smallest of the calibration scores, INFINITE when k exceeds their number."""
    k = rank(len(scores), alpha)
    return INFINITE if k > len(scores) else int(np.partition(scores, k - 1)[k - 1])


def lac(pooled: Grid) -> Grid:
    """Nonconformity of each option: one minus its pooled probability (least ambiguous set-valued classifier)."""
    return ONE - pooled


def rank_cumulative(pooled: Grid) -> Grid:
    """Nonconformity of each option: the pooled probability of all options at least as probable as it.

    A deterministic adaptive score: options tied in probability get the same score, so no order decides.
    """
    at_least = pooled[..., None, :] >= pooled[..., :, None]
    return np.asarray((at_least * pooled[..., None, :]).sum(axis=-1), dtype=np.int64)


def option_scores(pooled: Grid, offered: np.ndarray, score: str) -> Grid:
    """(..., options) nonconformity scores; options that do not exist are never in a set.

    INFINITE marks them, and an infinite threshold is compared as INFINITE - 1, so that a full set is the full set
    of the question's own options.
    """
    if score not in SCORES:
        raise ValueError(f"unknown score {score!r}, expected one of {SCORES}")
    values = lac(pooled) if score == "lac" else rank_cumulative(np.where(offered, pooled, 0))
    return np.where(offered, values, INFINITE)


def members(scores: Grid, q: Grid | int) -> np.ndarray:
    """(..., options) booleans: which options are in the set. q: thresholds that broadcast over questions."""
    limit = np.minimum(q, INFINITE - 1)
    return np.asarray(scores <= np.expand_dims(limit, -1))


@cache
def beta_binomial_coverage(n_cal: int, n_test: int, alpha: Decimal) -> tuple[float, float, float]:
    """Mean, 5% and 95% quantile of the coverage of n_test exchangeable test points, continuous scores.

    The number covered is beta-binomial (n_test, k, n_cal + 1 - k); with k > n_cal everything is covered. Quantiles are
    the least counts whose exact cumulative probability reaches the level.
    """
    k = rank(n_cal, alpha)
    if k > n_cal:
        return 1.0, 1.0, 1.0
    total = math.comb(n_cal + n_test, n_test)
    ways = math.comb(n_cal - k + n_test, n_test)  # of covering none, out of `total` equally likely orders
    cumulative = 0
    found: list[float] = []
    for covered in range(n_test + 1):
        cumulative += ways
        while len(found) < 2 and 20 * cumulative >= (1, 19)[len(found)] * total:
            found.append(covered / n_test)
        if covered < n_test:
            ways = ways * (k + covered) * (n_test - covered) // ((covered + 1) * (n_cal - k + n_test - covered))
    return k / (n_cal + 1), found[0], found[1]
