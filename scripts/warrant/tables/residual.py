"""Table `residual`: which of a judge's CPO commits each rung of the ladder leaves, resolves, or adds.

Verdict paper, Table 5 and section 5: every intervention leaves a residual failure. No definition or number of that
residual is released, so it is ours. Take the gold-conflicting claims. The *base* is a single judge before the
intervention (in the paper the three-option one, L0). A rung's CPO commits are `k` of the `n` claims. Of the base's
`base_k` CPO commits, those that the rung still commits on are *remaining*, in the same or the other direction; the rest
is *resolved*, by what the rung says instead. Claims that the rung commits on and the base did not are *new*. So
k = remaining + new, and k / base_k alone hides cases that were traded for others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, Final, get_args

import pyarrow as pa

from warrant import artifact
from warrant.artifact import field
from warrant.decimals import Arithmetic
from warrant.intervals import wilson
from warrant.labels import CONFLICTING, INSUFFICIENT, NO_COMMIT, NONE, Labels, directional
from warrant.metrics import ratio
from warrant.systems import Controlled, Decisions
from warrant.tables.ladder import controllers


def _share(name: str, meaning: str) -> list[pa.Field[Any]]:
    return [
        field(f"{name}_share", pa.float64(), meaning),
        field(f"{name}_low", pa.float64(), "Wilson 95% lower bound"),
        field(f"{name}_high", pa.float64(), "Wilson 95% upper bound"),
    ]


_ENDS: Final = {
    "to_conflicting": CONFLICTING,
    "to_insufficient": INSUFFICIENT,
    "to_no_commit": NO_COMMIT,
    "to_none": NONE,
}
SCHEMA: Final = pa.schema(
    [
        field("base", pa.string(), "judge whose CPO commits are followed", nullable=False),
        field("rung", pa.string(), "L0 to L5 of the paper's ladder", nullable=False),
        field("system", pa.string(), "judge, panel or controller", nullable=False),
        field("arithmetic", pa.string(), "exact or published (compensated floats) at thresholds", nullable=False),
        field("tau", pa.float64(), "threshold or vote margin; null where there is none"),
        field("n", pa.int64(), "gold-conflicting claims", nullable=False),
        field("base_k", pa.int64(), "CPO commits of the base; null when not known"),
        field("k", pa.int64(), "CPO commits of the rung; null when not known"),
        *_share("k", "k / n"),
        field("ratio", pa.float64(), "k / base_k; may exceed 1"),
        field("remaining", pa.int64(), "CPO commits of the base on which the rung commits too"),
        *_share("remaining", "remaining / base_k"),
        field("turned", pa.int64(), "of the remaining, commits to the other direction"),
        field("resolved", pa.int64(), "CPO commits of the base on which the rung does not commit"),
        field("to_conflicting", pa.int64(), "of the resolved, called conflicting"),
        field("to_insufficient", pa.int64(), "of the resolved, called insufficient"),
        field("to_no_commit", pa.int64(), "of the resolved, withheld"),
        field("to_none", pa.int64(), "of the resolved, without a usable verdict"),
        field("new", pa.int64(), "CPO commits of the rung on which the base did not commit"),
        *_share("new", "new / (n - base_k)"),
        field("partial", pa.bool_(), "votes of the base or the rung are known on some claims only", nullable=False),
    ]
)


def residual(
    gold: Labels,
    bases: Mapping[str, Decisions],
    singles: Mapping[str, tuple[str, Decisions]],
    panel: Controlled | None,
    taus: Sequence[Decimal],
    margins: Sequence[Decimal],
) -> pa.Table:
    """One row per base, rung, system and arithmetic: the rows of `ladder` (same arguments), once for each base.

    Counts are null where a side's verdicts on gold-conflicting claims are not known.
    """
    rungs: list[tuple[str, str, Arithmetic, Decimal | None, Decisions]] = []
    for arithmetic in get_args(Arithmetic):
        rungs += [(rung, system, arithmetic, None, decisions) for system, (rung, decisions) in singles.items()]
        for rung, system, tau in controllers(panel, taus, margins):
            assert panel is not None
            rungs.append((rung, system, arithmetic, tau, panel.named(system, arithmetic)))
    rungs.sort(key=lambda item: item[0])
    rows = [
        {
            "base": base,
            "rung": rung,
            "system": system,
            "arithmetic": arithmetic,
            "tau": None if tau is None else float(tau),
            **_followed(gold, before, after),
        }
        for base, before in bases.items()
        for rung, system, arithmetic, tau, after in rungs
    ]
    return artifact.from_rows(rows, SCHEMA)


def _followed(gold: Labels, before: Decisions, after: Decisions) -> dict[str, Any]:
    """Counts of one base and one rung."""
    side = gold == CONFLICTING
    n = int(side.sum())
    row: dict[str, Any] = {"n": n, "partial": before.partial or after.partial}
    first, then = before.decision[side], after.decision[side]
    committed, commits = directional(first), directional(then)
    base_k, k = int(committed.sum()), int(commits.sum())
    first_known, then_known = (bool(system.known[side].all()) for system in (before, after))
    if first_known:
        row["base_k"] = base_k
    if then_known:
        row |= {"k": k, **_rate("k", k, n)}
    if not (first_known and then_known):
        return row
    remaining, resolved = committed & commits, committed & ~commits
    new = int((commits & ~committed).sum())
    return row | {
        "ratio": ratio(k, base_k),
        "remaining": int(remaining.sum()),
        **_rate("remaining", int(remaining.sum()), base_k),
        "turned": int((remaining & (first != then)).sum()),
        "resolved": int(resolved.sum()),
        **{name: int((resolved & (then == label)).sum()) for name, label in _ENDS.items()},
        "new": new,
        **_rate("new", new, n - base_k),
    }


def _rate(name: str, k: int, n: int) -> dict[str, float]:
    interval = wilson(k, n)
    if interval is None:
        return {}
    return {f"{name}_share": k / n, f"{name}_low": interval[0], f"{name}_high": interval[1]}
