"""Unanimity, majority and first rounds against brute force."""

from __future__ import annotations

from itertools import product

import numpy as np
from debates import slow_majority, studies
from hypothesis import given
from hypothesis import strategies as st

from warrant.consensus import first_round, majority, unanimous
from warrant.panel_study import Study


@given(studies())
def test_unanimity_is_one_answer_alone(study: Study) -> None:
    """Agents are unanimous exactly where their votes are one option; a single agent always is."""
    found = unanimous(study.beliefs.vote)
    for q, t in product(range(found.shape[0]), range(found.shape[1])):
        assert found[q, t] == (len(set(study.beliefs.vote[q, t].tolist())) == 1)
    assert len(study.agents) > 1 or found.all()


@given(studies())
def test_the_majority_has_the_most_votes_then_the_pool_then_the_first(study: Study) -> None:
    """The majority is brute force's, and the unanimous answer where there is one."""
    votes = study.beliefs.vote
    found = majority(votes, study.uniform)
    for q, t in product(range(found.shape[0]), range(found.shape[1])):
        assert found[q, t] == slow_majority(votes[q, t].tolist(), study.uniform[q, t].tolist())
    agree = unanimous(votes)
    assert (found[agree] == votes[agree][:, 0]).all()


def test_ties_of_a_majority_are_broken_as_stated() -> None:
    """Of options with equal votes the more probable wins, else the first; no probability outweighs a vote."""
    pooled = np.array([[[10, 60, 30]], [[40, 20, 40]], [[5, 5, 90]]])
    votes = np.array([[[0, 1, 2]], [[2, 1, 0]], [[0, 0, 2]]])
    assert majority(votes, pooled).tolist() == [[1], [0], [0]]


@given(st.lists(st.lists(st.booleans(), min_size=3, max_size=3), min_size=1, max_size=5))
def test_the_first_round_is_the_first_or_never(event: list[list[bool]]) -> None:
    """The first round in which an event holds, -1 where it never does."""
    expected = [line.index(True) if True in line else -1 for line in event]
    assert first_round(np.array(event)).tolist() == expected
