"""Outcomes of conformal decisions over many splits at once: the counts that every table of the debate study is made of.

Arrays are (splits, questions). Counts are summed over the test questions of each domain, so that a rate is a ratio
of two counts and a fixed split is simply one split.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

import numpy as np
import numpy.typing as npt

from warrant.conformal import rank
from warrant.grid import INFINITE, Grid
from warrant.labels import Mask

Counts = dict[str, npt.NDArray[np.float64]]
ALL: Final = "all"
STATIC, EARLY = "static", "early"

# metric -> (numerator, denominator) among the counts
RATES: Final[Mapping[str, tuple[str, str]]] = {
    "coverage": ("covered", "n"),
    "set_size": ("size", "n"),
    "singleton_rate": ("singleton", "n"),
    "singleton_accuracy": ("singleton_right", "singleton"),
    "new_singleton_accuracy": ("new_right", "new"),
    "empty_rate": ("empty", "n"),
    "escalation_rate": ("several", "n"),
    "interception": ("wrong_several", "wrong"),
    "interception_not_acted": ("wrong_not_acted", "wrong"),
    "over_rejection": ("right_several", "right"),
    "over_rejection_not_acted": ("right_not_acted", "right"),
}


@dataclass(frozen=True)
class Questions:
    """What is fixed about the questions. unanimous, consensus_right, majority_right: (questions, rounds)."""

    domain: Sequence[str]
    unanimous: Mask
    consensus_right: Mask
    majority_right: Mask

    def domains(self) -> list[str]:
        """Domains in alphabetical order, then all."""
        return [*sorted(set(self.domain)), ALL]

    def membership(self) -> npt.NDArray[np.float32]:
        """(questions, domains + 1) indicator columns, the last one for all."""
        names = np.asarray(self.domain)
        columns = [names == name for name in self.domains()[:-1]]
        return np.stack([*columns, np.ones(len(names), dtype=np.bool_)], axis=1).astype(np.float32)


def thresholds(true_scores: Grid, groups: npt.NDArray[np.int64], calibration: Mask, alpha: Decimal) -> Grid:
    """(splits, questions) threshold of each question's group, from that group's calibration questions.

    true_scores: (questions,) score of the gold option. calibration: (splits, questions). A group without
    calibration questions, or too few for alpha, has an infinite threshold.
    """
    q = np.full(calibration.shape, INFINITE, dtype=np.int64)
    for group in np.unique(groups):
        rows = np.flatnonzero(groups == group)
        inside = calibration[:, rows]
        sizes = inside.sum(axis=1)
        ordered = np.sort(np.where(inside, true_scores[rows], INFINITE), axis=1)
        ranks = np.array([rank(int(n), alpha) if n else 1 for n in sizes])
        reached = (ranks <= sizes) & (sizes > 0)
        picked = ordered[np.arange(len(sizes)), np.minimum(ranks, len(rows)) - 1]
        q[:, rows] = np.where(reached, picked, INFINITE)[:, None]
    return q


@dataclass(frozen=True)
class Round:
    """One round of one stopping rule: (splits, questions) arrays."""

    covered: Mask
    size: npt.NDArray[np.int8]
    singleton: Mask
    new: Mask


def rounds(
    scores: Grid, true_scores: Grid, groups: npt.NDArray[np.int64], calibration: Mask, alpha: Decimal, stopping: str
) -> Iterator[tuple[Grid, Round]]:
    """Thresholds and outcomes, round by round.

    scores: (questions, rounds, options), INFINITE where an option does not exist. true_scores: (questions,
    rounds). static: the set of round t for every question. early: a question's first singleton set is kept;
    thresholds are still those of all calibration questions, none stopped (so that the guarantee of round 0 does not
    carry over to later rounds).
    """
    frozen = np.zeros(calibration.shape, dtype=np.bool_)
    frozen_covered = np.zeros(calibration.shape, dtype=np.bool_)
    for t in range(scores.shape[1]):
        q = thresholds(true_scores[:, t], groups, calibration, alpha)
        limit = np.minimum(q, INFINITE - 1)
        size = np.zeros(calibration.shape, dtype=np.int8)
        for option in range(scores.shape[2]):
            size += scores[:, t, option] <= limit
        covered = true_scores[:, t] <= limit
        if stopping == EARLY:
            size = np.where(frozen, np.int8(1), size)
            covered = np.where(frozen, frozen_covered, covered)
        singleton = size == 1
        new = singleton & ~frozen
        frozen_covered = np.where(new, covered, frozen_covered)
        frozen = frozen | singleton
        yield q, Round(covered, size, singleton, new)


def count(outcome: Round, questions: Questions, t: int, test: Mask, membership: npt.NDArray[np.float32]) -> Counts:
    """Counts over the test questions of every domain: name -> (splits, domains + 1)."""
    wrong = questions.unanimous[:, t] & ~questions.consensus_right[:, t]
    right = questions.unanimous[:, t] & questions.consensus_right[:, t]
    disputed = ~questions.unanimous[:, 0]
    several, acted = outcome.size > 1, outcome.singleton
    masks: dict[str, npt.NDArray[np.generic]] = {
        "n": test,
        "covered": outcome.covered & test,
        "size": np.where(test, outcome.size, 0),
        "singleton": acted & test,
        "singleton_right": acted & outcome.covered & test,
        "new": outcome.new & test,
        "new_right": outcome.new & outcome.covered & test,
        "empty": (outcome.size == 0) & test,
        "several": several & test,
        "wrong": test & wrong,
        "wrong_several": several & test & wrong,
        "wrong_not_acted": ~acted & test & wrong,
        "right": test & right,
        "right_several": several & test & right,
        "right_not_acted": ~acted & test & right,
        "introduced": acted & ~outcome.covered & test & ~wrong,
        "disputed": test & disputed,
        "to_wrong": test & disputed & wrong,
        "acted_majority_right": acted & test & questions.majority_right[:, t],
        "acted_majority_right_first": acted & test & questions.majority_right[:, 0],
        "acted_unanimous": acted & test & questions.unanimous[:, t],
        "majority_right": test & questions.majority_right[:, t],
    }
    return {name: (mask.astype(np.float32) @ membership).astype(np.float64) for name, mask in masks.items()}


def rates(counts: Counts) -> dict[str, npt.NDArray[np.float64]]:
    """Rates of the counts; NaN where the denominator is 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return {name: counts[top] / counts[bottom] for name, (top, bottom) in RATES.items()}


def tie_excess(true_scores: Grid, calibration: Mask, alpha: Decimal) -> float:
    """Mean over splits and test questions of (scores among the n + 1 at or below their k-th smallest - k)/(n + 1).

    true_scores: (questions,) of one group; calibration: (splits, questions). The n + 1 are the calibration scores and
    the test question's own. Exchangeability makes expected coverage exactly k/(n + 1) plus this; without ties it is
    0. 0 too where the threshold is infinite, and NaN without test questions.
    """
    n = calibration.sum(axis=1)
    k = np.array([rank(int(size), alpha) if size else 1 for size in n])
    ordered = np.sort(np.where(calibration, true_scores, INFINITE), axis=1)
    split = np.arange(len(n))
    q = ordered[split, np.minimum(k, ordered.shape[1]) - 1]
    before = np.where(k > 1, ordered[split, np.maximum(k - 2, 0)], -1)  # the calibration score of rank k - 1
    at_q = (calibration & (true_scores <= q[:, None])).sum(axis=1)
    at_before = (calibration & (true_scores <= before[:, None])).sum(axis=1)
    # a test score at or above q leaves the k-th smallest at q; one at or below rank k - 1 moves it there; one between
    # the two is the k-th smallest itself, alone
    beyond = np.where(
        true_scores >= q[:, None],
        (at_q - k)[:, None] + (true_scores == q[:, None]),
        np.where(true_scores <= before[:, None], (at_before + 1 - k)[:, None], 0),
    )
    beyond = np.where((k <= n)[:, None], beyond, 0)
    return float(np.mean((beyond / (n + 1)[:, None])[~calibration]))
