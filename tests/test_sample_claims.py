"""A user's own claims: every line becomes a case as it stands, and a line that cannot be used is named."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from warrant import averitec, sample
from warrant.claims import read_claims, strata
from warrant.labels import GOLD
from warrant.sample import Case

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1).filter(str.strip)
LINES = st.lists(
    st.fixed_dictionaries(
        {"claim": TEXTS, "label": st.sampled_from(GOLD), "evidence": st.lists(TEXTS, max_size=3)},
        optional={"stratum": TEXTS, "id": st.integers()},
    ),
    min_size=1,
    max_size=12,
    unique_by=lambda row: (row["claim"], tuple(row["evidence"])),
)
GOOD: dict[str, Any] = {"claim": "The lake froze.", "label": "refute", "evidence": ["It did not."]}


def written(rows: list[Any]) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


@given(LINES)
def test_every_line_is_a_case_as_it_stands(rows: list[dict[str, Any]]) -> None:
    """In order, nothing trimmed or dropped; the stratum is the label where none is given; strata count every case."""
    cases = read_claims(written(rows), "f", "own")
    assert cases == [
        Case(row.get("stratum", row["label"]), row["label"], row["claim"], row["evidence"], "own", number)
        for number, row in enumerate(rows)
    ]
    counted = Counter(case.stratum for case in cases)
    assert {item.name: (item.n, item.pool) for item in strata(cases)} == {name: (n, n) for name, n in counted.items()}


@pytest.mark.parametrize(
    ("row", "parts"),
    [
        ({**GOOD, "claim": None}, ("field claim", "found None", "a text that is not empty")),
        ({**GOOD, "claim": "  "}, ("field claim", "found ' '", "a text that is not empty")),
        ({**GOOD, "claim": "\ud800"}, ("field claim", "without lone surrogates")),
        ({**GOOD, "label": "supports"}, ("field label", "found 'supports'", "conflicting", "support")),
        ({"claim": "x", "evidence": []}, ("field label", "found None")),
        ({**GOOD, "evidence": "It did not."}, ("field evidence", "a list of texts, [] where there is none")),
        ({"claim": "x", "label": "support"}, ("field evidence", "found None", "a list of texts")),
        ({**GOOD, "evidence": ["a", ""]}, ("field evidence[1]", "found ''", "a text that is not empty")),
        ({**GOOD, "evidence": [7]}, ("field evidence[0]", "found 7", "a text")),
        ({**GOOD, "stratum": None}, ("field stratum", "found None")),
        (GOOD, ("field claim", "each claim with its evidence once (this one is in row 1)")),
        ([], ("a JSON object",)),
    ],
)
def test_a_line_that_cannot_be_used_is_named(row: Any, parts: tuple[str, ...], refused: Any) -> None:
    """File, row, field, what was found and what is expected; blank lines count as rows and are no claims."""
    with refused("own.jsonl, row 3", *parts):
        read_claims(written([GOOD]) + b"\n" + written([row]), "own.jsonl", "own")


def test_a_file_without_a_claim_is_refused(refused: Any) -> None:
    """An empty file is a mistake, not an empty sample."""
    with refused("own.jsonl", "no claim"):
        read_claims(b"\n\n", "own.jsonl", "own")


def test_the_same_claim_with_other_evidence_is_another_case() -> None:
    """Contrastive evidence is what such data are for."""
    assert len(read_claims(written([GOOD, {**GOOD, "evidence": []}]), "f", "own")) == 2


def test_claims_of_the_demo_are_the_same_cases_in_this_format(project: Path, tmp_path: Path, run_step: Any) -> None:
    """Written down as lines, they have the texts, evidence and hashes that the other format gives them."""
    files = [project / "data/demo" / f"averitec_{split}.json" for split in ("dev", "train")]
    dev, train = (averitec.read_rows(path.read_bytes(), path.name) for path in files)
    drawn = averitec.draw(dev, train, {"Supported": 5, "Conflicting-dev-all": 5, "Not Enough Evidence": 5}, 7)
    wanted = sample.to_table(averitec.cases(drawn, {"dev": "d", "train": "t"}), "s")
    lines = [{"claim": row["text"], "label": row["gold"], "evidence": row["evidence"]} for row in wanted.to_pylist()]
    place = tmp_path / "claims.jsonl"
    place.write_bytes(written(lines))
    outputs = {name: tmp_path / f"{name}.parquet" for name in ("sample", "composition")}
    source = {"role": "rows", "name": "data/own/claims.jsonl", "sha256": "", "sha256_lf": "", "bytes": None}
    run_step(
        "sample_claims",
        {"sources": [place]},
        {**outputs, "map": tmp_path / "map.json"},
        {"study": "s", "sources": [source], "rows": "data/own/claims.jsonl"},
    )
    found = sample.read(outputs["sample"])
    for column in ("case_id", "gold", "text", "evidence", "sha256", "evidence_sha256"):
        assert found.column(column).to_pylist() == wanted.column(column).to_pylist()
    listed = json.loads((tmp_path / "map.json").read_text())
    identity = json.dumps([lines[3]["claim"], lines[3]["evidence"]], ensure_ascii=False)
    assert listed[3]["sha256"] == hashlib.sha256(identity.encode()).hexdigest()
