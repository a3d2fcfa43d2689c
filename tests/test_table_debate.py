"""Tables of the debate study on a small three-round study, by hand and against plain Python."""

from __future__ import annotations

import math
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from debates import (
    Sets,
    by_domain,
    mean,
    ratio,
    slow_counts,
    slow_majority,
    slow_sets,
    slow_threshold,
    study_of,
    synthetic,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest
from strategies import row, rows

from warrant.grid import ONE
from warrant.outcomes import RATES
from warrant.panel_study import CALIBRATIONS, Study, schemes
from warrant.splits import calibration_half
from warrant.tables.agreement import baselines_table, consensus_rounds_table, stopping_table, weights_table
from warrant.tables.rounds import groups_table, introduced_table, rounds_table, selection_table, wrong_consensus_table
from warrant.tables.splits import splits_table

LEVELS = [Decimal("0.10"), Decimal("0.34")]
SPLIT = 1
Cell = tuple[Decimal, int, str, list[int], Sets]

sometimes = settings(max_examples=15)
seeds = st.integers(0, 2**32 - 1)
kinds = st.sampled_from(["spread", "short"])


@pytest.fixture(scope="module")
def study() -> Study:
    """Forty questions of two domains, three agents, three rounds."""
    return synthetic(20260407, 40)


def half_of(study: Study, split: int = SPLIT) -> np.ndarray:
    half: np.ndarray = study.calibration(split + 1)[split]
    return half


def sets_on(study: Study, alpha: Decimal, early: bool, split: int = SPLIT) -> Sets:
    """Sets of the paper's construction: uniform pool, LAC, per domain."""
    scores, _ = study.scores(study.uniform, "lac")
    groups: list[Any] = study.domain
    return slow_sets(study, scores, groups, half_of(study, split).tolist(), alpha, early)


def static_cells(study: Study) -> Iterator[tuple[dict[str, Any], dict[str, int]]]:
    """Every row's key, and its counts over the test half."""
    half = half_of(study)
    for alpha in LEVELS:
        sets = sets_on(study, alpha, early=False)
        for domain, questions in by_domain(study).items():
            for t in range(study.beliefs.rounds):
                counts = slow_counts(study, sets, t, [q for q in questions if not half[q]])
                yield {"alpha": float(alpha), "domain": domain, "round": t}, counts


def expect(found: pa.Table, key: dict[str, Any], values: dict[str, Any]) -> None:
    """The one row with this key holds these values, nulls where None."""
    line = row(found, **key)
    assert {name: line[name] for name in values} == {
        name: value if value is None else pytest.approx(value) for name, value in values.items()
    }


# --- rounds ----------------------------------------------------------------------------------------------------------


def test_rounds_hold_every_scheme_by_brute_force(study: Study) -> None:
    """Thresholds, counts and rates of every pool, score, grouping and stopping rule are those of plain Python."""
    half = half_of(study)
    table = rounds_table(study, LEVELS, SPLIT, 100, 3)
    domains = by_domain(study)
    assert table.num_rows == len(schemes()) * 2 * len(LEVELS) * len(domains) * 3
    found = {
        tuple(line[k] for k in ("weights", "score", "calibration", "stopping", "alpha", "domain", "round")): line
        for line in rows(table)
    }
    for pool, score, scheme in schemes():
        scores, _ = study.scores(study.pooled(pool, half), score)
        groups = study.groups(scheme).tolist()
        for stopping in ("static", "early"):
            for alpha in LEVELS:
                sets = slow_sets(study, scores, groups, half.tolist(), alpha, stopping == "early")
                for domain, questions in domains.items():
                    tested = [q for q in questions if not half[q]]
                    for t in range(3):
                        line = found[pool, score, scheme, stopping, float(alpha), domain, t]
                        counts = slow_counts(study, sets, t, tested)
                        assert (line["n_cal"], line["n_test"]) == (len(questions) - len(tested), len(tested))
                        assert line["new_singletons"] == counts["new"]
                        for name in ("coverage", "set_size", "singleton_rate", "singleton_accuracy"):
                            rate = ratio(*(counts[part] for part in RATES[name]))
                            assert line[name] == (None if rate is None else pytest.approx(rate))
                            if rate is not None and name != "singleton_accuracy":
                                assert line[f"{name}_low"] - 1e-12 <= rate <= line[f"{name}_high"] + 1e-12
                        for name in ("new_singleton_accuracy", "empty_rate", "escalation_rate"):
                            assert line[name] == ratio(*(counts[part] for part in RATES[name]))
                        limits = {
                            slow_threshold(
                                (
                                    int(scores[i, t, study.beliefs.gold[i]])
                                    for i in np.flatnonzero(half)
                                    if groups[i] == g
                                ),
                                alpha,
                            )
                            for g in {groups[q] for q in questions}
                        }
                        if len(limits) > 1:
                            assert line["q_hat"] is None
                        else:
                            (limit,) = limits
                            assert line["q_hat"] == (math.inf if limit is None else limit / ONE)


@pytest.fixture(scope="module")
def alone() -> Study:
    """Two domains, in one of which nothing is ever acted on: every belief is even over three options."""
    even, sure = [[1 / 3] * 3] * 2, [[1.0, 0.0, 0.0]] * 2
    return study_of(
        [[even] * 3] * 4 + [[sure] * 3] * 4,
        [0] * 8,
        ["dull"] * 4 + ["sure"] * 4,
        votes=[[[1, 2]] * 3] * 4 + [[[0, 0]] * 3] * 4,
    )


def test_rates_without_a_denominator_are_null(alone: Study) -> None:
    """Where nothing is acted on or unanimous, a rate and its interval are null, never 0."""
    half = [Decimal("0.5")]
    line = row(
        rounds_table(alone, half, 0, 100, 1), weights="uniform", score="lac", calibration="domain", stopping="static",
        domain="dull", round=0,
    )  # fmt: skip
    assert (line["singleton_rate"], line["set_size"], line["coverage"]) == (0, 3, 1)
    for name in ("singleton_accuracy", "singleton_accuracy_low", "singleton_accuracy_high", "new_singleton_accuracy"):
        assert line[name] is None
    line = row(wrong_consensus_table(alone, half, 0), domain="dull", round=2)
    assert (line["interception"], line["over_rejection"], line["to_wrong_rate"]) == (None, None, 0)
    assert row(wrong_consensus_table(alone, half, 0), domain="sure", round=2)["to_wrong_rate"] is None
    assert row(introduced_table(alone, half, 0), domain="dull", round=0)["prevention_ratio"] is None
    line = row(selection_table(alone, half, 0), domain="dull", round=0)
    nulls = {name for name, value in line.items() if value is None}
    assert {"conformal_accuracy", "majority_accuracy_acted", "selection_effect", "decision_effect"} <= nulls
    assert "majority_accuracy" not in nulls
    line = row(stopping_table(alone, half, 0), domain="dull", reading="all_rounds")
    assert (line["consensus_rate"], line["conformal_rate"], line["conformal_n"], line["consensus_n"]) == (0, 0, 0, 0)
    for name in ("consensus_round", "conformal_round", "consensus_accuracy", "conformal_accuracy"):
        assert line[name] is None
    assert line["accuracy_difference"] is line["same_questions_consensus_accuracy"] is None
    line = row(baselines_table(alone), method="consensus", domain="dull", round=0)
    assert (line["n"], line["accuracy"], line["low"], line["high"]) == (0, None, None, None)
    line = row(baselines_table(alone), method="consensus", domain="all", round=0)
    assert (line["n"], line["min_accuracy"], line["max_accuracy"]) == (4, 1, 1)


# --- static counts ---------------------------------------------------------------------------------------------------


@sometimes
@given(seeds, kinds)
def test_wrong_consensus_introduced_and_selection_are_brute_force(seed: int, kind: str) -> None:
    """Counts and rates over the test half under static sets are those of plain Python, null without a denominator."""
    study = synthetic(seed, 24, kind=kind)
    wrong, introduced, selection = (
        make(study, LEVELS, SPLIT) for make in (wrong_consensus_table, introduced_table, selection_table)
    )
    cells = list(static_cells(study))
    assert wrong.num_rows == introduced.num_rows == selection.num_rows == len(cells)
    for key, some in cells:
        c = {"n": 0, **dict.fromkeys(("wrong", "right", "disputed", "singleton", "introduced"), 0), **some}
        if not c["n"]:
            continue
        expect(
            wrong,
            key,
            {
                "n": c["n"],
                "disputed": c["disputed"],
                "to_wrong": c["to_wrong"],
                "wrong": c["wrong"],
                "wrong_intercepted": c["wrong_several"],
                "wrong_not_acted": c["wrong_not_acted"],
                "right": c["right"],
                "right_rejected": c["right_several"],
                "right_not_acted": c["right_not_acted"],
                "to_wrong_rate": ratio(c["to_wrong"], c["disputed"]),
                "consensus_rate": (c["wrong"] + c["right"]) / c["n"],
                "interception": ratio(c["wrong_several"], c["wrong"]),
                "over_rejection": ratio(c["right_several"], c["right"]),
            },
        )
        expect(
            introduced,
            key,
            {
                "count": c["introduced"],
                "intercepted": c["wrong_several"],
                "prevention_ratio": ratio(c["wrong_several"], c["introduced"]),
            },
        )
        acted = ratio(c["singleton_right"], c["singleton"])
        majority = ratio(c["acted_majority_right"], c["singleton"])
        overall = c["majority_right"] / c["n"]
        expect(
            selection,
            key,
            {
                "n": c["n"],
                "acted": c["singleton"],
                "conformal_accuracy": acted,
                "majority_accuracy_acted": majority,
                "majority_accuracy_acted_first": ratio(c["acted_majority_right_first"], c["singleton"]),
                "unanimous_share_acted": ratio(c["acted_unanimous"], c["singleton"]),
                "majority_accuracy": overall,
                "selection_effect": None if majority is None else majority - overall,
                "decision_effect": None if acted is None or majority is None else acted - majority,
            },
        )


def test_an_empty_set_is_not_acted_on_but_intercepts_nothing() -> None:
    """A unanimous wrong answer whose set is empty goes to review: it is not intercepted, nor is an error prevented."""
    half = calibration_half(range(8), ["d"] * 8, 7, 0).tolist()
    sure, unsure = [[1.0, 0.0, 0.0]] * 2, [[0.2, 0.6, 0.2]] * 2
    first = half.index(False)  # acted on and wrong though the votes differ; the other test questions are unsure
    study = study_of(
        [[sure if calibrates or q == first else unsure] for q, calibrates in enumerate(half)],
        [1 if q == first else 0 for q in range(8)],
        ["d"] * 8,
        votes=[[[0, 2]] if q == first else [[0, 0]] if calibrates else [[1, 1]] for q, calibrates in enumerate(half)],
        seed=7,
    )
    level = [Decimal("0.5")]
    expect(introduced_table(study, level, 0), {"domain": "d"}, {"count": 1, "intercepted": 0, "prevention_ratio": 0})
    counts = {"wrong": 3, "wrong_intercepted": 0, "wrong_not_acted": 3, "interception": 0, "to_wrong_rate": 0}
    expect(wrong_consensus_table(study, level, 0), {"domain": "d"}, counts)


# --- stopping --------------------------------------------------------------------------------------------------------


@sometimes
@given(seeds, kinds)
def test_stopping_in_both_readings_is_brute_force(seed: int, kind: str) -> None:
    """Consensus and conformal stopping over the test half: rounds from 1, with and without the last round."""
    study = synthetic(seed, 24, kind=kind)
    half, gold, votes = half_of(study), study.beliefs.gold.tolist(), study.beliefs.vote.tolist()
    table = stopping_table(study, LEVELS, SPLIT)
    for alpha in LEVELS:
        sets = sets_on(study, alpha, early=True)
        for domain, questions in by_domain(study).items():
            tested = [q for q in questions if not half[q]]
            if not tested:
                continue
            acted = {q: next((t for t in range(3) if len(sets[t][q]) == 1), None) for q in tested}
            agreed = {q: next((t for t in range(3) if len(set(votes[q][t])) == 1), None) for q in tested}
            for reading, limit in (("paper", 2), ("all_rounds", 3)):
                agree = {q: t for q, t in agreed.items() if t is not None and t < limit}
                stops = {q: t for q, t in acted.items() if t is not None}
                counted = [q for q, t in stops.items() if t < limit]
                by_agents = {
                    q: votes[q][t][0] if t is not None else slow_majority(votes[q][2], study.uniform[q, 2].tolist())
                    for q, t in agreed.items()
                }
                conformal = mean(sets[stops[q]][q] == {gold[q]} for q in counted)
                consensus = mean(votes[q][t][0] == gold[q] for q, t in agree.items())
                expect(
                    table,
                    {"domain": domain, "alpha": float(alpha), "reading": reading},
                    {
                        "n": len(tested),
                        "consensus_round": mean(t + 1 for t in agree.values()),
                        "conformal_round": mean(t + 1 for t in stops.values()),
                        "consensus_rate": len(agree) / len(tested),
                        "conformal_rate": len(stops) / len(tested),
                        "consensus_accuracy": consensus,
                        "conformal_accuracy": conformal,
                        "accuracy_difference": None if None in (consensus, conformal) else conformal - consensus,  # type: ignore[operator]
                        "same_questions_consensus_accuracy": mean(by_agents[q] == gold[q] for q in counted),
                        "consensus_escalated_rate": 1 - len(agree) / len(tested),
                        "conformal_n": len(counted),
                        "consensus_n": len(agree),
                    },
                )


# --- agreement, over all questions -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def debate() -> Study:
    """Five questions in three rounds: agreement at once and right, later and wrong, lost again, never, by a tie."""
    x, y, z = [0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.3, 0.6]
    return study_of(
        [
            [[x, x, x], [x, x, x], [x, x, x]],  # at once, right
            [[x, y, y], [y, y, y], [y, y, y]],  # in round 1, wrong
            [[y, y, y], [x, y, y], [x, x, y]],  # at once and wrong, lost again; majority right in round 2
            [[x, y, z], [x, y, z], [x, y, z]],  # never; all tied: the more probable in the pool
            [[x, x, y], [x, x, y], [x, x, x]],  # in the last round, right
        ],
        [0, 0, 0, 1, 0],
        ["a", "a", "a", "b", "b"],
    )


def test_consensus_rounds_by_hand(debate: Study) -> None:
    """Each question counts in its first unanimous round only, the rest as never, right and wrong by that round."""
    table = consensus_rounds_table(debate)
    expected = {
        "a": {"0": (2, 1, 1), "1": (1, 0, 1), "2": (0, 0, 0), "never": (0, 0, 0)},
        "b": {"0": (0, 0, 0), "1": (0, 0, 0), "2": (1, 1, 0), "never": (1, 0, 0)},
        "all": {"0": (2, 1, 1), "1": (1, 0, 1), "2": (1, 1, 0), "never": (1, 0, 0)},
    }
    sizes = {"a": 3, "b": 2, "all": 5}
    for domain, line in expected.items():
        for turn, (n, right, wrong) in line.items():
            key = {"domain": domain, "round": turn}
            with_never = (n + line["never"][0]) / sizes[domain] if turn == "2" else None
            values = {"n": n, "right": right, "wrong": wrong, "share": n / sizes[domain]}
            expect(table, key, {**values, "share_with_never": with_never})
    assert table.num_rows == 12


def test_baselines_by_hand(debate: Study) -> None:
    """Right answers of each agent, the majority, the pool and the unanimous, with Wilson bounds and the range."""
    table = baselines_table(debate)
    counts = {
        ("single", "agent0", 0): (3, 5),  # x x y x x
        ("single", "agent1", 0): (3, 5),  # x y y y x
        ("single", "agent2", 2): (2, 5),
        ("majority_vote", None, 0): (3, 5),  # right, wrong, wrong, tied: y, right
        ("majority_vote", None, 2): (4, 5),
        ("uniform_pool", None, 0): (3, 5),
        ("uniform_pool", None, 2): (4, 5),
        ("consensus", None, 0): (1, 2),
        ("consensus", None, 1): (1, 2),
        ("consensus", None, 2): (2, 3),
    }
    for (method, model, t), (k, n) in counts.items():
        line = row(table, method=method, model=model, domain="all", round=t)
        assert (line["correct"], line["n"], line["accuracy"]) == (k, n, k / n), (method, model, t)
        low, high = binomtest(k, n).proportion_ci(0.95, method="wilson")
        assert (line["low"], line["high"]) == (pytest.approx(low), pytest.approx(high))
    line = row(table, method="majority_vote", domain="all", round=2)
    assert (line["min_accuracy"], line["max_accuracy"]) == (pytest.approx(2 / 3), 1)
    assert row(table, method="majority_vote", domain="a", round=2)["min_accuracy"] is None
    assert table.num_rows == 3 * 3 * 6


@sometimes
@given(seeds)
def test_baselines_and_consensus_rounds_add_up(seed: int) -> None:
    """Domains add up to all; the rounds of consensus and never add up to the questions."""
    study = synthetic(seed, 15)
    for table, keys, counts in (
        (baselines_table(study), ("method", "model", "round"), ("correct", "n")),
        (consensus_rounds_table(study), ("round",), ("n", "right", "wrong")),
    ):
        for line in rows(table):
            if line["domain"] == "all":
                same = [other for other in rows(table) if all(other[k] == line[k] for k in keys)]
                parts = [other for other in same if other["domain"] != "all"]
                assert all(line[name] == sum(part[name] for part in parts) for name in counts)
    lines = [line for line in rows(consensus_rounds_table(study)) if line["domain"] == "all"]
    assert sum(line["n"] for line in lines) == 15
    assert sum(line["share"] for line in lines) == pytest.approx(1)


def test_weights_by_brute_force(study: Study) -> None:
    """Entropy weights are means over the domain's questions, learned ones shares of that domain's calibration hits."""
    half = half_of(study)
    table = weights_table(study, SPLIT)
    for domain, questions in by_domain(study).items():
        for t in range(3):
            raw = [
                [
                    math.exp(math.fsum(p * math.log(p) for p in belief if p > 0))
                    for belief in study.beliefs.probability[q, t].tolist()
                ]
                for q in questions
            ]
            hits = [sum(int(study.correct[q, t, a]) for q in questions if half[q]) for a in range(3)]
            for a, agent in enumerate(study.agents):
                values = [line[a] / math.fsum(line) for line in raw]
                p05, p95 = np.quantile(values, [0.05, 0.95])
                key = {"domain": domain, "model": agent, "round": t}
                expect(table, {"weights": "entropy", **key}, {"mean": mean(values), "p05": p05, "p95": p95})
                if domain != "all":
                    share = hits[a] / sum(hits)
                    expect(table, {"weights": "learned", **key}, {"mean": share, "p05": share, "p95": share})
    assert not [line for line in rows(table) if line["weights"] == "learned" and line["domain"] == "all"]


# --- groups and splits -----------------------------------------------------------------------------------------------


def test_groups_by_brute_force(study: Study) -> None:
    """Each group of each scheme has its own threshold, ties at it, and coverage over its own test questions."""
    half = half_of(study)
    table = groups_table(study, LEVELS, SPLIT)
    scores, true_scores = study.scores(study.uniform, "lac")
    votes = study.beliefs.vote.tolist()
    seen = 0
    for scheme in CALIBRATIONS:
        groups = study.groups(scheme).tolist()
        named = {
            "domain": study.domain,
            "pooled": ["all"] * 40,
            "options": [f"{k} options" for k in study.beliefs.options],
            "unanimity": ["unanimous in round 0" if len(set(v[0])) == 1 else "not unanimous in round 0" for v in votes],
        }[scheme]
        for alpha in LEVELS:
            sets = slow_sets(study, scores, groups, half.tolist(), alpha, early=False)
            for name in set(named):
                members = [q for q in range(40) if named[q] == name]
                tested = [q for q in members if not half[q]]
                for t in range(3):
                    held = [int(true_scores[q, t]) for q in members if half[q]]
                    limit = slow_threshold(held, alpha)
                    key = {"calibration": scheme, "group": name, "alpha": float(alpha), "round": t}
                    expect(
                        table,
                        key,
                        {
                            "n_cal": len(held),
                            "n_test": len(tested),
                            "q_hat": math.inf if limit is None else limit / ONE,
                            "ties": 0 if limit is None else held.count(limit),
                            "coverage": mean(study.beliefs.gold[q] in sets[t][q] for q in tested),
                            "set_size": mean(len(sets[t][q]) for q in tested),
                        },
                    )
                    seen += 1
    assert seen == table.num_rows


def test_splits_summarise_the_rates_of_each_split(study: Study) -> None:
    """Mean, quantiles and Monte Carlo error over splits are those of brute force, undefined splits left out."""
    count, alpha = 6, LEVELS[1]
    table = splits_table(study, [alpha], count)
    for pool, score, scheme, stopping in (
        ("uniform", "lac", "domain", "static"),
        ("uniform", "lac", "unanimity", "early"),
        ("learned", "rank", "domain", "early"),
        ("entropy", "lac", "domain", "static"),
    ):
        per_split = []
        for half in study.calibration(count):
            scores, _ = study.scores(study.pooled(pool, half), score)
            groups = study.groups(scheme).tolist()
            per_split.append((half, slow_sets(study, scores, groups, half.tolist(), alpha, stopping == "early")))
        base = {"weights": pool, "score": score, "calibration": scheme, "stopping": stopping}
        for domain, questions in by_domain(study).items():
            for t in range(3):
                counts = [
                    slow_counts(study, sets, t, [q for q in questions if not half[q]]) for half, sets in per_split
                ]
                for metric, (top, bottom) in RATES.items():
                    values = [c[top] / c[bottom] for c in counts if c[bottom]]
                    line = row(table, **base, domain=domain, round=t, metric=metric)
                    assert line["splits"] == len(values)
                    if not values:
                        assert line["mean"] is line["p05"] is line["p95"] is line["monte_carlo_error"] is None
                        continue
                    p05, p95 = np.quantile(values, [0.05, 0.95])
                    found = (line["mean"], line["p05"], line["p95"])
                    assert found == pytest.approx((mean(values), p05, p95))
                    exact = (metric, stopping, pool != "learned", domain != "all", scheme) == (
                        "coverage", "static", True, True, "domain",
                    )  # fmt: skip
                    assert (line["beta_binomial_mean"] is not None) == exact
