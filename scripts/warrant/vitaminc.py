"""The VitaminC-Mixed construction: two contradicting revisions of one fact beside each other, and controls.

Claims with a supporting and a refuting row become mixed cases; rows of the remaining claims become pure ones.
"""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from typing import Any, Final

from warrant.errors import bad_input
from warrant.sample import Case, Stratum

GOLD_OF_LABEL: Final = {"SUPPORTS": "support", "REFUTES": "refute", "NOT ENOUGH INFO": "insufficient"}
STRATUM_OF_LABEL: Final = {"SUPPORTS": "pure-supports", "REFUTES": "pure-refutes", "NOT ENOUGH INFO": "pure-nei"}
MIXED: Final = "mixed-composite"
Row = Mapping[str, Any]


def read_rows(data: bytes, file: str) -> list[dict[str, Any]]:
    """Parse a split (one JSON object a line); InputError names the line and field that cannot be used."""
    rows = []
    for number, line in enumerate(data.split(b"\n"), start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line.decode("utf-8"))
        except (ValueError, RecursionError) as error:  # not UTF-8 and not JSON are ValueErrors
            raise bad_input(file, row=number, found=str(error), expected="one JSON object a line") from error
        if not isinstance(row, dict):
            raise bad_input(file, row=number, found=row, expected="a JSON object")
        for field in ("claim", "evidence"):
            if not isinstance(row.get(field), str):
                raise bad_input(file, row=number, field=field, found=row.get(field), expected="a text")
        if not isinstance(row.get("label"), str) or row["label"] not in GOLD_OF_LABEL:
            raise bad_input(
                file, row=number, field="label", found=row.get("label"), expected=f"one of {list(GOLD_OF_LABEL)}"
            )
        rows.append(row)
    return rows


def construct(
    rows: Sequence[Row], mixed: int, controls: Mapping[str, int], seed: int, source: str
) -> tuple[list[Case], list[Stratum]]:
    """The sample in case order (mixed cases, then each control label) and the size of every pool.

    mixed: number of mixed cases. controls: label -> number, drawn in the order of GOLD_OF_LABEL. The mixed draw uses
    `random.Random(seed)`, the controls `random.Random(seed + 1)`. A pool that is too small is an error.
    """
    by_claim: dict[str, dict[str, int]] = {}
    for number, row in enumerate(rows):
        by_claim.setdefault(row["claim"], {}).setdefault(row["label"], number)
    candidates = [claim for claim, first in by_claim.items() if "SUPPORTS" in first and "REFUTES" in first]
    pool = len(candidates)
    _enough(source, MIXED, pool, mixed)
    rng = random.Random(seed)
    rng.shuffle(candidates)
    chosen: list[Case] = []
    for claim in candidates[:mixed]:
        pair = [by_claim[claim]["SUPPORTS"], by_claim[claim]["REFUTES"]]
        if rng.random() >= 0.5:
            pair.reverse()
        evidence = [f"Evidence {letter}: {rows[i]['evidence']}" for letter, i in zip("AB", pair, strict=True)]
        chosen.append(Case(MIXED, "conflicting", claim, evidence, source, by_claim[claim]["SUPPORTS"]))
    used = set(candidates[:mixed])
    strata = [Stratum(MIXED, None, mixed, pool)]
    rng = random.Random(seed + 1)
    pools = {
        label: [i for i, row in enumerate(rows) if row["label"] == label and row["claim"] not in used]
        for label in GOLD_OF_LABEL
        if label in controls
    }
    for members in pools.values():
        rng.shuffle(members)
    for label, pool_ in pools.items():
        wanted = controls[label]
        _enough(source, STRATUM_OF_LABEL[label], len(pool_), wanted)
        strata.append(Stratum(STRATUM_OF_LABEL[label], None, wanted, len(pool_)))
        for i in pool_[:wanted]:
            chosen.append(
                Case(STRATUM_OF_LABEL[label], GOLD_OF_LABEL[label], rows[i]["claim"], [rows[i]["evidence"]], source, i)
            )
    return chosen, strata


def _enough(source: str, stratum: str, pool: int, wanted: int) -> None:
    if pool < wanted:
        raise bad_input(source, field=stratum, found=f"{pool} to draw from", expected=f"at least {wanted}")
