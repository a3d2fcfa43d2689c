"""Table `sweep`: the threshold controllers E and F over a grid of thresholds (verdict paper, section 7)."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any, Final, get_args

import pyarrow as pa

from warrant import artifact
from warrant.artifact import field
from warrant.decimals import Arithmetic
from warrant.labels import Labels
from warrant.metrics import METRICS, ratio
from warrant.systems import Controlled, Decisions

RATES: Final = ("cov", "se", "cpo_n", "cpo_c", "acc_sr", "rec_c", "ovc_i")
SCHEMA: Final = pa.schema(
    [
        field("controller", pa.string(), "E (threshold) or F (conflict veto, then threshold)", nullable=False),
        field("arithmetic", pa.string(), "exact or published (compensated floats) at the threshold", nullable=False),
        field("tau", pa.float64(), "threshold", nullable=False),
        field("n", pa.int64(), "claims in the sample", nullable=False),
        field("commits", pa.int64(), "directional commits; null when not computable"),
        field("wrong", pa.int64(), "wrong commits; null when not computable"),
        *(field(name, pa.float64(), f"{name}, share; null when not computable or undefined") for name in RATES),
        field("partial", pa.bool_(), "votes are known on some claims only", nullable=False),
    ]
)


def thresholds(low: Decimal, high: Decimal, step: Decimal) -> list[Decimal]:
    """low, low + step, ... up to high, which is included when it is met. ValueError unless the step is positive."""
    if step <= 0:
        raise ValueError(f"step={step} is not positive")
    count = int((high - low) // step) + 1 if high >= low else 0
    return [low + step * i for i in range(count)]


def controllers(panel: Controlled) -> tuple[str, ...]:
    """E, and F where there is a validator."""
    return ("E",) if panel.mixed is None else ("E", "F")


def controlled(panel: Controlled, controller: str, tau: Decimal, arithmetic: Arithmetic) -> Decisions:
    """Decisions of E or F at a threshold."""
    return panel.e(tau, arithmetic) if controller == "E" else panel.f(tau, arithmetic)


def sweep(gold: Labels, panel: Controlled, taus: Sequence[Decimal]) -> pa.Table:
    """One row per controller, arithmetic and threshold. Without a validator there is no F."""
    rows = [
        _row(gold, controller, arithmetic, tau, controlled(panel, controller, tau, arithmetic))
        for controller in controllers(panel)
        for arithmetic in get_args(Arithmetic)
        for tau in taus
    ]
    return artifact.from_rows(rows, SCHEMA)


def _row(gold: Labels, controller: str, arithmetic: str, tau: Decimal, decisions: Decisions) -> dict[str, Any]:
    row: dict[str, Any] = {
        "controller": controller,
        "arithmetic": arithmetic,
        "tau": float(tau),
        "n": len(gold),
        "partial": decisions.partial,
    }
    selective = METRICS["se"].counts(gold, decisions.decision, decisions.known)
    if selective is not None:
        row["wrong"], row["commits"] = selective
    for name in RATES:
        counts = METRICS[name].counts(gold, decisions.decision, decisions.known)
        if counts is not None:
            row[name] = ratio(*counts)
    return row
