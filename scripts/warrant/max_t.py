"""Simultaneous intervals and adjusted p values of a family of contrasts: single-step max-T on shared resamples.

Westfall and Young (1993), Resampling-Based Multiple Testing, section 2.5; for the band, Montiel Olea and
Plagborg-Møller (2019), Journal of Applied Econometrics 34:1 (sup-t). Neither paper of this project adjusts its pairwise
contrasts. The family's dependence comes from the resamples, which all of its contrasts share (`warrant.bootstrap`).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import Final

import numpy as np
import numpy.typing as npt

from warrant.intervals import Interval
from warrant.labels import Mask

Floats = npt.NDArray[np.float64]
_NO_VARIATION: Final = 1e-12  # ratios of counts that vary at all vary by more
_DECIMALS: Final = 12  # statistics are compared on this grid: equal ones stay equal however they were rounded


@dataclass(frozen=True)
class MaxT:
    """Per contrast, in the order given: the joint interval and the adjusted p.

    interval: None where the contrast does not vary over the resamples, or where they are too few for the confidence
    asked. p: 1 where the difference is 0 and does not vary, None where it is not 0 and does not vary: without a
    standard error there is no test. critical: how many standard errors an interval reaches; None without intervals.
    """

    interval: list[Interval | None]
    p: list[float | None]
    critical: float | None


def max_t(differences: Floats, resampled: Floats, confidence: Fraction = Fraction(95, 100)) -> MaxT:
    """Joint intervals of all differences at once, and p values adjusted over them.

    differences: (contrasts,) the observed ones, finite. resampled: (resamples, contrasts) the same on each resample,
    all columns on the same ones; NaN where undefined. With s_j the standard deviation of column j, the statistic of a
    resample is M = max_j |resampled_j - difference_j| / s_j. `critical` is the c-th smallest M of B with
    c = ceil(confidence (B + 1)); the interval is difference_j -+ critical s_j; p_j = (1 + #{M >= |difference_j| / s_j})
    / (B + 1). So p_j <= 1 - confidence where 0 is outside the interval, and only there.

    A resample in which a contrast is undefined says nothing about the family and is left out. Contrasts that do not
    vary take no part in M. ValueError for shapes that do not fit, a difference that is not finite or a confidence
    outside (0, 1).
    """
    if resampled.ndim != 2 or differences.shape != resampled.shape[1:]:
        raise ValueError(f"{differences.shape} differences do not fit resamples of shape {resampled.shape}")
    if not np.isfinite(differences).all():
        raise ValueError("a contrast without a difference has no place in the family")
    if not 0 < confidence < 1:
        raise ValueError(f"confidence={confidence} is not between 0 and 1")
    kept = resampled[np.isfinite(resampled).all(axis=1)]
    spread = kept.std(axis=0, ddof=1) if len(kept) > 1 else np.zeros(len(differences))
    varies = spread > _NO_VARIATION
    largest = np.sort(_studentised(kept - differences, spread, varies).max(axis=1)) if varies.any() else np.zeros(0)
    rank = ceil(confidence * (len(largest) + 1))
    critical = float(largest[rank - 1]) if 0 < rank <= len(largest) else None
    intervals: list[Interval | None] = [None] * len(differences)
    p = [1.0 if difference == 0 else None for difference in differences.tolist()]
    observed = _studentised(differences[None, :], spread, varies)[0]
    beyond = len(largest) - np.searchsorted(largest, observed, side="left")
    for j, exceeding in zip(np.flatnonzero(varies).tolist(), beyond.tolist(), strict=True):
        p[j] = (1 + exceeding) / (1 + len(largest))
        if critical is not None:
            reach = critical * float(spread[j])
            intervals[j] = (float(differences[j]) - reach, float(differences[j]) + reach)
    return MaxT(intervals, p, critical)


def _studentised(differences: Floats, spread: Floats, varies: Mask) -> Floats:
    """Sizes in standard errors, of the contrasts that vary."""
    sizes: Floats = np.abs(differences[:, varies]) / spread[varies]
    return sizes.round(_DECIMALS)
