"""Probabilities on a grid of 10^-12, so that comparisons do not depend on the order in which floats are added.

Sums over agents or options are taken in sorted order, which makes them independent of the order of agents and
options to the last bit; the result is then rounded to the grid and compared as an integer.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Grid = npt.NDArray[np.int64]

ONE: Final = 10**12
INFINITE: Final = np.iinfo(np.int64).max  # a threshold that every score is within


def ordered_sum(values: Floats, axis: int) -> Floats:
    """Sum along an axis, in sorted order: the same bits whatever the order of the terms."""
    return np.asarray(np.sort(values, axis=axis).sum(axis=axis))


def to_grid(probability: Floats) -> Grid:
    """Probabilities as integers in units of 10^-12."""
    return np.asarray(np.rint(probability * ONE), dtype=np.int64)
