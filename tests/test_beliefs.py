"""Beliefs: how stated numbers become distributions, and how an artifact is read."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from warrant import artifact
from warrant.beliefs import FALLBACKS, LETTERS, SCHEMA, belief_row, normalised, read, spread

Refused = Callable[..., AbstractContextManager[None]]
options_ = st.integers(3, 10)
odd_numbers = st.one_of(
    st.floats(-1, 2), st.sampled_from([0.0, 0.5, 1.0, 750.0, -1.0, float("nan"), float("inf"), float("-inf")])
)
BASE: dict[str, Any] = {"case_id": 0, "model": "m", "round": 0, "gold": "A"}


# --- from numbers to distributions -----------------------------------------------------------------------------------


@given(options_, st.integers(0, 100), st.data())
def test_a_spread_belief_is_the_construction(options: int, hundredths: int, data: st.DataObject) -> None:
    """The answer has confidence c, every other option (1 - c)/(K - 1), and they add up to 1."""
    answer, c = data.draw(st.integers(0, options - 1)), hundredths / 100
    belief = spread(c, answer, options)
    assert belief[answer] == c
    assert set(np.delete(belief, answer).tolist()) == {(1 - c) / (options - 1)}
    assert belief.sum() == pytest.approx(1, abs=1e-12)


@given(st.lists(odd_numbers, max_size=10), options_)
@example([2.0, -1.0, 0.5], 3)
@example([float("nan")] * 3, 3)
@example([float("inf"), float("-inf")], 4)
def test_stated_distributions_are_clipped_and_renormalised(stated: list[float], options: int) -> None:
    """Each number is clipped to [0, 1], NaN and what is missing are 0, and the rest is divided by its sum, if any."""
    clipped = [0.0 if value != value else min(max(value, 0.0), 1.0) for value in stated[:options]]
    clipped += [0.0] * (options - len(clipped))
    total = sum(clipped)
    found = normalised(stated, options)
    if total == 0:
        assert found is None
        return
    assert found is not None
    belief, raw_sum = found
    assert raw_sum == pytest.approx(total)
    assert belief.tolist() == pytest.approx([value / total for value in clipped])
    assert len(belief) == options
    assert belief.sum() == pytest.approx(1, abs=1e-12)


@given(st.lists(st.integers(0, 20), min_size=3, max_size=10).filter(any))
def test_a_sum_other_than_one_is_recorded(twentieths: list[int]) -> None:
    """Shares that add up to another number than 1 are renormalised, and the number is kept."""
    found = normalised([value / 20 for value in twentieths], len(twentieths))
    assert found is not None
    assert found[1] == pytest.approx(sum(twentieths) / 20)
    assert found[0].tolist() == pytest.approx([value / sum(twentieths) for value in twentieths])


@given(options_, st.sampled_from(FALLBACKS), st.sampled_from([None, "A", "C"]))
def test_every_status_but_ok_is_the_uniform_belief(options: int, status: str, answer: str | None) -> None:
    """A fallback is uniform over the question's own options, keeps what was stated, and says why."""
    row = belief_row(BASE, options, answer, Decimal("0.9"), status)
    assert row["probability"] == [1 / options] * options
    assert (row["answer"], row["confidence"], row["parse_status"]) == (answer, Decimal("0.9"), status)


def test_an_ok_row_holds_the_construction() -> None:
    """An answer with a confidence is spread and labelled as a construction."""
    row = belief_row(BASE, 5, "B", Decimal("0.6"), "ok")
    assert row["probability"] == pytest.approx([0.1, 0.6, 0.1, 0.1, 0.1])
    assert row["construction"] == "spread from a confidence"
    assert row["raw_sum"] is None


# --- reading the artifact --------------------------------------------------------------------------------------------


def rows(options: list[int], agents: list[str], rounds: int = 2) -> list[dict[str, Any]]:
    return [
        {
            **belief_row(
                {"case_id": i, "model": agent, "round": t, "gold": "B"}, k, "AB"[(i + t) % 2], Decimal("0.8"), "ok"
            )
        }
        for i, k in enumerate(options)
        for agent in agents
        for t in range(rounds)
    ]


def written(folder: Path, lines: list[dict[str, Any]]) -> Path:
    path = folder / "beliefs.parquet"
    artifact.write(artifact.from_rows(lines, SCHEMA), path)
    return path


def test_beliefs_are_read_by_question_round_and_agent(tmp_path: Path) -> None:
    """Whatever the order of rows, each belief is at its place, other agents' rows are ignored, no option is added."""
    lines = rows([3, 5], ["x", "y", "other"])
    lines[0] = belief_row({**BASE, "gold": "B", "model": "x"}, 3, None, None, "no_answer")
    held = read(written(tmp_path, lines[::-1]), ["y", "x"], [3, 5])
    assert held.probability.shape == (2, 2, 2, 10)
    assert held.rounds == 2
    assert held.gold.tolist() == [1, 1]
    assert held.options.tolist() == [3, 5]
    assert held.offered().sum(axis=1).tolist() == [3, 5]
    assert held.probability[0, 0, 1].tolist() == [1 / 3] * 3 + [0] * 7
    assert held.fallback.sum() == held.fallback[0, 0, 1] == 1
    assert held.vote[0, 0].tolist() == [0, 0]  # y states A; x states nothing: the first of equally probable options
    assert held.vote[0, 1].tolist() == [1, 1]
    assert held.probability[1, 0, 0].tolist() == pytest.approx([0.05, 0.8, 0.05, 0.05, 0.05] + [0] * 5)


def test_a_vote_is_the_stated_answer_also_where_another_option_is_more_probable(tmp_path: Path) -> None:
    """An agent that names an option with a confidence below the others' still votes for it."""
    line = belief_row(BASE, 3, "C", Decimal("0.2"), "ok")
    held = read(written(tmp_path, [line]), ["m"], [3])
    assert held.probability[0, 0, 0, :3].argmax() == 0
    assert held.vote[0, 0].tolist() == [LETTERS.index("C")]


@pytest.mark.parametrize(
    ("change", "parts"),
    [
        (lambda lines: lines.pop(), ["no belief of y on question 1 in round 1"]),
        (lambda lines: lines.append(lines[0]), ["row 9", "case_id", "one belief over the question's options"]),
        (lambda lines: lines[2].update(case_id=2), ["row 3", "case_id"]),
        (lambda lines: lines[2].update(case_id=-1), ["row 3", "case_id"]),
        (lambda lines: lines[4].update(probability=[0.5, 0.5]), ["row 5", "one belief over the question's options"]),
        (lambda lines: lines[5].update(gold="A"), ["row 6", "one gold letter for all agents"]),
    ],
    ids=["missing", "twice", "no such question", "negative", "too few options", "two golds"],
)
def test_incomplete_beliefs_are_refused_by_row(
    tmp_path: Path, refused: Refused, change: Callable[[list[dict[str, Any]]], Any], parts: list[str]
) -> None:
    """A belief that is missing, repeated, of another question or of another gold is refused in one line."""
    lines = rows([3, 5], ["x", "y"])
    change(lines)
    path = written(tmp_path, lines)
    with refused(str(path), *parts):
        read(path, ["x", "y"], [3, 5])
