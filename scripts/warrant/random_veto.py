"""Random-veto null: do a validator's vetoes pick better than as many random ones? (verdict paper, section 7).

Drawing k of a controller's commits without replacement and promoting them to conflicting changes each metric
only through the number drawn from one class of commits (wrong ones for selective error, correct ones for
accuracy, gold-conflicting ones for CPO and conflict recall). That number is hypergeometric, so the p value is
exact; the Monte Carlo p beside it uses (1 + b) / (1 + B).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import comb
from typing import Final

import numpy as np

from warrant.labels import CONFLICTING, Labels, directional
from warrant.metrics import METRICS, ratio

NULL_METRICS: Final = ("se", "cpo_n", "acc_sr", "rec_c")
LOWER_IS_BETTER: Final = frozenset(("se", "cpo_n"))


@dataclass(frozen=True)
class NullResult:
    """One metric under the null. `observed` is the controller's own value; p values are one-sided.

    distribution: each value that random vetoes can give, its exact probability, and how many draws gave it.
    """

    metric: str
    observed: float | None
    null_mean: float | None
    p_monte_carlo: float | None
    p_exact: float | None
    distribution: tuple[tuple[float, float, int], ...] = ()


def random_veto(
    gold: Labels, base: Labels, observed: Labels, k: int, draws: int, rng: np.random.Generator
) -> list[NullResult]:
    """Compare `observed` decisions with k random promotions among `base`'s commits.

    gold, base, observed: (claims,) labels. The same draws serve every metric. ValueError when k exceeds the
    number of commits.
    """
    commits = np.flatnonzero(directional(base))
    if not 0 <= k <= len(commits):
        raise ValueError(f"k={k} vetoes cannot be drawn from {len(commits)} commits")
    conflicting = gold[commits] == CONFLICTING
    correct = gold[commits] == base[commits]
    # ranks of random keys: the first k of a random permutation, for every draw at once
    chosen = np.argsort(rng.random((draws, len(commits))), axis=1)[:, :k]
    drawn = {
        "conflicting": conflicting[chosen].sum(axis=1),
        "correct": correct[chosen].sum(axis=1),
        "wrong": (~correct)[chosen].sum(axis=1),
    }
    totals = {"conflicting": int(conflicting.sum()), "correct": int(correct.sum()), "wrong": int((~correct).sum())}
    results = []
    for metric in NULL_METRICS:
        which = {"se": "wrong", "cpo_n": "conflicting", "acc_sr": "correct", "rec_c": "conflicting"}[metric]
        values = [_after(metric, gold, base, k, j) for j in range(totals[which] + 1)]
        counts = METRICS[metric].counts(gold, observed)
        assert counts is not None  # every decision is known here
        if counts[1] == 0 or any(values[j] is None for j in _possible(totals[which], len(commits), k)):
            results.append(NullResult(metric, ratio(*counts), None, None, None))
            continue
        as_good = [j for j, value in enumerate(values) if value is not None and _as_good(metric, value, counts)]
        mass = {j: _hypergeometric(j, totals[which], len(commits), k) for j in range(totals[which] + 1)}
        simulated = np.bincount(drawn[which], minlength=totals[which] + 1)
        results.append(
            NullResult(
                metric,
                ratio(*counts),
                null_mean=float(sum(mass[j] * Fraction(*value) for j, value in enumerate(values) if value and mass[j])),
                p_monte_carlo=(1 + int(simulated[as_good].sum())) / (1 + draws),
                p_exact=float(sum(mass[j] for j in as_good)),
                distribution=tuple(
                    (float(Fraction(*value)), float(mass[j]), int(simulated[j]))
                    for j, value in enumerate(values)
                    if value and mass[j]
                ),
            )
        )
    return results


def _after(metric: str, gold: Labels, base: Labels, k: int, drawn: int) -> tuple[int, int] | None:
    """The metric's counts once k commits, `drawn` of them in the metric's class, were promoted."""
    counts = METRICS[metric].counts(gold, base)
    assert counts is not None
    top, bottom = counts
    if metric == "se":
        return (top - drawn, bottom - k) if bottom > k else None
    return (top + drawn, bottom) if metric == "rec_c" else (top - drawn, bottom)


def _as_good(metric: str, value: tuple[int, int], observed: tuple[int, int]) -> bool:
    """Whether a null value is at least as good as the observed one, compared as exact fractions."""
    left, right = value[0] * observed[1], observed[0] * value[1]
    return left <= right if metric in LOWER_IS_BETTER else left >= right


def _possible(successes: int, population: int, k: int) -> range:
    return range(max(0, k - (population - successes)), min(k, successes) + 1)


def _hypergeometric(j: int, successes: int, population: int, k: int) -> Fraction:
    """P(j of k draws without replacement come from `successes` among `population`), exact.

    Float sums would differ between Python versions.
    """
    if j not in _possible(successes, population, k):
        return Fraction(0)
    return Fraction(comb(successes, j) * comb(population - successes, k - j), comb(population, k))
