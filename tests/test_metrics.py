"""Metrics: counts against their definitions, missing denominators, and what a partial source allows."""

from __future__ import annotations

import numpy as np
import oracles
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import confusion_matrix, f1_score
from strategies import GOLD, VERDICTS, codes, golds, hidden, masks, names

from warrant.labels import NAMES, Labels, Mask
from warrant.metrics import METRICS, confusion, macro_f1
from warrant.systems import Decisions

Pair = tuple[Labels, Labels]
some_pairs = st.integers(1, 20).flatmap(lambda n: st.tuples(golds(n), golds(n, NAMES)))
pairs = st.integers(0, 12).flatmap(lambda n: st.tuples(golds(n), golds(n, NAMES)))


def test_the_metrics_are_those_of_the_paper() -> None:
    """There are nine metrics, each under its own name."""
    assert tuple(METRICS) == oracles.METRICS
    assert all(metric.name == name for name, metric in METRICS.items())


@given(pairs)
def test_counts_follow_the_definition(pair: Pair) -> None:
    """Numerator and denominator are those of the metric's definition, on any gold labels and decisions."""
    gold, decision = pair
    for name, metric in METRICS.items():
        assert metric.counts(gold, decision) == oracles.counts(name, names(gold), names(decision)), name


@given(pairs)
def test_a_rate_without_a_denominator_is_missing(pair: Pair) -> None:
    """A rate is the ratio of its counts, and None (never 0, never NaN) when there is nothing to divide by."""
    for name, metric in METRICS.items():
        value, expected = metric.value(*pair), oracles.rate(name, *map(names, pair))
        assert value is None if expected is None else value == float(expected), name


@given(pairs)
def test_selective_error_is_undefined_without_commits(pair: Pair) -> None:
    """When nothing is committed SE is None, although claims were judged."""
    gold, decision = pair
    withheld = np.where(decision <= 1, np.int8(5), decision)
    assert METRICS["se"].counts(gold, withheld) == (0, 0)
    assert METRICS["se"].value(gold, withheld) is None


@given(st.data(), pairs)
def test_the_order_of_claims_plays_no_part(data: st.DataObject, pair: Pair) -> None:
    """Permuting claims changes no metric, no confusion and no macro F1."""
    gold, decision = pair
    order = data.draw(st.permutations(range(len(gold))))
    again = gold[order], decision[order]
    for name, metric in METRICS.items():
        assert metric.counts(*again) == metric.counts(*pair), name
    assert confusion(*again) == confusion(*pair)
    assert macro_f1(*again) == macro_f1(*pair)


@given(pairs)
def test_no_verdict_stays_in_every_denominator(pair: Pair) -> None:
    """Without any usable verdict every denominator but SE's is unchanged, and every numerator is 0."""
    gold, decision = pair
    silent = np.full_like(decision, 4)
    for name, metric in METRICS.items():
        before, after = metric.counts(gold, decision), metric.counts(gold, silent)
        assert before is not None
        assert after == (0, 0 if name == "se" else before[1])


@given(pairs)
def test_populations_partition_the_commits(pair: Pair) -> None:
    """Commits are those on conflicting, on insufficient and on directional claims; wrong ones are not right ones."""
    gold, decision = pair
    k = {name: (metric.counts(gold, decision) or (0, 0))[0] for name, metric in METRICS.items()}
    wrong_direction = int(((gold <= 1) & (decision <= 1) & (gold != decision)).sum())
    assert k["cpo_n"] == k["cpo_c"]
    assert k["se"] == k["cpo_c"] + k["ovc_i"] + wrong_direction
    assert k["cov"] == k["se"] + k["acc_sr"]


partial = st.integers(0, 10).flatmap(lambda n: st.tuples(golds(n), golds(n, VERDICTS), masks(n)))


@given(partial)
def test_a_partial_system_has_a_metric_iff_what_it_needs_is_known(drawn: tuple[Labels, Labels, Mask]) -> None:
    """A metric is computable iff every claim that it depends on is known, and then has its full-knowledge value."""
    gold, decision, known = drawn
    shown = hidden(Decisions(decision, known), known)
    for name, metric in METRICS.items():
        needed = [here for label, here in zip(names(gold), known.tolist(), strict=True) if label in oracles.NEEDS[name]]
        counts, value = metric.counts(gold, shown.decision, known), metric.value(gold, shown.decision, known)
        assert counts == (metric.counts(gold, decision) if all(needed) else None), name
        assert value == (metric.value(gold, decision) if all(needed) else None), name


@given(partial, st.data())
def test_what_is_not_known_is_not_read(drawn: tuple[Labels, Labels, Mask], other: st.DataObject) -> None:
    """Whatever stands in the place of an unknown decision, a computable metric does not see it."""
    gold, decision, known = drawn
    scribbled = np.where(known, decision, other.draw(golds(len(gold), VERDICTS)))
    for name, metric in METRICS.items():
        assert metric.counts(gold, scribbled, known) == metric.counts(gold, decision, known), name


@given(pairs)
def test_full_knowledge_is_the_same_as_no_mask(pair: Pair) -> None:
    """A system that is known everywhere has the counts of a system without a mask."""
    everywhere = np.ones(len(pair[0]), dtype=np.bool_)
    for name, metric in METRICS.items():
        assert metric.counts(*pair, everywhere) == metric.counts(*pair), name


@given(some_pairs)
def test_macro_f1_is_scikit_learns(pair: Pair) -> None:
    """Macro F1 averages the four labels with equal weight; a label that nobody names contributes 0."""
    gold, decision = pair
    expected = f1_score(names(gold), names(decision), labels=list(GOLD), average="macro", zero_division=0)
    assert macro_f1(gold, decision) == pytest.approx(expected, abs=1e-12)


@given(some_pairs)
def test_confusion_is_scikit_learns(pair: Pair) -> None:
    """The confusion matrix counts gold by verdict, with what was withheld under none."""
    gold, decision = pair
    said = ["none" if name == "no_commit" else name for name in names(decision)]
    assert confusion(gold, decision) == confusion_matrix(names(gold), said, labels=list(VERDICTS))[:4].tolist()


def test_perfect_and_silent_systems_are_the_extremes_of_macro_f1() -> None:
    """Macro F1 is 1 for the gold labels themselves and 0 without any verdict."""
    gold = codes(GOLD)
    assert macro_f1(gold, gold) == 1.0
    assert macro_f1(gold, codes(["none"] * 4)) == 0.0
