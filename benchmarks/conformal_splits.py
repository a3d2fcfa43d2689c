"""Time, linearity and memory of the tables' inner loop, beside MAPIE and crepes on the same job.

The job: splits x 8 domains x 4 rounds x 4 alphas x 3 pools, LAC scores, calibration per domain, sets of every round:
all counts and rates of `warrant.outcomes`. Round 0 is the real panel when results/panel holds it, else synthetic
beliefs of the same shape; rounds 1 to 3 are simulated. Prints tables, writes nothing.

    .venv/bin/python benchmarks/conformal_splits.py [--splits N] [--mapie-splits N] [--crepes-splits N] [--synthetic]

Linear algebra gets one thread unless the environment says otherwise, as Snakemake gives it to a rule of one thread.
"""
# ruff: noqa: E402

from __future__ import annotations

import argparse
import os
import platform
import resource
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

THREADS: Final = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
for variable in THREADS:  # read when NumPy is imported
    os.environ.setdefault(variable, "1")

import numpy as np
import numpy.typing as npt

ROOT: Final = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "scripts"))

from warrant.beliefs import MOST_OPTIONS, Beliefs
from warrant.bootstrap import generator
from warrant.conformal import members
from warrant.grid import ONE, Grid
from warrant.labels import Mask
from warrant.outcomes import STATIC, count, rates, rounds, thresholds
from warrant.panel_study import Study

PANEL: Final = ROOT / "results/panel/mmlu_pro"
AGENTS: Final = ["claude-3-5-haiku", "deepseek-reasoner", "qwen3-32b"]
SIZES: Final = (969, 1101, 1132, 1299, 1351, 844, 818, 798)
ALPHAS: Final = tuple(Decimal(text) for text in ("0.01", "0.05", "0.10", "0.20"))
POOLS: Final = ("uniform", "entropy", "log")
ROUNDS: Final = 4
SEED: Final = 20260407
GOAL_SECONDS: Final = 20.0
FACTORS: Final = (0.25, 0.5, 1.0, 2.0)

Sets = npt.NDArray[np.bool_]  # (test questions, options, alphas)
Run = Callable[["Block"], tuple[Sets, Callable[[], Sets]]]


def real() -> Study:
    """The real panel's round 0, with the split seed and pool constants of config/runs/panel.yaml."""
    settings = {"agents": AGENTS, "split_seed": SEED, "entropy_scale": "1", "log_floor": "0.000001"}
    return Study.load(PANEL / "sample.parquet", PANEL / "beliefs/single_turn.parquet", settings)


def synthetic() -> Study:
    """Round 0 of the real panel's shape: 8,312 questions, 3 to 10 options, confidences in steps of 0.05."""
    random = generator(SEED, 0)
    n, a = sum(SIZES), len(AGENTS)
    options = random.choice([4, 8, 9, 10], size=n, p=[0.05, 0.03, 0.07, 0.85]).astype(np.int64)
    gold = random.integers(0, options)
    right = random.random((n, a)) < 0.65
    vote = np.where(right, gold[:, None], random.integers(0, options[:, None], size=(n, a)))
    confidence = random.integers(12, 21, size=(n, a)) / 20
    exists = np.arange(MOST_OPTIONS) < options[:, None]
    belief = np.where(exists[:, None], ((1 - confidence) / (options[:, None] - 1))[..., None], 0.0)
    np.put_along_axis(belief, vote[..., None], confidence[..., None], axis=-1)
    beliefs = Beliefs(belief[:, None], vote[:, None], np.zeros((n, 1, a), dtype=np.bool_), options, gold)
    domain = [f"domain {d}" for d, size in enumerate(SIZES) for _ in range(size)]
    return Study(domain, list(range(n)), AGENTS, beliefs, SEED, 1.0, 1e-6)


def debated(study: Study) -> Study:
    """The study with simulated rounds 1 to 3.

    In every round each agent moves a random part (0 to 0.6) of the way to the uniform pool, with 5% log-normal noise
    on each option, renormalised; its vote is then its most probable option.
    """
    random = generator(SEED, 1)
    first = study.beliefs
    beliefs, votes = [first.probability[:, 0]], [first.vote[:, 0]]
    for _ in range(1, ROUNDS):
        last = beliefs[-1]
        step = random.uniform(0.0, 0.6, size=(*last.shape[:2], 1))
        moved = (1 - step) * last + step * last.mean(axis=1, keepdims=True)
        moved = moved * np.exp(0.05 * random.standard_normal(last.shape))
        beliefs.append(moved / moved.sum(axis=-1, keepdims=True))
        votes.append(beliefs[-1].argmax(axis=-1))
    fallback = np.repeat(first.fallback[:, :1], ROUNDS, axis=1)
    made = Beliefs(np.stack(beliefs, axis=1), np.stack(votes, axis=1), fallback, first.options, first.gold)
    return replace(study, beliefs=made)


def resized(study: Study, factor: float) -> Study:
    """The study with a part of its questions, or with copies of them under new ids."""
    n = len(study.domain)
    rows = np.arange(0, n, round(1 / factor)) if factor < 1 else np.tile(np.arange(n), round(factor))
    beliefs = study.beliefs
    probability, vote, fallback = beliefs.probability[rows], beliefs.vote[rows], beliefs.fallback[rows]
    taken = Beliefs(probability, vote, fallback, beliefs.options[rows], beliefs.gold[rows])
    return replace(study, domain=[study.domain[i] for i in rows], question_id=list(range(len(rows))), beliefs=taken)


def fresh(study: Study) -> Study:
    """The same study without cached pools and agreement, so that a timed job computes them."""
    return replace(study)


def job(study: Study, splits: int) -> int:
    """The whole job: halves, pools, scores, thresholds, outcomes, counts, rates. Returns the number of cells."""
    calibration = study.calibration(splits)
    test, membership, groups = ~calibration, study.questions.membership(), study.groups("domain")
    cells = 0
    for pool in POOLS:
        scores, true_scores = study.scores(study.pooled(pool), "lac")
        for alpha in ALPHAS:
            for t, (_, outcome) in enumerate(rounds(scores, true_scores, groups, calibration, alpha, STATIC)):
                found = rates(count(outcome, study.questions, t, test, membership))
                cells += found["coverage"][:, :-1].size
    return cells


def sets_only(study: Study, splits: int) -> int:
    """What the peers do and no more: sets of every question, covered and size per domain. Returns the cells."""
    calibration = study.calibration(splits)
    test, membership, groups = ~calibration, study.questions.membership()[:, :-1], study.groups("domain")
    cells = 0
    for pool in POOLS:
        scores, true_scores = study.scores(study.pooled(pool), "lac")
        for alpha in ALPHAS:
            for _, outcome in rounds(scores, true_scores, groups, calibration, alpha, STATIC):
                covered = (outcome.covered & test).astype(np.float32) @ membership
                size = np.where(test, outcome.size, 0).astype(np.float32) @ membership
                cells += len(covered) * size.shape[1]
    return cells


def phases(study: Study, splits: int) -> dict[str, float]:
    """Seconds of each part of the job, one pool and one alpha scaled to the whole; the job itself is timed apart."""
    spent = dict.fromkeys(("halves", "pool and scores", "thresholds", "sets", "counts and rates"), 0.0)
    start = time.perf_counter()
    calibration = study.calibration(splits)
    spent["halves"] = time.perf_counter() - start
    start = time.perf_counter()
    scores, true_scores = study.scores(study.pooled("entropy"), "lac")
    spent["pool and scores"] = len(POOLS) * (time.perf_counter() - start)
    test, membership, groups = ~calibration, study.questions.membership(), study.groups("domain")
    times = len(POOLS) * len(ALPHAS)
    steps = rounds(scores, true_scores, groups, calibration, ALPHAS[2], STATIC)
    for t in range(ROUNDS):
        begin = time.perf_counter()
        thresholds(true_scores[:, t], groups, calibration, ALPHAS[2])
        quantile = time.perf_counter() - begin
        begin = time.perf_counter()
        _, outcome = next(steps)
        step = time.perf_counter() - begin
        begin = time.perf_counter()
        rates(count(outcome, study.questions, t, test, membership))
        spent["counts and rates"] += times * (time.perf_counter() - begin)
        spent["thresholds"] += times * quantile
        spent["sets"] += times * (step - quantile)
    return spent


def peak() -> float:
    """Peak resident memory of this process so far, MiB."""
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return used / (1024**2 if sys.platform == "darwin" else 1024)


@dataclass(frozen=True)
class Block:
    """What a peer is given: one split, one pool, one round, over the rows of its calibration and test halves."""

    probability: npt.NDArray[np.float64]
    scores: Grid
    gold: npt.NDArray[np.int64]
    domain: npt.NDArray[np.int64]
    calibration: npt.NDArray[np.int64]
    test: npt.NDArray[np.int64]
    q: Grid  # (test questions, alphas): the library's thresholds, to explain a difference; not for the peer


def blocks(study: Study, calibration: Mask) -> Iterator[tuple[Block, Sets]]:
    """Every block of the splits, with the library's own sets of the test questions."""
    groups = study.groups("domain")
    offered = study.beliefs.offered()
    for pool in POOLS:
        pooled = study.pooled(pool)
        scores, true_scores = study.scores(pooled, "lac")
        for t in range(ROUNDS):
            q = np.stack([thresholds(true_scores[:, t], groups, calibration, alpha) for alpha in ALPHAS], axis=-1)
            for s, half in enumerate(calibration):
                test = np.flatnonzero(~half)
                sets = np.stack([members(scores[test, t], q[s, test, i]) for i in range(len(ALPHAS))], axis=-1)
                block = Block(
                    pooled[:, t] / ONE,
                    np.where(offered, scores[:, t], ONE),
                    study.beliefs.gold,
                    groups,
                    np.flatnonzero(half),
                    test,
                    q[s, test],
                )
                yield block, sets


def mapie_sets(block: Block) -> tuple[Sets, Callable[[], Sets]]:
    """MAPIE: one prefit LAC classifier per domain, all alphas in one call; X is the pooled probability itself.

    Also returns which options are within MAPIE's own tolerance of the threshold.
    """
    from mapie._machine_precision import EPSILON
    from mapie.classification import SplitConformalClassifier
    from sklearn.base import BaseEstimator, ClassifierMixin

    class Given(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
        """A fitted classifier whose probabilities are its inputs."""

        def __init__(self) -> None:
            self.classes_ = np.arange(MOST_OPTIONS)
            self.fitted_ = True

        def fit(self, X: Any, y: Any) -> Given:
            return self

        def predict(self, X: Any) -> Any:
            return np.asarray(X).argmax(axis=1)

        def predict_proba(self, X: Any) -> Any:
            return np.asarray(X)

    levels = [float(1 - alpha) for alpha in ALPHAS]
    sets = np.zeros((len(block.test), MOST_OPTIONS, len(ALPHAS)), dtype=np.bool_)
    for group in np.unique(block.domain):
        known = block.calibration[block.domain[block.calibration] == group]
        places = np.flatnonzero(block.domain[block.test] == group)
        conformal = SplitConformalClassifier(Given(), confidence_level=levels, conformity_score="lac", prefit=True)
        conformal.conformalize(block.probability[known], block.gold[known])
        sets[places] = conformal.predict_set(block.probability[block.test[places]])[1]

    def tolerated() -> Sets:
        # two units of the grid more: a score of a float is not a score of the grid
        apart = np.abs(block.scores[block.test][..., None] - block.q[:, None])
        return np.asarray(apart <= float(EPSILON) * ONE + 2)

    return sets, tolerated


def crepes_sets(block: Block, strict: bool = False) -> tuple[Sets, Callable[[], Sets]]:
    """crepes: one Mondrian classifier, domains as bins; p-values once, unsmoothed, compared with every alpha.

    As its predict_set does, p = alpha is inside; strict: outside, which is the rank ceil((n + 1)(1 - alpha)) that the
    library and MAPIE take. Also returns which options have p = alpha.
    """
    from crepes import ConformalClassifier

    conformal = ConformalClassifier()
    known, test = block.calibration, block.test
    conformal.fit(block.scores[known, block.gold[known]], bins=block.domain[known])
    p = conformal.predict_p(block.scores[test], bins=block.domain[test], smoothing=False)[..., None]
    alphas = np.array([float(alpha) for alpha in ALPHAS])
    return np.asarray(p > alphas if strict else p >= alphas), lambda: np.asarray(p == alphas)


def crepes_strict(block: Block) -> tuple[Sets, Callable[[], Sets]]:
    """crepes with p = alpha outside the set."""
    return crepes_sets(block, strict=True)


@dataclass(frozen=True)
class Peer:
    """What a peer took, and where its sets are not the library's. unexplained: sets that differ for no known reason."""

    cells: int
    seconds: float
    sets: int
    differing: int
    covered_differing: int
    unexplained: int


def compare(study: Study, splits: int, run: Run, strict: bool = False) -> Peer:
    """Run a peer on the first splits; only the peer and its covered and size counts are timed.

    Sets are compared over the options a question has. A difference is explained if it is only in options that lie on
    the peer's own boundary; strict: no difference is.
    """
    offered, names = study.beliefs.offered(), np.unique(study.groups("domain"))
    seconds, cells, total, differing, coverage, unexplained = 0.0, 0, 0, 0, 0, 0
    for block, ours in blocks(study, study.calibration(splits)):
        start = time.perf_counter()
        theirs, boundary = run(block)
        theirs &= offered[block.test][..., None]
        domain, gold = block.domain[block.test], block.gold[block.test]
        covered = theirs[np.arange(len(gold)), gold]
        counts = [(covered[domain == d].sum(axis=0), theirs[domain == d].sum(axis=(0, 1))) for d in names]
        seconds += time.perf_counter() - start
        right = ours[np.arange(len(gold)), gold]
        coverage += sum(int((counts[i][0] != right[domain == d].sum(axis=0)).sum()) for i, d in enumerate(names))
        unequal = theirs != ours
        total += len(gold) * len(ALPHAS)
        differing += int(unequal.any(axis=1).sum())
        unexplained += int((unequal if strict else unequal & ~boundary()).any(axis=1).sum())
        cells += len(names) * len(ALPHAS)
    return Peer(cells, seconds, total, differing, coverage, unexplained)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--splits", type=int, default=200, help="splits of the job (default 200)")
    parser.add_argument("--mapie-splits", type=int, default=5, help="splits that MAPIE is given (default 5)")
    parser.add_argument("--crepes-splits", type=int, default=1, help="splits that crepes is given (default 1)")
    parser.add_argument("--synthetic", action="store_true", help="synthetic round 0 even if the real panel is there")
    arguments = parser.parse_args()
    if min(arguments.splits, arguments.mapie_splits, arguments.crepes_splits) < 1:
        parser.error("a number of splits is less than 1")
    present = (PANEL / "sample.parquet").exists() and (PANEL / "beliefs/single_turn.parquet").exists()
    use_real = present and not arguments.synthetic
    study = debated(real() if use_real else synthetic())
    n, splits = len(study.domain), int(arguments.splits)
    print(f"round 0: {'real panel' if use_real else 'SYNTHETIC'}; rounds 1-3: simulated; seed {SEED}")
    print(f"{n:,} questions, {len(set(study.domain))} domains, {len(AGENTS)} agents, {MOST_OPTIONS} options at most")
    threads = os.environ["OPENBLAS_NUM_THREADS"]
    print(f"{os.cpu_count()} cores, BLAS threads {threads}; Python {platform.python_version()}, NumPy {np.__version__}")

    before, wall, cpu = peak(), time.perf_counter(), time.process_time()
    cells = job(fresh(study), splits)
    wall, cpu, after = time.perf_counter() - wall, time.process_time() - cpu, peak()
    ours = wall / cells
    print(f"\njob: {splits} splits x 8 domains x {ROUNDS} rounds x {len(ALPHAS)} alphas x {len(POOLS)} pools")
    print(f"  cells             {cells:>12,}")
    goal = "" if splits != 200 else f"  goal {GOAL_SECONDS:.0f} s: {'met' if wall <= GOAL_SECONDS else 'MISSED'}"
    print(f"  wall time         {wall:>12.2f} s{goal}")
    print(f"  CPU time          {cpu:>12.2f} s")
    print(f"  per cell          {ours * 1e6:>12.1f} us")
    print(f"  peak memory       {after:>12.0f} MiB, of which {before:.0f} MiB before the job")
    print("  parts (s)         " + ", ".join(f"{k} {v:.1f}" for k, v in phases(fresh(study), splits).items()))

    print("\nlinearity         questions     wall s   ms/question   relative to 1x   (best of two runs)")
    linear: dict[float, tuple[int, float]] = {}
    for factor in FACTORS:
        part = resized(study, factor)
        taken = []
        for _ in range(2):
            start = time.perf_counter()
            job(fresh(part), splits)
            taken.append(time.perf_counter() - start)
        linear[factor] = len(part.domain), min(taken)
    unit = linear[1.0][1] / n
    for factor in FACTORS:
        size, seconds = linear[factor]
        relative = seconds / size / unit
        print(f"  {factor:>5g}x          {size:>9,} {seconds:>10.2f} {seconds / size * 1e3:>13.3f} {relative:>16.2f}")

    start = time.perf_counter()
    same_cells = sets_only(fresh(study), splits)
    same = time.perf_counter() - start
    ours_same = same / same_cells
    print(
        "\npeers: all pools, rounds, domains and alphas on the stated fewer splits; the whole job is scaled from them."
    )
    print("Same job: sets, covered and size counts. Ours in full adds every other count and all rates.")
    print(
        "                         splits  measured s   us/cell  whole job s  theirs/ours, same job  theirs/ours in full"
    )
    print(f"  {'ours, same job':<22} {splits:>6} {same:>11.2f} {ours_same * 1e6:>9.1f} {same:>12.1f}")
    print(f"  {'ours in full':<22} {splits:>6} {wall:>11.2f} {ours * 1e6:>9.1f} {wall:>12.1f}")
    peers: list[tuple[str, str, int, Run]] = [
        ("mapie", "", int(arguments.mapie_splits), mapie_sets),
        ("crepes", "", int(arguments.crepes_splits), crepes_sets),
        ("crepes", ", p > a", int(arguments.crepes_splits), crepes_strict),
    ]
    agreement, unexplained = [], 0
    first, _ = next(blocks(study, study.calibration(1)))
    for name, kind, given, run in peers:
        some = min(given, splits)
        run(first)  # imports and first-call costs are not timed
        peer = compare(study, some, run, strict=run is crepes_strict)
        each = peer.seconds / peer.cells
        label = f"{name} {version(name)}{kind}"
        print(
            f"  {label:<22} {some:>6} {peer.seconds:>11.2f} {each * 1e6:>9.1f} {each * cells:>12.1f}"
            f" {each / ours_same:>22.1f} {each / ours:>20.1f}"
        )
        agreement.append(
            f"  {label:<22} {peer.sets:>9,} {peer.differing:>9,} {peer.unexplained:>12,}"
            f" {peer.covered_differing:>13,} of {peer.cells:,}"
        )
        unexplained += peer.unexplained
    print("\nagreement                   sets    differ  unexplained  covered counts that differ")
    print("\n".join(agreement))
    print("  MAPIE takes scores within 1e-8 of the threshold as inside; crepes takes p = alpha as inside.")
    if unexplained:
        sys.exit(f"{unexplained} sets differ from a peer's for no known reason")


if __name__ == "__main__":
    main()
