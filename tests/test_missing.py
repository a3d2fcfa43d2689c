"""Missing answers: bounds are what trying out every answer gives, and nothing that rests on one is scored."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import oracles
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import Study, ballots, indices, masks, names, rows, studies

from warrant.decimals import ONE
from warrant.errors import InputError
from warrant.headlines import headlines
from warrant.intervals import clopper_pearson
from warrant.labels import CODES, CONTRACTS, NAMES, NONE
from warrant.metrics import METRICS, ratio
from warrant.missing import MOST_MISSING, least_and_greatest, outcomes
from warrant.panel import Votes
from warrant.systems import Controlled, decide
from warrant.tables.bounds import bounds
from warrant.tables.ladder import controllers

TAUS, MARGINS = [Decimal("0.50"), Decimal("0.90")], [Decimal("0.5"), Decimal(1)]
STATED = [None, 0, ONE // 3, 9 * ONE // 10 - 1, 9 * ONE // 10, ONE]  # what a missing answer may have stated


@st.composite
def incomplete(draw: st.DrawFn) -> tuple[Study, np.ndarray, str]:
    """A study, whose answers came, and the contract. At most two of three votes on a claim are missing."""
    contract = draw(st.sampled_from(["3opt", "4opt"]))
    n, judges = draw(st.integers(1, 4)), draw(st.integers(1, 3))
    votes = draw(ballots(st.just(n), st.just(judges), [*CONTRACTS[contract], "none"]))
    answered = draw(indices(n, *[4] * judges)) > 0
    answered[~answered.any(axis=1), 0] = judges == 1 and bool(draw(st.booleans()))
    if judges == 3:
        answered[~answered.any(axis=1), 1] = True
    votes.label[~answered], votes.confidence[~answered], votes.has_confidence[~answered] = NONE, 0, False
    gold, verdict, mixed, insufficient = draw(indices(n, 4, 5, 2, 2)).T
    certified = draw(masks(n))
    known = Votes(votes.label, votes.confidence, votes.has_confidence, answered.all(axis=1))
    panel = Controlled(known, decide(known), verdict.astype(np.int8), mixed == 1, insufficient == 1, certified)
    return Study(gold.astype(np.int8), panel), answered, contract


def completions(panel: Controlled, answered: np.ndarray, contract: str, claim: int) -> Controlled:
    """One claim once for every answer that may have come: each judge its own label and confidence, any certificate."""
    missing = np.flatnonzero(~answered[claim])
    assert panel.certified is not None
    certificates: Any = list(product(range(5), (False, True), (False, True)))
    if panel.certified[claim]:
        flags = (panel.verdict, panel.mixed, panel.insufficient)
        certificates = [tuple(part[claim] for part in flags if part is not None)]
    said = [*product([CODES[name] for name in CONTRACTS[contract]], STATED), (NONE, None)]
    every = list(product(product(said, repeat=len(missing)), certificates))
    label, confidence, has = (
        np.repeat(part[[claim]], len(every), axis=0)
        for part in (panel.votes.label, panel.votes.confidence, panel.votes.has_confidence)
    )
    for place, judge in enumerate(missing):
        label[:, judge] = [answers[place][0] for answers, _ in every]
        confidence[:, judge] = [answers[place][1] or 0 for answers, _ in every]
        has[:, judge] = [answers[place][1] is not None for answers, _ in every]
    votes = Votes(label, confidence, has, np.ones(len(every), dtype=np.bool_))
    verdict, mixed, insufficient = (np.array([one[part] for _, one in every]) for part in range(3))
    return Controlled(votes, decide(votes), verdict.astype(np.int8), mixed, insufficient)


@settings(max_examples=40, deadline=None)
@given(incomplete())
def test_possible_decisions_are_those_of_every_answer_that_may_have_come(
    drawn: tuple[Study, np.ndarray, str],
) -> None:
    """Panel and every controller: a decision is possible exactly when some completion of the claim gives it."""
    study, answered, contract = drawn
    ways = outcomes(study.panel, answered, contract)
    listed = [name for _, name, _ in controllers(study.panel, TAUS, MARGINS)]
    possible = {name: ways.possible(lambda panel, name=name: panel.named(name).decision) for name in listed}
    possible["panel"] = ways.possible(lambda panel: panel.proposal.decision)
    for claim in range(len(study.gold)):
        every = completions(study.panel, answered, contract, claim)
        for name, found in possible.items():
            said = every.proposal if name == "panel" else every.named(name)
            assert set(np.flatnonzero(found[claim]).tolist()) == set(said.decision.tolist()), (name, claim)


@given(st.integers(0, 5).flatmap(lambda n: st.tuples(indices(n, 4), indices(n, *[2] * len(NAMES)))))
def test_least_and_greatest_are_those_of_every_combination(drawn: tuple[np.ndarray, np.ndarray]) -> None:
    """Against every combination of possible decisions, in fractions; those without a denominator are left out."""
    gold, chosen = drawn[0][:, 0].astype(np.int8), drawn[1] == 1
    chosen[~chosen.any(axis=1), NONE] = True
    for name, metric in METRICS.items():
        least, greatest = least_and_greatest(metric, gold, chosen)
        every = [
            oracles.rate(name, names(gold), [NAMES[code] for code in said])
            for said in product(*(np.flatnonzero(line).tolist() for line in chosen))
        ]
        values = [value for value in every if value is not None]
        if not values:
            assert (least, greatest) == ((0, 0), (0, 0))
            continue
        assert (Fraction(*least), Fraction(*greatest)) == (min(values), max(values)), name


@given(studies(claims=st.integers(1, 6), judges=st.integers(1, 3)))
def test_where_nothing_is_missing_both_bounds_are_the_rate(study: Study) -> None:
    """Least and greatest are the rate of the tables, no claim is open, and the limits are its exact interval."""
    answered = np.ones_like(study.panel.votes.has_confidence)
    ways = outcomes(study.panel, answered, "4opt")
    found = bounds(study.gold, {"panel": ways.possible(lambda panel: panel.proposal.decision)})
    for line in rows(found):
        counts = METRICS[line["metric"]].counts(study.gold, study.panel.proposal.decision, study.panel.proposal.known)
        assert counts is not None
        assert (line["least_k"], line["least_n"]) == (line["greatest_k"], line["greatest_n"]) == counts
        assert (line["least"], line["greatest"], line["open"]) == (ratio(*counts), ratio(*counts), 0)
        assert (line["low"], line["high"]) == (clopper_pearson(*counts) or (None, None))


@settings(max_examples=60, deadline=None)
@given(studies(claims=st.integers(1, 8), judges=st.integers(1, 3)), st.data())
def test_the_rate_of_the_answers_that_did_not_come_lies_between(study: Study, data: st.DataObject) -> None:
    """Hide answers and certificates of a complete study: each system's true rate is within its bounds."""
    votes = study.panel.votes
    answered = data.draw(indices(len(study.gold), *[3] * votes.label.shape[1])) > 0
    certified = data.draw(masks(len(study.gold)))
    seen = Votes(
        np.where(answered, votes.label, NONE).astype(np.int8),
        np.where(answered, votes.confidence, 0),
        votes.has_confidence & answered,
        answered.all(axis=1),
    )
    assert study.panel.verdict is not None
    shown = Controlled(
        seen,
        decide(seen),
        np.where(certified, study.panel.verdict, NONE).astype(np.int8),
        study.panel.mixed & certified,
        study.panel.insufficient & certified,
        certified,
    )
    ways = outcomes(shown, answered, "4opt")
    for _, name, _ in controllers(shown, TAUS, MARGINS):
        possible = ways.possible(lambda panel, name=name: panel.named(name).decision)
        for metric in METRICS.values():
            least, greatest = least_and_greatest(metric, study.gold, possible)
            true = metric.counts(study.gold, study.panel.named(name).decision, np.ones(len(study.gold), dtype=np.bool_))
            assert true is not None
            if true[1]:
                assert Fraction(*least) <= Fraction(*true) <= Fraction(*greatest)


def test_too_many_missing_votes_are_named() -> None:
    """One line says which case, how many, and what to do."""
    judges = MOST_MISSING + 1
    label = np.full((2, judges), NONE, dtype=np.int8)
    none = np.zeros((2, judges), dtype=np.bool_)
    votes = Votes(label, np.zeros((2, judges), dtype=np.int64), none, np.zeros(2, dtype=np.bool_))
    answered = np.array([[True] * judges, [False] * judges])
    with pytest.raises(InputError, match=f"case 1: found {judges} judges.*at most {MOST_MISSING}.*make retry"):
        outcomes(Controlled(votes, decide(votes)), answered, "4opt")


def test_a_headline_says_what_missing_answers_may_change() -> None:
    """The first sentence names the most open system and its bounds; without open claims there is none."""
    line = {"system": "panel/4opt", "metric": "cov", "claims": 80, "open": 3, "least": 0.5, "greatest": 0.6}
    override = {**line, "metric": "cpo_c", "least": 0.4, "greatest": 0.45}
    (said,) = headlines({"bounds": [line, override]})
    assert said == (
        "Answers are missing. They leave 1 system open, most of all panel/4opt on 3 of 80 claims: whatever they would "
        "have been, its share of overrides among conflicting claims lies between .400 and .450."
    )
    assert headlines({"bounds": [{**line, "open": 0}, {**override, "open": 0}]}) == []
