"""Verdict labels and their integer codes (verdict paper, section 3: the four-option contract)."""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

Labels = npt.NDArray[np.int8]
Mask = npt.NDArray[np.bool_]

SUPPORT: Final = 0
REFUTE: Final = 1
INSUFFICIENT: Final = 2
CONFLICTING: Final = 3
NONE: Final = 4  # no usable verdict: stays in every denominator, is non-directional and wrong
NO_COMMIT: Final = 5  # a controller withheld a directional proposal

NAMES: Final = ("support", "refute", "insufficient", "conflicting", "none", "no_commit")
CODES: Final = {name: code for code, name in enumerate(NAMES)}
GOLD: Final = NAMES[:4]
CONTRACTS: Final = {
    "3opt": frozenset(("support", "refute", "insufficient")),
    "4opt": frozenset(GOLD),
    "certificate": frozenset(GOLD),
}

# What answers are asked to say: verdict words, and the evidence states of a certificate's subclaims.
ASKED: Final = {
    "SUPPORTS": "support",
    "REFUTES": "refute",
    "NOT_ENOUGH_INFO": "insufficient",
    "CONFLICTING": "conflicting",
}
STATES: Final = ("supports", "refutes", "insufficient", "mixed")


def directional(labels: Labels) -> Mask:
    """True where a label commits to a direction (support or refute)."""
    return labels <= REFUTE
