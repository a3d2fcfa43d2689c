"""The law of simulated judges: its rates, its correlation, its labels, its refusals."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import multivariate_normal, norm
from strategies import codes, golds, names

from warrant.labels import CONFLICTING, CONTRACTS, GOLD, INSUFFICIENT, NONE, Labels, directional
from warrant.metrics import METRICS
from warrant.simulation import HUNDREDTHS, OWN, SHARED, Answers, Judge, answer, judge_of, quantile, rates

N = 200_000
ERRORS = 5  # binomial standard errors; some 200 comparisons
JUDGE = Judge(
    sensitivity=0.7,
    reversal=0.08,
    false_conflict=0.12,
    conflict_blindness=0.45,
    untyped_blindness=0.8,
    overcommitment=0.3,
    correlation=0.4,
    confidence_right=0.9,
    confidence_wrong=0.7,
    confidence_noise=0.03,
    unusable=0.02,
    fenced=0.25,
)
HARD = replace(JUDGE, sensitivity=0.97, reversal=0.0, false_conflict=0.03, conflict_blindness=0.02, overcommitment=0.0)
SURE = replace(JUDGE, sensitivity=1.0, reversal=0.0, false_conflict=0.0, conflict_blindness=1.0, unusable=0.0)
shares = st.one_of(st.sampled_from([0.0, 1.0, 0.5]), st.floats(0, 1))


@st.composite
def judges(draw: st.DrawFn) -> Judge:
    thirds = sorted(draw(st.tuples(shares, shares)))
    parts = (thirds[0], thirds[1] - thirds[0], 1 - thirds[1])
    return Judge(*parts, *draw(st.tuples(*[shares] * 9)))


def sample(gold: Labels, cast: list[Judge], contract: str, seed: int = 1) -> list[Answers]:
    rng = np.random.default_rng(seed)
    shared = rng.standard_normal((len(gold), SHARED))
    return [answer(gold, judge, contract, shared, rng.standard_normal((len(gold), OWN))) for judge in cast]


def close(found: npt.NDArray[np.bool_], share: float) -> bool:
    """Whether an observed share is within binomial error of the true one."""
    n = len(found)
    return bool(abs(found.mean() - share) <= ERRORS * math.sqrt(share * (1 - share) / n) + 1e-12)


@pytest.mark.parametrize("contract", sorted(CONTRACTS))
@pytest.mark.parametrize("judge", [JUDGE, HARD, SURE], ids=["usual", "hard", "sure"])
def test_metrics_recover_the_parameters(judge: Judge, contract: str) -> None:
    """On many cases the tables' metrics are the rates that the parameters imply."""
    gold = np.repeat(np.arange(4), N // 4).astype(np.int8)
    (said,) = sample(gold, [judge], contract)
    for metric, share in rates(judge, contract).items():
        members = METRICS[metric].members(gold)
        assert close(METRICS[metric].numerator(gold, said.label)[members], share), metric
    decided = directional(gold) & directional(said.label)
    assert close((decided & (said.label != gold))[directional(gold)], (1 - judge.unusable) * judge.reversal)
    assert close(said.label == NONE, judge.unusable)
    assert close(said.fenced, judge.fenced)


def test_a_wrong_direction_is_either_one() -> None:
    """On conflicting and insufficient cases commits go to support and refute equally often."""
    gold = np.repeat([INSUFFICIENT, CONFLICTING], N // 2).astype(np.int8)
    (said,) = sample(gold, [JUDGE], "4opt")
    assert close(said.label[directional(said.label)] == 0, 0.5)


@pytest.mark.parametrize("rho", [0.0, 0.2, 0.5, 0.9])
@pytest.mark.parametrize("rate", [0.05, 0.3, 0.5, 0.9])
def test_errors_of_two_judges_are_a_gaussian_copula(rho: float, rate: float) -> None:
    """Two judges are blind to the same conflict as often as a bivariate normal of their correlation says."""
    judge = replace(JUDGE, conflict_blindness=rate, correlation=rho, unusable=0.0)
    gold = np.full(N, CONFLICTING, dtype=np.int8)
    first, second = (directional(said.label) for said in sample(gold, [judge, judge], "4opt"))
    point = norm.ppf(rate)
    both = float(multivariate_normal([0, 0], [[1, rho], [rho, 1]]).cdf([point, point]))
    if rho == 0:
        assert both == pytest.approx(rate * rate, abs=1e-6)
    assert close(first & second, both)
    assert close(first, rate)


def test_unequal_correlations_multiply_under_the_root() -> None:
    """Judges of correlations r and s err together as a bivariate normal of correlation sqrt(r s)."""
    cast = [replace(JUDGE, correlation=rho, unusable=0.0) for rho in (0.9, 0.4)]
    gold = np.full(N, CONFLICTING, dtype=np.int8)
    first, second = (directional(said.label) for said in sample(gold, cast, "4opt"))
    point, rho = norm.ppf(JUDGE.conflict_blindness), math.sqrt(0.36)
    assert close(first & second, float(multivariate_normal([0, 0], [[1, rho], [rho, 1]]).cdf([point, point])))


def test_judges_of_correlation_one_say_the_same() -> None:
    """With correlation 1 and equal parameters, labels are equal."""
    judge = replace(JUDGE, correlation=1.0, unusable=0.0)
    gold = np.repeat(np.arange(4), 500).astype(np.int8)
    first, second = sample(gold, [judge, judge], "4opt")
    assert (first.label == second.label).all()


def test_confidence_is_around_its_mean() -> None:
    """Stated confidences have the mean and the spread of their parameters, by whether the label is right."""
    gold = np.repeat(np.arange(4), N // 4).astype(np.int8)
    (said,) = sample(gold, [JUDGE], "4opt")
    usable = said.label != NONE
    for right, mean in ((True, JUDGE.confidence_right), (False, JUDGE.confidence_wrong)):
        stated = said.confidence[usable & ((said.label == gold) == right)] / HUNDREDTHS
        assert stated.mean() == pytest.approx(mean, abs=1e-3)
        assert stated.std() == pytest.approx(math.hypot(JUDGE.confidence_noise, 0.01 / math.sqrt(12)), abs=1e-3)


@given(st.integers(0, 30).flatmap(golds), judges(), st.sampled_from(sorted(CONTRACTS)), st.integers(0, 2**20))
def test_labels_are_of_the_contract(gold: Labels, judge: Judge, contract: str, seed: int) -> None:
    """Whatever the parameters, a label is one that the contract offers or none, and a confidence is in [0, 1]."""
    (said,) = sample(gold, [judge], contract, seed)
    assert set(names(said.label)) <= CONTRACTS[contract] | {"none"}
    assert ((said.confidence >= 0) & (said.confidence <= HUNDREDTHS)).all()
    if judge.unusable == 0:
        assert (said.label != NONE).all()
    if judge.unusable == 1:
        assert (said.label == NONE).all()


@given(st.lists(st.sampled_from(GOLD), max_size=20), st.integers(0, 2**20))
def test_a_case_does_not_see_its_neighbours(gold: list[str], seed: int) -> None:
    """An answer depends on its own gold label and draws: cases alone get what they get together."""
    rng, labels = np.random.default_rng(seed), codes(gold)
    shared, own = rng.standard_normal((len(gold), SHARED)), rng.standard_normal((len(gold), OWN))
    together = answer(labels, JUDGE, "4opt", shared, own)
    for at in range(len(gold)):
        alone = answer(labels[[at]], JUDGE, "4opt", shared[[at]], own[[at]])
        assert alone.label[0] == together.label[at]
        assert alone.confidence[0] == together.confidence[at]


@given(judges(), st.sampled_from(sorted(CONTRACTS)))
def test_rates_are_shares(judge: Judge, contract: str) -> None:
    """Rates lie in [0, 1], and those of one gold label do not exceed 1 together."""
    found = rates(judge, contract)
    assert all(0 <= share <= 1 for share in found.values())
    assert found["cpo_c"] + found["rec_c"] <= 1 + 1e-12
    assert found["acc_sr"] + found["false_conflict"] <= 1 + 1e-12


@pytest.mark.parametrize("name", sorted(vars(JUDGE)))
@pytest.mark.parametrize("value", [-0.01, 1.01, math.nan, math.inf])
def test_parameters_outside_the_unit_interval_are_refused(name: str, value: float) -> None:
    """A parameter that is no share is an error that names it."""
    with pytest.raises(ValueError, match=name):
        replace(JUDGE, **{name: value})


def test_shares_of_one_gold_label_may_not_exceed_one() -> None:
    """Right, reversed and false conflicts are shares of the same cases."""
    with pytest.raises(ValueError, match="exceed 1 together"):
        replace(JUDGE, sensitivity=0.7, reversal=0.2, false_conflict=0.2)


def test_a_judge_is_read_from_numbers() -> None:
    """Parameters by name, as text or numbers, make the same judge; an unknown name is an error."""
    assert judge_of({name: str(value) for name, value in vars(JUDGE).items()}) == JUDGE
    with pytest.raises(TypeError):
        judge_of(vars(JUDGE) | {"mood": 1})


def test_quantiles_are_scipys() -> None:
    """The normal quantile is scipy's, and infinite at 0 and 1."""
    for share in (0.001, 0.3, 0.5, 0.97):
        assert quantile(share) == pytest.approx(norm.ppf(share))
    assert (quantile(0), quantile(1)) == (-math.inf, math.inf)
