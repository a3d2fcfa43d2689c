"""Confidences as exact decimals, and the two arithmetics at a threshold."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from oracles import float_mean_reaches, mean_reaches
from strategies import ballot, ballots, claims_of, judges_of, short_decimals, stated, taus

from warrant.decimals import CONFIDENCE, ONE, Arithmetic, column_units, float_means, from_units, mean_at_least, to_units
from warrant.panel import Votes

ARITHMETICS: tuple[Arithmetic, ...] = ("exact", "published")
numbers = st.builds(
    lambda digits, exponent: Decimal(digits).scaleb(exponent), st.integers(-(10**20), 10**20), st.integers(-24, 4)
)
arithmetics = pytest.mark.parametrize("arithmetic", ARITHMETICS)


def reached(votes: Votes, tau: Decimal, arithmetic: Arithmetic = "exact") -> list[bool]:
    return mean_at_least(votes.confidence, votes.has_confidence & votes.usable, tau, arithmetic).tolist()


@given(numbers)
@example(Decimal("0E-40"))
@example(Decimal("1E-19"))
@example(Decimal("1E-18"))
@example(Decimal("-0.5"))
def test_units_are_exact_or_refused(number: Decimal) -> None:
    """A decimal becomes exactly 10^18 times itself, and is refused when that is not an integer."""
    units = Fraction(number) * ONE
    if units.denominator == 1:
        assert to_units(number) == units
    else:
        with pytest.raises(ValueError, match="more than 18 decimal places"):
            to_units(number)


@given(st.integers(0, 9 * ONE))
def test_units_round_trip(units: int) -> None:
    """Units become a decimal without trailing zeros and come back unchanged."""
    number = from_units(units)
    assert to_units(number) == units
    assert "." not in f"{number:f}" or not f"{number:f}".endswith("0")


@pytest.mark.parametrize("text", ["NaN", "sNaN", "Infinity", "-Infinity"])
def test_only_numbers_have_units(text: str) -> None:
    """What is not a finite number is refused."""
    with pytest.raises(ValueError, match="not a finite number"):
        to_units(Decimal(text))


def test_absurd_exponents_are_refused_without_building_the_power() -> None:
    """A number with a huge exponent of either sign is refused."""
    for text in ("1E+999999999", "1E-999999999"):
        with pytest.raises(ValueError, match=r"too large|decimal places"):
            to_units(text)


@given(st.lists(st.none() | st.integers(0, ONE).map(from_units), max_size=8))
def test_a_column_keeps_every_decimal_and_every_gap(values: list[Decimal | None]) -> None:
    """A decimal128 column gives the units of its values and a mask of the present ones."""
    units, present = column_units(pa.chunked_array([pa.array(values, type=CONFIDENCE)]))
    assert [from_units(unit) if here else None for unit, here in zip(units.tolist(), present, strict=True)] == values
    assert units[~present].tolist() == [0] * int((~present).sum())


@given(ballots(judges=st.integers(1, 14)), taus)
def test_exact_thresholds_are_those_of_fractions(votes: Votes, tau: Decimal) -> None:
    """Exactly, a mean reaches tau where the fraction does, for any number of judges (more than nine included)."""
    expected = [mean_reaches(stated(votes, claim), Fraction(tau)) for claim in range(len(votes.known))]
    assert reached(votes, tau) == expected


@given(ballots(judges=st.integers(1, 14)), taus)
def test_published_thresholds_are_those_of_sums_rounded_once(votes: Votes, tau: Decimal) -> None:
    """In the published arithmetic the sum of the doubles is rounded once, then divided, then compared."""
    expected = [float_mean_reaches(stated(votes, claim), Fraction(tau)) for claim in range(len(votes.known))]
    assert reached(votes, tau, "published") == expected


@given(st.lists(st.tuples(*[st.integers(0, 100)] * 3), min_size=1, max_size=20))
def test_published_means_are_those_of_compensated_summation(triples: list[tuple[int, int, int]]) -> None:
    """On three stated hundredths the published mean is Neumaier's compensated sum, divided by three."""
    votes = ballot([["support"] * 3] * len(triples), [[str(Decimal(i).scaleb(-2)) for i in line] for line in triples])
    assert float_means(votes.confidence, votes.usable) == [neumaier([i / 100 for i in line]) / 3 for line in triples]


def neumaier(values: list[float]) -> float:
    """Python 3.12's float `sum`."""
    total = compensation = 0.0
    for value in values:
        after = total + value
        compensation += (total - after) + value if abs(total) >= abs(value) else (value - after) + total
        total = after
    return total + compensation


@given(ballots(judges=st.integers(1, 12)), taus)
def test_arithmetics_differ_only_at_the_threshold(votes: Votes, tau: Decimal) -> None:
    """Both arithmetics agree unless the exact mean is within 1e-12 of tau."""
    for claim, (exact, published) in enumerate(zip(reached(votes, tau), reached(votes, tau, "published"), strict=True)):
        values = stated(votes, claim)
        if exact != published:
            assert abs(sum(values) / len(values) - Fraction(tau)) <= Fraction(1, 10**12)


@pytest.mark.parametrize(
    ("confidences", "tau"),
    [
        (["0.95", "0.95", "0.95"], "0.95"),
        (["0.85", "0.85", "0.70"], "0.80"),
        (["0.70", "0.85", "0.85"], "0.80"),
    ],
)
def test_means_that_equal_the_threshold_are_lost_in_floats(confidences: list[str], tau: str) -> None:
    """A mean equal to tau reaches it exactly and misses it in the published arithmetic, on the known triples."""
    votes = ballot([["support"] * 3], [list(confidences)])
    assert reached(votes, Decimal(tau)) == [True]
    assert reached(votes, Decimal(tau), "published") == [False]


@arithmetics
@given(votes=ballots(judges=st.integers(1, 12)), pair=st.tuples(taus, taus))
def test_a_higher_threshold_is_reached_less_often(
    arithmetic: Arithmetic, votes: Votes, pair: tuple[Decimal, Decimal]
) -> None:
    """What reaches a threshold reaches every lower one."""
    high, low = reached(votes, max(pair), arithmetic), reached(votes, min(pair), arithmetic)
    assert all(below or not above for above, below in zip(high, low, strict=True))


@arithmetics
@given(data=st.data(), votes=ballots(judges=st.integers(1, 12)), tau=taus)
def test_the_order_of_judges_plays_no_part(
    arithmetic: Arithmetic, data: st.DataObject, votes: Votes, tau: Decimal
) -> None:
    """Permuting judges changes no mean and no threshold."""
    again = judges_of(votes, data.draw(st.permutations(range(votes.label.shape[1]))))
    assert reached(again, tau, arithmetic) == reached(votes, tau, arithmetic)
    assert float_means(again.confidence, again.has_confidence & again.usable) == float_means(
        votes.confidence, votes.has_confidence & votes.usable
    )


@arithmetics
@given(data=st.data(), votes=ballots(), tau=taus)
def test_claims_are_decided_one_by_one(arithmetic: Arithmetic, data: st.DataObject, votes: Votes, tau: Decimal) -> None:
    """Permuting claims permutes what is reached."""
    order = data.draw(st.permutations(range(len(votes.known))))
    before = reached(votes, tau, arithmetic)
    assert reached(claims_of(votes, order), tau, arithmetic) == [before[i] for i in order]


@arithmetics
@given(votes=ballots(judges=st.integers(1, 9)), more=st.integers(1, 6), tau=taus)
def test_unusable_confidences_count_for_nothing(arithmetic: Arithmetic, votes: Votes, more: int, tau: Decimal) -> None:
    """Judges without a usable confidence, enough of them to leave int64, change no decision."""
    n = len(votes.known)
    confidence = np.hstack([votes.confidence, np.full((n, more), ONE)])
    usable = np.hstack([votes.has_confidence & votes.usable, np.zeros((n, more), dtype=np.bool_)])
    assert mean_at_least(confidence, usable, tau, arithmetic).tolist() == reached(votes, tau, arithmetic)


@arithmetics
@given(votes=ballots(), tau=taus)
def test_nothing_stated_reaches_nothing(arithmetic: Arithmetic, votes: Votes, tau: Decimal) -> None:
    """Without a usable confidence there is no mean, and not even a threshold of 0 is reached."""
    usable = np.zeros_like(votes.usable)
    assert not mean_at_least(votes.confidence, usable, tau, arithmetic).any()
    assert float_means(votes.confidence, usable) == [None] * len(votes.known)


@pytest.mark.parametrize("judges", [8, 9, 10, 11, 30])
def test_certain_judges_reach_certainty(judges: int) -> None:
    """Any number of judges at confidence 1 reach tau 1, and one of them a single unit short does not."""
    certain = np.full((1, judges), ONE)
    usable = np.ones((1, judges), dtype=np.bool_)
    assert mean_at_least(certain, usable, Decimal(1)).tolist() == [True]
    certain[0, judges // 2] -= 1
    assert mean_at_least(certain, usable, Decimal(1)).tolist() == [False]


@given(short_decimals, taus, st.integers(1, 40))
def test_equal_confidences_reach_the_thresholds_up_to_their_own(said: Decimal, tau: Decimal, judges: int) -> None:
    """However many judges there are, the exact mean of equal confidences is that confidence."""
    votes = ballot([["refute"] * judges], [[str(said)] * judges])
    assert reached(votes, tau) == [said >= tau]
    assert reached(votes, said) == [True]
    if said < 1:
        assert reached(votes, said + Decimal("1E-18")) == [False]
