"""Tables `screening` and `screening_contrast`, and the scores behind them (verdict paper, section 8, Table 10).

Every metric stands beside its mean and range over other deals of the claims to folds: the paper shows one deal. The
published percentile bootstrap resamples claims but computes no score anew, so that it leaves out what the models owe to
their training rows; the jackknife interval beside it leaves each claim out and fits again. In simulated studies of this
size the first held the expected difference about nine times in ten, the second more often than the 95% that it says.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Final

import numpy as np
import pyarrow as pa

from warrant import artifact
from warrant.artifact import field
from warrant.bootstrap import generator, percentile_interval
from warrant.labels import GOLD, INSUFFICIENT, NAMES, Labels, Mask
from warrant.metrics import ratio
from warrant.panel import Votes
from warrant.screening import (
    FEATURE_SETS,
    Floats,
    Ints,
    Outputs,
    Structure,
    auroc,
    average_precision,
    deal,
    directional_outputs,
    jackknife_interval,
    jackknife_precisions,
    out_of_fold,
    recall_at,
    resampled_precisions,
)

METRICS: Final[Mapping[str, tuple[str, Callable[[Mask, Floats], float | None]]]] = {
    "auprc": ("average precision", average_precision),
    "auroc": ("area under the ROC curve", auroc),
    "recall_10": ("share of positives among the highest 10% of scores", lambda y, score: recall_at(y, score, 10)),
    "recall_20": ("share of positives among the highest 20%", lambda y, score: recall_at(y, score, 20)),
    "recall_30": ("share of positives among the highest 30%", lambda y, score: recall_at(y, score, 30)),
}
_SPREAD: Final = ("mean", "min", "max")


def _over_deals(name: str) -> list[pa.Field[Any]]:
    return [field(f"{name}_{how}", pa.float64(), f"{how} of {name} over the other deals") for how in _SPREAD]


_FOLDS: Final = [
    field("folds", pa.int64(), "folds that claims are dealt to", nullable=False),
    field("seed", pa.int64(), "seed of the deal; the other deals have the next seeds", nullable=False),
    field("other_deals", pa.int64(), "other deals", nullable=False),
    field("note", pa.string(), "why there are no scores, or no metrics; empty otherwise", nullable=False),
]
SCREENING: Final = pa.schema(
    [
        field(
            "feature_set", pa.string(), "none, confidence, structure or both; each with model effects", nullable=False
        ),
        field("n", pa.int64(), "directional outputs on gold support, refute and conflicting", nullable=False),
        field("cases", pa.int64(), "cases that have one", nullable=False),
        field("claims", pa.int64(), "claims that have one: a claim may be sampled twice", nullable=False),
        field("positives", pa.int64(), "outputs on gold conflicting", nullable=False),
        field("prevalence", pa.float64(), "positives / n: the average precision of no information"),
        *(field(name, pa.float64(), about) for name, (about, _) in METRICS.items()),
        field(
            "no_confidence",
            pa.int64(),
            "outputs without a stated confidence (training mean, indicator)",
            nullable=False,
        ),
        field("no_certificate", pa.int64(), "outputs without a usable certificate (means, indicator)", nullable=False),
        *(column for name in METRICS for column in _over_deals(name)),
        *_FOLDS,
    ]
)
CONTRAST: Final = pa.schema(
    [
        field("a", pa.string(), "baseline feature set", nullable=False),
        field("b", pa.string(), "compared feature set", nullable=False),
        field("n", pa.int64(), "outputs", nullable=False),
        field("claims", pa.int64(), "claims that are resampled", nullable=False),
        field("auprc_a", pa.float64(), "average precision of a"),
        field("auprc_b", pa.float64(), "average precision of b"),
        field("delta", pa.float64(), "auprc_b - auprc_a"),
        field("low", pa.float64(), "percentile 95% lower bound, bootstrap over claims, scores as they are"),
        field("high", pa.float64(), "percentile 95% upper bound"),
        field("resamples", pa.int64(), "bootstrap resamples", nullable=False),
        field("method", pa.string(), "how the interval was made", nullable=False),
        field("refit_low", pa.float64(), "95% lower bound, jackknife over claims with every model fitted again"),
        field("refit_high", pa.float64(), "95% upper bound of the jackknife"),
        field("refit_method", pa.string(), "how this interval was made", nullable=False),
        *_over_deals("delta"),
        *_FOLDS,
    ]
)
SCORES: Final = pa.schema(
    [
        field("feature_set", pa.string(), "none, confidence, structure or both", nullable=False),
        field("system", pa.string(), "judge", nullable=False),
        field("case_id", pa.int32(), "case of the sample", nullable=False),
        field("fold", pa.int64(), "fold of the case's claim, from 0", nullable=False),
        field("gold", pa.string(), "gold label", nullable=False),
        field("prediction", pa.string(), "support or refute", nullable=False),
        field("target", pa.bool_(), "gold label is conflicting", nullable=False),
        field("score", pa.float64(), "out-of-fold probability of the target; null where there is no model"),
    ]
)
_PERCENTILE: Final = "percentile over claims, scores as they are"
_JACKKNIFE: Final = "jackknife over claims, every model fitted again, normal"


@dataclass(frozen=True)
class Settings:
    """How outputs are screened: folds, the seed of the deal, other deals, bootstrap resamples."""

    folds: int
    seed: int
    other_deals: int
    resamples: int


@dataclass(frozen=True)
class Tables:
    """The three tables."""

    screening: pa.Table
    contrast: pa.Table
    scores: pa.Table


def screening(
    gold: Labels, text: Sequence[str], votes: Votes, structure: Structure, systems: Sequence[str], settings: Settings
) -> Tables:
    """The tables of the typed judges `systems`, who are the votes' judges in this order.

    Metrics are null, and `note` says why, where a panel is not known on every claim that could be a row, where a
    class has no rows, and where all rows of one class are in one fold (there is nothing to learn from for it).
    """
    rows = directional_outputs(gold, text, votes, structure)
    seeds = range(settings.seed, settings.seed + settings.other_deals + 1)
    deals = [deal(rows.claim, rows.target, settings.folds, seed) for seed in seeds]
    scores = {
        feature_set: [out_of_fold(rows, len(systems), feature_set, fold) for fold in deals]
        for feature_set in FEATURE_SETS
    }
    note = _note(gold, votes, rows, scores)
    values = {name: [] if note else [_metrics(rows, one) for one in scores[name]] for name in FEATURE_SETS}
    return Tables(
        artifact.from_rows((_line(rows, name, values[name], settings, note) for name in FEATURE_SETS), SCREENING),
        artifact.from_rows(_contrasts(rows, len(systems), deals[0], scores, values, settings, note), CONTRAST),
        _scores(gold, rows, systems, deals[0], {name: found[0] for name, found in scores.items()}),
    )


def _note(gold: Labels, votes: Votes, rows: Outputs, scores: Mapping[str, Sequence[Floats | None]]) -> str:
    """Why there are no metrics; empty where there are."""
    if not votes.known[gold != INSUFFICIENT].all():
        return "the panel's votes are known on some claims only"
    for wanted, which in ((True, "conflicting"), (False, "support or refute")):
        if not (rows.target == wanted).any():
            return f"no directional output on gold {which}"
    if any(score is None for found in scores.values() for score in found):
        return "all outputs of one class are in one fold"
    return ""


def _metrics(rows: Outputs, score: Floats | None) -> dict[str, float | None]:
    assert score is not None  # there is a note otherwise
    return {name: metric(rows.target, score) for name, (_, metric) in METRICS.items()}


def _line(
    rows: Outputs, feature_set: str, values: Sequence[Mapping[str, float | None]], settings: Settings, note: str
) -> dict[str, Any]:
    n, positives = len(rows.target), int(np.count_nonzero(rows.target))
    line: dict[str, Any] = {
        "feature_set": feature_set,
        "n": n,
        "cases": len(np.unique(rows.case)),
        "claims": len(np.unique(rows.claim)),
        "positives": positives,
        "prevalence": ratio(positives, n),
        "no_confidence": int(np.count_nonzero(~rows.has_confidence)),
        "no_certificate": int(np.count_nonzero(~rows.structure.usable)),
        **_deal(settings, note),
    }
    if values:
        line |= values[0]
        for name in METRICS:
            line |= _spread(name, [value[name] for value in values[1:]])
    return line


def _deal(settings: Settings, note: str) -> dict[str, Any]:
    return {"folds": settings.folds, "seed": settings.seed, "other_deals": settings.other_deals, "note": note}


def _spread(name: str, values: Sequence[float | None]) -> dict[str, float]:
    """Mean and range over the other deals; nothing where there are none."""
    found = np.array([value for value in values if value is not None])
    if found.size == 0:
        return {}
    return {f"{name}_{how}": float(getattr(found, how)()) for how in _SPREAD}


def _contrasts(
    rows: Outputs,
    judges: int,
    fold: Ints,
    scores: Mapping[str, Sequence[Floats | None]],
    values: Mapping[str, Sequence[Mapping[str, float | None]]],
    settings: Settings,
    note: str,
) -> list[dict[str, Any]]:
    """Every pair of feature sets, the smaller first; all share their resamples."""
    base: dict[str, Any] = {
        "n": len(rows.target),
        "claims": len(np.unique(rows.claim)),
        "resamples": settings.resamples,
        "method": _PERCENTILE,
        "refit_method": _JACKKNIFE,
        **_deal(settings, note),
    }
    pairs = list(combinations(FEATURE_SETS, 2))
    if note:
        return [{"a": a, "b": b, **base} for a, b in pairs]
    first = [score for name in FEATURE_SETS if (score := scores[name][0]) is not None]
    drawn = resampled_precisions(rows, first, settings.resamples, generator(settings.seed))
    left_out = jackknife_precisions(rows, judges, fold, settings.seed)
    lines = []
    precisions = {name: np.array([value["auprc"] for value in found]) for name, found in values.items()}
    for a, b in pairs:
        at, to = FEATURE_SETS.index(a), FEATURE_SETS.index(b)
        deltas = (precisions[b] - precisions[a]).tolist()
        line = {"a": a, "b": b, **base, "auprc_a": values[a][0]["auprc"], "auprc_b": values[b][0]["auprc"]}
        line |= {"delta": deltas[0], **_spread("delta", deltas[1:])}
        for name, interval in (
            ("", percentile_interval(drawn[:, to] - drawn[:, at])),
            ("refit_", jackknife_interval(deltas[0], left_out[:, to] - left_out[:, at])),
        ):
            if interval is not None:
                line[f"{name}low"], line[f"{name}high"] = interval
        lines.append(line)
    return lines


def _scores(
    gold: Labels, rows: Outputs, systems: Sequence[str], fold: Ints, scores: Mapping[str, Floats | None]
) -> pa.Table:
    """One row per feature set and output."""
    n = len(rows.case)
    base = [
        {"system": systems[judge], "case_id": case, "gold": GOLD[gold[case]], "prediction": NAMES[said]}
        for judge, case, said in zip(rows.judge.tolist(), rows.case.tolist(), rows.said.tolist(), strict=True)
    ]
    listed: list[dict[str, Any]] = []
    for feature_set, found in scores.items():
        column = [None] * n if found is None else found.tolist()
        listed += (
            {"feature_set": feature_set, **row, "fold": held, "target": target, "score": score}
            for row, held, target, score in zip(base, fold.tolist(), rows.target.tolist(), column, strict=True)
        )
    return artifact.from_rows(listed, SCORES)
