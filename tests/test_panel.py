"""The panel's majority rule, against the rule as the paper words it."""

from __future__ import annotations

from itertools import permutations, product

import numpy as np
import oracles
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import VERDICTS, ballot, ballots, claims_of, judges_of, names

from warrant.decimals import ONE
from warrant.labels import NONE
from warrant.panel import Votes, counts, majority

TRIPLES = list(product(VERDICTS, repeat=3))
UNTYPED = [label for label in VERDICTS if label != "conflicting"]


def decided(*votes: tuple[str, ...]) -> list[str]:
    return names(majority(ballot(list(votes))))


def worded(votes: tuple[str, ...]) -> str:
    """The rule for up to three judges, case by case in the paper's words."""
    usable = [vote for vote in votes if vote != "none"]
    different = set(usable)
    if not usable:
        return "none"
    if len(different) == 1:
        return usable[0]
    if len(usable) == 3 and len(different) == 2:  # two against one
        return max(different, key=usable.count)
    if "conflicting" in different:  # a three-way split that contains it, or a two-vote split
        return "conflicting"
    return usable[0]  # the first listed judge


@pytest.mark.parametrize("judges", [1, 2, 3])
def test_up_to_three_judges_follow_the_paper(judges: int) -> None:
    """On every ballot of one, two or three judges the decision is the one that the paper's words give."""
    every = list(product(VERDICTS, repeat=judges))
    assert decided(*every) == [worded(votes) for votes in every]


@given(ballots(judges=st.integers(1, 7)))
def test_any_panel_follows_the_plurality(votes: Votes) -> None:
    """A panel of any size decides for the plurality, ties to conflicting, else to the first listed judge."""
    assert names(majority(votes)) == [oracles.majority(names(line)) for line in votes.label]


def test_order_of_judges_matters_only_in_ties_without_conflicting() -> None:
    """Permuting three judges changes a decision only where the rule says that the first listed one decides."""
    base = ballot(TRIPLES)
    for order in permutations(range(3)):
        again = names(majority(judges_of(base, order)))
        for votes, before, after in zip(TRIPLES, names(majority(base)), again, strict=True):
            if not oracles.tied_without_conflicting(votes):
                assert after == before, (votes, order)
            else:
                assert after == next(votes[i] for i in order if votes[i] != "none"), (votes, order)


@given(st.data(), ballots(judges=st.integers(1, 7)))
def test_order_of_any_judges_matters_only_in_ties(data: st.DataObject, votes: Votes) -> None:
    """Permuting judges of a panel of any size changes no decision outside ties without conflicting."""
    again = majority(judges_of(votes, data.draw(st.permutations(range(votes.label.shape[1])))))
    changed = np.flatnonzero(again != majority(votes))
    assert all(oracles.tied_without_conflicting(names(votes.label[claim])) for claim in changed)


@given(st.data(), ballots())
def test_claims_are_decided_one_by_one(data: st.DataObject, votes: Votes) -> None:
    """Permuting claims permutes decisions."""
    order = data.draw(st.permutations(range(len(votes.known))))
    assert majority(claims_of(votes, order)).tolist() == majority(votes)[list(order)].tolist()


@given(st.data(), ballots(judges=st.integers(1, 5)))
def test_a_silent_judge_changes_nothing(data: st.DataObject, votes: Votes) -> None:
    """A judge without any usable verdict, wherever listed, changes no decision."""
    place = data.draw(st.integers(0, votes.label.shape[1]))
    joined = Votes(
        np.insert(votes.label, place, NONE, axis=1),
        np.insert(votes.confidence, place, ONE, axis=1),
        np.insert(votes.has_confidence, place, True, axis=1),
        votes.known,
    )
    assert majority(joined).tolist() == majority(votes).tolist()


@given(ballots(judges=st.just(1)))
def test_a_panel_of_one_is_its_judge(votes: Votes) -> None:
    """A single judge's decision is its verdict, unusable ones included."""
    assert majority(votes).tolist() == votes.label[:, 0].tolist()


@given(ballots(judges=st.integers(1, 6)))
def test_somebody_voted_for_the_decision(votes: Votes) -> None:
    """A decision is a label that some judge gave; without any usable vote it is none."""
    for line, decision in zip(votes.label, names(majority(votes)), strict=True):
        assert decision in names(line)
        assert (decision == "none") == (set(names(line)) == {"none"})


@given(ballots(judges=st.integers(1, 5), labels=UNTYPED))
def test_three_options_never_yield_conflicting(votes: Votes) -> None:
    """A panel whose judges cannot say conflicting never decides so."""
    assert "conflicting" not in names(majority(votes))


@given(ballots(judges=st.integers(1, 6)))
def test_every_usable_vote_is_counted_once(votes: Votes) -> None:
    """The tally of a claim sums to its usable votes, label by label."""
    tally = counts(votes)
    for line, row in zip(votes.label, tally.tolist(), strict=True):
        assert row == [names(line).count(label) for label in VERDICTS[:4]]


@pytest.mark.parametrize("broken", ["label", "confidence", "has_confidence", "known"])
def test_arrays_that_do_not_fit_are_refused(broken: str) -> None:
    """Votes are refused unless every array is about the same claims and judges."""
    good = ballot([["support", "refute"], ["none", "refute"]])
    arrays = {name: getattr(good, name) for name in ("label", "confidence", "has_confidence", "known")}
    with pytest.raises(ValueError, match="unequal shapes"):
        Votes(**{**arrays, broken: arrays[broken][:1]})
