"""What answers that did not come may change: every outcome that they could have had, tried out.

An answer that did not come is never scored. Where a run goes on without it (`allow_missing`), a rate lies between the
least and the greatest that any outcome of the missing answers gives: worst-case bounds, with no assumption about why
answers are missing (Manski 1989, Journal of Human Resources 24:343).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from warrant.decimals import ONE
from warrant.errors import InputError
from warrant.labels import CODES, CONFLICTING, CONTRACTS, INSUFFICIENT, NAMES, NONE, REFUTE, SUPPORT, Labels, Mask
from warrant.metrics import Metric
from warrant.panel import Votes
from warrant.systems import Controlled, decide

MOST_MISSING: Final = 5  # judges of one panel without an answer to the same claim: 3,125 ways to vote
STATED: Final = ((True, ONE), (True, 0), (False, 0))  # confidence 1, 0 and none: a mean's greatest and least
DECISIONS: Final = len(NAMES)
# Of a missing certificate: verdict, material_mixed, material_insufficient. Every verdict is here and every pair of
# flags, not every triple: no system looks at both.
CERTIFICATES: Final = (
    (NONE, False, False), (SUPPORT, False, False), (REFUTE, False, True), (INSUFFICIENT, True, False),
    (CONFLICTING, True, True),
)  # fmt: skip
Possible = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Outcomes:
    """Outcomes one after the other: the claim of each, and the panel as it would be."""

    claim: npt.NDArray[np.int64]
    panel: Controlled

    def possible(self, decided: Callable[[Controlled], Labels]) -> Possible:
        """(claims, decisions): what a system that is a function of the panel may decide on each claim."""
        found = np.zeros((int(self.claim.max(initial=-1)) + 1, DECISIONS), dtype=np.bool_)
        found[self.claim, decided(self.panel)] = True
        return found


def outcomes(panel: Controlled, answered: Mask, contract: str) -> Outcomes:
    """Every outcome of the missing votes (`answered` is False) and of the certificates that are not known.

    A missing vote may be any label of the contract or unusable; the missing votes on a claim state confidence 1, 0 or
    none alike, between which any mean of theirs lies. A missing certificate may raise either flag, both or none, and
    have any verdict. InputError where more than MOST_MISSING votes on a claim are missing.
    """
    most = int((~answered).sum(axis=1).max(initial=0))
    if most > MOST_MISSING:
        most_open = int((~answered).sum(axis=1).argmax())
        raise InputError(
            f"case {most_open}: found {most} judges of one panel without an answer, expected at most {MOST_MISSING} "
            "(bounds try every way in which they could have voted); ask again with `make retry`"
        )
    certified = np.ones(len(answered), dtype=np.bool_) if panel.certified is None else panel.certified
    kinds = np.unique(np.column_stack([answered, certified]), axis=0)
    pieces = []
    for kind in kinds:
        votes, here = kind[:-1], kind[-1]
        claims = np.flatnonzero((answered == votes).all(axis=1) & (certified == here))
        pieces += [(claims, one) for one in _ways(panel, claims, np.flatnonzero(~votes), bool(here), contract)]
    claim = np.concatenate([claims for claims, _ in pieces]) if pieces else np.zeros(0, dtype=np.int64)
    return Outcomes(claim, _joined([one for _, one in pieces]) if pieces else panel)


def _ways(
    panel: Controlled, claims: npt.NDArray[np.int64], missing: npt.NDArray[np.int64], certified: bool, contract: str
) -> list[Controlled]:
    """The panel on these claims, once for each outcome of the same missing votes and certificate."""
    labels = [*sorted(CODES[name] for name in CONTRACTS[contract]), NONE]
    flags: Sequence[tuple[int | None, bool | None, bool | None]] = CERTIFICATES
    if certified or panel.verdict is None:
        flags = [(None, None, None)]
    found = []
    for said in product(labels, repeat=len(missing)):
        for has, confidence in STATED if len(missing) else STATED[:1]:
            votes = panel.votes
            votes = Votes(
                votes.label[claims], votes.confidence[claims], votes.has_confidence[claims], votes.known[claims]
            )
            if len(missing):
                votes.label[:, missing] = said
                votes.confidence[:, missing] = confidence
                votes.has_confidence[:, missing] = has & (np.array(said) != NONE)
            for verdict, mixed, insufficient in flags:
                one = Controlled(votes, decide(votes))
                if panel.verdict is not None and panel.mixed is not None and panel.insufficient is not None:
                    one = replace(
                        one,
                        verdict=_or(panel.verdict[claims], verdict),
                        mixed=_or(panel.mixed[claims], mixed),
                        insufficient=_or(panel.insufficient[claims], insufficient),
                    )
                found.append(one)
    return found


def _or(known: npt.NDArray[Any], instead: int | bool | None) -> npt.NDArray[Any]:
    return known if instead is None else np.full_like(known, instead)


def _joined(panels: Sequence[Controlled]) -> Controlled:
    votes = [one.votes for one in panels]
    joined = Votes(
        np.concatenate([one.label for one in votes]),
        np.concatenate([one.confidence for one in votes]),
        np.concatenate([one.has_confidence for one in votes]),
        np.concatenate([one.known for one in votes]),
    )
    first = panels[0]
    if first.verdict is None or first.mixed is None or first.insufficient is None:
        return Controlled(joined, decide(joined))
    verdict, mixed, insufficient = (
        np.concatenate([getattr(one, name) for one in panels]) for name in ("verdict", "mixed", "insufficient")
    )
    return Controlled(joined, decide(joined), verdict, mixed, insufficient)


def least_and_greatest(metric: Metric, gold: Labels, possible: Possible) -> tuple[tuple[int, int], tuple[int, int]]:
    """Counts (numerator, denominator) of the least and of the greatest value that the metric can have.

    Every claim adds (0, 0), (0, 1) or (1, 1). Adding (0, 1) never raises a ratio and (1, 1) never lowers it, whatever
    the others add, so each claim can be chosen by itself. Outcomes without a denominator have no value and do not
    count; both are (0, 0) where no outcome has one.
    """
    members = metric.members(gold)
    adds = np.zeros((len(gold), 3), dtype=np.bool_)  # whether a claim may add (0, 1), (0, 0), (1, 1)
    for code in range(DECISIONS):
        decision = np.full(len(gold), code, dtype=np.int8)
        top = metric.numerator(gold, decision) & members
        bottom = members if metric.denominator is None else metric.denominator(gold, decision) & members
        for place, kind in enumerate((bottom & ~top, ~bottom, bottom & top)):
            adds[:, place] |= possible[:, code] & kind
    if not adds.any(axis=1).all():
        raise ValueError("a claim without a possible decision")
    low = adds.argmax(axis=1)
    high = 2 - adds[:, ::-1].argmax(axis=1)
    least, greatest = ((int((side == 2).sum()), int((side != 1).sum())) for side in (low, high))
    # a side without a denominator: no claim may add to it what the other side adds, which is then the only value
    return least if least[1] else greatest, greatest if greatest[1] else least
