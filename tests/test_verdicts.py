"""Votes are read by case and judge; what is not there is not known, and what is only half there is an error."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from warrant import artifact, verdicts
from warrant.imported import verdict_defaults
from warrant.labels import CODES, NONE
from warrant.verdicts import read_answered, read_votes

JUDGES = ("x", "y")
LABELS = ("support", "refute", "insufficient", "conflicting", None)
Row = dict[str, Any]


def vote(case: int, judge: str, verdict: str | None = "support", confidence: str | None = "0.5", **more: Any) -> Row:
    stated = None if confidence is None else Decimal(confidence)
    status = "invalid" if verdict is None else "ok"
    row = {"case_id": case, "model": judge, "parse_status": status, "verdict": verdict, "confidence": stated}
    return verdict_defaults({**row, **more})


def written(folder: Path, rows: list[Row]) -> Path:
    artifact.write(artifact.from_rows(rows, verdicts.SCHEMA), folder / "4opt.parquet")
    return folder / "4opt.parquet"


@given(st.data())
def test_every_vote_is_at_its_case_and_judge(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    """Whatever the order of the rows, and whoever else has some, votes stand at case and listed judge, exactly."""
    cases = data.draw(st.integers(1, 4))
    confidence = st.none() | st.integers(0, 10**18)
    stated = {
        (case, judge): (data.draw(st.sampled_from(LABELS)), data.draw(confidence))
        for case in range(cases)
        for judge in JUDGES
    }
    rows = [
        vote(case, judge, label, None if units is None else str(Decimal(units).scaleb(-18)))
        for (case, judge), (label, units) in stated.items()
    ]
    others = [vote(0, "z", "refute"), vote(0, "x", "refute", round=1), vote(0, "x", "refute", replicate=1)]
    path = written(tmp_path_factory.getbasetemp(), data.draw(st.permutations([*rows, *others])))
    order = data.draw(st.permutations(JUDGES))
    votes = read_votes(path, order, cases)
    for (case, judge), (label, units) in stated.items():
        position = order.index(judge)
        assert votes.label[case, position] == (NONE if label is None else CODES[label])
        assert votes.has_confidence[case, position] == (units is not None)
        assert votes.confidence[case, position] == (units or 0)
    assert votes.known.all()
    assert votes.label.shape == (cases, 2)


def test_a_case_that_no_judge_has_is_not_known(tmp_path: Path) -> None:
    """A partial panel knows some claims only; the others are no votes, not votes for nothing."""
    votes = read_votes(written(tmp_path, [vote(1, judge) for judge in JUDGES]), JUDGES, 3)
    assert votes.known.tolist() == [False, True, False]
    assert votes.label.tolist() == [[NONE, NONE], [0, 0], [NONE, NONE]]


def test_an_unusable_answer_is_known(tmp_path: Path) -> None:
    """A row without a verdict stays in the denominator: its case is known."""
    votes = read_votes(written(tmp_path, [vote(0, judge, None, None) for judge in JUDGES]), JUDGES, 1)
    assert votes.known.tolist() == [True]
    assert not votes.usable.any()


def test_an_answer_that_did_not_come_leaves_its_case_unknown(tmp_path: Path) -> None:
    """infra_error of one judge: the case is not known, so nothing is scored there, and whose answers came is told."""
    rows = [vote(0, "x"), vote(0, "y", None, None, status="infra_error"), vote(1, "x"), vote(1, "y", "refute")]
    path = written(tmp_path, rows)
    votes, answered = read_answered(path, JUDGES, 2)
    assert votes.known.tolist() == [False, True]
    assert answered.tolist() == [[True, False], [True, True]]
    assert read_votes(path, ["x"], 2).known.all()  # of the judge who answered, everything is known


@pytest.mark.parametrize(
    ("rows", "parts"),
    [
        ([vote(0, "x"), vote(0, "y"), vote(0, "x")], ("row 3", "field case_id", "0 of x again", "once")),
        ([vote(0, "x"), vote(0, "y"), vote(1, "x")], ("field case_id", "case 1 without some of ['x', 'y']")),
        ([vote(0, "x"), vote(1, "y")], ("field case_id", "case 0 without some of")),
        ([vote(0, "x"), vote(1, "x")], ("field model", "no row of y", "a row per case")),
        ([], ("field model", "no row of x")),
        ([vote(0, "x"), vote(0, "y"), vote(2, "y")], ("row 3", "field case_id", "found 2", "0 to 1")),
        ([vote(-1, "x")], ("row 1", "field case_id", "found -1", "0 to 1")),
    ],
    ids=["repeated", "uneven", "crossed", "absent judge", "empty", "unknown case", "negative case"],
)
def test_votes_that_are_only_half_there_are_refused(
    tmp_path: Path, refused: Any, rows: list[Row], parts: tuple[str, ...]
) -> None:
    """The file and the case or judge are named."""
    path = written(tmp_path, rows)
    with refused("4opt.parquet", *parts):
        read_votes(path, JUDGES, 2)


def test_a_verdict_file_has_the_declared_columns(tmp_path: Path, refused: Any) -> None:
    """A confidence that is a float decides nothing here: the file is refused."""
    table = artifact.from_rows([vote(0, judge) for judge in JUDGES], verdicts.SCHEMA)
    position = table.schema.get_field_index("confidence")
    floats = table.set_column(position, "confidence", table.column("confidence").cast(pa.float64()))
    artifact.write(floats, tmp_path / "4opt.parquet")
    with refused("4opt.parquet", "field confidence", "double", "decimal128(22, 18)"):
        read_votes(tmp_path / "4opt.parquet", JUDGES, 1)
