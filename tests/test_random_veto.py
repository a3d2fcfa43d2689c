"""The random-veto null, against every subset of commits."""

from __future__ import annotations

from math import comb, sqrt

import numpy as np
import oracles
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.stats import hypergeom
from strategies import codes, golds, names

from warrant.bootstrap import generator
from warrant.labels import NAMES, Labels, directional
from warrant.random_veto import LOWER_IS_BETTER, NULL_METRICS, NullResult, random_veto

Case = tuple[Labels, Labels, Labels, int]


@st.composite
def cases(draw: st.DrawFn, most: int = 9) -> Case:
    """Gold labels, a controller's decisions, any observed decisions, and a number of vetoes that can be drawn."""
    n = draw(st.integers(0, most))
    base = draw(golds(n, ("support", "refute", "support", "refute", "conflicting", "no_commit")))
    k = draw(st.integers(0, int(directional(base).sum())))
    return draw(golds(n)), base, draw(golds(n, NAMES)), k


@st.composite
def vetoed(draw: st.DrawFn, most: int = 9) -> Case:
    """The same, where the observation is k of the commits promoted to conflicting."""
    gold, base, _, k = draw(cases(most))
    chosen = draw(st.permutations(np.flatnonzero(directional(base)).tolist()))[:k]
    observed = base.copy()
    observed[chosen] = 3
    return gold, base, observed, k


def run(case: Case, draws: int = 50, seed: int = 1) -> dict[str, NullResult]:
    return {result.metric: result for result in random_veto(*case, draws, generator(seed))}


@given(cases() | vetoed())
def test_the_exact_law_is_that_of_all_subsets(case: Case) -> None:
    """Null mean and exact p are those of enumerating every k-subset of the commits."""
    gold, base, observed, k = case
    for metric, result in run(case).items():
        expected = oracles.random_veto(metric, names(gold), names(base), names(observed), k)
        if expected is None:
            assert (result.null_mean, result.p_monte_carlo, result.p_exact) == (None, None, None)
        else:
            assert (result.null_mean, result.p_exact) == pytest.approx(tuple(map(float, expected)), abs=1e-12)
        seen = oracles.rate(metric, names(gold), names(observed))
        assert result.observed == (None if seen is None else float(seen))


@given(vetoed(most=40))
def test_the_exact_p_is_scipys_hypergeometric_tail(case: Case) -> None:
    """Where the observation is a veto itself, p is the tail of the number of its class that is drawn."""
    gold, base, observed, k = case
    assume(directional(base).any())  # scipy's law of no draw from nothing is NaN
    commits, removed = directional(base), directional(base) & ~directional(observed)
    of_class = {
        "se": commits & (gold != base),
        "cpo_n": commits & (gold == 3),
        "rec_c": commits & (gold == 3),
        "acc_sr": commits & (gold == base),
    }
    for metric, result in run(case).items():
        if result.p_exact is not None:
            law = hypergeom(int(commits.sum()), int(of_class[metric].sum()), k)
            drawn = int((removed & of_class[metric]).sum())
            tail = law.cdf(drawn) if metric == "acc_sr" else law.sf(drawn - 1)
            assert result.p_exact == pytest.approx(tail, abs=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_monte_carlo_agrees_with_the_exact_law(seed: int) -> None:
    """The simulated p is within four standard errors of the exact one, on samples of the studies' size."""
    rng, draws = np.random.default_rng(seed), 4000
    gold = rng.integers(0, 4, 200).astype(np.int8)
    base = np.where(rng.random(200) < 0.4, gold, rng.integers(0, 4, 200)).astype(np.int8)
    commits = rng.permutation(np.flatnonzero(directional(base)))
    observed = base.copy()
    observed[commits[:15]] = 3
    for result in random_veto(gold, base, observed, 15, draws, generator(seed)):
        assert result.p_exact is not None
        assert result.p_monte_carlo is not None
        error = sqrt(result.p_exact * (1 - result.p_exact) / draws)
        assert abs(result.p_monte_carlo - result.p_exact) <= 4 * error + 1 / draws


@given(cases(), st.integers(1, 60))
def test_a_simulated_p_is_never_zero(case: Case, draws: int) -> None:
    """The Monte Carlo p is (1 + b) / (1 + B) for a count b of the B draws."""
    for result in run(case, draws).values():
        if result.p_monte_carlo is not None:
            b = result.p_monte_carlo * (1 + draws) - 1
            assert b == pytest.approx(round(b), abs=1e-9)
            assert 0 <= round(b) <= draws


def test_what_no_random_veto_reaches_has_the_smallest_p() -> None:
    """An observation that beats every draw has an exact p of 0 and the smallest Monte Carlo p."""
    gold, base = codes(["support"] * 3 + ["conflicting"] * 3), codes(["support"] * 6)
    observed = codes(["support"] * 3 + ["conflicting"] * 3)
    result = run((gold, base, observed, 1), draws=99)["se"]
    assert (result.observed, result.p_exact, result.p_monte_carlo) == (0.0, 0.0, 0.01)
    allowed = run((gold, base, observed, 3), draws=99)["se"]
    assert allowed.p_exact == pytest.approx(1 / comb(6, 3))


@given(cases())
def test_no_veto_is_the_controller_itself(case: Case) -> None:
    """With k = 0 the null is the controller's own value: p is 1 when it is as good as the observation, else 0."""
    gold, base, observed, _ = case
    for metric, result in run((gold, base, observed, 0)).items():
        own = oracles.rate(metric, names(gold), names(base))
        seen = oracles.rate(metric, names(gold), names(observed))
        if own is None or seen is None:
            assert result.null_mean is None
        else:
            as_good = own <= seen if metric in LOWER_IS_BETTER else own >= seen
            assert result.null_mean == pytest.approx(float(own))
            assert (result.p_exact, result.p_monte_carlo) == ((1, 1) if as_good else (0, 1 / 51))


@given(cases())
def test_vetoing_every_commit_leaves_no_selective_error(case: Case) -> None:
    """With k = all commits the null's SE is undefined and its row is null; the other metrics have one value."""
    gold, base, observed, _ = case
    k = int(directional(base).sum())
    everything = codes("conflicting" if label in oracles.DIRECTIONS else label for label in names(base))
    results = run((gold, base, observed, k))
    assert (results["se"].null_mean, results["se"].p_monte_carlo, results["se"].p_exact) == (None, None, None)
    for metric in set(NULL_METRICS) - {"se"}:
        value = oracles.rate(metric, names(gold), names(everything))
        if results[metric].null_mean is not None:
            assert value is not None
            assert results[metric].null_mean == pytest.approx(float(value))
            assert results[metric].p_exact in (0, 1)


@given(cases())
def test_more_vetoes_than_commits_are_refused(case: Case) -> None:
    """A number of vetoes that cannot be drawn is an error."""
    gold, base, observed, _ = case
    for k in (-1, int(directional(base).sum()) + 1):
        with pytest.raises(ValueError, match="cannot be drawn"):
            random_veto(gold, base, observed, k, 10, generator(0))


@given(st.data(), cases())
def test_the_order_of_claims_plays_no_part(data: st.DataObject, case: Case) -> None:
    """Permuting claims changes nothing but the Monte Carlo p."""
    gold, base, observed, k = case
    order = data.draw(st.permutations(range(len(gold))))
    again = run((gold[order], base[order], observed[order], k))
    for metric, result in run(case).items():
        other = again[metric]
        assert (other.observed, other.null_mean, other.p_exact) == (result.observed, result.null_mean, result.p_exact)
        assert (other.p_monte_carlo is None) == (result.p_monte_carlo is None)


@given(vetoed())
def test_conflict_metrics_are_coupled_when_the_observation_is_a_veto(case: Case) -> None:
    """CPO_N falls as Rec_C rises: when the observation is a veto among the commits the two have the same p."""
    results = run(case)
    assume(results["rec_c"].p_exact is not None)
    assert results["cpo_n"].p_exact == results["rec_c"].p_exact
    assert results["cpo_n"].p_monte_carlo == results["rec_c"].p_monte_carlo
