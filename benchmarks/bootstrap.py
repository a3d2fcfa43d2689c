"""Table `contrasts` beside scipy.stats.bootstrap on the same contrasts, and its memory at many claims.

All contrasts of the AVeriTeC study of config/runs/paper.yaml on simulated labels. scipy is used in three ways, all
paired, vectorised and with percentile intervals; only its calls are timed, our time is that of the whole table. An
interval that differs from scipy's by more than Monte Carlo error makes the script exit with an error.

    .venv/bin/python benchmarks/bootstrap.py [--resamples N] [--repeats N] [--large N]

Linear algebra gets one thread unless the environment says otherwise, as Snakemake gives it to a rule of one thread.
"""
# ruff: noqa: E402

from __future__ import annotations

import argparse
import os
import platform
import resource
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from math import sqrt
from pathlib import Path
from typing import Any, Final

THREADS: Final = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
for variable in THREADS:  # read when NumPy is imported
    os.environ.setdefault(variable, "1")

import numpy as np
import numpy.typing as npt
import scipy
from scipy.stats import bootstrap

ROOT: Final = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "scripts"))

from warrant.bootstrap import _BLOCK_CELLS, generator, resampled_sums
from warrant.config import read_run
from warrant.labels import CONFLICTING, NO_COMMIT, Labels
from warrant.metrics import METRICS
from warrant.systems import Decisions
from warrant.tables.contrasts import Contrast, contrasts

SEED: Final = 20260522
N: Final = 285
GOLD: Final = (50, 50, 35, 150)  # the study's claims by label
GOAL: Final = 10.0
TAIL: Final = 0.025
SIGMAS: Final = 5.0
BATCHES: Final = (None, 2500, 1000, 250)
MIB: Final = 2**20

Floats = npt.NDArray[np.float64]


def wanted() -> list[Contrast]:
    """Contrasts of the AVeriTeC study, single ones and all pairs of its pairwise blocks."""
    study: Any = read_run(ROOT / "config/runs", "paper").studies["averitec"]
    found = [Contrast(item.name, metric, item.a, item.b) for item in study.contrasts for metric in item.metrics]
    for block in study.pairwise:
        pairs = combinations(block.systems, 2)
        found += [Contrast(block.name, metric, a, b) for a, b in pairs for metric in block.metrics]
    return found


def simulated(n: int, names: Sequence[str]) -> tuple[Labels, dict[str, Decisions]]:
    """Gold labels in the study's proportions, and systems that are wrong together on hard claims.

    A controller with a threshold withholds a third of what it would have committed to.
    """
    random = generator(SEED, n)
    shares = np.cumsum(GOLD) / sum(GOLD)
    gold = np.searchsorted(shares, (np.arange(n) + 0.5) / n).astype(np.int8)
    hard = random.random(n)
    found = {}
    for position, name in enumerate(names):
        right = random.random(n) < 1 - hard * (0.6 + 0.03 * position)
        decision = np.where(right, gold, random.choice(5, size=n, p=[0.4, 0.4, 0.08, 0.1, 0.02])).astype(np.int8)
        if "@" in name:
            withheld = (decision < 2) & (random.random(n) < 1 / 3)
            decision[withheld] = NO_COMMIT if name.startswith("E") else CONFLICTING
        found[name] = Decisions(decision, np.ones(n, dtype=np.bool_))
    return gold, found


@dataclass(frozen=True)
class Columns:
    """What scipy is given for one contrast: indicators over the claims of the metric's population."""

    metric: str
    top_a: Floats
    bottom_a: Floats
    top_b: Floats
    bottom_b: Floats

    @property
    def whole(self) -> bool:
        """Whether the denominators are the population, so that the difference is the mean of one column."""
        return METRICS[self.metric].denominator is None


def columns(gold: Labels, systems: Mapping[str, Decisions], contrast: Contrast) -> Columns:
    metric = METRICS[contrast.metric]
    members = metric.members(gold)
    found = []
    for side in (contrast.a, contrast.b):
        decision = systems[side].decision
        bottom = members if metric.denominator is None else metric.denominator(gold, decision) & members
        found += [(metric.numerator(gold, decision) & bottom)[members], bottom[members]]
    return Columns(contrast.metric, *(column.astype(np.float64) for column in found))


def ratios(top_a: Floats, bottom_a: Floats, top_b: Floats, bottom_b: Floats, axis: int = -1) -> Floats:
    top = top_b.sum(axis=axis) / bottom_b.sum(axis=axis)
    return np.asarray(top - top_a.sum(axis=axis) / bottom_a.sum(axis=axis))


def mean(difference: Floats, axis: int = -1) -> Floats:
    return np.asarray(difference.mean(axis=axis))


def call(
    data: tuple[Floats, ...], statistic: Callable[..., Floats], resamples: int, batch: int | None, seed: int
) -> Floats:
    """scipy's whole call; what it returns beside the interval, the resampled differences, serves the comparison."""
    result = bootstrap(
        data,
        statistic,
        axis=-1,
        paired=True,
        vectorized=True,
        method="percentile",
        n_resamples=resamples,
        batch=batch,
        rng=np.random.default_rng(seed),
    )
    return np.asarray(result.bootstrap_distribution)


def as_ratios(given: Sequence[Columns], resamples: int, batch: int | None) -> list[Floats]:
    """One call a contrast, statistic: the difference of two ratios of sums, as the metrics are defined."""
    return [
        call((item.top_a, item.bottom_a, item.top_b, item.bottom_b), ratios, resamples, batch, seed)
        for seed, item in enumerate(given)
    ]


def as_differences(given: Sequence[Columns], resamples: int, batch: int | None) -> list[Floats]:
    """One call a contrast, statistic: the mean of one column of differences, wherever that is the same."""
    return [
        call((item.top_b - item.top_a,), mean, resamples, batch, seed)
        if item.whole
        else as_ratios([item], resamples, batch)[0]
        for seed, item in enumerate(given)
    ]


def together(given: Sequence[Columns], resamples: int, batch: int | None) -> list[Floats]:
    """One call a population, its contrasts' columns of differences stacked; shared resamples, as ours."""
    found: dict[int, Floats] = {}
    groups: dict[tuple[frozenset[int], bool], list[int]] = {}
    for position, item in enumerate(given):
        groups.setdefault((METRICS[item.metric].population, item.whole), []).append(position)
    for seed, ((_, whole), positions) in enumerate(groups.items()):
        some = [given[position] for position in positions]
        if whole:
            made = call((np.stack([item.top_b - item.top_a for item in some]),), mean, resamples, batch, seed)
            found |= dict(zip(positions, made, strict=True))
        else:
            found |= dict(zip(positions, as_ratios(some, resamples, batch), strict=True))
    return [found[position] for position in range(len(given))]


USES: Final = {
    "one call a contrast, ratios": as_ratios,
    "one call a contrast, differences": as_differences,
    "one call a population, differences": together,
}


def resampling(given: Sequence[Columns], resamples: int) -> int:
    """The part of our table that draws and sums, on the table's own kind of columns; for the profile."""
    by_population: dict[frozenset[int], list[Floats]] = {}
    for item in given:
        found = by_population.setdefault(METRICS[item.metric].population, [])
        found += [item.top_a, item.bottom_a, item.top_b, item.bottom_b]
    total = 0
    for position, some in enumerate(by_population.values()):
        unique = np.unique(np.stack(some, axis=1), axis=1)
        total += resampled_sums(unique, resamples, generator(SEED, position)).size
    return total


def far(ours: Sequence[Mapping[str, Any]], theirs: Sequence[Floats]) -> tuple[int, float]:
    """Bounds beyond Monte Carlo error, and the largest distance between bounds.

    A bound at tail p of B resamples has a rank error of sqrt(p (1 - p) / B) of the resamples; two such have sqrt(2)
    times that. Ours must lie between scipy's quantiles at p -+ SIGMAS times as much, which holds for any
    distribution, discrete ones as here included.
    """
    beyond, largest = 0, 0.0
    for row, values in zip(ours, theirs, strict=True):
        slack = SIGMAS * sqrt(2 * TAIL * (1 - TAIL) / len(values))
        for bound, p in ((row["low"], TAIL), (row["high"], 1 - TAIL)):
            least, middle, most = np.quantile(values, [max(0, p - slack), p, min(1, p + slack)])
            beyond += not least - 1e-12 <= bound <= most + 1e-12
            largest = max(largest, abs(bound - middle))
    return beyond, float(largest)


def best(work: Mapping[Hashable, Callable[[], Any]], repeats: int) -> dict[Hashable, float]:
    """Least seconds of each of several jobs, run in turns: what else the machine does only adds, and to all alike."""
    found: dict[Hashable, float] = {}
    for _ in range(repeats):
        for name, one in work.items():
            start = time.perf_counter()
            one()
            taken = time.perf_counter() - start
            found[name] = min(taken, found.get(name, taken))
    return found


def peak() -> float:
    """Peak resident memory of this process so far, MiB."""
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return used / (1024**2 if sys.platform == "darwin" else 1024)


def bound(n: int, resamples: int, some: Sequence[Contrast]) -> float:
    """MiB that the table may allocate at once: four arrays of a block, the columns and the sums twice each.

    A block holds _BLOCK_CELLS numbers, or one resample where that is more.
    """
    sides: dict[frozenset[int], set[tuple[str, str]]] = {}
    for item in some:
        sides.setdefault(METRICS[item.metric].population, set()).update({(item.a, item.metric), (item.b, item.metric)})
    width = 2 * max(map(len, sides.values()))
    return 8 * (4 * max(_BLOCK_CELLS, n) + 2 * width * (n + resamples)) / MIB


def large(n: int, resamples: int, traced: bool) -> None:
    """The table at many claims, in a process of its own; traced: its allocations, at a cost in time."""
    some = wanted()
    gold, systems = simulated(n, sorted({side for item in some for side in (item.a, item.b)}))
    contrasts(*simulated(N, list(systems)), some, 10, SEED)  # imports and first-call costs are not the table's
    before = peak()
    if traced:
        tracemalloc.start()
    start = time.perf_counter()
    contrasts(gold, systems, some, resamples, SEED)
    taken = time.perf_counter() - start
    if traced:
        most, allowed = tracemalloc.get_traced_memory()[1] / MIB, bound(n, resamples, some)
        print(f"  {n:>9,} claims, {resamples:>6,} resamples: at most {most:.0f} MiB at once, bound {allowed:.0f} MiB")
        if most > 1.05 * allowed + 1:  # what is small beside both: labels, masks, rows
            sys.exit("the table's memory exceeds its bound")
    else:
        found = f"{taken:.1f} s, peak {peak():.0f} MiB, of which {before:.0f} MiB before the table"
        print(f"  {n:>9,} claims, {resamples:>6,} resamples: {found}")


def memory(n: int, resamples: int) -> None:
    """Processes of their own, before this one has grown: Linux hands a parent's peak on to its children."""
    print("memory, each in a process of its own", flush=True)
    program = [sys.executable, __file__, "--only-large"]
    fewer = max(1, resamples // 100)
    for claims, draws, also in ((n // 10, resamples, []), (n, resamples, []), (n, fewer, ["--traced"])):
        subprocess.run([*program, str(claims), str(draws), *also], check=True)
    index = 8 * n * resamples / 1e9
    print(
        f"  scipy without batch, by arithmetic, not run: {2 * index:.0f} GB for differences, {5 * index:.0f} GB for"
        f" ratios\n  ({index:.0f} GB for the indices and for each column); its batch bounds that"
    )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--resamples", type=int, default=10_000, help="bootstrap resamples (default 10,000)")
    parser.add_argument("--repeats", type=int, default=5, help="runs of each, the least is taken (default 5)")
    parser.add_argument("--large", type=int, default=100_000, help="claims of the memory run (default 100,000)")
    parser.add_argument("--only-large", nargs=2, type=int, help=argparse.SUPPRESS)
    parser.add_argument("--traced", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.only_large is not None:
        claims, draws = arguments.only_large
        large(claims, draws, bool(arguments.traced))
        return
    resamples, repeats = int(arguments.resamples), int(arguments.repeats)
    if min(resamples, repeats, arguments.large) < 1:
        parser.error("a number is less than 1")
    some = wanted()
    gold, systems = simulated(N, sorted({side for item in some for side in (item.a, item.b)}))
    given = [columns(gold, systems, item) for item in some]
    print(f"Python {platform.python_version()}, NumPy {np.__version__}, SciPy {scipy.__version__}")
    threads = os.environ["OPENBLAS_NUM_THREADS"]
    print(f"{os.cpu_count()} cores, BLAS threads {threads}, 1-minute load {os.getloadavg()[0]:.1f}")
    print(f"{len(some)} contrasts of {len(systems)} systems, {N} claims, {resamples:,} resamples, best of {repeats}")

    memory(int(arguments.large), resamples)

    table = contrasts(gold, systems, some, resamples, SEED).to_pylist()
    work: dict[Hashable, Callable[[], Any]] = {
        "ours, the whole table": partial(contrasts, gold, systems, some, resamples, SEED),
        "  of it drawing and summing": partial(resampling, given, resamples),
        "  of it without resamples": partial(contrasts, gold, systems, some, 1, SEED),
    }
    own = list(work)
    work |= {(name, batch): partial(use, given, resamples, batch) for name, use in USES.items() for batch in BATCHES}
    taken = best(work, repeats)
    ours = taken[own[0]]
    print(f"\n{'':<38} {'batch':>6} {'ms':>8} {'theirs/ours':>12}")
    for part in own:
        print(f"{part:<38} {'':>6} {taken[part] * 1e3:>8.0f}")
    for name in USES:
        for batch in BATCHES:
            theirs = taken[name, batch]
            print(f"{name:<38} {batch or 'none':>6} {theirs * 1e3:>8.0f} {theirs / ours:>12.1f}")
    plain, fastest = taken[next(iter(USES)), None], min(taken[name, batch] for name in USES for batch in BATCHES)
    for what, theirs in (("the metrics' own statistic, scipy's defaults", plain), ("the fastest of scipy", fastest)):
        print(f"goal {GOAL:.0f} times: {theirs / ours:.1f} of {what}, {'met' if theirs >= GOAL * ours else 'MISSED'}")

    distances = [far(table, use(given, resamples, None)) for use in USES.values()]
    beyond, largest = sum(one for one, _ in distances), max(one for _, one in distances)
    bounds = 2 * len(some) * len(USES)
    print(f"agreement: {beyond} of {bounds} bounds beyond {SIGMAS:.0f} standard errors; largest distance {largest:.4f}")
    if beyond:
        sys.exit("an interval differs from scipy's by more than Monte Carlo error")


if __name__ == "__main__":
    main()
