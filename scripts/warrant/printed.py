"""Counts behind printed percentages: which integers k of n a rounded share allows.

A share printed to a tenth of a percent comes from at most one count when n is below 1,000. So the counts of a
printed table can be had back exactly, shown to be the only ones, and added up; or shown not to exist.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from itertools import product
from typing import Final

# How far a share may lie from its print, in units of the last printed digit. Ties may have gone either way.
ONCE: Final = Fraction(1, 2)  # rounded
TWICE: Final = Fraction(11, 20)  # rounded to one more digit first, then to the printed ones
UNIT: Final = Fraction(1)  # off by less than one unit, or by one


def unit(printed: Decimal) -> Fraction:
    """One unit of the last digit: 1/1000 for 0.938 and for 0.930. ValueError unless the number is finite."""
    if not printed.is_finite():
        raise ValueError(f"{printed} is not a finite number")
    return Fraction(10) ** int(printed.as_tuple().exponent)


def prints_as(value: Fraction, printed: Decimal, slack: Fraction = ONCE) -> bool:
    """Whether an exact value may have been printed so: it lies within `slack` units of the last digit."""
    return abs(value - Fraction(printed)) <= slack * unit(printed)


def counts(share: Decimal, n: int, slack: Fraction = ONCE) -> range:
    """Every k of n whose share prints as `share`, in order; empty when no count does, and when n is 0."""
    if n < 0:
        raise ValueError(f"n={n} is negative")
    if n == 0:
        return range(0)
    reach = slack * unit(share)
    low, high = (Fraction(share) - reach) * n, (Fraction(share) + reach) * n
    return range(max(0, math.ceil(low)), min(n, math.floor(high)) + 1)


def nearest(share: Decimal, n: int) -> int:
    """The k of 0..n whose share lies nearest to `share` (the smaller one at a tie)."""
    return min(max(math.ceil(Fraction(share) * n - Fraction(1, 2)), 0), n)


@dataclass(frozen=True)
class Count:
    """The count read from one printed share: `k` of `n`, and how many counts print so."""

    share: Decimal
    n: int
    k: int
    candidates: int

    @property
    def rate(self) -> Fraction:
        """The exact share k/n. ZeroDivisionError when n is 0."""
        return Fraction(self.k, self.n)

    @property
    def slack(self) -> Fraction:
        """The smallest of ONCE, TWICE and UNIT within which k/n prints as `share`; ValueError when none does."""
        for slack in (ONCE, TWICE, UNIT):
            if prints_as(self.rate, self.share, slack):
                return slack
        raise ValueError(f"no count of {self.n} lies within one unit of {self.share}")


def read_count(share: Decimal, n: int) -> Count:
    """The nearest count of n, with the number of counts that print as `share` (0: it is the nearest one only)."""
    return Count(share, n, nearest(share, n), len(counts(share, n)))


@dataclass(frozen=True)
class Chain:
    """Acts by round: how many questions are new in each, and how many of the new ones are right."""

    new: tuple[int, ...]
    right: tuple[int, ...]

    @property
    def wrong(self) -> int:
        """Acts that are not right."""
        return sum(self.new) - sum(self.right)


def chains(
    shares: Sequence[Decimal],
    accuracies: Sequence[Decimal | None],
    n: int,
    share_slack: Fraction = ONCE,
    accuracy_slack: Fraction = ONCE,
) -> list[Chain]:
    """Every chain of counts that two printed columns allow together.

    shares: acts up to each round, of n questions. accuracies: of the acts new in that round; None where none is
    printed, which allows no new act.
    """
    return list(_chains(0, tuple(zip(shares, accuracies, strict=True)), n, share_slack, accuracy_slack))


def _chains(
    before: int, printed: tuple[tuple[Decimal, Decimal | None], ...], n: int, share_slack: Fraction, slack: Fraction
) -> Iterator[Chain]:
    if not printed:
        yield Chain((), ())
        return
    (share, accuracy), rest = printed[0], printed[1:]
    for acts in counts(share, n, share_slack):
        new = acts - before
        if new < 0 or (accuracy is None) != (new == 0):
            continue
        rights = range(1) if accuracy is None else counts(accuracy, new, slack)
        for right, later in product(rights, _chains(acts, rest, n, share_slack, slack)):
            yield Chain((new, *later.new), (right, *later.right))


@dataclass(frozen=True)
class Fit:
    """The chains at the smallest slack that allows any, and that slack for shares and for accuracies."""

    share_slack: Fraction
    accuracy_slack: Fraction
    chains: list[Chain]


def fit(shares: Sequence[Decimal], accuracies: Sequence[Decimal | None], n: int) -> Fit:
    """Chains with every number rounded once; else rounded twice; else with shares off by up to one unit."""
    for share_slack, accuracy_slack in ((ONCE, ONCE), (TWICE, TWICE), (UNIT, TWICE)):
        found = chains(shares, accuracies, n, share_slack, accuracy_slack)
        if found:
            break
    return Fit(share_slack, accuracy_slack, found)
