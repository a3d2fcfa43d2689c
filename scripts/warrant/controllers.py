"""Controllers: what stands between a typed panel's proposal and an action (verdict paper, section 5).

Each takes a decision per claim and returns a decision per claim; none looks at gold labels.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Final

import numpy as np

from warrant.decimals import Arithmetic, mean_at_least
from warrant.labels import CONFLICTING, INSUFFICIENT, NO_COMMIT, Labels, Mask, directional
from warrant.panel import Votes, counts

VETO_MODES: Final = ("conflict_only", "insufficient_only", "any")


def confidence_threshold(decision: Labels, votes: Votes, tau: Decimal, arithmetic: Arithmetic = "exact") -> Labels:
    """E(tau): a directional proposal whose mean confidence over usable votes is below tau is withheld.

    A directional proposal without any stated confidence is withheld too: nothing vouches for it.
    """
    reached = mean_at_least(votes.confidence, votes.has_confidence & votes.usable, tau, arithmetic)
    return _relabel(decision, directional(decision) & ~reached, NO_COMMIT)


def veto(decision: Labels, mixed: Mask, insufficient: Mask, mode: str) -> Labels:
    """D(mode): a directional proposal on a flagged claim becomes conflicting or insufficient.

    mixed, insufficient: the certificate's material_mixed and material_insufficient flags. `any` looks at
    mixed first. ValueError for an unknown mode.
    """
    if mode not in VETO_MODES:
        raise ValueError(f"unknown veto mode {mode!r}, expected one of {VETO_MODES}")
    proposals = directional(decision)
    if mode in ("conflict_only", "any"):
        decision = _relabel(decision, proposals & mixed, CONFLICTING)
    if mode in ("insufficient_only", "any"):
        decision = _relabel(decision, directional(decision) & insufficient, INSUFFICIENT)
    return decision


def conflict_if_any(decision: Labels, votes: Votes) -> Labels:
    """Conflicting wherever any judge says so, else the decision."""
    return _relabel(decision, (votes.label == CONFLICTING).any(axis=1), CONFLICTING)


def vote_margin(decision: Labels, votes: Votes, margin: Decimal) -> Labels:
    """A directional proposal is withheld unless (votes for it - votes for the runner-up) / votes >= margin.

    Votes are the usable ones. Exact: the least lead that a number of votes needs is computed in integers.
    ValueError unless the margin is in [0, 1].
    """
    if not 0 <= margin <= 1:
        raise ValueError(f"margin={margin} is not between 0 and 1")
    tally = np.sort(counts(votes), axis=1)
    lead = tally[:, -1] - tally[:, -2]
    total = tally.sum(axis=1)
    numerator, denominator = margin.as_integer_ratio()
    needed = np.array([-(-numerator * n // denominator) for n in range(votes.label.shape[1] + 1)])
    enough = (lead >= needed[total]) & (total > 0)
    return _relabel(decision, directional(decision) & ~enough, NO_COMMIT)


def _relabel(decision: Labels, where: Mask, label: int) -> Labels:
    return np.where(where, np.int8(label), decision).astype(np.int8)
