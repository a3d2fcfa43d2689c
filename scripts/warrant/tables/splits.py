"""Table `splits`: the distribution of every rate over recorded calibration/test splits, beside its exact yardstick."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from warrant import artifact
from warrant.artifact import field
from warrant.conformal import beta_binomial_coverage
from warrant.outcomes import EARLY, RATES, STATIC, count, rates, rounds, tie_excess
from warrant.panel_study import Study, schemes

SCHEMA: Final = pa.schema(
    [
        field("domain", pa.string(), "domain; 'all': the test halves of all domains", nullable=False),
        field("alpha", pa.float64(), "miscoverage level", nullable=False),
        field("round", pa.int64(), "round, from 0", nullable=False),
        field("weights", pa.string(), "pool", nullable=False),
        field("score", pa.string(), "lac or rank", nullable=False),
        field("calibration", pa.string(), "domain, pooled, options, unanimity", nullable=False),
        field("stopping", pa.string(), "static or early", nullable=False),
        field("metric", pa.string(), "rate; tie_excess is the coverage that ties at the threshold add", nullable=False),
        field("splits", pa.int64(), "splits in which the rate has a denominator", nullable=False),
        field("mean", pa.float64(), "mean over splits"),
        field("p05", pa.float64(), "5% quantile over splits"),
        field("p95", pa.float64(), "95% quantile over splits"),
        field("monte_carlo_error", pa.float64(), "standard error of the mean over splits"),
        field("beta_binomial_mean", pa.float64(), "exact mean of static coverage for continuous scores"),
        field("beta_binomial_p05", pa.float64(), "its exact 5% quantile"),
        field("beta_binomial_p95", pa.float64(), "its exact 95% quantile"),
    ]
)


def splits_table(study: Study, alphas: Sequence[Decimal], count_: int) -> pa.Table:
    """Every scheme over splits 0 to count_ - 1.

    The yardstick stands where it is exact for continuous scores: static coverage, per-domain calibration, a pool
    that did not learn from the calibration half, one domain.
    """
    calibration = study.calibration(count_)
    rows: list[dict[str, Any]] = []
    for pool, score, scheme in schemes():
        if pool == "learned":
            rows += _learned(study, score, alphas, calibration)
            continue
        scores, true_scores = study.scores(study.pooled(pool), score)
        groups = study.groups(scheme)
        for stopping in (STATIC, EARLY) if study.beliefs.rounds > 1 else (STATIC,):
            for alpha in alphas:
                for t, (_, outcome) in enumerate(rounds(scores, true_scores, groups, calibration, alpha, stopping)):
                    values = rates(count(outcome, study.questions, t, ~calibration, study.questions.membership()))
                    base = {"alpha": float(alpha), "round": t, "weights": pool, "score": score}
                    base |= {"calibration": scheme, "stopping": stopping}
                    rows += _summaries(study, base, values, calibration, alpha)
                    if scheme == "domain" and stopping == STATIC:
                        rows += _ties(study, base, true_scores[:, t], calibration, alpha)
    return artifact.from_rows(rows, SCHEMA)


def _learned(
    study: Study, score: str, alphas: Sequence[Decimal], calibration: npt.NDArray[np.bool_]
) -> list[dict[str, Any]]:
    """The learned pool is another one in every split, so its splits are evaluated one by one."""
    membership, groups = study.questions.membership(), study.groups("domain")
    stoppings = (STATIC, EARLY) if study.beliefs.rounds > 1 else (STATIC,)
    collected: dict[tuple[str, Decimal, int], list[dict[str, npt.NDArray[np.float64]]]] = {}
    for half in calibration:
        scores, true_scores = study.scores(study.pooled("learned", half), score)
        for stopping in stoppings:
            for alpha in alphas:
                steps = rounds(scores, true_scores, groups, half[None], alpha, stopping)
                for t, (_, outcome) in enumerate(steps):
                    found = rates(count(outcome, study.questions, t, ~half[None], membership))
                    collected.setdefault((stopping, alpha, t), []).append(found)
    rows: list[dict[str, Any]] = []
    for (stopping, alpha, t), per_split in collected.items():
        values = {name: np.concatenate([one[name] for one in per_split]) for name in RATES}
        base = {"alpha": float(alpha), "round": t, "weights": "learned", "score": score}
        rows += _summaries(study, {**base, "calibration": "domain", "stopping": stopping}, values, calibration, alpha)
    return rows


def _summaries(
    study: Study,
    base: dict[str, Any],
    values: dict[str, npt.NDArray[np.float64]],
    calibration: npt.NDArray[np.bool_],
    alpha: Decimal,
) -> list[dict[str, Any]]:
    rows = []
    domains = study.questions.domains()
    names = np.asarray(study.domain)
    for metric in RATES:
        for d, domain in enumerate(domains):
            row = {"domain": domain, **base, "metric": metric, **_summary(values[metric][:, d])}
            exact = base["stopping"] == STATIC and base["calibration"] == "domain" and base["weights"] != "learned"
            if metric == "coverage" and exact and d < len(domains) - 1:
                members = names == domain
                n_cal = int(calibration[0, members].sum())
                mean, low, high = beta_binomial_coverage(n_cal, int(members.sum()) - n_cal, alpha)
                row |= {"beta_binomial_mean": mean, "beta_binomial_p05": low, "beta_binomial_p95": high}
            rows.append(row)
    return rows


def _ties(
    study: Study,
    base: dict[str, Any],
    true_scores: npt.NDArray[np.int64],
    calibration: npt.NDArray[np.bool_],
    alpha: Decimal,
) -> list[dict[str, Any]]:
    names = np.asarray(study.domain)
    return [
        {
            "domain": domain,
            **base,
            "metric": "tie_excess",
            "splits": len(calibration),
            "mean": tie_excess(true_scores[names == domain], calibration[:, names == domain], alpha),
        }
        for domain in study.questions.domains()[:-1]
    ]


def _summary(values: npt.NDArray[np.float64]) -> dict[str, Any]:
    defined = values[np.isfinite(values)]
    if defined.size == 0:
        return {"splits": 0}
    p05, p95 = np.quantile(defined, [0.05, 0.95])
    error = float(defined.std(ddof=1) / np.sqrt(defined.size)) if defined.size > 1 else None
    return {
        "splits": int(defined.size),
        "mean": float(defined.mean()),
        "p05": float(p05),
        "p95": float(p95),
        "monte_carlo_error": error,
    }
