"""Controllers: what each withholds or relabels, and what none of them may do."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import DIRECTIONS, float_mean_reaches, mean_reaches
from strategies import (
    GOLD,
    Study,
    ballot,
    ballots,
    judges_of,
    mask,
    names,
    short_decimals,
    stated,
    studies,
    taus,
    with_order,
)

from warrant.controllers import VETO_MODES, confidence_threshold, conflict_if_any, veto, vote_margin
from warrant.decimals import ONE, Arithmetic
from warrant.labels import NONE, directional
from warrant.panel import Votes, majority
from warrant.systems import Controlled, Decisions, decide, threshold_name

arithmetics = pytest.mark.parametrize("arithmetic", ["exact", "published"])
NAMED = ["conflict_if_any", *(f"D/{mode}" for mode in VETO_MODES), "validator"]
margins = st.sampled_from([Decimal(text) for text in ("0", "0.33", "0.5", "0.67", "1")]) | short_decimals
controller_names = st.one_of(
    st.sampled_from(NAMED),
    st.builds(threshold_name, st.sampled_from(["E", "F"]), taus),
    st.builds(threshold_name, st.just("vote_margin"), margins),
)


def commits(decisions: Decisions) -> set[tuple[int, str]]:
    """Claims that are acted on, with the direction."""
    return {(i, name) for i, name in enumerate(names(decisions.decision)) if name in DIRECTIONS}


@arithmetics
@given(study=studies(), tau=taus)
def test_e_withholds_exactly_the_proposals_below_the_threshold(
    arithmetic: Arithmetic, study: Study, tau: Decimal
) -> None:
    """E withholds a directional proposal whose mean confidence is below tau, and leaves everything else alone."""
    reaches = mean_reaches if arithmetic == "exact" else float_mean_reaches
    expected = [
        "no_commit" if label in DIRECTIONS and not reaches(stated(study.panel.votes, claim), Fraction(tau)) else label
        for claim, label in enumerate(names(study.panel.proposal.decision))
    ]
    assert names(study.panel.e(tau, arithmetic).decision) == expected


@arithmetics
@pytest.mark.parametrize("kind", ["e", "f"])
@given(study=studies(), pair=st.tuples(taus, taus))
def test_raising_tau_never_adds_commits(
    kind: str, arithmetic: Arithmetic, study: Study, pair: tuple[Decimal, Decimal]
) -> None:
    """The commits of E and of F at a threshold are among their commits at any lower one."""
    controller = getattr(study.panel, kind)
    assert commits(controller(max(pair), arithmetic)) <= commits(controller(min(pair), arithmetic))


@arithmetics
@given(study=studies(), tau=taus)
def test_f_commits_are_among_those_of_e(arithmetic: Arithmetic, study: Study, tau: Decimal) -> None:
    """F commits where E does and the validator sees no material conflict: never anywhere else."""
    e, f = commits(study.panel.e(tau, arithmetic)), commits(study.panel.f(tau, arithmetic))
    assert study.panel.mixed is not None
    assert f == {(claim, label) for claim, label in e if not study.panel.mixed[claim]}


@arithmetics
@given(study=studies(), tau=taus)
def test_f_is_the_veto_then_the_threshold(arithmetic: Arithmetic, study: Study, tau: Decimal) -> None:
    """F says conflicting on every directional proposal with a material conflict, whatever its confidence."""
    assert study.panel.mixed is not None
    expected = [
        "conflicting" if proposed in DIRECTIONS and mixed else with_e
        for proposed, mixed, with_e in zip(
            names(study.panel.proposal.decision),
            study.panel.mixed.tolist(),
            names(study.panel.e(tau, arithmetic).decision),
            strict=True,
        )
    ]
    assert names(study.panel.f(tau, arithmetic).decision) == expected


@pytest.mark.parametrize("kind", ["E", "F"])
@pytest.mark.parametrize(("confidences", "tau"), [(["0.95"] * 3, "0.95"), (["0.85", "0.85", "0.70"], "0.80")])
def test_the_arithmetic_decides_at_the_threshold(kind: str, confidences: list[str], tau: str) -> None:
    """E and F commit exactly, and withhold in the published arithmetic, where the mean equals tau on known triples."""
    votes = ballot([["refute"] * 3], [list(confidences)])
    panel = Controlled(votes, decide(votes), majority(votes), mask([False]), mask([True]))
    assert names(panel.named(f"{kind}@{tau}").decision) == ["refute"]
    assert names(panel.named(f"{kind}@{tau}", "published").decision) == ["no_commit"]


@arithmetics
@given(votes=ballots())
def test_a_proposal_that_nobody_vouches_for_is_withheld(arithmetic: Arithmetic, votes: Votes) -> None:
    """Without a stated confidence no directional proposal passes E, not even at a threshold of 0."""
    silent = Votes(votes.label, votes.confidence, np.zeros_like(votes.has_confidence), votes.known)
    assert not directional(confidence_threshold(majority(silent), silent, Decimal(0), arithmetic)).any()


@pytest.mark.parametrize("mode", VETO_MODES)
@given(study=studies())
def test_a_veto_relabels_flagged_proposals_only(mode: str, study: Study) -> None:
    """D relabels a directional proposal on a claim whose flag its mode reads; `any` reads mixed first."""
    mixed, insufficient = study.panel.mixed, study.panel.insufficient
    assert mixed is not None
    assert insufficient is not None
    expected = []
    for label, is_mixed, is_insufficient in zip(
        names(study.panel.proposal.decision), mixed.tolist(), insufficient.tolist(), strict=True
    ):
        vetoed = label
        if label in DIRECTIONS:
            if is_mixed and mode != "insufficient_only":
                vetoed = "conflicting"
            elif is_insufficient and mode != "conflict_only":
                vetoed = "insufficient"
        expected.append(vetoed)
    assert names(study.panel.d(mode).decision) == expected


@pytest.mark.parametrize("mode", VETO_MODES)
@given(study=studies())
def test_a_second_veto_changes_nothing(mode: str, study: Study) -> None:
    """A veto applied to its own result is that result."""
    panel = study.panel
    assert panel.mixed is not None
    assert panel.insufficient is not None
    once = panel.d(mode).decision
    assert veto(once, panel.mixed, panel.insufficient, mode).tolist() == once.tolist()


def test_unknown_veto_modes_are_refused() -> None:
    """A veto mode outside the three is an error that names them."""
    with pytest.raises(ValueError, match="conflict_only"):
        veto(np.array([0], dtype=np.int8), mask([True]), mask([True]), "mixed_only")


@given(studies())
def test_any_conflicting_vote_is_enough(study: Study) -> None:
    """Conflict-if-any says conflicting where some judge does, and repeats the proposal elsewhere."""
    expected = [
        "conflicting" if "conflicting" in names(line) else label
        for line, label in zip(study.panel.votes.label, names(study.panel.proposal.decision), strict=True)
    ]
    assert names(study.panel.any_conflict().decision) == expected


@given(studies(judges=st.integers(1, 9)), margins)
def test_vote_margins_are_exact_shares(study: Study, margin: Decimal) -> None:
    """A directional proposal passes when its lead over the runner-up, in shares of usable votes, reaches the margin."""
    expected = []
    for line, label in zip(study.panel.votes.label, names(study.panel.proposal.decision), strict=True):
        votes = [vote for vote in names(line) if vote != "none"]
        others = [votes.count(other) for other in GOLD if other != label]
        passed = label not in DIRECTIONS or Fraction(votes.count(label) - max(others), len(votes)) >= Fraction(margin)
        expected.append(label if passed else "no_commit")
    assert names(study.panel.margin(margin).decision) == expected


@given(ballots(judges=st.integers(1, 4)), st.integers(1, 4), margins)
def test_silent_judges_do_not_dilute_a_margin(votes: Votes, more: int, margin: Decimal) -> None:
    """Judges without a usable verdict, listed last, change no decision at any margin."""
    n = len(votes.known)
    joined = Votes(
        np.hstack([votes.label, np.full((n, more), NONE, dtype=np.int8)]),
        np.hstack([votes.confidence, np.full((n, more), ONE)]),
        np.hstack([votes.has_confidence, np.ones((n, more), dtype=np.bool_)]),
        votes.known,
    )
    assert (
        vote_margin(majority(joined), joined, margin).tolist() == vote_margin(majority(votes), votes, margin).tolist()
    )


@given(studies(), st.tuples(margins, margins))
def test_raising_the_margin_never_adds_commits(study: Study, pair: tuple[Decimal, Decimal]) -> None:
    """The commits at a vote margin are among those at any lower one; a margin of 0 withholds nothing."""
    assert commits(study.panel.margin(max(pair))) <= commits(study.panel.margin(min(pair)))
    assert commits(study.panel.margin(Decimal(0))) == commits(study.panel.proposal)


@given(st.data(), studies(), controller_names)
def test_the_order_of_judges_matters_to_no_controller(data: st.DataObject, study: Study, name: str) -> None:
    """Given the proposals, permuting judges changes no controller's decision."""
    panel = study.panel
    order = data.draw(st.permutations(range(panel.votes.label.shape[1])))
    again = Controlled(judges_of(panel.votes, order), panel.proposal, panel.verdict, panel.mixed, panel.insufficient)
    for arithmetic in ("exact", "published"):
        assert again.named(name, arithmetic).decision.tolist() == panel.named(name, arithmetic).decision.tolist()


@given(with_order(studies()), controller_names)
def test_the_order_of_claims_matters_to_no_controller(drawn: tuple[Study, list[int]], name: str) -> None:
    """Permuting claims permutes every controller's decisions and changes none."""
    study, order = drawn
    again = Study.permuted(study, order).panel.named(name)
    assert again.decision.tolist() == study.panel.named(name).decision[order].tolist()


@given(studies(), controller_names)
def test_no_controller_but_the_validator_makes_commits(study: Study, name: str) -> None:
    """A controller's commits are proposals of the panel; only the validator as a classifier has its own."""
    if name != "validator":
        assert commits(study.panel.named(name)) <= commits(study.panel.proposal)
    else:
        assert study.panel.named(name).decision.tolist() == study.panel.verdict.tolist()  # type: ignore[union-attr]


@given(studies(claims=st.integers(1, 8)), controller_names)
def test_controllers_change_nothing_in_place(study: Study, name: str) -> None:
    """Asking a controller leaves the panel's votes and proposals as they were."""
    before = (study.panel.votes.label.copy(), study.panel.proposal.decision.copy())
    study.panel.named(name)
    assert (study.panel.votes.label == before[0]).all()
    assert (study.panel.proposal.decision == before[1]).all()


@pytest.mark.parametrize("name", ["E", "F", "E@", "vote_margin", "D/", "D/mixed", "G@0.90", "", "panel/4opt"])
def test_names_of_no_controller_are_refused(name: str) -> None:
    """A name that no controller has is an error."""
    panel = Controlled(*_one_claim())
    with pytest.raises(ValueError, match=r"no controller|unknown veto mode"):
        panel.named(name)


@pytest.mark.parametrize("name", ["D/any", "F@0.90", "validator"])
def test_without_a_validator_there_is_no_veto(name: str) -> None:
    """Controllers that read certificates are errors when the study has none."""
    votes, proposal, *_ = _one_claim()
    with pytest.raises(ValueError, match="validator"):
        Controlled(votes, proposal).named(name)


def _one_claim() -> tuple[Votes, Decisions, np.ndarray, np.ndarray, np.ndarray]:
    votes = Votes(np.zeros((1, 1), np.int8), np.zeros((1, 1), np.int64), mask([True])[:, None], mask([True]))
    return votes, decide(votes), np.zeros(1, np.int8), mask([False]), mask([False])


@given(st.sampled_from(["E", "F", "vote_margin"]), st.one_of(taus, margins), st.integers(1, 3))
def test_a_threshold_has_one_name(kind: str, value: Decimal, more: int) -> None:
    """The table name of a controller does not depend on trailing zeros, and reads back as its threshold."""
    name = threshold_name(kind, value)
    padded = Decimal(f"{value:f}" + ("" if "." in f"{value:f}" else ".") + "0" * more)
    assert threshold_name(kind, padded) == name
    assert Decimal(name.partition("@")[2]) == value
    assert kind == "vote_margin" or len(name.partition(".")[2]) >= 2


@given(ballots(), margins)
def test_functions_and_names_agree(votes: Votes, value: Decimal) -> None:
    """A controller by name is the controller's function on the panel's proposals."""
    panel = Controlled(votes, decide(votes))
    proposal = majority(votes)
    for name, expected in [
        (threshold_name("E", value), confidence_threshold(proposal, votes, value)),
        (threshold_name("vote_margin", value), vote_margin(proposal, votes, value)),
        ("conflict_if_any", conflict_if_any(proposal, votes)),
    ]:
        assert panel.named(name).decision.tolist() == expected.tolist()
