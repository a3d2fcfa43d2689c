"""Votes of judges and the panel's majority rule (verdict paper, section 4.2)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from warrant.decimals import Units
from warrant.labels import CONFLICTING, NONE, Labels, Mask


@dataclass(frozen=True)
class Votes:
    """Every judge's vote on every claim; axis 1 is the panel's listed order of judges.

    label: (claims, judges) codes, NONE where there is no usable verdict. confidence: units of 10^-18.
    has_confidence: where a usable confidence was stated. known: (claims,) False where the claim's votes
    are not in the source at all (a partial panel).
    """

    label: Labels
    confidence: Units
    has_confidence: Mask
    known: Mask

    def __post_init__(self) -> None:
        """ValueError when the shapes do not fit."""
        shapes = {self.label.shape, self.confidence.shape, self.has_confidence.shape}
        if len(shapes) != 1 or self.label.ndim != 2 or self.known.shape != self.label.shape[:1]:
            raise ValueError(f"votes of unequal shapes: {shapes}, {self.known.shape}")

    @property
    def usable(self) -> Mask:
        """(claims, judges): where there is a verdict."""
        return np.not_equal(self.label, NONE)


def counts(votes: Votes) -> npt.NDArray[np.int64]:
    """(claims, 4) number of votes for each label."""
    return np.stack([(votes.label == label).sum(axis=1) for label in range(4)], axis=1)


def majority(votes: Votes) -> Labels:
    """The panel's decision on every claim.

    The label with the most votes; among labels tied for the most, conflicting if it is one of them (this
    covers every three-way split that contains it and a split of two usable votes), else the tied label whose
    judge is listed first; NONE where no vote is usable.
    """
    tally = counts(votes)
    top = tally.max(axis=1)
    tied = tally == top[:, None]
    decision = np.full(len(top), NONE, dtype=np.int8)
    for judge in range(votes.label.shape[1] - 1, -1, -1):  # the first listed judge has the last word
        label = votes.label[:, judge]
        eligible = (label != NONE) & tied[np.arange(len(top)), np.minimum(label, 3)]
        decision = np.where(eligible, label, decision)
    decision = np.where(tied[:, CONFLICTING] & (top > 0), CONFLICTING, decision)
    return np.asarray(np.where(top == 0, NONE, decision), dtype=np.int8)
