"""Findings on the debate paper: from its tables, and from single-turn answers of three models."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Final

from warrant import artifact
from warrant.debate_paper import conformal, rounds, stopping
from warrant.debate_paper.paper import Paper, Section
from warrant.findings.material import Finding, Lines, Material, show

SECTIONS: Final[dict[str, Callable[[Paper], Section]]] = {
    "D01": conformal.conformal_accuracy,
    "D02": conformal.frozen,
    "D03": conformal.entropy,
    "D04": conformal.mathematics,
    "D05": rounds.figure_3,
    "D06": rounds.misprints,
    "D07": stopping.escalation,
    "D08": rounds.trends,
    "D09": stopping.intervals,
}
STATIC: Final = {
    "alpha": 0.05, "round": 0, "weights": "uniform", "score": "lac", "calibration": "domain", "stopping": "static"
}  # fmt: skip
PANEL: Final = "mmlu_pro"


def options(material: Material) -> Lines:
    """Options of a question in the eight domains."""
    rows = artifact.read(material.built(f"{PANEL}/sample.parquet", "panel")).to_pylist()
    sizes = Counter(len(row["options"]) for row in rows)
    yield (
        f"MMLU-Pro: {len(rows)} questions with {min(sizes)} to {max(sizes)} options, {sizes[10]} with ten, "
        f"mean {sum(size * count for size, count in sizes.items()) / len(rows):.2f}"
    )


def undecided(material: Material) -> Lines:
    """Questions without consensus among three real models."""
    rows = material.rows(PANEL, "stopping", "panel", alpha=0.05, reading="all_rounds")
    shares = {row["domain"]: row["consensus_escalated_rate"] for row in rows}
    everywhere = shares.pop("all")
    yield (
        f"three real models, one round: no consensus on {100 * everywhere:.1f}% of the test questions, by domain "
        f"{100 * min(shares.values()):.1f} to {100 * max(shares.values()):.1f}%"
    )


def spread(material: Material) -> Lines:
    """How far splits are apart on three real models' answers."""
    for metric in ("coverage", "singleton_accuracy"):
        rows = {row["domain"]: row for row in material.rows(PANEL, "splits", "panel", metric=metric, **STATIC)}
        del rows["all"]
        name, widest = max(rows.items(), key=lambda item: item[1]["p95"] - item[1]["p05"])
        yield (
            f"three real models, alpha .05, {widest['splits']} splits, {metric}: 5 to 95% of splits is "
            f"{show(widest['p05'])} to {show(widest['p95'])} in {name}, the widest of {len(rows)} domains"
        )
    row = material.one(PANEL, "selection", "panel", alpha=0.05, domain="all")
    yield (
        f"accuracy of the {row['acted']} acts {show(row['conformal_accuracy'])}, of the majority on the same questions "
        f"{show(row['majority_accuracy_acted'])}, of the majority on all {row['n']} {show(row['majority_accuracy'])}"
    )


ON_DATA: Final[dict[str, Finding]] = {"D06": options, "D07": undecided, "D09": spread}


def _from_tables(name: str) -> Finding:
    def lines(material: Material) -> Lines:
        section = SECTIONS[name](Paper(material.config / "published/debate.tsv"))
        yield f"{section.title}{'' if section.title.endswith('?') else ':'} {section.answer}"
        if name in ON_DATA:
            yield from ON_DATA[name](material)

    return lines


FINDINGS: Final[dict[str, Finding]] = {name: _from_tables(name) for name in SECTIONS}
