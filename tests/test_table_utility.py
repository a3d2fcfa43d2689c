"""Tables `utility`, `utility_outcomes` and `break_even`: categories, mean utility, and cost ratios of indifference."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import DIRECTIONS
from strategies import codes, golds, hidden, indices, mask, masks, names, row, rows, systems
from verdict_files import JUDGES, TYPED, own, read, vitaminc

from warrant.labels import NAMES, Labels, Mask
from warrant.systems import Decisions
from warrant.tables.utility import CATEGORIES, SIDES, WRONG, break_even, categories, outcomes, utility

Sample = tuple[Labels, dict[str, Decisions]]


def side(gold: str) -> str:
    return "support_refute" if gold in DIRECTIONS else gold


def category(gold: str, said: str) -> str:
    """The category of one claim."""
    if said == "none":
        return f"unusable_on_{side(gold)}"
    if said == gold:
        return "right_direction" if gold in DIRECTIONS else f"correct_{gold}"
    if said in DIRECTIONS:
        return {"conflicting": "cpo", "insufficient": "directional_on_insufficient"}.get(gold, "wrong_direction")
    return f"abstention_on_{side(gold)}"


def belongs(name: str, gold: str) -> bool:
    """Whether a claim with this gold label can be in a category."""
    return any(category(gold, said) == name for said in NAMES)


def tally(gold: Labels, decisions: Decisions) -> Counter[str]:
    return Counter(category(g, s) for g, s in zip(names(gold), names(decisions.decision), strict=True))


samples: st.SearchStrategy[Sample] = st.integers(0, 12).flatmap(lambda n: st.tuples(golds(n), systems(n, 3)))
profiles = indices(1, *[21] * len(CATEGORIES)).map(
    lambda drawn: {name: (Decimal(int(value)) - 10) / 10 for name, value in zip(CATEGORIES, drawn[0], strict=True)}
)


def both(found: dict[str, Decisions]) -> dict[tuple[str, str], Decisions]:
    return {(name, how): decisions for how in ("exact", "published") for name, decisions in found.items()}


def test_every_pair_of_labels_has_its_category() -> None:
    """Each gold label and decision, withheld and unusable ones included, is in exactly the category it names."""
    for gold in NAMES[:4]:
        for said in NAMES:
            found = categories(codes([gold]), codes([said]))
            assert [name for name, members in found.items() if members[0]] == [category(gold, said)]
    for name, labels in SIDES.items():
        assert {NAMES[label] for label in labels} == {gold for gold in NAMES[:4] if belongs(name, gold)}


@given(samples)
def test_outcomes_count_every_claim_once(drawn: Sample) -> None:
    """Counts are those of the claims' categories; shares are of the claims that can be in them."""
    gold, found = drawn
    lines = rows(outcomes(gold, both(found)))
    assert len(lines) == 2 * len(found) * len(CATEGORIES)
    for line in lines:
        k = tally(gold, found[line["system"]])[line["category"]]
        n = sum(belongs(line["category"], label) for label in names(gold))
        assert (line["k"], line["n"], line["share"]) == (k, n, k / n if n else None)
        assert line["partial"] is False
    for name in found:
        here = [line["k"] for line in lines if (line["system"], line["arithmetic"]) == (name, "exact")]
        assert sum(here) == len(gold)


@given(samples, profiles, profiles)
def test_utility_is_the_mean_of_the_claims(
    drawn: Sample, first: dict[str, Decimal], second: dict[str, Decimal]
) -> None:
    """Mean utility adds up claim by claim, exactly; ranks count the better systems of a profile and arithmetic."""
    gold, found = drawn
    lines = rows(utility(gold, both(found), {"one": first, "two": second}))
    assert len(lines) == 4 * len(found)
    for profile, weights in (("one", first), ("two", second)):
        means = {
            name: sum((Fraction(weights[key]) * k for key, k in tally(gold, one).items()), Fraction(0)) / len(gold)
            for name, one in found.items()
            if len(gold)
        }
        for line in (line for line in lines if line["profile"] == profile):
            assert line["n"] == len(gold)
            if not means:
                assert (line["utility"], line["rank"]) == (None, None)
                continue
            mine = means[line["system"]]
            assert line["utility"] == float(mine)
            assert line["rank"] == 1 + sum(other > mine for other in means.values())


@given(samples, profiles)
def test_a_constant_added_to_every_utility_changes_no_rank(drawn: Sample, weights: dict[str, Decimal]) -> None:
    """Shifting a profile shifts every system alike."""
    gold, found = drawn
    shifted = {name: value + 3 for name, value in weights.items()}
    lines = rows(utility(gold, both(found), {"a": weights, "b": shifted}))
    half = len(lines) // 2
    for one, other in zip(lines[:half], lines[half:], strict=True):
        assert one["rank"] == other["rank"]
        if len(gold):
            assert other["utility"] == pytest.approx(one["utility"] + 3)


@given(samples)
def test_at_the_break_even_ratio_both_cost_the_same(drawn: Sample) -> None:
    """At the ratio costs are equal, above it the named system is cheaper; without one the order never turns."""
    gold, found = drawn
    lines = rows(break_even(gold, both(found)))
    pairs = list(combinations(found, 2))
    assert [(line["a"], line["b"]) for line in lines[::2]] == pairs * 2
    for line in lines:
        costs = []
        for one in (line["a"], line["b"]):
            counted = tally(gold, found[one])
            wrong = sum(counted[name] for name in WRONG)
            commits = wrong + counted["right_direction"]
            right = counted["correct_conflicting"] + counted["correct_insufficient"]
            idle = len(gold) - commits - (right if line["reading"] == "not_right" else 0)
            costs.append((wrong, idle))
        assert (line["wrong_a"], line["wrong_b"]) == (costs[0][0], costs[1][0])
        assert (line["abstentions_a"], line["abstentions_b"]) == (costs[0][1], costs[1][1])

        def dearer(ratio: Fraction, pair: list[tuple[int, int]] = costs) -> Fraction:
            """Cost of a minus cost of b."""
            return ratio * (pair[0][0] - pair[1][0]) + pair[0][1] - pair[1][1]

        trials = [Fraction(1, 10**6), Fraction(1), Fraction(10**6)]
        if line["relation"] == "break_even":
            at = Fraction(line["ratio"]).limit_denominator(1000)
            assert at > 0
            assert dearer(at) == 0
            assert line["better_above"] == (line["a"] if dearer(at + 1) < 0 else line["b"])
            assert dearer(at / 2) * dearer(at + 1) < 0
        else:
            assert (line["ratio"], line["better_above"]) == (None, None)
            signs = {(dearer(trial) > 0) - (dearer(trial) < 0) for trial in trials}
            assert signs == {{"equal": 0, "a_never_dearer": -1, "b_never_dearer": 1}[line["relation"]]}


@given(samples.flatmap(lambda drawn: st.tuples(st.just(drawn), masks(len(drawn[0])))), profiles)
def test_a_partial_system_has_what_its_known_claims_allow(
    drawn: tuple[Sample, Mask], weights: dict[str, Decimal]
) -> None:
    """A count is there when the gold labels it needs are known; utility, rank and break-even need every claim."""
    (gold, found), known = drawn
    full = both(found)
    part = full | {("a", how): hidden(found["a"], known) for how in ("exact", "published")}
    complete = bool(known.all())
    for line, whole in zip(rows(outcomes(gold, part)), rows(outcomes(gold, full)), strict=True):
        needed = [k for label, k in zip(names(gold), known.tolist(), strict=True) if belongs(line["category"], label)]
        seen = line["system"] != "a" or all(needed)
        assert (line["k"], line["share"]) == ((whole["k"], whole["share"]) if seen else (None, None))
        assert line["partial"] == (line["system"] == "a" and not complete)
    values = rows(utility(gold, part, {"one": weights}))
    for line, whole in zip(values, rows(utility(gold, full, {"one": weights})), strict=True):
        expected = None if line["system"] == "a" and not complete else whole["utility"]
        assert line["utility"] == expected
        assert (line["rank"] is None) == (expected is None)
    for line in rows(break_even(gold, part)):
        if "a" in (line["a"], line["b"]) and not complete:
            assert {line[key] for key in ("wrong_a", "abstentions_b", "ratio", "relation")} == {None}
        else:
            assert line["relation"] is not None


def test_a_known_pair() -> None:
    """One wrong commit more against two abstentions more: even when a wrong commit costs two abstentions."""
    gold = codes(["support", "support", "conflicting", "conflicting", "insufficient"])
    eager = Decisions(codes(["support", "refute", "support", "conflicting", "conflicting"]), mask([True] * 5))
    careful = Decisions(codes(["no_commit", "refute", "conflicting", "none", "conflicting"]), mask([True] * 5))
    found = break_even(gold, {("eager", "exact"): eager, ("careful", "exact"): careful})
    line = row(found, reading="every_non_commit")
    assert (line["wrong_a"], line["abstentions_a"], line["wrong_b"], line["abstentions_b"]) == (2, 2, 1, 4)
    assert (line["ratio"], line["better_above"]) == (2.0, "careful")
    line = row(found, reading="not_right")
    assert (line["abstentions_a"], line["abstentions_b"], line["ratio"]) == (1, 3, 2.0)


def test_a_profile_gives_every_category_and_no_other() -> None:
    """A forgotten or misspelt category is an error, not a utility of 0."""
    gold, one = codes(["support"]), Decisions(codes(["support"]), mask([True]))
    complete = dict.fromkeys(CATEGORIES, Decimal(0))
    short = {name: value for name, value in complete.items() if name != "cpo"}
    for weights in (short, complete | {"cherry": Decimal(1)}):
        with pytest.raises(ValueError, match="profile 'p'"):
            utility(gold, {("s", "exact"): one}, {"p": weights})


def test_systems_of_another_arithmetic_are_not_compared() -> None:
    """Pairs and ranks stay within one arithmetic."""
    gold = codes(["support"])
    right, wrong = (Decisions(codes([said]), mask([True])) for said in ("support", "refute"))
    listed = {("a", "exact"): right, ("a", "published"): wrong}
    weights: dict[str, Any] = dict.fromkeys(CATEGORIES, Decimal(0)) | {"wrong_direction": Decimal(-1)}
    assert rows(break_even(gold, listed)) == []
    assert [line["rank"] for line in rows(utility(gold, listed, {"p": weights}))] == [1, 1]


def settings(weights: dict[str, str], *arms: str) -> dict[str, Any]:
    return {
        **TYPED,
        "systems": {f"panel/{arm}": {"arm": arm, "judges": JUDGES} for arm in arms},
        "controllers": ["E@0.90", "F@0.90", "conflict_if_any", "D/conflict_only", "validator"],
        "profiles": {"p": {name: weights.get(name, "0") for name in CATEGORIES}},
    }


def test_the_program_writes_three_tables(run_step: Any, tmp_path: Path) -> None:
    """From files and settings to utilities, counts and pairs; without a typed panel its controllers are left out."""
    outputs = {name: tmp_path / f"tables/{name}.parquet" for name in ("table", "outcomes", "break_even")}
    inputs, given = own(tmp_path), settings({"cpo": "-5.5"}, "4opt")
    run_step("table_utility", inputs, outputs, given)
    cpo = {(x["system"], x["arithmetic"]): x["k"] for x in read(outputs["outcomes"]) if x["category"] == "cpo"}
    assert len(cpo) == 2 * 6
    for line in read(outputs["table"]):
        assert line["utility"] == pytest.approx(-5.5 * cpo[line["system"], line["arithmetic"]] / 40)
    assert len(read(outputs["break_even"])) == 2 * 2 * 15
    run_step("table_utility", inputs, outputs, given | {"typed_panel": None, "validator": None})
    assert {line["system"] for line in read(outputs["table"])} == {"panel/4opt"}


@pytest.mark.real_inputs("vitaminc_panel", "vitaminc_certificates")
def test_conflict_if_any_is_never_dearer_than_f_on_vitaminc(
    real_input: Callable[[str], Path], run_step: Any, tmp_path: Path
) -> None:
    """The paper has F at .90 best in every profile; conflict-if-any makes fewer errors and commits on more claims."""
    outputs = {name: tmp_path / f"tables/{name}.parquet" for name in ("table", "outcomes", "break_even")}
    run_step("table_utility", vitaminc(real_input, tmp_path), outputs, settings({"cpo": "-1"}, "3opt", "4opt"))
    pairs = {(x["a"], x["b"], x["arithmetic"], x["reading"]): x for x in read(outputs["break_even"])}
    for how in ("exact", "published"):
        for reading in ("every_non_commit", "not_right"):
            line = pairs["F@0.90", "conflict_if_any", how, reading]
            assert line["relation"] == "b_never_dearer"
            assert (line["wrong_a"], line["wrong_b"]) == (40, 37)
