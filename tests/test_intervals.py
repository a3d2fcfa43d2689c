"""Intervals and tests of proportions, against scipy and statsmodels."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations, pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.stats import beta, binom, binomtest, multinomial, norm
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import confint_proportions_2indep, proportion_confint

from warrant.intervals import (
    beta_cdf,
    clopper_pearson,
    holm,
    mcnemar_exact,
    newcombe,
    paired_correlation,
    paired_square_and_add,
    square_and_add,
    wilson,
)

Trial = tuple[int, int]
sizes = st.one_of(st.integers(1, 40), st.integers(1, 100_000))
trials = sizes.flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))
confidences = st.sampled_from([0.5, 0.8, 0.9, 0.95, 0.99])
correlations = st.floats(-1, 1)
pairs = st.tuples(*[st.one_of(st.integers(0, 6), st.integers(0, 300))] * 4).filter(any)  # both, a, b, neither
# Of each claim: is it a trial of a, a success of a, a trial of b, a success of b (successes are trials).
claims = st.lists(st.tuples(*[st.sampled_from([(0, 0), (1, 0), (1, 1)])] * 2), max_size=25).map(
    lambda drawn: np.array(drawn, dtype=np.int64).reshape(len(drawn), 4)
)
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


@pytest.mark.parametrize("n", range(1, 61))
def test_clopper_pearson_is_scipys(n: int) -> None:
    """The exact interval is scipy's for every count of up to 60 trials."""
    for k in range(n + 1):
        assert clopper_pearson(k, n) == pytest.approx(tuple(binomtest(k, n).proportion_ci(method="exact")), abs=1e-12)


@given(trials, confidences)
@example((1, 1_000_000), 0.95)
@example((499_999, 1_000_000), 0.95)
@example((999_998, 1_000_000), 0.99)
def test_clopper_pearson_is_scipys_beta_quantile(trial: Trial, confidence: float) -> None:
    """Limits are quantiles of beta distributions, also of many trials and at any confidence."""
    k, n = trial
    low, high = clopper_pearson(k, n, confidence) or (2, 2)
    tail = (1 - confidence) / 2
    assert low == pytest.approx(float(beta.ppf(tail, k, n - k + 1)) if k else 0, abs=1e-12)
    assert high == pytest.approx(float(beta.ppf(1 - tail, k + 1, n - k)) if k < n else 1, abs=1e-12)


def exactly(n: int, chosen: range, rate: float) -> Fraction:
    """P(the count is one of these) in n trials, in exact arithmetic."""
    p = Fraction(rate)
    total = sum(math.comb(n, k) * p.numerator**k * (p.denominator - p.numerator) ** (n - k) for k in chosen)
    return Fraction(total, p.denominator**n)


@settings(max_examples=60)
@given(st.integers(1, 150).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))), confidences)
def test_exact_limits_leave_half_of_the_rest_on_each_side(trial: Trial, confidence: float) -> None:
    """At the lower limit k or more, and at the upper one k or fewer, have probability alpha / 2 in exact arithmetic."""
    k, n = trial
    low, high = clopper_pearson(k, n, confidence) or (2, 2)
    tail = (1 - confidence) / 2
    assert k == 0 or float(exactly(n, range(k, n + 1), low)) == pytest.approx(tail, abs=1e-13)
    assert k == n or float(exactly(n, range(k + 1), high)) == pytest.approx(tail, abs=1e-13)


@given(trials)
def test_exact_limits_contain_the_rate_and_are_shares(trial: Trial) -> None:
    """They hold the observed rate, touch 0 at k=0 and 1 at k=n only, mirror failures, and grow with confidence."""
    k, n = trial
    low, high = clopper_pearson(k, n) or (2, 2)
    assert 0 <= low <= k / n <= high <= 1
    assert (low == 0) == (k == 0)
    assert (high == 1) == (k == n)
    assert clopper_pearson(n - k, n) == close((1 - high, 1 - low))
    for narrow, wide in pairwise([clopper_pearson(k, n, confidence) or (2, 2) for confidence in (0.5, 0.8, 0.99)]):
        assert wide[0] <= narrow[0]
        assert narrow[1] <= wide[1]


@pytest.mark.parametrize("n", [1, 2, 5, 20, 35, 100])
def test_exact_limits_cover_at_every_rate(n: int) -> None:
    """Coverage is at least nominal at every true rate, where Wilson's falls below."""
    grid = np.arange(1, 1000) / 1000
    mass = binom.pmf(np.arange(n + 1), n, grid[:, None])
    coverage = {}
    for limits in (wilson, clopper_pearson):
        low, high = np.array([limits(k, n) for k in range(n + 1)]).T
        coverage[limits] = (mass * ((low <= grid[:, None]) & (grid[:, None] <= high))).sum(axis=1)
    assert coverage[clopper_pearson].min() >= 0.95
    assert coverage[wilson].min() < 0.93


@given(st.floats(0, 1), st.integers(1, 300), st.integers(1, 300))
@example(0.0, 1, 1)
@example(1.0, 2, 3)
@example(5e-324, 1, 1)
def test_the_beta_distribution_is_scipys(x: float, a: int, b: int) -> None:
    """The distribution function of a beta distribution is scipy's, a share, and 0 and 1 at the ends."""
    assert beta_cdf(x, a, b) == pytest.approx(float(beta.cdf(x, a, b)), abs=1e-12)


@given(trials, trials)
def test_nothing_observed_has_no_interval(first: Trial, second: Trial) -> None:
    """A rate without trials has no interval, and neither has a difference from it."""
    assert wilson(0, 0) is None
    assert clopper_pearson(0, 0) is None
    assert newcombe(*first, 0, 0, limits=clopper_pearson) is None
    assert newcombe(*first, 0, 0) is None
    assert newcombe(0, 0, *second) is None


@pytest.mark.parametrize(("k", "n"), [(-1, 3), (4, 3), (1, 0), (0, -1)])
def test_impossible_counts_are_refused(k: int, n: int) -> None:
    """Counts that no experiment gives are errors."""
    for limits in (wilson, clopper_pearson):
        with pytest.raises(ValueError, match="not between"):
            limits(k, n)


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


@given(trials, trials, confidences)
def test_the_gap_squares_and_adds_exact_limits(first: Trial, second: Trial, confidence: float) -> None:
    """With exact limits an end is as far from the difference as both limits squared and added; swapping negates."""
    (p, l1, u1), (q, l2, u2) = (
        (k / n, *binomtest(k, n).proportion_ci(confidence, method="exact")) for k, n in (first, second)
    )
    low, high = newcombe(*first, *second, confidence, limits=clopper_pearson) or (2, 2)
    assert low == pytest.approx(p - q - math.sqrt((p - l1) ** 2 + (u2 - q) ** 2), abs=1e-10)
    assert high == pytest.approx(p - q + math.sqrt((u1 - p) ** 2 + (q - l2) ** 2), abs=1e-10)
    assert newcombe(*second, *first, confidence, limits=clopper_pearson) == close((-high, -low))


def paired(both: int, only_a: int, only_b: int, neither: int) -> tuple[float, float]:
    """The interval of b - a for two proportions of the same claims, from the four cells."""
    n = both + only_a + only_b + neither
    a, b = (both + only_a, n), (both + only_b, n)
    interval = square_and_add(a, b, paired_correlation(a, b, both, both + only_a, both + only_b, n))
    assert interval is not None
    return interval


def method_10(e: int, f: int, g: int, h: int) -> tuple[float, float]:
    """Newcombe's method 10 from the cells of his table: theta = (f - g)/n, f successes of the first alone."""
    n, z = e + f + g + h, float(norm.ppf(0.975))
    ends = []
    for k in (e + f, e + g):
        root = z * math.sqrt(z * z + 4 * k * (n - k) / n)
        ends.append(((2 * k + z * z - root) / (2 * (n + z * z)), k / n, (2 * k + z * z + root) / (2 * (n + z * z))))
    (l2, p2, u2), (l3, p3, u3) = ends
    product = math.sqrt((e + f) * (g + h)) * math.sqrt((e + g) * (f + h))
    excess = e * h - f * g
    phi = (max(excess - n / 2, 0) if excess > 0 else excess) / product if product else 0.0
    low = (p2 - l2) ** 2 - 2 * phi * (p2 - l2) * (u3 - p3) + (u3 - p3) ** 2
    high = (p3 - l3) ** 2 - 2 * phi * (p3 - l3) * (u2 - p2) + (u2 - p2) ** 2
    return p2 - p3 - math.sqrt(max(0.0, low)), p2 - p3 + math.sqrt(max(0.0, high))


@given(pairs)
@example((0, 0, 0, 5))
@example((3, 0, 0, 3))
def test_paired_differences_are_newcombes_method_10(cells: tuple[int, int, int, int]) -> None:
    """For proportions of the same claims the interval is Newcombe's method 10, written from his table."""
    both, only_a, only_b, neither = cells
    assert paired(*cells) == pytest.approx(method_10(both, only_b, only_a, neither), abs=1e-7)  # a root near 0


@pytest.mark.parametrize(
    ("cells", "expected"),
    [((14, 0, 5, 22), (0.011, 0.226)), ((1, 7, 1, 12), (-0.507, -0.026))],
    ids=["Altman et al. (2000), page 52", "Fagerland et al. (2014), airway reactivity"],
)
def test_paired_differences_of_the_literature(cells: tuple[int, int, int, int], expected: tuple[float, float]) -> None:
    """Worked examples of the method have their printed limits."""
    assert paired(*cells) == pytest.approx(expected, abs=0.0005)


@given(pairs)
def test_a_paired_interval_holds_its_difference(cells: tuple[int, int, int, int]) -> None:
    """The interval lies in [-1, 1], holds the difference, is never a point, and turns with the sides."""
    both, only_a, only_b, neither = cells
    low, high = paired(*cells)
    assert -1 - 1e-12 <= low <= (only_b - only_a) / sum(cells) <= high <= 1 + 1e-12
    assert low < high
    assert paired(both, only_b, only_a, neither) == pytest.approx((-high, -low), abs=1e-7)


@given(pairs, confidences)
@example((0, 0, 0, 5), 0.95)
@example((0, 5, 0, 0), 0.95)
@example((0, 3, 3, 0), 0.95)
def test_an_interval_from_discordant_claims(cells: tuple[int, int, int, int], confidence: float) -> None:
    """It squares and adds the limits of two cells of a multinomial; concordant claims count only in n."""
    _, only_a, only_b, _ = cells
    n = sum(cells)
    low, high = paired_square_and_add(only_a, only_b, n, confidence) or (2, 2)
    assert -1 - 1e-12 <= low <= (only_b - only_a) / n <= high <= 1 + 1e-12
    assert low < high
    assert paired_square_and_add(only_b, only_a, n, confidence) == pytest.approx((-high, -low), abs=1e-12)
    p, q = only_a / n, only_b / n
    rho = -math.sqrt(p / (1 - p) * (q / (1 - q))) if p < 1 and q < 1 else 0
    (la, ua), (lb, ub) = (proportion_confint(k, n, alpha=1 - confidence, method="wilson") for k in (only_a, only_b))
    for end, x, y in ((low, q - lb, ua - p), (high, ub - q, p - la)):
        assert (end - (q - p)) ** 2 == pytest.approx(x * x + y * y - 2 * rho * x * y, abs=1e-9)


@pytest.mark.parametrize(("n", "least"), [(20, 0.94), (50, 0.945), (100, 0.95)])
def test_the_interval_from_discordant_claims_covers(n: int, least: float) -> None:
    """Exact coverage over every sample of n claims, for expected numbers of discordant claims from none to half."""
    only_a, only_b = (counts.ravel() for counts in np.meshgrid(np.arange(n + 1), np.arange(n + 1)))
    possible = only_a + only_b <= n
    only_a, only_b = only_a[possible], only_b[possible]
    ends = [paired_square_and_add(int(a), int(b), n) for a, b in zip(only_a, only_b, strict=True)]
    low, high = np.array(ends).T
    expected = [mean for mean in (0, 0.05, 0.1, 0.2, 0.5, 1, 1.5, 2, 3, 4, 5, 7, 10, n / 4) if mean <= n / 2]
    for one in expected:
        for other in expected:
            truth = (other - one) / n
            inside = (low <= truth + 1e-12) & (truth - 1e-12 <= high)
            chance = multinomial.pmf(
                np.stack([only_a, only_b, n - only_a - only_b], axis=1), n, [one / n, other / n, 1 - (one + other) / n]
            )
            assert chance.sum() == pytest.approx(1)
            assert chance[inside].sum() > least, (one, other)


def test_discordant_counts_make_sense() -> None:
    assert paired_square_and_add(0, 0, 0) is None
    for counts in ((-1, 0, 3), (0, -1, 3), (2, 2, 3)):
        with pytest.raises(ValueError, match="discordant counts"):
            paired_square_and_add(*counts)


@given(trials, trials, confidences)
def test_without_correlation_the_interval_is_newcombes_unpaired_one(a: Trial, b: Trial, confidence: float) -> None:
    """With correlation 0 squaring and adding is the hybrid score interval of independent proportions."""
    assert square_and_add(a, b, 0, confidence) == close(newcombe(*b, *a, confidence))


@given(trials, trials, correlations, confidences)
def test_limits_have_the_variance_of_a_difference(a: Trial, b: Trial, rho: float, confidence: float) -> None:
    """Each end is as far from the difference as x^2 + y^2 - 2 rho x y says, x and y the distances of Wilson limits."""
    low, high = square_and_add(a, b, rho, confidence) or (2, 2)
    (la, ua), (lb, ub) = (proportion_confint(*one, alpha=1 - confidence, method="wilson") for one in (a, b))
    p, q = a[0] / a[1], b[0] / b[1]
    for end, x, y in ((low, q - lb, ua - p), (high, ub - q, p - la)):
        assert (end - (q - p)) ** 2 == pytest.approx(x * x + y * y - 2 * rho * x * y, abs=1e-9)


@given(trials, st.integers(0, 9))
def test_a_difference_from_nothing_has_no_interval(trial: Trial, k: int) -> None:
    """A proportion without trials has no difference; a correlation beyond 1 is an error."""
    assert square_and_add(trial, (0, 0), 0.5) is None
    assert square_and_add((0, 0), trial, 0.5) is None
    with pytest.raises(ValueError, match="not between"):
        square_and_add(trial, trial, 1.01 + k)


@given(claims)
def test_the_correlation_is_that_of_the_claims_residuals(table: Any) -> None:
    """The correlation is the residuals' sum of products over its scale, a positive one less 1/2 but not below 0."""
    bottom_a, top_a, bottom_b, top_b = table.T
    a, b = (int(top_a.sum()), int(bottom_a.sum())), (int(top_b.sum()), int(bottom_b.sum()))
    counts = [int(x @ y) for x, y in ((top_a, top_b), (top_a, bottom_b), (bottom_a, top_b), (bottom_a, bottom_b))]
    found = paired_correlation(a, b, *counts)
    if 0 in (a[1], b[1]):
        assert found == 0
        return
    first, second = top_a - a[0] / a[1] * bottom_a, top_b - b[0] / b[1] * bottom_b
    products, scale = float(first @ second), math.sqrt(float(first @ first) * float(second @ second))
    if scale < 1e-9:
        assert found == 0
    else:
        expected = max(0.0, products - 0.5) if products > 1e-12 else products
        assert found == pytest.approx(expected / scale, abs=1e-9)
    assert -1 <= found <= 1
    counts[1], counts[2] = counts[2], counts[1]
    assert paired_correlation(b, a, *counts) == found


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
