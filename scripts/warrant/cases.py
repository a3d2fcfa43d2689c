"""Every case of a verdict study as one record: what each judge said, what the certificate shows, what controllers did.

The record behind the report's case browser. Tags are computed here, from the same decisions as the tables, so that a
filter of the browser and a count of a table cannot disagree.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Final

from warrant.decimals import float_means, from_units
from warrant.labels import NAMES, NONE, Labels
from warrant.systems import Controlled, Decisions
from warrant.tables.ladder import controllers

TAGS: Final = {
    "cpo": "the typed panel commits to a direction although the evidence conflicts",
    "wrong": "the typed panel commits to a direction and is wrong",
    "disagreeing": "the typed panel's judges give different verdicts",
    "vetoed": "a veto (D) takes the panel's direction away",
    "rescued": "a veto takes away a direction that was wrong",
    "arithmetic": "some controller decides differently in exact decimals and in floats",
    "unparsed": "some answer has no usable verdict",
}
BLOCK: Final = re.compile(r"E[0-9]{1,3}")
WITHHELD: Final = "(another id)"
Row = Mapping[str, Any]


@dataclass(frozen=True)
class Source:
    """What cases are made of: rows of the sample in order, rows of each arm's verdicts, the typed panel, and others."""

    sample: Sequence[Row]
    arms: Mapping[str, Sequence[Row]]
    panel: Controlled | None
    taus: Sequence[Decimal]
    margins: Sequence[Decimal]
    panels: Mapping[str, Decisions] = field(default_factory=dict)


def records(source: Source, gold: Labels, text: bool) -> list[dict[str, Any]]:
    """One record per case. Without `text`: ids, labels and verdicts, no word of claim, evidence or answer."""
    by_case: dict[int, list[dict[str, Any]]] = {}
    for arm, rows in source.arms.items():
        for row in rows:
            by_case.setdefault(row["case_id"], []).append(_answer(arm, row, text))
    decided = _decisions(source.panel, source.taus, source.margins)
    means = _means(source.panel)
    found = []
    for case, row in enumerate(source.sample):
        answers = by_case.get(case, [])
        panel = {} if source.panel is None or not source.panel.votes.known[case] else _panel(source.panel, means, case)
        record = {
            "id": case,
            "stratum": row["stratum"],
            "gold": row["gold"],
            "blocks": None if row["evidence"] is None else len(row["evidence"]),
            "answers": answers,
            **panel,
            "panels": {name: NAMES[one.decision[case]] for name, one in source.panels.items() if one.known[case]},
            "controllers": {
                name: list(dict.fromkeys((exact[case], published[case])))
                for name, (exact, published, known) in decided.items()
                if known[case]
            },
        }
        if text:
            record |= {"claim": row["text"], "evidence": row["evidence"] or []}
        found.append(record | {"tags": _tags(record, source.panel, gold, case)})
    return found


def _answer(arm: str, row: Row, text: bool) -> dict[str, Any]:
    """One judge's answer; what says nothing is left out."""
    answer: dict[str, Any] = {"arm": arm, "judge": row["model"], "verdict": row["verdict"]}
    if row["confidence"] is not None:
        answer["confidence"] = format(row["confidence"].normalize(), "f")
    if row["round"] or row["replicate"]:
        answer |= {"round": row["round"], "replicate": row["replicate"]}
    if row["parse_status"] != "ok":
        answer["status"] = row["parse_status"] + (f": {row['reason']}" if row["reason"] else "")
    if text:
        answer["said"] = row["reasoning"] or (row["text"] if row["verdict"] is None else None) or ""
    if row.get("subclaims") is not None:
        answer["subclaims"] = [_subclaim(item, text) for item in row["subclaims"]]
        answer["stated"] = row["stated_verdict"]
    return answer


def _subclaim(item: Row, text: bool) -> dict[str, Any]:
    """A subclaim. A cited id is the model's own words: without leave, only what has the form of an id is shown."""
    cites = [one if text or BLOCK.fullmatch(one) else WITHHELD for one in item["evidence_ids"]]
    shown = {"state": item["evidence_state"], "material": item["material"], "cites": cites}
    return shown | ({"text": item["text"], "rationale": item["rationale"] or ""} if text else {})


def _decisions(
    panel: Controlled | None, taus: Sequence[Decimal], margins: Sequence[Decimal]
) -> dict[str, tuple[list[str], list[str], list[bool]]]:
    """Per controller of the ladder: decisions in exact and in published arithmetic, and where they are known."""
    if panel is None:
        return {}
    found = {}
    for _, name, _ in controllers(panel, taus, margins):
        exact, published = panel.named(name, "exact"), panel.named(name, "published")
        found[name] = (_names(exact.decision), _names(published.decision), exact.known.tolist())
    return found


def _names(labels: Labels) -> list[str]:
    return [NAMES[label] for label in labels.tolist()]


def _means(panel: Controlled | None) -> list[tuple[str, float] | None]:
    """Per case the mean of the usable confidences: exactly, as a decimal or a fraction, and in floats."""
    if panel is None:
        return []
    usable = panel.votes.has_confidence & panel.votes.usable
    rows = zip(panel.votes.confidence.tolist(), usable.tolist(), strict=True)
    exact = [_mean([unit for unit, here in zip(*row, strict=True) if here]) for row in rows]
    floats = float_means(panel.votes.confidence, usable)
    return [None if one is None else (text, one) for text, one in zip(exact, floats, strict=True)]


def _mean(units: Sequence[int]) -> str:
    whole, rest = divmod(sum(units), max(len(units), 1))
    return _decimal(whole) if rest == 0 else f"{_decimal(sum(units))}/{len(units)}"


def _decimal(units: int) -> str:
    return format(from_units(units), "f")


def _panel(panel: Controlled, means: Sequence[tuple[str, float] | None], case: int) -> dict[str, Any]:
    mean = means[case]
    found: dict[str, Any] = {"panel": NAMES[panel.proposal.decision[case]]}
    if mean is not None:
        found |= {"mean": mean[0], "float_mean": repr(mean[1])}
    if panel.mixed is not None and panel.insufficient is not None and panel.vetted[case]:
        found |= {"mixed": bool(panel.mixed[case]), "insufficient": bool(panel.insufficient[case])}
    return found


def _tags(record: Mapping[str, Any], panel: Controlled | None, gold: Labels, case: int) -> list[str]:
    committed = record.get("panel") in ("support", "refute")
    wrong = committed and record["panel"] != record["gold"]
    taken = [name for name in record["controllers"] if name.startswith("D/")]
    vetoed = committed and any(record["controllers"][name][0] != record["panel"] for name in taken)
    votes = [] if panel is None or "panel" not in record else panel.votes.label[case].tolist()
    holds = {
        "cpo": committed and record["gold"] == "conflicting",
        "wrong": wrong,
        "disagreeing": len({vote for vote in votes if vote != NONE}) > 1,
        "vetoed": vetoed,
        "rescued": vetoed and wrong,
        "arithmetic": any(len(both) > 1 for both in record["controllers"].values()),
        "unparsed": any(answer["verdict"] is None for answer in record["answers"]),
    }
    return [name for name in TAGS if holds[name]]
