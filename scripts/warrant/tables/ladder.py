"""Tables `ladder` and `arithmetic`: every rung of interventions, and the cases on which two arithmetics differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, Final, get_args

import numpy as np
import pyarrow as pa

from warrant import artifact
from warrant.artifact import field
from warrant.controllers import VETO_MODES
from warrant.decimals import SCALE, Arithmetic, float_means
from warrant.labels import NAMES, Labels
from warrant.metrics import METRICS, ratio
from warrant.systems import Controlled, Decisions, threshold_name

LADDER: Final = pa.schema(
    [
        field("rung", pa.string(), "L0 to L5 of the paper's ladder", nullable=False),
        field("system", pa.string(), "judge, panel or controller", nullable=False),
        field("arithmetic", pa.string(), "exact or published (compensated floats) at thresholds", nullable=False),
        field("tau", pa.float64(), "threshold or vote margin; null where there is none"),
        field("n", pa.int64(), "claims in the sample", nullable=False),
        field("commits", pa.int64(), "directional commits"),
        field("wrong", pa.int64(), "wrong commits"),
        *(
            field(name, pa.float64(), f"{name}, share; null when not computable")
            for name in ("cov", "se", "cpo_n", "cpo_c", "acc_sr", "rec_c", "ovc_i", "false_conflict")
        ),
        *(
            field(f"{name}_k", pa.int64(), f"{name}, count; null when not computable")
            for name in ("cpo_c", "acc_sr", "rec_c")
        ),
        field("partial", pa.bool_(), "votes are known on some claims only", nullable=False),
    ]
)
ARITHMETIC: Final = pa.schema(
    [
        field("controller", pa.string(), "controller with its threshold", nullable=False),
        field("tau", pa.float64(), "threshold", nullable=False),
        field("case_id", pa.int32(), "case of the sample", nullable=False),
        field("gold", pa.string(), "gold label", nullable=False),
        field("exact", pa.string(), "decision in exact decimals", nullable=False),
        field("published", pa.string(), "decision in compensated floats", nullable=False),
        field("confidences", pa.list_(pa.string()), "usable confidences, in the panel's order", nullable=False),
        field("exact_mean", pa.string(), "their mean as a fraction or decimal", nullable=False),
        field("float_mean", pa.float64(), "their mean in compensated floats", nullable=False),
    ]
)
_ARITHMETICS: Final[tuple[Arithmetic, ...]] = get_args(Arithmetic)


def ladder(
    gold: Labels,
    singles: Mapping[str, tuple[str, Decisions]],
    panel: Controlled | None,
    taus: Sequence[Decimal],
    margins: Sequence[Decimal],
) -> pa.Table:
    """One row per rung, system and arithmetic.

    singles: system -> (rung, decisions), the rungs without a controller. panel: the typed panel that
    controllers act on, with or without a validator. Rows without a threshold are equal in both arithmetics.
    """
    rows = []
    for arithmetic in _ARITHMETICS:
        for system, (rung, decisions) in singles.items():
            rows.append(_row(gold, rung, system, arithmetic, None, decisions))
        for rung, system, tau in controllers(panel, taus, margins):
            assert panel is not None
            rows.append(_row(gold, rung, system, arithmetic, tau, panel.named(system, arithmetic)))
    return artifact.from_rows(sorted(rows, key=lambda row: row["rung"]), LADDER)


def controllers(
    panel: Controlled | None, taus: Sequence[Decimal], margins: Sequence[Decimal]
) -> list[tuple[str, str, Decimal | None]]:
    """Rung, name and threshold of every controller that the panel allows (none without a panel)."""
    if panel is None:
        return []
    found: list[tuple[str, str, Decimal | None]] = [("L2", "conflict_if_any", None)]
    found += [("L2", threshold_name("vote_margin", margin), margin) for margin in margins]
    found += [("L3", threshold_name("E", tau), tau) for tau in taus]
    if panel.verdict is not None:
        found += [("L4", f"D/{mode}", None) for mode in VETO_MODES]
        found += [("L4", "validator", None)]
        found += [("L5", threshold_name("F", tau), tau) for tau in taus]
    return found


def _row(
    gold: Labels, rung: str, system: str, arithmetic: str, tau: Decimal | None, decisions: Decisions
) -> dict[str, Any]:
    row: dict[str, Any] = {
        "rung": rung,
        "system": system,
        "arithmetic": arithmetic,
        "tau": None if tau is None else float(tau),
        "n": len(gold),
        "partial": decisions.partial,
    }
    selective = METRICS["se"].counts(gold, decisions.decision, decisions.known)
    if selective is not None:
        row["wrong"], row["commits"] = selective
    for name, metric in METRICS.items():
        counts = metric.counts(gold, decisions.decision, decisions.known)
        if counts is not None and name in LADDER.names:
            row[name] = ratio(*counts)
        if counts is not None and f"{name}_k" in LADDER.names:
            row[f"{name}_k"] = counts[0]
    return row


def arithmetic_cases(gold: Labels, panel: Controlled, taus: Sequence[Decimal]) -> pa.Table:
    """The cases on which E or F decides differently in exact decimals and in compensated floats."""
    rows = []
    usable = panel.votes.has_confidence & panel.votes.usable
    means = float_means(panel.votes.confidence, usable)
    kinds = ("E",) if panel.verdict is None else ("E", "F")
    names = [threshold_name(kind, tau) for kind in kinds for tau in taus]
    for name in names:
        exact, published = panel.named(name, "exact").decision, panel.named(name, "published").decision
        for case in np.flatnonzero((exact != published) & panel.votes.known).tolist():
            values = panel.votes.confidence[case][usable[case]].tolist()
            stated = [_decimal(value) for value in values]
            rows.append(
                {
                    "controller": name,
                    "tau": float(name.partition("@")[2]),
                    "case_id": case,
                    "gold": NAMES[gold[case]],
                    "exact": NAMES[exact[case]],
                    "published": NAMES[published[case]],
                    "confidences": stated,
                    "exact_mean": _mean(values),
                    "float_mean": means[case],
                }
            )
    return artifact.from_rows(rows, ARITHMETIC)


def _decimal(units: int) -> str:
    return format((Decimal(units).scaleb(-SCALE)).normalize(), "f")


def _mean(units: Sequence[int]) -> str:
    whole, rest = divmod(sum(units), len(units))
    return _decimal(whole) if rest == 0 else f"{_decimal(sum(units))}/{len(units)}"
