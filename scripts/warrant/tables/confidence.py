"""Tables `confidence` and `confidence_bins`: does stated confidence tell the commits that should not have been made?

Verdict paper, section 5 ("Confidence boundary"). A claim's confidence is the mean over its usable votes, an exact
fraction; groups are compared on these fractions, so ties are ties.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, Final, get_args

import numpy as np
import pyarrow as pa

from warrant import artifact
from warrant.artifact import field
from warrant.decimals import ONE, Arithmetic, mean_at_least
from warrant.intervals import wilson
from warrant.labels import CONFLICTING, INSUFFICIENT, REFUTE, Labels, Mask, directional
from warrant.panel import Votes, majority

SCHEMA: Final = pa.schema(
    [
        field("system", pa.string(), "judge or panel", nullable=False),
        field(
            "quantity",
            pa.string(),
            "mean, mean_difference, mann_whitney_u, mann_whitney_p (normal approximation, corrected for ties and "
            "continuity), mann_whitney_p_permutation (exact given the ties), superiority (U / pairs), at_least "
            "(published arithmetic), at_least_exact, ece (bins [low, high)), ece_right_closed (bins (low, high])",
            nullable=False,
        ),
        field("population", pa.string(), "commits that are looked at, or two groups of them", nullable=False),
        field("tau", pa.float64(), "threshold; null where there is none"),
        field("arithmetic", pa.string(), "arithmetic at the threshold; null where there is none"),
        field("k", pa.int64(), "commits whose confidence reaches tau"),
        field("n", pa.int64(), "commits; for mean, ece and group differences those with a stated confidence"),
        field("value", pa.float64(), "the quantity; null when not computable"),
        field("low", pa.float64(), "Wilson 95% lower bound of a share"),
        field("high", pa.float64(), "Wilson 95% upper bound of a share"),
        field("partial", pa.bool_(), "votes are known on some claims only", nullable=False),
    ]
)
BINS: Final = pa.schema(
    [
        field("system", pa.string(), "judge or panel", nullable=False),
        field("population", pa.string(), "commits that are looked at", nullable=False),
        field("edges", pa.string(), "left: bins [low, high), the last closed; right: (low, high]", nullable=False),
        field("bin", pa.int64(), "bin, from 1", nullable=False),
        field("bin_low", pa.float64(), "lower edge of the bin", nullable=False),
        field("bin_high", pa.float64(), "upper edge of the bin", nullable=False),
        field("n", pa.int64(), "commits in the bin", nullable=False),
        field("correct", pa.int64(), "correct ones", nullable=False),
        field("mean_confidence", pa.float64(), "their mean confidence; null when there are none"),
        field("accuracy", pa.float64(), "share of correct ones; null when there are none"),
        field("low", pa.float64(), "Wilson 95% lower bound of the accuracy"),
        field("high", pa.float64(), "Wilson 95% upper bound of the accuracy"),
    ]
)
VALUES: Final = pa.schema(
    [
        field("system", pa.string(), "judge or panel", nullable=False),
        field("population", pa.string(), "commits that are looked at", nullable=False),
        field("mean_confidence", pa.float64(), "mean over the usable votes", nullable=False),
        field("n", pa.int64(), "commits with this mean", nullable=False),
    ]
)
_GROUPS: Final = ("cpo_commits", "correct_commits", "wrong_direction", "overcommits_on_insufficient")
_CALIBRATED: Final = ("commits_not_cpo", "commits")  # the paper's population, and every commit
_EDGES: Final = {"left": "ece", "right": "ece_right_closed"}
_QUANTITY: Final[dict[Arithmetic, str]] = {"published": "at_least", "exact": "at_least_exact"}
_MOST_WORK: Final = 2_000_000_000  # additions of the permutation distribution
Line = dict[str, Any]


@dataclass(frozen=True)
class _System:
    """One system's commits: which are correct, and every claim's exact mean confidence."""

    gold: Labels
    votes: Votes
    decision: Labels
    means: list[Fraction | None]

    def population(self, name: str) -> Mask | None:
        """Claims of a population; None when it depends on votes that are not known."""
        commits, right = directional(self.decision), np.equal(self.decision, self.gold)
        one_sided = self.gold <= REFUTE
        side, members = {
            "cpo_commits": (self.gold == CONFLICTING, commits),
            "correct_commits": (one_sided, commits & right),
            "wrong_direction": (one_sided, commits & ~right),
            "overcommits_on_insufficient": (self.gold == INSUFFICIENT, commits),
            "commits_not_cpo": (self.gold != CONFLICTING, commits),
            "commits": (np.ones(len(self.gold), dtype=np.bool_), commits),
        }[name]
        return np.asarray(side & members, dtype=np.bool_) if bool(self.votes.known[side].all()) else None

    def confidences(self, members: Mask) -> list[Fraction]:
        """Mean confidences of the members that state any."""
        return [mean for mean, member in zip(self.means, members.tolist(), strict=True) if member and mean is not None]

    def judged(self, members: Mask) -> list[tuple[Fraction, bool]]:
        """Mean confidence, and whether the commit is correct, of the members that state any."""
        right = np.equal(self.decision, self.gold).tolist()
        listed = zip(self.means, right, members.tolist(), strict=True)
        return [(mean, is_right) for mean, is_right, member in listed if member and mean is not None]


def confidence(gold: Labels, systems: Mapping[str, Votes], taus: Sequence[Decimal], bins: int = 10) -> pa.Table:
    """One row per system, quantity, population and threshold.

    A population that needs unknown votes (a partial panel) has null counts and values. A commit without any
    stated confidence reaches no threshold and is left out of means, rank tests and calibration.
    """
    rows: list[Line] = []
    for name, votes in systems.items():
        system = _system(gold, votes)
        lines = [_mean_row(system, group) for group in _GROUPS]
        lines += _difference_rows(system)
        for group in _GROUPS:
            lines += [_share_row(system, group, tau, arithmetic) for tau in taus for arithmetic in get_args(Arithmetic)]
        lines += [_ece_row(system, population, edges, bins) for population in _CALIBRATED for edges in _EDGES]
        rows += [{"system": name, **line, "partial": not bool(votes.known.all())} for line in lines]
    return artifact.from_rows(rows, SCHEMA)


def confidence_bins(gold: Labels, systems: Mapping[str, Votes], bins: int = 10) -> pa.Table:
    """One row per system, population, edge convention and bin: what a calibration figure draws.

    A population that needs unknown votes has no rows.
    """
    rows: list[Line] = []
    for name, votes in systems.items():
        system = _system(gold, votes)
        for population in _CALIBRATED:
            members = system.population(population)
            if members is None:
                continue
            for edges in _EDGES:
                binned = _binned(system.judged(members), bins, edges)
                rows += [
                    {"system": name, "population": population, "edges": edges, **_bin_row(position, bins, inside)}
                    for position, inside in enumerate(binned)
                ]
    return artifact.from_rows(rows, BINS)


def confidence_values(gold: Labels, systems: Mapping[str, Votes]) -> pa.Table:
    """One row per system, group of commits and mean confidence: what a figure of the two groups draws.

    A population that needs unknown votes has no rows.
    """
    rows: list[Line] = []
    for name, votes in systems.items():
        system = _system(gold, votes)
        for population in _GROUPS:
            members = system.population(population)
            counts = Counter([] if members is None else system.confidences(members))
            rows += [
                {"system": name, "population": population, "mean_confidence": float(value), "n": counts[value]}
                for value in sorted(counts)
            ]
    return artifact.from_rows(rows, VALUES)


def exact_means(votes: Votes) -> list[Fraction | None]:
    """Mean confidence of every claim's usable votes; None where none is stated."""
    usable = votes.has_confidence & votes.usable
    counts = usable.sum(axis=1).tolist()
    totals = np.where(usable, votes.confidence, 0).astype(object).sum(axis=1).tolist()
    return [Fraction(int(total), count * ONE) if count else None for total, count in zip(totals, counts, strict=True)]


def mean(values: Sequence[Fraction]) -> Fraction | None:
    """Exact mean; None of nothing."""
    return sum(values, Fraction(0)) / len(values) if values else None


@dataclass(frozen=True)
class RankTest:
    """Mann-Whitney: `doubled_u` counts pairs in which the first is larger twice, and tied pairs once."""

    doubled_u: int
    pairs: int
    p_normal: float
    p_permutation: float | None


def mann_whitney(first: Sequence[Fraction], second: Sequence[Fraction]) -> RankTest | None:
    """Two-sided Mann-Whitney test; None when a group is empty.

    p_normal: normal approximation with correction for ties and continuity (Mann and Whitney 1947; Hollander, Wolfe
    and Chicken 2014, section 4.1), 1 when all values are equal. p_permutation: twice the smaller tail of U over all
    divisions of the pooled values, at most 1; None where that takes more than 2e9 additions.
    """
    if not first or not second:
        return None
    a, b = Counter(first), Counter(second)
    ties, doubled, below = [], 0, 0
    for value in sorted(a.keys() | b.keys()):
        doubled += a[value] * (2 * below + b[value])
        below += b[value]
        ties.append(a[value] + b[value])
    m, n = len(first), len(second)
    return RankTest(doubled, m * n, _p_normal(doubled, m, n, ties), _p_permutation(doubled, m, n, ties))


def _p_normal(doubled: int, m: int, n: int, ties: Sequence[int]) -> float:
    total = m + n
    tied = Fraction(int(np.sum([t**3 - t for t in ties])), total * (total - 1))
    variance = Fraction(m * n, 12) * (total + 1 - tied)
    if variance == 0:
        return 1.0
    distance = Fraction(abs(doubled - m * n) - 1, 2)
    return min(1.0, math.erfc(float(distance) / math.sqrt(2 * variance)))


def _p_permutation(doubled: int, m: int, n: int, ties: Sequence[int]) -> float | None:
    """Twice the smaller tail; the distribution of the smaller group's rank sum is built tie by tie.

    Only positive numbers are added and the sums that decide are integers, so that rounding is all that is lost.
    """
    if m > n:
        m, n, doubled = n, m, 2 * m * n - doubled
    total = m + n
    largest = m * (2 * total - m + 1)  # the largest doubled rank sum of m values
    if total * m * largest > _MOST_WORK:
        return None
    ways = np.zeros((m + 1, largest + 1))
    ways[0, 0] = 1.0
    below = 0
    for t in ties:
        rank = 2 * below + t + 1  # doubled midrank
        below += t
        extended = ways.copy()
        for taken in range(1, min(t, m) + 1):
            shift = taken * rank
            if shift <= largest:
                extended[taken:, shift:] += math.comb(t, taken) * ways[: m + 1 - taken, : largest + 1 - shift]
        ways = extended / extended.max()
    distribution = ways[m]
    observed = doubled + m * (m + 1)
    tails = (distribution[: observed + 1].sum(), distribution[observed:].sum())
    return min(1.0, float(2 * min(tails) / distribution.sum()))


def expected_calibration_error(judged: Sequence[tuple[Fraction, bool]], bins: int, edges: str) -> Fraction | None:
    """Mean over commits of the gap between accuracy and mean confidence in their bin; None of nothing.

    judged: confidence and whether the commit is correct. Equal bins of [0, 1] (Naeini, Cooper and Hauskrecht 2015).
    """
    if not judged:
        return None
    gaps = [abs(_total(inside) - sum(right for _, right in inside)) for inside in _binned(judged, bins, edges)]
    return sum(gaps, Fraction(0)) / len(judged)


def _total(judged: Iterable[tuple[Fraction, bool]]) -> Fraction:
    return sum((value for value, _ in judged), Fraction(0))


def _binned(judged: Sequence[tuple[Fraction, bool]], bins: int, edges: str) -> list[list[tuple[Fraction, bool]]]:
    found: list[list[tuple[Fraction, bool]]] = [[] for _ in range(bins)]
    for value, right in judged:
        at = math.floor(value * bins) if edges == "left" else math.ceil(value * bins) - 1
        found[min(max(at, 0), bins - 1)].append((value, right))
    return found


def _system(gold: Labels, votes: Votes) -> _System:
    return _System(gold, votes, majority(votes), exact_means(votes))


def _mean_row(system: _System, group: str) -> Line:
    row: Line = {"quantity": "mean", "population": group}
    members = system.population(group)
    if members is not None:
        values = system.confidences(members)
        row |= {"n": len(values), "value": _float(mean(values))}
    return row


def _difference_rows(system: _System) -> list[Line]:
    """Correct directional commits against CPO commits."""
    quantities = ("mean_difference", "mann_whitney_u", "superiority", "mann_whitney_p", "mann_whitney_p_permutation")
    rows: list[Line] = [{"quantity": name, "population": "correct_against_cpo"} for name in quantities]
    correct, cpo = system.population("correct_commits"), system.population("cpo_commits")
    if correct is None or cpo is None:
        return rows
    first, second = system.confidences(correct), system.confidences(cpo)
    test = mann_whitney(first, second)
    for row in rows:
        row["n"] = len(first) + len(second)
    averages = mean(first), mean(second)
    if test is not None and averages[0] is not None and averages[1] is not None:
        u, difference = Fraction(test.doubled_u, 2), averages[0] - averages[1]
        values = (float(difference), float(u), float(u / test.pairs), test.p_normal, test.p_permutation)
        for row, value in zip(rows, values, strict=True):
            row["value"] = value
    return rows


def _share_row(system: _System, group: str, tau: Decimal, arithmetic: Arithmetic) -> Line:
    row: Line = {
        "quantity": _QUANTITY[arithmetic],
        "population": group,
        "tau": float(tau),
        "arithmetic": arithmetic,
    }
    members = system.population(group)
    if members is None:
        return row
    votes = system.votes
    reached = mean_at_least(votes.confidence, votes.has_confidence & votes.usable, tau, arithmetic)
    k, n = int((reached & members).sum()), int(np.count_nonzero(members))
    return row | {"k": k, "n": n, **_rate("value", k, n)}


def _ece_row(system: _System, population: str, edges: str, bins: int) -> Line:
    row: Line = {"quantity": _EDGES[edges], "population": population}
    members = system.population(population)
    if members is not None:
        judged = system.judged(members)
        row |= {"n": len(judged), "value": _float(expected_calibration_error(judged, bins, edges))}
    return row


def _bin_row(position: int, bins: int, inside: Sequence[tuple[Fraction, bool]]) -> Line:
    n, correct = len(inside), sum(right for _, right in inside)
    return {
        "bin": position + 1,
        "bin_low": position / bins,
        "bin_high": (position + 1) / bins,
        "n": n,
        "correct": correct,
        "mean_confidence": _float(mean([value for value, _ in inside])),
        **_rate("accuracy", correct, n),
    }


def _rate(name: str, k: int, n: int) -> Line:
    interval = wilson(k, n)
    return {} if interval is None else {name: k / n, "low": interval[0], "high": interval[1]}


def _float(value: Fraction | None) -> float | None:
    return None if value is None else float(value)
