"""The law of simulated judges: what they answer given the gold label, their parameters and latent normal draws.

A judge errs on a case when its latent draw, sqrt(rho) * shared + sqrt(1 - rho) * own, falls below the normal quantile
of the error's probability (a Gaussian copula: judges with the same shared draw err together, each at its own rate).
So every rate that the tables estimate is known: CPO_C is `conflict_blindness` (`untyped_blindness` under a contract
without "conflicting"), Ovc_I `overcommitment`, Acc_SR `sensitivity`, all times 1 - `unusable`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from warrant.labels import CONFLICTING, CONTRACTS, INSUFFICIENT, NONE, REFUTE, SUPPORT, Labels, directional

Draws = npt.NDArray[np.float64]

SHARED: Final = 2  # draws of a case that every judge shares: difficulty, and which direction its evidence leans
OWN: Final = 5  # draws of one answer: difficulty, lean, confidence, usability, form
HUNDREDTHS: Final = 100


@dataclass(frozen=True)
class Judge:
    """Parameters of a simulated judge: probabilities, the correlation rho, and the confidence it states.

    On gold support and refute it names the right direction (`sensitivity`), the opposite one (`reversal`), conflicting
    (`false_conflict`) or else insufficient. On gold conflicting it commits to a direction (`conflict_blindness`, or
    `untyped_blindness` where the contract does not offer conflicting) or else sees the conflict (says insufficient
    where that is all there is). On gold insufficient it commits (`overcommitment`) or says so. Confidence is
    normal around `confidence_right` or `confidence_wrong` with standard deviation `confidence_noise`, in hundredths.
    """

    sensitivity: float
    reversal: float
    false_conflict: float
    conflict_blindness: float
    untyped_blindness: float
    overcommitment: float
    correlation: float
    confidence_right: float
    confidence_wrong: float
    confidence_noise: float
    unusable: float = 0.0
    fenced: float = 0.0

    def __post_init__(self) -> None:
        """ValueError for a share outside [0, 1] and for shares of one gold label that exceed 1 together."""
        for name, value in vars(self).items():
            if not 0 <= value <= 1:
                raise ValueError(f"{name} is {value}, not between 0 and 1")
        if self.sensitivity + self.reversal + self.false_conflict > 1 + 1e-12:
            raise ValueError("sensitivity, reversal and false_conflict exceed 1 together")


@dataclass(frozen=True)
class Answers:
    """What a judge says on n cases: label codes (NONE where unusable), confidence in hundredths, form."""

    label: Labels
    confidence: npt.NDArray[np.int64]
    fenced: npt.NDArray[np.bool_]


def answer(gold: Labels, judge: Judge, contract: str, shared: Draws, own: Draws) -> Answers:
    """Answers to cases with these gold labels.

    shared: standard normal draws of shape (n, SHARED), the same for every judge; own: (n, OWN), this judge's.
    """
    rho = judge.correlation
    difficulty, lean = (math.sqrt(rho) * shared + math.sqrt(1 - rho) * own[:, :SHARED]).T
    typed = "conflicting" in CONTRACTS[contract]
    leaning = np.where(lean > 0, SUPPORT, REFUTE)
    conflict = CONFLICTING if typed else INSUFFICIENT  # what the contract lets a conflict be called
    blindness = judge.conflict_blindness if typed else judge.untyped_blindness

    label = np.full(len(gold), NONE, dtype=np.int8)
    decided = directional(gold)
    label[decided] = INSUFFICIENT
    label[decided & (difficulty < quantile(judge.reversal + judge.false_conflict))] = conflict
    reversed_ = decided & (difficulty < quantile(judge.reversal))
    label[reversed_] = SUPPORT + REFUTE - gold[reversed_]
    right = decided & (difficulty >= quantile(1 - judge.sensitivity))
    label[right] = gold[right]
    for code, rate, otherwise in (
        (CONFLICTING, blindness, conflict),
        (INSUFFICIENT, judge.overcommitment, INSUFFICIENT),
    ):
        here = gold == code
        label[here] = np.where(difficulty < quantile(rate), leaning, otherwise)[here]

    mean = np.where(label == gold, judge.confidence_right, judge.confidence_wrong)
    stated = np.rint((mean + judge.confidence_noise * own[:, 2]) * HUNDREDTHS)
    label[own[:, 3] < quantile(judge.unusable)] = NONE
    return Answers(label, np.clip(stated, 0, HUNDREDTHS).astype(np.int64), own[:, 4] < quantile(judge.fenced))


def quantile(share: float) -> float:
    """The standard normal quantile, infinite at 0 and 1."""
    if not 0 < share < 1:
        return math.copysign(math.inf, share - 0.5)
    return NormalDist().inv_cdf(share)


def rates(judge: Judge, contract: str) -> dict[str, float]:
    """The rates that tables estimate, as the parameters imply them (an unusable answer commits to nothing)."""
    typed = "conflicting" in CONTRACTS[contract]
    usable = 1 - judge.unusable
    blindness = judge.conflict_blindness if typed else judge.untyped_blindness
    return {
        "cpo_c": usable * blindness,
        "rec_c": usable * (1 - blindness) if typed else 0.0,
        "ovc_i": usable * judge.overcommitment,
        "acc_sr": usable * judge.sensitivity,
        "false_conflict": usable * judge.false_conflict if typed else 0.0,
    }


def judge_of(parameters: dict[str, Any]) -> Judge:
    """A judge from the numbers of a configuration or a request."""
    return Judge(**{name: float(value) for name, value in parameters.items()})
