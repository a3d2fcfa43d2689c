"""Confidences as exact decimals, and the three-vote thresholds that decide whole rows of the ladder.

A confidence is held as an integer number of 10^-18 units, which is what decimal128(22, 18) stores; so
"mean >= tau" is the integer comparison "sum >= n * tau" and no answer depends on how floats are added.
"""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any, Final, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from warrant.labels import Mask

Units = npt.NDArray[np.int64]
Arithmetic = Literal["exact", "published"]

SCALE: Final = 18
ONE: Final = 10**SCALE
CONFIDENCE: Final = pa.decimal128(22, SCALE)
# The largest number of confidences whose sum, and n * tau, stay inside int64.
MOST_VOTES: Final = (2**63 - 1) // ONE


def to_units(value: Decimal | str | int) -> int:
    """Exact number of 10^-18 units in a decimal; ValueError when it has more digits or is not finite."""
    number = value if isinstance(value, Decimal) else Decimal(str(value))
    if not number.is_finite():
        raise ValueError(f"{value} is not a finite number")
    sign, digits, exponent = number.as_tuple()
    shift = SCALE + int(exponent)
    whole = int("".join(map(str, digits))) if digits else 0
    if shift > 2 * SCALE:  # refused before a huge power of ten is built
        raise ValueError(f"{value} is too large")
    if shift >= 0:
        units = whole * int(10**shift)
    elif -shift > len(digits) + SCALE:
        if whole:
            raise ValueError(f"{value} has more than {SCALE} decimal places")
        units = 0
    else:
        units, rest = divmod(whole, int(10**-shift))
        if rest:
            raise ValueError(f"{value} has more than {SCALE} decimal places")
    return -units if sign else units


def from_units(units: int) -> Decimal:
    """The decimal that `units` x 10^-18 is, without trailing zeros."""
    number = Decimal(int(units)).scaleb(-SCALE)
    return number.normalize() if units else Decimal(0)


def column_units(column: pa.ChunkedArray[Any]) -> tuple[Units, Mask]:
    """Integer units of a decimal128(22, 18) column and the mask of present values (absent ones are 0)."""
    values = column.to_pylist()
    present = np.array([value is not None for value in values], dtype=np.bool_)
    units = np.array([0 if value is None else to_units(value) for value in values], dtype=np.int64)
    return units, present


def mean_at_least(confidence: Units, usable: Mask, tau: Decimal, arithmetic: Arithmetic = "exact") -> Mask:
    """Where the mean of the usable confidences of a row reaches `tau` (False where none is usable).

    confidence, usable: shape (cases, votes). `exact` compares sum >= n * tau in integers. `published` is the
    arithmetic behind the verdict paper's tables: compensated float summation (Python 3.12's `sum`,
    `math.fsum`) divided by n, compared with the float tau. ValueError unless tau is in [0, 1] with at most 18
    decimal places.
    """
    if not 0 <= to_units(tau) <= ONE:
        raise ValueError(f"tau={tau} is not between 0 and 1")
    count = usable.sum(axis=1)
    if arithmetic == "exact":
        if confidence.shape[1] > MOST_VOTES:
            total = np.where(usable, confidence, 0).astype(object).sum(axis=1)
            reached = total >= count.astype(object) * to_units(tau)
        else:
            total = np.where(usable, confidence, 0).sum(axis=1)
            reached = total >= count * np.int64(to_units(tau))
        decided: Mask = np.asarray(reached, dtype=np.bool_) & (count > 0)
        return decided
    threshold = float(tau)
    means = float_means(confidence, usable)
    return np.asarray([mean is not None and mean >= threshold for mean in means], dtype=np.bool_)


def float_means(confidence: Units, usable: Mask) -> list[float | None]:
    """Row means by compensated float summation; None where no confidence is usable."""
    means: list[float | None] = []
    for row, present in zip(confidence.tolist(), usable.tolist(), strict=True):
        # int / int is correctly rounded, so this is float("0.95") for 0.95
        values = [unit / ONE for unit, here in zip(row, present, strict=True) if here]
        means.append(math.fsum(values) / len(values) if values else None)
    return means
