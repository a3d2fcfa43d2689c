"""Tables `judges` and `confusion`: every system's rates with Wilson intervals, and its confusion matrix."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import pyarrow as pa

from warrant import artifact
from warrant.artifact import field
from warrant.intervals import newcombe, wilson
from warrant.labels import GOLD, NAMES, NONE, Labels
from warrant.metrics import METRICS, confusion, macro_f1
from warrant.systems import Decisions


def _rate(name: str, meaning: str) -> list[pa.Field[Any]]:
    return [
        field(name, pa.float64(), f"{meaning}, share; null when not computable"),
        field(f"{name}_k", pa.int64(), f"{meaning}, count"),
        field(f"{name}_n", pa.int64(), f"{meaning}, denominator"),
        field(f"{name}_low", pa.float64(), "Wilson 95% lower bound"),
        field(f"{name}_high", pa.float64(), "Wilson 95% upper bound"),
    ]


JUDGES: Final = pa.schema(
    [
        field("system", pa.string(), "judge or panel, and contract", nullable=False),
        field("n", pa.int64(), "claims in the sample", nullable=False),
        field("n_parsed", pa.int64(), "claims with a usable verdict; null when some claims are not known"),
        *_rate("cpo_c", "directional on gold-conflicting claims"),
        *_rate("ovc_i", "directional on gold-insufficient claims"),
        field("gap", pa.float64(), "cpo_c - ovc_i, unpaired"),
        field("gap_low", pa.float64(), "Newcombe 95% lower bound"),
        field("gap_high", pa.float64(), "Newcombe 95% upper bound"),
        *_rate("rec_c", "conflicting on gold-conflicting claims"),
        *_rate("acc_sr", "right direction on gold support/refute claims"),
        *_rate("false_conflict", "conflicting on gold support/refute claims"),
        *_rate("accuracy", "right label on all claims"),
        field("macro_f1", pa.float64(), "unweighted mean F1 of the four labels"),
        *_rate("cov", "directional commits on all claims"),
        *_rate("se", "wrong commits among commits"),
        field("cpo_n", pa.float64(), "directional on gold-conflicting claims, share of all claims"),
        field("partial", pa.bool_(), "votes are known on some claims only", nullable=False),
    ]
)
CONFUSION: Final = pa.schema(
    [
        field("system", pa.string(), "judge or panel, and contract", nullable=False),
        field("gold", pa.string(), "gold label", nullable=False),
        field("predicted", pa.string(), "verdict; none: no usable verdict", nullable=False),
        field("n", pa.int64(), "claims", nullable=False),
    ]
)
WITH_INTERVAL: Final = ("cpo_c", "ovc_i", "rec_c", "acc_sr", "false_conflict", "accuracy", "cov", "se")


def judges(gold: Labels, systems: Mapping[str, Decisions]) -> pa.Table:
    """One row per system. A rate that needs claims whose votes are not known is null (row marked partial)."""
    return artifact.from_rows((_judge(gold, name, system) for name, system in systems.items()), JUDGES)


def _judge(gold: Labels, name: str, system: Decisions) -> dict[str, Any]:
    row: dict[str, Any] = {"system": name, "n": len(gold), "partial": system.partial}
    if not system.partial:
        row["n_parsed"] = int((system.decision != NONE).sum())
        row["macro_f1"] = macro_f1(gold, system.decision)
    for metric in WITH_INTERVAL:
        counts = METRICS[metric].counts(gold, system.decision, system.known)
        if counts is None:
            continue
        k, n = counts
        interval = wilson(k, n)
        row |= {f"{metric}_k": k, f"{metric}_n": n}
        if interval is not None:
            row |= {metric: k / n, f"{metric}_low": interval[0], f"{metric}_high": interval[1]}
    row["cpo_n"] = METRICS["cpo_n"].value(gold, system.decision, system.known)
    if "ovc_i_k" in row and "cpo_c_k" in row:
        gap = newcombe(row["cpo_c_k"], row["cpo_c_n"], row["ovc_i_k"], row["ovc_i_n"])
        if gap is not None:
            row |= {"gap": row["cpo_c"] - row["ovc_i"], "gap_low": gap[0], "gap_high": gap[1]}
    return row


def confusions(gold: Labels, systems: Mapping[str, Decisions]) -> pa.Table:
    """Counts by gold label and verdict; of a partial system, the gold labels that are known completely."""
    rows = []
    for name, system in systems.items():
        counts = confusion(gold, np.where(system.known, system.decision, NONE).astype(np.int8))
        for code, label in enumerate(GOLD):
            if system.known[gold == code].all():
                for predicted in range(5):
                    rows.append(
                        {"system": name, "gold": label, "predicted": NAMES[predicted], "n": counts[code][predicted]}
                    )
    return artifact.from_rows(rows, CONFUSION)
