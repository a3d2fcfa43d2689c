"""Headline findings of a debate study in words, computed from its tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from warrant.headlines import Rows, one, share, signed

ALPHA: Final = 0.05
ALL: Final = "all"


def debate_headlines(tables: Mapping[str, Rows]) -> list[str]:
    """Sentences about one study, from its tables by name; a table or number that is missing is passed over."""
    return [
        *_agreement(tables.get("consensus_rounds", ())),
        *_wrong_consensus(tables.get("wrong_consensus", ())),
        *_selection(tables.get("selection", ())),
        *_coverage(tables.get("splits", ())),
    ]


def _agreement(rows: Rows) -> list[str]:
    every = [row for row in rows if row["domain"] == ALL and row["round"] != "never"]
    n, wrong = sum(row["n"] for row in every), sum(row["wrong"] for row in every)
    if not n:
        return []
    return [f"The agents agree on {n} questions; on {wrong} of them ({share(wrong / n)}) they agree on a wrong option."]


def _wrong_consensus(rows: Rows) -> list[str]:
    last = max((row["round"] for row in rows), default=0)
    row = one(rows, alpha=ALPHA, domain=ALL, round=last)
    if row is None or row["interception"] is None or row["over_rejection"] is None:
        return []
    return [
        f"At alpha = .05 the conformal layer escalates {row['wrong_intercepted']} of {row['wrong']} wrong unanimous "
        f"answers in the test half ({share(row['interception'])}), and {row['right_rejected']} of {row['right']} right "
        f"ones ({share(row['over_rejection'])})."
    ]


def _selection(rows: Rows) -> list[str]:
    last = max((row["round"] for row in rows), default=0)
    row: Mapping[str, Any] | None = one(rows, alpha=ALPHA, domain=ALL, round=last)
    if row is None or not row["acted"]:
        return []
    return [
        f"It acts on {row['acted']} of {row['n']} test questions with accuracy {share(row['conformal_accuracy'])}. The "
        f"agents' majority has {share(row['majority_accuracy_acted'])} on the same questions and "
        f"{share(row['majority_accuracy'])} on all: {signed(row['selection_effect'])} comes from which questions are "
        f"acted on, {signed(row['decision_effect'])} from another answer."
    ]


def _coverage(rows: Rows) -> list[str]:
    scheme = {"alpha": ALPHA, "weights": "uniform", "score": "lac", "calibration": "domain", "stopping": "static"}
    chosen = [row for row in rows if row["domain"] != ALL and all(row[k] == v for k, v in scheme.items())]
    means = [row["mean"] for row in chosen if row["metric"] == "coverage" and row["mean"] is not None]
    ties = [row["mean"] for row in chosen if row["metric"] == "tie_excess"]
    if not means or not ties:
        return []
    return [
        f"Over {chosen[0]['splits']} recorded splits, mean coverage at alpha = .05 lies between {share(min(means))} "
        f"and {share(max(means))} in the domains; ties at the threshold add up to {share(max(ties))} to what the exact "
        f"law gives."
    ]
