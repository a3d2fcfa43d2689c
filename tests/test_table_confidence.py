"""Tables `confidence` and `confidence_bins`: groups of commits, rank tests and calibration, from their definitions."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import oracles
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import DIRECTIONS
from scipy import stats
from strategies import Study, ballot, codes, hidden_votes, masks, names, row, rows, stated, studies, with_order
from verdict_files import JUDGES, averitec, own, read, vitaminc

from warrant.audit import audit, read_published
from warrant.intervals import wilson
from warrant.labels import Mask
from warrant.tables.confidence import (
    BINS,
    SCHEMA,
    confidence,
    confidence_bins,
    exact_means,
    expected_calibration_error,
    mann_whitney,
)

TAUS = tuple(map(Decimal, ("0.85", "0.90", "0.95")))
EVERY = (*DIRECTIONS, "insufficient", "conflicting")
NEEDS = {  # gold labels whose votes a population depends on
    "cpo_commits": ("conflicting",),
    "correct_commits": DIRECTIONS,
    "wrong_direction": DIRECTIONS,
    "overcommits_on_insufficient": ("insufficient",),
    "correct_against_cpo": (*DIRECTIONS, "conflicting"),
    "commits_not_cpo": (*DIRECTIONS, "insufficient"),
    "commits": EVERY,
}
SHARES = {"at_least": oracles.float_mean_reaches, "at_least_exact": oracles.mean_reaches}
fewer = settings(max_examples=40)
claims = st.integers(0, 12)
# few values, so that most samples have ties
levels = st.integers(0, 6).map(lambda i: Fraction(i, 6))
groups = st.lists(levels, min_size=1, max_size=5)


def population(name: str, gold: str, said: str) -> bool:
    """Whether a claim belongs to a population."""
    if said not in DIRECTIONS:
        return False
    return {
        "cpo_commits": gold == "conflicting",
        "correct_commits": gold == said,
        "wrong_direction": gold in DIRECTIONS and gold != said,
        "overcommits_on_insufficient": gold == "insufficient",
        "commits_not_cpo": gold != "conflicting",
        "commits": True,
    }[name]


def members(study: Study, name: str) -> list[int]:
    said = [oracles.majority(names(line)) for line in study.panel.votes.label]
    return [i for i, pair in enumerate(zip(names(study.gold), said, strict=True)) if population(name, *pair)]


def means(study: Study, name: str) -> list[Fraction]:
    values = [stated(study.panel.votes, claim) for claim in members(study, name)]
    return [sum(line, Fraction(0)) / len(line) for line in values if line]


def table(study: Study) -> list[dict[str, Any]]:
    return rows(confidence(study.gold, {"panel": study.panel.votes}, TAUS))


def bins(study: Study) -> list[dict[str, Any]]:
    return rows(confidence_bins(study.gold, {"panel": study.panel.votes}))


def binned(value: Fraction, edges: str) -> int:
    """The bin of a confidence, by trying all of them."""
    for i in range(10):
        low, high = Fraction(i, 10), Fraction(i + 1, 10)
        inside = low <= value < high if edges == "left" else low < value <= high
        if inside or (edges == "left" and i == 9 and value == 1) or (edges == "right" and i == 0 and value == 0):
            return i
    raise AssertionError(value)


@fewer
@given(studies(claims=claims))
def test_shares_and_means_follow_from_the_commits(study: Study) -> None:
    """A share counts the population's commits that reach tau, without a confidence none; a mean takes stated ones."""
    lines = table(study)
    assert len({(line["quantity"], line["population"], line["tau"]) for line in lines}) == len(lines)
    for line in lines:
        if line["quantity"] in SHARES:
            inside = [stated(study.panel.votes, claim) for claim in members(study, line["population"])]
            k = sum(SHARES[line["quantity"]](values, Fraction(str(line["tau"]))) for values in inside)
            n = len(inside)
            assert (line["k"], line["n"], line["value"]) == (k, n, k / n if n else None)
            assert (line["low"], line["high"]) == (wilson(k, n) or (None, None))
            assert line["arithmetic"] == ("exact" if line["quantity"] == "at_least_exact" else "published")
        elif line["quantity"] == "mean":
            values = means(study, line["population"])
            expected = float(sum(values, Fraction(0)) / len(values)) if values else None
            assert (line["n"], line["value"]) == (len(values), expected)
        assert line["partial"] is False


@fewer
@given(studies(claims=claims))
def test_group_differences_follow_from_pairs(study: Study) -> None:
    """U counts pairs in which the correct commit states more, ties as half; nothing to compare gives nulls."""
    found = {line["quantity"]: line for line in table(study) if line["population"] == "correct_against_cpo"}
    correct, cpo = means(study, "correct_commits"), means(study, "cpo_commits")
    assert {line["n"] for line in found.values()} == {len(correct) + len(cpo)}
    if not correct or not cpo:
        assert {line["value"] for line in found.values()} == {None}
        return
    u = sum((Fraction((a > b) * 2 + (a == b), 2) for a in correct for b in cpo), Fraction(0))
    difference = sum(correct, Fraction(0)) / len(correct) - sum(cpo, Fraction(0)) / len(cpo)
    assert found["mann_whitney_u"]["value"] == float(u)
    assert found["superiority"]["value"] == float(u / (len(correct) * len(cpo)))
    assert found["mean_difference"]["value"] == float(difference)
    test = mann_whitney(correct, cpo)
    assert test is not None
    assert found["mann_whitney_p"]["value"] == test.p_normal
    assert found["mann_whitney_p_permutation"]["value"] == test.p_permutation


@fewer
@given(studies(claims=claims))
def test_bins_and_calibration_error_follow_from_the_commits(study: Study) -> None:
    """Every stated confidence is in one bin, and the error is the bins' gaps weighted by their commits."""
    calibration = {(line["quantity"], line["population"]): line for line in table(study)}
    lines = bins(study)
    for name in ("commits_not_cpo", "commits"):
        judged = [
            (sum(values, Fraction(0)) / len(values), claim in members(study, "correct_commits"))
            for claim in members(study, name)
            if (values := stated(study.panel.votes, claim))
        ]
        for edges, quantity in (("left", "ece"), ("right", "ece_right_closed")):
            gap = Fraction(0)
            here = [line for line in lines if (line["population"], line["edges"]) == (name, edges)]
            assert [line["bin"] for line in here] == list(range(1, 11))
            for i, line in enumerate(here):
                inside = [pair for pair in judged if binned(pair[0], edges) == i]
                n, right = len(inside), sum(good for _, good in inside)
                total = sum((value for value, _ in inside), Fraction(0))
                assert (line["n"], line["correct"]) == (n, right)
                assert (line["bin_low"], line["bin_high"]) == (i / 10, (i + 1) / 10)
                assert line["mean_confidence"] == (float(total / n) if n else None)
                assert line["accuracy"] == (right / n if n else None)
                assert (line["low"], line["high"]) == (wilson(right, n) or (None, None))
                gap += abs(total - right)
            expected = float(gap / len(judged)) if judged else None
            assert (calibration[quantity, name]["n"], calibration[quantity, name]["value"]) == (len(judged), expected)


@given(groups, groups)
def test_the_rank_test_agrees_with_scipy(first: list[Fraction], second: list[Fraction]) -> None:
    """U and the normal approximation, corrected for ties and continuity, are scipy's."""
    test = mann_whitney(first, second)
    assert test is not None
    listed = [[int(6 * value) for value in side] for side in (first, second)]
    if len({*first, *second}) == 1:
        assert test.p_normal == 1.0
        return
    theirs = stats.mannwhitneyu(*listed, method="asymptotic", use_continuity=True)
    assert test.doubled_u == 2 * theirs.statistic
    assert test.pairs == len(first) * len(second)
    assert test.p_normal == pytest.approx(theirs.pvalue, rel=1e-12)


@given(groups, groups)
def test_the_permutation_p_counts_every_division(first: list[Fraction], second: list[Fraction]) -> None:
    """The permutation p is twice the smaller tail of U over all divisions of the pooled values, at most 1."""
    test = mann_whitney(first, second)
    assert test is not None
    pooled = [*first, *second]
    drawn = []
    for chosen in combinations(range(len(pooled)), len(first)):
        a = [pooled[i] for i in chosen]
        b = [value for i, value in enumerate(pooled) if i not in chosen]
        drawn.append(sum(2 * (x > y) + (x == y) for x in a for y in b))
    tails = sum(u <= test.doubled_u for u in drawn), sum(u >= test.doubled_u for u in drawn)
    assert test.p_permutation == pytest.approx(min(1, Fraction(2 * min(tails), len(drawn))), rel=1e-12)


@pytest.mark.parametrize(("m", "n"), [(1, 1), (3, 8), (28, 78), (78, 28)])
def test_without_ties_the_permutation_p_is_the_exact_one(m: int, n: int) -> None:
    """On distinct values the permutation p is scipy's exact p, also for groups as large as the paper's."""
    order = np.random.default_rng(m).permutation(m + n)
    first, second = order[:m] + 20, order[m:]
    first = first * (m + n) + np.arange(m)  # distinct from every value of the other group
    second = second * (m + n) + m + np.arange(n)
    test = mann_whitney([Fraction(int(x)) for x in first], [Fraction(int(x)) for x in second])
    theirs = stats.mannwhitneyu(first, second, method="exact")
    assert test is not None
    assert test.doubled_u == 2 * theirs.statistic
    assert test.p_permutation == pytest.approx(theirs.pvalue, rel=1e-9)


def test_with_many_ties_the_permutation_p_is_near_the_normal_one() -> None:
    """Groups of the paper's size on a few tied values: both p values agree roughly, and neither is trivial."""
    rng = np.random.default_rng(0)
    first = [Fraction(int(x), 20) for x in rng.integers(16, 20, 78)]
    second = [Fraction(int(x), 20) for x in rng.integers(15, 20, 28)]
    test = mann_whitney(first, second)
    assert test is not None
    assert test.p_permutation is not None
    assert 0.001 < test.p_normal < 0.5
    assert test.p_permutation == pytest.approx(test.p_normal, rel=0.05)


@given(groups, groups)
def test_swapping_groups_mirrors_the_test(first: list[Fraction], second: list[Fraction]) -> None:
    """Swapped groups share their p values, and their U add up to the pairs."""
    one, other = mann_whitney(first, second), mann_whitney(second, first)
    assert one is not None
    assert other is not None
    assert one.doubled_u + other.doubled_u == 2 * one.pairs
    assert one.p_normal == other.p_normal
    assert one.p_permutation == pytest.approx(other.p_permutation, rel=1e-12)


def test_an_empty_group_has_no_test_and_a_huge_one_no_permutation_p() -> None:
    """Nothing is tested against nothing; enumeration is left out where it would take too long."""
    assert mann_whitney([], [Fraction(1)]) is None
    assert mann_whitney([Fraction(1)], []) is None
    large = mann_whitney([Fraction(i) for i in range(800)], [Fraction(2 * i + 1, 2) for i in range(800)])
    assert large is not None
    assert large.p_permutation is None
    assert 0 < large.p_normal <= 1


def test_calibration_error_of_known_numbers() -> None:
    """Two commits at .9 of which one is right, and two right ones at .5: (|1.8 - 1| + |1 - 2|) / 4."""
    judged = [(Fraction(9, 10), True), (Fraction(9, 10), False), (Fraction(1, 2), True), (Fraction(1, 2), True)]
    assert expected_calibration_error(judged, 10, "left") == Fraction(9, 20)
    # in right-closed bins .9 and .5 stand one bin lower, the gaps are the same
    assert expected_calibration_error(judged, 10, "right") == Fraction(9, 20)
    assert expected_calibration_error([], 10, "left") is None
    # .85 and .9 share a bin only when .9 belongs to the bin below it
    apart = [(Fraction(85, 100), True), (Fraction(9, 10), False)]
    assert expected_calibration_error(apart, 10, "left") == Fraction(15 + 90, 200)
    assert expected_calibration_error(apart, 10, "right") == Fraction(75, 200)


def test_the_two_arithmetics_differ_at_the_threshold() -> None:
    """Three judges at .95 have a mean of .95, which compensated floats put below .95."""
    votes = ballot([["support"] * 3], [["0.95"] * 3])
    found = confidence(codes(["conflicting"]), {"panel": votes}, TAUS)
    keys: dict[str, Any] = {"population": "cpo_commits", "tau": 0.95}
    assert row(found, quantity="at_least", **keys)["k"] == 0
    assert row(found, quantity="at_least_exact", **keys)["k"] == 1
    assert exact_means(votes) == [Fraction(95, 100)]


@fewer
@given(with_order(studies(claims=claims)))
def test_the_order_of_claims_plays_no_part(drawn: tuple[Study, list[int]]) -> None:
    """Permuting claims changes no row."""
    study, order = drawn
    assert table(study.permuted(order)) == table(study)
    assert bins(study.permuted(order)) == bins(study)


@fewer
@given(studies(claims=st.integers(1, 8)).flatmap(lambda study: st.tuples(st.just(study), masks(len(study.gold)))))
def test_a_partial_panel_has_the_populations_that_are_known(drawn: tuple[Study, Mask]) -> None:
    """A population that reads unknown votes is null and has no bins; every other row is that of full knowledge."""
    study, known = drawn
    votes = hidden_votes(study.panel.votes, known)

    def seen(name: str) -> bool:
        return all(k for label, k in zip(names(study.gold), known.tolist(), strict=True) if label in NEEDS[name])

    for line, full in zip(rows(confidence(study.gold, {"panel": votes}, TAUS)), table(study), strict=True):
        assert line["partial"] == (not known.all())
        for column in ("k", "n", "value", "low", "high"):
            assert line[column] == (full[column] if seen(line["population"]) else None)
    kept = [line for line in bins(study) if seen(line["population"])]
    assert rows(confidence_bins(study.gold, {"panel": votes})) == kept


def test_systems_stand_side_by_side() -> None:
    """Each system has its own rows under its name, in the declared columns."""
    votes = {"a": ballot([["support"]]), "b": ballot([["insufficient"]])}
    found = confidence(codes(["support"]), votes, TAUS)
    assert found.schema.names == SCHEMA.names
    assert row(found, system="a", quantity="mean", population="correct_commits")["value"] == 1.0
    nothing = [line for line in rows(found) if line["system"] == "b"]
    assert {line["value"] for line in nothing} == {None}
    assert {line["n"] for line in nothing} == {0}
    by_bin = confidence_bins(codes(["support"]), votes)
    assert by_bin.schema.names == BINS.names
    assert all(line["n"] == 0 for line in rows(by_bin) if line["system"] == "b")
    assert not any(math.isnan(line["value"]) for line in rows(found) if line["value"] is not None)


SETTINGS = {"systems": {"panel/4opt": {"arm": "4opt", "judges": JUDGES}}, "taus": [*map(str, TAUS)], "bins": 10}


def test_the_program_writes_both_tables(run_step: Any, tmp_path: Path) -> None:
    """From files and settings to the rows of both tables."""
    outputs = {name: tmp_path / f"tables/{name}.parquet" for name in ("table", "bins", "values")}
    run_step("table_confidence", own(tmp_path), outputs, SETTINGS)
    assert {line["system"] for line in read(outputs["table"])} == {"panel/4opt"}
    assert len(read(outputs["bins"])) == 2 * 2 * 10


@pytest.mark.real_inputs("case_taxonomy", "averitec_certificates")
def test_the_published_numbers_of_averitec(
    project: Path, real_input: Callable[[str], Path], run_step: Any, tmp_path: Path
) -> None:
    """The partial panel gives every printed number on CPO commits but one Wilson bound, which finding V17 is about."""
    outputs = {name: tmp_path / f"tables/{name}.parquet" for name in ("table", "bins", "values")}
    run_step("table_confidence", averitec(real_input, tmp_path), outputs, SETTINGS)
    wanted = [
        line
        for line in read_published(project / "config/published/verdict.tsv")
        if (line.artifact, line.study) == ("confidence", "averitec")
    ]
    found = audit(wanted, {("averitec", "confidence"): read(outputs["table"])}, [], {}).to_pylist()
    computed = {(line["cell"], line["status"] == "match") for line in found if line["recomputed"] is not None}
    share = "confidence[system=panel/4opt;quantity=at_least;population=cpo_commits;tau="
    cells = {f"{share}{tau}].{column}" for tau in TAUS for column in ("k", "n", "low", "high")}
    mean = "confidence[system=panel/4opt;quantity=mean;population=cpo_commits]."
    assert {cell for cell, _ in computed} == cells | {f"{mean}value", f"{mean}n"}
    assert {cell for cell, agrees in computed if not agrees} == {f"{share}0.90].high"}
    for line in found:
        if line["recomputed"] is None:  # needs the panel on other gold labels; every row of the table is found
            assert line["cell"].partition("population=")[2].startswith(("correct", "commits_not_cpo"))
            assert "rows of" not in line["note"]


@pytest.mark.real_inputs("vitaminc_panel", "vitaminc_certificates")
def test_the_groups_of_vitaminc(real_input: Callable[[str], Path], run_step: Any, tmp_path: Path) -> None:
    """30 CPO commits (6 reach .95 as published, 7 exactly) state less than the 74 correct ones, clearly."""
    outputs = {name: tmp_path / f"tables/{name}.parquet" for name in ("table", "bins", "values")}
    run_step("table_confidence", vitaminc(real_input, tmp_path), outputs, SETTINGS)
    lines = read(outputs["table"])
    found = {(line["quantity"], line["population"], line["tau"]): line for line in lines}
    counts = [found[name, "cpo_commits", 0.95]["k"] for name in ("at_least", "at_least_exact")]
    assert (counts, found["mean", "cpo_commits", None]["n"]) == ([6, 7], 30)
    assert found["mean", "correct_commits", None]["n"] == 74
    assert found["mann_whitney_u", "correct_against_cpo", None]["value"] == 1585
    for kind in ("mann_whitney_p", "mann_whitney_p_permutation"):
        assert 0.0004 < found[kind, "correct_against_cpo", None]["value"] < 0.0006
