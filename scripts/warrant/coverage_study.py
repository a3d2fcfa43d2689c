"""What the verdict study's tables do on simulated judges: recovery of parameters, coverage of intervals, size of tests.

Every estimate, interval and p value is read from the tables that the workflow makes (`rates`, which has those of
`judges` and `veto`; `contrasts`; `null`), made here on simulated labels. True values are parameters where the law
gives them (single judges and the validator); where it does not (panels, controllers) they come from one large
simulation.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from warrant.bootstrap import generator
from warrant.decimals import ONE
from warrant.intervals import Limits, newcombe, wilson
from warrant.labels import CONFLICTING, CONTRACTS, GOLD, INSUFFICIENT, NAMES, NONE, REFUTE, SUPPORT, Labels, Mask
from warrant.metrics import METRICS
from warrant.panel import Votes
from warrant.simulation import HUNDREDTHS, OWN, SHARED, Answers, Judge, answer
from warrant.systems import Controlled, Decisions, decide
from warrant.tables.contrasts import Contrast, contrasts
from warrant.tables.null import null
from warrant.tables.rates import rates
from warrant.tables.veto import veto

Floats = npt.NDArray[np.float64]
Key = tuple[str, str, str, str]  # table, row, metric, method

PANEL: Final = ("a", "b", "c")
CONTROLLERS: Final = ("E@0.90", "F@0.90", "F@0.85")
WILSON, NEWCOMBE, PERCENTILE = "Wilson", "Newcombe", "percentile bootstrap"  # as published
CLOPPER_PEARSON, EXACT_GAP, SCORE = "Clopper-Pearson", "square-and-add, exact limits", "square-and-add"
BESIDE: Final = {PERCENTILE: SCORE, WILSON: CLOPPER_PEARSON, NEWCOMBE: EXACT_GAP}  # published -> what stands beside it
MCNEMAR, VETO_EXACT, VETO_DRAWN = "exact McNemar", "random veto, exact", "random veto, drawn"
# The comparisons of config/runs/paper.yaml, each on every metric, and two of judges that (nearly) agree.
COMPARED: Final = (
    ("panel_amplification", "single/a/3opt", "panel/3opt"),
    ("vocabulary_and_panel", "single/a/3opt", "panel/4opt"),
    ("vocabulary_alone", "single/a/3opt", "single/a/4opt"),
    ("panel_alone", "single/a/4opt", "panel/4opt"),
    ("validator_against_panel", "panel/4opt", "validator"),
    ("veto_beside_threshold", "E@0.90", "F@0.90"),
    ("veto_beside_lower_threshold", "E@0.90", "F@0.85"),
    ("same_parameters", "single/a/4opt", "single/d/4opt"),
    ("near_twins", "single/e/4opt", "single/f/4opt"),
)
UNTYPED: Final = ("rec_c", "false_conflict")  # 0 by contract where "conflicting" is not offered
TOLERANCE: Final = 1e-9


@dataclass(frozen=True)
class Setting:
    """A sample's composition and the judges that answer it.

    composition: claims by gold label (as many support as refute). judges: a, b, c (the panel, in this order), d (with
    a's parameters), e and f (which nearly always agree), v (the validator). drawn: the gold labels of each
    replication are drawn with these shares instead of fixed.
    """

    name: str
    composition: tuple[int, int, int, int]
    judges: Mapping[str, Judge]
    drawn: bool = False

    def __post_init__(self) -> None:
        """ValueError when support and refute differ in number or a judge is missing."""
        if self.composition[SUPPORT] != self.composition[REFUTE]:
            raise ValueError(f"{self.name}: support and refute differ in number: {self.composition}")
        if sorted(self.judges) != [*PANEL, "d", "e", "f", "v"]:
            raise ValueError(f"{self.name}: judges {sorted(self.judges)}")

    @property
    def claims(self) -> int:
        """Claims of a sample."""
        return int(np.sum(self.composition))

    def gold(self, samples: int, rng: np.random.Generator) -> Labels:
        """Gold labels of many samples, one after the other."""
        if self.drawn:
            shares = np.array(self.composition) / self.claims
            return rng.choice(len(GOLD), size=samples * self.claims, p=shares).astype(np.int8)
        return np.tile(np.repeat(np.arange(len(GOLD)), self.composition), samples).astype(np.int8)


@dataclass(frozen=True)
class Simulated:
    """Gold labels, every system's decisions, the typed panel, and the same panel with flags that know nothing."""

    gold: Labels
    systems: Mapping[str, Decisions]
    panel: Controlled
    ignorant: Controlled

    def part(self, start: int, stop: int) -> Simulated:
        """The claims from start to stop."""
        at = slice(start, stop)
        systems = {name: Decisions(one.decision[at], one.known[at]) for name, one in self.systems.items()}
        return Simulated(self.gold[at], systems, _part(self.panel, at), _part(self.ignorant, at))


@dataclass(frozen=True)
class Truth:
    """A true value; `error` is its Monte Carlo standard error, 0 where the law gives the value."""

    value: float
    error: float = 0.0


def _part(panel: Controlled, at: slice) -> Controlled:
    votes, proposal = panel.votes, panel.proposal
    assert panel.verdict is not None
    assert panel.mixed is not None
    assert panel.insufficient is not None
    return Controlled(
        Votes(votes.label[at], votes.confidence[at], votes.has_confidence[at], votes.known[at]),
        Decisions(proposal.decision[at], proposal.known[at]),
        panel.verdict[at],
        panel.mixed[at],
        panel.insufficient[at],
    )


def simulate(setting: Setting, gold: Labels, rng: np.random.Generator) -> Simulated:
    """Everything that is said about claims with these gold labels."""
    n = len(gold)
    shared = rng.standard_normal((n, SHARED))

    def said(name: str, contract: str) -> Answers:
        return answer(gold, setting.judges[name], contract, shared, rng.standard_normal((n, OWN)))

    known = np.ones(n, dtype=np.bool_)
    systems: dict[str, Decisions] = {}
    ballots: dict[str, Votes] = {}
    for contract in ("3opt", "4opt"):
        answers = {name: said(name, contract) for name in (PANEL if contract == "3opt" else (*PANEL, "d", "e", "f"))}
        systems |= {f"single/{name}/{contract}": Decisions(one.label, known) for name, one in answers.items()}
        ballots[contract] = _votes([answers[name] for name in PANEL])
        systems[f"panel/{contract}"] = decide(ballots[contract])
    typed, verdict = ballots["4opt"], said("v", "certificate").label
    # A certificate's flags are its verdict's: mixed where it says conflicting, insufficient where it says so.
    flags = (verdict == CONFLICTING, verdict == INSUFFICIENT)
    panel = Controlled(typed, decide(typed), verdict, *flags)
    systems["validator"] = panel.validator()
    systems |= {name: panel.named(name) for name in CONTROLLERS}
    ignorant: tuple[Mask, Mask] = (rng.random(n) < flags[0].mean(), rng.random(n) < flags[1].mean())
    return Simulated(gold, systems, panel, Controlled(typed, decide(typed), verdict, *ignorant))


def _votes(answers: Sequence[Answers]) -> Votes:
    label = np.stack([one.label for one in answers], axis=1)
    confidence = np.stack([one.confidence for one in answers], axis=1) * (ONE // HUNDREDTHS)
    return Votes(label, confidence, label != NONE, np.ones(len(label), dtype=np.bool_))


def wanted() -> list[Contrast]:
    """Every comparison on every metric that both contracts can show."""
    return [
        Contrast(name, metric, a, b)
        for name, a, b in COMPARED
        for metric in METRICS
        if not (metric in UNTYPED and a.endswith("3opt") and b.endswith("3opt"))
    ]


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


def estimates(sample: Simulated, resamples: int, seed: int) -> Iterator[tuple[Key, tuple[float, float, float]]]:
    """Estimate, low and high (NaN where undefined) of every interval that the tables give for one sample."""

    def numbers(row: Mapping[str, Any], *names: str) -> tuple[float, float, float]:
        first, second, third = (math.nan if row[name] is None else float(row[name]) for name in names)
        return first, second, third

    shown = {name: one for name, one in sample.systems.items() if name not in CONTROLLERS}
    for row in rates(sample.gold, shown, sample.panel).to_pylist():
        system, metric = row["system"], row["metric"]
        if metric in UNTYPED and system.endswith("3opt"):
            continue
        table, _, flag = system.partition("/")
        about = ("veto", metric, flag) if table == "veto" else ("judges", system, metric)
        method = NEWCOMBE if metric == "gap" else WILSON
        yield (*about, method), numbers(row, "rate", "low", "high")
        yield (*about, BESIDE[method]), numbers(row, "rate", "exact_low", "exact_high")
    for row in contrasts(sample.gold, sample.systems, wanted(), resamples, seed).to_pylist():
        key = ("contrasts", row["contrast"], row["metric"])
        yield (*key, PERCENTILE), numbers(row, "delta", "low", "high")
        yield (*key, SCORE), numbers(row, "delta", "score_low", "score_high")
        if row["contrast"] == "same_parameters" and row["p_mcnemar"] is not None:
            yield (*key, MCNEMAR), (row["p_mcnemar"], math.nan, math.nan)


def veto_tests(sample: Simulated, draws: int, seed: int) -> Iterator[tuple[Key, tuple[float, float, float]]]:
    """One-sided p values of a validator whose vetoes know nothing (NaN where undefined)."""
    taus = (Decimal("0.90"), Decimal("0.85"))
    for row in null(sample.gold, sample.ignorant, taus, taus[:1], draws, seed).to_pylist():
        if row["form"] == "matched" and row["arithmetic"] == "published":
            continue  # confidences in hundredths: the same as exact but for a few ties
        tested = f"{row['form']}, E@{row['tau_e']:.2f}, F@{row['tau_f']:.2f}"
        for method, p in ((VETO_EXACT, row["p_exact"]), (VETO_DRAWN, row["p_monte_carlo"])):
            yield ("null", tested, row["metric"], method), (math.nan if p is None else p, math.nan, math.nan)


def replicate(setting: Setting, replications: int, resamples: int, draws: int, seed: int) -> dict[Key, Floats]:
    """(replications, 3) estimate, low and high of every interval, and p value of every test, over samples."""
    rng = generator(seed, 101)
    everything = simulate(setting, setting.gold(replications, rng), rng)
    collected: dict[Key, list[tuple[float, float, float]]] = {}
    for at in range(replications):
        sample = everything.part(at * setting.claims, (at + 1) * setting.claims)
        for key, numbers in estimates(sample, resamples, seed + at):
            collected.setdefault(key, []).append(numbers)
        for key, numbers in veto_tests(sample, draws, seed + at) if draws else ():
            collected.setdefault(key, []).append(numbers)
    return {key: np.array(numbers) for key, numbers in collected.items()}


def standard_error(share: float, n: int) -> float:
    """Monte Carlo standard error of a share of n replications, never 0: as if one half more had been seen each way."""
    kept = (share * n + 0.5) / (n + 1)
    return math.sqrt(kept * (1 - kept) / n)


def summary(setting: Setting, key: Key, values: Floats, truth: Truth | None) -> dict[str, Any] | None:
    """One row on an interval (against the truth) or a test (without one); None when it was never defined.

    share: coverage of an interval, share of p <= .05 of a test, over the replications in which it is defined.
    """
    table, row, metric, method = key
    estimate, low, high = values[np.isfinite(values[:, 0])].T
    n = len(estimate)
    if n == 0:
        return None
    line: dict[str, Any] = {"setting": setting.name, "table": table, "row": row, "metric": metric, "method": method}
    line |= {"replications": len(values), "defined": n}
    if truth is None:
        share = float((estimate <= 0.05).mean())
        return line | {"nominal": 0.05, "share": share, "share_error": standard_error(share, n)}
    above, below = low > truth.value + TOLERANCE, high < truth.value - TOLERANCE
    share = 1 - float((above | below).mean())
    spread = float(estimate.std(ddof=1) / math.sqrt(n)) if n > 1 else math.nan
    return line | {
        "nominal": 0.95,
        "share": share,
        "share_error": standard_error(share, n),
        "truth": truth.value,
        "truth_error": truth.error,
        "bias": float(estimate.mean()) - truth.value,
        "bias_error": math.hypot(spread, truth.error),
        "above": float(above.mean()),
        "below": float(below.mean()),
        "width": float((high - low).mean()),
        "empty": float((high - low <= TOLERANCE).mean()),
    }


def study(
    setting: Setting, replications: int, resamples: int, draws: int, per_label: int, seed: int
) -> list[dict[str, Any]]:
    """Every row of one setting."""
    known = truths(setting, per_label, generator(seed, 100))
    lines = []
    for key, values in replicate(setting, replications, resamples, draws, seed).items():
        tested = key[3] in (MCNEMAR, VETO_EXACT, VETO_DRAWN)
        if not tested and key[:3] not in known:
            continue  # a rate over claims that do not occur
        line = summary(setting, key, values, None if tested else known[key[:3]])
        if line is not None:
            lines.append(line)
    return lines


def binomial(n: int, rate: float) -> Floats:
    """Probabilities of 0 ... n successes in n trials."""
    log = math.lgamma(n + 1)
    ways = [log - math.lgamma(k + 1) - math.lgamma(n - k + 1) for k in range(n + 1)]
    return np.array([math.exp(ways[k] + k * math.log(rate) + (n - k) * math.log1p(-rate)) for k in range(n + 1)])


def rate_coverage(n: int, rate: float, limits: Limits = wilson) -> float:
    """Exact coverage of the interval of n trials at a true rate: the binomial probability of what covers."""
    intervals = [limits(k, n, 0.95) or (0.0, 1.0) for k in range(n + 1)]
    mass = binomial(n, rate)
    return math.fsum(mass[k] for k, (low, high) in enumerate(intervals) if low <= rate <= high)


def gap_coverage(n: int, m: int, grid: Sequence[float], limits: Limits = wilson) -> Floats:
    """Exact coverage of the square-and-add interval of a difference of two independent rates, at each pair of them."""
    ends = np.array([[newcombe(k, n, h, m, limits=limits) or (-1.0, 1.0) for h in range(m + 1)] for k in range(n + 1)])
    first, second = ([binomial(trials, rate) for rate in grid] for trials in (n, m))
    found = np.empty((len(grid), len(grid)))
    for i, j in np.ndindex(*found.shape):
        gap = grid[i] - grid[j]
        covers = (ends[:, :, 0] <= gap + TOLERANCE) & (gap - TOLERANCE <= ends[:, :, 1])
        found[i, j] = first[i] @ covers @ second[j]
    return found


_A: Final = Judge(
    sensitivity=0.77,
    reversal=0.06,
    false_conflict=0.05,
    conflict_blindness=0.40,
    untyped_blindness=0.77,
    overcommitment=0.35,
    correlation=0.4,
    confidence_right=0.90,
    confidence_wrong=0.85,
    confidence_noise=0.07,
    unusable=0.01,
)


def cast(
    a: Judge, b: Mapping[str, float], c: Mapping[str, float], f: Mapping[str, float], v: Judge
) -> dict[str, Judge]:
    """The judges of a setting, from a's parameters: d has them too; e has them and nearly always agrees with f."""
    e = replace(a, correlation=0.999, unusable=0.0)
    return {"a": a, "b": replace(a, **b), "c": replace(a, **c), "d": a, "e": e, "f": replace(e, **f), "v": v}


_USUAL: Final = cast(
    _A,
    {"sensitivity": 0.74, "conflict_blindness": 0.28, "overcommitment": 0.45},
    {"sensitivity": 0.72, "conflict_blindness": 0.33, "untyped_blindness": 0.82, "overcommitment": 0.40},
    {"sensitivity": 0.78, "conflict_blindness": 0.41},
    replace(
        _A,
        sensitivity=0.50,
        reversal=0.03,
        false_conflict=0.25,
        conflict_blindness=0.18,
        overcommitment=0.15,
        correlation=0.2,
    ),
)
_SHARP: Final = replace(
    _A,
    sensitivity=0.97,
    reversal=0.01,
    false_conflict=0.01,
    conflict_blindness=0.03,
    untyped_blindness=0.97,
    overcommitment=0.03,
)
_SILENT: Final = replace(
    _A, sensitivity=0.12, reversal=0.02, conflict_blindness=0.03, untyped_blindness=0.06, overcommitment=0.03
)
SETTINGS: Final = (
    Setting("averitec", (50, 50, 35, 150), _USUAL),
    Setting("averitec_drawn", (50, 50, 35, 150), _USUAL, drawn=True),
    Setting("vitaminc_mixed", (50, 50, 50, 100), _USUAL),
    Setting("demo", (20, 20, 20, 20), _USUAL),
    Setting(
        "near_0_and_1",
        (50, 50, 35, 150),
        cast(
            _SHARP,
            {"conflict_blindness": 0.05},
            {},
            {"conflict_blindness": 0.04},
            replace(_SHARP, sensitivity=0.90, conflict_blindness=0.02),
        ),
    ),
    Setting(
        "few_commits",
        (50, 50, 35, 150),
        cast(
            _SILENT,
            {"sensitivity": 0.10},
            {},
            {"conflict_blindness": 0.04},
            replace(_SILENT, sensitivity=0.10, conflict_blindness=0.02),
        ),
    ),
)
