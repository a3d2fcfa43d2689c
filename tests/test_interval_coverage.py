"""The coverage study: its true values, its counting, its committed numbers, a fast run that must agree with them."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path

import numpy as np
import oracles
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom
from strategies import names

from warrant.bootstrap import generator
from warrant.interval_coverage.binomial import gap_coverage, rate_coverage
from warrant.interval_coverage.methods import (
    BESIDE,
    CLOPPER_PEARSON,
    EXACT_GAP,
    MCNEMAR,
    NEWCOMBE,
    PERCENTILE,
    SCORE,
    WILSON,
)
from warrant.interval_coverage.page import COMMAND, page
from warrant.interval_coverage.replications import replicate, standard_error, summary
from warrant.interval_coverage.rows import REPLICATIONS, read_csv, short
from warrant.interval_coverage.samples import simulate
from warrant.interval_coverage.settings import SETTINGS, Setting
from warrant.interval_coverage.truth import Truth, law, rate_of, truths
from warrant.intervals import Limits, clopper_pearson, newcombe, wilson
from warrant.labels import CONTRACTS
from warrant.metrics import METRICS
from warrant.simulation import rates

DOCS = Path(__file__).parent.parent / "docs"
ROWS = read_csv((DOCS / "interval-coverage.csv").read_text(encoding="utf-8"))
BY_NAME = {setting.name: setting for setting in SETTINGS}
FAST = 150  # replications of the fast run
ERRORS = 4  # Monte Carlo standard errors, of eight comparisons


def test_the_page_is_made_from_the_csv() -> None:
    """docs/interval-coverage.md is the page that the program writes from the committed CSV, byte for byte."""
    stale = f"stale; run `{COMMAND}`"
    assert page(ROWS) == (DOCS / "interval-coverage.md").read_text(encoding="utf-8"), stale


def test_the_csv_is_complete() -> None:
    """Every setting has the same intervals of every table, over the replications that the program states."""
    found = Counter(row["setting"] for row in ROWS if row["method"] in (PERCENTILE, NEWCOMBE) and row["defined"])
    assert set(found) == set(BY_NAME)
    assert len(set(found.values())) == 1
    assert {row["replications"] for row in ROWS if row["setting"] in BY_NAME} == {str(REPLICATIONS)}
    for published, beside in BESIDE.items():
        first, second = (
            [tuple(row[name] for name in ("setting", "table", "row", "metric", "defined", "bias")) for row in chosen]
            for chosen in ([row for row in ROWS if row["method"] == method] for method in (published, beside))
        )
        assert sorted(first) == sorted(second)


def test_parameters_are_recovered() -> None:
    """Mean estimates of the rates that parameters give are within five standard errors of them, in every setting."""
    compared = [row for row in ROWS if row["metric"] in rates(SETTINGS[0].judges["a"], "4opt") and row["truth"]]
    exact = [row for row in compared if row["table"] == "judges" and float(row["truth_error"]) == 0]
    assert len(exact) > 200
    for row in exact:
        assert abs(float(row["bias"])) <= 5 * float(row["bias_error"]) + 1e-6, row


def test_what_stands_beside_the_bootstrap_covers() -> None:
    """With rates like the paper's no square-and-add interval under-covers, while bootstrap intervals do."""
    usual = [row for row in ROWS if row["setting"] in ("averitec", "averitec_drawn", "vitaminc_mixed", "demo")]
    assert not [row for row in usual if row["method"] == SCORE and short(row)]
    assert len([row for row in usual if row["method"] == PERCENTILE and short(row)]) > 50


def test_what_stands_beside_rates_and_gaps_covers() -> None:
    """No exact rate interval and no gap of exact limits under-covers in any setting, while published ones do."""
    simulated = [row for row in ROWS if row["setting"] in BY_NAME]
    for published, beside in ((WILSON, CLOPPER_PEARSON), (NEWCOMBE, EXACT_GAP)):
        assert [row for row in simulated if row["method"] == published and short(row)]
        assert not [row for row in simulated if row["method"] == beside and short(row)]
    exact = [row for row in ROWS if row["setting"] == "exact" and row["method"] == CLOPPER_PEARSON]
    assert len(exact) > 20
    assert all(float(row["share"]) >= 0.95 for row in exact)


def test_exact_tests_keep_their_level() -> None:
    """McNemar and the matched random-veto null reject at most 5 % under their hypotheses, within binomial error."""
    tests = [row for row in ROWS if row["method"] == MCNEMAR or row["row"].startswith("matched")]
    assert len(tests) > 40
    for row in tests:
        defined = int(row["defined"])
        assert binom.sf(round(float(row["share"]) * defined) - 1, defined, 0.05) > 1e-4, row


@pytest.mark.slow
@pytest.mark.parametrize("name", ["averitec", "demo"])
def test_a_fast_run_has_the_coverage_that_is_committed(name: str) -> None:
    """Mean coverage of each method's intervals, over new samples, is the CSV's within Monte Carlo error.

    The error is that of the mean over samples of the share of intervals that cover: intervals of a sample depend.
    """
    measured = replicate(BY_NAME[name], FAST, 500, 0, seed=99)
    for method in (*BESIDE, *BESIDE.values()):
        rows = [row for row in ROWS if row["setting"] == name and row["method"] == method]
        rows = [row for row in rows if row["defined"] == row["replications"]]
        hits = []
        for row in rows:
            _, low, high = measured[row["table"], row["row"], row["metric"], method].T
            truth = float(row["truth"])
            hits.append((low <= truth + 1e-6) & (truth <= high + 1e-6))
        shares = np.mean(hits, axis=0)
        committed = math.fsum(float(row["share"]) for row in rows) / len(rows)
        spread = shares.std(ddof=1) * math.sqrt(1 / FAST + 1 / REPLICATIONS)
        assert abs(shares.mean() - committed) <= ERRORS * spread, (method, shares.mean(), committed)


def test_a_seed_is_a_study() -> None:
    """The same seed gives the same numbers, another seed others."""
    first, again, other = (replicate(BY_NAME["demo"], 2, 50, 20, seed) for seed in (1, 1, 2))
    assert all(np.array_equal(first[key], again[key], equal_nan=True) for key in first)
    assert any(not np.array_equal(first[key], other[key], equal_nan=True) for key in first if key in other)


@pytest.mark.parametrize("contract", sorted(CONTRACTS))
@pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: setting.name)
def test_the_law_has_the_rates_of_the_parameters(setting: Setting, contract: str) -> None:
    """Label probabilities sum to 1 and give the rates that the simulation states."""
    for judge in setting.judges.values():
        table = law(judge, contract)
        assert table.sum(axis=1) == pytest.approx(1)
        for metric, share in rates(judge, contract).items():
            assert rate_of(table, setting.composition, metric)[0] == pytest.approx(share)


def test_simulated_labels_follow_the_law() -> None:
    """Label frequencies of single judges and of the validator are the law's, within binomial error."""
    setting, each = BY_NAME["averitec"], 20_000
    gold = np.repeat(np.arange(4), each).astype(np.int8)
    large = simulate(setting, gold, generator(3))
    for name, judge, contract in [
        ("single/b/3opt", "b", "3opt"),
        ("single/f/4opt", "f", "4opt"),
        ("validator", "v", "4opt"),
    ]:
        for at, shares in enumerate(law(setting.judges[judge], contract)):
            seen = np.bincount(large.systems[name].decision[gold == at], minlength=6) / each
            assert (np.abs(seen - shares) <= 5 * np.sqrt(shares * (1 - shares) / each) + 1e-12).all()


@pytest.mark.parametrize("metric", sorted(METRICS))
def test_true_values_are_the_metrics_of_a_large_sample(metric: str) -> None:
    """A true value is the plainly counted metric of a sample that has each label as often as the law says."""
    setting = BY_NAME["averitec"]
    gold = setting.gold(1, generator(0))
    decision = np.random.default_rng(5).integers(0, 6, len(gold)).astype(np.int8)
    table = np.array([np.bincount(decision[gold == at], minlength=6) / (gold == at).sum() for at in range(4)])
    k, n = oracles.counts(metric, names(gold), names(decision))
    assert rate_of(table, setting.composition, metric)[0] == pytest.approx(k / n)


def test_contrasts_have_the_difference_of_two_truths() -> None:
    """A contrast's true value is b's minus a's, and single judges' have no error."""
    found = truths(BY_NAME["demo"], 500, generator(1))
    a, b = (found["judges", side, "cpo_c"] for side in ("single/a/3opt", "single/a/4opt"))
    assert found["contrasts", "vocabulary_alone", "cpo_c"] == Truth(b.value - a.value, 0.0)
    assert found["judges", "single/a/4opt", "gap"].value == pytest.approx(
        b.value - found["judges", "single/a/4opt", "ovc_i"].value
    )
    assert found["contrasts", "panel_alone", "cpo_c"].error > 0


def test_summaries_count_what_misses() -> None:
    """Intervals above, below and over the truth are counted where defined; ends that touch it cover."""
    values = np.array(
        [[0.5, 0.4, 0.6], [0.7, 0.6, 0.8], [0.2, 0.1, 0.3], [0.5, 0.5, 0.5], [0.6, 0.5, 0.7], [np.nan] * 3]
    )
    line = summary(BY_NAME["demo"], ("contrasts", "x", "se", SCORE), values, Truth(0.5))
    assert line is not None
    assert (line["replications"], line["defined"]) == (6, 5)
    assert [line[name] for name in ("share", "above", "below", "empty")] == pytest.approx([0.6, 0.2, 0.2, 0.2])
    assert (line["bias"], line["width"]) == pytest.approx((0.0, 0.16))
    assert summary(BY_NAME["demo"], ("contrasts", "x", "se", SCORE), values[5:], Truth(0.5)) is None


@given(st.integers(0, 500), st.integers(0, 500))
def test_monte_carlo_errors_are_never_zero(k: int, more: int) -> None:
    """The error of a share is near the binomial one, also where every replication agrees."""
    n = k + more + 1
    assert 0 < standard_error(k / n, n) <= 0.5 / math.sqrt(n) * (1 + 1e-12)  # equal at k = n / 2, but for rounding


@pytest.mark.parametrize("limits", [wilson, clopper_pearson])
@pytest.mark.parametrize(("n", "rate"), [(20, 0.027), (35, 0.5), (150, 0.93), (285, 0.012)])
def test_exact_coverage_is_scipys(n: int, rate: float, limits: Limits) -> None:
    """Exact coverage is the binomial probability of the counts whose interval holds the rate."""
    ends = [limits(k, n, 0.95) or (2, -2) for k in range(n + 1)]
    covering = [k for k, (low, high) in enumerate(ends) if low <= rate <= high]
    assert rate_coverage(n, rate, limits) == pytest.approx(float(binom.pmf(covering, n, rate).sum()), abs=1e-10)


@pytest.mark.parametrize("limits", [wilson, clopper_pearson])
def test_exact_coverage_of_gaps_is_scipys(limits: Limits) -> None:
    """Exact coverage of a gap is the probability of the pairs of counts whose interval holds it."""
    n, m, grid = 7, 4, (0.03, 0.4, 0.97)
    found = gap_coverage(n, m, grid, limits)
    for i, p in enumerate(grid):
        for j, q in enumerate(grid):
            expected = 0.0
            for k in range(n + 1):
                for h in range(m + 1):
                    low, high = newcombe(k, n, h, m, limits=limits) or (2, -2)
                    if low <= p - q <= high:
                        expected += float(binom.pmf(k, n, p) * binom.pmf(h, m, q))
            assert found[i, j] == pytest.approx(expected, abs=1e-10)


def test_settings_are_checked() -> None:
    """Support and refute must be equally many and every judge present."""
    with pytest.raises(ValueError, match="differ in number"):
        Setting("x", (1, 2, 3, 4), SETTINGS[0].judges)
    with pytest.raises(ValueError, match="judges"):
        Setting("x", (2, 2, 3, 4), {"a": SETTINGS[0].judges["a"]})
