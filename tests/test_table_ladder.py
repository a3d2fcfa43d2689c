"""Tables `ladder` and `arithmetic`: rungs, thresholds, and the claims on which two arithmetics differ."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np
import oracles
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import (
    LADDER,
    Study,
    ballot,
    hidden,
    hidden_votes,
    judges_of,
    mask,
    masks,
    names,
    row,
    rows,
    same,
    stated,
    studies,
    taus,
    with_order,
)

from warrant.labels import Mask
from warrant.systems import Controlled, Decisions, decide
from warrant.tables.ladder import arithmetic_cases, controllers, ladder

MARGINS = tuple(map(Decimal, ("0", "0.5", "1")))
TAUS = LADDER
RATES = ("cov", "se", "cpo_n", "cpo_c", "acc_sr", "rec_c", "ovc_i", "false_conflict")
WITHOUT_THRESHOLD = {"panel", "conflict_if_any", "D/conflict_only", "D/insufficient_only", "D/any", "validator"}
fewer = settings(max_examples=25)  # a ladder has forty rows
partial = studies(claims=st.integers(1, 6)).flatmap(lambda study: st.tuples(st.just(study), masks(len(study.gold))))


def table(study: Study) -> list[dict[str, object]]:
    singles = {"panel": ("L1", study.panel.proposal)}
    return rows(ladder(study.gold, singles, study.panel, TAUS, MARGINS))


@fewer
@given(studies())
def test_every_number_follows_from_the_decisions(study: Study) -> None:
    """Counts and rates of a rung are those of its decisions in its arithmetic, by definition."""
    gold = names(study.gold)
    for line in table(study):
        system, arithmetic = str(line["system"]), line["arithmetic"]
        decisions = study.panel.proposal if system == "panel" else study.panel.named(system, arithmetic)  # type: ignore[arg-type]
        said = names(decisions.decision)
        assert (line["wrong"], line["commits"]) == oracles.counts("se", gold, said)
        for metric in RATES:
            value = oracles.rate(metric, gold, said)
            assert line[metric] == (None if value is None else float(value)), metric
        for metric in ("cpo_c", "acc_sr", "rec_c"):
            assert line[f"{metric}_k"] == oracles.counts(metric, gold, said)[0]
        assert (line["n"], line["partial"]) == (len(gold), False)


@fewer
@given(studies(claims=st.integers(0, 4)))
def test_every_rung_is_there_once_in_each_arithmetic(study: Study) -> None:
    """Rungs come in order, and each system has one row per arithmetic with its own threshold."""
    lines = table(study)
    assert [line["rung"] for line in lines] == sorted(str(line["rung"]) for line in lines)
    expected = {("L1", "panel", None), ("L2", "conflict_if_any", None), ("L4", "validator", None)}
    expected |= {("L4", f"D/{mode}", None) for mode in ("conflict_only", "insufficient_only", "any")}
    expected |= {("L2", f"vote_margin@{margin}", float(margin)) for margin in MARGINS}
    for tau in TAUS:
        expected |= {("L3", f"E@{tau}", float(tau)), ("L5", f"F@{tau}", float(tau))}
    for arithmetic in ("exact", "published"):
        found = [(line["rung"], line["system"], line["tau"]) for line in lines if line["arithmetic"] == arithmetic]
        assert set(found) == expected
        assert len(found) == len(expected)


@fewer
@given(studies())
def test_arithmetic_matters_only_at_confidence_thresholds(study: Study) -> None:
    """A row without a confidence threshold is the same in both arithmetics."""
    lines = table(study)
    for line in lines:
        if line["system"] in WITHOUT_THRESHOLD or str(line["system"]).startswith("vote_margin"):
            twin = [other for other in lines if other["system"] == line["system"]]
            assert all(same(line, other, but=["arithmetic"]) for other in twin)


@fewer
@given(studies())
def test_the_ladder_only_withholds(study: Study) -> None:
    """Commits fall as tau rises, F has no more than E, nor a veto or a margin more than the panel."""
    lines = table(study)
    for arithmetic in ("exact", "published"):
        commits = {str(line["system"]): line["commits"] for line in lines if line["arithmetic"] == arithmetic}
        e, f = ([commits[f"{kind}@{tau}"] for tau in TAUS] for kind in "EF")
        assert e == sorted(e, reverse=True)
        assert f == sorted(f, reverse=True)
        assert all(b <= a for a, b in zip(e, f, strict=True))
        assert all(n <= commits["panel"] for name, n in commits.items() if name != "validator")  # type: ignore[operator]
        assert commits["D/any"] <= min(commits["D/conflict_only"], commits["D/insufficient_only"])  # type: ignore[type-var,operator]


@fewer
@given(with_order(studies()))
def test_the_order_of_claims_plays_no_part(drawn: tuple[Study, list[int]]) -> None:
    """Permuting claims changes no row of the ladder."""
    study, order = drawn
    assert table(study.permuted(order)) == table(study)


@fewer
@given(studies(), st.data())
def test_the_order_of_judges_plays_no_part_but_in_ties(study: Study, data: st.DataObject) -> None:
    """Permuting judges changes no row when no ballot is tied without conflicting."""
    panel = study.panel
    clear = [not oracles.tied_without_conflicting(names(line)) for line in panel.votes.label]
    kept = [claim for claim, is_clear in enumerate(clear) if is_clear]
    study = study.permuted(kept)
    votes = judges_of(study.panel.votes, data.draw(st.permutations(range(panel.votes.label.shape[1]))))
    again = Controlled(votes, decide(votes), study.panel.verdict, study.panel.mixed, study.panel.insufficient)
    assert table(Study(study.gold, again)) == table(study)


@fewer
@given(partial)
def test_a_partial_panel_has_the_rates_that_its_known_claims_allow(drawn: tuple[Study, Mask]) -> None:
    """On a partial panel a rung's rate is that of full knowledge when the claims it needs are known, else null."""
    study, known = drawn
    votes = hidden_votes(study.panel.votes, known)
    panel = Controlled(votes, decide(votes), study.panel.verdict, study.panel.mixed, study.panel.insufficient)
    for line, full in zip(table(Study(study.gold, panel)), table(study), strict=True):
        everywhere = line["system"] == "validator" or bool(known.all())
        assert line["partial"] is not everywhere
        for metric in RATES:
            needed = [k for g, k in zip(names(study.gold), known.tolist(), strict=True) if g in oracles.NEEDS[metric]]
            assert line[metric] == (full[metric] if everywhere or all(needed) else None), metric
        if not everywhere:
            assert (line["commits"], line["wrong"]) == (None, None)


@fewer
@given(studies())
def test_without_a_validator_there_are_no_rungs_that_need_one(study: Study) -> None:
    """Without certificates L4 and L5 are absent and every other row is unchanged; without a panel, L2 and L3 too."""
    bare = Controlled(study.panel.votes, study.panel.proposal)
    assert table(Study(study.gold, bare)) == [line for line in table(study) if line["rung"] not in ("L4", "L5")]
    singles = {"panel": ("L1", study.panel.proposal)}
    assert {line["rung"] for line in rows(ladder(study.gold, singles, None, TAUS, MARGINS))} == {"L1"}
    assert controllers(None, TAUS, MARGINS) == []


@given(studies(judges=st.integers(1, 4)), st.lists(taus, unique=True, max_size=4))
def test_the_arithmetic_table_lists_exactly_the_differing_decisions(study: Study, wanted: list[Decimal]) -> None:
    """A claim is listed for E and F at tau iff its decision differs, with the means that explain why."""
    panel = study.panel
    listed = {(line["controller"], line["case_id"]): line for line in rows(arithmetic_cases(study.gold, panel, wanted))}
    expected = set()
    for tau in wanted:
        for claim, proposal in enumerate(names(panel.proposal.decision)):
            values = stated(panel.votes, claim)
            exact = oracles.mean_reaches(values, Fraction(tau))
            if proposal in oracles.DIRECTIONS and exact != oracles.float_mean_reaches(values, Fraction(tau)):
                expected.add((f"E@{_padded(tau)}", claim))
                if not panel.mixed[claim]:  # type: ignore[index]
                    expected.add((f"F@{_padded(tau)}", claim))
    assert set(listed) == expected
    for (_, claim), line in listed.items():
        values, tau = stated(panel.votes, claim), Fraction(str(line["tau"]))
        proposal = names(panel.proposal.decision)[claim]
        assert [Fraction(text) for text in line["confidences"]] == values
        total, _, parts = line["exact_mean"].partition("/")
        assert Fraction(total) / int(parts or 1) == sum(values) / len(values)
        assert line["gold"] == names(study.gold)[claim]
        assert line["exact"] == (proposal if sum(values) / len(values) >= tau else "no_commit")
        assert line["published"] == (proposal if line["float_mean"] >= line["tau"] else "no_commit")
        assert {line["exact"], line["published"]} == {proposal, "no_commit"}


def _padded(tau: Decimal) -> str:
    whole, _, digits = f"{tau.normalize():f}".partition(".")
    return f"{whole}.{digits.ljust(2, '0')}"


def test_the_known_triples_are_listed() -> None:
    """Three judges at .95, or at .85, .85 and .70, are decided differently at .95 and at .80 in the two arithmetics."""
    votes = ballot([["support"] * 3] * 2, [["0.95"] * 3, ["0.85", "0.85", "0.70"]])
    panel = Controlled(votes, decide(votes))
    found = arithmetic_cases(np.array([0, 3], dtype=np.int8), panel, TAUS)
    assert {(line["controller"], line["case_id"]) for line in rows(found)} == {("E@0.95", 0), ("E@0.80", 1)}
    assert {(line["exact"], line["published"]) for line in rows(found)} == {("support", "no_commit")}
    line = row(found, case_id=1)
    assert (line["confidences"], line["exact_mean"], line["gold"]) == (["0.85", "0.85", "0.7"], "0.8", "conflicting")


def test_a_mean_without_a_finite_decimal_is_shown_as_a_fraction() -> None:
    """An exact mean is listed without rounding, as a sum over the number of votes where decimals do not end."""
    votes = ballot([["refute"] * 3], [["0.95", "0.95", "0.950000000000000001"]])
    (line,) = rows(arithmetic_cases(np.array([1], dtype=np.int8), Controlled(votes, decide(votes)), TAUS))
    assert (line["controller"], line["exact_mean"]) == ("E@0.95", "2.850000000000000001/3")


@given(partial)
def test_unknown_claims_are_not_listed(drawn: tuple[Study, Mask]) -> None:
    """The arithmetic table of a partial panel is the full one without the unknown claims."""
    study, known = drawn
    votes = hidden_votes(study.panel.votes, known)
    panel = Controlled(votes, decide(votes), study.panel.verdict, study.panel.mixed, study.panel.insufficient)
    full = rows(arithmetic_cases(study.gold, study.panel, TAUS))
    assert rows(arithmetic_cases(study.gold, panel, TAUS)) == [line for line in full if known[line["case_id"]]]


def test_a_partial_single_keeps_its_own_mark() -> None:
    """Partial and complete systems stand side by side, each row marked for itself."""
    gold = np.array([3, 0], dtype=np.int8)
    system = Decisions(np.array([0, 0], dtype=np.int8), mask([True, True]))
    singles = {"whole": ("L0", system), "part": ("L1", hidden(system, mask([True, False])))}
    found = ladder(gold, singles, None, (), ())
    assert row(found, system="whole", arithmetic="exact")["se"] == 0.5
    part = row(found, system="part", arithmetic="exact")
    assert (part["partial"], part["se"], part["cpo_c"], part["cpo_n"]) == (True, None, 1.0, 0.5)
