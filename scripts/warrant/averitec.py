"""The AVeriTeC sample of the verdict study, regenerated from the two public JSON files.

One generator, `random.Random(seed)`, drives every shuffle in a fixed order; the written map's SHA-256 is the
proof that the draw is the published one.
"""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from warrant.errors import bad_input
from warrant.sample import Case, Stratum

GOLD_OF_LABEL: Final = {
    "Supported": "support",
    "Refuted": "refute",
    "Not Enough Evidence": "insufficient",
    "Conflicting Evidence/Cherrypicking": "conflicting",
}
CONFLICTING: Final = "Conflicting Evidence/Cherrypicking"
# Sampling groups in drawing order, with the split and label they are drawn from. The order is part of the draw.
GROUPS: Final = {
    "Supported": ("dev", "Supported"),
    "Refuted": ("dev", "Refuted"),
    "Not Enough Evidence": ("dev", "Not Enough Evidence"),
    "Conflicting-dev-all": ("dev", CONFLICTING),
    "Conflicting-train": ("train", CONFLICTING),
}
NO_ANSWER: Final = "(no answer)"
Row = Mapping[str, Any]


@dataclass(frozen=True)
class Drawn:
    """One drawn claim: where it came from and its index within its shuffled group."""

    split: str
    row: int
    group: str
    index: int
    claim: Row


def read_rows(data: bytes, file: str) -> list[dict[str, Any]]:
    """Parse an AVeriTeC file; InputError names the row and field of a claim that cannot be used."""
    try:
        rows = json.loads(data.decode("utf-8"))
    except (ValueError, RecursionError) as error:  # not UTF-8 and not JSON are ValueErrors
        raise bad_input(file, found=str(error), expected="a JSON array of claims") from error
    if not isinstance(rows, list):
        raise bad_input(file, found=type(rows).__name__, expected="a JSON array of claims")
    for number, row in enumerate(rows, start=1):
        if not isinstance(row, dict):
            raise bad_input(file, row=number, found=row, expected="a JSON object")
        if not isinstance(row.get("claim"), str):
            raise bad_input(file, row=number, field="claim", found=row.get("claim"), expected="a text")
        if not isinstance(row.get("label"), str) or row["label"] not in GOLD_OF_LABEL:
            raise bad_input(
                file, row=number, field="label", found=row.get("label"), expected=f"one of {list(GOLD_OF_LABEL)}"
            )
        _check_questions(row, file, number)
    return rows


def _check_questions(row: Row, file: str, number: int) -> None:
    """Questions are a list of objects with a text and a list of answers, each an object with a text."""
    for question in _objects(row, "questions", file, number):
        _text(question, "question", file, number)
        for answer in _objects(question, "answers", file, number):
            for name in ("answer", "boolean_explanation"):
                _text(answer, name, file, number)


def _objects(row: Row, name: str, file: str, number: int) -> list[Row]:
    listed = row.get(name, [])
    if not isinstance(listed, list) or not all(isinstance(item, dict) for item in listed):
        raise bad_input(file, row=number, field=name, found=listed, expected="a list of objects")
    return listed


def _text(row: Row, name: str, file: str, number: int) -> None:
    if not isinstance(row.get(name), str | None):
        raise bad_input(file, row=number, field=name, found=row[name], expected="a text")


def draw(dev: Sequence[Row], train: Sequence[Row], counts: Mapping[str, int], seed: int) -> list[Drawn]:
    """The sample in case order.

    counts: claims per group of GROUPS; a group that is not named is not drawn. A pool smaller than its count is
    an error (InputError).
    """
    rng = random.Random(seed)
    drawn: list[Drawn] = []
    for group, (split, label) in GROUPS.items():
        wanted = counts.get(group, 0)
        rows = dev if split == "dev" else train
        pool = [(number, row) for number, row in enumerate(rows) if row["label"] == label]
        if len(pool) < wanted:
            raise bad_input(split, field=group, found=f"{len(pool)} claims", expected=f"at least {wanted}")
        rng.shuffle(pool)
        drawn += [Drawn(split, n, group, i, row) for i, (n, row) in enumerate(pool[:wanted])]
    for claim in drawn:
        if not claim.claim["claim"].strip():  # train has one: harmless unless drawn
            raise bad_input(claim.split, row=claim.row + 1, field="claim", found="", expected="a text")
    rng.shuffle(drawn)
    return drawn


def strata(dev: Sequence[Row], train: Sequence[Row], counts: Mapping[str, int]) -> list[Stratum]:
    """How large each group's pool is in its split."""
    return [
        Stratum(group, split, counts[group], sum(row["label"] == label for row in (dev if split == "dev" else train)))
        for group, (split, label) in GROUPS.items()
        if group in counts
    ]


def sample_map(drawn: Sequence[Drawn]) -> str:
    """The map as the study's authors wrote it: JSON, indent 2, non-ASCII kept, final newline."""
    entries = [
        {
            "split": claim.split,
            "source_row_idx": claim.row,
            "sample_group": claim.group,
            "sample_index": claim.index,
            "label": claim.claim["label"],
            "claim": claim.claim["claim"],
            "case_id": position,
        }
        for position, claim in enumerate(drawn)
    ]
    return json.dumps(entries, indent=2, ensure_ascii=False) + "\n"


def evidence_blocks(claim: Row) -> list[str]:
    """One block per non-empty question: a Q line and an A line for each of its answers."""
    blocks = []
    for question in claim.get("questions") or []:
        asked = (question.get("question") or "").strip()
        if not asked:
            continue
        lines = []
        for answer in question.get("answers") or []:
            said = (answer.get("answer") or "").strip()
            explanation = (answer.get("boolean_explanation") or "").strip()
            if answer.get("answer_type") == "Boolean" and explanation:
                said = f"{said} ({explanation})"
            lines.append(f"Q: {asked}\nA: {said}")
        blocks.append("\n".join(lines) if lines else f"Q: {asked}\nA: {NO_ANSWER}")
    return blocks


def cases(drawn: Sequence[Drawn], source_of_split: Mapping[str, str]) -> list[Case]:
    """Drawn claims as sample cases."""
    return [
        Case(
            stratum=claim.group,
            gold=GOLD_OF_LABEL[claim.claim["label"]],
            text=claim.claim["claim"],
            evidence=evidence_blocks(claim.claim),
            source=source_of_split[claim.split],
            source_row=claim.row,
        )
        for claim in drawn
    ]
