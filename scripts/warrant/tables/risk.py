"""Tables `risk` and `risk_choices`: choosing a controller on half of the claims so that its CPO_N stays below alpha.

The verdict paper's negative result (risk calibration): the choice tends to collapse to one configuration, and the bound
is checked on the half that chose it, not promised for the other. Repeated over recorded splits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, Final, get_args

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from warrant import artifact
from warrant.artifact import field
from warrant.controllers import VETO_MODES
from warrant.decimals import Arithmetic
from warrant.labels import CONFLICTING, NAMES, Labels, Mask, directional
from warrant.metrics import ratio
from warrant.splits import calibration_halves
from warrant.systems import Controlled, Decisions, threshold_name

ABSTAIN: Final = "abstain"
SCHEMA: Final = pa.schema(
    [
        field("alpha", pa.float64(), "bound on CPO_N", nullable=False),
        field("arithmetic", pa.string(), "exact or published (compensated floats) at thresholds", nullable=False),
        field("configurations", pa.int64(), "grid points that decide differently on some claim", nullable=False),
        field("splits", pa.int64(), "recorded splits", nullable=False),
        field("chosen", pa.int64(), "different configurations that were chosen", nullable=False),
        field("most_chosen", pa.string(), "the one chosen most often, then the earliest of the grid", nullable=False),
        field("most_chosen_k", pa.int64(), "splits that chose it", nullable=False),
        field("most_chosen_share", pa.float64(), "share of splits that chose it: 1 is a full collapse", nullable=False),
        field("without_choice", pa.int64(), "splits on which no grid point met the bound: nothing is committed"),
        field("cpo_n_calibration", pa.float64(), "mean CPO_N on the half that chose"),
        field("cpo_n", pa.float64(), "mean CPO_N on the other half"),
        field("cpo_n_p05", pa.float64(), "5% quantile of it over splits"),
        field("cpo_n_p95", pa.float64(), "95% quantile of it over splits"),
        field("violations", pa.int64(), "splits with CPO_N > alpha on the other half", nullable=False),
        field("violation_rate", pa.float64(), "share of splits; splits share claims and are not independent"),
        field("coverage", pa.float64(), "mean coverage on the other half"),
        field("se", pa.float64(), "mean selective error on the other half, where something is committed"),
    ]
)
CHOICES: Final = pa.schema(
    [
        field("alpha", pa.float64(), "bound on CPO_N", nullable=False),
        field("arithmetic", pa.string(), "exact or published (compensated floats) at thresholds", nullable=False),
        field("configuration", pa.string(), "grid point; abstain: none met the bound", nullable=False),
        field("alike", pa.int64(), "grid points with its decisions, itself included; 0 for abstain", nullable=False),
        field("k", pa.int64(), "splits that chose it", nullable=False),
        field("splits", pa.int64(), "recorded splits", nullable=False),
        field("share", pa.float64(), "share of splits", nullable=False),
        field("coverage", pa.float64(), "its coverage on all claims", nullable=False),
        field("cpo_n", pa.float64(), "its CPO_N on all claims", nullable=False),
    ]
)
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Configuration:
    """The first of the grid points that decide alike on every claim, and how many they are."""

    name: str
    decision: Labels
    alike: int


@dataclass(frozen=True)
class _Halves:
    """Counts of every configuration on both halves of every split: (splits, configurations), sizes (splits,)."""

    commits: tuple[Ints, Ints]
    cpo: tuple[Ints, Ints]
    wrong: tuple[Ints, Ints]
    size: tuple[Ints, Ints]


def grid(
    panel: Controlled, taus: Sequence[Decimal], margins: Sequence[Decimal], arithmetic: Arithmetic
) -> list[Configuration]:
    """The panel itself, conflict-if-any, vote margins, E, and with a validator D and F; alike ones merged, in order."""
    points: list[tuple[str, Decisions]] = [("panel", panel.proposal)]
    names = ["conflict_if_any", *(threshold_name("vote_margin", margin) for margin in margins)]
    names += [threshold_name("E", tau) for tau in taus]
    if panel.mixed is not None:
        names += [f"D/{mode}" for mode in VETO_MODES] + [threshold_name("F", tau) for tau in taus]
    points += [(name, panel.named(name, arithmetic)) for name in names]
    groups: dict[bytes, list[tuple[str, Labels]]] = {}
    for name, decisions in points:
        groups.setdefault(decisions.decision.tobytes(), []).append((name, decisions.decision))
    return [Configuration(*group[0], len(group)) for group in groups.values()]


def risk(
    gold: Labels,
    panel: Controlled,
    taus: Sequence[Decimal],
    margins: Sequence[Decimal],
    alphas: Sequence[Decimal],
    splits: int,
    seed: int,
) -> tuple[pa.Table, pa.Table]:
    """Tables `risk` (a row per bound and arithmetic) and `risk_choices` (a row per configuration ever chosen).

    Halves are stratified by gold label; the calibration half takes floor(n/2) of each. ValueError for a partial
    panel or without splits.
    """
    if panel.proposal.partial:
        raise ValueError("risk calibration needs the panel's votes on every claim")
    if splits < 1:
        raise ValueError(f"splits={splits} is not positive")
    halves = calibration_halves(range(len(gold)), [NAMES[label] for label in gold.tolist()], seed, splits)
    summary: list[dict[str, Any]] = []
    choices: list[dict[str, Any]] = []
    for arithmetic in get_args(Arithmetic):
        configurations = grid(panel, taus, margins, arithmetic)
        counted = _count(gold, configurations, halves)
        for alpha in alphas:
            chosen = choose(counted.commits[0], counted.cpo[0], counted.size[0], alpha)
            base = {"alpha": float(alpha), "arithmetic": arithmetic, "splits": splits}
            summary.append(base | _summary(configurations, counted, chosen, alpha))
            choices += [base | line for line in _choices(gold, configurations, chosen)]
    return artifact.from_rows(summary, SCHEMA), artifact.from_rows(choices, CHOICES)


def choose(commits: Ints, cpo: Ints, size: Ints, alpha: Decimal) -> Ints:
    """Per split, the grid point with the most commits among those with cpo <= alpha * size; -1 where there is none.

    Equal commits: the fewest CPO commits, then the earliest. commits, cpo: (splits, configurations); size: (splits,).
    """
    numerator, denominator = alpha.as_integer_ratio()
    most = [int(n) * numerator // denominator for n in size.tolist()]  # the largest count within the bound
    allowed = cpo <= np.array(most, dtype=np.int64)[:, None]
    merit = np.where(allowed, commits * (size[:, None] + 1) + size[:, None] - cpo, -1)
    best = merit.argmax(axis=1)
    return np.where(allowed.any(axis=1), best, -1)


def _count(gold: Labels, configurations: Sequence[Configuration], calibration: Mask) -> _Halves:
    decisions = np.stack([one.decision for one in configurations], axis=1)
    commits = directional(decisions)

    def both(indicator: Mask) -> tuple[Ints, Ints]:
        # sums of zeros and ones are exact in float64, and multiply faster
        inside = (calibration.astype(np.float64) @ indicator.astype(np.float64)).astype(np.int64)
        return inside, indicator.sum(axis=0) - inside

    size = calibration.sum(axis=1)
    return _Halves(
        commits=both(commits),
        cpo=both(commits & (gold == CONFLICTING)[:, None]),
        wrong=both(commits & (decisions != gold[:, None])),
        size=(size, len(gold) - size),
    )


def _picked(counts: Ints, chosen: Ints) -> Ints:
    """Counts of the chosen configurations; 0 where none was."""
    return np.where(chosen >= 0, counts[np.arange(len(chosen)), np.maximum(chosen, 0)], 0)


def _summary(configurations: Sequence[Configuration], counted: _Halves, chosen: Ints, alpha: Decimal) -> dict[str, Any]:
    values, times = np.unique(chosen, return_counts=True)
    # abstaining is last in the order of the grid
    order = np.lexsort((np.where(values < 0, len(configurations), values), -times))
    winner, k = int(values[order[0]]), int(times[order[0]])
    calibrated, realised = (_picked(cpo, chosen).tolist() for cpo in counted.cpo)
    sizes, tested = (size.tolist() for size in counted.size)
    commits, wrong = (_picked(pair[1], chosen).tolist() for pair in (counted.commits, counted.wrong))
    bound = Fraction(alpha)
    violations = [n > 0 and Fraction(k, n) > bound for k, n in zip(realised, tested, strict=True)]
    rates = [k / n for k, n in zip(realised, tested, strict=True) if n]
    return {
        "configurations": len(configurations),
        "chosen": len(values),
        "most_chosen": configurations[winner].name if winner >= 0 else ABSTAIN,
        "most_chosen_k": k,
        "most_chosen_share": k / len(chosen),
        "without_choice": int((chosen < 0).sum()),
        "cpo_n_calibration": _mean_ratio(calibrated, sizes),
        "cpo_n": _mean_ratio(realised, tested),
        "cpo_n_p05": float(np.quantile(rates, 0.05)) if rates else None,
        "cpo_n_p95": float(np.quantile(rates, 0.95)) if rates else None,
        "violations": int(np.count_nonzero(violations)),
        "violation_rate": ratio(int(np.count_nonzero(violations)), len(rates)),
        "coverage": _mean_ratio(commits, tested),
        "se": _mean_ratio(wrong, commits),
    }


def _mean_ratio(numerators: Sequence[int], denominators: Sequence[int]) -> float | None:
    """Exact mean of the defined ratios; None when none is defined."""
    ratios = [Fraction(k, n) for k, n in zip(numerators, denominators, strict=True) if n]
    return float(sum(ratios, Fraction(0)) / len(ratios)) if ratios else None


def _choices(gold: Labels, configurations: Sequence[Configuration], chosen: Ints) -> list[dict[str, Any]]:
    rows = []
    for position, one in [*enumerate(configurations), (-1, None)]:
        k = int((chosen == position).sum())
        if k == 0:
            continue
        commits = np.zeros(len(gold), dtype=np.bool_) if one is None else directional(one.decision)
        rows.append(
            {
                "configuration": ABSTAIN if one is None else one.name,
                "alike": 0 if one is None else one.alike,
                "k": k,
                "share": k / len(chosen),
                "coverage": ratio(int(commits.sum()), len(gold)) or 0.0,
                "cpo_n": ratio(int((commits & (gold == CONFLICTING)).sum()), len(gold)) or 0.0,
            }
        )
    return rows
