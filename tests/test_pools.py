"""Pools against their definitions in fractions and high precision, and their symmetries to the last bit."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from debates import studies, synthetic
from hypothesis import given
from hypothesis import strategies as st

from warrant import pools
from warrant.grid import ONE, ordered_sum, to_grid
from warrant.panel_study import Study
from warrant.pools import entropy, entropy_weights, learned_weights, linear, logarithmic, uniform_weights

UNIT = 2  # units of 10^-12 by which rounded floats may differ from exact arithmetic


@st.composite
def beliefs(draw: st.DrawFn) -> np.ndarray:
    """(agents, options) beliefs in hundredths that sum to 1, most of them tied."""
    agents, options = draw(st.integers(1, 4)), draw(st.integers(3, 10))
    lines = []
    for _ in range(agents):
        cuts = sorted(draw(st.lists(st.sampled_from(range(0, 101, 5)), min_size=options - 1, max_size=options - 1)))
        lines.append([(b - a) / 100 for a, b in zip([0, *cuts], [*cuts, 100], strict=True)])
    return np.array(lines)


@given(beliefs())
def test_the_uniform_pool_is_the_mean_of_fractions(held: np.ndarray) -> None:
    """Every option's pooled probability is the exact mean of the agents', within two units of 10^-12."""
    found = linear(held, uniform_weights(held)).tolist()
    for option, value in enumerate(found):
        exact = sum(Fraction(round(100 * p), 100) for p in held[:, option].tolist()) / len(held)
        assert abs(value - exact * ONE) <= UNIT


@given(beliefs(), st.sampled_from([0.0, 0.5, 1.0, 3.0]))
def test_entropy_weights_are_their_definition(held: np.ndarray, scale: float) -> None:
    """Weights are proportional to exp(-lambda H) with the natural logarithm and 0 log 0 = 0; lambda 0 is uniform."""
    exact = [-math.fsum(p * math.log(p) for p in line if p > 0) for line in held.tolist()]
    assert entropy(held) == pytest.approx(exact, abs=1e-12)
    raw = [math.exp(-scale * h) for h in exact]
    found = entropy_weights(held, scale)
    assert found == pytest.approx([value / math.fsum(raw) for value in raw], abs=1e-12)
    assert found.sum() == pytest.approx(1, abs=1e-12)
    if scale == 0:
        assert found.tolist() == uniform_weights(held).tolist()


def test_a_surer_agent_weighs_more() -> None:
    """Entropy weights of a certain and an even belief over three options are 3 to 1."""
    held = np.array([[1.0, 0, 0], [1 / 3, 1 / 3, 1 / 3]])
    assert entropy_weights(held) == pytest.approx([0.75, 0.25])
    assert linear(held, entropy_weights(held)).tolist() == to_grid(np.array([10 / 12, 1 / 12, 1 / 12])).tolist()


@given(beliefs(), st.sampled_from([1e-6, 1e-3]))
def test_the_log_pool_is_the_normalised_geometric_mean(held: np.ndarray, floor: float) -> None:
    """Pooled log probabilities are means of logs of at least the floor, renormalised over the question's options."""
    padded = np.concatenate([held, np.zeros((len(held), 10 - held.shape[1]))], axis=1)
    offered = np.arange(10) < held.shape[1]
    found = logarithmic(padded, offered, floor).tolist()
    with localcontext() as context:
        context.prec = 50
        powers = [
            sum((max(Decimal(p), Decimal(floor)).ln() for p in column), Decimal(0)) / len(held)
            for column in held.T.tolist()
        ]
        total = sum(power.exp() for power in powers)
        exact = [power.exp() / total * ONE for power in powers]
    assert all(abs(value - wanted) <= UNIT + 1 for value, wanted in zip(found, exact, strict=False))
    assert found[held.shape[1] :] == [0] * (10 - held.shape[1])


def test_one_zero_is_no_veto_in_the_log_pool() -> None:
    """An option that one agent finds impossible keeps a positive pooled probability."""
    found = logarithmic(np.array([[0.0, 1.0, 0.0], [0.9, 0.05, 0.05]]), np.ones(3, dtype=np.bool_))
    assert (found > 0).all()


@given(beliefs())
def test_agents_of_one_mind_are_pooled_as_themselves(held: np.ndarray) -> None:
    """Every linear pool of one belief is that belief."""
    same = np.repeat(held[:1], 3, axis=0)
    for weights in (uniform_weights(same), entropy_weights(same), np.array([0.2, 0.3, 0.5])):
        assert np.abs(linear(same, weights) - to_grid(held[0])).max() <= UNIT


@given(st.integers(1, 4), st.integers(0, 12), st.integers(0, 2**32 - 1))
def test_learned_weights_are_shares_of_calibration_hits(agents: int, n: int, seed: int) -> None:
    """An agent's weight is its share of all right answers in the calibration half; without any, weights are uniform."""
    rng = np.random.default_rng(seed)
    correct, half = rng.random((n, agents)) < 0.3, rng.random(n) < 0.5
    hits = [sum(bool(correct[i, a]) for i in range(n) if half[i]) for a in range(agents)]
    total = sum(hits)
    expected = [hit / total for hit in hits] if total else [1 / agents] * agents
    assert learned_weights(correct, half).tolist() == expected
    correct[~half] = ~correct[~half]
    assert learned_weights(correct, half).tolist() == expected  # the test half plays no part


@given(studies())
def test_learned_weights_are_per_domain_and_round(study: Study) -> None:
    """Weights of a study are learned from its domain's calibration questions of that round alone."""
    half = study.calibration(1)[0]
    found = study.learned_weights(half)
    for q, domain in enumerate(study.domain):
        for t in range(study.beliefs.rounds):
            mine = [i for i, other in enumerate(study.domain) if other == domain and half[i]]
            hits = [sum(bool(study.correct[i, t, a]) for i in mine) for a in range(len(study.agents))]
            total = sum(hits)
            expected = [h / total for h in hits] if total else [1 / len(hits)] * len(hits)
            assert found[q, t].tolist() == expected


@given(studies(), st.sampled_from(pools.POOLS))
def test_a_pool_is_a_distribution_over_the_questions_own_options(study: Study, pool: str) -> None:
    """Pooled probabilities add up to 1 within rounding, are never negative, and are 0 for options that do not exist."""
    pooled = study.pooled(pool, study.calibration(1)[0])
    assert (pooled >= 0).all()
    assert (np.abs(pooled.sum(axis=-1) - ONE) <= 10).all()
    assert (pooled[np.broadcast_to(~study.beliefs.offered()[:, None], pooled.shape)] == 0).all()


def test_an_unknown_pool_and_a_learned_one_without_a_half_are_refused() -> None:
    """A pool that does not exist, or lacks what it learns from, is an error."""
    for name in ("mean", "learned"):
        with pytest.raises(ValueError, match=f"unknown pool '{name}'"):
            synthetic(1).pooled(name)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=10), st.randoms(use_true_random=False))
def test_an_ordered_sum_has_the_same_bits_in_any_order(values: list[float], random: object) -> None:
    """Permuting terms changes not one bit, and the sum is the exact one within rounding."""
    mixed = list(values)
    random.shuffle(mixed)  # type: ignore[attr-defined]
    assert float(ordered_sum(np.array(values), 0)) == float(ordered_sum(np.array(mixed), 0))
    assert float(ordered_sum(np.array(values), 0)) == pytest.approx(math.fsum(values), rel=1e-14)


@given(st.integers(0, 10**6))
def test_the_grid_holds_short_decimals_exactly(millionths: int) -> None:
    """A short decimal is the same grid value however floats came to it."""
    assert int(to_grid(np.array(millionths / 10**6))) == millionths * 10**6
    assert int(to_grid(np.array(1 - (1 - millionths / 10**6)))) == millionths * 10**6
