"""Claims with their evidence as a user writes them down: JSON Lines, one claim a line, all of them in the sample.

A line is `{"claim": "...", "label": "conflicting", "evidence": ["...", "..."], "stratum": "..."}`; labels are the four
of the contract, `stratum` may be left out (it is the label then), and further fields are passed over.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from warrant import strict_json
from warrant.errors import bad_input
from warrant.imported import one_of, text
from warrant.labels import GOLD
from warrant.sample import Case, Stratum


def read_claims(data: bytes, file: str, source: str) -> list[Case]:
    """Cases in the order of the lines; `source_row` is the line's number among claims, from 0.

    InputError (file, row, field, found, expected) for a claim, label or evidence that cannot be used, and for a claim
    that stands there twice with the same evidence: it would count twice.
    """
    cases: list[Case] = []
    seen: dict[tuple[str, tuple[str, ...]], int] = {}
    for number, row in strict_json.lines(data, file):
        claim = _text(row.get("claim"), file, number, "claim")
        label = one_of(row.get("label"), GOLD, file, number, "label")
        evidence = _evidence(row.get("evidence"), file, number)
        stratum = _text(row.get("stratum", label), file, number, "stratum")
        first = seen.setdefault((claim, tuple(evidence)), number)
        if first != number:
            expected = f"each claim with its evidence once (this one is in row {first})"
            raise bad_input(file, row=number, field="claim", found=claim, expected=expected)
        cases.append(Case(stratum, label, claim, evidence, source, len(cases)))
    if not cases:
        raise bad_input(file, found="no claim", expected="one JSON object a line")
    return cases


def strata(cases: Sequence[Case]) -> list[Stratum]:
    """How many claims each stratum has, in the order in which they first come; every pool is taken whole."""
    return [Stratum(name, None, n, n) for name, n in Counter(case.stratum for case in cases).items()]


def _evidence(value: object, file: str, number: int) -> list[str]:
    if not isinstance(value, list):
        expected = "a list of texts, [] where there is none"
        raise bad_input(file, row=number, field="evidence", found=value, expected=expected)
    return [_text(block, file, number, f"evidence[{place}]") for place, block in enumerate(value)]


def _text(value: Any, file: str, number: int, where: str) -> str:
    found = text(value, file, number, where)
    if found is None or not found.strip():
        raise bad_input(file, row=number, field=where, found=value, expected="a text that is not empty")
    return found
