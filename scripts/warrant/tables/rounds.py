"""Tables `rounds`, `groups`, `wrong_consensus`, `introduced` and `selection`: one recorded split, with uncertainty."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Any, Final

import numpy as np
import pyarrow as pa

from warrant import artifact
from warrant.artifact import field
from warrant.bootstrap import generator, percentile_interval, resampled_sums
from warrant.grid import INFINITE, ONE
from warrant.outcomes import ALL, EARLY, STATIC, Round, count, rates, rounds
from warrant.panel_study import Study, schemes

_CELL: Final = [
    field("alpha", pa.float64(), "miscoverage level", nullable=False),
    field("domain", pa.string(), "domain; 'all': the test halves of all domains", nullable=False),
    field("round", pa.int64(), "round, from 0", nullable=False),
]
ROUNDS: Final = pa.schema(
    [
        field("weights", pa.string(), "pool: uniform, entropy, log, learned", nullable=False),
        field("score", pa.string(), "lac or rank", nullable=False),
        field("calibration", pa.string(), "domain (the paper's), pooled, options, unanimity", nullable=False),
        field("stopping", pa.string(), "static or early (first singleton kept)", nullable=False),
        *_CELL,
        field("n_cal", pa.int64(), "calibration questions of the domain", nullable=False),
        field("n_test", pa.int64(), "test questions", nullable=False),
        field("q_hat", pa.float64(), "threshold; infinity where n_cal is too small; null where groups have several"),
        *(
            field(name, pa.float64(), f"{name}; null without a denominator")
            for metric in ("coverage", "set_size", "singleton_rate", "singleton_accuracy")
            for name in (metric, f"{metric}_low", f"{metric}_high")
        ),
        field("new_singletons", pa.int64(), "questions whose first singleton comes in this round", nullable=False),
        field("new_singleton_accuracy", pa.float64(), "share of them that hold the gold option"),
        field("empty_rate", pa.float64(), "questions with an empty set: review"),
        field("escalation_rate", pa.float64(), "questions with several options left"),
        field("resamples", pa.int64(), "bootstrap resamples over the test questions", nullable=False),
    ]
)
GROUPS: Final = pa.schema(
    [
        field("calibration", pa.string(), "scheme", nullable=False),
        field("group", pa.string(), "group of questions", nullable=False),
        field("alpha", pa.float64(), "miscoverage level", nullable=False),
        field("round", pa.int64(), "round, from 0", nullable=False),
        field("n_cal", pa.int64(), "calibration questions", nullable=False),
        field("n_test", pa.int64(), "test questions", nullable=False),
        field("q_hat", pa.float64(), "threshold; infinity where n_cal is too small", nullable=False),
        field("ties", pa.int64(), "calibration scores equal to the threshold", nullable=False),
        field("coverage", pa.float64(), "share of test questions whose set holds the gold option"),
        field("set_size", pa.float64(), "mean number of options left"),
    ]
)
WRONG_CONSENSUS: Final = pa.schema(
    [
        *_CELL,
        field("n", pa.int64(), "test questions", nullable=False),
        field("disputed", pa.int64(), "not unanimous in round 0", nullable=False),
        field("to_wrong", pa.int64(), "of the disputed: unanimous and wrong in this round", nullable=False),
        field("wrong", pa.int64(), "unanimous and wrong", nullable=False),
        field("wrong_intercepted", pa.int64(), "of the wrong: several options left", nullable=False),
        field("wrong_not_acted", pa.int64(), "of the wrong: not exactly one option left", nullable=False),
        field("right", pa.int64(), "unanimous and right", nullable=False),
        field("right_rejected", pa.int64(), "of the right: several options left", nullable=False),
        field("right_not_acted", pa.int64(), "of the right: not exactly one option left", nullable=False),
        field("to_wrong_rate", pa.float64(), "to_wrong/disputed"),
        field("consensus_rate", pa.float64(), "(wrong + right)/n"),
        field("interception", pa.float64(), "wrong_intercepted/wrong"),
        field("over_rejection", pa.float64(), "right_rejected/right"),
    ]
)
INTRODUCED: Final = pa.schema(
    [
        *_CELL,
        field(
            "count", pa.int64(), "acted on and wrong although the agents were not unanimous and wrong", nullable=False
        ),
        field("intercepted", pa.int64(), "unanimous and wrong, several options left", nullable=False),
        field("prevention_ratio", pa.float64(), "intercepted/count; null when nothing is introduced"),
    ]
)
SELECTION: Final = pa.schema(
    [
        *_CELL,
        field("n", pa.int64(), "test questions", nullable=False),
        field("acted", pa.int64(), "questions with one option left", nullable=False),
        field("conformal_accuracy", pa.float64(), "accuracy of that option"),
        field("majority_accuracy_acted", pa.float64(), "accuracy of the agents' majority on the same questions"),
        field("majority_accuracy_acted_first", pa.float64(), "the same in round 0: what the rounds gained there"),
        field("unanimous_share_acted", pa.float64(), "share of the same questions on which the agents agree"),
        field("majority_accuracy", pa.float64(), "accuracy of the majority on all test questions"),
        field("selection_effect", pa.float64(), "majority_accuracy_acted - majority_accuracy"),
        field("decision_effect", pa.float64(), "conformal_accuracy - majority_accuracy_acted"),
    ]
)
_BOOTSTRAPPED: Final = {"coverage": (1, 0), "set_size": (2, 0), "singleton_rate": (3, 0), "singleton_accuracy": (4, 3)}


def rounds_table(study: Study, alphas: Sequence[Decimal], split: int, resamples: int, seed: int) -> pa.Table:
    """One row per pool, score, calibration, stopping rule, alpha, domain and round, at one recorded split."""
    calibration = study.calibration(split + 1)[split:]
    test = ~calibration
    questions = study.questions
    membership, domains = questions.membership(), questions.domains()
    n_cal = (calibration.astype(np.float32) @ membership)[0]
    rows: list[dict[str, Any]] = []
    outcomes: list[np.ndarray] = []  # (questions, 5) columns per cell, for the bootstrap
    for pool, score, scheme in schemes():
        scores, true_scores = study.scores(study.pooled(pool, calibration[0]), score)
        groups = study.groups(scheme)
        for stopping in (STATIC, EARLY):
            for alpha in alphas:
                steps = rounds(scores, true_scores, groups, calibration, alpha, stopping)
                for t, (q, outcome) in enumerate(steps):
                    counts = count(outcome, questions, t, test, membership)
                    rate = rates(counts)
                    outcomes.append(_columns(outcome))
                    for d, domain in enumerate(domains):
                        members = membership[:, d] > 0
                        rows.append(
                            {
                                "weights": pool,
                                "score": score,
                                "calibration": scheme,
                                "stopping": stopping,
                                "alpha": float(alpha),
                                "domain": domain,
                                "round": t,
                                "n_cal": int(n_cal[d]),
                                "n_test": int(counts["n"][0, d]),
                                "q_hat": _one_threshold(q[0, members]),
                                "new_singletons": int(counts["new"][0, d]),
                                **{name: finite(rate[name][0, d]) for name in rate if name in ROUNDS.names},
                                "resamples": resamples,
                            }
                        )
    _add_intervals(rows, outcomes, test[0], membership, resamples, seed)
    return artifact.from_rows(rows, ROUNDS)


def _columns(outcome: Round) -> np.ndarray:
    one = np.ones(outcome.size.shape[1])
    right = outcome.singleton[0] & outcome.covered[0]
    return np.stack([one, outcome.covered[0], outcome.size[0], outcome.singleton[0], right], axis=1).astype(np.float64)


def _add_intervals(
    rows: list[dict[str, Any]],
    outcomes: Sequence[np.ndarray],
    test: np.ndarray,
    membership: np.ndarray,
    resamples: int,
    seed: int,
) -> None:
    """Percentile intervals over the test questions; all cells of a domain share the resamples."""
    domains = membership.shape[1]
    for d in range(domains):
        members = test & (membership[:, d] > 0)
        columns = np.concatenate([cell[members] for cell in outcomes], axis=1)
        sums = resampled_sums(columns, resamples, generator(seed, d)).reshape(resamples, len(outcomes), 5)
        for cell in range(len(outcomes)):
            row = rows[cell * domains + d]
            for name, (top, bottom) in _BOOTSTRAPPED.items():
                with np.errstate(divide="ignore", invalid="ignore"):
                    values = sums[:, cell, top] / sums[:, cell, bottom]
                interval = percentile_interval(values)
                if interval is not None:
                    row[f"{name}_low"], row[f"{name}_high"] = interval


def _one_threshold(q: np.ndarray) -> float | None:
    values = np.unique(q)
    return probability_of(int(values[0])) if len(values) == 1 else None


def probability_of(q: int) -> float:
    """A grid threshold as a number; infinity stays infinity."""
    return float("inf") if q == INFINITE else q / ONE


def finite(value: float) -> float | None:
    """None for NaN: missing is null."""
    return None if np.isnan(value) else float(value)


def groups_table(study: Study, alphas: Sequence[Decimal], split: int) -> pa.Table:
    """Every group of every calibration scheme with its n_cal, uniform pool and LAC."""
    calibration = study.calibration(split + 1)[split:]
    scores, true_scores = study.scores(study.uniform, "lac")
    rows = []
    for scheme in ("domain", "pooled", "options", "unanimity"):
        groups = study.groups(scheme)
        for alpha in alphas:
            for t, (q, outcome) in enumerate(rounds(scores, true_scores, groups, calibration, alpha, STATIC)):
                for group in np.unique(groups):
                    members = groups == group
                    tested = members & ~calibration[0]
                    limit = int(q[0, members][0])
                    tied = members & calibration[0] & (true_scores[:, t] == limit)
                    rows.append(
                        {
                            "calibration": scheme,
                            "group": _group_name(study, scheme, members, int(group)),
                            "alpha": float(alpha),
                            "round": t,
                            "n_cal": int((members & calibration[0]).sum()),
                            "n_test": int(tested.sum()),
                            "q_hat": probability_of(limit),
                            "ties": int(tied.sum()),
                            "coverage": float(outcome.covered[0, tested].mean()) if tested.any() else None,
                            "set_size": float(outcome.size[0, tested].mean()) if tested.any() else None,
                        }
                    )
    return artifact.from_rows(rows, GROUPS)


def _group_name(study: Study, scheme: str, members: np.ndarray, group: int) -> str:
    if scheme == "domain":
        return study.domain[int(np.flatnonzero(members)[0])]
    if scheme == "options":
        return f"{group} options"
    if scheme == "unanimity":
        return "unanimous in round 0" if group else "not unanimous in round 0"
    return ALL


def _static_counts(
    study: Study, alphas: Sequence[Decimal], split: int
) -> Iterator[tuple[dict[str, Any], dict[str, float]]]:
    """Cell keys and counts of the paper's construction: uniform pool, LAC, per domain, static sets, test half."""
    calibration = study.calibration(split + 1)[split:]
    scores, true_scores = study.scores(study.uniform, "lac")
    membership = study.questions.membership()
    for alpha in alphas:
        steps = rounds(scores, true_scores, study.groups("domain"), calibration, alpha, STATIC)
        for t, (_, outcome) in enumerate(steps):
            counts = count(outcome, study.questions, t, ~calibration, membership)
            for d, domain in enumerate(study.questions.domains()):
                key = {"alpha": float(alpha), "domain": domain, "round": t}
                yield key, {name: float(values[0, d]) for name, values in counts.items()}


def wrong_consensus_table(study: Study, alphas: Sequence[Decimal], split: int) -> pa.Table:
    """What becomes of unanimous answers, wrong and right."""
    rows = []
    for key, c in _static_counts(study, alphas, split):
        names = {"wrong_intercepted": "wrong_several", "right_rejected": "right_several"}
        counts = {name: int(c[names.get(name, name)]) for name in WRONG_CONSENSUS.names if names.get(name, name) in c}
        rates_ = {
            "to_wrong_rate": c["to_wrong"] / c["disputed"] if c["disputed"] else None,
            "consensus_rate": (c["wrong"] + c["right"]) / c["n"] if c["n"] else None,
            "interception": c["wrong_several"] / c["wrong"] if c["wrong"] else None,
            "over_rejection": c["right_several"] / c["right"] if c["right"] else None,
        }
        rows.append({**key, **counts, **rates_})
    return artifact.from_rows(rows, WRONG_CONSENSUS)


def introduced_table(study: Study, alphas: Sequence[Decimal], split: int) -> pa.Table:
    """Errors that the conformal layer introduces beside those it intercepts."""
    return artifact.from_rows(
        (
            {
                **key,
                "count": int(c["introduced"]),
                "intercepted": int(c["wrong_several"]),
                "prevention_ratio": c["wrong_several"] / c["introduced"] if c["introduced"] else None,
            }
            for key, c in _static_counts(study, alphas, split)
        ),
        INTRODUCED,
    )


def selection_table(study: Study, alphas: Sequence[Decimal], split: int) -> pa.Table:
    """Selection or reasoning: the agents' majority on the very questions that the conformal layer acts on."""
    rows = []
    for key, c in _static_counts(study, alphas, split):
        row: dict[str, Any] = {**key, "n": int(c["n"]), "acted": int(c["singleton"])}
        row["majority_accuracy"] = c["majority_right"] / c["n"] if c["n"] else None
        if c["singleton"]:
            row["conformal_accuracy"] = c["singleton_right"] / c["singleton"]
            row["majority_accuracy_acted"] = c["acted_majority_right"] / c["singleton"]
            row["majority_accuracy_acted_first"] = c["acted_majority_right_first"] / c["singleton"]
            row["unanimous_share_acted"] = c["acted_unanimous"] / c["singleton"]
            row["selection_effect"] = row["majority_accuracy_acted"] - row["majority_accuracy"]
            row["decision_effect"] = row["conformal_accuracy"] - row["majority_accuracy_acted"]
        rows.append(row)
    return artifact.from_rows(rows, SELECTION)
