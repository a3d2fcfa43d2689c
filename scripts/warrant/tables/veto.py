"""Table `veto`: how often the certificate's flags hit the typed panel's CPO commits, and raise false alarms."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pyarrow as pa

from warrant import artifact
from warrant.artifact import field
from warrant.intervals import wilson
from warrant.labels import CONFLICTING, INSUFFICIENT, REFUTE, SUPPORT, Labels, Mask, directional
from warrant.systems import Controlled

SCHEMA: Final = pa.schema(
    [
        field("flag", pa.string(), "material_mixed or material_insufficient", nullable=False),
        field("population", pa.string(), "claims that are looked at", nullable=False),
        field("k", pa.int64(), "flagged claims"),
        field("n", pa.int64(), "claims"),
        field("rate", pa.float64(), "share flagged"),
        field("low", pa.float64(), "Wilson 95% lower bound"),
        field("high", pa.float64(), "Wilson 95% upper bound"),
        field("partial", pa.bool_(), "votes or certificates are known on some claims only", nullable=False),
    ]
)


def veto(gold: Labels, panel: Controlled) -> pa.Table:
    """One row per flag and population. A population that needs unknown votes or certificates has null counts."""
    if panel.mixed is None or panel.insufficient is None:
        raise ValueError("the veto table needs a validator")
    commits = directional(panel.proposal.decision)
    populations: dict[str, tuple[Mask, Mask | None]] = {
        # name -> (gold side, commit side or None when the panel plays no part)
        "cpo_commits": (gold == CONFLICTING, commits),
        "overcommits_on_insufficient": (gold == INSUFFICIENT, commits),
        "correct_commits": (gold <= REFUTE, panel.proposal.decision == gold),
        "gold_support_refute": (gold <= REFUTE, None),
        "gold_support": (gold == SUPPORT, None),
        "gold_refute": (gold == REFUTE, None),
        "gold_conflicting": (gold == CONFLICTING, None),
    }
    certified = panel.validator().known
    rows: list[dict[str, Any]] = []
    for flag, flagged in (("material_mixed", panel.mixed), ("material_insufficient", panel.insufficient)):
        for name, (side, chosen) in populations.items():
            known = certified if chosen is None else panel.vetted
            row: dict[str, Any] = {"flag": flag, "population": name, "partial": not known.all()}
            if not known[side].all():
                rows.append(row)
                continue
            members = side if chosen is None else side & chosen
            k, n = int((flagged & members).sum()), int(np.count_nonzero(members))
            interval = wilson(k, n)
            row |= {"k": k, "n": n}
            if interval is not None:
                row |= {"rate": k / n, "low": interval[0], "high": interval[1]}
            rows.append(row)
    return artifact.from_rows(rows, SCHEMA)
