"""Table `contrasts`: paired differences that turn with their sides and do not see their neighbours."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import permutations
from typing import Any

import numpy as np
import oracles
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest
from statsmodels.stats.multitest import multipletests
from strategies import codes, golds, hidden, masks, names, rows, same, systems

from warrant.intervals import paired_square_and_add, square_and_add
from warrant.labels import Labels, Mask
from warrant.systems import Decisions
from warrant.tables.contrasts import Contrast, contrasts

Drawn = tuple[Labels, dict[str, Decisions]]
NUMBERS = ("value_a", "value_b", "delta", "low", "high", "score_low", "score_high", "discordant", "p_mcnemar")
samples = st.integers(0, 12).flatmap(lambda n: st.tuples(golds(n), systems(n, 3)))
RESAMPLED = ["low", "high", "joint_low", "joint_high", "p_max_t"]
fewer = settings(max_examples=50)


def every_metric(a: str, b: str) -> list[Contrast]:
    return [Contrast(f"{metric}: {a}, {b}", metric, a, b) for metric in oracles.METRICS]


def run(drawn: Drawn, wanted: list[Contrast], resamples: int = 40, seed: int = 1) -> list[dict[str, Any]]:
    return rows(contrasts(*drawn, wanted, resamples, seed))


def large(seed: int = 0, n: int = 160) -> Drawn:
    """A sample of a study's size: b is right more often than a."""
    rng = np.random.default_rng(seed)
    gold = rng.integers(0, 4, n).astype(np.int8)
    said = {
        name: np.where(rng.random(n) < right, gold, rng.integers(0, 5, n)).astype(np.int8)
        for name, right in (("a", 0.3), ("b", 0.5), ("c", 0.4))
    }
    return gold, {name: Decisions(decision, np.ones(n, dtype=np.bool_)) for name, decision in said.items()}


@fewer
@given(samples)
def test_delta_is_b_minus_a(drawn: Drawn) -> None:
    """Values are the two systems' own and delta is b's minus a's; each is null where a denominator is 0."""
    gold, found = drawn
    for line in run(drawn, every_metric("a", "b")):
        a, b = (oracles.rate(line["metric"], names(gold), names(found[side].decision)) for side in "ab")
        assert line["value_a"] == (None if a is None else float(a))
        assert line["value_b"] == (None if b is None else float(b))
        expected = None if a is None or b is None else float(b - a)
        assert line["delta"] == (None if expected is None else pytest.approx(expected, abs=1e-15))


@fewer
@given(samples)
def test_intervals_are_ordered_and_in_range(drawn: Drawn) -> None:
    """An interval has low <= high within [-1, 1], and stands exactly where delta does."""
    for line in run(drawn, every_metric("a", "b")):
        for low, high in ((line["low"], line["high"]), (line["score_low"], line["score_high"])):
            assert (low is None) == (high is None) == (line["delta"] is None)
            assert low is None or -1 - 1e-12 <= low <= high <= 1 + 1e-12


@fewer
@given(samples)
def test_the_score_interval_is_made_of_wilson_limits(drawn: Drawn) -> None:
    """Of the discordant shares; for SE of the rates, with the correlation of the claims' residuals."""
    gold, found = drawn
    for line in run(drawn, every_metric("a", "b")):
        assert ("discordant" in line["score_method"]) == (line["metric"] != "se")
        if line["delta"] is None:
            continue
        if line["metric"] != "se":
            signed = round(line["delta"] * line["n"])
            only_a = (line["discordant"] - signed) // 2
            expected = paired_square_and_add(only_a, only_a + signed, line["n"])
            assert (line["score_low"], line["score_high"]) == expected
            continue
        sides, residuals = [], []
        for side in "ab":
            each = [
                oracles.counts(line["metric"], [g], [s])
                for g, s in zip(names(gold), names(found[side].decision), strict=True)
            ]
            k, n = (sum(one[at] for one in each) for at in (0, 1))
            sides.append((k, n))
            residuals.append([Fraction(one[0]) - Fraction(k, n) * one[1] for one in each])
        products = sum((x * y for x, y in zip(*residuals, strict=True)), Fraction(0))
        squares = [sum((x * x for x in one), Fraction(0)) for one in residuals]
        corrected = max(Fraction(0), products - Fraction(1, 2)) if products > 0 else products
        rho = float(corrected) / math.sqrt(squares[0] * squares[1]) if squares[0] * squares[1] else 0.0
        expected = square_and_add(*sides, max(-1.0, min(1.0, rho)))
        assert (line["score_low"], line["score_high"]) == pytest.approx(expected, abs=1e-7)


@fewer
@given(samples)
def test_swapping_the_sides_turns_the_sign(drawn: Drawn) -> None:
    """Swapping a and b negates delta and interval and leaves tests and discordant pairs as they are."""
    for line, swapped in zip(run(drawn, every_metric("a", "b")), run(drawn, every_metric("b", "a")), strict=True):
        assert (swapped["value_a"], swapped["value_b"]) == (line["value_b"], line["value_a"])
        assert (swapped["discordant"], swapped["p_mcnemar"]) == (line["discordant"], line["p_mcnemar"])
        if line["delta"] is None:
            assert (swapped["delta"], swapped["low"], swapped["high"]) == (None, None, None)
        else:
            turned = (-swapped["delta"], -swapped["high"], -swapped["low"])
            assert (line["delta"], line["low"], line["high"]) == pytest.approx(turned, abs=1e-12)
            turned = (-swapped["score_high"], -swapped["score_low"])
            assert (line["score_low"], line["score_high"]) == pytest.approx(turned, abs=1e-7)  # a root near 0


@fewer
@given(samples)
def test_a_system_does_not_differ_from_itself(drawn: Drawn) -> None:
    """Identical systems have delta 0, no discordant pair and p = 1; the bootstrap says (0, 0), the score does not."""
    gold, found = drawn
    twins = {"a": found["a"], "b": Decisions(found["a"].decision.copy(), found["a"].known)}
    for line in run((gold, twins), every_metric("a", "b")):
        if line["delta"] is not None:
            assert (line["delta"], line["low"], line["high"], line["discordant"]) == (0, 0, 0, 0)
            assert line["score_low"] <= 0 <= line["score_high"]
            assert line["score_low"] < line["score_high"]
            assert line["p_mcnemar"] == (None if line["metric"] == "se" else 1)


@fewer
@given(samples, st.data())
def test_contrasts_do_not_see_their_neighbours(drawn: Drawn, data: st.DataObject) -> None:
    """The order and the number of contrasts change no row's numbers, but for Holm's adjustment over the table."""
    wanted = every_metric("a", "b") + every_metric("c", "a")
    together = run(drawn, wanted)
    order = data.draw(st.permutations(range(len(wanted))))
    assert run(drawn, [wanted[i] for i in order]) == [together[i] for i in order]
    alone = data.draw(st.sampled_from(range(len(wanted))))
    (line,) = run(drawn, [wanted[alone]])
    assert same(line, together[alone], but=["p_holm"])


def test_metrics_of_one_population_share_their_resamples() -> None:
    """Coverage and accuracy have one interval where every commit is right and nothing else is."""
    gold = codes(["support", "refute"] * 30)
    rng = np.random.default_rng(1)
    found = {
        name: Decisions(np.where(rng.random(60) < share, gold, 5).astype(np.int8), np.ones(60, dtype=np.bool_))
        for name, share in (("a", 0.3), ("b", 0.6))
    }
    cov, accuracy = run((gold, found), [Contrast("", metric, "a", "b") for metric in ("cov", "accuracy")])
    assert same(cov, accuracy, but=["metric"])
    assert cov["low"] < cov["delta"] < cov["high"]


def test_a_larger_family_has_wider_joint_intervals() -> None:
    """Contrasts of one name and metric are one family: more of them widen each joint interval and raise each p."""
    drawn, metrics = large(), ["cov", "cpo_c", "accuracy"]
    pairs = [("a", "b"), ("a", "c"), ("b", "c")]
    alone = {(m, *pairs[0]): run(drawn, [Contrast("f", m, *pairs[0])])[0] for m in metrics}
    family = run(drawn, [Contrast("f", m, *pair) for m in metrics for pair in pairs])
    other = run(drawn, [Contrast(f"{i}", m, *pair) for m in metrics for i, pair in enumerate(pairs)])
    assert {line["family"] for line in family} == {3}
    assert {line["family"] for line in other} == {1}
    for line in family:
        first = alone.get((line["metric"], line["a"], line["b"]))
        assert line["joint_low"] < line["delta"] < line["joint_high"]
        if first is not None:
            assert line["joint_low"] <= first["joint_low"]
            assert line["joint_high"] >= first["joint_high"]
            assert line["p_max_t"] >= first["p_max_t"]
            assert (line["low"], line["high"]) == (first["low"], first["high"])
    assert any(line["joint_low"] < single["joint_low"] for line, single in zip(family, other, strict=True))


def test_the_same_comparison_twice_has_the_same_numbers() -> None:
    """A contrast's row does not depend on its place, on a sample where intervals are random."""
    drawn = large()
    wanted = [contrast for pair in permutations("abc", 2) for contrast in every_metric(*pair)]
    lines = run(drawn, [*wanted, *wanted[::-1]])
    for first, second in zip(lines[: len(wanted)], lines[: len(wanted) - 1 : -1], strict=True):
        assert first == second


def test_the_seed_decides_the_resamples_and_nothing_else() -> None:
    """The same seed gives the same table; another moves intervals a little, and no value or test at all."""
    drawn, wanted = large(), every_metric("a", "b")
    first = run(drawn, wanted, 500, seed=3)
    assert run(drawn, wanted, 500, seed=3) == first
    other = run(drawn, wanted, 500, seed=4)
    assert all(same(x, y, but=RESAMPLED) for x, y in zip(first, other, strict=True))
    assert any(x["low"] != y["low"] for x, y in zip(first, other, strict=True))


@fewer
@given(samples, st.data())
def test_the_order_of_claims_moves_no_point_estimate(drawn: Drawn, data: st.DataObject) -> None:
    """Permuting claims changes nothing but the intervals."""
    gold, found = drawn
    order = data.draw(st.permutations(range(len(gold))))
    again = {name: Decisions(system.decision[order], system.known[order]) for name, system in found.items()}
    wanted = every_metric("a", "b")
    for line, other in zip(run(drawn, wanted), run((gold[order], again), wanted), strict=True):
        assert same(line, other, but=RESAMPLED)


@fewer
@given(samples)
def test_mcnemar_counts_pairs_whose_numerators_differ(drawn: Drawn) -> None:
    """Discordant pairs are claims on which one system alone has the numerator; p is their sign test, never for SE."""
    gold, found = drawn
    for line in run(drawn, every_metric("a", "b")):
        if line["delta"] is None:
            assert (line["discordant"], line["p_mcnemar"]) == (None, None)
            continue
        hits = [
            [oracles.counts(line["metric"], [g], [s])[0] for g, s in zip(names(gold), said, strict=True)]
            for said in (names(found[side].decision) for side in "ab")
        ]
        only_a = sum(a > b for a, b in zip(*hits, strict=True))
        only_b = sum(a < b for a, b in zip(*hits, strict=True))
        assert line["discordant"] == only_a + only_b
        if line["metric"] == "se":
            assert line["p_mcnemar"] is None
        elif only_a + only_b:
            assert line["p_mcnemar"] == pytest.approx(binomtest(only_a, only_a + only_b).pvalue)


def test_holm_adjusts_over_the_tests_of_the_table() -> None:
    """Adjusted p values are statsmodels' over every row that has a test; rows without one have none."""
    lines = run(large(), every_metric("a", "b") + every_metric("a", "c"))
    tested = [line for line in lines if line["p_mcnemar"] is not None]
    expected = multipletests([line["p_mcnemar"] for line in tested], method="holm")[1]
    assert [line["p_holm"] for line in tested] == pytest.approx(expected.tolist())
    assert [line["p_holm"] for line in lines if line["metric"] == "se"] == [None, None]


@pytest.mark.parametrize(("metric", "population"), [("cpo_c", "conflicting"), ("cpo_n", None), ("cov", None)])
def test_intervals_of_rates_follow_the_exact_bootstrap_law(metric: str, population: str | None) -> None:
    """A rate's interval ends within one claim of the exact quantiles of the resampled difference of counts."""
    gold, found = large(seed=2, n=120)
    (line,) = run((gold, found), [Contrast("", metric, "a", "b")], resamples=6000)
    kept = [i for i, label in enumerate(names(gold)) if population in (None, label)]
    steps = [
        oracles.counts(metric, [names(gold)[i]], [names(found["b"].decision)[i]])[0]
        - oracles.counts(metric, [names(gold)[i]], [names(found["a"].decision)[i]])[0]
        for i in kept
    ]
    one = np.array([steps.count(-1), steps.count(0), steps.count(1)]) / len(kept)
    law = np.ones(1)
    for _ in kept:  # the law of a sum of independent draws of one claim
        law = np.convolve(law, one)
    low, high = (np.searchsorted(np.cumsum(law), tail) - len(kept) for tail in (0.025, 0.975))
    assert line["n"] == len(kept)
    assert line["low"] * len(kept) == pytest.approx(low, abs=1)
    assert line["high"] * len(kept) == pytest.approx(high, abs=1)


@fewer
@given(st.integers(0, 8).flatmap(lambda n: st.tuples(golds(n), systems(n, 2), masks(n))))
def test_a_contrast_with_a_partial_system_needs_the_metrics_claims(
    drawn: tuple[Labels, dict[str, Decisions], Mask],
) -> None:
    """With a partial side a row is that of full knowledge when the claims it needs are known, else a's value alone."""
    gold, found, known = drawn
    shown = {**found, "b": hidden(Decisions(found["b"].decision, known), known)}
    full = run((gold, found), every_metric("a", "b"))
    for line, whole in zip(run((gold, shown), every_metric("a", "b")), full, strict=True):
        needed = oracles.NEEDS[line["metric"]]
        if all(k for label, k in zip(names(gold), known.tolist(), strict=True) if label in needed):
            assert same(line, whole, but=["p_holm"])
        else:
            assert line["value_a"] == whole["value_a"]
            assert [line[name] for name in NUMBERS[1:]] == [None] * 8
            assert line["p_holm"] is None


def test_rows_come_as_they_are_asked_for() -> None:
    """Every contrast has its row, in the order asked, also with the same sides twice; none at all is an empty table."""
    drawn = large(n=30)
    wanted = [Contrast("x", "se", "a", "b"), Contrast("y", "cpo_c", "b", "a"), Contrast("z", "se", "a", "b")]
    lines = run(drawn, wanted, resamples=7)
    assert [(line["contrast"], line["metric"], line["a"], line["b"]) for line in lines] == [
        (c.name, c.metric, c.a, c.b) for c in wanted
    ]
    assert [line["resamples"] for line in lines] == [7] * 3
    assert [line["n"] for line in lines] == [30, int((drawn[0] == 3).sum()), 30]
    assert run(drawn, []) == []


def test_a_system_that_never_commits_has_no_selective_error_to_compare() -> None:
    """A contrast of SE with a system that commits nothing is null, and its other contrasts are not."""
    gold = codes(["support", "conflicting", "insufficient"])
    acting = Decisions(codes(["support", "refute", "support"]), np.ones(3, dtype=np.bool_))
    silent = Decisions(codes(["no_commit"] * 3), np.ones(3, dtype=np.bool_))
    lines = {line["metric"]: line for line in run((gold, {"a": acting, "b": silent}), every_metric("a", "b"))}
    assert [lines["se"][name] for name in (*NUMBERS[1:7], "discordant")] == [None] * 7
    assert lines["cov"]["delta"] == -1
    assert (lines["cpo_c"]["low"], lines["cpo_c"]["high"]) == (-1, -1)
