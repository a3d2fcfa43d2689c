"""Table `null` beside the plain loop that it replaces: draw the vetoes, relabel, count; for every draw.

The settings are those of the AVeriTeC study of config/runs/paper.yaml, the panel and its certificates are simulated.
The loop comes twice: in plain Python, and with NumPy within a draw. Both give a Monte Carlo p and mean only; the exact
ones are ours alone. One that differs by more than Monte Carlo error makes the script exit with an error.

    .venv/bin/python benchmarks/null.py [--draws N] [--claims N] [--repeats N]
"""

from __future__ import annotations

import argparse
import os
import platform
import random
import sys
import time
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from math import sqrt
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "scripts"))

from warrant.bootstrap import generator
from warrant.config import read_run
from warrant.decimals import Arithmetic
from warrant.labels import CONFLICTING, INSUFFICIENT, REFUTE, Labels, directional
from warrant.metrics import METRICS
from warrant.panel import Votes
from warrant.random_veto import LOWER_IS_BETTER, NULL_METRICS
from warrant.systems import Controlled, decide
from warrant.tables.null import null_tables

ROOT: Final = Path(__file__).resolve().parents[1]
GOLD: Final = (50, 50, 35, 150)  # the study's claims by label
JUDGES: Final = 3
SIGMAS: Final = 5.0

Counts = tuple[int, int]
Ratio = Fraction | None


class Form(NamedTuple):
    """One form of the null: E's decisions, what was observed, and the number of vetoes."""

    name: str
    base: Labels
    observed: Labels
    k: int


class Found(NamedTuple):
    """One metric of one form: the Monte Carlo p, the draws' mean and its standard error."""

    p: float | None
    mean: float | None
    error: float


def simulated(n: int, seed: int) -> tuple[Labels, Controlled]:
    """Gold labels in the study's proportions, three judges that err together, and flags that know a little."""
    rng = generator(seed, n)
    shares = np.cumsum(GOLD) / sum(GOLD)
    gold = np.searchsorted(shares, (np.arange(n) + 0.5) / n).astype(np.int8)
    hard = rng.random((n, 1))
    right = rng.random((n, JUDGES)) < 1 - 0.7 * hard
    other = rng.choice(4, size=(n, JUDGES), p=[0.45, 0.45, 0.05, 0.05])
    label = np.where(right, gold[:, None], other).astype(np.int8)
    confidence = (rng.integers(78, 100, size=(n, JUDGES)) * 10**16).astype(np.int64)
    every = np.ones((n, JUDGES), dtype=np.bool_)
    votes = Votes(label, confidence, every, every[:, 0])
    mixed = rng.random(n) < np.where(gold == CONFLICTING, 0.4, 0.15)
    insufficient = rng.random(n) < np.where(gold == INSUFFICIENT, 0.4, 0.1)
    return gold, Controlled(votes, decide(votes), label[:, 0], mixed, insufficient)


def forms(panel: Controlled, published: tuple[Decimal, Decimal], matched: list[Decimal]) -> list[Form]:
    """The forms of the table, in its order."""
    e, f = panel.e(published[0], "published").decision, panel.f(published[1], "published").decision
    found = [Form("published", e, f, int((directional(e) & ~directional(f)).sum()))]
    arithmetics: tuple[Arithmetic, ...] = ("exact", "published")
    for arithmetic in arithmetics:
        for tau in matched:
            e = panel.e(tau, arithmetic).decision
            removed = directional(e) & ~directional(panel.f(tau, arithmetic).decision)
            observed = np.where(removed, CONFLICTING, e).astype(np.int8)
            found.append(Form(f"matched {arithmetic} {tau}", e, observed, int(removed.sum())))
    return found


def python_counts(gold: list[int], decision: list[int]) -> dict[str, Counts]:
    """Numerators and denominators of the null's metrics, claim by claim."""
    commits = wrong = on_conflicting = right = clear = said = conflicting = 0
    for label, said_label in zip(gold, decision, strict=True):
        if said_label <= REFUTE:
            commits += 1
            wrong += said_label != label
            on_conflicting += label == CONFLICTING
        if label <= REFUTE:
            clear += 1
            right += said_label == label
        elif label == CONFLICTING:
            conflicting += 1
            said += said_label == CONFLICTING
    return {
        "se": (wrong, commits),
        "cpo_n": (on_conflicting, len(gold)),
        "acc_sr": (right, clear),
        "rec_c": (said, conflicting),
    }


def in_python(gold: Labels, form: Form, draws: int, seed: int) -> dict[str, Found]:
    """The loop in plain Python."""
    chance = random.Random(seed)
    labels, base = gold.tolist(), form.base.tolist()
    commits = [i for i, label in enumerate(base) if label <= REFUTE]
    values: dict[str, list[Ratio]] = {metric: [] for metric in NULL_METRICS}
    for _ in range(draws):
        decision = base.copy()
        for i in chance.sample(commits, form.k):
            decision[i] = CONFLICTING
        for metric, counts in python_counts(labels, decision).items():
            values[metric].append(fraction(counts))
    return judged(values, {m: fraction(c) for m, c in python_counts(labels, form.observed.tolist()).items()})


def with_numpy(gold: Labels, form: Form, draws: int, seed: int) -> dict[str, Found]:
    """The loop with NumPy within a draw, and the library's own metrics."""
    rng = generator(seed)
    commits = np.flatnonzero(directional(form.base))
    values: dict[str, list[Ratio]] = {metric: [] for metric in NULL_METRICS}
    for _ in range(draws):
        decision = form.base.copy()
        decision[rng.choice(commits, form.k, replace=False)] = CONFLICTING
        for metric in NULL_METRICS:
            values[metric].append(fraction(METRICS[metric].counts(gold, decision)))
    return judged(values, {metric: fraction(METRICS[metric].counts(gold, form.observed)) for metric in NULL_METRICS})


def fraction(counts: Counts | None) -> Ratio:
    return None if counts is None or counts[1] == 0 else Fraction(*counts)


def judged(values: dict[str, list[Ratio]], observed: dict[str, Ratio]) -> dict[str, Found]:
    """p and mean of each metric; nothing where a value is undefined, as in the table."""
    found = {}
    for metric, drawn in values.items():
        known, seen = [value for value in drawn if value is not None], observed[metric]
        if seen is None or len(known) < len(drawn):
            found[metric] = Found(None, None, 0.0)
            continue
        as_good = sum(value <= seen if metric in LOWER_IS_BETTER else value >= seen for value in known)
        numbers = np.array([float(value) for value in known])
        spread = float(numbers.std()) / sqrt(len(numbers))
        found[metric] = Found((1 + as_good) / (1 + len(known)), float(numbers.mean()), spread)
    return found


def far(row: dict[str, Any], found: Found, draws: int) -> tuple[int, float]:
    """Statements beyond Monte Carlo error of the exact law, and the largest distance between p values."""
    if row["p_exact"] is None or found.p is None or found.mean is None:
        return int((row["p_exact"] is None) != (found.p is None)), 0.0
    p = row["p_exact"]
    slack = SIGMAS * sqrt(p * (1 - p) / draws) + (1 + SIGMAS**2) / draws  # the second for p near 0 and 1
    beyond = sum(abs(value - p) > slack for value in (found.p, row["p_monte_carlo"]))
    beyond += abs(found.mean - row["null_mean"]) > SIGMAS * found.error + 1e-12
    return beyond, max(abs(found.p - p), abs(row["p_monte_carlo"] - p))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, help="draws of each form (default: the run's)")
    parser.add_argument("--claims", type=int, default=sum(GOLD), help=f"claims (default {sum(GOLD)})")
    parser.add_argument("--repeats", type=int, default=5, help="runs of each, the least is taken (default 5)")
    arguments = parser.parse_args()
    settings: Any = read_run(ROOT / "config/runs", "paper").studies["averitec"]
    null = settings.null.model_dump(mode="json")
    draws, repeats = int(arguments.draws or null["draws"]), int(arguments.repeats)
    if min(draws, repeats, arguments.claims) < 1:
        parser.error("a number is less than 1")
    gold, panel = simulated(int(arguments.claims), 20260522)
    published, matched = (Decimal(null["tau_e"]), Decimal(null["tau_f"])), [Decimal(tau) for tau in null["matched"]]
    asked = forms(panel, published, matched)
    print(f"Python {platform.python_version()}, NumPy {np.__version__}")
    print(f"{os.cpu_count()} cores, 1-minute load {os.getloadavg()[0]:.1f}")
    print(f"{len(gold)} claims, {len(asked)} forms, {draws:,} draws each, best of {repeats}; (vetoes of commits):")
    print("  " + ", ".join(f"{form.k} of {int(directional(form.base).sum())}" for form in asked))

    rows = null_tables(gold, panel, published, matched, draws, null["seed"])[0].to_pylist()
    loops: dict[str, Callable[..., dict[str, Found]]] = {"plain Python": in_python, "NumPy in a draw": with_numpy}
    results: dict[str, list[dict[str, Found]]] = {}
    taken: dict[str, float] = {}
    for _ in range(repeats):  # in turns: what else the machine does hits all alike
        start = time.perf_counter()
        null_tables(gold, panel, published, matched, draws, null["seed"])
        seconds = time.perf_counter() - start
        taken["ours"] = min(seconds, taken.get("ours", seconds))
        for name, loop in loops.items():
            start = time.perf_counter()
            results[name] = [loop(gold, form, draws, seed) for seed, form in enumerate(asked)]
            seconds = time.perf_counter() - start
            taken[name] = min(seconds, taken.get(name, seconds))

    print(f"\n{'':<24} {'ms':>9} {'theirs/ours':>12}")
    print(f"{'ours, the whole table':<24} {taken['ours'] * 1e3:>9.1f}")
    for name in loops:
        print(f"{'loop, ' + name:<24} {taken[name] * 1e3:>9.1f} {taken[name] / taken['ours']:>12.1f}")
    compared = [
        far(row, results[name][position // len(NULL_METRICS)][row["metric"]], draws)
        for name in loops
        for position, row in enumerate(rows)
    ]
    exact = [row["p_exact"] for row in rows if row["p_exact"] is not None]
    beyond, largest = sum(one for one, _ in compared), max(one for _, one in compared)
    print(
        f"agreement with the exact law: {beyond} of {3 * len(compared)} p values and means beyond {SIGMAS:.0f} standard"
        f" errors; p at most {largest:.4f} away\n({len(exact)} exact p values, {min(exact):.2g} to {max(exact):.2g})"
    )
    if beyond:
        sys.exit("the null differs from a loop by more than Monte Carlo error")


if __name__ == "__main__":
    main()
