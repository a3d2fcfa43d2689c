"""Calibration and test halves, by question, recorded by seed.

A question's side depends on its id and the seed, not on its row: shuffling questions changes no set.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from warrant.bootstrap import generator
from warrant.labels import Mask


def calibration_half(identity: Sequence[int], domain: Sequence[str], seed: int, number: int) -> Mask:
    """(questions,) True in the calibration half of split `number`: floor(n/2) of every domain; test gets ceil(n/2).

    identity: unique ids. Domains are split one after the other in alphabetical order, ids in ascending order.
    """
    ids, names = np.asarray(identity), np.asarray(domain)
    calibration = np.zeros(len(ids), dtype=np.bool_)
    for position, name in enumerate(sorted(set(domain))):
        rows = np.flatnonzero(names == name)
        rows = rows[np.argsort(ids[rows], kind="stable")]
        order = generator(seed, number, position).permutation(len(rows))
        calibration[rows[order[: len(rows) // 2]]] = True
    return calibration


def calibration_halves(identity: Sequence[int], domain: Sequence[str], seed: int, count: int) -> np.ndarray:
    """(count, questions): the calibration halves of splits 0 to count - 1."""
    return np.stack([calibration_half(identity, domain, seed, number) for number in range(count)])
