"""Tables `frontier` and `sweep_summary`: equal coverage, common support, mean error of a curve, its interval."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import oracles
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import Study, ballot, codes, hidden_votes, mask, names, row, rows, same, studies, with_order
from verdict_files import GRID, TYPED, own, read, vitaminc

from warrant.bootstrap import generator
from warrant.systems import Controlled, decide
from warrant.tables.frontier import COMPARED, frontier, levels, mean_over, sweep_summary

TAUS = tuple(Decimal(i) / 200 for i in range(140, 201))  # .70 to 1 by .005
HOW = ("exact", "published")
fewer = settings(max_examples=20)
some = studies(claims=st.integers(0, 14), judges=st.integers(1, 3), labels=("support", "refute", "conflicting"))


def decisions(study: Study, kind: str, how: str) -> dict[Decimal, list[str]]:
    return {tau: names(study.panel.named(f"{kind}@{tau}", how).decision) for tau in TAUS}  # type: ignore[arg-type]


def commits(said: Sequence[str]) -> int:
    return sum(label in oracles.DIRECTIONS for label in said)


def curve(study: Study, kind: str, how: str) -> dict[int, Fraction]:
    """Selective error by number of commits, where there are any."""
    gold = names(study.gold)
    found: dict[int, Fraction] = {}
    for said in decisions(study, kind, how).values():
        if commits(said):
            error = oracles.rate("se", gold, said)
            assert error is not None
            assert found.setdefault(commits(said), error) == error  # one coverage, one set of commits
    return found


def between(knots: dict[int, Fraction], at: Fraction) -> Fraction:
    """Linear interpolation."""
    if at.denominator == 1 and int(at) in knots:
        return knots[int(at)]
    below, above = max(k for k in knots if k < at), min(k for k in knots if k > at)
    return knots[below] + (knots[above] - knots[below]) * (at - below) / (above - below)


def mean_error(knots: dict[int, Fraction], low: int, high: int) -> Fraction:
    """Mean of the piecewise linear curve over [low, high]."""
    if low == high:
        return between(knots, Fraction(low))
    points = [low, *sorted(k for k in knots if low < k < high), high]
    values = [between(knots, Fraction(point)) for point in points]
    area = sum(
        ((b - a) * (x + y) / 2 for (a, x), (b, y) in pairwise(zip(points, values, strict=True))),
        Fraction(0),
    )
    return area / (high - low)


def support(e: dict[int, Fraction], f: dict[int, Fraction]) -> tuple[int, int] | None:
    if not e or not f:
        return None
    low, high = max(min(e), min(f)), min(max(e), max(f))
    return (low, high) if low <= high else None


@fewer
@given(some)
def test_the_frontier_compares_at_equal_coverage_only(study: Study) -> None:
    """A row per number of commits that both have, with their thresholds, metrics and exact differences."""
    gold = names(study.gold)
    lines = rows(frontier(study.gold, study.panel, TAUS))
    expected = []
    for how in HOW:
        e, f = decisions(study, "E", how), decisions(study, "F", how)
        shared = {commits(said) for said in e.values()} & {commits(said) for said in f.values()} - {0}
        expected += [(how, k) for k in sorted(shared)]
        for line in (line for line in lines if line["arithmetic"] == how):
            k = line["commits"]
            assert line["coverage"] == k / len(gold)
            pair = []
            for one, said in (("e", e), ("f", f)):
                taus = [tau for tau in TAUS if commits(said[tau]) == k]
                assert (line[f"tau_{one}_low"], line[f"tau_{one}_high"]) == (float(taus[0]), float(taus[-1]))
                decimals = [len(f"{tau.normalize():f}".partition(".")[2]) for tau in taus]
                roundest = taus[decimals.index(min(decimals))]
                assert line[f"tau_{one}"] == float(roundest)
                pair.append(said[taus[0]])
            for metric in COMPARED:
                a, b = (oracles.rate(metric, gold, said) for said in pair)
                assert line[f"{metric}_e"] == (None if a is None else float(a))
                assert line[f"{metric}_f"] == (None if b is None else float(b))
                assert line[f"{metric}_difference"] == (None if a is None or b is None else float(b - a))
            gain = line["cpo_c_difference"]
            assert line["cpo_c_gain"] == (None if gain is None else -gain)
            wrong, cpo = ([oracles.counts(metric, gold, said)[0] for said in pair] for metric in ("se", "cpo_n"))
            assert (line["wrong_removed"], line["cpo_removed"]) == (wrong[0] - wrong[1], cpo[0] - cpo[1])
    assert [(line["arithmetic"], line["commits"]) for line in lines] == expected


@fewer
@given(some)
def test_the_summary_is_the_mean_over_the_common_support(study: Study) -> None:
    """Levels, support and mean error are those of the curves in exact fractions; no common support, no mean."""
    found = sweep_summary(study.gold, study.panel, TAUS, 20, 1)
    n = len(study.gold)
    for how in HOW:
        e, f = curve(study, "E", how), curve(study, "F", how)
        both = support(e, f)
        means = None if both is None else (mean_error(e, *both), mean_error(f, *both))
        for name, knots in (("E", e), ("F", f), ("F-E", {k: e[k] for k in e if k in f})):
            line = row(found, controller=name, arithmetic=how)
            assert (line["levels"], line["n"], line["resamples"]) == (len(knots), n, 20)
            largest = max(knots, default=0) / n if n and name != "F-E" else None
            assert line["max_coverage"] == largest
            if both is None or means is None:
                assert {line[key] for key in ("support_low", "support_high", "mean_se", "low", "high")} == {None}
                continue
            assert (line["support_low"], line["support_high"]) == (both[0] / n, both[1] / n)
            value = {"E": means[0], "F": means[1], "F-E": means[1] - means[0]}[name]
            assert line["mean_se"] == pytest.approx(float(value), abs=1e-12)


@fewer
@given(some, st.integers(0, 3))
def test_the_interval_is_that_of_the_resampled_curves(study: Study, seed: int) -> None:
    """Every resample of claims has its own coverages, support and means; percentiles of these are the interval."""
    n, resamples = len(study.gold), 12
    found = sweep_summary(study.gold, study.panel, TAUS, resamples, seed)
    if n == 0:
        assert {line["low"] for line in rows(found)} == {None}
        return
    index = generator(seed).integers(0, n, size=(resamples, n))
    for how in HOW:
        values: list[tuple[float, float, float]] = []
        for drawn in index.tolist():
            e, f = (_resampled(study, kind, how, drawn) for kind in "EF")
            both = support(e, f)
            if both is not None:
                a, b = mean_error(e, *both), mean_error(f, *both)
                values.append((float(a), float(b), float(b - a)))
        for position, name in enumerate(("E", "F", "F-E")):
            line = row(found, controller=name, arithmetic=how)
            if line["mean_se"] is None:
                assert (line["low"], line["high"]) == (None, None)
            elif values:
                low, high = np.quantile([value[position] for value in values], [0.025, 0.975])
                assert (line["low"], line["high"]) == pytest.approx((low, high), abs=1e-12)


def _resampled(study: Study, kind: str, how: str, drawn: Sequence[int]) -> dict[int, Fraction]:
    """The curve on resampled claims, at the thresholds of the sample's own levels."""
    gold = names(study.gold)
    found: dict[int, Fraction] = {}
    for said in decisions(study, kind, how).values():
        if commits(said):
            here = [said[i] for i in drawn]
            error = oracles.rate("se", [gold[i] for i in drawn], here)
            if error is not None:
                found[commits(here)] = error
    return found


@fewer
@given(with_order(some))
def test_the_order_of_claims_plays_no_part(drawn: tuple[Study, list[int]]) -> None:
    """Permuting claims changes no row but the resampled interval."""
    study, order = drawn
    again = study.permuted(order)
    assert frontier(again.gold, again.panel, TAUS).equals(frontier(study.gold, study.panel, TAUS))
    left, right = (rows(sweep_summary(one.gold, one.panel, TAUS, 5, 0)) for one in (study, again))
    assert all(same(a, b, but=("low", "high")) for a, b in zip(left, right, strict=True))


@fewer
@given(some)
def test_without_vetoes_the_controllers_do_not_differ(study: Study) -> None:
    """When no claim is flagged F is E: every level is shared and every difference is 0."""
    nothing = mask([False] * len(study.gold))
    panel = replace(study.panel, mixed=nothing, insufficient=nothing)
    for line in rows(frontier(study.gold, panel, TAUS)):
        assert {line[f"{metric}_difference"] for metric in COMPARED} <= {0.0, None}
        assert (line["wrong_removed"], line["cpo_removed"]) == (0, 0)
    for how in HOW:
        line = row(sweep_summary(study.gold, panel, TAUS, 9, 0), controller="F-E", arithmetic=how)
        assert line["levels"] == len(levels(panel, "E", TAUS, how))  # type: ignore[arg-type]
        assert {line["mean_se"], line["low"], line["high"]} <= {0.0, None}


def test_a_known_pair_of_curves() -> None:
    """E: errors 0, 1/2, 1/3 at 1, 2, 3 commits; F, which vetoes the wrong one: 0 at 1 and 2. Support [1, 2]."""
    votes = ballot([["support"]] * 3, [["0.95"], ["0.90"], ["0.80"]])
    gold = codes(["support", "conflicting", "support"])
    flags = mask([False, True, False])
    panel = Controlled(votes, decide(votes), codes(["support"] * 3), flags, mask([False] * 3))
    found = sweep_summary(gold, panel, TAUS, 50, 0)
    e, f, both = (row(found, controller=name, arithmetic="exact") for name in ("E", "F", "F-E"))
    assert (e["levels"], f["levels"], both["levels"]) == (3, 2, 2)
    assert (e["max_coverage"], f["max_coverage"]) == (1.0, 2 / 3)
    assert (both["support_low"], both["support_high"]) == (1 / 3, 2 / 3)
    assert (e["mean_se"], f["mean_se"], both["mean_se"]) == (0.25, 0.0, -0.25)
    line = row(frontier(gold, panel, TAUS), arithmetic="exact", commits=2)
    assert (line["tau_e"], line["tau_e_low"], line["tau_e_high"]) == (0.9, 0.805, 0.9)
    assert (line["tau_f"], line["tau_f_low"], line["tau_f_high"]) == (0.7, 0.7, 0.8)
    assert (line["se_e"], line["se_f"], line["cpo_c_gain"], line["wrong_removed"]) == (0.5, 0.0, 1.0, 1)


def test_mean_over_part_of_a_curve() -> None:
    """Part of a segment, a single point, no overlap, and knots that coincide or commit nothing."""
    counts = np.array([[0.0, 2.0, 2.0, 6.0]] * 4)
    wrong = np.array([[0.0, 0.0, 0.0, 3.0]] * 4)  # errors -, 0, 0, 1/2
    low, high = np.array([2.0, 3.0, 4.0, 5.0]), np.array([6.0, 5.0, 4.0, 4.0])
    found = mean_over(counts, wrong, low, high)
    assert found[:3] == pytest.approx([0.25, 0.25, 0.25])
    assert np.isnan(found[3])


def test_nothing_committed_has_no_curve() -> None:
    """A panel that never commits has no levels, no support and no frontier."""
    votes = ballot([["conflicting"]] * 2)
    none = mask([False, False])
    panel = Controlled(votes, decide(votes), codes(["support"] * 2), none, none)
    assert rows(frontier(codes(["support", "conflicting"]), panel, TAUS)) == []
    line = row(sweep_summary(codes(["support", "conflicting"]), panel, TAUS, 10, 0), controller="E", arithmetic="exact")
    assert (line["levels"], line["max_coverage"], line["support_low"], line["mean_se"]) == (0, 0.0, None, None)


def test_a_partial_panel_and_a_missing_validator_are_refused() -> None:
    """Unknown votes are no abstentions, and without certificates there is no F."""
    votes = ballot([["support"]] * 2)
    part = hidden_votes(votes, mask([True, False]))
    flags = mask([False, False])
    gold = codes(["support", "refute"])
    for panel, reason in (
        (Controlled(part, decide(part), gold, flags, flags), "every claim"),
        (Controlled(votes, decide(votes)), "validator"),
    ):
        with pytest.raises(ValueError, match=reason):
            frontier(gold, panel, TAUS)
        with pytest.raises(ValueError, match=reason):
            sweep_summary(gold, panel, TAUS, 10, 0)


def test_the_program_writes_both_tables(run_step: Any, tmp_path: Path) -> None:
    """From files and settings to the rows of both tables."""
    outputs = {name: tmp_path / f"tables/{name}.parquet" for name in ("table", "summary")}
    settings: dict[str, Any] = {**TYPED, "grid": GRID, "bootstrap": {"resamples": 100, "seed": 1}}
    run_step("table_frontier", own(tmp_path), outputs, settings)
    assert [line["controller"] for line in read(outputs["summary"])] == ["E", "F", "F-E"] * 2
    assert {line["arithmetic"] for line in read(outputs["table"])} == {"exact", "published"}
    assert all(line["low"] <= line["high"] for line in read(outputs["summary"]))


@pytest.mark.real_inputs("vitaminc_panel", "vitaminc_certificates")
def test_vitaminc_shows_no_gain_at_equal_coverage(
    real_input: Callable[[str], Path], run_step: Any, tmp_path: Path
) -> None:
    """On VitaminC the curves' mean errors differ by about a tenth of a point; the interval covers 0."""
    outputs = {name: tmp_path / f"tables/{name}.parquet" for name in ("table", "summary")}
    settings: dict[str, Any] = {**TYPED, "grid": GRID, "bootstrap": {"resamples": 500, "seed": 20260522}}
    run_step("table_frontier", vitaminc(real_input, tmp_path), outputs, settings)
    lines = {(line["controller"], line["arithmetic"]): line for line in read(outputs["summary"])}
    assert [lines[name, "published"]["levels"] for name in ("E", "F", "F-E")] == [20, 20, 8]
    assert (lines["E", "exact"]["max_coverage"], lines["F", "exact"]["max_coverage"]) == (134 / 250, 119 / 250)
    both = lines["F-E", "published"]
    assert both["mean_se"] == pytest.approx(-0.00145, abs=0.00001)
    assert both["low"] < 0 < both["high"]
    commits = [line["commits"] for line in read(outputs["table"]) if line["arithmetic"] == "published"]
    assert commits == [25, 36, 46, 50, 63, 103, 116, 118]


def test_the_two_arithmetics_have_their_own_levels() -> None:
    """Three judges at .95 are lost above .95 in exact decimals, and at .95 already in compensated floats."""
    votes = ballot([["support"] * 3] * 2, [["0.95"] * 3, ["0.99"] * 3])
    flags = mask([False, False])
    panel = Controlled(votes, decide(votes), codes(["support"] * 2), flags, flags)
    found = frontier(codes(["support", "conflicting"]), panel, TAUS)
    ends = {how: row(found, arithmetic=how, commits=2)["tau_e_high"] for how in HOW}
    assert ends == {"exact": 0.95, "published": 0.945}
