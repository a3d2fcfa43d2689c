"""What the tables of the debate study start from: beliefs, pools, scores, agreement and splits of one arm."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from warrant import artifact, pools
from warrant import beliefs as beliefs_module
from warrant.beliefs import Beliefs
from warrant.conformal import option_scores
from warrant.consensus import majority, unanimous
from warrant.grid import Grid
from warrant.labels import Mask
from warrant.mmlu_pro import SCHEMA
from warrant.outcomes import Questions
from warrant.splits import calibration_halves

CALIBRATIONS: Final = ("domain", "pooled", "options", "unanimity")


@dataclass(frozen=True)
class Study:
    """One arm of a debate study, and the settings that every table shares."""

    domain: list[str]
    question_id: list[int]
    agents: list[str]
    beliefs: Beliefs
    seed: int
    entropy_scale: float
    log_floor: float

    @classmethod
    def load(cls, sample: Path, beliefs: Path, settings: Mapping[str, Any]) -> Study:
        """Read sample and beliefs; the settings give agents in listed order, split seed, and the pools' constants."""
        table = artifact.read(sample, SCHEMA).sort_by("case_id")
        options = [len(item or ()) for item in table.column("options").to_pylist()]
        return cls(
            [str(name) for name in table.column("stratum").to_pylist()],
            [int(str(number)) for number in table.column("question_id").to_pylist()],
            list(settings["agents"]),
            beliefs_module.read(beliefs, settings["agents"], options),
            int(settings["split_seed"]),
            float(settings["entropy_scale"]),
            float(settings["log_floor"]),
        )

    def calibration(self, count: int) -> Mask:
        """(count, questions) calibration halves of splits 0 to count - 1."""
        return calibration_halves(self.question_id, self.domain, self.seed, count)

    @cached_property
    def correct(self) -> Mask:
        """(questions, rounds, agents): the agent's vote is the gold option."""
        right: Mask = self.beliefs.vote == self.beliefs.gold[:, None, None]
        return right

    @cached_property
    def uniform(self) -> Grid:
        """(questions, rounds, options) uniform linear pool."""
        return pools.linear(self.beliefs.probability, pools.uniform_weights(self.beliefs.probability))

    def pooled(self, name: str, calibration: Mask | None = None) -> Grid:
        """(questions, rounds, options) of a pool; `learned` needs the calibration half of one split, (questions,)."""
        probability = self.beliefs.probability
        if name == "uniform":
            return self.uniform
        if name == "entropy":
            return pools.linear(probability, pools.entropy_weights(probability, self.entropy_scale))
        if name == "log":
            return pools.logarithmic(probability, self.beliefs.offered()[:, None, :], self.log_floor)
        if name == "learned" and calibration is not None:
            return pools.linear(probability, self.learned_weights(calibration))
        raise ValueError(f"unknown pool {name!r}, expected one of {pools.POOLS}")

    def learned_weights(self, calibration: Mask) -> npt.NDArray[np.float64]:
        """(questions, rounds, agents): per domain and round, from that domain's calibration questions."""
        weights = np.empty(self.correct.shape)
        names = np.asarray(self.domain)
        for name in set(self.domain):
            rows = names == name
            for t in range(self.beliefs.rounds):
                weights[rows, t] = pools.learned_weights(self.correct[rows, t], calibration[rows])
        return weights

    def scores(self, pooled: Grid, score: str) -> tuple[Grid, Grid]:
        """(questions, rounds, options) scores and (questions, rounds) scores of the gold option."""
        values = option_scores(pooled, self.beliefs.offered()[:, None, :], score)
        gold = np.broadcast_to(self.beliefs.gold[:, None, None], (*values.shape[:2], 1))
        return values, np.take_along_axis(values, gold, axis=-1)[..., 0]

    @cached_property
    def questions(self) -> Questions:
        """Agreement of the agents' votes."""
        votes, gold = self.beliefs.vote, self.beliefs.gold[:, None]
        return Questions(
            self.domain,
            unanimous(votes),
            np.asarray(votes[..., 0] == gold),
            np.asarray(majority(votes, self.uniform) == gold),
        )

    def groups(self, calibration: str) -> npt.NDArray[np.int64]:
        """(questions,) group of each question under a calibration scheme.

        domain: the paper's; pooled: one group; options: Mondrian by number of options; unanimity: Mondrian by
        whether the agents agree in round 0 (a property of the question, known before any label).
        """
        if calibration == "domain":
            return np.unique(np.asarray(self.domain), return_inverse=True)[1].astype(np.int64)
        if calibration == "pooled":
            return np.zeros(len(self.domain), dtype=np.int64)
        if calibration == "options":
            return np.asarray(self.beliefs.options, dtype=np.int64)
        if calibration == "unanimity":
            return self.questions.unanimous[:, 0].astype(np.int64)
        raise ValueError(f"unknown calibration {calibration!r}, expected one of {CALIBRATIONS}")


def schemes() -> list[tuple[str, str, str]]:
    """(pool, score, calibration) combinations that are reported: every pool and score per domain, and every other
    calibration with the uniform pool and LAC.
    """
    found = [(pool, score, "domain") for pool in pools.POOLS for score in ("lac", "rank")]
    return found + [("uniform", "lac", calibration) for calibration in CALIBRATIONS[1:]]


def decimals(values: Sequence[str]) -> list[Decimal]:
    """Alphas as exact decimals."""
    return [Decimal(value) for value in values]
