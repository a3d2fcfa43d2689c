"""Table `null`: the published and the matched form of the random-veto null."""

from __future__ import annotations

import math
from dataclasses import replace
from decimal import Decimal
from typing import Any

import numpy as np
import oracles
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import LADDER, Study, ballot, codes, mask, names, rows, same, studies, taus, with_order

from warrant.labels import directional
from warrant.random_veto import LOWER_IS_BETTER
from warrant.systems import Controlled, decide
from warrant.tables.null import null, null_tables

METRICS = ("se", "cpo_n", "acc_sr", "rec_c")
LAW = ("k", "commits", "baseline", "observed", "null_mean", "p_exact")
fewer = settings(max_examples=60)
small = studies(claims=st.integers(0, 7), judges=st.integers(1, 3), labels=("support", "refute", "conflicting"))


def run(
    study: Study, published: tuple[Decimal, Decimal], matched: list[Decimal], draws: int = 30, seed: int = 2
) -> list[dict[str, Any]]:
    return rows(null(study.gold, study.panel, published, matched, draws, seed))


def part(lines: list[dict[str, Any]], form: str, arithmetic: str) -> list[dict[str, Any]]:
    return [line for line in lines if (line["form"], line["arithmetic"]) == (form, arithmetic)]


@fewer
@given(small, st.tuples(taus, taus))
def test_both_forms_are_the_enumerated_law(study: Study, pair: tuple[Decimal, Decimal]) -> None:
    """Every row is the law of all k-subsets of E's commits against the observation that its form defines.

    Published: F's own decisions, in the published arithmetic. Matched: E's decisions at the same threshold with
    those commits promoted that F removes.
    """
    gold = names(study.gold)
    for line in run(study, pair, [pair[0]]):
        tau_f = pair[1] if line["form"] == "published" else pair[0]
        e = names(study.panel.e(pair[0], line["arithmetic"]).decision)
        f = names(study.panel.f(tau_f, line["arithmetic"]).decision)
        removed = [a in oracles.DIRECTIONS and b not in oracles.DIRECTIONS for a, b in zip(e, f, strict=True)]
        promoted = ["conflicting" if gone else label for gone, label in zip(removed, e, strict=True)]
        observed = f if line["form"] == "published" else promoted
        law = oracles.random_veto(line["metric"], gold, e, observed, sum(removed))
        assert (line["k"], line["commits"]) == (sum(removed), sum(label in oracles.DIRECTIONS for label in e))
        assert (line["tau_e"], line["tau_f"]) == (float(pair[0]), float(tau_f))
        for name, said in (("baseline", e), ("observed", observed)):
            value = oracles.rate(line["metric"], gold, said)
            assert line[name] == (None if value is None else float(value))
        if law is None:
            assert (line["null_mean"], line["p_exact"], line["p_monte_carlo"]) == (None, None, None)
        else:
            assert (line["null_mean"], line["p_exact"]) == pytest.approx(tuple(map(float, law)), abs=1e-12)


@given(st.lists(st.sampled_from(LADDER), unique=True, max_size=4), st.integers(1, 50))
def test_every_form_metric_and_threshold_has_its_row(matched: list[Decimal], draws: int) -> None:
    """The published form is there once, in its own arithmetic; the matched one per threshold in both."""
    votes = ballot([["support"]] * 2)
    panel = Controlled(votes, decide(votes), codes(["support"] * 2), mask([True, False]), mask([False, False]))
    lines = run(Study(codes(["support", "conflicting"]), panel), (LADDER[0], LADDER[1]), matched, draws)
    assert [line["metric"] for line in part(lines, "published", "published")] == list(METRICS)
    assert part(lines, "published", "exact") == []
    for arithmetic in ("exact", "published"):
        found = [(line["tau_e"], line["tau_f"], line["metric"]) for line in part(lines, "matched", arithmetic)]
        assert found == [(float(tau), float(tau), metric) for tau in matched for metric in METRICS]
    assert {line["draws"] for line in lines} == {draws}


@fewer
@given(small, taus)
def test_forms_agree_when_f_vetoes_only_commits_of_e(study: Study, tau: Decimal) -> None:
    """With equal thresholds and no veto outside E's commits the published form is the matched one."""
    assert study.panel.mixed is not None
    within = study.panel.mixed & directional(study.panel.e(tau, "published").decision)
    lines = run(Study(study.gold, replace(study.panel, mixed=within)), (tau, tau), [tau])
    pairs = zip(part(lines, "published", "published"), part(lines, "matched", "published"), strict=True)
    assert all(same(first, second, but=["form", "p_monte_carlo"]) for first, second in pairs)


def test_the_published_form_is_in_the_published_arithmetic() -> None:
    """Three judges at .95 commit at .95 exactly, and do not in the published form nor in its arithmetic."""
    votes = ballot([["support"] * 3], [["0.95"] * 3])
    panel = Controlled(votes, decide(votes), codes(["support"]), mask([True]), mask([False]))
    lines = run(Study(codes(["conflicting"]), panel), (LADDER[3], LADDER[3]), [LADDER[3]])
    commits = {(line["form"], line["arithmetic"]): (line["commits"], line["k"]) for line in lines}
    nothing = (0, 0)
    assert commits == {
        ("published", "published"): nothing,
        ("matched", "exact"): (1, 1),
        ("matched", "published"): nothing,
    }


def test_forms_differ_when_f_vetoes_what_e_withheld() -> None:
    """A veto on a claim that E withheld counts for F in the published form, and not in the matched one."""
    votes = ballot([["support"]] * 3, [["0.95"], ["0.95"], ["0.5"]])
    flags = mask([True, False, True])
    panel = Controlled(votes, decide(votes), codes(["support"] * 3), flags, mask([False] * 3))
    lines = run(Study(codes(["support", "conflicting", "conflicting"]), panel), (LADDER[2], LADDER[2]), [LADDER[2]])
    recall = {line["form"]: line for line in lines if line["metric"] == "rec_c" and line["arithmetic"] == "published"}
    assert (recall["published"]["observed"], recall["matched"]["observed"]) == (0.5, 0.0)
    assert (recall["published"]["p_exact"], recall["matched"]["p_exact"]) == (0.5, 1.0)
    assert recall["published"]["k"] == recall["matched"]["k"] == 1


@fewer
@given(small, taus)
def test_no_veto_is_no_surprise(study: Study, tau: Decimal) -> None:
    """When the validator flags nothing, k is 0, the observation is E's own value and every p is 1."""
    calm = replace(study.panel, mixed=np.zeros(len(study.gold), dtype=np.bool_))
    for line in run(Study(study.gold, calm), (tau, tau), [tau]):
        assert line["k"] == 0
        assert line["observed"] == line["baseline"]
        if line["baseline"] is not None:
            assert line["null_mean"] == pytest.approx(line["baseline"])
            assert (line["p_exact"], line["p_monte_carlo"]) == (1, 1)


@fewer
@given(small, taus)
def test_vetoing_everything_has_no_selective_error(study: Study, tau: Decimal) -> None:
    """When the validator flags every claim, SE and its null are null and the other matched observations are certain."""
    strict = replace(study.panel, mixed=np.ones(len(study.gold), dtype=np.bool_))
    for line in run(Study(study.gold, strict), (tau, tau), [tau]):
        assert line["k"] == line["commits"]
        if line["metric"] == "se":
            assert (line["observed"], line["null_mean"], line["p_exact"], line["p_monte_carlo"]) == (None,) * 4
        elif line["form"] == "matched" and line["observed"] is not None:
            assert line["null_mean"] == pytest.approx(line["observed"])
            assert (line["p_exact"], line["p_monte_carlo"]) == (1, 1)


@fewer
@given(small, taus)
def test_matched_conflict_metrics_have_one_p(study: Study, tau: Decimal) -> None:
    """In the matched form CPO_N and Rec_C are one statistic: the same p, exact and simulated."""
    for arithmetic in ("exact", "published"):
        lines = {line["metric"]: line for line in part(run(study, (tau, tau), [tau]), "matched", arithmetic)}
        if lines["rec_c"]["p_exact"] is not None:
            assert lines["cpo_n"]["p_exact"] == lines["rec_c"]["p_exact"]
            assert lines["cpo_n"]["p_monte_carlo"] == lines["rec_c"]["p_monte_carlo"]


@fewer
@given(with_order(small), st.tuples(taus, taus))
def test_the_order_of_claims_plays_no_part(drawn: tuple[Study, list[int]], pair: tuple[Decimal, Decimal]) -> None:
    """Permuting claims changes nothing but Monte Carlo p values."""
    study, order = drawn
    again = run(study.permuted(order), pair, [pair[0]])
    for line, other in zip(run(study, pair, [pair[0]]), again, strict=True):
        assert same(line, other, but=["p_monte_carlo"])


@fewer
@given(small, st.permutations(LADDER))
def test_thresholds_do_not_see_each_other(study: Study, order: list[Decimal]) -> None:
    """A matched threshold's rows are the same alone and among others, in any order, draws included."""
    published = (LADDER[2], LADDER[1])
    together = run(study, published, list(order))
    assert part(together, "published", "published") == part(run(study, published, []), "published", "published")
    for tau in order:
        alone = [line for line in run(study, published, [tau]) if line["form"] == "matched"]
        assert [ln for ln in together if ln["form"] == "matched" and ln["tau_e"] == float(tau)] == alone


def test_the_seed_decides_the_draws_and_nothing_else() -> None:
    """The same seed gives the same table; another gives other Monte Carlo p values and the same exact ones."""
    rng = np.random.default_rng(8)
    n = 120
    said = rng.integers(0, 2, (n, 1))
    votes = ballot([["support" if one else "refute"] for one in said[:, 0]])
    gold = np.where(rng.random(n) < 0.5, votes.label[:, 0], rng.integers(2, 4, n)).astype(np.int8)
    flags = rng.random(n) < 0.2 + 0.2 * (gold == 3)
    study = Study(gold, Controlled(votes, decide(votes), gold, flags, ~flags))
    lines = [run(study, (LADDER[2], LADDER[2]), [LADDER[2]], draws=500, seed=seed) for seed in (1, 1, 2)]
    assert lines[0] == lines[1]
    assert all(same(a, b, but=["p_monte_carlo"]) for a, b in zip(lines[0], lines[2], strict=True))
    assert any(a["p_monte_carlo"] != b["p_monte_carlo"] for a, b in zip(lines[0], lines[2], strict=True))
    assert all(abs(a["p_monte_carlo"] - a["p_exact"]) < 0.1 for a in lines[0])


def test_a_null_needs_a_validator() -> None:
    """Without certificates there is nothing to compare with chance."""
    votes = ballot([["support"]])
    with pytest.raises(ValueError, match="validator"):
        null(codes(["support"]), Controlled(votes, decide(votes)), (LADDER[0], LADDER[0]), [], 10, 0)


@fewer
@given(small)
def test_the_distribution_gives_mean_and_p_back(study: Study) -> None:
    """Probabilities of every row's values sum to 1; its mean and p values are theirs; every draw is counted once."""
    taus = (LADDER[2], LADDER[1])
    table, distribution = null_tables(study.gold, study.panel, taus, list(LADDER), 300, 5)
    keys = ("form", "arithmetic", "metric", "tau_e", "tau_f")
    lines = distribution.to_pylist()
    for row in table.to_pylist():
        mine = [line for line in lines if all(line[key] == row[key] for key in keys)]
        if row["p_exact"] is None:
            assert mine == []
            continue
        as_good = [
            line
            for line in mine
            if math.isclose(line["value"], row["observed"], abs_tol=1e-12)
            or (line["value"] < row["observed"]) == (row["metric"] in LOWER_IS_BETTER)
        ]
        assert math.fsum(line["probability"] for line in mine) == pytest.approx(1)
        assert math.fsum(line["probability"] * line["value"] for line in mine) == pytest.approx(row["null_mean"])
        assert math.fsum(line["probability"] for line in as_good) == pytest.approx(row["p_exact"])
        assert sum(line["drawn"] for line in mine) == row["draws"] == 300
        assert (1 + sum(line["drawn"] for line in as_good)) / 301 == pytest.approx(row["p_monte_carlo"])
