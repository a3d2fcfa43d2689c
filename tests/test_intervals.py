"""Intervals and tests of proportions, against scipy and statsmodels."""

from __future__ import annotations

from itertools import combinations, pairwise
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import confint_proportions_2indep, proportion_confint

from warrant.intervals import holm, mcnemar_exact, newcombe, wilson

Trial = tuple[int, int]
sizes = st.one_of(st.integers(1, 40), st.integers(1, 100_000))
trials = sizes.flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))
confidences = st.sampled_from([0.5, 0.8, 0.9, 0.95, 0.99])
p_values = st.lists(st.one_of(st.floats(0, 1), st.sampled_from([0.0, 0.01, 0.02, 1.0])), max_size=8)


def close(expected: Any) -> Any:
    return pytest.approx(expected, abs=1e-11)


@given(trials, confidences)
@example((0, 1), 0.95)
@example((1, 1), 0.95)
def test_wilson_is_scipys_and_statsmodels(trial: Trial, confidence: float) -> None:
    """The Wilson interval is the one that scipy and statsmodels compute."""
    k, n = trial
    interval = wilson(k, n, confidence)
    assert interval == close(tuple(binomtest(k, n).proportion_ci(confidence, method="wilson")))
    assert interval == close(proportion_confint(k, n, alpha=1 - confidence, method="wilson"))


@given(trials)
def test_wilson_contains_the_rate_and_stays_a_share(trial: Trial) -> None:
    """The interval holds the observed rate, lies in [0, 1], and touches an end exactly at k=0 and at k=n only."""
    k, n = trial
    low, high = wilson(k, n) or (2, 2)
    assert 0 <= low <= k / n <= high <= 1
    assert (low == 0) == (k == 0)
    assert (high == 1) == (k == n)


@given(trials)
def test_wilson_is_symmetric(trial: Trial) -> None:
    """Counting failures instead of successes mirrors the interval."""
    k, n = trial
    low, high = wilson(k, n) or (2, 2)
    assert wilson(n - k, n) == close((1 - high, 1 - low))


@given(trials)
def test_more_confidence_is_a_wider_interval(trial: Trial) -> None:
    """Intervals of increasing confidence contain each other."""
    for narrow, wide in pairwise([wilson(*trial, confidence) or (2, 2) for confidence in (0.5, 0.8, 0.95, 0.99)]):
        assert wide[0] <= narrow[0]
        assert narrow[1] <= wide[1]


@given(trials, trials)
def test_nothing_observed_has_no_interval(first: Trial, second: Trial) -> None:
    """A rate without trials has no interval, and neither has a difference from it."""
    assert wilson(0, 0) is None
    assert newcombe(*first, 0, 0) is None
    assert newcombe(0, 0, *second) is None


@pytest.mark.parametrize(("k", "n"), [(-1, 3), (4, 3), (1, 0), (0, -1)])
def test_impossible_counts_are_refused(k: int, n: int) -> None:
    """Counts that no experiment gives are errors."""
    with pytest.raises(ValueError, match="not between"):
        wilson(k, n)


@given(trials, trials, confidences)
def test_newcombe_is_statsmodels(first: Trial, second: Trial, confidence: float) -> None:
    """The interval of an unpaired difference is statsmodels' hybrid score interval."""
    expected = confint_proportions_2indep(*first, *second, method="newcomb", compare="diff", alpha=1 - confidence)
    assert newcombe(*first, *second, confidence) == pytest.approx(tuple(map(float, expected)), abs=1e-7)


@given(trials, trials)
def test_newcombe_turns_with_the_difference(first: Trial, second: Trial) -> None:
    """Swapping the two samples negates the interval, which holds the difference and lies in [-1, 1]."""
    low, high = newcombe(*first, *second) or (2, 2)
    assert newcombe(*second, *first) == close((-high, -low))
    assert -1 <= low <= first[0] / first[1] - second[0] / second[1] <= high <= 1


@given(st.integers(0, 60), st.integers(0, 60))
def test_mcnemar_is_statsmodels_and_a_sign_test(only_a: int, only_b: int) -> None:
    """The exact McNemar p is statsmodels' and, where pairs are discordant, that of a binomial test of one half."""
    p = mcnemar_exact(only_a, only_b)
    assert p == close(float(mcnemar([[7, only_a], [only_b, 3]], exact=True).pvalue))
    if only_a + only_b:
        assert p == close(binomtest(only_a, only_a + only_b).pvalue)


@given(st.integers(0, 300), st.integers(0, 300))
def test_mcnemar_is_a_symmetric_probability(only_a: int, only_b: int) -> None:
    """The p value is in [0, 1], is the same both ways, and is 1 without discordant pairs or with equal ones."""
    p = mcnemar_exact(only_a, only_b)
    assert 0 <= p <= 1
    assert p == mcnemar_exact(only_b, only_a)
    assert mcnemar_exact(only_a, only_a) == 1


@settings(max_examples=15)  # statsmodels takes 50 ms for each
@given(p_values)
def test_holm_is_statsmodels(values: list[float]) -> None:
    """Adjusted p values are statsmodels' Holm values, in the order given."""
    expected = multipletests(values, method="holm")[1].tolist() if values else []
    assert holm(values) == close(expected)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=6))
def test_holm_is_closed_bonferroni_testing(values: list[float]) -> None:
    """An adjusted p is the largest Bonferroni p of any set of tests that the test belongs to."""
    tests = range(len(values))
    subsets = [chosen for size in range(1, len(values) + 1) for chosen in combinations(tests, size)]
    bonferroni = {chosen: min(1.0, len(chosen) * min(values[i] for i in chosen)) for chosen in subsets}
    assert holm(values) == [max(p for chosen, p in bonferroni.items() if i in chosen) for i in tests]


@given(st.data(), p_values)
def test_holm_does_not_depend_on_the_order(data: st.DataObject, values: list[float]) -> None:
    """Permuting tests permutes adjusted p values; ties get the same one."""
    order = data.draw(st.permutations(range(len(values))))
    before = holm(values)
    assert holm([values[i] for i in order]) == [before[i] for i in order]
    assert all(before[i] == before[j] for i in range(len(values)) for j in range(i) if values[i] == values[j])


@given(p_values)
def test_holm_only_raises(values: list[float]) -> None:
    """No adjusted p value is below its own p or above 1 or Bonferroni's; a single test is left as it is."""
    for p, adjusted in zip(values, holm(values), strict=True):
        assert p <= adjusted <= min(1, len(values) * p)
        assert holm([p]) == [p]
