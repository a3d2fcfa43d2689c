"""Metrics of the verdict study, each a ratio of two counts over a population of claims (verdict paper, section 4).

A metric has a population (a rule on the gold label) and a numerator (a rule on gold label and decision); the
denominator is the population, or the commits in it for selective error. A metric also names the gold labels
on which its numerator depends: when a panel is known on those alone, the metric is still computable.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np

from warrant.labels import CONFLICTING, GOLD, INSUFFICIENT, REFUTE, SUPPORT, Labels, Mask, directional

_EVERY: Final = frozenset((SUPPORT, REFUTE, INSUFFICIENT, CONFLICTING))


@dataclass(frozen=True)
class Metric:
    """One ratio. `denominator` None means every claim of the population counts once."""

    name: str
    population: frozenset[int]
    depends_on: frozenset[int]
    numerator: Callable[[Labels, Labels], Mask]
    denominator: Callable[[Labels, Labels], Mask] | None = None

    def members(self, gold: Labels) -> Mask:
        """Claims of the population."""
        return np.isin(gold, list(self.population))

    def counts(self, gold: Labels, decision: Labels, known: Mask | None = None) -> tuple[int, int] | None:
        """Numerator and denominator; None when a decision that the metric depends on is not known."""
        if known is not None and not bool(known[np.isin(gold, list(self.depends_on))].all()):
            return None
        members = self.members(gold)
        top = self.numerator(gold, decision) & members
        if known is not None:
            top = top & known
        bottom = members if self.denominator is None else self.denominator(gold, decision) & members
        return int(top.sum()), int(bottom.sum())

    def value(self, gold: Labels, decision: Labels, known: Mask | None = None) -> float | None:
        """The ratio; None when not computable or when the denominator is 0."""
        counts = self.counts(gold, decision, known)
        return None if counts is None else ratio(*counts)


def ratio(k: int, n: int) -> float | None:
    """k/n, None when n is 0: a rate without a denominator is missing, not 0."""
    return k / n if n else None


def _commits(gold: Labels, decision: Labels) -> Mask:
    return directional(decision)


def _wrong_commits(gold: Labels, decision: Labels) -> Mask:
    wrong: Mask = directional(decision) & (decision != gold)
    return wrong


def _right(gold: Labels, decision: Labels) -> Mask:
    return np.equal(decision, gold)


def _says_conflicting(gold: Labels, decision: Labels) -> Mask:
    return np.equal(decision, CONFLICTING)


def _commits_on_conflicting(gold: Labels, decision: Labels) -> Mask:
    commits: Mask = directional(decision) & (gold == CONFLICTING)
    return commits


_C, _I, _SR = frozenset((CONFLICTING,)), frozenset((INSUFFICIENT,)), frozenset((SUPPORT, REFUTE))

METRICS: Final = {
    metric.name: metric
    for metric in (
        Metric("cov", _EVERY, _EVERY, _commits),
        Metric("se", _EVERY, _EVERY, _wrong_commits, _commits),
        Metric("cpo_n", _EVERY, _C, _commits_on_conflicting),
        Metric("cpo_c", _C, _C, _commits),
        Metric("ovc_i", _I, _I, _commits),
        Metric("acc_sr", _SR, _SR, _right),
        Metric("rec_c", _C, _C, _says_conflicting),
        Metric("false_conflict", _SR, _SR, _says_conflicting),
        Metric("accuracy", _EVERY, _EVERY, _right),
    )
}


def macro_f1(gold: Labels, decision: Labels) -> float:
    """Unweighted mean of the four labels' F1; a label that is neither gold nor predicted contributes 0."""
    scores = []
    for label in range(len(GOLD)):
        hits = int(((gold == label) & (decision == label)).sum())
        total = int((gold == label).sum()) + int((decision == label).sum())
        scores.append(Fraction(2 * hits, total) if total else Fraction(0))
    return float(sum(scores, Fraction(0)) / len(scores))


def confusion(gold: Labels, decision: Labels) -> list[list[int]]:
    """Counts, gold label by predicted (support, refute, insufficient, conflicting, none).

    A withheld proposal counts as none: nothing was said.
    """
    predicted = np.minimum(decision, 4)
    counts = np.zeros((4, 5), dtype=np.int64)
    np.add.at(counts, (gold, predicted), 1)
    return [[int(value) for value in row] for row in counts]
