"""Screening: can the commits that override conflicting evidence be told from the others? (verdict paper, section 8,
Table 10)

Rows are judges' directional outputs on claims whose gold label is support, refute or conflicting; the target is a
conflicting gold label. A ridge logistic regression scores every row from features, out of fold: claims, not rows, are
dealt to folds, and whatever is estimated is estimated on the rows of the other folds.

The model effects leave the first judge out. The paper does not say so, but its released scores do: for a fold's scores
p of a model with effects alone, n p + w must be the whole number of positives among a judge's n training rows, with w
the sum of the judge's penalised weights; of the codings only this one has such whole numbers (34 of 93, 27 of 90, 30
of 94 in fold 0).
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from warrant import artifact
from warrant.bootstrap import multiplicities
from warrant.certificates import SCHEMA as CERTIFICATES
from warrant.certificates import material_states
from warrant.decimals import ONE
from warrant.errors import bad_input
from warrant.intervals import Interval, normal_quantile
from warrant.labels import CONFLICTING, INSUFFICIENT, STATES, Labels, Mask, directional
from warrant.panel import Votes

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

FEATURE_SETS: Final = ("none", "confidence", "structure", "both")
COUNTS: Final = ("subclaims", "material_subclaims", "cited_evidence_ids")
GROUPS: Final = 200  # of the jackknife, at most
_ITERATIONS: Final = 100
_GRID: Final = 12  # decimals of a score: rows with equal features tie, however their products are added up
_CELLS: Final = 1_000_000


@dataclass(frozen=True)
class Structure:
    """What each row's certificate says; a row without a usable certificate has zeros and `usable` False.

    counts: (rows, 3) COUNTS, material for the last two. states: (rows, 4) which of STATES occur among the material
    subclaims.
    """

    counts: Floats
    states: Mask
    usable: Mask

    def take(self, at: Ints) -> Structure:
        """The rows at these positions."""
        return Structure(self.counts[at], self.states[at], self.usable[at])


@dataclass(frozen=True)
class Outputs:
    """The rows: (rows,) case and claim, judge (position in the listed order), what it said, target and features.

    A claim that was sampled twice is one claim and two cases.
    """

    case: Ints
    claim: Ints
    judge: Ints
    said: Labels
    target: Mask
    confidence: Floats
    has_confidence: Mask
    structure: Structure

    def take(self, at: Ints) -> Outputs:
        """The rows at these positions."""
        return Outputs(
            self.case[at],
            self.claim[at],
            self.judge[at],
            self.said[at],
            self.target[at],
            self.confidence[at],
            self.has_confidence[at],
            self.structure.take(at),
        )


def directional_outputs(gold: Labels, text: Sequence[str], votes: Votes, structure: Structure) -> Outputs:
    """The rows, by case and then judge. gold, text, structure: one entry a case."""
    first: dict[str, int] = {}
    claim = np.array([first.setdefault(one, i) for i, one in enumerate(text)], dtype=np.int64)
    case, judge = np.nonzero(directional(votes.label) & (gold != INSUFFICIENT)[:, None])
    return Outputs(
        case.astype(np.int64),
        claim[case],
        judge.astype(np.int64),
        votes.label[case, judge],
        np.equal(gold[case], CONFLICTING),
        votes.confidence[case, judge] / ONE,
        votes.has_confidence[case, judge],
        structure.take(case),
    )


def structure_of(certificates: Sequence[Sequence[Mapping[str, Any]] | None]) -> Structure:
    """Counts and states of certificates (None: not usable)."""
    counts = np.zeros((len(certificates), len(COUNTS)))
    states = np.zeros((len(certificates), len(STATES)), dtype=np.bool_)
    for i, subclaims in enumerate(certificates):
        if subclaims is None:
            continue
        material = [item for item in subclaims if item["material"]]
        cited = [one for item in material for one in item["evidence_ids"]]  # repeats count, as in the release
        counts[i] = (len(subclaims), len(material), len(cited))
        found = material_states(subclaims)
        states[i] = [state in found for state in STATES]
    usable = np.array([subclaims is not None for subclaims in certificates], dtype=np.bool_)
    return Structure(counts, states, usable)


def read_structure(path: Path, cases: int) -> Structure:
    """The structure of every case's certificate. A missing or repeated case is an error (InputError)."""
    table = artifact.read(path, CERTIFICATES)
    certificates: dict[int, Sequence[Mapping[str, Any]] | None] = {}
    for i, (case_id, subclaims) in enumerate(artifact.columns(table, ["case_id", "subclaims"]), start=1):
        if not 0 <= case_id < cases or case_id in certificates:
            raise bad_input(path, row=i, field="case_id", found=case_id, expected=f"cases 0 to {cases - 1}, once each")
        certificates[case_id] = subclaims
    if len(certificates) < cases:
        missing = cases - len(certificates)
        raise bad_input(path, field="case_id", found=f"{missing} cases missing", expected=f"{cases} cases")
    return structure_of([certificates[case_id] for case_id in range(cases)])


def deal(claim: Ints, target: Mask, folds: int, seed: int) -> Ints:
    """(rows,) fold of every row's claim.

    Claims with a positive row are listed by number and shuffled, then the others, by one `random.Random(seed)`; the
    two lists, one after the other, are dealt to the folds in turn. So folds differ by one claim at most, and so do
    their positive claims. (The paper's folds are in a released file that is not at hand.)
    """
    rng = random.Random(seed)
    positive = set(claim[target].tolist())
    order: list[int] = []
    for listed in (sorted(positive), sorted(set(claim.tolist()) - positive)):
        rng.shuffle(listed)
        order += listed
    fold = {one: position % folds for position, one in enumerate(order)}
    return np.array([fold[one] for one in claim.tolist()], dtype=np.int64)


def standardised(values: Floats, usable: Mask, train: Mask) -> Floats:
    """z-scores by mean and standard deviation (divisor n) of the usable training rows.

    An unusable value is 0, the training mean; so is every value where the training rows have one value or none.
    """
    known = values[usable & train]
    if known.size == 0 or known.min() == known.max():
        return np.zeros(len(values))
    return np.where(usable, (values - known.mean()) / known.std(), 0.0)


def design(rows: Outputs, judges: int, feature_set: str, train: Mask) -> Floats:
    """(rows, features) of a feature set; what is estimated is estimated on the training rows.

    Model effects (the first judge has none) are in every set. A missing confidence, or certificate, is set to the
    training mean (no state occurs) and has an indicator; where none is missing, the indicator's weight is exactly 0.
    """
    columns = [np.equal(rows.judge, judge).astype(np.float64) for judge in range(1, judges)]
    if feature_set in ("confidence", "both"):
        z = np.zeros(len(rows.judge))
        for judge in range(judges):
            own = rows.judge == judge
            z += np.where(own, standardised(rows.confidence, rows.has_confidence & own, train), 0.0)
        columns += [z, (~rows.has_confidence).astype(np.float64)]
    if feature_set in ("structure", "both"):
        seen = rows.structure
        columns += [standardised(count, seen.usable, train) for count in seen.counts.T]
        columns += [state.astype(np.float64) for state in (*seen.states.T, ~seen.usable)]
    return np.stack(columns, axis=1) if columns else np.zeros((len(rows.judge), 0))


def logistic(features: Floats, target: Mask, c: float = 1.0) -> tuple[float, Floats] | None:
    """Intercept and weights w that minimise C sum(log loss) + |w|^2 / 2; None where the target has one class.

    The intercept is not penalised (scikit-learn's parametrisation), so that it is infinite with one class. Newton's
    method with the exact Hessian; steps are halved until the objective falls, which it does: it is convex.
    """
    if target.all() or not target.any():
        return None
    x = np.column_stack([np.ones(len(target)), features])
    penalty = np.ones(x.shape[1])
    penalty[0] = 0.0
    sign = np.where(target, 1.0, -1.0)

    def objective(at: Floats) -> float:
        return float(c * np.logaddexp(0.0, -sign * (x @ at)).sum() + penalty @ (at * at) / 2)

    share = target.mean()
    weights = np.zeros(x.shape[1])
    weights[0] = np.log(share / (1 - share))
    value = objective(weights)
    slack = 1e-12 * max(1.0, abs(value))  # the objective's own rounding
    for _ in range(_ITERATIONS):
        p = probability(x @ weights)
        gradient = c * (x.T @ (p - target)) + penalty * weights
        hessian = c * (x.T * (p * (1 - p))) @ x + np.diag(penalty)
        step = np.linalg.solve(hessian, gradient)
        if float(gradient @ step) <= 1e-16 * max(1.0, abs(value)):
            weights = weights - step  # Newton's method doubles the digits at each step: this one reaches the last
            return float(weights[0]), weights[1:]
        scale = 1.0
        while scale > 1e-10 and objective(weights - scale * step) > value + slack:
            scale /= 2
        weights = weights - scale * step
        value = objective(weights)
    raise ArithmeticError(f"no optimum within {_ITERATIONS} steps")


def probability(logit: Floats) -> Floats:
    """1 / (1 + exp(-logit)) without overflow."""
    return np.asarray(np.exp(-np.logaddexp(0.0, -logit)))


def out_of_fold(rows: Outputs, judges: int, feature_set: str, fold: Ints) -> Floats | None:
    """(rows,) scores, each from a model of the other folds, on a grid of 1e-12 so that equal features tie.

    None where the training rows of some fold have one class: there is no model.
    """
    scores = np.zeros(len(fold))
    for held in np.unique(fold):
        train, test = fold != held, fold == held
        features = design(rows, judges, feature_set, train)
        model = logistic(features[train], rows.target[train])
        if model is None:
            return None
        scores[test] = probability(model[0] + features[test] @ model[1])
    return np.round(scores, _GRID)


def _cumulated(target: Mask, score: Floats, weight: Floats) -> tuple[Floats, Floats]:
    """(resamples, thresholds) positives and rows with at least each distinct score, from the highest down.

    weight: (resamples, rows) how often a row counts.
    """
    order = np.argsort(-score, kind="stable")
    ends = np.flatnonzero(np.append(np.diff(score[order]) != 0, True))
    sorted_weight = weight[:, order]
    hits = np.cumsum(sorted_weight * target[order], axis=1)
    return hits[:, ends], np.cumsum(sorted_weight, axis=1)[:, ends]


def average_precisions(target: Mask, score: Floats, weight: Floats) -> Floats:
    """(resamples,) average precision, sum of (recall step x precision) over distinct scores; NaN without positives.

    Rows with the same score enter together, as in scikit-learn. weight: (resamples, rows).
    """
    if target.size == 0:
        return np.full(len(weight), np.nan)
    hits, seen = _cumulated(target, score, weight)
    with np.errstate(divide="ignore", invalid="ignore"):
        precision = np.where(seen > 0, hits / seen, 0.0)
        steps = np.diff(hits, axis=1, prepend=0.0)
        return np.asarray((steps * precision).sum(axis=1) / hits[:, -1])


def average_precision(target: Mask, score: Floats) -> float | None:
    """Area under the precision-recall curve as average precision; None without positives."""
    return float(average_precisions(target, score, np.ones((1, len(target))))[0]) if target.any() else None


def auroc(target: Mask, score: Floats) -> float | None:
    """P(a positive row scores higher than a negative one), ties one half; None without both classes."""
    if not target.any() or target.all():
        return None
    hits, seen = (one[0] for one in _cumulated(target, score, np.ones((1, len(target)))))
    misses = seen - hits
    twice = (np.diff(misses, prepend=0.0) * (2 * hits - np.diff(hits, prepend=0.0))).sum()  # whole numbers: exact
    return float(twice / (2 * hits[-1] * misses[-1]))


def recall_at(target: Mask, score: Floats, percent: int) -> float | None:
    """Share of the positives among the ceil(n percent / 100) highest scores; None without positives.

    Where the last place falls among equal scores, its expectation over their order: the rows' order plays no part.
    """
    if not target.any():
        return None
    places = -(-len(target) * percent // 100)
    hits, seen = (one[0] for one in _cumulated(target, score, np.ones((1, len(target)))))
    return float(np.interp(places, np.append(0.0, seen), np.append(0.0, hits)) / hits[-1])


def resampled_precisions(rows: Outputs, scores: Sequence[Floats], resamples: int, rng: np.random.Generator) -> Floats:
    """(resamples, scores) average precisions of resampled claims, each with all its rows as often as it is drawn.

    All scores share the resamples. The scores are not computed anew (the paper's bootstrap).
    """
    position = np.unique(rows.claim, return_inverse=True)[1]
    claims = int(position.max(initial=-1)) + 1
    found = [
        np.stack([average_precisions(rows.target, score, weight) for score in scores], axis=1)
        for weight in _row_weights(position, claims, resamples, rng)
    ]
    return np.concatenate(found)


def jackknife_precisions(rows: Outputs, judges: int, fold: Ints, seed: int) -> Floats:
    """(groups, feature sets) average precisions without one group of claims each, every model fitted again.

    A group is one claim; above GROUPS claims, they are shuffled by `random.Random(seed)` and dealt to GROUPS groups.
    NaN where there is no model or no positive row left.
    """
    claims = np.unique(rows.claim).tolist()
    if len(claims) > GROUPS:
        random.Random(seed).shuffle(claims)
    group_of = {claim: i % GROUPS for i, claim in enumerate(claims)}
    group = np.array([group_of[claim] for claim in rows.claim.tolist()], dtype=np.int64)
    values = np.full((min(len(claims), GROUPS), len(FEATURE_SETS)), np.nan)
    for left_out in range(len(values)):
        kept = np.flatnonzero(group != left_out)
        some = rows.take(kept)
        for i, feature_set in enumerate(FEATURE_SETS):
            score = out_of_fold(some, judges, feature_set, fold[kept])
            precision = None if score is None else average_precision(some.target, score)
            values[left_out, i] = np.nan if precision is None else precision
    return values


def jackknife_interval(estimate: float, left_out: Floats, confidence: float = 0.95) -> Interval | None:
    """Normal interval around an estimate with its delete-one-group jackknife variance; None where a value is NaN.

    Variance (g - 1)/g times the sum of squared deviations of the g values: Efron and Tibshirani (1993), ch. 11.
    """
    g = len(left_out)
    if g < 2 or not np.isfinite(left_out).all():
        return None
    deviations = left_out - left_out.mean()
    half = normal_quantile(confidence) * float(np.sqrt((g - 1) / g * (deviations @ deviations)))
    return estimate - half, estimate + half


def _row_weights(position: Ints, claims: int, resamples: int, rng: np.random.Generator) -> Iterator[Floats]:
    """Blocks of (resamples in the block, rows) multiplicities; no block has more than some million cells."""
    block = max(1, _CELLS // max(len(position), 1))
    for drawn in multiplicities(claims, resamples, rng):
        for start in range(0, len(drawn), block):
            yield drawn[start : start + block, position]
