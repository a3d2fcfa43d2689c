"""Table `anatomy`: how the votes of a panel lie behind its commits on gold-conflicting claims.

Verdict paper, Table 16 (panel-amplification anatomy) and section 5. "Dissent suppressed" has two readings. The
paper's counts every claim on which all judges but one vote for a direction (`votes_2` of three); but when the
third says conflicting and the two disagree, the panel returns conflicting, and nothing was suppressed. The other
counts what the panel really commits (column `committed`, rows `commits_*`). `splits_returned` lists the difference.
The paper's "unanimous" likewise counts three directional votes (`votes_3`), two directions among them or not.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import pyarrow as pa

from warrant import artifact
from warrant.artifact import field
from warrant.intervals import wilson
from warrant.labels import CONFLICTING, INSUFFICIENT, NONE, Labels, Mask, directional
from warrant.panel import Votes, majority

SCHEMA: Final = pa.schema(
    [
        field("system", pa.string(), "panel", nullable=False),
        field(
            "group",
            pa.string(),
            "votes_J: gold-conflicting claims with J directional votes and a complete record; incomplete: some vote "
            "is unusable; commits_J_votes: the panel's commits with a complete record, which are unanimous, opposed "
            "(some vote is for the other direction) or suppressed (none is, and some vote is not directional); "
            "splits_returned: claims on which all judges but one are directional and the panel does not commit",
            nullable=False,
        ),
        field("k", pa.int64(), "claims of the group; null when votes on gold-conflicting claims are not known"),
        field(
            "n",
            pa.int64(),
            "claims that it is a part of: gold-conflicting; for commits_J_votes the panel's CPO commits, for the other "
            "commits_* those with a complete record; for splits_returned all with all judges but one directional",
        ),
        field("rate", pa.float64(), "k / n"),
        field("percent", pa.float64(), "100 k / n"),
        field("low", pa.float64(), "Wilson 95% lower bound"),
        field("high", pa.float64(), "Wilson 95% upper bound"),
        field("committed", pa.int64(), "claims of the group on which the panel commits to a direction"),
        field("conflicting", pa.int64(), "claims of the group on which the panel returns conflicting"),
        field("insufficient", pa.int64(), "claims of the group on which the panel returns insufficient"),
        field("without", pa.int64(), "claims of the group on which the panel has no verdict"),
        field("cases", pa.list_(pa.int32()), "case ids, for splits_returned and incomplete; else null"),
        field("partial", pa.bool_(), "votes are known on some claims only", nullable=False),
    ]
)
_NUMBERS: Final = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
_LISTED: Final = ("splits_returned", "incomplete")


def anatomy(gold: Labels, panels: Mapping[str, Votes]) -> pa.Table:
    """One row per panel and group of claims. ValueError for a panel of one judge.

    A partial panel whose votes are known on every gold-conflicting claim has every number; else counts are null.
    """
    rows: list[dict[str, Any]] = []
    for system, votes in panels.items():
        if votes.label.shape[1] < 2:
            raise ValueError(f"{system} is a single judge, a panel has two or more")
        rows += _panel(gold, system, votes)
    return artifact.from_rows(rows, SCHEMA)


def _panel(gold: Labels, system: str, votes: Votes) -> list[dict[str, Any]]:
    decision = majority(votes)
    side = gold == CONFLICTING
    known = bool(votes.known[side].all())
    rows = []
    for group, (members, whole) in _groups(side, votes, decision).items():
        row: dict[str, Any] = {"system": system, "group": group, "partial": not votes.known.all()}
        if known:
            row |= _counts(members, whole, decision)
            if group in _LISTED:
                row["cases"] = np.flatnonzero(members).tolist()
        rows.append(row)
    return rows


def _groups(side: Mask, votes: Votes, decision: Labels) -> dict[str, tuple[Mask, Mask]]:
    """Claims of every group, and the claims that it is a part of."""
    judges = votes.label.shape[1]
    toward = directional(votes.label)
    number = toward.sum(axis=1)
    complete = side & votes.usable.all(axis=1)
    groups = {f"votes_{j}": (complete & (number == j), side) for j in range(judges, -1, -1)}
    groups["incomplete"] = (side & ~complete, side)
    groups[f"votes_{judges}_or_{judges - 1}"] = (complete & (number >= judges - 1), side)
    commits = side & directional(decision)
    recorded = commits & complete
    unanimous = recorded & (votes.label == decision[:, None]).all(axis=1)
    opposed = recorded & (toward & (votes.label != decision[:, None])).any(axis=1)
    groups[f"commits_{_number(judges)}_votes"] = (recorded, commits)
    groups["commits_unanimous"] = (unanimous, recorded)
    groups["commits_suppressed"] = (recorded & ~unanimous & ~opposed, recorded)
    groups["commits_opposed"] = (opposed, recorded)
    all_but_one = groups[f"votes_{judges - 1}"][0]
    groups["splits_returned"] = (all_but_one & ~commits, all_but_one)
    return groups


def _number(judges: int) -> str:
    return _NUMBERS[judges] if judges < len(_NUMBERS) else str(judges)


def _counts(members: Mask, whole: Mask, decision: Labels) -> dict[str, Any]:
    k, n = int(members.sum()), int(whole.sum())
    said = decision[members]
    row: dict[str, Any] = {
        "k": k,
        "n": n,
        "committed": int(directional(said).sum()),
        "conflicting": int((said == CONFLICTING).sum()),
        "insufficient": int((said == INSUFFICIENT).sum()),
        "without": int((said == NONE).sum()),
    }
    interval = wilson(k, n)
    if interval is not None:
        row |= {"rate": k / n, "percent": 100 * k / n, "low": interval[0], "high": interval[1]}
    return row
