"""Pools: several agents' beliefs on a question become one, on the 10^-12 grid (debate paper, section 3.2).

All pools are the same to the last bit under any order of agents and of options.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from warrant.grid import Floats, Grid, ordered_sum, to_grid

POOLS: Final = ("uniform", "entropy", "log", "learned")
LOG_FLOOR: Final = 1e-6  # least probability in the logarithmic pool: one agent's 0 must not veto an option


def uniform_weights(beliefs: Floats) -> Floats:
    """(..., agents): the same weight for every agent. beliefs: (..., agents, options)."""
    return np.full(beliefs.shape[:-1], 1.0 / beliefs.shape[-2])


def entropy(beliefs: Floats) -> Floats:
    """(..., agents) Shannon entropy of each belief, natural logarithm; 0 log 0 is 0."""
    positive = np.where(beliefs > 0, beliefs, 1.0)
    return -ordered_sum(positive * np.log(positive), axis=-1)


def entropy_weights(beliefs: Floats, scale: float = 1.0) -> Floats:
    """(..., agents): weights proportional to exp(-scale * entropy), per question."""
    raw = np.exp(-scale * entropy(beliefs))
    return raw / ordered_sum(raw, axis=-1)[..., None]


def learned_weights(correct: np.ndarray, calibration: np.ndarray) -> Floats:
    """(agents,): weights proportional to each agent's accuracy on the calibration half; uniform if all are 0.

    correct: (questions, agents) booleans; calibration: (questions,) booleans. The same half then calibrates, so a
    pool with these weights has no exact coverage guarantee: its scores on that half have been seen.
    """
    hits = correct[calibration].sum(axis=0).astype(np.float64)
    total = hits.sum()
    return hits / total if total else np.full(correct.shape[1], 1.0 / correct.shape[1])


def linear(beliefs: Floats, weights: Floats) -> Grid:
    """(..., options) weighted mean of the beliefs, on the grid."""
    return to_grid(ordered_sum(beliefs * weights[..., None], axis=-2))


def logarithmic(beliefs: Floats, offered: np.ndarray, floor: float = LOG_FLOOR) -> Grid:
    """(..., options) normalised geometric mean of the beliefs, each raised to at least `floor`, on the grid.

    offered: (..., options) booleans, True where the option exists; other options stay 0.
    """
    logs = ordered_sum(np.log(np.maximum(beliefs, floor)), axis=-2) / beliefs.shape[-2]
    powers = np.where(offered, np.exp(logs), 0.0)
    return to_grid(powers / ordered_sum(powers, axis=-1)[..., None])
