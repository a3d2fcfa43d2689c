"""Thresholds outside their range are refused: none is silently taken for another."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pytest

from warrant.blocks import is_controller
from warrant.controllers import vote_margin
from warrant.decimals import mean_at_least
from warrant.intervals import mcnemar_exact
from warrant.panel import Votes
from warrant.systems import Controlled, decide
from warrant.tables.null import null


def votes(*labels: list[int], known: bool = True) -> Votes:
    label = np.array(labels, dtype=np.int8)
    some = np.ones(label.shape, dtype=np.bool_)
    return Votes(label, np.full(label.shape, 10**17, dtype=np.int64), some, np.full(len(label), known))


@pytest.mark.parametrize("tau", ["5", "95", "-0.1", "1.000000000000000001", "0.1234567890123456789"])
def test_a_threshold_outside_its_range_is_refused(tau: str) -> None:
    """In both arithmetics, before anything can overflow."""
    ballot = votes([0, 0, 0])
    for arithmetic in ("exact", "published"):
        with pytest.raises(ValueError, match=r"between 0 and 1|decimal places"):
            mean_at_least(ballot.confidence, ballot.usable, Decimal(tau), arithmetic)  # type: ignore[arg-type]


@pytest.mark.parametrize("margin", ["7", "-1", "1.5"])
def test_a_margin_outside_its_range_is_refused(margin: str) -> None:
    """A margin is a share of votes."""
    ballot = votes([0, 0, 0])
    with pytest.raises(ValueError, match="between 0 and 1"):
        vote_margin(decide(ballot).decision, ballot, Decimal(margin))


@pytest.mark.parametrize("margin", ["1E-18", "0.9999999999999999999", "1"])
def test_unanimous_votes_have_every_margin(margin: str) -> None:
    """Ten judges who agree lead by the whole, however the margin is written."""
    ballot = votes([1] * 10)
    assert vote_margin(decide(ballot).decision, ballot, Decimal(margin)).tolist() == [1]


@pytest.mark.parametrize("name", ["E@5", "E@95", "vote_margin@7", "F@1.1", "E@", "E@x", "E@0.1234567890123456789"])
def test_the_configuration_refuses_such_a_controller(name: str) -> None:
    """What no threshold can be is no controller's name; what is one is."""
    assert not is_controller(name)
    assert is_controller("E@0.90")
    assert is_controller("vote_margin@1")


def test_a_name_without_a_number_is_refused() -> None:
    """A controller's name ends in a number."""
    ballot = votes([0, 0, 0])
    with pytest.raises(ValueError, match="no number"):
        Controlled(ballot, decide(ballot)).named("E@abc")


def test_the_null_refuses_a_partial_panel() -> None:
    """Votes that are not in the source are not votes to withhold."""
    ballot = votes([0, 0, 0], known=False)
    gold = np.array([3], dtype=np.int8)
    flag = np.zeros(1, dtype=np.bool_)
    panel = Controlled(ballot, decide(ballot), gold, flag, flag)
    with pytest.raises(ValueError, match="every claim"):
        null(gold, panel, (Decimal("0.9"), Decimal("0.9")), [Decimal("0.9")], 100, 0)


def test_mcnemar_with_many_discordant_pairs() -> None:
    """Exact for thousands of pairs: half against half is certain, all on one side is 2^(1 - n)."""
    assert mcnemar_exact(4000, 4000) == 1
    assert mcnemar_exact(0, 1000) == 2.0**-999
