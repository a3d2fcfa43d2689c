"""True values of rates and differences: from a judge's law, or from very many simulated cases."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from warrant.interval_coverage.samples import simulate, wanted
from warrant.interval_coverage.settings import Setting
from warrant.labels import CONFLICTING, CONTRACTS, GOLD, INSUFFICIENT, NAMES, NONE, REFUTE, SUPPORT, Labels
from warrant.metrics import METRICS
from warrant.simulation import Judge
from warrant.tables.veto import veto

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Truth:
    """A true value; `error` is its Monte Carlo standard error, 0 where the law gives the value."""

    value: float
    error: float = 0.0


def law(judge: Judge, contract: str) -> Floats:
    """(4, 6) probabilities of every label given the gold label, as a judge's parameters imply them."""
    typed = "conflicting" in CONTRACTS[contract]
    conflict = CONFLICTING if typed else INSUFFICIENT
    table = np.zeros((len(GOLD), len(NAMES)))
    for gold in (SUPPORT, REFUTE):
        table[gold, gold] = judge.sensitivity
        table[gold, SUPPORT + REFUTE - gold] = judge.reversal
        table[gold, conflict] = judge.false_conflict
        table[gold, INSUFFICIENT] += 1 - judge.sensitivity - judge.reversal - judge.false_conflict
    blindness = judge.conflict_blindness if typed else judge.untyped_blindness
    for gold, rate, otherwise in (
        (CONFLICTING, blindness, conflict),
        (INSUFFICIENT, judge.overcommitment, INSUFFICIENT),
    ):
        table[gold, [SUPPORT, REFUTE]] = rate / 2  # it leans either way with probability 1/2
        table[gold, otherwise] = 1 - rate
    table *= 1 - judge.unusable
    table[:, NONE] += judge.unusable
    return table


def _table(gold: Labels, decision: Labels) -> Floats:
    counts = np.zeros((len(GOLD), len(NAMES)))
    np.add.at(counts, (gold, decision), 1)
    return np.asarray(counts / counts.sum(axis=1, keepdims=True))


def rate_of(table: Floats, composition: Sequence[int], metric: str) -> tuple[float, float]:
    """A metric's true value in a sample of this composition, from the probabilities of labels given gold labels.

    Beside it, how many cases its denominator has when there is one case of each gold label.
    """
    gold, decision = (grid.ravel().astype(np.int8) for grid in np.indices(table.shape))
    weight = (table * (np.array(composition) / np.sum(composition))[:, None]).ravel()
    one = METRICS[metric]
    members = one.members(gold)
    bottom = members if one.denominator is None else members & one.denominator(gold, decision)
    top = one.numerator(gold, decision) & bottom
    return float(weight[top].sum() / weight[bottom].sum()), float(table.ravel()[bottom].sum())


def truths(setting: Setting, per_label: int, rng: np.random.Generator) -> dict[tuple[str, str, str], Truth]:
    """True values by table, row and metric; what the law does not give is taken from `per_label` cases a gold label.

    The error of a simulated share is that of a binomial share of the cases in its denominator; a difference's is the
    root of the sum of squares, as if its sides were independent.
    """
    gold = np.repeat(np.arange(len(GOLD)), per_label).astype(np.int8)
    large = simulate(setting, gold, rng)
    tables, exact = {}, set()
    for name, system in large.systems.items():
        kind, _, rest = name.partition("/")
        if kind == "single" or name == "validator":
            judge, _, contract = ("v", "", "certificate") if name == "validator" else rest.partition("/")
            tables[name] = law(setting.judges[judge], contract)
            exact.add(name)
        else:
            tables[name] = _table(gold, system.decision)
    found: dict[tuple[str, str, str], Truth] = {}

    def value(name: str, metric: str) -> Truth:
        rate, cases = rate_of(tables[name], setting.composition, metric)
        return Truth(rate, 0.0 if name in exact else math.sqrt(rate * (1 - rate) / (cases * per_label)))

    def difference(a: Truth, b: Truth) -> Truth:
        return Truth(b.value - a.value, math.hypot(a.error, b.error))

    for name in large.systems:
        for metric in METRICS:
            found["judges", name, metric] = value(name, metric)
        found["judges", name, "gap"] = difference(value(name, "ovc_i"), value(name, "cpo_c"))
    for contrast in wanted():
        pair = (value(contrast.a, contrast.metric), value(contrast.b, contrast.metric))
        found["contrasts", contrast.name, contrast.metric] = difference(*pair)
    for row in veto(gold, large.panel).to_pylist():
        if row["n"]:
            error = math.sqrt(row["rate"] * (1 - row["rate"]) / row["n"])
            found["veto", row["population"], row["flag"]] = Truth(row["rate"], error)
    return found
