"""Draw the figures of the debate study from its tables."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from warrant import artifact, style
from warrant.errors import InputError
from warrant.step import SIMULATED, rests_on_simulation

Rows = Sequence[Mapping[str, Any]]
ALPHA = 0.05


def where(rows: Rows, **wanted: object) -> list[Mapping[str, Any]]:
    """Rows with these values."""
    return [row for row in rows if all(row[key] == value for key, value in wanted.items())]


def paper_scheme(rows: Rows, **wanted: object) -> list[Mapping[str, Any]]:
    """Rows of the paper's construction: uniform pool, LAC, calibration per domain, static sets."""
    return where(rows, weights="uniform", score="lac", calibration="domain", stopping="static", **wanted)


def single_domains(rows: Rows) -> list[Mapping[str, Any]]:
    """Rows about one domain."""
    return [row for row in rows if row["domain"] != "all"]


def escalation_error(stopping: Rows) -> Figure:
    """Consensus to conformal, one arrow per domain."""
    made, axes = style.figure(6.5, 4.2)
    rows = where(stopping, alpha=ALPHA, reading="all_rounds")
    for i, row in enumerate(single_domains(rows)):
        if row["consensus_accuracy"] is None or row["conformal_accuracy"] is None:
            continue
        start = (1 - row["consensus_rate"], 1 - row["consensus_accuracy"])
        end = (1 - row["conformal_rate"], 1 - row["conformal_accuracy"])
        colour = style.COLOURS[i % len(style.COLOURS)]
        arrow = {"arrowstyle": "->", "color": colour, "shrinkA": 4, "shrinkB": 4}
        axes.annotate("", xy=end, xytext=start, arrowprops=arrow)
        axes.plot(*start, "o", color=colour, mfc="white", ms=8)
        axes.plot(*end, "^", color=colour, label=row["domain"])
    axes.set_xlabel("not acted on: escalated or reviewed")
    axes.set_ylabel("error among those acted on")
    axes.set_ylim(bottom=0)
    style.percent(axes, "xy")
    axes.legend(title="circle: unanimity, triangle: conformal", ncols=2, fontsize=8, title_fontsize=8)
    return made


def coverage(splits: Rows) -> Figure:
    """Coverage per domain with the exact band."""
    alphas = sorted({row["alpha"] for row in splits})
    made = Figure(figsize=(7.2, 3.4), layout="constrained")
    last = max(row["round"] for row in splits)
    for i, alpha in enumerate(alphas):
        axes = made.add_subplot(1, len(alphas), i + 1)
        rows = [
            row for row in paper_scheme(splits, metric="coverage", alpha=alpha, round=last) if row["domain"] != "all"
        ]
        for y, row in enumerate(rows):
            if row["beta_binomial_p05"] is not None:
                low, high = row["beta_binomial_p05"], row["beta_binomial_p95"]
                axes.barh(y, high - low, left=low, height=0.8, color="#D9D9D9")
                axes.plot([row["beta_binomial_mean"]] * 2, [y - 0.4, y + 0.4], color="#7F7F7F", lw=1)
            axes.plot([row["p05"], row["p95"]], [y, y], color=style.COLOURS[0], lw=2)
            axes.plot(row["mean"], y, "o", color=style.COLOURS[0], ms=4)
        axes.axvline(1 - alpha, color=style.COLOURS[1], lw=1, ls="--")
        axes.set_title(f"alpha = {alpha:.2f}", fontsize=9)
        axes.set_yticks(range(len(rows)), [row["domain"] for row in rows] if i == 0 else [])
        axes.tick_params(axis="x", labelrotation=45)
        style.percent(axes, "x")
    made.supxlabel("coverage", fontsize=9)
    return made


def acted_accuracy(splits: Rows) -> Figure:
    """Share acted on against accuracy, over alpha."""
    made, axes = style.figure(6.5, 4.2)
    last = max(row["round"] for row in splits)
    domains = list(dict.fromkeys(row["domain"] for row in splits))
    for i, domain in enumerate(domains):
        share = paper_scheme(splits, metric="singleton_rate", domain=domain, round=last)
        right = paper_scheme(splits, metric="singleton_accuracy", domain=domain, round=last)
        pairs = [(a, b) for a, b in zip(share, right, strict=True) if b["mean"] is not None]
        every = domain == "all"
        colour = "#000000" if every else style.COLOURS[i % len(style.COLOURS)]
        if not pairs:
            continue
        x, y = [a["mean"] for a, _ in pairs], [b["mean"] for _, b in pairs]
        axes.errorbar(
            x,
            y,
            xerr=[[a["mean"] - a["p05"] for a, _ in pairs], [a["p95"] - a["mean"] for a, _ in pairs]],
            yerr=[[b["mean"] - b["p05"] for _, b in pairs], [b["p95"] - b["mean"] for _, b in pairs]],
            fmt=f"{style.MARKERS[i % len(style.MARKERS)]}-",
            color=colour,
            ms=4,
            lw=2 if every else 1,
            elinewidth=0.6,
            label=domain,
        )
    axes.set_xlabel("acted on (one option left)")
    axes.set_ylabel("accuracy of what is acted on")
    style.percent(axes, "xy")
    axes.legend(ncols=3, fontsize=8, title="alpha .01, .05, .10, .20 from left to right" if len(x) == 4 else None)
    return made


def split_distribution(splits: Rows) -> Figure:
    """Mean and range over splits of four rates."""
    names = {
        "coverage": "coverage",
        "singleton_rate": "acted on",
        "singleton_accuracy": "accuracy of what is acted on",
        "interception": "wrong consensus intercepted",
    }
    made, axes = style.figure(6.5, 3.4)
    last = max(row["round"] for row in splits)
    for i, (metric, label) in enumerate(names.items()):
        rows = [row for row in paper_scheme(splits, metric=metric, domain="all", round=last) if row["mean"] is not None]
        y = [position + 0.16 * (i - 1.5) for position in range(len(rows))]
        colour = style.COLOURS[i]
        axes.hlines(y, [row["p05"] for row in rows], [row["p95"] for row in rows], color=colour, lw=2.5)
        axes.plot([row["mean"] for row in rows], y, style.MARKERS[i], color=colour, ms=5, label=label)
        axes.set_yticks(range(len(rows)), [f"alpha = {row['alpha']:.2f}" for row in rows])
    axes.invert_yaxis()
    style.percent(axes, "x")
    axes.legend(fontsize=8, loc="upper center", bbox_to_anchor=(0.5, -0.1), ncols=2)
    return made


def set_sizes(splits: Rows) -> Figure:
    """Mean set size per domain and alpha."""
    made, axes = style.figure(6.5, 3.4)
    last = max(row["round"] for row in splits)
    alphas = sorted({row["alpha"] for row in splits})
    for i, alpha in enumerate(alphas):
        rows = [
            row for row in paper_scheme(splits, metric="set_size", alpha=alpha, round=last) if row["domain"] != "all"
        ]
        x = [position + 0.18 * (i - (len(alphas) - 1) / 2) for position in range(len(rows))]
        low = [row["mean"] - row["p05"] for row in rows]
        high = [row["p95"] - row["mean"] for row in rows]
        axes.errorbar(
            x,
            [row["mean"] for row in rows],
            yerr=[low, high],
            fmt=style.MARKERS[i],
            color=style.COLOURS[i],
            ms=4,
            label=f"alpha = {alpha:.2f}",
        )
        axes.set_xticks(range(len(rows)), [row["domain"] for row in rows], rotation=30, ha="right")
    axes.set_ylabel("options left")
    axes.set_ylim(bottom=0)
    axes.legend(ncols=4, fontsize=8, loc="lower center", bbox_to_anchor=(0.5, 1.0))
    return made


def main() -> None:
    """Write every figure; InputError becomes one line and exit status 1."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("stopping", "splits", "folder"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--settings", type=json.loads, default={})
    parser.add_argument("--code", default="")
    given = parser.parse_args()
    try:
        stopping, splits = (artifact.read(path).to_pylist() for path in (given.stopping, given.splits))
    except InputError as error:
        print(f"figures_debate: {error}", file=sys.stderr)
        raise SystemExit(1) from None
    style.apply()
    simulated = SIMULATED if any(map(rests_on_simulation, (given.stopping, given.splits))) else None
    mark = " · ".join(filter(None, (simulated, given.settings.get("mark")))) or None
    drawn = {
        "escalation_error": escalation_error(stopping),
        "coverage": coverage(splits),
        "acted_accuracy": acted_accuracy(splits),
        "split_distribution": split_distribution(splits),
        "set_sizes": set_sizes(splits),
    }
    for name, made in drawn.items():
        style.save(made, given.folder, name, mark)


if __name__ == "__main__":
    main()
