"""Tables `frontier` and `sweep_summary`: E against F at equal coverage, and over the coverage that both reach.

Verdict paper, section 7 and the sweep of Table 9. Two controllers are compared at a coverage only where they commit on
exactly as many claims; between such points the paper compares the mean selective error of the two curves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, Final, get_args

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from warrant import artifact
from warrant.artifact import field
from warrant.bootstrap import generator, percentile_interval, resampled_sums
from warrant.decimals import Arithmetic
from warrant.labels import Labels, directional
from warrant.metrics import METRICS
from warrant.systems import Controlled
from warrant.tables.sweep import controlled

COMPARED: Final = ("se", "cpo_n", "cpo_c", "acc_sr", "rec_c", "ovc_i")
SCHEMA: Final = pa.schema(
    [
        field("arithmetic", pa.string(), "exact or published (compensated floats) at the threshold", nullable=False),
        field("coverage", pa.float64(), "share of claims that both commit on", nullable=False),
        field("commits", pa.int64(), "commits of each", nullable=False),
        *(
            field(f"tau_{one}{end}", pa.float64(), f"{one.upper()}'s threshold: {which}", nullable=False)
            for one in "ef"
            for end, which in (
                ("", "of those that give this coverage, the one with the fewest decimals, then the smallest"),
                ("_low", "the smallest that gives this coverage"),
                ("_high", "the largest that gives this coverage"),
            )
        ),
        *(
            field(f"{name}_{end}", pa.float64(), f"{name}: {which}; null when undefined")
            for name in COMPARED
            for end, which in (("e", "E"), ("f", "F"), ("difference", "F minus E"))
        ),
        field("cpo_c_gain", pa.float64(), "cpo_c: E minus F; null without gold-conflicting claims"),
        field("wrong_removed", pa.int64(), "wrong commits, E minus F", nullable=False),
        field("cpo_removed", pa.int64(), "commits on gold-conflicting claims, E minus F", nullable=False),
    ]
)
SUMMARY: Final = pa.schema(
    [
        field("controller", pa.string(), "E, F or their difference F-E", nullable=False),
        field("arithmetic", pa.string(), "exact or published (compensated floats) at the threshold", nullable=False),
        field("n", pa.int64(), "claims in the sample", nullable=False),
        field("levels", pa.int64(), "distinct coverages above 0; F-E: those of both", nullable=False),
        field("max_coverage", pa.float64(), "largest coverage; null for F-E"),
        field("support_low", pa.float64(), "smallest coverage above 0 that both curves reach down to"),
        field("support_high", pa.float64(), "largest coverage that both curves reach up to"),
        field("mean_se", pa.float64(), "mean selective error over the common support, trapezoid; null without one"),
        field("low", pa.float64(), "percentile 95% lower bound, bootstrap over claims, thresholds fixed"),
        field("high", pa.float64(), "percentile 95% upper bound"),
        field("resamples", pa.int64(), "bootstrap resamples", nullable=False),
    ]
)
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Level:
    """One coverage of a controller: its decisions and every threshold that gives them."""

    commits: int
    decision: Labels
    taus: tuple[Decimal, ...]

    @property
    def tau(self) -> Decimal:
        """The threshold with the fewest decimals, then the smallest: all of them decide alike."""
        return min(self.taus, key=lambda tau: (-int(tau.normalize().as_tuple().exponent), tau))


def levels(panel: Controlled, controller: str, taus: Sequence[Decimal], arithmetic: Arithmetic) -> list[Level]:
    """Distinct coverages above 0, from small to large.

    What a higher threshold commits on, a lower one does too: equal numbers of commits are the same commits.
    """
    found: dict[int, tuple[Labels, list[Decimal]]] = {}
    for tau in sorted(taus):
        decision = controlled(panel, controller, tau, arithmetic).decision
        commits = int(directional(decision).sum())
        if commits:
            found.setdefault(commits, (decision, []))[1].append(tau)
    return [Level(commits, decision, tuple(alike)) for commits, (decision, alike) in sorted(found.items())]


def frontier(gold: Labels, panel: Controlled, taus: Sequence[Decimal]) -> pa.Table:
    """One row per arithmetic and coverage above 0 that E and F both have, from small to large.

    ValueError for a partial panel or without a validator.
    """
    _complete(panel)
    rows = []
    for arithmetic in get_args(Arithmetic):
        e, f = ({level.commits: level for level in levels(panel, one, taus, arithmetic)} for one in "EF")
        rows += [_row(gold, arithmetic, e[commits], f[commits]) for commits in e if commits in f]
    return artifact.from_rows(rows, SCHEMA)


def sweep_summary(gold: Labels, panel: Controlled, taus: Sequence[Decimal], resamples: int, seed: int) -> pa.Table:
    """Rows E, F and F-E per arithmetic: levels, common support, and mean selective error over it.

    A curve is linear between its coverages. Claims are resampled with one set of resamples for all rows; each
    resample has its own coverages and its own common support. ValueError for a partial panel or without a validator.
    """
    _complete(panel)
    curves: dict[tuple[str, str], list[Level]] = {
        (arithmetic, controller): levels(panel, controller, taus, arithmetic)
        for arithmetic in get_args(Arithmetic)
        for controller in "EF"
    }
    places, columns = _columns(gold, curves)
    observed = columns.sum(axis=0, keepdims=True)
    drawn = resampled_sums(columns, resamples, generator(seed))
    rows: list[dict[str, Any]] = []
    for arithmetic in get_args(Arithmetic):
        pair = [places[arithmetic, controller] for controller in "EF"]
        means, support = _mean_errors(observed, pair)
        resampled, _ = _mean_errors(drawn, pair)
        e, f = (curves[arithmetic, controller] for controller in "EF")
        common = {level.commits for level in e} & {level.commits for level in f}
        counted: tuple[tuple[str, int, int | None], ...] = (
            ("E", len(e), e[-1].commits if e else 0),
            ("F", len(f), f[-1].commits if f else 0),
            ("F-E", len(common), None),
        )
        for position, (name, count, most) in enumerate(counted):
            row: dict[str, Any] = {
                "controller": name,
                "arithmetic": arithmetic,
                "n": len(gold),
                "levels": count,
                "resamples": resamples,
            }
            if most is not None and len(gold):
                row["max_coverage"] = most / len(gold)
            if support[0, 0] <= support[0, 1]:
                row |= {"support_low": support[0, 0] / len(gold), "support_high": support[0, 1] / len(gold)}
                row["mean_se"] = float(means[0, position])
                interval = percentile_interval(resampled[:, position])
                if interval is not None:
                    row["low"], row["high"] = interval
            rows.append(row)
    return artifact.from_rows(rows, SUMMARY)


def mean_over(commits: Floats, wrong: Floats, low: Floats, high: Floats) -> Floats:
    """Per row, the mean of wrong/commits over [low, high], linear between knots; the value itself where low == high.

    commits, wrong: (rows, knots), commits not falling along a row; knots without a commit are no knots. low, high:
    (rows,), inside the knots, or NaN results where low > high or there are no knots. Commits are counts: coverage
    times the number of claims.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        error = wrong / commits
        left, right = commits[:, :-1], commits[:, 1:]
        start, end = (np.clip(side, low[:, None], high[:, None]) for side in (left, right))
        slope = (error[:, 1:] - error[:, :-1]) / (right - left)
        middle = error[:, :-1] + slope * ((start + end) / 2 - left)
        area = np.where(end > start, (end - start) * middle, 0.0).sum(axis=1)
        means = np.where(low < high, area / (high - low), np.nan)
    for row in np.flatnonzero(low == high):
        knots = commits[row] > 0
        if knots.any():
            means[row] = np.interp(low[row], commits[row][knots], error[row][knots])
    return np.asarray(means)


def _mean_errors(sums: Floats, pair: Sequence[tuple[slice, slice]]) -> tuple[Floats, Floats]:
    """(rows, 3): mean error of E, of F, and their difference; (rows, 2): the common support, in commits."""
    commits = [sums[:, at] for at, _ in pair]
    smallest = [np.where(c > 0, c, np.inf).min(axis=1, initial=np.inf) for c in commits]
    low = np.maximum(*smallest)
    high = np.minimum(*(c.max(axis=1, initial=0.0) for c in commits))
    e, f = (mean_over(c, sums[:, at], low, high) for c, (_, at) in zip(commits, pair, strict=True))
    return np.stack([e, f, f - e], axis=1), np.stack([low, high], axis=1)


def _columns(
    gold: Labels, curves: Mapping[tuple[str, str], Sequence[Level]]
) -> tuple[dict[tuple[str, str], tuple[slice, slice]], Floats]:
    """Commits and wrong commits of every level as columns over claims, and where each curve's columns are."""
    places: dict[tuple[str, str], tuple[slice, slice]] = {}
    columns: list[npt.NDArray[np.bool_]] = []
    for key, curve in curves.items():
        start, middle = len(columns), len(columns) + len(curve)
        places[key] = slice(start, middle), slice(middle, middle + len(curve))
        columns += [directional(level.decision) for level in curve]
        columns += [directional(level.decision) & (level.decision != gold) for level in curve]
    matrix = np.stack(columns, axis=1).astype(np.float64) if columns else np.zeros((len(gold), 0))
    return places, matrix


def _row(gold: Labels, arithmetic: str, e: Level, f: Level) -> dict[str, Any]:
    row: dict[str, Any] = {"arithmetic": arithmetic, "coverage": e.commits / len(gold), "commits": e.commits}
    for one, level in (("e", e), ("f", f)):
        ends = (("", level.tau), ("_low", min(level.taus)), ("_high", max(level.taus)))
        row |= {f"tau_{one}{end}": float(tau) for end, tau in ends}
    for name in COMPARED:
        values = _exact(name, gold, e.decision), _exact(name, gold, f.decision)
        if values[0] is not None and values[1] is not None:
            row |= {f"{name}_e": float(values[0]), f"{name}_f": float(values[1])}
            row[f"{name}_difference"] = float(values[1] - values[0])
            if name == "cpo_c":
                row["cpo_c_gain"] = float(values[0] - values[1])
    row["wrong_removed"], row["cpo_removed"] = (
        _numerator(name, gold, e.decision) - _numerator(name, gold, f.decision) for name in ("se", "cpo_n")
    )
    return row


def _exact(name: str, gold: Labels, decision: Labels) -> Fraction | None:
    counts = METRICS[name].counts(gold, decision)
    return Fraction(*counts) if counts is not None and counts[1] else None


def _numerator(name: str, gold: Labels, decision: Labels) -> int:
    counts = METRICS[name].counts(gold, decision)
    assert counts is not None
    return counts[0]


def _complete(panel: Controlled) -> None:
    if panel.proposal.partial:
        raise ValueError("equal coverage needs the panel's votes on every claim")
    if panel.mixed is None:
        raise ValueError("the frontier needs a validator")
