"""Table `rates`: the numbers of `judges` and `veto`, with exact limits that hold their law."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest
from strategies import Study, ballot, codes, hidden, hidden_votes, masks, row, rows, studies

from warrant.labels import Mask
from warrant.systems import Controlled, Decisions, decide
from warrant.tables.judges import WITH_INTERVAL, judges
from warrant.tables.rates import rates
from warrant.tables.veto import veto

NUMBERS = ("k", "n", "rate", "low", "high")


def systems(study: Study) -> dict[str, Decisions]:
    return {"panel": study.panel.proposal}


@settings(max_examples=60)
@given(studies(claims=st.integers(0, 30), judges=st.integers(1, 3)))
def test_every_rate_of_judges_and_veto_is_there_once_with_its_numbers(study: Study) -> None:
    """Counts, rate and Wilson limits are those of the wide tables; nothing is added or left out."""
    lines = rows(rates(study.gold, systems(study), study.panel))
    (judge,) = rows(judges(study.gold, systems(study)))
    by_metric = {line["metric"]: line for line in lines if line["system"] == "panel"}
    assert set(by_metric) == {*WITH_INTERVAL, "gap"}
    for metric in WITH_INTERVAL:
        line = by_metric[metric]
        wide = [judge[name] for name in (f"{metric}_k", f"{metric}_n", metric, f"{metric}_low", f"{metric}_high")]
        assert [line[name] for name in NUMBERS] == wide
    gap = [by_metric["gap"][name] for name in NUMBERS]
    assert gap == [None, None, *(judge[f"gap{end}"] for end in ("", "_low", "_high"))]
    flags = [line for line in lines if line["system"] != "panel"]
    expected = [] if study.panel.mixed is None else rows(veto(study.gold, study.panel))
    assert [(line["system"], line["metric"], *(line[name] for name in NUMBERS)) for line in flags] == [
        (f"veto/{one['flag']}", one["population"], *(one[name] for name in NUMBERS)) for one in expected
    ]


@settings(max_examples=60)
@given(studies(claims=st.integers(0, 30), judges=st.integers(1, 3)))
def test_exact_limits_are_scipys(study: Study) -> None:
    """Limits of a rate are Clopper and Pearson's, of the gap these squared and added; without a denominator null."""
    table = rates(study.gold, systems(study), study.panel)
    for line in rows(table):
        if line["metric"] == "gap":
            sides = [row(table, system="panel", metric=metric) for metric in ("cpo_c", "ovc_i")]
            if not all(side["n"] for side in sides):
                assert [line[name] for name in ("rate", "exact_low", "exact_high")] == [None] * 3
                continue
            (p, l1, u1), (q, l2, u2) = (
                (side["rate"], *binomtest(side["k"], side["n"]).proportion_ci(method="exact")) for side in sides
            )
            assert line["exact_low"] == pytest.approx(p - q - math.hypot(p - l1, u2 - q), abs=1e-10)
            assert line["exact_high"] == pytest.approx(p - q + math.hypot(u1 - p, q - l2), abs=1e-10)
        elif not line["n"]:
            assert line["exact_low"] is line["exact_high"] is None
        else:
            interval = binomtest(line["k"], line["n"]).proportion_ci(method="exact")
            assert abs(line["exact_low"] - interval.low) < 1e-10
            assert abs(line["exact_high"] - interval.high) < 1e-10


@settings(max_examples=60)
@given(studies(claims=st.integers(1, 9)).flatmap(lambda study: st.tuples(st.just(study), masks(len(study.gold)))))
def test_a_partial_panel_has_the_rates_that_are_known(drawn: tuple[Study, Mask]) -> None:
    """A row of a partial panel is that of full knowledge, or all its numbers are null as in the wide tables."""
    study, known = drawn
    full, votes = study.panel, hidden_votes(study.panel.votes, known)
    panel = Controlled(votes, decide(votes), full.verdict, full.mixed, full.insufficient)
    shown = {"panel": hidden(full.proposal, known)}
    (judge,) = rows(judges(study.gold, shown))
    flags = {(f"veto/{one['flag']}", one["population"]): one for one in rows(veto(study.gold, panel))}
    complete = rows(rates(study.gold, systems(study), full))
    for line, other in zip(rows(rates(study.gold, shown, panel)), complete, strict=True):
        about = (line["system"], line["metric"])
        assert about == (other["system"], other["metric"])
        rate = flags[about]["rate"] if about in flags else judge[line["metric"]]
        count = flags[about]["k"] if about in flags else judge.get(f"{line['metric']}_k")
        if rate is None and count is None:
            assert all(value is None for name, value in line.items() if name not in ("system", "metric"))
        else:
            assert line == other


@given(studies(claims=st.integers(0, 9)))
def test_without_a_panel_or_a_validator_only_systems_have_rows(study: Study) -> None:
    """Rows of flags need certificates; those of systems are the same without them."""
    alone = Controlled(study.panel.votes, study.panel.proposal)
    whole = [line for line in rows(rates(study.gold, systems(study), study.panel)) if line["system"] == "panel"]
    for panel in (None, alone):
        assert rows(rates(study.gold, systems(study), panel)) == whole


def test_one_of_a_hundred() -> None:
    """At 1 of 100 the exact lower limit solves 1 - (1 - p)^100 = .025, far below Wilson's."""
    gold = codes(["support"] * 100)
    decision = codes(["conflicting"] + ["support"] * 99)
    known = np.ones(100, dtype=np.bool_)
    line = row(rates(gold, {"a": Decisions(decision, known)}, None), system="a", metric="false_conflict")
    assert (line["k"], line["n"], line["rate"]) == (1, 100, 0.01)
    assert line["exact_low"] == pytest.approx(1 - 0.975 ** (1 / 100), abs=1e-12)
    assert line["low"] > 6 * line["exact_low"]


def test_all_of_three_hits() -> None:
    """Where each of three commits on conflicting claims is flagged, the exact limits are .025^(1/3) and 1."""
    votes = ballot([["support"]] * 3)
    mixed = np.ones(3, dtype=np.bool_)
    panel = Controlled(votes, decide(votes), codes(["conflicting"] * 3), mixed, ~mixed)
    table = rates(codes(["conflicting"] * 3), {"panel": panel.proposal}, panel)
    hits = row(table, system="veto/material_mixed", metric="cpo_commits")
    assert (hits["k"], hits["n"], hits["exact_high"]) == (3, 3, 1.0)
    assert hits["exact_low"] == pytest.approx(0.025 ** (1 / 3), abs=1e-12)
