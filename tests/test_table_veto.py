"""Table `veto`: the flags' hits and false alarms, population by population."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import DIRECTIONS
from strategies import Study, ballot, codes, hidden_votes, masks, names, row, rows, studies, with_order

from warrant.intervals import wilson
from warrant.labels import Mask
from warrant.systems import Controlled, decide
from warrant.tables.veto import veto

NEEDS = {  # gold labels whose votes a population depends on
    "cpo_commits": ("conflicting",),
    "overcommits_on_insufficient": ("insufficient",),
    "correct_commits": DIRECTIONS,
    "gold_support_refute": (),
    "gold_support": (),
    "gold_refute": (),
    "gold_conflicting": (),
}
GOLD_OF = {  # of populations that no vote decides
    "gold_support_refute": DIRECTIONS,
    "gold_support": ("support",),
    "gold_refute": ("refute",),
    "gold_conflicting": ("conflicting",),
}
FLAGS = ("material_mixed", "material_insufficient")


def population(name: str, gold: str, proposal: str) -> bool:
    """Whether a claim belongs to a population."""
    return {
        "cpo_commits": gold == "conflicting" and proposal in DIRECTIONS,
        "overcommits_on_insufficient": gold == "insufficient" and proposal in DIRECTIONS,
        "correct_commits": gold in DIRECTIONS and proposal == gold,
        "gold_support_refute": gold in DIRECTIONS,
        "gold_support": gold == "support",
        "gold_refute": gold == "refute",
        "gold_conflicting": gold == "conflicting",
    }[name]


def table(study: Study) -> list[dict[str, Any]]:
    return rows(veto(study.gold, study.panel))


@given(studies(claims=st.integers(0, 9)))
def test_rates_are_flagged_claims_of_the_population(study: Study) -> None:
    """Each row counts the population and its flagged claims, with a Wilson interval; no claims, no rate."""
    lines = table(study)
    assert [(line["flag"], line["population"]) for line in lines] == [(flag, name) for flag in FLAGS for name in NEEDS]
    for line in lines:
        flagged = study.panel.mixed if line["flag"] == "material_mixed" else study.panel.insufficient
        assert flagged is not None
        claims = zip(flagged.tolist(), names(study.gold), names(study.panel.proposal.decision), strict=True)
        members = [flag for flag, gold, proposal in claims if population(line["population"], gold, proposal)]
        k, n = sum(members), len(members)
        assert (line["k"], line["n"], line["rate"]) == (k, n, k / n if n else None)
        assert (line["low"], line["high"]) == (wilson(k, n) or (None, None))
        assert line["partial"] is False


@given(with_order(studies(claims=st.integers(0, 9))))
def test_the_order_of_claims_plays_no_part(drawn: tuple[Study, list[int]]) -> None:
    """Permuting claims changes no row."""
    study, order = drawn
    assert table(study.permuted(order)) == table(study)


@given(studies(claims=st.integers(1, 7)).flatmap(lambda study: st.tuples(st.just(study), masks(len(study.gold)))))
def test_a_partial_panel_has_the_populations_that_are_known(drawn: tuple[Study, Mask]) -> None:
    """On a partial panel a population that reads unknown votes is null, and every other row is unchanged.

    Rows that read the panel's votes at all are marked partial; rows about gold labels and flags alone are not.
    """
    study, known = drawn
    votes = hidden_votes(study.panel.votes, known)
    panel = Controlled(votes, decide(votes), study.panel.verdict, study.panel.mixed, study.panel.insufficient)
    for line, full in zip(table(Study(study.gold, panel)), table(study), strict=True):
        needed = NEEDS[line["population"]]
        seen = all(k for label, k in zip(names(study.gold), known.tolist(), strict=True) if label in needed)
        assert line["partial"] == (bool(needed) and not known.all())
        for column in ("k", "n", "rate", "low", "high"):
            assert line[column] == (full[column] if seen else None)


@given(studies(claims=st.integers(1, 7)).flatmap(lambda study: st.tuples(st.just(study), masks(len(study.gold)))))
def test_missing_certificates_leave_the_populations_without_them(drawn: tuple[Study, Mask]) -> None:
    """A population with a claim whose certificate did not come is null; others are unchanged."""
    study, certified = drawn
    shown = Study(study.gold, replace(study.panel, certified=certified))
    for line, full in zip(table(shown), table(study), strict=True):
        needed = NEEDS[line["population"]] or GOLD_OF[line["population"]]
        seen = all(k for label, k in zip(names(study.gold), certified.tolist(), strict=True) if label in needed)
        assert line["partial"] == (not certified.all())
        for column in ("k", "n", "rate", "low", "high"):
            assert line[column] == (full[column] if seen else None)


def test_hits_and_false_alarms_are_told_apart() -> None:
    """A flag on a commit against conflicting evidence is a hit, one on a clear claim a false alarm."""
    votes = ballot([["support"], ["conflicting"], ["refute"], ["refute"]])
    mixed = np.array([True, True, True, False])
    panel = Controlled(votes, decide(votes), codes(["conflicting"] * 4), mixed, ~mixed)
    found = veto(codes(["conflicting", "conflicting", "support", "refute"]), panel)
    hit = row(found, flag="material_mixed", population="cpo_commits")
    alarm = row(found, flag="material_mixed", population="gold_support_refute")
    assert (hit["k"], hit["n"], alarm["k"], alarm["n"]) == (1, 1, 1, 2)
    assert row(found, flag="material_insufficient", population="correct_commits")["rate"] == 1.0


def test_a_veto_table_needs_a_validator() -> None:
    """Without certificates there are no flags to count."""
    votes = ballot([["support"]])
    with pytest.raises(ValueError, match="validator"):
        veto(codes(["support"]), Controlled(votes, decide(votes)))
