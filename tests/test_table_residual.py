"""Table `residual`: a base's CPO commits, followed along the ladder."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import oracles
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import (
    LADDER,
    Study,
    ballot,
    codes,
    golds,
    hidden,
    hidden_votes,
    mask,
    masks,
    names,
    row,
    rows,
    same,
    studies,
    with_order,
)

from warrant import artifact, sample, verdicts
from warrant.imported import verdict_defaults
from warrant.intervals import wilson
from warrant.labels import Mask
from warrant.sample import Case
from warrant.systems import Controlled, Decisions, decide
from warrant.tables.ladder import ladder
from warrant.tables.residual import SCHEMA, residual

MARGINS = tuple(map(Decimal, ("0", "1")))
TAUS = LADDER[2:]
ENDS = {"to_conflicting": "conflicting", "to_insufficient": "insufficient", "to_no_commit": "no_commit"}
FOLLOWED = ("remaining", "turned", "resolved", *ENDS, "to_none", "new", "ratio", "remaining_low", "new_high")
fewer = settings(max_examples=40)
Drawn = tuple[Study, Decisions]


@st.composite
def drawn_studies(draw: st.DrawFn) -> Drawn:
    """A study with its typed panel, and the base judge's decisions."""
    study = draw(studies())
    n = len(study.gold)
    return study, Decisions(draw(golds(n, ("support", "refute", "insufficient", "none"))), np.ones(n, dtype=np.bool_))


def singles(study: Study, base: Decisions) -> dict[str, tuple[str, Decisions]]:
    return {"base": ("L0", base), "panel": ("L1", study.panel.proposal)}


def table(study: Study, base: Decisions) -> list[dict[str, Any]]:
    bases = {"base": base, "panel": study.panel.proposal}
    return rows(residual(study.gold, bases, singles(study, base), study.panel, TAUS, MARGINS))


def decision(study: Study, base: Decisions, line: dict[str, Any]) -> list[str]:
    """What a row's system says."""
    system = line["system"]
    if system in ("base", "panel"):
        return names((base if system == "base" else study.panel.proposal).decision)
    return names(study.panel.named(system, line["arithmetic"]).decision)


@fewer
@given(drawn_studies())
def test_every_number_follows_two_decisions_claim_by_claim(drawn: Drawn) -> None:
    """A row counts each gold-conflicting claim by what the base and the rung say about it."""
    study, judge = drawn
    for line in table(study, judge):
        before = names((judge if line["base"] == "base" else study.panel.proposal).decision)
        after = decision(study, judge, line)
        pairs = [
            (first, then)
            for label, first, then in zip(names(study.gold), before, after, strict=True)
            if label == "conflicting"
        ]
        old = [pair for pair in pairs if pair[0] in oracles.DIRECTIONS]
        kept = [pair for pair in old if pair[1] in oracles.DIRECTIONS]
        gone = [then for first, then in old if (first, then) not in kept]
        new = [pair for pair in pairs if pair[1] in oracles.DIRECTIONS and pair[0] not in oracles.DIRECTIONS]
        assert (line["n"], line["base_k"], line["k"]) == (len(pairs), len(old), len(kept) + len(new))
        assert (line["remaining"], line["resolved"], line["new"]) == (len(kept), len(gone), len(new))
        assert line["turned"] == len([pair for pair in kept if pair[0] != pair[1]])
        assert [line[name] for name in ENDS] == [gone.count(label) for label in ENDS.values()]
        assert line["to_none"] == gone.count("none")
        for name, k, n in (
            ("k", line["k"], len(pairs)),
            ("remaining", len(kept), len(old)),
            ("new", len(new), len(pairs) - len(old)),
        ):
            assert (line[f"{name}_low"], line[f"{name}_high"]) == (wilson(k, n) or (None, None))
            assert line[f"{name}_share"] == (k / n if n else None)
        assert line["ratio"] == (line["k"] / len(old) if old else None)
        assert line["partial"] is False


@fewer
@given(drawn_studies())
def test_rows_are_those_of_the_ladder(drawn: Drawn) -> None:
    """Each base has the ladder's rows in the ladder's order, with the ladder's CPO count."""
    study, judge = drawn
    rungs = rows(ladder(study.gold, singles(study, judge), study.panel, TAUS, MARGINS))
    lines = table(study, judge)
    for base in ("base", "panel"):
        mine = [line for line in lines if line["base"] == base]
        for line, rung in zip(mine, rungs, strict=True):
            key = ("rung", "system", "arithmetic", "tau")
            assert [line[name] for name in key] == [rung[name] for name in key]
            assert (line["k"], line["k_share"]) == (rung["cpo_c_k"], rung["cpo_c"])


@fewer
@given(drawn_studies())
def test_nothing_is_lost_between_base_and_rung(drawn: Drawn) -> None:
    """remaining + resolved = base_k, remaining + new = k, and the ends of the resolved are all of them."""
    study, judge = drawn
    for line in table(study, judge):
        assert line["remaining"] + line["resolved"] == line["base_k"]
        assert line["remaining"] + line["new"] == line["k"]
        assert int(np.sum([line[name] for name in (*ENDS, "to_none")])) == line["resolved"]
        if line["system"] == line["base"]:
            assert (line["resolved"], line["new"], line["turned"]) == (0, 0, 0)
        elif line["base"] == "panel" and line["system"] not in ("base", "validator"):
            assert (line["new"], line["turned"]) == (0, 0)  # a controller only withholds


@fewer
@given(drawn_studies())
def test_swapping_base_and_rung_swaps_resolved_and_new(drawn: Drawn) -> None:
    """What one resolves against the other is what the other adds against it."""
    study, judge = drawn
    lines = table(study, judge)
    forth = next(line for line in lines if (line["base"], line["system"]) == ("base", "panel"))
    back = next(line for line in lines if (line["base"], line["system"]) == ("panel", "base"))
    assert (forth["resolved"], forth["new"]) == (back["new"], back["resolved"])
    assert (forth["remaining"], forth["turned"]) == (back["remaining"], back["turned"])


@fewer
@given(with_order(studies()), st.data())
def test_the_order_of_claims_plays_no_part(drawn: tuple[Study, list[int]], data: st.DataObject) -> None:
    """Permuting claims changes no row."""
    study, order = drawn
    said = data.draw(golds(len(order)))
    known = np.ones(len(order), dtype=np.bool_)
    assert table(study.permuted(order), Decisions(said[order], known)) == table(study, Decisions(said, known))


@fewer
@given(drawn_studies().flatmap(lambda drawn: st.tuples(st.just(drawn), masks(len(drawn[0].gold)), st.booleans())))
def test_a_partial_side_needs_the_gold_conflicting_claims(drawn: tuple[Drawn, Mask, bool]) -> None:
    """With a side hidden on some claims a row is the whole one when those are not gold-conflicting, else null."""
    (study, judge), known, hide_base = drawn
    enough = bool(known[study.gold == 3].all())
    votes = hidden_votes(study.panel.votes, known)
    shown = Controlled(votes, decide(votes), study.panel.verdict, study.panel.mixed, study.panel.insufficient)
    panel, base = (study.panel, hidden(judge, known)) if hide_base else (shown, judge)
    lines = table(Study(study.gold, panel), base)
    for line, full in zip(lines, table(study, judge), strict=True):
        hides_rung = (line["system"] == "base") if hide_base else line["system"] not in ("base", "validator")
        hides_base = line["base"] == ("base" if hide_base else "panel")
        touched = (hides_rung or hides_base) and not known.all()
        assert line["partial"] is touched
        if enough or not touched:
            assert same(line, full, but=["partial"])
        else:
            assert [line[name] for name in FOLLOWED] == [None] * len(FOLLOWED)
            assert line["k"] == (None if hides_rung else full["k"])
            assert line["base_k"] == (None if hides_base else full["base_k"])


def test_a_trade_of_cases_does_not_look_like_rest() -> None:
    """A rung that resolves one case and adds another has the base's count, and says so."""
    gold = codes(["conflicting"] * 3 + ["support"])
    base = Decisions(codes(["support", "refute", "insufficient", "support"]), mask([True] * 4))
    votes = ballot([["conflicting"], ["support"], ["refute"], ["support"]])
    found = residual(gold, {"base": base}, {"panel": ("L1", decide(votes))}, None, [], [])
    line = row(found, system="panel", arithmetic="exact")
    assert (line["base_k"], line["k"], line["ratio"]) == (2, 2, 1.0)
    assert (line["remaining"], line["turned"], line["resolved"], line["new"]) == (1, 1, 1, 1)
    assert (line["to_conflicting"], line["new_share"]) == (1, 1.0)
    assert {one["arithmetic"] for one in rows(found)} == {"exact", "published"}


def test_without_a_base_or_a_commit_there_is_nothing_to_follow() -> None:
    """No base is an empty table; a base that never commits has no ratio, and every commit is new."""
    gold = codes(["conflicting"])
    votes = decide(ballot([["support"]]))
    silent = Decisions(codes(["insufficient"]), mask([True]))
    assert rows(residual(gold, {}, {"panel": ("L1", votes)}, None, [], [])) == []
    line = rows(residual(gold, {"silent": silent}, {"panel": ("L1", votes)}, None, [], []))[0]
    assert (line["base_k"], line["ratio"], line["remaining_share"], line["new"]) == (0, None, None, 1)


def test_the_program_reads_what_the_settings_name(run_step: Any, tmp_path: Path) -> None:
    """Bases, rungs and panel by arm and judge, thresholds as decimals."""
    cases = sample.to_table([Case("g", "conflicting", f"claim {i}", None, "s", None) for i in range(3)], "study")
    artifact.write(cases, tmp_path / "sample.parquet")
    said = {"3opt": ("support", "support", "insufficient"), "4opt": ("support", "conflicting", "refute")}
    files = []
    for arm, labels in said.items():
        answers = [
            verdict_defaults(
                {"case_id": i, "model": "a", "parse_status": "ok", "verdict": one, "confidence": Decimal("0.85")}
            )
            for i, one in enumerate(labels)
        ]
        files.append(tmp_path / f"verdicts/{arm}.parquet")
        artifact.write(artifact.from_rows(answers, verdicts.SCHEMA), files[-1])
    systems = {f"single/a/{arm}": {"arm": arm, "judges": ["a"]} for arm in said}
    given = {
        "bases": {"single/a/3opt": systems["single/a/3opt"]},
        "systems": {"single/a/3opt": {**systems["single/a/3opt"], "rung": "L0"}},
        "typed_panel": systems["single/a/4opt"],
        "validator": None,
        "taus": ["0.85", "0.90"],
        "vote_margins": ["0"],
    }
    inputs = {"sample": [tmp_path / "sample.parquet"], "verdicts": files}
    run_step("table_residual", inputs, {"table": tmp_path / "residual.parquet"}, given)
    found = artifact.read(tmp_path / "residual.parquet", SCHEMA)
    kept = row(found, system="E@0.85", arithmetic="exact")
    assert (kept["base_k"], kept["remaining"], kept["new"], kept["to_conflicting"]) == (2, 1, 1, 1)
    withheld = row(found, system="E@0.90", arithmetic="exact")
    assert (withheld["k"], withheld["to_no_commit"], withheld["to_conflicting"]) == (0, 1, 1)
