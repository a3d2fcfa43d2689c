"""Tables `utility`, `utility_outcomes` and `break_even`: what outcomes are worth, and when two systems are worth alike.

Verdict paper, Tables 13 and 14 (whose weights are not public: profiles are this project's own and live in the
configuration). Every claim falls in exactly one category.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import combinations
from typing import Any, Final

import numpy as np
import pyarrow as pa

from warrant import artifact
from warrant.artifact import field
from warrant.labels import CONFLICTING, INSUFFICIENT, NONE, REFUTE, SUPPORT, Labels, Mask, directional
from warrant.systems import Decisions

SIDES: Final[dict[str, frozenset[int]]] = {  # category -> gold labels on which it occurs
    "right_direction": frozenset((SUPPORT, REFUTE)),
    "wrong_direction": frozenset((SUPPORT, REFUTE)),
    "abstention_on_support_refute": frozenset((SUPPORT, REFUTE)),
    "unusable_on_support_refute": frozenset((SUPPORT, REFUTE)),
    "correct_conflicting": frozenset((CONFLICTING,)),
    "cpo": frozenset((CONFLICTING,)),
    "abstention_on_conflicting": frozenset((CONFLICTING,)),
    "unusable_on_conflicting": frozenset((CONFLICTING,)),
    "correct_insufficient": frozenset((INSUFFICIENT,)),
    "directional_on_insufficient": frozenset((INSUFFICIENT,)),
    "abstention_on_insufficient": frozenset((INSUFFICIENT,)),
    "unusable_on_insufficient": frozenset((INSUFFICIENT,)),
}
CATEGORIES: Final = tuple(SIDES)
WRONG: Final = ("wrong_direction", "cpo", "directional_on_insufficient")
RIGHT_WITHOUT_COMMIT: Final = ("correct_conflicting", "correct_insufficient")
READINGS: Final = ("every_non_commit", "not_right")

UTILITY: Final = pa.schema(
    [
        field("system", pa.string(), "judge, panel or controller", nullable=False),
        field("arithmetic", pa.string(), "exact or published (compensated floats) at thresholds", nullable=False),
        field("profile", pa.string(), "utilities per category, from the configuration", nullable=False),
        field("n", pa.int64(), "claims", nullable=False),
        field("utility", pa.float64(), "mean utility per claim; null for a partial system"),
        field("rank", pa.int64(), "1 is the best of the profile and arithmetic; equal utilities share a rank"),
        field("partial", pa.bool_(), "decisions are known on some claims only", nullable=False),
    ]
)
OUTCOMES: Final = pa.schema(
    [
        field("system", pa.string(), "judge, panel or controller", nullable=False),
        field("arithmetic", pa.string(), "exact or published (compensated floats) at thresholds", nullable=False),
        field("category", pa.string(), "outcome", nullable=False),
        field("k", pa.int64(), "claims in the category; null when some of its gold labels are not known"),
        field("n", pa.int64(), "claims whose gold label allows the category", nullable=False),
        field("share", pa.float64(), "k / n; null without such claims"),
        field("partial", pa.bool_(), "decisions are known on some claims only", nullable=False),
    ]
)
BREAK_EVEN: Final = pa.schema(
    [
        field("a", pa.string(), "one system", nullable=False),
        field("b", pa.string(), "the other", nullable=False),
        field("arithmetic", pa.string(), "exact or published (compensated floats) at thresholds", nullable=False),
        field(
            "reading",
            pa.string(),
            "what an abstention is: every_non_commit, or not_right (a correct conflicting or insufficient is none)",
            nullable=False,
        ),
        field("wrong_a", pa.int64(), "wrong commits of a; null for a partial system"),
        field("wrong_b", pa.int64(), "wrong commits of b"),
        field("abstentions_a", pa.int64(), "abstentions of a"),
        field("abstentions_b", pa.int64(), "abstentions of b"),
        field("ratio", pa.float64(), "cost of a wrong commit / cost of an abstention at which both cost the same"),
        field("better_above", pa.string(), "the cheaper system at larger ratios; null without a break-even"),
        field(
            "relation",
            pa.string(),
            "break_even, a_never_dearer, b_never_dearer (at any positive ratio), equal; null for a partial system",
        ),
    ]
)
Profiles = Mapping[str, Mapping[str, Decimal]]
Systems = Mapping[tuple[str, str], Decisions]  # (system, arithmetic) -> decisions


def categories(gold: Labels, decision: Labels) -> dict[str, Mask]:
    """Claims of every category; each claim is in exactly one."""
    commits, right, none = directional(decision), np.equal(decision, gold), np.equal(decision, NONE)
    found: dict[str, Mask] = {}
    for side, members, good, bad in (
        ("support_refute", gold <= REFUTE, "right_direction", "wrong_direction"),
        ("conflicting", gold == CONFLICTING, "correct_conflicting", "cpo"),
        ("insufficient", gold == INSUFFICIENT, "correct_insufficient", "directional_on_insufficient"),
    ):
        found[good] = members & right
        found[bad] = members & commits & ~right
        found[f"unusable_on_{side}"] = members & none
        found[f"abstention_on_{side}"] = members & ~commits & ~right & ~none
    return {name: found[name] for name in CATEGORIES}


def counts(gold: Labels, decisions: Decisions) -> dict[str, int | None]:
    """Claims per category; None where a decision on one of its gold labels is not known."""
    return {
        name: int(members.sum()) if bool(decisions.known[np.isin(gold, list(SIDES[name]))].all()) else None
        for name, members in categories(gold, decisions.decision).items()
    }


def outcomes(gold: Labels, systems: Systems) -> pa.Table:
    """One row per system, arithmetic and category."""
    rows = []
    for (system, arithmetic), decisions in systems.items():
        for category, k in counts(gold, decisions).items():
            n = int(np.isin(gold, list(SIDES[category])).sum())
            rows.append(
                {
                    "system": system,
                    "arithmetic": arithmetic,
                    "category": category,
                    "k": k,
                    "n": n,
                    "share": k / n if k is not None and n else None,
                    "partial": decisions.partial,
                }
            )
    return artifact.from_rows(rows, OUTCOMES)


def utility(gold: Labels, systems: Systems, profiles: Profiles) -> pa.Table:
    """One row per profile, arithmetic and system.

    A profile gives the utility of each category (a cost is negative). ValueError when it leaves one out or names
    another.
    """
    rows: list[dict[str, Any]] = []
    for profile, weights in profiles.items():
        if set(weights) != set(CATEGORIES):
            wrong = sorted(set(weights) ^ set(CATEGORIES))
            raise ValueError(f"profile {profile!r} must give exactly the categories {CATEGORIES}, see {wrong}")
        means = {key: _mean_utility(counts(gold, decisions), weights) for key, decisions in systems.items()}
        for (system, arithmetic), decisions in systems.items():
            value = means[system, arithmetic]
            row: dict[str, Any] = {
                "system": system,
                "arithmetic": arithmetic,
                "profile": profile,
                "n": len(gold),
                "partial": decisions.partial,
            }
            if value is not None:
                others = [mean for (_, other), mean in means.items() if other == arithmetic and mean is not None]
                row |= {"utility": float(value), "rank": 1 + len([mean for mean in others if mean > value])}
            rows.append(row)
    return artifact.from_rows(rows, UTILITY)


def break_even(gold: Labels, systems: Systems) -> pa.Table:
    """One row per pair of systems of one arithmetic and reading of an abstention.

    A system costs r * (wrong commits) + (abstentions), r the cost of a wrong commit in abstentions; right answers cost
    nothing. Two systems break even at r = (difference of abstentions) / (opposite difference of wrong commits).
    """
    tallies = {key: counts(gold, decisions) for key, decisions in systems.items()}
    rows: list[dict[str, Any]] = []
    for (a, arithmetic), (b, other) in combinations(systems, 2):
        if arithmetic != other:
            continue
        for reading in READINGS:
            row: dict[str, Any] = {"a": a, "b": b, "arithmetic": arithmetic, "reading": reading}
            first, second = (_costs(tallies[one, arithmetic], reading) for one in (a, b))
            if first is not None and second is not None:
                row |= {"wrong_a": first[0], "wrong_b": second[0]}
                row |= {"abstentions_a": first[1], "abstentions_b": second[1]}
                row |= _relation(a, b, first, second)
            rows.append(row)
    return artifact.from_rows(rows, BREAK_EVEN)


def _mean_utility(tally: Mapping[str, int | None], weights: Mapping[str, Decimal]) -> Fraction | None:
    known = [(k, Fraction(weights[name])) for name, k in tally.items() if k is not None]
    n = int(np.sum([k for k, _ in known], dtype=np.int64))
    if len(known) < len(tally) or n == 0:
        return None
    return sum((k * weight for k, weight in known), Fraction(0)) / n


def _costs(tally: Mapping[str, int | None], reading: str) -> tuple[int, int] | None:
    """Wrong commits and abstentions; None for a partial system."""
    known = {name: k for name, k in tally.items() if k is not None}
    if len(known) < len(tally):
        return None
    idle = [name for name in known if name not in (*WRONG, "right_direction")]
    if reading == "not_right":
        idle = [name for name in idle if name not in RIGHT_WITHOUT_COMMIT]
    wrong, abstentions = (int(np.sum([known[name] for name in names], dtype=np.int64)) for names in (WRONG, idle))
    return wrong, abstentions


def _relation(a: str, b: str, first: Sequence[int], second: Sequence[int]) -> dict[str, Any]:
    fewer_wrong, fewer_abstentions = second[0] - first[0], second[1] - first[1]  # of a
    if fewer_wrong == 0 and fewer_abstentions == 0:
        return {"relation": "equal"}
    if fewer_wrong * fewer_abstentions >= 0:
        return {"relation": "a_never_dearer" if fewer_wrong + fewer_abstentions > 0 else "b_never_dearer"}
    above = a if fewer_wrong > 0 else b
    return {"relation": "break_even", "ratio": -fewer_abstentions / fewer_wrong, "better_above": above}
