"""Counts over many splits at once equal the specification written out question by question, and crepes."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import numpy as np
import pytest
from crepes.base import ConformalClassifier
from debates import alphas, by_domain, finite, slow_counts, slow_sets, slow_threshold, studies, synthetic
from hypothesis import example, given, settings
from hypothesis import strategies as st

from warrant.conformal import members
from warrant.grid import INFINITE
from warrant.outcomes import EARLY, RATES, STATIC, count, rates, rounds, thresholds
from warrant.panel_study import CALIBRATIONS, Study
from warrant.pools import POOLS

stoppings = st.sampled_from([STATIC, EARLY])
scores_ = st.sampled_from(["lac", "rank"])
pools_ = st.sampled_from(POOLS)
seeds = st.integers(0, 2**32 - 1)


def halves(study: Study, seed: int, splits: int = 3) -> np.ndarray:
    """Calibration halves, a split with no calibration question and one without a test question."""
    n = len(study.domain)
    drawn = np.random.default_rng(seed).random((splits, n)) < 0.5
    return np.concatenate([drawn, np.zeros((1, n), dtype=np.bool_), np.ones((1, n), dtype=np.bool_)])


def grouped(study: Study, scheme: str, seed: int) -> np.ndarray:
    n = len(study.domain)
    if scheme == "arbitrary":
        return np.random.default_rng(seed).integers(-2, 3, n)
    return np.arange(n) if scheme == "single questions" else study.groups(scheme)


# --- the slow engine -------------------------------------------------------------------------------------------------


@given(
    studies(),
    scores_,
    st.sampled_from([*CALIBRATIONS, "arbitrary", "single questions"]),
    alphas(),
    stoppings,
    seeds,
)
@example(synthetic(1, 1, 1), "lac", "single questions", Decimal("0.5"), EARLY, 0)
@example(synthetic(2, 16, 3, kind="short"), "rank", "arbitrary", Decimal("0.34"), EARLY, 1)
def test_every_count_is_that_of_plain_python(
    study: Study, score: str, scheme: str, alpha: Decimal, stopping: str, seed: int
) -> None:
    """Per split, domain and round, every count equals the one that plain Python finds from the specification."""
    calibration, groups = halves(study, seed), grouped(study, scheme, seed)
    scores, true_scores = study.scores(study.uniform, score)
    membership = study.questions.membership()
    slow = [slow_sets(study, scores, groups.tolist(), half.tolist(), alpha, stopping == EARLY) for half in calibration]
    seen = 0
    for t, (_, outcome) in enumerate(rounds(scores, true_scores, groups, calibration, alpha, stopping)):
        seen += 1
        counts = count(outcome, study.questions, t, ~calibration, membership)
        for s, half in enumerate(calibration):
            assert outcome.size[s].tolist() == [len(left) for left in slow[s][t]]
            for d, (domain, questions) in enumerate(by_domain(study).items()):
                assert study.questions.domains()[d] == domain
                expected = slow_counts(study, slow[s], t, [q for q in questions if not half[q]])
                assert {name: value[s, d] for name, value in counts.items()} == {
                    name: expected.get(name, 0) for name in counts
                }
                assert set(expected) <= set(counts)
    assert seen == study.beliefs.rounds


@given(studies(), alphas(), seeds)
def test_thresholds_are_those_of_each_group(study: Study, alpha: Decimal, seed: int) -> None:
    """A question's threshold is the k-th smallest of its group's calibration scores, infinite where there are few."""
    calibration, groups = halves(study, seed), grouped(study, "arbitrary", seed)
    true_scores = study.scores(study.uniform, "lac")[1][:, 0]
    found = thresholds(true_scores, groups, calibration, alpha)
    for s, half in enumerate(calibration):
        for q in range(len(groups)):
            held = [int(x) for x, g, inside in zip(true_scores, groups, half, strict=True) if g == groups[q] and inside]
            assert found[s, q] == finite(slow_threshold(held, alpha))


@given(studies(), alphas(), seeds)
def test_a_group_without_calibration_questions_has_full_sets(study: Study, alpha: Decimal, seed: int) -> None:
    """Nothing to calibrate on is an infinite threshold and the full set of the question's own options."""
    calibration = np.zeros((1, len(study.domain)), dtype=np.bool_)
    scores, true_scores = study.scores(study.uniform, "rank")
    for q, outcome in rounds(scores, true_scores, grouped(study, "arbitrary", seed), calibration, alpha, STATIC):
        assert (q == INFINITE).all()
        assert outcome.covered.all()
        assert outcome.size[0].tolist() == study.beliefs.options.tolist()


# --- crepes ----------------------------------------------------------------------------------------------------------


@settings(max_examples=40)
@given(studies(st.integers(6, 30)), scores_, st.sampled_from(["domain", "options"]), alphas(), seeds)
def test_mondrian_sets_are_those_of_crepes(study: Study, score: str, scheme: str, alpha: Decimal, seed: int) -> None:
    """A set holds the options whose unsmoothed Mondrian p value in crepes, ties counted in full, exceeds alpha."""
    half = halves(study, seed)[0]
    groups = study.groups(scheme)
    scores, true_scores = study.scores(study.uniform, score)
    q = thresholds(true_scores[:, 0], groups, half[None], alpha)[0]
    inside = members(scores[:, 0], q)
    offered = study.beliefs.offered()
    # scores are whole numbers below 2^53, so they are exact as floats; p is (1 + #calibration >= score)/(n + 1)
    classifier = ConformalClassifier().fit(true_scores[half, 0].astype(float), bins=groups[half])
    p = classifier.predict_p(scores[:, 0].astype(float), bins=groups, smoothing=False, all_classes=True)
    n = np.array([int((half & (groups == group)).sum()) for group in groups])
    reached = np.rint(p * (n + 1)[:, None]).astype(int)  # crepes' own counts, compared with alpha exactly
    for i, options in enumerate(study.beliefs.options.tolist()):
        limit = (int(n[i]) + 1) * alpha
        assert inside[i, :options].tolist() == [value > limit for value in reached[i, :options].tolist()]
    assert not inside[~offered].any()


# --- invariance ------------------------------------------------------------------------------------------------------


def all_sets(study: Study, pool: str, score: str, scheme: str, alpha: Decimal) -> dict[int, list[list[list[bool]]]]:
    """By question id: the set of every round, for both stopping rules and two recorded splits."""
    found: dict[int, list[list[list[bool]]]] = {}
    for half in study.calibration(2):
        scores, true_scores = study.scores(study.pooled(pool, half), score)
        for stopping in (STATIC, EARLY):
            steps = rounds(scores, true_scores, study.groups(scheme), half[None], alpha, stopping)
            for t, (q, outcome) in enumerate(steps):
                inside = members(scores[:, t], q[0])
                for i, number in enumerate(study.question_id):
                    found.setdefault(number, []).append(
                        [inside[i].tolist(), [bool(outcome.covered[0, i])], [bool(outcome.new[0, i])]]
                    )
    return found


def agents_permuted(study: Study, order: np.ndarray) -> Study:
    held = study.beliefs
    moved = replace(
        held,
        probability=held.probability[:, :, order],
        vote=held.vote[:, :, order],
        fallback=held.fallback[:, :, order],
    )
    return replace(study, agents=[study.agents[a] for a in order], beliefs=moved)


def questions_permuted(study: Study, order: np.ndarray) -> Study:
    held = study.beliefs
    moved = replace(
        held,
        probability=held.probability[order],
        vote=held.vote[order],
        fallback=held.fallback[order],
        options=held.options[order],
        gold=held.gold[order],
    )
    return replace(
        study,
        domain=[study.domain[i] for i in order],
        question_id=[study.question_id[i] for i in order],
        beliefs=moved,
    )


def options_permuted(study: Study, rng: np.random.Generator) -> tuple[Study, list[np.ndarray]]:
    """The same study with each question's own options in another order, and where each new option was before."""
    held = study.beliefs
    probability, vote, gold = held.probability.copy(), held.vote.copy(), held.gold.copy()
    orders = []
    for i, k in enumerate(held.options.tolist()):
        order = np.concatenate([rng.permutation(k), np.arange(k, 10)])
        now_at = np.argsort(order)
        probability[i] = held.probability[i][:, :, order]
        vote[i], gold[i] = now_at[held.vote[i]], now_at[held.gold[i]]
        orders.append(order)
    return replace(study, beliefs=replace(held, probability=probability, vote=vote, gold=gold)), orders


PERMUTED = (studies(st.integers(2, 14)), pools_, scores_, st.sampled_from(CALIBRATIONS), alphas(), seeds)


@given(*PERMUTED)
def test_the_order_of_agents_changes_no_set(
    study: Study, pool: str, score: str, scheme: str, alpha: Decimal, seed: int
) -> None:
    """Whatever the pool, score and grouping, sets are the same to the last option under any order of agents."""
    order = np.random.default_rng(seed).permutation(len(study.agents))
    other = agents_permuted(study, order)
    assert all_sets(other, pool, score, scheme, alpha) == all_sets(study, pool, score, scheme, alpha)


@given(*PERMUTED)
def test_the_order_of_questions_changes_no_set(
    study: Study, pool: str, score: str, scheme: str, alpha: Decimal, seed: int
) -> None:
    """A question's set depends on its id and the others', not on its row."""
    order = np.random.default_rng(seed).permutation(len(study.domain))
    other = questions_permuted(study, order)
    assert all_sets(other, pool, score, scheme, alpha) == all_sets(study, pool, score, scheme, alpha)


@given(*PERMUTED)
def test_the_order_of_options_changes_no_set(
    study: Study, pool: str, score: str, scheme: str, alpha: Decimal, seed: int
) -> None:
    """With gold and votes carried along, permuting a question's options permutes its sets and nothing else."""
    other, orders = options_permuted(study, np.random.default_rng(seed))
    before, after = (all_sets(one, pool, score, scheme, alpha) for one in (study, other))
    for i, number in enumerate(study.question_id):
        expected = [[[line[0][o] for o in orders[i]], *line[1:]] for line in before[number]]
        assert after[number] == expected


# --- stopping --------------------------------------------------------------------------------------------------------


@given(studies(st.integers(1, 16), st.integers(2, 3)), pools_, scores_, alphas())
def test_a_first_singleton_is_kept_for_good(study: Study, pool: str, score: str, alpha: Decimal) -> None:
    """Under early stopping a singleton's size and coverage never change later, and it is new exactly once."""
    half = study.calibration(1)
    scores, true_scores = study.scores(study.pooled(pool, half[0]), score)
    steps = [o for _, o in rounds(scores, true_scores, study.groups("domain"), half, alpha, EARLY)]
    for i in range(len(study.domain)):
        singles = [bool(step.singleton[0, i]) for step in steps]
        assert singles == sorted(singles)
        assert sum(bool(step.new[0, i]) for step in steps) == any(singles)
        assert len({bool(step.covered[0, i]) for step, single in zip(steps, singles, strict=True) if single}) <= 1


@given(studies(), pools_, scores_, alphas())
def test_both_rules_agree_in_round_0_and_on_thresholds(study: Study, pool: str, score: str, alpha: Decimal) -> None:
    """Nothing is stopped before round 0, and thresholds never see what was stopped."""
    half = study.calibration(2)
    scores, true_scores = study.scores(study.pooled(pool, half[0]), score)
    static, early = (
        list(rounds(scores, true_scores, study.groups("domain"), half, alpha, rule)) for rule in (STATIC, EARLY)
    )
    for name in ("covered", "size", "singleton", "new"):
        assert (getattr(static[0][1], name) == getattr(early[0][1], name)).all()
    assert all((a[0] == b[0]).all() for a, b in zip(static, early, strict=True))


@given(studies(), alphas(), stoppings, seeds)
def test_rates_are_counts_over_counts_and_undefined_without_any(
    study: Study, alpha: Decimal, stopping: str, seed: int
) -> None:
    """Every rate is its numerator over its denominator, NaN at 0, and all columns add up to the last one."""
    calibration, groups = halves(study, seed), study.groups("domain")
    scores, true_scores = study.scores(study.uniform, "lac")
    for t, (_, outcome) in enumerate(rounds(scores, true_scores, groups, calibration, alpha, stopping)):
        counts = count(outcome, study.questions, t, ~calibration, study.questions.membership())
        found = rates(counts)
        assert set(found) == set(RATES)
        for name, (top, bottom) in RATES.items():
            zero = counts[bottom] == 0
            assert np.isnan(found[name][zero]).all()
            assert found[name][~zero] == pytest.approx(counts[top][~zero] / counts[bottom][~zero])
        for values in counts.values():
            assert (values[:, :-1].sum(axis=1) == values[:, -1]).all()
        assert (counts["singleton"] + counts["several"] + counts["empty"] == counts["n"]).all()
