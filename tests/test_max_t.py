"""Joint intervals of a family of contrasts: the rule itself, its symmetries, and its coverage in simulation."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from math import ceil

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom, norm

from warrant.bootstrap import generator, resampled_sums
from warrant.max_t import Floats, MaxT, max_t

HALF, MOST = Fraction(1, 2), Fraction(95, 100)
FEW = st.integers(1, 4)
fewer = settings(max_examples=60)
Family = tuple[Floats, Floats]


@st.composite
def families(draw: st.DrawFn, contrasts: st.SearchStrategy[int] = FEW) -> Family:
    """Differences of counts over 8 claims, and the same on few resamples: full of ties, some without variation."""
    m, resamples = draw(contrasts), draw(st.integers(2, 25))
    cells = st.integers(-8, 8)
    observed = draw(st.lists(cells, min_size=m, max_size=m))
    columns = [
        draw(st.one_of(st.just([observed[j]] * resamples), st.lists(cells, min_size=resamples, max_size=resamples)))
        for j in range(m)
    ]
    return np.array(observed) / 8, np.array(columns, dtype=np.float64).reshape(m, resamples).T / 8


def by_hand(family: Family, confidence: Fraction) -> tuple[list[tuple[float, float] | None], list[float | None]]:
    """The rule with loops: statistics of each resample, their order, one contrast at a time."""
    differences, resampled = (part.tolist() for part in family)
    m, b = len(differences), len(resampled)
    columns = [[line[j] for line in resampled] for j in range(m)]
    spread = [float(np.std(column, ddof=1)) for column in columns]
    moving = [j for j in range(m) if len(set(columns[j])) > 1]
    largest = sorted(max(abs(line[j] - differences[j]) / spread[j] for j in moving) for line in resampled if moving)
    rank = ceil(confidence * (b + 1))
    intervals: list[tuple[float, float] | None] = [None] * m
    p: list[float | None] = [1.0 if one == 0 else None for one in differences]
    for j in moving:
        beyond = [one for one in largest if one >= abs(differences[j]) / spread[j] - 1e-9]
        p[j] = (1 + len(beyond)) / (b + 1)
        if rank <= b:
            reach = largest[rank - 1] * spread[j]
            intervals[j] = (differences[j] - reach, differences[j] + reach)
    return intervals, p


def same(left: MaxT, intervals: list[tuple[float, float] | None], p: list[float | None]) -> None:
    """Whether a result has these intervals, up to rounding, and exactly these p values."""
    assert left.p == p
    for found, expected in zip(left.interval, intervals, strict=True):
        assert (found is None) == (expected is None)
        if found is not None:
            assert found == pytest.approx(expected, abs=1e-9)


@given(families(), st.sampled_from([HALF, Fraction(9, 10), MOST]))
def test_the_rule_by_hand(family: Family, confidence: Fraction) -> None:
    """Intervals and p values are those of a reading with loops, ties and degenerate contrasts included."""
    same(max_t(*family, confidence), *by_hand(family, confidence))


@given(families(), st.data())
def test_the_order_of_contrasts_and_of_resamples_plays_no_part(family: Family, data: st.DataObject) -> None:
    """Permuting contrasts permutes the results; permuting resamples changes none."""
    differences, resampled = family
    found = max_t(differences, resampled, HALF)
    order = data.draw(st.permutations(range(len(differences))))
    turned = max_t(differences[order], resampled[:, order], HALF)
    assert turned.critical == found.critical
    same(turned, [found.interval[j] for j in order], [found.p[j] for j in order])
    lines = data.draw(st.permutations(range(len(resampled))))
    same(max_t(differences, resampled[lines], HALF), found.interval, found.p)


@given(families(), st.data())
def test_sides_and_units_play_no_part(family: Family, data: st.DataObject) -> None:
    """Swapping a contrast's sides turns its interval, another unit scales it; no p changes, nor any other interval."""
    differences, resampled = family
    found = max_t(differences, resampled, HALF)
    j = data.draw(st.integers(0, len(differences) - 1))
    factor = np.ones(len(differences))
    factor[j] = data.draw(st.sampled_from([-1.0, -100.0, 2.0, 0.3]))
    intervals = list(found.interval)
    if intervals[j] is not None:
        low, high = sorted(float(factor[j]) * end for end in intervals[j])
        intervals[j] = (low, high)
    same(max_t(differences * factor, resampled * factor, HALF), intervals, found.p)


@given(families(contrasts=st.integers(2, 4)))
def test_a_larger_family_is_more_cautious(family: Family) -> None:
    """With fewer contrasts in the family no interval is wider and no p larger; a contrast twice counts once."""
    differences, resampled = family
    whole, rest = max_t(*family, HALF), max_t(differences[1:], resampled[:, 1:], HALF)
    for large, small in zip(whole.interval[1:], rest.interval, strict=True):
        assert (large is None) == (small is None)
        assert large is None or small is None or large[1] - large[0] >= small[1] - small[0] - 1e-9
    for large_p, small_p in zip(whole.p[1:], rest.p, strict=True):
        assert (large_p is None and small_p is None) or large_p >= small_p  # type: ignore[operator]
    twice = max_t(np.append(differences, differences[0]), np.column_stack([resampled, resampled[:, 0]]), HALF)
    same(twice, [*whole.interval, whole.interval[0]], [*whole.p, whole.p[0]])


@given(families(), st.sampled_from([HALF, Fraction(9, 10), MOST]))
def test_interval_and_p_say_the_same(family: Family, confidence: Fraction) -> None:
    """p is at most 1 - confidence where 0 is outside the interval, and nowhere else."""
    found = max_t(*family, confidence)
    for interval, p in zip(found.interval, found.p, strict=True):
        if interval is not None:
            assert p is not None
            outside = interval[0] > 1e-9 or interval[1] < -1e-9
            assert (Fraction(p).limit_denominator(1000) <= 1 - confidence) is outside


@fewer
@given(st.integers(20, 400), st.integers(0, 99), st.floats(-2, 2))
def test_one_contrast_alone_is_its_own_symmetric_bootstrap_interval(b: int, seed: int, difference: float) -> None:
    """In a family of one the standard error cancels: the interval reaches the quantile of |resampled - observed|."""
    resampled = difference + np.random.default_rng(seed).normal(size=(b, 1))
    found = max_t(np.array([difference]), resampled)
    reach = np.sort(np.abs(resampled[:, 0] - difference))[ceil(MOST * (b + 1)) - 1]
    same(found, [(difference - reach, difference + reach)], found.p)
    assert found.p == [(1 + int((np.abs(resampled[:, 0] - difference) >= abs(difference)).sum())) / (b + 1)]


def test_normal_differences_have_the_normal_critical_values() -> None:
    """One contrast reaches 1.96 standard errors, m independent ones the quantile of the largest of m normals."""
    rng = np.random.default_rng(4)
    for m in (1, 3, 10):
        critical = max_t(np.zeros(m), rng.normal(size=(100_000, m))).critical
        assert critical == pytest.approx(norm.ppf((1 + 0.95 ** (1 / m)) / 2), abs=0.02)


def test_a_contrast_that_does_not_vary_has_no_interval() -> None:
    """Without variation: no interval, p = 1 at 0 and none elsewhere; the rest of the family is as without it."""
    rng = np.random.default_rng(2)
    moving = rng.normal(size=(200, 2))
    constant = np.repeat([[0.0, 0.25]], 200, axis=0)
    found = max_t(
        np.array([0.5, 0.0, 0.1, 0.25]), np.column_stack([moving[:, 0], constant[:, 0], moving[:, 1], constant[:, 1]])
    )
    alone = max_t(np.array([0.5, 0.1]), moving)
    same(found, [alone.interval[0], None, alone.interval[1], None], [alone.p[0], 1.0, alone.p[1], None])
    assert max_t(np.array([0.0, 0.25]), constant) == MaxT([None, None], [1.0, None], None)


def test_rounding_is_no_variation() -> None:
    """Differences that are equal but for rounding have no standard error."""
    wobble = 0.1 + np.array([[0.0], [1e-17], [2e-17], [1.4e-17]]) * 10
    assert max_t(np.array([0.1]), wobble, HALF) == MaxT([None], [None], None)


def test_an_undefined_resample_is_left_out() -> None:
    """A resample in which a ratio is undefined plays no part for any contrast."""
    resampled = np.random.default_rng(3).normal(size=(60, 2))
    holed = resampled.copy()
    holed[[3, 7], [0, 1]] = np.nan
    kept = np.delete(resampled, [3, 7], axis=0)
    found = max_t(np.array([0.1, 1.0]), holed)
    expected = max_t(np.array([0.1, 1.0]), kept)
    same(found, expected.interval, expected.p)
    assert max_t(np.array([0.1]), np.full((5, 1), np.nan)) == MaxT([None], [None], None)


def test_too_few_resamples_bound_nothing() -> None:
    """19 resamples are the fewest that bound 95%; with 18 there is a p and no interval."""
    resampled = np.random.default_rng(5).normal(size=(19, 1))
    assert max_t(np.array([0.0]), resampled).interval[0] is not None
    fewer_still = max_t(np.array([0.0]), resampled[:18])
    assert (fewer_still.interval, fewer_still.critical) == ([None], None)
    assert fewer_still.p == [1.0]
    assert max_t(np.zeros(0), np.zeros((19, 0))) == MaxT([], [], None)


@pytest.mark.parametrize(
    ("differences", "shape", "confidence", "said"),
    [
        ([0.0, 0.0], (5, 3), HALF, "do not fit"),
        ([0.0], (5,), HALF, "do not fit"),
        ([float("nan")], (5, 1), HALF, "without a difference"),
        ([0.0], (5, 1), Fraction(1), "confidence=1"),
    ],
)
def test_what_is_refused(differences: list[float], shape: tuple[int, ...], confidence: Fraction, said: str) -> None:
    """Shapes that do not fit, a missing difference, and a confidence of 0 or 1: ValueError."""
    with pytest.raises(ValueError, match=said):
        max_t(np.array(differences), np.zeros(shape), confidence)


# --- coverage --------------------------------------------------------------------------------------------------------

RATES = (0.35, 0.35, 0.5, 0.6)  # of four judges; the first two are equal, so that one null is true
PAIRS = tuple(combinations(range(len(RATES)), 2))
CLAIMS, RESAMPLES, TRIALS = 200, 399, 500


def sampled(rng: np.random.Generator) -> Floats:
    """(claims, judges): where each of four correlated judges is right."""
    shared = rng.random((CLAIMS, 1)) < 0.5  # half of the claims: every judge sees the same difficulty
    draws = np.where(shared, rng.random((CLAIMS, 1)), rng.random((CLAIMS, len(RATES))))
    return np.asarray((draws < RATES).astype(np.float64))


def differences_of(means: Floats) -> Floats:
    """Every pairwise difference, from the judges' means in the last axis."""
    a, b = np.array(PAIRS).T
    return np.asarray(means[..., b] - means[..., a])


def test_the_family_is_covered_as_often_as_promised() -> None:
    """All six differences are covered at once in about 95% of samples; intervals one by one do so far less often.

    Tolerance: the binomial law of 500 samples at .95, central 99.99%.
    """
    rng = generator(11)
    true = np.array([RATES[b] - RATES[a] for a, b in PAIRS])
    joint = one_by_one = rejected = 0
    for _ in range(TRIALS):
        hits = sampled(rng)
        differences = differences_of(hits.mean(axis=0))
        resampled = differences_of(resampled_sums(hits, RESAMPLES, rng) / CLAIMS)
        found = max_t(differences, resampled)
        ends = np.array([(0.0, 0.0) if one is None else one for one in found.interval])
        joint += bool(((ends[:, 0] <= true) & (true <= ends[:, 1])).all())
        spread = resampled.std(axis=0, ddof=1)
        one_by_one += bool((np.abs(differences - true) <= 1.96 * spread).all())
        rejected += found.p[0] is not None and found.p[0] <= 0.05
    low, high = binom.interval(0.9999, TRIALS, 0.95)
    assert low <= joint <= high
    assert one_by_one < low
    assert rejected <= binom.ppf(0.9999, TRIALS, 0.05)


def test_shared_resamples_carry_the_dependence() -> None:
    """Over the resamples contrasts move together as they do from claim to claim; three standard errors of 9,000."""
    rng = generator(12)
    hits = sampled(rng)
    resampled = differences_of(resampled_sums(hits, 9_000, rng))
    assert np.corrcoef(resampled.T) == pytest.approx(np.corrcoef(differences_of(hits).T), abs=3 / 9_000**0.5)
