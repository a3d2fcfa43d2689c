"""Draw the figures of the verdict study from its tables: those whose tables are there."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from matplotlib.figure import Figure

from warrant import artifact, style
from warrant.captions import DRAWN_FROM
from warrant.errors import InputError
from warrant.labels import GOLD
from warrant.step import SIMULATED, rests_on_simulation

Rows = Sequence[Mapping[str, Any]]
METRIC_NAMES: Final = {
    "se": "selective error",
    "cpo_n": "CPO per claim",
    "acc_sr": "accuracy on support and refute",
    "rec_c": "recall of conflicting",
}
PREDICTED: Final = (*GOLD, "none")


def where(rows: Rows, **wanted: object) -> list[Mapping[str, Any]]:
    """Rows with these values."""
    return [row for row in rows if all(row[key] == value for key, value in wanted.items())]


def forest(judges: Rows) -> Figure | None:
    """CPO_C beside Ovc_I of every judge, panel and validator, with Wilson intervals."""
    rows = [row for row in judges if row["cpo_c"] is not None]
    if not rows:
        return None
    made, axes = style.figure(6.5, 0.9 + 0.36 * len(rows))
    for i, (name, label) in enumerate((("cpo_c", "gold conflicting (CPO_C)"), ("ovc_i", "gold insufficient (Ovc_I)"))):
        shown = [(y, row) for y, row in enumerate(reversed(rows)) if row[name] is not None]
        shift = 0.14 if i == 0 else -0.14
        x = [row[name] for _, row in shown]
        low = [max(0.0, row[name] - row[f"{name}_low"]) for _, row in shown]
        high = [max(0.0, row[f"{name}_high"] - row[name]) for _, row in shown]
        y = [position + shift for position, _ in shown]
        axes.errorbar(x, y, xerr=[low, high], fmt=style.MARKERS[i], color=style.COLOURS[i], ms=4, lw=1.2, label=label)
    axes.set_yticks(range(len(rows)), [row["system"] for row in reversed(rows)])
    axes.set_ylim(-0.6, len(rows) - 0.4)
    axes.set_xlim(0, 1)
    axes.set_xlabel("share of claims on which it commits to a direction")
    style.percent(axes, "x")
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2, fontsize=8)
    return made


def confusion(cells: Rows) -> Figure | None:
    """One matrix per system: shares of each gold label, counts written in."""
    systems = list(dict.fromkeys(row["system"] for row in cells))
    if not systems:
        return None
    wide = min(4, len(systems))
    tall = -(-len(systems) // wide)
    made = Figure(figsize=(0.4 + 1.9 * wide, 0.5 + 2.05 * tall), layout="constrained")
    for number, system in enumerate(systems):
        axes = made.add_subplot(tall, wide, number + 1)
        counts = np.array(
            [
                [
                    sum(row["n"] or 0 for row in where(cells, system=system, gold=gold, predicted=said))
                    for said in PREDICTED
                ]
                for gold in GOLD
            ]
        )
        totals = counts.sum(axis=1, keepdims=True)
        shares = np.divide(counts, totals, out=np.zeros(counts.shape), where=totals > 0)
        axes.imshow(shares, cmap="Blues", vmin=0, vmax=1, aspect="auto")
        for (row, column), count in np.ndenumerate(counts):
            colour = "white" if shares[row, column] > 0.55 else "black"
            axes.text(column, row, str(count), ha="center", va="center", fontsize=7, color=colour)
        axes.set_title(system, fontsize=7.5)
        axes.grid(visible=False)
        axes.tick_params(length=0, labelsize=7)
        axes.set_xticks(range(len(PREDICTED)), ["S", "R", "I", "C", "none"])
        axes.set_yticks(range(len(GOLD)), ["S", "R", "I", "C"] if number % wide == 0 else [])
    made.supxlabel("verdict: supports, refutes, insufficient, conflicting, none usable", fontsize=8)
    made.supylabel("gold label", fontsize=8)
    return made


def null(table: Rows, distribution: Rows) -> Figure | None:
    """Exact distributions under random vetoes with the observed value, published form above, matched below."""
    forms = [
        (form, arithmetic, tau_e, tau_f)
        for form, arithmetic, tau_e, tau_f in dict.fromkeys(
            (row["form"], row["arithmetic"], row["tau_e"], row["tau_f"]) for row in table if row["p_exact"] is not None
        )
        if form == "published" or arithmetic == "exact"
    ]
    if not forms:
        return None
    made = Figure(figsize=(7.2, 0.5 + 1.75 * len(forms)), layout="constrained")
    for line, (form, arithmetic, tau_e, tau_f) in enumerate(forms):
        key = {"form": form, "arithmetic": arithmetic, "tau_e": tau_e, "tau_f": tau_f}
        for column, metric in enumerate(METRIC_NAMES):
            axes = made.add_subplot(len(forms), len(METRIC_NAMES), line * len(METRIC_NAMES) + column + 1)
            axes.set_yticks([])
            axes.tick_params(labelsize=7)
            found = where(table, metric=metric, **key)
            if not found or found[0]["p_exact"] is None:
                axes.text(0.5, 0.5, "not defined", ha="center", va="center", fontsize=7, transform=axes.transAxes)
                continue
            (row,), mass = found, where(distribution, metric=metric, **key)
            axes.vlines(
                [item["value"] for item in mass], 0, [item["probability"] for item in mass], color="#7F7F7F", lw=1.4
            )
            axes.axvline(row["observed"], color=style.COLOURS[1], lw=1.4)
            axes.axvline(row["baseline"], color=style.COLOURS[0], lw=1.2, ls="--")
            axes.set_ylim(bottom=0)
            axes.set_title(f"{METRIC_NAMES[metric]}\nk = {row['k']}, p = {p_text(row['p_exact'])}", fontsize=7)
            if column == 0:
                taus = f"{tau_e:.2f}" if tau_e == tau_f else f"{tau_e:.2f} / {tau_f:.2f}"
                axes.set_ylabel(f"{form}\ntau = {taus}", fontsize=7)
    made.supxlabel("grey: k random vetoes · solid: observed · dashed: before any veto", fontsize=8)
    return made


def p_text(p: float) -> str:
    """A p value to two significant digits, in the paper's notation."""
    return f"{p:.1e}" if 0 < p < 0.001 else f"{p:.2g}".lstrip("0") or "0"


def risk_coverage(sweep: Rows) -> Figure | None:
    """Selective error against coverage of E and F, both arithmetics; the coverage that both reach is shaded."""
    made, axes = style.figure(6.5, 3.8)
    curves: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for row in sweep:
        if row["se"] is not None and row["cov"]:
            curves.setdefault((row["controller"], row["arithmetic"]), []).append((row["cov"], row["se"]))
    if len({controller for controller, _ in curves}) < 2:
        return None
    for (controller, arithmetic), points in sorted(curves.items()):
        points = sorted(set(points))
        i = ("E", "F").index(controller)
        is_exact = arithmetic == "exact"
        axes.plot(
            *zip(*points, strict=True),
            color=style.COLOURS[i],
            ls="-" if is_exact else ":",
            lw=1.4 if is_exact else 2.2,
            marker=style.MARKERS[i] if is_exact else None,
            ms=3,
            label=f"{'threshold E' if controller == 'E' else 'veto and threshold F'}, {arithmetic}",
        )
    exact = [curves[name, "exact"] for name in ("E", "F") if (name, "exact") in curves]
    low, high = (
        max(min(cov for cov, _ in curve) for curve in exact),
        min(max(cov for cov, _ in curve) for curve in exact),
    )
    if low < high:
        axes.axvspan(low, high, color="#EEF3F7", zorder=0, label="coverage that both reach")
    axes.set_xlabel("coverage: share of claims with a directional verdict")
    axes.set_ylabel("selective error")
    axes.set_ylim(bottom=0)
    style.percent(axes, "xy")
    axes.legend(fontsize=8)
    return made


def confidence(values: Rows) -> Figure | None:
    """Mean confidence of CPO commits beside correct directional commits: cumulative shares."""
    groups = {"cpo_commits": "CPO commits", "correct_commits": "correct directional commits"}
    systems = list(dict.fromkeys(row["system"] for row in values))
    if not systems or not any(where(values, population=name) for name in groups):
        return None
    made, axes = style.figure(6.5, 3.4)
    for i, (name, label) in enumerate(groups.items()):
        rows = sorted(where(values, system=systems[0], population=name), key=lambda row: row["mean_confidence"])
        total = sum(row["n"] for row in rows)
        if not total:
            continue
        x = np.array([row["mean_confidence"] for row in rows])
        share = np.cumsum([row["n"] for row in rows]) / total
        colour = style.COLOURS[1 - i]
        axes.step(
            np.r_[x[0], x, 1.0], np.r_[0.0, share, 1.0], where="post", color=colour, label=f"{label} (n = {total})"
        )
        axes.plot(x, np.full(len(x), -0.035 - 0.035 * i), "|", color=colour, ms=6)
    axes.set_xlabel(f"mean stated confidence, {systems[0]}")
    axes.set_ylabel("share of commits at or below")
    axes.set_ylim(-0.1, 1.02)
    style.percent(axes, "y")
    axes.legend(loc="upper left", fontsize=8)
    return made


def anatomy(groups: Rows) -> Figure | None:
    """Gold-conflicting claims by directional votes, and what the panel returns on them."""
    panels = [system for system in dict.fromkeys(row["system"] for row in groups) if _votes(groups, system)]
    if not panels:
        return None
    made = Figure(figsize=(min(7.2, 3.7 * len(panels)), 3.2), layout="constrained")
    ends = {
        "committed": "commits",
        "conflicting": "conflicting",
        "insufficient": "insufficient",
        "without": "none usable",
    }
    for number, system in enumerate(panels):
        axes = made.add_subplot(1, len(panels), number + 1)
        rows = _votes(groups, system)
        left = np.zeros(len(rows))
        for i, (name, label) in enumerate(ends.items()):
            counts = np.array([row[name] for row in rows])
            axes.bar(
                range(len(rows)),
                counts,
                bottom=left,
                color=(*style.COLOURS[1:2], *style.COLOURS[0:1], "#56B4E9", "#BFBFBF")[i],
                label=label,
            )
            left += counts
        axes.set_xticks(range(len(rows)), [row["group"].removeprefix("votes_") for row in rows], fontsize=8)
        axes.set_title(system, fontsize=8.5)
        axes.set_xlabel("directional votes", fontsize=8)
        if number == 0:
            axes.set_ylabel("gold-conflicting claims")
            axes.legend(title="the panel", fontsize=7.5, title_fontsize=7.5)
    return made


def _votes(groups: Rows, system: str) -> list[Mapping[str, Any]]:
    """Rows by number of directional votes, and incomplete records, where they are known."""
    rows = [row for row in where(groups, system=system) if row["group"].removeprefix("votes_").isdigit()]
    rows += where(groups, system=system, group="incomplete")
    return [row for row in rows if row["k"] is not None]


DRAW: Final[Mapping[str, Callable[..., Figure | None]]] = {
    "forest": forest,
    "confusion": confusion,
    "null": null,
    "risk_coverage": risk_coverage,
    "confidence": confidence,
    "anatomy": anatomy,
}


def nothing(needs: Sequence[str]) -> Figure:
    """In the place of a figure that cannot be drawn, so that every study has the same files."""
    made = Figure(figsize=(6.5, 1.0), layout="constrained")
    made.text(0.5, 0.5, f"Not drawn: {' and '.join(needs)} could not be computed here.", ha="center", va="center")
    return made


def main() -> None:
    """Write every figure; InputError becomes one line and exit status 1."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=Path, nargs="*", default=[])
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--code", default="")
    given = parser.parse_args()
    files = {path.stem: path for path in given.tables}
    try:
        tables = {name: artifact.read(path).to_pylist() for name, path in files.items()}
    except InputError as error:
        print(f"figures_verdict: {error}", file=sys.stderr)
        raise SystemExit(1) from None
    style.apply()
    for name, needs in DRAWN_FROM.items():
        made = DRAW[name](*(tables[need] for need in needs)) if set(needs) <= set(files) else None
        simulated = made is not None and any(rests_on_simulation(files[need]) for need in needs)
        style.save(made or nothing(needs), given.folder, name, SIMULATED if simulated else None)


if __name__ == "__main__":
    main()
