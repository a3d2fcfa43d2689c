"""Table `sweep`: the threshold controllers over a grid, from their decisions."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import oracles
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import Study, ballot, codes, hidden_votes, mask, masks, names, row, rows, studies, with_order
from verdict_files import GRID, TYPED, averitec, own, read, vitaminc

from warrant.labels import Mask
from warrant.systems import Controlled, decide
from warrant.tables.ladder import ladder
from warrant.tables.sweep import sweep, thresholds

TAUS = tuple(map(Decimal, ("0.50", "0.80", "0.855", "0.90", "0.95", "0.99")))
RATES = ("cov", "se", "cpo_n", "cpo_c", "acc_sr", "rec_c", "ovc_i")
fewer = settings(max_examples=25)


def table(study: Study) -> list[dict[str, Any]]:
    return rows(sweep(study.gold, study.panel, TAUS))


@fewer
@given(studies(claims=st.integers(0, 9)))
def test_every_number_follows_from_the_decisions(study: Study) -> None:
    """Each controller, arithmetic and threshold has one row with the counts and rates of its decisions."""
    lines = table(study)
    expected = [(kind, how, float(tau)) for kind in "EF" for how in ("exact", "published") for tau in TAUS]
    assert [(line["controller"], line["arithmetic"], line["tau"]) for line in lines] == expected
    gold = names(study.gold)
    for line in lines:
        said = names(study.panel.named(f"{line['controller']}@{line['tau']}", line["arithmetic"]).decision)
        assert (line["wrong"], line["commits"]) == oracles.counts("se", gold, said)
        for metric in RATES:
            value = oracles.rate(metric, gold, said)
            assert line[metric] == (None if value is None else float(value)), metric
        assert (line["n"], line["partial"]) == (len(gold), False)


@fewer
@given(studies(claims=st.integers(0, 9)))
def test_the_sweep_meets_the_ladder(study: Study) -> None:
    """At a threshold of both, sweep and ladder say the same."""
    rungs = ladder(study.gold, {}, study.panel, TAUS, ())
    for line in table(study):
        kind, how, tau = line["controller"], line["arithmetic"], line["tau"]
        (rung,) = [
            other
            for other in rows(rungs)
            if other["system"][0] == kind and (other["arithmetic"], other["tau"]) == (how, tau)
        ]
        assert all(line[name] == rung[name] for name in (*RATES, "commits", "wrong", "n", "partial"))


@fewer
@given(studies(claims=st.integers(0, 9)))
def test_commits_fall_along_the_sweep(study: Study) -> None:
    """A higher threshold commits on no more, and F on no more than E."""
    lines = table(study)
    for how in ("exact", "published"):
        e, f = (
            [line["commits"] for line in lines if (line["controller"], line["arithmetic"]) == (kind, how)]
            for kind in "EF"
        )
        assert e == sorted(e, reverse=True)
        assert f == sorted(f, reverse=True)
        assert all(b <= a for a, b in zip(e, f, strict=True))


@fewer
@given(with_order(studies(claims=st.integers(0, 9))))
def test_the_order_of_claims_plays_no_part(drawn: tuple[Study, list[int]]) -> None:
    """Permuting claims changes no row."""
    study, order = drawn
    assert table(study.permuted(order)) == table(study)


@fewer
@given(studies(claims=st.integers(1, 7)).flatmap(lambda study: st.tuples(st.just(study), masks(len(study.gold)))))
def test_a_partial_panel_has_the_rates_that_its_known_claims_allow(drawn: tuple[Study, Mask]) -> None:
    """A rate is that of full knowledge when the claims it needs are known, else null."""
    study, known = drawn
    votes = hidden_votes(study.panel.votes, known)
    panel = Controlled(votes, decide(votes), study.panel.verdict, study.panel.mixed, study.panel.insufficient)
    for line, full in zip(table(Study(study.gold, panel)), table(study), strict=True):
        assert line["partial"] == (not known.all())
        for metric in RATES:
            needed = [k for g, k in zip(names(study.gold), known.tolist(), strict=True) if g in oracles.NEEDS[metric]]
            assert line[metric] == (full[metric] if all(needed) else None), metric
        for count in ("commits", "wrong"):
            assert line[count] == (full[count] if known.all() else None)


def test_selective_error_of_no_commit_is_missing() -> None:
    """Where nothing is committed coverage is 0, and selective error null rather than 0."""
    votes = ballot([["support"]], [["0.6"]])
    found = sweep(codes(["support"]), Controlled(votes, decide(votes)), TAUS)
    assert {line["controller"] for line in rows(found)} == {"E"}  # no validator, no F
    line = row(found, arithmetic="exact", tau=0.9)
    assert (line["cov"], line["se"], line["acc_sr"], line["cpo_c"]) == (0.0, None, 0.0, None)
    assert row(found, arithmetic="exact", tau=0.5)["se"] == 0.0


def test_a_partial_panel_of_the_papers_kind() -> None:
    """With the gold-conflicting claims known alone, CPO rates are there and coverage is not."""
    votes = hidden_votes(ballot([["support"], ["refute"]]), mask([True, False]))
    found = sweep(codes(["conflicting", "refute"]), Controlled(votes, decide(votes)), TAUS[:1])
    line = row(found, arithmetic="exact")
    assert (line["cpo_n"], line["cpo_c"], line["cov"], line["se"], line["partial"]) == (0.5, 1.0, None, None, True)


def test_the_papers_grid() -> None:
    """From .50 to .99 by .005 there are 99 decimals, exactly, with both ends."""
    grid = thresholds(Decimal("0.50"), Decimal("0.99"), Decimal("0.005"))
    assert grid == [Decimal(i) / 200 for i in range(100, 199)]
    assert thresholds(Decimal("0.9"), Decimal("0.99"), Decimal("0.02"))[-1] == Decimal("0.98")  # not beyond the end
    assert thresholds(Decimal("0.9"), Decimal("0.9"), Decimal("0.1")) == [Decimal("0.9")]
    assert thresholds(Decimal("0.9"), Decimal("0.8"), Decimal("0.1")) == []
    with pytest.raises(ValueError, match="positive"):
        thresholds(Decimal("0.5"), Decimal("0.9"), Decimal(0))


def test_the_two_arithmetics_differ_at_the_threshold() -> None:
    """Three judges at .95 are committed at .95 in exact decimals, and not in compensated floats; by E and by F."""
    votes = ballot([["support"] * 3], [["0.95"] * 3])
    flags = mask([False])
    panel = Controlled(votes, decide(votes), codes(["support"]), flags, flags)
    found = sweep(codes(["support"]), panel, TAUS)
    commits = {(line["controller"], line["arithmetic"]): line["commits"] for line in rows(found) if line["tau"] == 0.95}
    assert commits == {("E", "exact"): 1, ("E", "published"): 0, ("F", "exact"): 1, ("F", "published"): 0}


def test_the_program_writes_the_table(run_step: Any, tmp_path: Path) -> None:
    """From files and settings to one row per controller, arithmetic and threshold; without a validator no F."""
    inputs, table = own(tmp_path), tmp_path / "tables/sweep.parquet"
    run_step("table_sweep", inputs, {"table": table}, {**TYPED, "grid": GRID})
    assert len(read(table)) == 2 * 2 * 99
    run_step("table_sweep", inputs, {"table": table}, {**TYPED, "validator": None, "grid": GRID})
    assert {line["controller"] for line in read(table)} == {"E"}


@pytest.mark.real_inputs("vitaminc_panel", "vitaminc_certificates")
def test_the_published_rungs_of_vitaminc(real_input: Callable[[str], Path], run_step: Any, tmp_path: Path) -> None:
    """Table 15's E and F at .90, and CPO_N .024 of both at .95, in the published arithmetic; .028 in exact decimals."""
    table = tmp_path / "tables/sweep.parquet"
    run_step("table_sweep", vitaminc(real_input, tmp_path), {"table": table}, {**TYPED, "grid": GRID})
    lines = {(line["controller"], line["arithmetic"], line["tau"]): line for line in read(table)}
    for kind, expected in (
        ("E", (0.452, 0.4159, 0.104, 0.26, 0.66, 0.70)),
        ("F", (0.412, 0.3883, 0.084, 0.21, 0.63, 0.77)),
    ):
        line = lines[kind, "published", 0.9]
        found = tuple(line[metric] for metric in ("cov", "se", "cpo_n", "cpo_c", "acc_sr", "rec_c"))
        assert found == pytest.approx(expected, abs=0.00005)
        assert (lines[kind, "published", 0.95]["cpo_n"], lines[kind, "exact", 0.95]["cpo_n"]) == (0.024, 0.028)


@pytest.mark.real_inputs("case_taxonomy", "averitec_certificates")
def test_the_published_cpo_rates_of_averitec(real_input: Callable[[str], Path], run_step: Any, tmp_path: Path) -> None:
    """The partial panel gives CPO_N of E at .90 (16/285) and F at .80, .85 (15, 13 of 285), and no coverage."""
    table = tmp_path / "tables/sweep.parquet"
    run_step("table_sweep", averitec(real_input, tmp_path), {"table": table}, {**TYPED, "grid": GRID})
    lines = {(line["controller"], line["arithmetic"], line["tau"]): line for line in read(table)}
    for kind, tau, k in (("E", 0.9, 16), ("F", 0.8, 15), ("F", 0.85, 13)):
        assert lines[kind, "published", tau]["cpo_n"] == k / 285
    assert {line["cov"] for line in lines.values()} == {None}
    assert all(line["partial"] for line in lines.values())
