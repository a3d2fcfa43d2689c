"""Tables `risk` and `risk_choices`: the choice on one half, what the other shows, and how often it collapses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import oracles
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import LADDER, Study, ballot, codes, hidden_votes, mask, names, row, rows, studies
from verdict_files import GRID, TYPED, own, read, vitaminc

from warrant.splits import calibration_halves
from warrant.systems import Controlled, decide
from warrant.tables.risk import CHOICES, SCHEMA, choose, grid, risk

MARGINS = tuple(map(Decimal, ("0", "0.5", "1")))
ALPHAS = tuple(map(Decimal, ("0.10", "0.20", "0.30")))
HOW = ("exact", "published")
SPLITS = 9
fewer = settings(max_examples=20)
some = studies(claims=st.integers(0, 14), judges=st.integers(1, 3))


def points(study: Study, how: str) -> list[tuple[str, list[str], int]]:
    """Grid points with their decisions and how many decide alike, the first of those alike."""
    named = ["conflict_if_any", *(f"vote_margin@{margin}" for margin in MARGINS), *(f"E@{tau}" for tau in LADDER)]
    if study.panel.mixed is not None:
        named += ["D/conflict_only", "D/insufficient_only", "D/any", *(f"F@{tau}" for tau in LADDER)]
    found = [("panel", names(study.panel.proposal.decision))]
    found += [(name, names(study.panel.named(name, how).decision)) for name in named]  # type: ignore[arg-type]
    tally = Counter(tuple(said) for _, said in found)
    first: dict[tuple[str, ...], str] = {}
    for name, said in found:
        first.setdefault(tuple(said), name)
    return [(name, list(said), tally[said]) for said, name in first.items()]


def best(gold: Sequence[str], candidates: Sequence[tuple[str, list[str], int]], bound: Fraction) -> str | None:
    """The candidate with the most commits within the bound, then the fewest CPO, then the earliest."""
    chosen: tuple[int, int, str] | None = None
    for name, said, _ in candidates:
        cpo, n = oracles.counts("cpo_n", gold, said)
        commits, _ = oracles.counts("cov", gold, said)
        within = n == 0 or Fraction(cpo, n) <= bound
        if within and (chosen is None or (-commits, cpo) < chosen[:2]):
            chosen = (-commits, cpo, name)
    return None if chosen is None else chosen[2]


def run(study: Study, seed: int = 3) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    table, choices = risk(study.gold, study.panel, LADDER, MARGINS, ALPHAS, SPLITS, seed)
    assert (table.schema.names, choices.schema.names) == (SCHEMA.names, CHOICES.names)
    return rows(table), rows(choices)


def average(values: Sequence[Fraction | None]) -> float | None:
    defined = [value for value in values if value is not None]
    return float(sum(defined, Fraction(0)) / len(defined)) if defined else None


@fewer
@given(some, st.integers(0, 3))
def test_every_number_follows_from_the_splits(study: Study, seed: int) -> None:
    """Choices, realised rates and violations are those of choosing by hand on every recorded split."""
    gold = names(study.gold)
    halves = calibration_halves(range(len(gold)), gold, seed, SPLITS).tolist()
    summary, choices = run(study, seed)
    for how in HOW:
        candidates = points(study, how)
        said = {name: decision for name, decision, _ in candidates}
        for alpha in ALPHAS:
            picked: list[str] = []
            rates: dict[str, list[Fraction | None]] = {"before": [], "after": [], "cov": [], "se": []}
            for half in halves:
                inside = [i for i, chosen in enumerate(half) if chosen]
                outside = [i for i, chosen in enumerate(half) if not chosen]
                here = [(name, [decision[i] for i in inside], k) for name, decision, k in candidates]
                name = best([gold[i] for i in inside], here, Fraction(alpha))
                picked.append(name or "abstain")
                decision = said[name] if name else ["no_commit"] * len(gold)
                for key, metric, part in (
                    ("before", "cpo_n", inside),
                    ("after", "cpo_n", outside),
                    ("cov", "cov", outside),
                    ("se", "se", outside),
                ):
                    rates[key].append(oracles.rate(metric, [gold[i] for i in part], [decision[i] for i in part]))
            (line,) = [x for x in summary if (x["arithmetic"], x["alpha"]) == (how, float(alpha))]
            tally = Counter(picked)
            order = [*said, "abstain"]
            winner = max(order, key=lambda name: (tally[name], -order.index(name)))
            assert (line["most_chosen"], line["most_chosen_k"]) == (winner, tally[winner])
            assert line["most_chosen_share"] == tally[winner] / SPLITS
            assert (line["chosen"], line["configurations"], line["splits"]) == (len(tally), len(candidates), SPLITS)
            assert line["without_choice"] == tally["abstain"]
            means = ("cpo_n_calibration", "before"), ("cpo_n", "after"), ("coverage", "cov"), ("se", "se")
            for column, key in means:
                assert line[column] == average(rates[key]), column
            after = [rate for rate in rates["after"] if rate is not None]
            violations = sum(rate > Fraction(alpha) for rate in after)
            assert (line["violations"], line["violation_rate"]) == (violations, violations / SPLITS if after else None)
            if after:
                ends = np.quantile([float(rate) for rate in after], [0.05, 0.95])
                assert (line["cpo_n_p05"], line["cpo_n_p95"]) == pytest.approx(tuple(ends))
            listed = [x for x in choices if (x["arithmetic"], x["alpha"]) == (how, float(alpha))]
            assert {x["configuration"]: x["k"] for x in listed} == dict(tally)
            assert all(x["share"] == x["k"] / SPLITS and x["splits"] == SPLITS for x in listed)
            for x in listed:
                decision = said.get(x["configuration"], ["no_commit"] * len(gold))
                for column, metric in (("coverage", "cov"), ("cpo_n", "cpo_n")):
                    assert x[column] == float(oracles.rate(metric, gold, decision) or 0)
                alike = {name: k for name, _, k in candidates}.get(x["configuration"], 0)
                assert x["alike"] == alike


@fewer
@given(some)
def test_the_bound_holds_on_the_half_that_chose(study: Study) -> None:
    """The mean CPO_N of the calibration halves is within the bound, and a looser bound covers no less there."""
    summary, _ = run(study)
    for line in summary:
        assert line["cpo_n_calibration"] is None or line["cpo_n_calibration"] <= line["alpha"]
    for how in HOW:
        alike = [line["without_choice"] for line in summary if line["arithmetic"] == how]
        assert alike == sorted(alike, reverse=True)


@fewer
@given(some)
def test_a_bound_that_never_binds_chooses_the_most_coverage(study: Study) -> None:
    """Under a bound of 1 the choice is a grid point with the panel's own coverage, on every split."""
    table, choices = risk(study.gold, study.panel, LADDER, MARGINS, [Decimal(1)], SPLITS, 0)
    proposed = oracles.rate("cov", names(study.gold), names(study.panel.proposal.decision))
    for how in HOW:
        line = row(table, arithmetic=how)
        assert (line["violations"], line["without_choice"]) == (0, 0)
    # on a half, a grid point may tie with the panel and have fewer CPO commits; none can commit on more
    assert all(line["coverage"] <= float(proposed or 0) for line in rows(choices))


def test_full_collapse_of_a_panel_without_conflict() -> None:
    """Without gold-conflicting claims every bound is met by the panel itself: one configuration, no violation."""
    votes = ballot([["support"]] * 6, [["0.9"]] * 6)
    panel = Controlled(votes, decide(votes))
    table, choices = risk(codes(["support", "refute"] * 3), panel, LADDER, MARGINS, ALPHAS, 5, 0)
    for line in rows(table):
        assert (line["most_chosen"], line["most_chosen_share"], line["chosen"]) == ("panel", 1.0, 1)
        assert (line["cpo_n"], line["violations"], line["coverage"], line["se"]) == (0.0, 0, 1.0, pytest.approx(0.5))
    # conflict-if-any, three margins and E at .80, .85 and .90 decide as the panel does
    assert {line["alike"] for line in rows(choices)} == {8}


def test_no_grid_point_within_the_bound_means_abstaining() -> None:
    """When even the strictest controller commits on every conflicting claim, nothing is committed."""
    votes = ballot([["support"]] * 8, [["1"]] * 8)
    panel = Controlled(votes, decide(votes))
    table, choices = risk(codes(["conflicting"] * 8), panel, LADDER, MARGINS, ALPHAS, 4, 0)
    for line in rows(table):
        assert (line["most_chosen"], line["without_choice"], line["coverage"]) == ("abstain", 4, 0.0)
        assert (line["cpo_n"], line["se"], line["violations"]) == (0.0, None, 0)
    assert {(line["configuration"], line["alike"], line["cpo_n"]) for line in rows(choices)} == {("abstain", 0, 0.0)}


def test_the_choice_breaks_ties_by_cpo_and_then_by_place() -> None:
    """Most commits within the bound; of equals the fewest CPO commits, of those the earliest; -1 when none is."""
    commits = np.array([[5, 4, 4, 4], [3, 3, 3, 3], [1, 1, 1, 1]])
    cpo = np.array([[3, 2, 1, 1], [1, 1, 1, 1], [4, 4, 4, 4]])
    assert choose(commits, cpo, np.array([10, 10, 10]), Decimal("0.2")).tolist() == [2, 0, -1]
    # the bound is exact: 3 of 10 is within .3, though 10 * .3 in floats is not always 3
    assert choose(commits, cpo, np.array([10, 10, 10]), Decimal("0.3")).tolist() == [0, 0, -1]
    assert choose(commits[:1], cpo[:1], np.array([10]), Decimal("0.29")).tolist() == [2]


def test_halves_depend_on_the_seed_alone() -> None:
    """The same seed gives the same tables, another seed other splits."""
    rng = np.random.default_rng(5)
    labels = [["support", "refute", "insufficient", "conflicting"][i] for i in rng.integers(0, 4, 60)]
    stated = [[f"0.{i}"] for i in rng.integers(70, 99, 60)]
    votes = ballot([[name] for name in labels], stated)
    gold = codes([["support", "conflicting"][i] for i in rng.integers(0, 2, 60)])
    panel = Controlled(votes, decide(votes))
    one, again, other = (risk(gold, panel, LADDER, MARGINS, ALPHAS, 20, seed)[0] for seed in (1, 1, 2))
    assert one.equals(again)
    assert not one.equals(other)


def test_the_grid_without_a_validator_has_no_vetoes() -> None:
    """D and F need certificates."""
    votes = ballot([["support"], ["refute"]], [["0.81"], ["0.91"]])
    found = grid(Controlled(votes, decide(votes)), LADDER, MARGINS, "exact")
    assert [one.name for one in found] == ["panel", "E@0.85", "E@0.95"]
    assert [one.alike for one in found] == [6, 2, 1]


def test_a_partial_panel_and_no_split_are_refused() -> None:
    """Coverage needs every claim, and a summary at least one split."""
    votes = hidden_votes(ballot([["support"]] * 2), mask([True, False]))
    with pytest.raises(ValueError, match="every claim"):
        risk(codes(["support"] * 2), Controlled(votes, decide(votes)), LADDER, MARGINS, ALPHAS, 2, 0)
    whole = ballot([["support"]])
    with pytest.raises(ValueError, match="splits"):
        risk(codes(["support"]), Controlled(whole, decide(whole)), LADDER, MARGINS, ALPHAS, 0, 0)


SETTINGS: dict[str, Any] = {
    **TYPED,
    "grid": GRID,
    "vote_margins": ["0", "0.5", "1"],
    "alphas": ["0.10", "0.20", "0.30"],
    "splits": 50,
    "seed": 20260522,
}


def test_the_program_writes_both_tables(run_step: Any, tmp_path: Path) -> None:
    """From files and settings to a row per bound and arithmetic, and the choices behind it."""
    outputs = {name: tmp_path / f"tables/{name}.parquet" for name in ("table", "choices")}
    run_step("table_risk", own(tmp_path), outputs, SETTINGS)
    assert [line["alpha"] for line in read(outputs["table"])] == [0.1, 0.2, 0.3] * 2
    chosen = [line["k"] for line in read(outputs["choices"]) if (line["arithmetic"], line["alpha"]) == ("exact", 0.1)]
    assert sum(chosen) == 50


@pytest.mark.real_inputs("vitaminc_panel", "vitaminc_certificates")
def test_vitaminc_collapses_to_the_panel(real_input: Callable[[str], Path], run_step: Any, tmp_path: Path) -> None:
    """The paper's negative result: from .20 on the bound never binds; at .10 it does, and often fails afterwards."""
    outputs = {name: tmp_path / f"tables/{name}.parquet" for name in ("table", "choices")}
    run_step("table_risk", vitaminc(real_input, tmp_path), outputs, SETTINGS)
    for line in read(outputs["table"]):
        if line["alpha"] >= 0.2:
            assert (line["most_chosen"], line["most_chosen_share"], line["violations"]) == ("panel", 1.0, 0)
        else:
            assert line["most_chosen_share"] < 0.6
            assert line["cpo_n_calibration"] < line["cpo_n"]
            assert line["violation_rate"] > 0.2
