"""Ranks, thresholds and sets of split conformal prediction, against exact fractions and MAPIE."""

from __future__ import annotations

import ast
import inspect
import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from debates import slow_rank, slow_threshold
from hypothesis import example, given
from hypothesis import strategies as st
from mapie.classification import SplitConformalClassifier
from sklearn.base import BaseEstimator, ClassifierMixin

from warrant import conformal, outcomes
from warrant.conformal import (
    beta_binomial_coverage,
    lac,
    members,
    option_scores,
    rank,
    rank_cumulative,
    threshold,
)
from warrant.grid import INFINITE, ONE, to_grid

LEVELS = tuple(map(Decimal, ("0.01", "0.05", "0.10", "0.20", "0.19")))
levels = st.sampled_from(LEVELS)
grid_lists = st.one_of(
    st.lists(st.integers(0, ONE), min_size=1, max_size=40),
    st.lists(st.sampled_from([0, ONE // 20, ONE // 2, ONE]), min_size=1, max_size=40),  # tied
)


@st.composite
def pools(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray]:
    """Pooled probabilities of a question with ties among its options, padded to ten, and which options exist."""
    values = draw(st.lists(st.sampled_from([0, 1, 5, 5, 10, 10, 37]), min_size=3, max_size=10))
    total = max(sum(values), 1)
    pooled = to_grid(np.array([*values, *[0] * (10 - len(values))]) / total)
    return pooled, np.arange(10) < len(values)


# --- ranks and thresholds --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("alpha", LEVELS, ids=str)
def test_rank_and_threshold_are_those_of_fractions_up_to_500(alpha: Decimal) -> None:
    """For every n from 1 to 500 the rank is the exact ceiling, and the threshold that order statistic or infinite."""
    rng = np.random.default_rng(1)
    for n in range(1, 501):
        scores = rng.permutation(n).astype(np.int64)  # the k-th smallest is k - 1
        k = math.ceil(Fraction(n + 1) * (1 - Fraction(str(alpha))))
        assert rank(n, alpha) == rank(n, Fraction(alpha)) == slow_rank(n, alpha) == k
        assert threshold(scores, alpha) == (INFINITE if k > n else k - 1)


@pytest.mark.parametrize(("n", "alpha", "k"), [(299, "0.19", 243), (9, "0.1", 9), (8, "0.1", 9), (99, "0.01", 99)])
def test_ranks_at_which_floats_are_wrong_by_one(n: int, alpha: str, k: int) -> None:
    """Where (n + 1)(1 - alpha) is whole the rank is that number; a rank above n has an infinite threshold."""
    assert rank(n, Decimal(alpha)) == k
    found = threshold(np.arange(n, dtype=np.int64), Decimal(alpha))
    assert found == (k - 1 if k <= n else INFINITE)


@given(grid_lists, st.integers(1, 999))
@example([ONE] * 9, 100)
def test_the_threshold_is_the_slow_one_whatever_the_order(scores: list[int], thousandths: int) -> None:
    """The threshold is the k-th in sorted order whatever the order of scores, which stay as they were."""
    alpha = Decimal(thousandths).scaleb(-3)
    given_scores = np.array(scores, dtype=np.int64)
    expected = slow_threshold(scores, alpha)
    for ordered in (given_scores, given_scores[::-1], np.sort(given_scores)):
        assert threshold(ordered, alpha) == (INFINITE if expected is None else expected)
    assert given_scores.tolist() == scores


@given(grid_lists, st.integers(1, 998))
def test_a_smaller_alpha_never_lowers_the_threshold(scores: list[int], thousandths: int) -> None:
    """Thresholds fall with alpha, so that sets are nested."""
    held = np.array(scores, dtype=np.int64)
    assert threshold(held, Decimal(thousandths).scaleb(-3)) >= threshold(held, Decimal(thousandths + 1).scaleb(-3))


@pytest.mark.parametrize("alpha", ["0", "1", "-0.1", "1.5"])
def test_a_level_outside_the_open_interval_is_refused(alpha: str) -> None:
    """Alpha 0, 1 and beyond have no rank, and nor has an empty calibration set."""
    with pytest.raises(ValueError, match="not between 0 and 1"):
        rank(10, Decimal(alpha))
    with pytest.raises(ValueError, match="empty"):
        rank(0, Decimal("0.1"))


@pytest.mark.parametrize("module", [conformal, outcomes], ids=["conformal", "outcomes"])
def test_no_quantile_routine_decides_a_threshold(module: object) -> None:
    """Nothing that is called in the conformal core is a quantile or percentile routine."""
    tree = ast.parse(inspect.getsource(module))  # type: ignore[arg-type]
    called = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    called |= {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    assert not {name for name in called if "quantile" in name or "percentile" in name}


@given(st.integers(1, 60), st.integers(1, 60), levels)
def test_the_yardstick_is_the_beta_binomial_law(n_cal: int, n_test: int, alpha: Decimal) -> None:
    """Mean k/(n + 1) and quantiles of the beta-binomial law; all is covered where the rank is beyond the scores."""
    mean, low, high = beta_binomial_coverage(n_cal, n_test, alpha)
    k = slow_rank(n_cal, alpha)
    if k > n_cal:
        assert (mean, low, high) == (1, 1, 1)
        return
    ways = [math.comb(k - 1 + j, j) * math.comb(n_cal - k + n_test - j, n_test - j) for j in range(n_test + 1)]
    total = math.comb(n_cal + n_test, n_test)
    assert sum(ways) == total
    assert Fraction(sum(j * way for j, way in enumerate(ways)), total * n_test) == Fraction(k, n_cal + 1)
    assert mean == k / (n_cal + 1)
    for quantile, twentieths in ((low, 1), (high, 19)):
        j = round(quantile * n_test)
        assert quantile == j / n_test
        below, upto = (Fraction(20 * sum(ways[:end]), total) for end in (j, j + 1))
        assert below < twentieths <= upto


# --- MAPIE -----------------------------------------------------------------------------------------------------------


MAPIE_CELLS = (513, 116)  # equal, and at which MAPIE raises, of 630


class Given(ClassifierMixin, BaseEstimator):
    """A fitted classifier whose features are its probabilities."""

    def __init__(self, classes: int = 5) -> None:
        self.classes = classes
        self.classes_ = np.arange(classes)

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def fit(self, x: np.ndarray, y: np.ndarray) -> Given:
        return self

    def predict_proba(self, x: np.ndarray) -> np.ndarray:
        return x

    def predict(self, x: np.ndarray) -> np.ndarray:
        return x.argmax(axis=1)


def float_rank(n: int, alpha: Decimal) -> int:
    """The rank that MAPIE takes, in floats."""
    return math.ceil((n + 1) * (1 - (1 - float(1 - alpha))))


def compared_with_mapie(sizes: list[int], tied: bool) -> tuple[int, int, list[tuple[int, str]]]:
    """Compare the sets of 30 test questions at every size and level: cells that are equal, cells in which MAPIE
    raises, and cells in which its float rank is one too high (there the sets must be those of that rank).
    """
    rng = np.random.default_rng(20260407)
    equal, raised, missed = 0, 0, []
    for n in sizes:
        drawn = rng.dirichlet(np.ones(5), n + 30)
        if tied:
            drawn = np.array([rng.multinomial(20, p) for p in drawn]) / 20
        y = np.array([rng.choice(5, p=p) for p in drawn])
        y[:5] = np.arange(5)  # MAPIE wants to have seen every class
        scores = lac(to_grid(drawn))
        held = scores[np.arange(n), y[:n]]
        for alpha in LEVELS:
            try:
                theirs = mapie_sets(drawn, y, n, alpha).tolist()
            except ValueError as error:
                if "too low" not in str(error) or n * alpha > 1:
                    raise
                raised += 1
                continue
            assert n * alpha >= 1
            k = rank(n, alpha)
            if float_rank(n, alpha) == k:
                assert members(scores[n:], threshold(held, alpha)).tolist() == theirs, (n, alpha)
                equal += 1
            else:
                assert float_rank(n, alpha) == k + 1
                assert members(scores[n:], int(np.sort(held)[k])).tolist() == theirs, (n, alpha)
                missed.append((n, str(alpha)))
    return equal, raised, missed


def mapie_sets(drawn: np.ndarray, y: np.ndarray, n: int, alpha: Decimal) -> np.ndarray:
    conformal = SplitConformalClassifier(
        Given(), confidence_level=float(1 - alpha), conformity_score="lac", prefit=True
    ).conformalize(drawn[:n], y[:n])
    return np.asarray(conformal.predict_set(drawn[n:])[1][:, :, 0])


@pytest.mark.parametrize("tied", [False, True], ids=["continuous", "tied"])
def test_sets_are_mapies_wherever_mapie_answers(tied: bool) -> None:
    """LAC sets are MAPIE's, ties included, wherever it neither raises nor takes a rank from rounded floats."""
    sizes = [*range(5, 120), 149, 150, 199, 200, 298, 299, 300, 399, 400, 499, 500]
    equal, raised, missed = compared_with_mapie(sizes, tied)
    assert equal + raised + len(missed) == len(sizes) * len(LEVELS)
    assert (equal, raised) == MAPIE_CELLS
    assert missed == [(299, "0.19")]


# --- scores and sets -------------------------------------------------------------------------------------------------


@given(pools())
def test_the_rank_score_is_its_definition(pool: tuple[np.ndarray, np.ndarray]) -> None:
    """The rank score of an option adds up the probability of every option at least as probable; ties score the same."""
    pooled, _ = pool
    found = rank_cumulative(pooled).tolist()
    values = pooled.tolist()
    assert found == [sum(other for other in values if other >= value) for value in values]
    assert all(found[i] == found[j] for i in range(10) for j in range(10) if values[i] == values[j])
    assert rank_cumulative(np.stack([pooled, pooled])).tolist() == [found, found]


@given(pools(), st.permutations(range(10)))
def test_the_rank_score_turns_with_the_options(pool: tuple[np.ndarray, np.ndarray], order: list[int]) -> None:
    """Permuting options permutes rank scores, to the last unit."""
    pooled, _ = pool
    assert rank_cumulative(pooled[order]).tolist() == rank_cumulative(pooled)[order].tolist()


@given(pools(), st.sampled_from(["lac", "rank"]), st.one_of(st.just(INFINITE), st.integers(0, 2 * ONE)))
@example((np.zeros(10, dtype=np.int64), np.arange(10) < 3), "rank", INFINITE)
@example((np.zeros(10, dtype=np.int64), np.arange(10) < 3), "lac", ONE)
def test_only_the_questions_own_options_are_in_a_set(pool: tuple[np.ndarray, np.ndarray], score: str, q: int) -> None:
    """A set holds the existing options within the threshold; an infinite one leaves exactly the question's own."""
    pooled, offered = pool
    scores = option_scores(pooled[None], offered[None], score)[0]
    inside = members(scores[None], np.array([q]))[0]
    assert not inside[~offered].any()
    for option in np.flatnonzero(offered).tolist():
        assert inside[option] == (q == INFINITE or scores[option] <= q)
    if q == INFINITE:
        assert inside.tolist() == offered.tolist()
    if score == "lac":
        assert scores[offered].tolist() == [ONE - value for value in pooled[offered].tolist()]


@given(grid_lists, levels)
def test_ties_at_the_threshold_are_inside(scores: list[int], alpha: Decimal) -> None:
    """A score equal to the threshold is in the set, one unit more is not."""
    q = threshold(np.array(scores, dtype=np.int64), alpha)
    if q != INFINITE:
        assert members(np.array([[q - 1, q, q + 1]]), np.array([q])).tolist() == [[True, True, False]]


def test_an_unknown_score_is_refused() -> None:
    """A score that does not exist is named."""
    with pytest.raises(ValueError, match="unknown score 'aps'"):
        option_scores(np.zeros((1, 3), dtype=np.int64), np.ones((1, 3), dtype=np.bool_), "aps")
