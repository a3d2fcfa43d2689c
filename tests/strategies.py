"""Hypothesis strategies and small builders that the tests of the numerical core share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

from warrant.decimals import ONE, to_units
from warrant.labels import CODES, NAMES, NONE, Labels, Mask
from warrant.panel import Votes
from warrant.systems import Controlled, Decisions, decide

GOLD = NAMES[:4]
VERDICTS = NAMES[:5]  # with "none"
LADDER = tuple(map(Decimal, ("0.80", "0.85", "0.90", "0.95")))

SHORT = [Decimal(i).scaleb(-2) for i in range(101)] + [Decimal(i).scaleb(-3) for i in (5, 333, 667, 855, 895, 945, 999)]
# What models state (mostly the ladder's own thresholds and their neighbours), and the finest that a column holds.
STATED = [*SHORT, *[Decimal(i).scaleb(-2) for i in range(70, 101, 5)] * 18]
FINEST = [1, ONE - 1, ONE // 3, 2 * ONE // 3 + 1, 9 * ONE // 10 - 1, 95 * ONE // 100 + 1]
UNITS = [*map(to_units, STATED), *FINEST]
short_decimals = st.sampled_from(SHORT)
taus = st.sampled_from([*SHORT, *LADDER * 15])
FEW_CLAIMS, FEW_JUDGES = st.integers(0, 6), st.integers(1, 5)


def codes(listed: Iterable[str]) -> Labels:
    return np.array([CODES[name] for name in listed], dtype=np.int8)


def names(labels: Labels) -> list[str]:
    return [NAMES[code] for code in labels.tolist()]


def mask(values: Iterable[bool]) -> Mask:
    return np.array(list(values), dtype=np.bool_)


def rows(table: pa.Table) -> list[dict[str, Any]]:
    return table.to_pylist()


def row(table: pa.Table, **wanted: object) -> dict[str, Any]:
    """The one row with these values."""
    (found,) = [item for item in rows(table) if all(item[key] == value for key, value in wanted.items())]
    return found


def indices(n: int, *sizes: int) -> st.SearchStrategy[np.ndarray]:
    """(n, len(sizes)) independent indices below each size (256 at most).

    One byte each: lists of integers are slower by far, and wide ranges of them are mostly drawn near 0.
    """
    return st.binary(min_size=n * len(sizes), max_size=n * len(sizes)).map(
        lambda drawn: np.frombuffer(drawn, dtype=np.uint8).astype(np.int64).reshape(n, len(sizes)) % sizes
    )


def golds(n: int, labels: Sequence[str] = GOLD) -> st.SearchStrategy[Labels]:
    return indices(n, len(labels)).map(lambda drawn: codes(labels)[drawn[:, 0]])


def masks(n: int) -> st.SearchStrategy[Mask]:
    return indices(n, 2).map(lambda drawn: drawn[:, 0] == 1)


def ballot(votes: Sequence[Sequence[str]], confidences: Sequence[Sequence[str | None]] | None = None) -> Votes:
    """Votes by name, and confidences as decimal text; one row per claim."""
    label = np.array([[CODES[name] for name in line] for line in votes], dtype=np.int8)
    stated = confidences if confidences is not None else [["1"] * len(line) for line in votes]
    confidence = np.array([[0 if one is None else to_units(one) for one in line] for line in stated], dtype=np.int64)
    return Votes(
        label,
        confidence,
        np.array([[one is not None for one in line] for line in stated]),
        np.ones(len(votes), dtype=np.bool_),
    )


@st.composite
def ballots(
    draw: st.DrawFn,
    claims: st.SearchStrategy[int] = FEW_CLAIMS,
    judges: st.SearchStrategy[int] = FEW_JUDGES,
    labels: Sequence[str] = VERDICTS,
) -> Votes:
    """Votes with missing verdicts and, one in four, missing confidences, in any combination."""
    n, m = draw(claims), draw(judges)
    cells = draw(indices(n * m, len(labels), len(UNITS), 4)).reshape(n, m, 3)
    label, confidence = codes(labels)[cells[:, :, 0]], np.array(UNITS, dtype=np.int64)[cells[:, :, 1]]
    return Votes(label, confidence, cells[:, :, 2] < 3, np.ones(n, dtype=np.bool_))


@dataclass(frozen=True)
class Study:
    """Gold labels and a typed panel with its validator."""

    gold: Labels
    panel: Controlled

    def permuted(self, order: Sequence[int]) -> Study:
        """The same claims in another order."""
        panel = self.panel
        return Study(
            self.gold[list(order)],
            Controlled(
                claims_of(panel.votes, order),
                Decisions(panel.proposal.decision[list(order)], panel.proposal.known[list(order)]),
                None if panel.verdict is None else panel.verdict[list(order)],
                None if panel.mixed is None else panel.mixed[list(order)],
                None if panel.insufficient is None else panel.insufficient[list(order)],
            ),
        )


@st.composite
def studies(
    draw: st.DrawFn,
    claims: st.SearchStrategy[int] = FEW_CLAIMS,
    judges: st.SearchStrategy[int] = FEW_JUDGES,
    labels: Sequence[str] = VERDICTS,
) -> Study:
    """A study whose panel is known on every claim."""
    votes = draw(ballots(claims, judges, labels))
    n = len(votes.known)
    gold, verdict, mixed, insufficient = draw(indices(n, 4, 5, 2, 2)).T
    panel = Controlled(votes, decide(votes), verdict.astype(np.int8), mixed == 1, insufficient == 1)
    return Study(gold.astype(np.int8), panel)


@st.composite
def with_order(draw: st.DrawFn, study: st.SearchStrategy[Study]) -> tuple[Study, list[int]]:
    """A study and a permutation of its claims."""
    drawn = draw(study)
    return drawn, draw(st.permutations(range(len(drawn.gold))))


@st.composite
def systems(draw: st.DrawFn, n: int, count: int = 2) -> dict[str, Decisions]:
    """Systems a, b, ... that are known on every claim; withheld proposals included."""
    return {"abcdefgh"[i]: Decisions(draw(golds(n, NAMES)), np.ones(n, dtype=np.bool_)) for i in range(count)}


def claims_of(votes: Votes, order: Sequence[int]) -> Votes:
    """The votes with claims in another order."""
    at = list(order)
    return Votes(votes.label[at], votes.confidence[at], votes.has_confidence[at], votes.known[at])


def judges_of(votes: Votes, order: Sequence[int]) -> Votes:
    """The votes with judges listed in another order."""
    at = list(order)
    return Votes(votes.label[:, at], votes.confidence[:, at], votes.has_confidence[:, at], votes.known)


def hidden(decisions: Decisions, known: Mask) -> Decisions:
    """The system as a partial source shows it: nothing is known on some claims."""
    return Decisions(np.where(known, decisions.decision, NONE).astype(np.int8), known)


def hidden_votes(votes: Votes, known: Mask) -> Votes:
    """The votes as a partial source shows them."""
    at = known[:, None]
    return replace(
        votes,
        label=np.where(at, votes.label, NONE).astype(np.int8),
        confidence=np.where(at, votes.confidence, 0),
        has_confidence=votes.has_confidence & at,
        known=known,
    )


def stated(votes: Votes, claim: int) -> list[Fraction]:
    """A claim's usable confidences as fractions: stated, and with a usable verdict."""
    return [
        Fraction(value, ONE)
        for value, has, label in zip(
            votes.confidence[claim].tolist(),
            votes.has_confidence[claim].tolist(),
            votes.label[claim].tolist(),
            strict=True,
        )
        if has and NAMES[label] != "none"
    ]


def same(left: Mapping[str, Any], right: Mapping[str, Any], *, but: Iterable[str] = ()) -> bool:
    """Whether two rows are equal in every column but the named ones."""
    left_out = set(but)
    return {k: v for k, v in left.items() if k not in left_out} == {k: v for k, v in right.items() if k not in left_out}
