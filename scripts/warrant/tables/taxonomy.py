"""Table `taxonomy`: what the certificate says about the claims on which a judge commits.

Release of the verdict paper, error_taxonomy/taxonomy_metrics.csv (gold-conflicting claims only). A certificate has
one structural category, the first that applies; only subclaims that the validator itself calls material count.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any, Final

import numpy as np
import pyarrow as pa

from warrant import artifact
from warrant.artifact import field
from warrant.certificates import material_states
from warrant.decimals import ONE, SCALE, from_units, to_units
from warrant.intervals import wilson
from warrant.labels import CONFLICTING, GOLD, REFUTE, SUPPORT, Labels, Mask
from warrant.panel import Votes

MIXED: Final = "material_mixed"
BOTH: Final = "separate_support_and_refute"
GAP: Final = "directional_plus_insufficient"
INSUFFICIENT_ONLY: Final = "insufficient_only"
SUPPORT_ONLY: Final = "support_only"
REFUTE_ONLY: Final = "refute_only"
WITHOUT: Final = "none"
CATEGORIES: Final = (MIXED, BOTH, GAP, INSUFFICIENT_ONLY, SUPPORT_ONLY, REFUTE_ONLY, WITHOUT)
SCHEMA: Final = pa.schema(
    [
        field("system", pa.string(), "judge and contract", nullable=False),
        field("gold", pa.string(), "gold label of the claims; the released table has conflicting only", nullable=False),
        field("category", pa.string(), "structural category of the certificate", nullable=False),
        field("claims", pa.int64(), "claims of this gold label and category", nullable=False),
        field("unusable", pa.int64(), "of these, claims without a usable certificate (category none)", nullable=False),
        field("commits", pa.int64(), "of the claims, those on which the judge commits: CPO where gold is conflicting"),
        field("rate", pa.float64(), "commits / claims"),
        field("low", pa.float64(), "Wilson 95% lower bound"),
        field("high", pa.float64(), "Wilson 95% upper bound"),
        field("support", pa.int64(), "commits to support"),
        field("refute", pa.int64(), "commits to refute"),
        field("stated", pa.int64(), "commits with a stated confidence"),
        field("confidence_sum", pa.decimal128(38, SCALE), "sum of the confidences that commits state"),
        field("mean_confidence", pa.float64(), "their mean: the double nearest to the exact quotient"),
        field("tau", pa.float64(), "threshold of a confident commit", nullable=False),
        field("confident", pa.int64(), "commits whose stated confidence reaches tau, in exact decimals"),
        field("confident_rate", pa.float64(), "confident / commits"),
        field("confident_low", pa.float64(), "Wilson 95% lower bound"),
        field("confident_high", pa.float64(), "Wilson 95% upper bound"),
        field("partial", pa.bool_(), "the judge's votes are known on some claims only", nullable=False),
    ]
)


def structural_category(subclaims: Sequence[Mapping[str, Any]] | None) -> str:
    """The first category that applies to a certificate; none without one, or when no subclaim is material."""
    states = material_states(subclaims or ())
    directions = states & {"supports", "refutes"}
    if "mixed" in states:
        return MIXED
    if len(directions) == 2:
        return BOTH
    if "insufficient" in states:
        return GAP if directions else INSUFFICIENT_ONLY
    if directions:
        return SUPPORT_ONLY if "supports" in directions else REFUTE_ONLY
    return WITHOUT


def categories(certificates: Iterable[Sequence[Mapping[str, Any]] | None]) -> tuple[list[str], Mask]:
    """Category of every certificate, and where there is a usable one."""
    listed = list(certificates)
    usable = np.array([subclaims is not None for subclaims in listed], dtype=np.bool_)
    return [structural_category(subclaims) for subclaims in listed], usable


def taxonomy(
    gold: Labels,
    judges: Mapping[str, Votes],
    certificates: Sequence[Sequence[Mapping[str, Any]] | None],
    tau: Decimal,
) -> pa.Table:
    """One row per judge, gold label and category, absent ones included.

    judges: votes of single judges (one column each; ValueError otherwise). certificates: subclaims of every claim,
    None where not usable. tau in [0, 1]. Counts are null where the judge's votes on this gold label are not known.
    """
    if not 0 <= to_units(tau) <= ONE:
        raise ValueError(f"tau={tau} is not between 0 and 1")
    found, usable = categories(certificates)
    names = np.array(found, dtype=object)
    rows: list[dict[str, Any]] = []
    for system, votes in judges.items():
        if votes.label.shape[1] != 1:
            raise ValueError(f"{system} is a panel of {votes.label.shape[1]}, a row is about one judge")
        for code in sorted(range(len(GOLD)), key=lambda code: code != CONFLICTING):
            side = gold == code
            for category in CATEGORIES:
                members = np.asarray(side & (names == category), dtype=np.bool_)
                row: dict[str, Any] = {
                    "system": system,
                    "gold": GOLD[code],
                    "category": category,
                    "claims": int(members.sum()),
                    "unusable": int((members & ~usable).sum()),
                    "tau": float(tau),
                    "partial": not votes.known.all(),
                }
                if votes.known[side].all():
                    row |= _commits(members, votes, to_units(tau))
                rows.append(row)
    return artifact.from_rows(rows, SCHEMA)


def _commits(members: Mask, votes: Votes, tau: int) -> dict[str, Any]:
    label, has = votes.label[:, 0], votes.has_confidence[:, 0]
    support, refute = ((members & (label == side)) for side in (SUPPORT, REFUTE))
    commits = support | refute
    stated: list[int] = votes.confidence[:, 0][commits & has].tolist()  # Python integers: no sum overflows
    total = sum(stated)
    n, k = int(members.sum()), int(commits.sum())
    confident = len([units for units in stated if units >= tau])
    row: dict[str, Any] = {
        "commits": k,
        "support": int(support.sum()),
        "refute": int(refute.sum()),
        "stated": len(stated),
        "confident": confident,
    }
    if stated:
        row |= {"confidence_sum": from_units(total), "mean_confidence": float(Fraction(total, len(stated) * ONE))}
    return row | _rate("", k, n) | _rate("confident_", confident, k)


def _rate(prefix: str, k: int, n: int) -> dict[str, float]:
    interval = wilson(k, n)
    if interval is None:
        return {}
    return {f"{prefix}rate": k / n, f"{prefix}low": interval[0], f"{prefix}high": interval[1]}
