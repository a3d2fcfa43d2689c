"""Agreement of agents: unanimity, majority and consensus stopping (debate paper, section 4)."""

from __future__ import annotations

import numpy as np

from warrant.grid import Grid
from warrant.labels import Mask


def unanimous(votes: np.ndarray) -> Mask:
    """(questions, rounds): all agents vote for the same option. votes: (questions, rounds, agents) positions."""
    agree: Mask = (votes == votes[..., :1]).all(axis=-1)
    return agree


def majority(votes: np.ndarray, pooled: Grid) -> np.ndarray:
    """(questions, rounds): the option with the most votes; among tied ones the more probable in the uniform pool,
    then the first. pooled: (questions, rounds, options).
    """
    options = pooled.shape[-1]
    tally = (votes[..., None] == np.arange(options)).sum(axis=-2)
    tied = tally == tally.max(axis=-1, keepdims=True)
    return np.asarray(np.where(tied, pooled, -1).argmax(axis=-1))


def first_round(event: Mask) -> np.ndarray:
    """(questions,): the first round in which the event holds, -1 where it never does. event: (questions, rounds)."""
    return np.where(event.any(axis=1), event.argmax(axis=1), -1)
