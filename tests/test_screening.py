"""Screening: the regression and the ranking metrics are scikit-learn's, and nothing leaks between folds."""

from __future__ import annotations

import csv
import json
import math
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise, permutations
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import scipy.optimize
import scipy.special
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, roc_auc_score
from sklearn.preprocessing import StandardScaler
from strategies import ballot, ballots, claims_of, codes, golds, masks, names, row, rows

from warrant import artifact, certificates, sample, screening, verdicts
from warrant.bootstrap import generator, multiplicities
from warrant.imported import verdict_defaults
from warrant.labels import CODES, STATES, Labels, Mask
from warrant.panel import Votes
from warrant.sample import Case
from warrant.screening import (
    FEATURE_SETS,
    Floats,
    Outputs,
    Structure,
    auroc,
    average_precision,
    average_precisions,
    deal,
    design,
    directional_outputs,
    jackknife_interval,
    jackknife_precisions,
    logistic,
    out_of_fold,
    probability,
    recall_at,
    resampled_precisions,
    standardised,
    structure_of,
)
from warrant.tables.screening import CONTRAST, SCORES, SCREENING, Settings, Tables
from warrant.tables.screening import screening as tables

ROOT = Path(__file__).resolve().parents[1]
JUDGES = 3
FEW = Settings(folds=5, seed=1, other_deals=2, resamples=100)
SCORED = st.lists(st.tuples(st.booleans(), st.integers(0, 5)), min_size=1, max_size=25)


def simulated(claims: int, seed: int, informative: bool = True) -> Outputs:
    """Rows of three judges; the certificate and the confidence tell something, or nothing, of the target."""
    rng = np.random.default_rng(seed)
    positive = rng.random(claims) < 0.4
    case, judge = np.nonzero(rng.random((claims, JUDGES)) < 0.75)
    signal = positive[case] if informative else np.zeros(len(case))
    confidence = np.round(0.85 + 0.02 * judge - 0.06 * signal + rng.normal(0, 0.05, len(case)), 2)
    told = positive if informative else np.zeros(claims)
    counts: Floats = 1.0 + rng.poisson(1 + np.stack([told, told, 0 * told], axis=1)).astype(np.float64)
    states = rng.random((claims, len(STATES))) < 0.3 + 0.3 * told[:, None]
    structure = Structure(counts, states, rng.random(claims) < 0.9)
    stated = rng.random(len(case)) < 0.9
    said = (judge % 2).astype(np.int8)
    return Outputs(case, case, judge, said, positive[case], confidence, stated, structure.take(case))


def metrics(outputs: Outputs, feature_set: str, seed: int = 0) -> tuple[float | None, float | None]:
    score = out_of_fold(outputs, JUDGES, feature_set, deal(outputs.claim, outputs.target, 5, seed))
    assert score is not None
    return average_precision(outputs.target, score), auroc(outputs.target, score)


def mean_and_error(values: Sequence[float | None]) -> tuple[float, float]:
    """Mean of a simulation's results and its standard error."""
    found = np.array(values, dtype=float)
    return float(found.mean()), float(found.std(ddof=1) / math.sqrt(len(found)))


# --- the regression --------------------------------------------------------------------------------------------------


@st.composite
def problems(draw: st.DrawFn) -> tuple[Floats, Mask, float]:
    """Features with repeated, constant and separating columns, a target with both classes, and a penalty."""
    n, width = draw(st.integers(2, 40)), draw(st.integers(0, 5))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    x = rng.normal(size=(n, width)) * draw(st.sampled_from([0.01, 1.0, 5.0]))
    target = rng.random(n) < draw(st.sampled_from([0.1, 0.5, 0.9]))
    target[:2] = (True, False)
    kind = draw(st.sampled_from(["plain", "repeated", "constant", "separating"]))
    if width and kind != "plain":
        x[:, -1] = {"repeated": x[:, 0], "constant": np.full(n, 3.0), "separating": 4.0 * target}[kind]
    return x, target, draw(st.sampled_from([0.01, 1.0, 100.0]))


def loss(at: Floats, x: Floats, target: Mask, c: float) -> float:
    """The objective, written from its definition."""
    logits = at[0] + x @ at[1:]
    return float(c * np.where(target, np.logaddexp(0, -logits), np.logaddexp(0, logits)).sum() + at[1:] @ at[1:] / 2)


@pytest.mark.parametrize("feature_set", FEATURE_SETS)
@pytest.mark.parametrize("solver", ["lbfgs", "newton-cholesky"])
def test_coefficients_are_scikit_learns(feature_set: str, solver: str) -> None:
    """On the study's features, intercept, weights and scores are those of LogisticRegression(C=1)."""
    for seed in range(5):
        outputs = simulated(150, seed)
        x = design(outputs, JUDGES, feature_set, np.ones(len(outputs.case), dtype=np.bool_))
        model = logistic(x, outputs.target)
        assert model is not None
        theirs = LogisticRegression(C=1.0, solver=solver, tol=1e-10, max_iter=10_000).fit(x, outputs.target)
        assert model[0] == pytest.approx(theirs.intercept_[0], abs=1e-6)
        assert model[1] == pytest.approx(theirs.coef_[0], abs=1e-6)
        scores = probability(model[0] + x @ model[1])
        assert scores == pytest.approx(theirs.predict_proba(x)[:, 1], abs=1e-6)


@given(problems())
def test_the_optimum_is_one(problem: tuple[Floats, Mask, float]) -> None:
    """The gradient vanishes, so that no point is better (the objective is convex); a general optimiser finds none."""
    x, target, c = problem
    model = logistic(x, target, c)
    assert model is not None
    at = np.append(model[0], model[1])
    residual = probability(model[0] + x @ model[1]) - target
    assert abs(c * residual.sum()) <= 1e-7 * max(1, c)
    assert np.abs(c * (x.T @ residual) + model[1]).max(initial=0.0) <= 1e-7 * max(1, c)
    other = scipy.optimize.minimize(loss, np.zeros(len(at)), args=(x, target, c), method="BFGS")
    assert loss(at, x, target, c) <= other.fun + 1e-9 * max(1, abs(other.fun))


@given(st.integers(0, 9), st.booleans())
def test_one_class_teaches_nothing(n: int, value: bool) -> None:
    """With one class, or no rows, the intercept has no finite optimum: there is no model."""
    assert logistic(np.zeros((n, 2)), np.full(n, value)) is None


@given(st.floats(-800, 800))
def test_probabilities_do_not_overflow(logit: float) -> None:
    """The logistic function, wherever it is defined in floats."""
    assert probability(np.array([logit]))[0] == pytest.approx(scipy.special.expit(logit), rel=1e-12)


# --- ranking metrics -------------------------------------------------------------------------------------------------


def as_arrays(scored: list[tuple[bool, int]]) -> tuple[Mask, Floats]:
    return np.array([hit for hit, _ in scored]), np.array([value / 5 for _, value in scored])


@given(SCORED)
def test_metrics_are_scikit_learns(scored: list[tuple[bool, int]]) -> None:
    """Average precision and AUROC on tied scores; undefined without the classes that they are about."""
    target, score = as_arrays(scored)
    if not target.any():
        assert average_precision(target, score) is None
        assert recall_at(target, score, 10) is None
    else:
        assert average_precision(target, score) == pytest.approx(average_precision_score(target, score), abs=1e-12)
    if target.all() or not target.any():
        assert auroc(target, score) is None
    else:
        assert auroc(target, score) == pytest.approx(roc_auc_score(target, score), abs=1e-12)


@given(SCORED)
def test_metrics_are_what_they_are_defined_as(scored: list[tuple[bool, int]]) -> None:
    """AUROC by counting pairs, average precision by walking down the distinct scores, in fractions."""
    hits, misses = [s for hit, s in scored if hit], [s for hit, s in scored if not hit]
    target, score = as_arrays(scored)
    if hits and misses:
        won = sum(2 * (a > b) + (a == b) for a in hits for b in misses)
        assert auroc(target, score) == won / (2 * len(hits) * len(misses))
    if hits:
        total, found = Fraction(0), 0
        for threshold in sorted({s for _, s in scored}, reverse=True):
            above = sum(s >= threshold for s in hits)
            total += Fraction(above - found, len(hits)) * Fraction(above, sum(s >= threshold for _, s in scored))
            found = above
        assert average_precision(target, score) == pytest.approx(float(total), abs=1e-12)


@given(
    st.lists(st.tuples(st.booleans(), st.integers(0, 2)), min_size=1, max_size=6), st.sampled_from([10, 20, 30, 100])
)
def test_recall_is_the_mean_over_orders_of_ties(scored: list[tuple[bool, int]], percent: int) -> None:
    """Of all ways to list rows from the highest score down, the mean share of positives among the first places."""
    target, score = as_arrays(scored)
    if not target.any():
        return
    places = math.ceil(Fraction(len(scored) * percent, 100))
    lists = [order for order in permutations(scored) if all(a[1] >= b[1] for a, b in pairwise(order))]
    found = [Fraction(sum(hit for hit, _ in order[:places]), int(target.sum())) for order in lists]
    assert recall_at(target, score, percent) == pytest.approx(float(sum(found, Fraction(0)) / len(found)), abs=1e-12)


@given(SCORED, st.randoms(use_true_random=False))
def test_the_order_of_rows_plays_no_part(scored: list[tuple[bool, int]], shuffler: Any) -> None:
    """Metrics are about the set of rows."""
    target, score = as_arrays(scored)
    order = list(range(len(scored)))
    shuffler.shuffle(order)
    for metric in (average_precision, auroc, lambda y, s: recall_at(y, s, 20)):
        assert metric(target[order], score[order]) == metric(target, score)


# --- folds -----------------------------------------------------------------------------------------------------------

claim_rows = st.lists(st.tuples(st.integers(0, 12), st.booleans()), min_size=1, max_size=40)


@given(claim_rows, st.integers(2, 6), st.integers(0, 2**32))
def test_no_claim_is_in_two_folds(listed: list[tuple[int, bool]], folds: int, seed: int) -> None:
    """A claim's rows are in one fold; folds differ by one claim at most, and by one positive claim at most."""
    claim, target = np.array([c for c, _ in listed]), np.array([t for _, t in listed])
    fold = deal(claim, target, folds, seed)
    held = {int(c): set(fold[claim == c].tolist()) for c in claim}
    assert all(len(found) == 1 for found in held.values())
    for wanted in (set(held), set(claim[target].tolist())):
        sizes = Counter(next(iter(held[c])) for c in wanted)
        counts = [sizes[f] for f in range(folds)]
        assert max(counts) - min(counts) <= 1
        assert sum(counts) == len(wanted)
    for f in range(folds):
        assert not set(claim[fold == f].tolist()) & set(claim[fold != f].tolist())


@given(claim_rows, st.integers(0, 2**32), st.randoms(use_true_random=False))
def test_the_deal_depends_on_claims_and_seed_alone(listed: list[tuple[int, bool]], seed: int, shuffler: Any) -> None:
    """The same rows in another order are in the same folds; another seed deals otherwise."""
    claim, target = np.array([c for c, _ in listed]), np.array([t for _, t in listed])
    fold = deal(claim, target, 5, seed)
    order = list(range(len(listed)))
    shuffler.shuffle(order)
    assert (deal(claim[order], target[order], 5, seed) == fold[order]).all()
    many = np.arange(60)
    assert (deal(many, many < 30, 5, seed) != deal(many, many < 30, 5, seed + 1)).any()


def test_the_deal_is_the_documented_one() -> None:
    """Positive claims by number, shuffled, then the others; one generator; dealt in turn."""
    claim, target = np.array([9, 4, 4, 7, 2, 11, 3]), np.array([1, 0, 1, 0, 0, 1, 0]) == 1
    drawer = random.Random(5)
    positive, others = [4, 9, 11], [2, 3, 7]
    drawer.shuffle(positive)
    drawer.shuffle(others)
    order = positive + others
    assert deal(claim, target, 4, 5).tolist() == [order.index(c) % 4 for c in claim.tolist()]


# --- features and leakage --------------------------------------------------------------------------------------------


def test_standard_scores_are_scikit_learns() -> None:
    """On training rows they are StandardScaler's; a value of a test row changes that row's score alone."""
    rng = np.random.default_rng(2)
    values, train = np.round(rng.normal(3, 2, 40), 1), rng.random(40) < 0.7
    usable = np.ones(40, dtype=np.bool_)
    z = standardised(values, usable, train)
    theirs = StandardScaler().fit(values[train, None]).transform(values[:, None])[:, 0]
    assert z == pytest.approx(theirs, abs=1e-12)
    test = int(np.flatnonzero(~train)[0])
    moved = np.where(np.arange(40) == test, 1e6, values)
    changed = standardised(moved, usable, train)
    assert changed[test] != z[test]
    assert (np.delete(changed, test) == np.delete(z, test)).all()


@pytest.mark.parametrize("value", [0.1, 0.9, 0.95, 7.0])
def test_a_constant_is_no_feature(value: float) -> None:
    """Equal training values are 0, though their mean may differ from them in the last digit; so are values unseen."""
    values, train = np.full(9, value), np.arange(9) < 7
    assert (standardised(values, train, train) == 0).all()
    assert (standardised(values, np.ones(9, dtype=np.bool_), np.zeros(9, dtype=np.bool_)) == 0).all()


@pytest.mark.parametrize("feature_set", FEATURE_SETS)
def test_a_test_row_changes_no_training_row(feature_set: str) -> None:
    """Whatever stands in the held rows, the training rows' features, and so the model, are the same."""
    outputs = simulated(60, 3)
    train = deal(outputs.claim, outputs.target, 5, 0) != 0
    before = design(outputs, JUDGES, feature_set, train)[train]
    seen = outputs.structure
    other = replace(
        outputs,
        confidence=np.where(train, outputs.confidence, 99.0),
        target=np.where(train, outputs.target, ~outputs.target),
        structure=replace(
            seen, counts=np.where(train[:, None], seen.counts, 1e3), states=seen.states | ~train[:, None]
        ),
    )
    assert (design(other, JUDGES, feature_set, train)[train] == before).all()


@pytest.mark.parametrize("feature_set", FEATURE_SETS)
def test_out_of_fold_scores_are_scikit_learns(feature_set: str) -> None:
    """Pooled scores equal those of scikit-learn's models, fitted fold by fold on features that it standardises."""
    outputs = simulated(80, 4)
    outputs = replace(outputs, has_confidence=np.ones_like(outputs.has_confidence))
    outputs.structure.usable[:] = True
    fold = deal(outputs.claim, outputs.target, 5, 9)
    theirs = np.zeros(len(fold))
    for held in range(5):
        train = fold != held
        x = np.eye(JUDGES)[outputs.judge][:, 1:]
        if feature_set in ("confidence", "both"):
            z = np.zeros((len(fold), 1))
            for judge in range(JUDGES):
                own = outputs.judge == judge
                scaler = StandardScaler().fit(outputs.confidence[own & train, None])
                z[own] = scaler.transform(outputs.confidence[own, None])
            x = np.hstack([x, z])
        if feature_set in ("structure", "both"):
            counts = StandardScaler().fit(outputs.structure.counts[train]).transform(outputs.structure.counts)
            x = np.hstack([x, counts, outputs.structure.states])
        model = LogisticRegression(C=1.0, tol=1e-10, max_iter=10_000).fit(x[train], outputs.target[train])
        theirs[~train] = model.predict_proba(x[~train])[:, 1]
    assert out_of_fold(outputs, JUDGES, feature_set, fold) == pytest.approx(theirs, abs=1e-6)


def test_a_claims_name_tells_nothing_out_of_fold() -> None:
    """An indicator of every claim separates training rows, and leaves held rows with the intercept alone."""
    outputs = simulated(50, 5)
    one_hot = (outputs.claim[:, None] == np.unique(outputs.claim)).astype(float)
    fold = deal(outputs.claim, outputs.target, 5, 0)
    for held in range(5):
        train = fold != held
        model = logistic(one_hot[train], outputs.target[train])
        assert model is not None
        inside, outside = one_hot[train] @ model[1], one_hot[~train] @ model[1]
        assert auroc(outputs.target[train], inside) == 1.0
        assert np.abs(outside).max() < 1e-12


def test_a_claims_number_tells_nothing_out_of_fold() -> None:
    """A random number that a claim's rows share gains nothing over claims, though it does where rows are dealt."""
    grouped: list[float | None] = []
    pooled: list[float | None] = []
    for seed in range(100):
        outputs = simulated(60, 100 + seed, informative=False)
        number = np.random.default_rng(seed).integers(0, 60, outputs.claim.max() + 1)[outputs.claim]
        counts = np.stack([np.sin(number * k) for k in (1.0, 2.0, 3.0)], axis=1)
        bits = (number[:, None] >> np.arange(4)) % 2 == 1
        named = replace(outputs, structure=Structure(counts, bits, np.ones(len(number), dtype=np.bool_)))
        fold = deal(named.claim, named.target, 5, seed)
        rows_dealt = np.random.default_rng(seed).permutation(len(fold)) % 5
        for found, folds in ((grouped, fold), (pooled, rows_dealt)):
            score = out_of_fold(named, JUDGES, "structure", folds)
            assert score is not None
            found.append(auroc(named.target, score))
    mean, error = mean_and_error(grouped)
    assert mean < 0.5 + 3 * error
    leaked, error = mean_and_error(pooled)
    assert leaked > 0.5 + 3 * error  # the test would see a leak


@pytest.mark.parametrize("feature_set", ["confidence", "structure", "both"])
def test_shuffled_targets_are_not_foretold(feature_set: str) -> None:
    """With targets dealt to claims at random, the mean AUROC is one half within its simulation error, or just below.

    Just below: held and training shares are drawn from one total, so that a fold rich in positives has a low intercept.
    """
    found = []
    for seed in range(200):
        outputs = simulated(80, 500 + seed)
        shuffled = np.random.default_rng(seed).permutation(80) < 32
        found.append(metrics(replace(outputs, target=shuffled[outputs.claim]), feature_set, seed)[1])
    mean, error = mean_and_error(found)
    assert 0.5 - 0.03 - 3 * error < mean < 0.5 + 3 * error


def test_what_tells_is_found() -> None:
    """Informative features rank better than none, and both better than one."""
    means = {
        name: np.mean([metrics(simulated(200, seed), name, seed)[0] or 0 for seed in range(20)])
        for name in FEATURE_SETS
    }
    assert means["none"] + 0.1 < means["confidence"] < means["both"]
    assert means["none"] + 0.1 < means["structure"] < means["both"]


def test_missing_features_are_means_with_an_indicator() -> None:
    """A value that is not usable plays no part; where none is missing, the indicator does nothing."""
    outputs = simulated(60, 6)
    seen = outputs.structure
    other = replace(
        outputs,
        confidence=np.where(outputs.has_confidence, outputs.confidence, 5.0),
        structure=replace(seen, counts=np.where(seen.usable[:, None], seen.counts, 77.0)),
    )
    everything = np.ones(len(outputs.case), dtype=np.bool_)
    for feature_set in FEATURE_SETS:
        x = design(outputs, JUDGES, feature_set, everything)
        assert (design(other, JUDGES, feature_set, everything) == x).all()
    full = replace(outputs, has_confidence=everything, structure=replace(seen, usable=everything))
    x = design(full, JUDGES, "both", everything)
    model = logistic(x, full.target)
    constant = np.flatnonzero((x == 0).all(axis=0))
    assert model is not None
    assert len(constant) == 2
    assert (model[1][constant] == 0).all()
    without = logistic(np.delete(x, constant, axis=1), full.target)
    assert without is not None
    assert np.delete(model[1], constant) == pytest.approx(without[1], abs=1e-9)


@pytest.mark.parametrize("feature_set", FEATURE_SETS)
@pytest.mark.parametrize("seed", range(8))
def test_scores_tie_where_features_do(seed: int, feature_set: str) -> None:
    """Permuting rows permutes the scores, and moves no tie: the metrics are the same to the last digit."""
    outputs = simulated(40, 7)
    order = np.random.default_rng(seed).permutation(len(outputs.case))
    moved = outputs.take(order)
    scores = [out_of_fold(one, JUDGES, feature_set, deal(one.claim, one.target, 5, 0)) for one in (outputs, moved)]
    assert scores[0] is not None
    assert scores[1] is not None
    assert scores[1] == pytest.approx(scores[0][order], abs=2e-12)
    for metric in (average_precision, auroc):
        assert metric(outputs.target, scores[0]) == metric(moved.target, scores[1])


def test_models_of_equal_folds_tie() -> None:
    """Five folds of the same rows in other orders have one model: equal features, equal scores, to the last digit.

    Floats do not: they depend on the order in which training rows are added up.
    """
    one = simulated(30, 11)
    n, rng = len(one.case), np.random.default_rng(0)
    five = one.take(np.concatenate([rng.permutation(n) for _ in range(5)]))
    for feature_set in FEATURE_SETS:
        score = out_of_fold(five, JUDGES, feature_set, np.repeat(np.arange(5), n))
        assert score is not None
        for case, judge in zip(one.case.tolist(), one.judge.tolist(), strict=True):
            assert len(set(score[(five.case == case) & (five.judge == judge)].tolist())) == 1


# --- rows and certificates -------------------------------------------------------------------------------------------


def subclaim(state: str, *ids: str, material: bool = True) -> dict[str, Any]:
    return {"text": "t", "material": material, "evidence_state": state, "evidence_ids": list(ids), "rationale": "r"}


def test_structure_counts_as_the_release_does() -> None:
    """All subclaims, the material ones, what they cite with repeats; states of material subclaims alone."""
    found = structure_of(
        [
            [
                subclaim("supports", "E1", "E1"),
                subclaim("mixed", "E2", "E3", material=False),
                subclaim("refutes", "E1"),
            ],
            [subclaim("insufficient")],
            None,
            [subclaim("supports", "E1", material=False)],
        ]
    )
    assert found.counts.tolist() == [[3, 2, 3], [1, 1, 0], [0, 0, 0], [1, 0, 0]]
    assert [[s for s, here in zip(STATES, line, strict=True) if here] for line in found.states.tolist()] == [
        ["supports", "refutes"],
        ["insufficient"],
        [],
        [],
    ]
    assert found.usable.tolist() == [True, True, False, True]


def nothing(cases: int) -> Structure:
    return Structure(np.zeros((cases, 3)), np.zeros((cases, 4), dtype=np.bool_), np.ones(cases, dtype=np.bool_))


@given(ballots(judges=st.just(3)).flatmap(lambda votes: st.tuples(st.just(votes), golds(len(votes.known)))))
def test_rows_are_directional_outputs_on_three_labels(drawn: tuple[Votes, Labels]) -> None:
    """One row per judge who says support or refute on gold support, refute or conflicting; gold C is the target."""
    votes, gold = drawn
    found = directional_outputs(gold, [f"c{i}" for i in range(len(gold))], votes, nothing(len(gold)))
    wanted = [
        (case, judge, said, label == "conflicting")
        for case, label in enumerate(names(gold))
        for judge, said in enumerate(names(votes.label[case]))
        if label != "insufficient" and said in ("support", "refute")
    ]
    listed = zip(found.case.tolist(), found.judge.tolist(), names(found.said), found.target.tolist(), strict=True)
    assert list(listed) == wanted


def test_a_claim_that_was_sampled_twice_is_one_claim() -> None:
    """Equal texts are one claim, by the first case: they go to one fold and are resampled together."""
    votes = ballot([["support"] * 3] * 3)
    found = directional_outputs(codes(["support", "conflicting", "refute"]), ["x", "y", "x"], votes, nothing(3))
    assert found.claim.tolist() == [0] * 3 + [1] * 3 + [0] * 3
    assert found.case.tolist() == [0] * 3 + [1] * 3 + [2] * 3


# --- intervals -------------------------------------------------------------------------------------------------------


def test_a_claim_drawn_twice_counts_twice() -> None:
    """A resample's average precision is that of the rows repeated as often as their claim was drawn."""
    outputs = simulated(30, 8)
    scores = [np.round(np.random.default_rng(i).random(len(outputs.case)), 1) for i in range(2)]
    found = resampled_precisions(outputs, scores, 50, generator(3))
    claims = np.unique(outputs.claim)
    drawn = np.concatenate(list(multiplicities(len(claims), 50, generator(3))))
    assert (drawn > 1).any()
    for times, values in zip(drawn, found, strict=True):
        again = np.repeat(np.arange(len(outputs.case)), times[np.searchsorted(claims, outputs.claim)].astype(int))
        for score, value in zip(scores, values, strict=True):
            assert value == pytest.approx(average_precision_score(outputs.target[again], score[again]), abs=1e-12)


def test_resamples_without_positives_are_undefined() -> None:
    """They are NaN, which the interval leaves out; a row that was not drawn plays no part."""
    target, score = np.array([True, False, False]), np.array([0.9, 0.8, 0.7])
    found = average_precisions(target, score, np.array([[0, 1, 2], [1, 0, 0], [1, 2, 1]], dtype=float))
    assert np.isnan(found[0])
    assert found[1:].tolist() == [1.0, 1.0]


def test_blocks_only_bound_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """The resamples are the same however small the blocks that they are weighed in."""
    outputs = simulated(20, 9)
    score = [np.random.default_rng(0).random(len(outputs.case))]
    whole = resampled_precisions(outputs, score, 37, generator(1))
    monkeypatch.setattr(screening, "_CELLS", 100)
    assert (resampled_precisions(outputs, score, 37, generator(1)) == whole).all()


def test_the_jackknife_fits_again_without_each_claim(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its values are those of the rows without one claim; above the limit, claims are left out by groups."""
    outputs = simulated(25, 10)
    fold = deal(outputs.claim, outputs.target, 5, 0)
    found = jackknife_precisions(outputs, JUDGES, fold, 0)
    claims = np.unique(outputs.claim)
    assert found.shape == (len(claims), len(FEATURE_SETS))
    for claim, values in zip(claims, found, strict=True):
        kept = np.flatnonzero(outputs.claim != claim)
        for feature_set, value in zip(FEATURE_SETS, values, strict=True):
            score = out_of_fold(outputs.take(kept), JUDGES, feature_set, fold[kept])
            assert score is not None
            assert value == average_precision(outputs.target[kept], score)
    monkeypatch.setattr(screening, "GROUPS", 7)
    assert jackknife_precisions(outputs, JUDGES, fold, 0).shape == (7, len(FEATURE_SETS))


def test_the_jackknife_of_a_mean_is_its_standard_error() -> None:
    """For a mean the variance is s^2/n exactly; one group, or an undefined value, gives no interval."""
    values = np.random.default_rng(1).normal(size=30)
    left_out = (values.sum() - values) / 29
    low, high = jackknife_interval(values.mean(), left_out) or (0, 0)
    half = 1.959963984540054 * values.std(ddof=1) / math.sqrt(30)
    assert (low, high) == pytest.approx((values.mean() - half, values.mean() + half))
    assert jackknife_interval(0.0, np.array([1.0])) is None
    assert jackknife_interval(0.0, np.array([1.0, np.nan])) is None


# --- the tables ------------------------------------------------------------------------------------------------------


def screened(gold: Labels, votes: Votes, structure: Structure | None = None, settings: Settings = FEW) -> Tables:
    cases = len(gold)
    text = [f"claim {i}" for i in range(cases)]
    return tables(gold, text, votes, structure or nothing(cases), ["x", "y", "z"], settings)


@given(
    ballots(claims=st.integers(0, 8), judges=st.just(3)).flatmap(
        lambda votes: st.tuples(st.just(votes), golds(len(votes.known)), masks(len(votes.known)))
    )
)
def test_every_sample_has_a_table(drawn: tuple[Votes, Labels, Mask]) -> None:
    """However few rows there are, there is a row per set and pair, counts that fit, and a note or metrics."""
    votes, gold, usable = drawn
    found = screened(gold, votes, replace(nothing(len(gold)), usable=usable), Settings(3, 5, 1, 20))
    lines, pairs = rows(found.screening), rows(found.contrast)
    assert [line["feature_set"] for line in lines] == list(FEATURE_SETS)
    assert len({(line["a"], line["b"]) for line in pairs}) == len(pairs) == 6
    directional = (votes.label <= 1) & (gold != CODES["insufficient"])[:, None]
    n, positives = int(directional.sum()), int(directional[gold == CODES["conflicting"]].sum())
    for line in lines:
        assert (line["n"], line["positives"], line["prevalence"]) == (n, positives, positives / n if n else None)
        assert line["no_confidence"] == int((directional & ~votes.has_confidence).sum())
        assert line["no_certificate"] == int(directional[~usable].sum())
        assert (line["auprc"] is None) == (line["auroc"] is None) == bool(line["note"])
    for line in pairs:
        assert (line["delta"] is None) == (line["low"] is None) == bool(line["note"])
    listed = rows(found.scores)
    assert len(listed) == 4 * n
    if not lines[0]["note"]:
        for line in lines:
            own = [item for item in listed if item["feature_set"] == line["feature_set"]]
            target, score = ([item[key] for item in own] for key in ("target", "score"))
            assert line["auprc"] == pytest.approx(average_precision_score(target, score))
            assert line["auroc"] == pytest.approx(roc_auc_score(target, score))


@pytest.mark.parametrize(
    ("gold", "said", "note"),
    [
        (["support", "insufficient"], ["support", "support"], "no directional output on gold conflicting"),
        (["support", "conflicting"], ["conflicting", "refute"], "no directional output on gold support or refute"),
        (["support", "refute", "conflicting"], ["support", "refute", "support"], "all outputs of one class"),
        ([], [], "no directional output on gold conflicting"),
    ],
)
def test_what_cannot_be_computed_has_a_reason(gold: list[str], said: list[str], note: str) -> None:
    """Without both classes in every training part there is no metric, and the note says why."""
    votes = ballot([[one] * 3 for one in said]) if said else claims_of(ballot([["support"] * 3]), [])
    found = screened(codes(gold), votes)
    for line in (*rows(found.screening), *rows(found.contrast)):
        assert line["note"].startswith(note)
        assert not {"auprc", "auroc", "recall_10", "delta", "low", "delta_mean"} & {
            k for k, v in line.items() if v is not None
        }


def test_a_partial_panel_is_not_screened() -> None:
    """Votes on gold-conflicting claims alone give no metrics; unknown votes on gold insufficient do not matter."""
    gold = codes(["support", "conflicting", "insufficient"] * 12)
    full = ballot([["support", "refute", "support"]] * 36)
    assert rows(screened(gold, replace(full, known=gold == CODES["conflicting"])).screening)[0]["note"].startswith(
        "the panel's votes are known on some claims only"
    )
    assert rows(screened(gold, replace(full, known=gold != CODES["insufficient"])).screening)[0]["note"] == ""


def sized(claims: int, seed: int) -> tuple[Labels, Votes, Structure]:
    """A sample of which the votes' confidences and the certificates tell something."""
    rng = np.random.default_rng(seed)
    gold = rng.integers(0, 4, claims).astype(np.int8)
    label = rng.integers(0, 5, (claims, 3)).astype(np.int8)
    told = gold == CODES["conflicting"]
    hundredths = np.clip(np.round(80 - 10 * told[:, None] + rng.normal(0, 8, (claims, 3))), 0, 100)
    counts = 1.0 + rng.poisson(1.0 + told[:, None], (claims, 3)).astype(np.float64)
    states = rng.random((claims, 4)) < 0.3 + 0.3 * told[:, None]
    ones = np.ones((claims, 3), dtype=np.bool_)
    votes = Votes(label, hundredths.astype(np.int64) * 10**16, ones, ones[:, 0])
    return gold, votes, Structure(counts, states, ones[:, 0])


def test_contrasts_are_differences_of_the_screening_table() -> None:
    """Deltas and their spread over deals follow from the scores; intervals hold them; all is deterministic."""
    gold, votes, structure = sized(120, 1)
    found, again = (screened(gold, votes, structure) for _ in range(2))
    assert found == again
    for line in rows(found.contrast):
        a, b = (row(found.screening, feature_set=line[side])["auprc"] for side in ("a", "b"))
        assert (line["auprc_a"], line["auprc_b"], line["delta"]) == (a, b, b - a)
        assert line["low"] <= line["high"]
        assert line["refit_low"] <= line["delta"] <= line["refit_high"]
        assert line["delta_min"] <= line["delta_mean"] <= line["delta_max"]


def test_other_deals_have_the_next_seeds() -> None:
    """Mean and range over the other deals are those of tables whose first deal has these seeds."""
    gold, votes, structure = sized(90, 2)
    found = screened(gold, votes, structure, Settings(5, 40, 3, 100))
    others = [screened(gold, votes, structure, Settings(5, 41 + i, 0, 100)) for i in range(3)]
    for line in rows(found.screening):
        for metric in ("auprc", "auroc", "recall_10", "recall_20", "recall_30"):
            values = [row(other.screening, feature_set=line["feature_set"])[metric] for other in others]
            spread = (line[f"{metric}_mean"], line[f"{metric}_min"], line[f"{metric}_max"])
            assert spread == pytest.approx((np.mean(values), min(values), max(values)))
    assert rows(others[0].screening)[0]["auprc_mean"] is None


def test_the_order_of_cases_plays_no_part_in_what_is_counted() -> None:
    """Reversed cases are dealt otherwise, but have the same rows."""
    gold, votes, structure = sized(60, 3)
    order = np.arange(60)[::-1]
    moved = claims_of(votes, order.tolist())
    one, other = screened(gold, votes, structure), screened(gold[order], moved, structure.take(order))
    for left, right in zip(rows(one.screening), rows(other.screening), strict=True):
        assert all(left[key] == right[key] for key in ("n", "cases", "claims", "positives", "no_certificate"))


def test_published_numbers_have_a_cell() -> None:
    """Every published number of the three tables names keys and a column that they have."""
    schemas = {"screening": SCREENING, "screening_contrast": CONTRAST, "screening_scores": SCORES}
    seen = Counter[str]()
    with (ROOT / "config/published/verdict.tsv").open(encoding="utf-8", newline="") as handle:
        for line in csv.DictReader(handle, delimiter="\t", quoting=csv.QUOTE_NONE):
            schema = schemas.get(line["artifact"])
            if schema is None:
                continue
            keys = dict(item.split("=", 1) for item in line["select"].split(";"))
            assert {line["field"], *keys} <= set(schema.names)
            assert keys.get("feature_set", "none") in FEATURE_SETS
            seen[line["artifact"]] += 1
    assert set(seen) == set(schemas)


# --- the program -----------------------------------------------------------------------------------------------------


@pytest.fixture
def written(tmp_path: Path) -> Path:
    """A sample of 40 cases, votes of two judges and certificates, one of them unusable."""
    rng = np.random.default_rng(12)
    gold = [("support", "refute", "conflicting", "insufficient")[i % 4] for i in range(40)]
    cases = [Case("g", label, f"claim {i}", ["e"], "s", i) for i, label in enumerate(gold)]
    artifact.write(sample.to_table(cases, "study"), tmp_path / "sample.parquet")
    votes = [
        {"case_id": i, "model": model, "parse_status": "ok", "verdict": ("support", "refute")[int(rng.integers(2))]}
        for i in range(40)
        for model in ("a", "b")
    ]
    artifact.write(artifact.from_rows(map(verdict_defaults, votes), verdicts.SCHEMA), tmp_path / "4opt.parquet")
    listed = [
        {
            "case_id": i,
            "model": "v",
            "parse_status": "ok" if i else "invalid",
            "subclaims": [subclaim(STATES[int(rng.integers(4))], "E1")] if i else None,
        }
        for i in range(40)
    ]
    table = artifact.from_rows(map(verdict_defaults, listed), certificates.SCHEMA)
    artifact.write(table, tmp_path / "certificate.parquet")
    return tmp_path


def arguments(**more: Any) -> list[str]:
    chosen = {
        "typed_panel": {"arm": "4opt", "judges": ["b", "a"]},
        "validator": "certificate",
        "names": {"a": "single/a/4opt"},
        "screening": {"folds": 5, "seed": 3, "other_deals": 2, "resamples": 100},
        **more,
    }
    outputs = [
        part
        for name, file in (("table", "screening"), ("contrast", "contrast"), ("scores", "scores"))
        for part in (f"--{name}", f"tables/{file}.parquet")
    ]
    inputs = ["--sample", "sample.parquet", "--verdicts", "4opt.parquet", "certificate.parquet"]
    return [*inputs, "--settings", json.dumps(chosen), *outputs]


def test_the_program_writes_three_tables(run_program: Callable[..., Any], written: Path) -> None:
    """Tables and their CSVs, judges by their systems' names, the unusable certificate counted."""
    done = run_program("table_screening", *arguments())
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    found = artifact.read(written / "tables/screening.parquet", SCREENING)
    assert [(line["n"], line["no_certificate"], line["no_confidence"]) for line in rows(found)] == [(60, 2, 60)] * 4
    assert artifact.read(written / "tables/contrast.parquet", CONTRAST).num_rows == 6
    scores: pa.Table = artifact.read(written / "tables/scores.parquet", SCORES)
    assert Counter(scores.column("system").to_pylist()) == {"b": 120, "single/a/4opt": 120}
    assert {path.stem for path in (written / "tables").glob("*.csv")} == {"screening", "contrast", "scores"}


def test_certificates_are_one_per_case(run_program: Callable[..., Any], written: Path) -> None:
    """A missing and a repeated case stop the program with a line that names them."""
    table = artifact.read(written / "certificate.parquet", certificates.SCHEMA)
    for some, said in ((table.slice(1), "1 cases missing"), (pa.concat_tables([table, table.slice(4, 1)]), "row 41")):
        artifact.write(some, written / "certificate.parquet")
        done = run_program("table_screening", *arguments())
        assert done.returncode == 1
        assert said in done.stderr
        assert done.stderr.count("\n") == 1


def test_the_program_imports_no_slow_library() -> None:
    """Start-up dominates a table's time: scipy, scikit-learn and pandas are the tests' own."""
    code = (
        "import sys, table_screening; print(*sorted({'scipy', 'sklearn', 'pandas', 'statsmodels'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT / "scripts", capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == ""
