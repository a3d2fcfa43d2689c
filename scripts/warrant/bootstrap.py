"""Paired bootstrap with one shared index matrix: every contrast of a table sees the same resamples.

Percentile intervals, as in the verdict paper (section 4.3). Memory is bounded: resamples are drawn and
summed in blocks, so a matrix of resamples x claims is never held whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

Counts = npt.NDArray[np.float64]
_BLOCK_CELLS: Final = 1 << 17  # 1 MB of counts: larger blocks leave the cache and cost page faults


def generator(seed: int, *key: int) -> np.random.Generator:
    """The generator of one rule and wildcard: a child of one entropy, never a global generator."""
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=key)))


def multiplicities(n: int, resamples: int, rng: np.random.Generator) -> Iterator[Counts]:
    """Blocks of (resamples in the block, n): how often each of n claims occurs in each resample."""
    block = max(1, min(resamples, _BLOCK_CELLS // max(n, 1)))
    for start in range(0, resamples, block):
        rows = min(block, resamples - start)
        index = rng.integers(0, n, size=(rows, n))
        index += np.arange(rows)[:, None] * n
        flat = np.bincount(index.ravel(), minlength=rows * n)
        yield flat.reshape(rows, n).astype(np.float64)


def resampled_sums(columns: npt.NDArray[np.float64], resamples: int, rng: np.random.Generator) -> Counts:
    """(resamples, columns) sums of each column over each resample of the rows; all columns share the resamples.

    columns: shape (claims, columns). With no claims every sum is 0.
    """
    n, width = columns.shape
    if n == 0:
        return np.zeros((resamples, width))
    return np.concatenate([weights @ columns for weights in multiplicities(n, resamples, rng)])


def percentile_interval(values: npt.NDArray[np.float64], confidence: float = 0.95) -> tuple[float, float] | None:
    """Percentile interval (linear interpolation between order statistics); None when no value is finite.

    Resamples in which a ratio is undefined (no commit at all) are left out.
    """
    finite = values[np.isfinite(values)]
    if finite.size == 0:
        return None
    tail = (1 - confidence) / 2
    low, high = np.quantile(finite, [tail, 1 - tail])
    return float(low), float(high)


def ratio_differences(sums: Counts, numerators: Sequence[int], denominators: Sequence[int]) -> Counts:
    """Per resample, ratio b minus ratio a; columns are given as (a, b) positions; NaN where undefined."""
    with np.errstate(divide="ignore", invalid="ignore"):
        a = sums[:, numerators[0]] / sums[:, denominators[0]]
        b = sums[:, numerators[1]] / sums[:, denominators[1]]
    return np.asarray(b - a)
