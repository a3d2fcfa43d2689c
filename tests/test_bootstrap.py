"""The paired bootstrap: what a resample is, against enumeration, scipy and the binomial law."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import product

import numpy as np
import numpy.typing as npt
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from warrant import bootstrap
from warrant.bootstrap import generator, multiplicities, percentile_interval, ratio_differences, resampled_sums

Floats = npt.NDArray[np.float64]
seeds = st.integers(0, 2**32)
finite = st.lists(st.floats(-10, 10), min_size=1, max_size=30).map(np.array)
# Two systems on four claims: the second commits on fewer, so that its error rate is undefined in some resamples.
WRONG_A, COMMITS_A, WRONG_B, COMMITS_B = np.array([[1, 1, 0, 0], [1, 1, 1, 0], [1, 0, 0, 0], [1, 1, 0, 0]], float)
COLUMNS = np.stack([WRONG_A, COMMITS_A, WRONG_B, COMMITS_B], axis=1)


def differences(columns: Floats, resamples: int, seed: int = 5) -> Floats:
    """Differences of the two error rates in every resample."""
    return ratio_differences(resampled_sums(columns, resamples, generator(seed)), (0, 2), (1, 3))


@given(st.integers(1, 12), st.integers(1, 9), seeds)
def test_a_resample_has_as_many_claims_as_the_sample(n: int, resamples: int, seed: int) -> None:
    """Each resample draws n claims, a drawn claim counting as often as it was drawn."""
    blocks = list(multiplicities(n, resamples, generator(seed)))
    drawn = np.concatenate(blocks)
    assert drawn.shape == (resamples, n)
    assert (drawn.sum(axis=1) == n).all()
    assert (drawn >= 0).all()
    assert (drawn == np.floor(drawn)).all()


@given(st.integers(1, 8), st.integers(1, 40), st.integers(1, 60), seeds)
def test_blocks_only_bound_memory(n: int, resamples: int, cells: int, seed: int) -> None:
    """The resamples are the same however small the blocks that they are drawn in."""
    columns = np.arange(2.0 * n).reshape(n, 2)
    whole = resampled_sums(columns, resamples, generator(seed))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bootstrap, "_BLOCK_CELLS", cells)
        assert (resampled_sums(columns, resamples, generator(seed)) == whole).all()


@given(st.integers(1, 8), st.integers(1, 20), seeds)
def test_columns_share_their_resamples(n: int, resamples: int, seed: int) -> None:
    """A column's sums do not depend on the columns beside it, and a column of ones sums to n."""
    columns = np.stack([np.ones(n), np.arange(n) % 2, np.arange(n) % 3], axis=1)
    together = resampled_sums(columns, resamples, generator(seed))
    assert (together[:, 0] == n).all()
    for at in range(3):
        assert (resampled_sums(columns[:, [at]], resamples, generator(seed))[:, 0] == together[:, at]).all()


@given(st.integers(0, 4), st.integers(1, 20))
def test_no_claims_sum_to_nothing(width: int, resamples: int) -> None:
    """Without claims every sum is 0."""
    assert (resampled_sums(np.zeros((0, width)), resamples, generator(0)) == np.zeros((resamples, width))).all()


def test_resamples_are_uniform_over_all_index_tuples() -> None:
    """On four claims the differences have the frequencies that all 4^4 index tuples give, undefined ones included."""

    def difference(index: tuple[int, ...]) -> Fraction | None:
        wrong_a, commits_a, wrong_b, commits_b = (sum(int(column[i]) for i in index) for column in COLUMNS.T)
        return Fraction(wrong_b, commits_b) - Fraction(wrong_a, commits_a) if commits_a and commits_b else None

    law = Counter(map(difference, product(range(4), repeat=4)))
    values = differences(COLUMNS, 20_000)
    seen = {value: int(np.isclose(values, float(value)).sum()) for value in law if value is not None}
    seen[None] = int(np.isnan(values).sum())
    assert sum(seen.values()) == 20_000
    observed, expected = zip(*((seen[value], 20_000 * n / 256) for value, n in law.items()), strict=True)
    assert scipy.stats.chisquare(observed, expected).pvalue > 0.001


@pytest.mark.parametrize(("k", "n"), [(0, 7), (3, 20), (20, 20), (60, 285)])
def test_a_resampled_count_is_binomial(k: int, n: int) -> None:
    """The resampled number of successes among n claims follows the binomial law of the observed share."""
    hits = np.concatenate([np.ones(k), np.zeros(n - k)])[:, None]
    sums = resampled_sums(hits, 20_000, generator(11))[:, 0]
    law = scipy.stats.binom(n, k / n)
    for count in range(n + 1):
        assert (sums <= count).mean() == pytest.approx(law.cdf(count), abs=0.012)


def test_intervals_are_scipys_in_distribution() -> None:
    """Interval and spread of a paired difference of ratios are those of scipy's paired percentile bootstrap."""
    rng = np.random.default_rng(3)
    commits = (rng.random((120, 2)) < [0.7, 0.5]).astype(float)
    wrong = commits * (rng.random((120, 2)) < [0.4, 0.3])

    def statistic(w_a: Floats, c_a: Floats, w_b: Floats, c_b: Floats, axis: int = -1) -> Floats:
        return w_b.sum(axis=axis) / c_b.sum(axis=axis) - w_a.sum(axis=axis) / c_a.sum(axis=axis)

    columns = np.stack([wrong[:, 0], commits[:, 0], wrong[:, 1], commits[:, 1]], axis=1)
    theirs = scipy.stats.bootstrap(
        tuple(columns.T), statistic, paired=True, vectorized=True, method="percentile", n_resamples=8000, rng=rng
    )
    ours = differences(columns, 8000)
    assert scipy.stats.ks_2samp(ours, theirs.bootstrap_distribution).pvalue > 0.001
    assert percentile_interval(ours) == pytest.approx(tuple(theirs.confidence_interval), abs=0.01)


@given(finite, st.sampled_from([0.5, 0.9, 0.95]))
def test_percentiles_are_numpys(values: Floats, confidence: float) -> None:
    """The interval cuts equal tails off, interpolating linearly."""
    tail = 50 * (1 - confidence)
    assert percentile_interval(values, confidence) == pytest.approx(tuple(np.percentile(values, [tail, 100 - tail])))


@given(finite, st.integers(0, 5), st.sampled_from([np.nan, np.inf, -np.inf]))
def test_undefined_resamples_are_left_out(values: Floats, undefined: int, kind: float) -> None:
    """Resamples in which a ratio is undefined change no interval; when all are, there is none."""
    assert percentile_interval(np.concatenate([values, [kind] * undefined])) == percentile_interval(values)
    assert percentile_interval(np.full(undefined, kind)) is None


@given(seeds, st.lists(st.integers(0, 2**20), max_size=3))
def test_a_seed_and_a_key_are_a_stream(seed: int, key: list[int]) -> None:
    """The same seed and key give the same numbers; another key, or another seed, gives others."""
    first = generator(seed, *key).integers(2**60)
    assert generator(seed, *key).integers(2**60) == first
    assert generator(seed, *key, 1).integers(2**60) != first
    assert generator(seed + 1, *key).integers(2**60) != first


def test_no_global_generator_is_touched() -> None:
    """Resampling neither reads nor advances numpy's global generator."""
    before = np.random.get_state()[1].tolist()  # type: ignore[index,union-attr]
    differences(COLUMNS, 10)
    assert np.random.get_state()[1].tolist() == before  # type: ignore[index,union-attr]


def test_intervals_cover_the_truth_about_as_often_as_they_say() -> None:
    """Over simulated samples the 95% interval of a paired difference of error rates holds the true one in 90 to 98%."""
    rng = np.random.default_rng(17)
    commit, error = np.array([0.8, 0.6]), np.array([0.35, 0.25])
    covered = 0
    for simulation in range(400):
        shared = rng.random((150, 1))  # what makes a claim hard is shared, so that the pairs are correlated
        commits = (rng.random((150, 2)) < commit).astype(float)
        wrong = commits * (np.where(rng.random((150, 2)) < 0.5, shared, rng.random((150, 2))) < error)
        columns = np.stack([wrong[:, 0], commits[:, 0], wrong[:, 1], commits[:, 1]], axis=1)
        low, high = percentile_interval(differences(columns, 400, seed=simulation)) or (0, 0)
        covered += low <= error[1] - error[0] <= high
    assert 0.90 <= covered / 400 <= 0.98
