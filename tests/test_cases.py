"""The case browser: tags count what the tables count; without leave no word of a source is in a record."""

from __future__ import annotations

import json
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import LADDER, Study, row, rows, studies

from warrant.cases import TAGS, Source, records
from warrant.decimals import ONE
from warrant.labels import CONFLICTING, NAMES, NONE, directional
from warrant.systems import Decisions
from warrant.tables.ladder import arithmetic_cases, controllers, ladder
from warrant.tables.veto import veto

MARGINS = [Decimal("0.5")]
SECRET = "a word of the source"


def source(study: Study) -> Source:
    """A sample and two arms that say SECRET wherever they say anything."""
    sample = [
        {"stratum": "s", "gold": NAMES[gold], "text": f"{SECRET} {case}", "evidence": [SECRET]}
        for case, gold in enumerate(study.gold.tolist())
    ]
    answer: dict[str, Any] = {
        "model": "a", "confidence": Decimal("0.90"), "round": 0, "replicate": 0, "parse_status": "ok", "reason": None,
        "reasoning": SECRET, "text": SECRET, "verdict": "support",
    }  # fmt: skip
    subclaim = {
        "text": SECRET,
        "material": True,
        "evidence_state": "mixed",
        "evidence_ids": ["E1", SECRET],
        "rationale": SECRET,
    }
    certificate = {**answer, "subclaims": [subclaim], "stated_verdict": "conflicting"}
    arms = {
        "4opt": [{**answer, "case_id": case} for case in range(len(sample))],
        "certificate": [{**certificate, "case_id": case} for case in range(len(sample))],
    }
    return Source(sample, arms, study.panel, LADDER, MARGINS)


@settings(max_examples=80)
@given(studies(claims=st.integers(0, 12), judges=st.integers(1, 3)))
def test_tags_count_what_the_tables_count(study: Study) -> None:
    """CPO commits, wrong commits, arithmetic cases and vetoes of CPO commits; and every controller's decision."""
    found = records(source(study), study.gold, True)
    known, proposal = study.panel.votes.known, study.panel.proposal.decision
    committed = directional(proposal) & known
    assert [case["id"] for case in found if "cpo" in case["tags"]] == np.flatnonzero(
        committed & (study.gold == CONFLICTING)
    ).tolist()
    assert [case["id"] for case in found if "wrong" in case["tags"]] == np.flatnonzero(
        committed & (proposal != study.gold)
    ).tolist()
    different = {row["case_id"] for row in rows(arithmetic_cases(study.gold, study.panel, LADDER))}
    assert {case["id"] for case in found if "arithmetic" in case["tags"]} == different
    for case in found:
        assert set(case["tags"]) <= set(TAGS)
        assert ("panel" in case) == bool(known[case["id"]])
        for _, name, _ in controllers(study.panel, LADDER, MARGINS) if "panel" in case else ():
            decided = [NAMES[study.panel.named(name, each).decision[case["id"]]] for each in ("exact", "published")]
            assert case["controllers"][name] == list(dict.fromkeys(decided))
        votes = {vote for vote in study.panel.votes.label[case["id"]].tolist() if vote != NONE}
        assert ("disagreeing" in case["tags"]) == (len(votes) > 1 and bool(known[case["id"]]))
        assert "rescued" not in case["tags"] or {"vetoed", "wrong"} <= set(case["tags"])
    if study.panel.mixed is not None and known.all():
        (hit,) = [row for row in rows(veto(study.gold, study.panel))
                  if (row["flag"], row["population"]) == ("material_mixed", "cpo_commits")]  # fmt: skip
        assert hit["k"] == sum(bool(case.get("mixed")) for case in found if "cpo" in case["tags"])


@settings(max_examples=40)
@given(studies(claims=st.integers(0, 12), judges=st.integers(1, 3)))
def test_tags_count_what_the_ladder_counts(study: Study) -> None:
    """CPO and wrong commits of the panel's own rung; vetoed and rescued are what D/any takes from them."""
    found = records(source(study), study.gold, True)
    table = ladder(study.gold, {"panel": ("L1", study.panel.proposal)}, study.panel, LADDER, MARGINS)
    proposal, vetoed = (row(table, system=name, arithmetic="exact") for name in ("panel", "D/any"))
    tagged = {tag: sum(tag in case["tags"] for case in found) for tag in TAGS}
    assert tagged["cpo"] == proposal["cpo_c_k"]
    assert tagged["wrong"] == proposal["wrong"]
    assert tagged["vetoed"] == proposal["commits"] - vetoed["commits"]
    assert tagged["rescued"] == proposal["wrong"] - vetoed["wrong"]


@given(studies(claims=st.integers(0, 6), judges=st.integers(1, 3)))
def test_means_are_exact(study: Study) -> None:
    """The mean of the usable confidences as a decimal or a fraction, and none where none is usable."""
    votes = study.panel.votes
    usable = votes.has_confidence & votes.usable
    for case in records(source(study), study.gold, True):
        units = votes.confidence[case["id"]][usable[case["id"]]].tolist()
        assert ("mean" in case) == bool(units)
        if units:
            top, _, bottom = case["mean"].partition("/")
            assert Fraction(top) / int(bottom or 1) == Fraction(sum(units), len(units) * ONE)


@given(studies(claims=st.integers(0, 5), judges=st.integers(1, 2)))
def test_without_leave_no_word_of_a_source_is_shown(study: Study) -> None:
    """Ids, labels, verdicts, states and cited ids stay; claims, evidence, reasoning and subclaims do not."""
    shown = json.dumps(records(source(study), study.gold, False))
    assert SECRET not in shown
    assert len(study.gold) == 0 or '"cites": ["E1", "(another id)"]' in shown
    assert len(study.gold) == 0 or SECRET in json.dumps(records(source(study), study.gold, True))


@given(studies(claims=st.integers(1, 5), judges=st.integers(1, 2)))
def test_a_certificate_that_did_not_come_shows_no_flag_and_no_veto(study: Study) -> None:
    """Without the certificates' answers: panel and thresholds as before, no flag, no D, F or validator."""
    whole = records(source(study), study.gold, True)
    panel = replace(study.panel, certified=np.zeros(len(study.gold), dtype=np.bool_))
    for case, before in zip(records(source(Study(study.gold, panel)), study.gold, True), whole, strict=True):
        assert not {"mixed", "insufficient"} & set(case)
        left = {name for name in before["controllers"] if not name.startswith(("D/", "F@")) and name != "validator"}
        assert case["controllers"] == {name: before["controllers"][name] for name in left}
        assert case["panel"] == before["panel"]
        assert not {"vetoed", "rescued"} & set(case["tags"])


@given(studies(claims=st.integers(0, 6), judges=st.integers(1, 3)))
def test_other_panels_decide_beside_the_typed_one(study: Study) -> None:
    """Each further panel's decision where its votes are known, and no word of it elsewhere."""
    known = np.arange(len(study.gold)) % 2 == 0
    others = {"panel/3opt": study.panel.proposal, "panel/some": Decisions(study.panel.proposal.decision, known)}
    for case in records(replace(source(study), panels=others), study.gold, True):
        decision = NAMES[study.panel.proposal.decision[case["id"]]]
        even = {"panel/some": decision} if case["id"] % 2 == 0 else {}
        assert case["panels"] == {"panel/3opt": decision, **even}


def test_cases_without_a_panel_have_answers_only() -> None:
    """A study without a typed panel: no proposal, no controller, no tag that needs one."""
    rows_ = [{"stratum": "s", "gold": "support", "text": "t", "evidence": None}]
    (case,) = records(Source(rows_, {}, None, LADDER, MARGINS), np.array([0], dtype=np.int8), True)
    assert case["controllers"] == {}
    assert case["answers"] == case["tags"] == case["evidence"] == []
    assert case["panels"] == {}
    assert "panel" not in case
