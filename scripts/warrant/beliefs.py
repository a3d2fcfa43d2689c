"""The beliefs artifact: what each agent believes of every option, in every round.

Beliefs are clipped to [0, 1] and renormalised, the raw sum is recorded, a missing option is 0, and nothing usable
becomes the uniform belief, kept and counted (debate paper, section 3.1).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa

from warrant import artifact
from warrant.artifact import field
from warrant.decimals import CONFIDENCE
from warrant.errors import bad_input
from warrant.grid import Floats
from warrant.labels import Mask

LETTERS: Final = "ABCDEFGHIJ"
MOST_OPTIONS: Final = len(LETTERS)
FALLBACKS: Final = ("no_answer", "letter_outside", "no_confidence", "confidence_out_of_range", "confidence_too_long")
SCHEMA: Final = pa.schema(
    [
        field("case_id", pa.int32(), "question of the sample", nullable=False),
        field("model", pa.string(), "agent", nullable=False),
        field("round", pa.int32(), "0 is independent", nullable=False),
        field("gold", pa.string(), "gold letter of the question as the agent was asked it", nullable=False),
        field("answer", pa.string(), "the stated letter; null when there is none among the options"),
        field("confidence", CONFIDENCE, "stated confidence in the answer; null when there is none in [0, 1]"),
        field("probability", pa.list_(pa.float64()), "belief in each option, sums to 1", nullable=False),
        field("raw_sum", pa.float64(), "sum of the stated probabilities before renormalisation; null: none stated"),
        field(
            "construction",
            pa.string(),
            "how the belief came about: stated, or spread from a confidence",
            nullable=False,
        ),
        field("parse_status", pa.string(), "ok, or why the belief is the uniform fallback", nullable=False),
    ]
)


@dataclass(frozen=True)
class Beliefs:
    """Arrays over (questions, rounds, agents, options); options beyond a question's own are 0.

    options: (questions,) number of options. gold, vote: option positions. vote is the stated answer where there is
    one, else the most probable option (first one at a tie).
    """

    probability: Floats
    vote: np.ndarray
    fallback: Mask
    options: np.ndarray
    gold: np.ndarray

    @property
    def rounds(self) -> int:
        """Number of rounds."""
        return int(self.probability.shape[1])

    def offered(self) -> Mask:
        """(questions, options): whether the option exists."""
        exists: Mask = np.arange(MOST_OPTIONS) < self.options[:, None]
        return exists


def spread(confidence: float, answer: int, options: int) -> Floats:
    """A belief made from an answer and a confidence c: c on the answer, (1 - c)/(options - 1) on each other option."""
    belief = np.full(options, (1.0 - confidence) / (options - 1))
    belief[answer] = confidence
    return belief


def normalised(stated: Sequence[float], options: int) -> tuple[Floats, float] | None:
    """A stated distribution clipped to [0, 1] and renormalised, with its raw sum; None when nothing is usable."""
    values = np.zeros(options)
    given = np.asarray(stated[:options], dtype=np.float64)
    values[: len(given)] = np.clip(np.nan_to_num(given, nan=0.0), 0.0, 1.0)
    total = float(np.sort(values).sum())
    return None if total <= 0 else (values / total, total)


def read(path: Path, agents: Sequence[str], options: Sequence[int]) -> Beliefs:
    """Beliefs of the listed agents on questions 0..n-1, all rounds; InputError when a row is missing or repeated."""
    table = artifact.read(path, SCHEMA)
    names = ["case_id", "model", "round", "gold", "answer", "probability", "parse_status"]
    rows = artifact.columns(table, names)
    rounds = 1 + max((row[2] for row in rows), default=-1)
    n, a = len(options), len(agents)
    position = {agent: i for i, agent in enumerate(agents)}
    probability = np.zeros((n, rounds, a, MOST_OPTIONS))
    vote = np.zeros((n, rounds, a), dtype=np.int64)
    fallback = np.zeros((n, rounds, a), dtype=np.bool_)
    gold = np.full(n, -1, dtype=np.int64)
    seen = np.zeros((n, rounds, a), dtype=np.bool_)
    for i, (case_id, model, round_, letter, answer, belief, status) in enumerate(rows, start=1):
        agent = position.get(model)
        if agent is None:
            continue
        if not 0 <= case_id < n or len(belief) != options[case_id] or seen[case_id, round_, agent]:
            raise bad_input(
                path, row=i, field="case_id", found=case_id, expected="one belief over the question's options"
            )
        seen[case_id, round_, agent] = True
        probability[case_id, round_, agent, : len(belief)] = belief
        vote[case_id, round_, agent] = LETTERS.index(answer) if answer is not None else int(np.argmax(belief))
        fallback[case_id, round_, agent] = status != "ok"
        if gold[case_id] not in (-1, LETTERS.index(letter)):
            raise bad_input(path, row=i, field="gold", found=letter, expected="one gold letter for all agents")
        gold[case_id] = LETTERS.index(letter)
    if not seen.all():
        case, round_, agent = (int(axis[0]) for axis in np.nonzero(~seen))
        found = f"no belief of {agents[agent]} on question {case} in round {round_}"
        raise bad_input(path, field="case_id", found=found, expected="a belief of every agent in every round")
    return Beliefs(probability, vote, fallback, np.asarray(options, dtype=np.int64), gold)


def belief_row(
    base: Mapping[str, Any], options: int, answer: str | None, confidence: Any, status: str
) -> dict[str, Any]:
    """An artifact row from an answer and a confidence; any status but ok gives the uniform fallback."""
    usable = status == "ok" and answer is not None
    belief = (
        spread(float(confidence), LETTERS.index(str(answer)), options) if usable else np.full(options, 1.0 / options)
    )
    return {
        **base,
        "answer": answer,
        "confidence": confidence,
        "probability": belief.tolist(),
        "raw_sum": None,
        "construction": "spread from a confidence",
        "parse_status": status,
    }
