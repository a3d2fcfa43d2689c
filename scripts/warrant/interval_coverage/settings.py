"""Settings: how many claims of each gold label, and judges with known parameters, near the paper's rates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from warrant.labels import GOLD, REFUTE, SUPPORT, Labels
from warrant.simulation import Judge

PANEL: Final = ("a", "b", "c")
CONTROLLERS: Final = ("E@0.90", "F@0.90", "F@0.85")
# The comparisons of config/runs/paper.yaml, each on every metric, and two of judges that (nearly) agree.
COMPARED: Final = (
    ("panel_amplification", "single/a/3opt", "panel/3opt"),
    ("vocabulary_and_panel", "single/a/3opt", "panel/4opt"),
    ("vocabulary_alone", "single/a/3opt", "single/a/4opt"),
    ("panel_alone", "single/a/4opt", "panel/4opt"),
    ("validator_against_panel", "panel/4opt", "validator"),
    ("veto_beside_threshold", "E@0.90", "F@0.90"),
    ("veto_beside_lower_threshold", "E@0.90", "F@0.85"),
    ("same_parameters", "single/a/4opt", "single/d/4opt"),
    ("near_twins", "single/e/4opt", "single/f/4opt"),
)
UNTYPED: Final = ("rec_c", "false_conflict")  # 0 by contract where "conflicting" is not offered


@dataclass(frozen=True)
class Setting:
    """A sample's composition and the judges that answer it.

    composition: claims by gold label (as many support as refute). judges: a, b, c (the panel, in this order), d (with
    a's parameters), e and f (which nearly always agree), v (the validator). drawn: the gold labels of each
    replication are drawn with these shares instead of fixed.
    """

    name: str
    composition: tuple[int, int, int, int]
    judges: Mapping[str, Judge]
    drawn: bool = False

    def __post_init__(self) -> None:
        """ValueError when support and refute differ in number or a judge is missing."""
        if self.composition[SUPPORT] != self.composition[REFUTE]:
            raise ValueError(f"{self.name}: support and refute differ in number: {self.composition}")
        if sorted(self.judges) != [*PANEL, "d", "e", "f", "v"]:
            raise ValueError(f"{self.name}: judges {sorted(self.judges)}")

    @property
    def claims(self) -> int:
        """Claims of a sample."""
        return int(np.sum(self.composition))

    def gold(self, samples: int, rng: np.random.Generator) -> Labels:
        """Gold labels of many samples, one after the other."""
        if self.drawn:
            shares = np.array(self.composition) / self.claims
            return rng.choice(len(GOLD), size=samples * self.claims, p=shares).astype(np.int8)
        return np.tile(np.repeat(np.arange(len(GOLD)), self.composition), samples).astype(np.int8)


_A: Final = Judge(
    sensitivity=0.77,
    reversal=0.06,
    false_conflict=0.05,
    conflict_blindness=0.40,
    untyped_blindness=0.77,
    overcommitment=0.35,
    correlation=0.4,
    confidence_right=0.90,
    confidence_wrong=0.85,
    confidence_noise=0.07,
    unusable=0.01,
)


def cast(
    a: Judge, b: Mapping[str, float], c: Mapping[str, float], f: Mapping[str, float], v: Judge
) -> dict[str, Judge]:
    """The judges of a setting, from a's parameters: d has them too; e has them and nearly always agrees with f."""
    e = replace(a, correlation=0.999, unusable=0.0)
    return {"a": a, "b": replace(a, **b), "c": replace(a, **c), "d": a, "e": e, "f": replace(e, **f), "v": v}


_USUAL: Final = cast(
    _A,
    {"sensitivity": 0.74, "conflict_blindness": 0.28, "overcommitment": 0.45},
    {"sensitivity": 0.72, "conflict_blindness": 0.33, "untyped_blindness": 0.82, "overcommitment": 0.40},
    {"sensitivity": 0.78, "conflict_blindness": 0.41},
    replace(
        _A,
        sensitivity=0.50,
        reversal=0.03,
        false_conflict=0.25,
        conflict_blindness=0.18,
        overcommitment=0.15,
        correlation=0.2,
    ),
)
_SHARP: Final = replace(
    _A,
    sensitivity=0.97,
    reversal=0.01,
    false_conflict=0.01,
    conflict_blindness=0.03,
    untyped_blindness=0.97,
    overcommitment=0.03,
)
_SILENT: Final = replace(
    _A, sensitivity=0.12, reversal=0.02, conflict_blindness=0.03, untyped_blindness=0.06, overcommitment=0.03
)
SETTINGS: Final = (
    Setting("averitec", (50, 50, 35, 150), _USUAL),
    Setting("averitec_drawn", (50, 50, 35, 150), _USUAL, drawn=True),
    Setting("vitaminc_mixed", (50, 50, 50, 100), _USUAL),
    Setting("demo", (20, 20, 20, 20), _USUAL),
    Setting(
        "near_0_and_1",
        (50, 50, 35, 150),
        cast(
            _SHARP,
            {"conflict_blindness": 0.05},
            {},
            {"conflict_blindness": 0.04},
            replace(_SHARP, sensitivity=0.90, conflict_blindness=0.02),
        ),
    ),
    Setting(
        "few_commits",
        (50, 50, 35, 150),
        cast(
            _SILENT,
            {"sensitivity": 0.10},
            {},
            {"conflict_blindness": 0.04},
            replace(_SILENT, sensitivity=0.10, conflict_blindness=0.02),
        ),
    ),
)
