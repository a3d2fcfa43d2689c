"""One style for every figure: colour-blind safe colours, readable in print, saved as PDF, SVG and PNG."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import matplotlib as mpl
from matplotlib.figure import Figure

# Okabe and Ito's palette; wine and grey in place of its yellow, which vanishes on white, and of black
COLOURS: Final = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#882255", "#7F7F7F")
MARKERS: Final = ("o", "s", "^", "D", "v", "P", "X", "*")
FORMS: Final = ("pdf", "svg", "png")


def apply() -> None:
    """Set the style for this process; files do not depend on the date or on a random id."""
    mpl.use("agg")
    mpl.rcParams.update(
        {
            "figure.dpi": 100,
            "savefig.dpi": 200,
            "font.size": 9,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.grid": True,
            "grid.color": "#E5E5E5",
            "axes.axisbelow": True,
            "legend.frameon": False,
            "pdf.fonttype": 42,
            "svg.fonttype": "none",
            "svg.hashsalt": "warrant",
        }
    )


def figure(width: float = 6.5, height: float = 3.6) -> tuple[Figure, Any]:
    """A figure with one set of axes, in inches."""
    made = Figure(figsize=(width, height), layout="constrained")
    return made, made.add_subplot()


def percent(axes: Any, which: str) -> None:
    """Shares are shown as percentages."""
    for name in which:
        getattr(axes, f"{name}axis").set_major_formatter(lambda value, _: f"{100 * value:.3g}%")


def save(made: Figure, folder: Path, name: str, mark: str | None = None) -> None:
    """Write folder/name in every form; `mark` (a run's notice) is written into the figure."""
    if mark:
        made.text(0.995, 0.005, mark, ha="right", va="bottom", fontsize=7, color="#8A4600")
    folder.mkdir(parents=True, exist_ok=True)
    for form in FORMS:
        dates = {"pdf": {"CreationDate": None}, "svg": {"Date": None}, "png": {}}[form]
        made.savefig(folder / f"{name}.{form}", metadata=dates)
