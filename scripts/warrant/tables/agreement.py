"""Tables `stopping`, `baselines`, `consensus_rounds`, `weights`: what agents agree on, and what that is worth."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any, Final

import numpy as np
import pyarrow as pa

from warrant import artifact, pools
from warrant.artifact import field
from warrant.consensus import first_round
from warrant.intervals import wilson
from warrant.outcomes import ALL, EARLY, rounds
from warrant.panel_study import Study

STOPPING: Final = pa.schema(
    [
        field("domain", pa.string(), "domain", nullable=False),
        field("alpha", pa.float64(), "miscoverage level", nullable=False),
        field("reading", pa.string(), "paper (without the last round) or all_rounds", nullable=False),
        field("n", pa.int64(), "test questions", nullable=False),
        field("consensus_round", pa.float64(), "mean round of the first unanimity, counted from 1"),
        field("conformal_round", pa.float64(), "mean round of the first singleton set, counted from 1"),
        field("consensus_rate", pa.float64(), "share of questions that reach unanimity"),
        field("conformal_rate", pa.float64(), "share of questions that reach a singleton set"),
        field("consensus_accuracy", pa.float64(), "accuracy of the unanimous answers"),
        field("conformal_accuracy", pa.float64(), "accuracy of the singleton sets"),
        field("same_questions_consensus_accuracy", pa.float64(), "consensus (else last majority) on them"),
        field("accuracy_difference", pa.float64(), "conformal_accuracy - consensus_accuracy"),
        field("consensus_escalated_rate", pa.float64(), "1 - consensus_rate: no consensus to act on"),
        field("conformal_n", pa.int64(), "questions behind conformal_accuracy", nullable=False),
        field("consensus_n", pa.int64(), "questions behind consensus_accuracy", nullable=False),
    ]
)  # fmt: skip
BASELINES: Final = pa.schema(
    [
        field("method", pa.string(), "single, majority_vote, uniform_pool or consensus", nullable=False),
        field("model", pa.string(), "agent; null for a panel"),
        field("domain", pa.string(), "domain", nullable=False),
        field("round", pa.int64(), "round, from 0", nullable=False),
        field("correct", pa.int64(), "questions answered with the gold option", nullable=False),
        field("n", pa.int64(), "questions", nullable=False),
        field("accuracy", pa.float64(), "correct/n"),
        field("low", pa.float64(), "Wilson 95% lower bound"),
        field("high", pa.float64(), "Wilson 95% upper bound"),
        field("min_accuracy", pa.float64(), "for all domains: the least accuracy of a domain"),
        field("max_accuracy", pa.float64(), "for all domains: the greatest accuracy of a domain"),
    ]
)
CONSENSUS_ROUNDS: Final = pa.schema(
    [
        field("domain", pa.string(), "domain", nullable=False),
        field("round", pa.string(), "round of the first unanimity, from 0; never", nullable=False),
        field("n", pa.int64(), "questions", nullable=False),
        field("right", pa.int64(), "of them with the gold option", nullable=False),
        field("wrong", pa.int64(), "of them with another option", nullable=False),
        field("share", pa.float64(), "n over all questions of the domain"),
        field("share_with_never", pa.float64(), "in the last round: share with the questions that never agree"),
    ]
)
WEIGHTS: Final = pa.schema(
    [
        field("weights", pa.string(), "entropy or learned", nullable=False),
        field("domain", pa.string(), "domain", nullable=False),
        field("model", pa.string(), "agent", nullable=False),
        field("round", pa.int64(), "round, from 0", nullable=False),
        field("mean", pa.float64(), "mean weight over the domain's questions", nullable=False),
        field("p05", pa.float64(), "5% quantile over questions", nullable=False),
        field("p95", pa.float64(), "95% quantile over questions", nullable=False),
    ]
)


def _domain_rows(study: Study) -> list[tuple[str, np.ndarray]]:
    membership = study.questions.membership() > 0
    return [(name, membership[:, d]) for d, name in enumerate(study.questions.domains())]


def stopping_table(study: Study, alphas: Sequence[Decimal], split: int) -> pa.Table:
    """Consensus stopping beside conformal stopping on the test half (uniform pool, LAC, per domain).

    `paper` counts consensus in all rounds but the last, and conformal accuracy over stops in all rounds but the
    last while its share covers them all; with one round it is empty.
    """
    calibration = study.calibration(split + 1)[split:]
    scores, true_scores = study.scores(study.uniform, "lac")
    agree = first_round(study.questions.unanimous)
    gold_at = study.questions.consensus_right
    last = study.beliefs.rounds - 1
    rows: list[dict[str, Any]] = []
    for alpha in alphas:
        steps = [o for _, o in rounds(scores, true_scores, study.groups("domain"), calibration, alpha, EARLY)]
        acted = first_round(np.stack([step.singleton[0] for step in steps], axis=1))
        right = steps[-1].covered[0] & (acted >= 0)  # a kept singleton keeps its outcome
        n = len(agree)
        agree_right = (agree >= 0) & gold_at[np.arange(n), np.maximum(agree, 0)]
        answer_right = np.where(agree >= 0, agree_right, study.questions.majority_right[:, last])
        for domain, members in _domain_rows(study):
            inside = members & ~calibration[0]
            for reading, limit in (("paper", last), ("all_rounds", last + 1)):
                agreed = inside & (agree >= 0) & (agree < limit)
                stops = inside & (acted >= 0)
                counted = stops & (acted < limit)
                conformal, consensus = _mean(right[counted]), _mean(agree_right[agreed])
                difference = None if conformal is None or consensus is None else conformal - consensus
                rows.append(
                    {
                        "accuracy_difference": difference,
                        "consensus_escalated_rate": _mean(~agreed[inside]),
                        "domain": domain,
                        "alpha": float(alpha),
                        "reading": reading,
                        "n": int(inside.sum()),
                        "consensus_round": _mean(agree[agreed] + 1),
                        "conformal_round": _mean(acted[stops] + 1),
                        "consensus_rate": _mean(agreed[inside]),
                        "conformal_rate": _mean(stops[inside]),
                        "consensus_accuracy": consensus,
                        "conformal_accuracy": conformal,
                        "same_questions_consensus_accuracy": _mean(answer_right[counted]),
                        "conformal_n": int(counted.sum()),
                        "consensus_n": int(agreed.sum()),
                    }
                )
    return artifact.from_rows(rows, STOPPING)


def _mean(values: np.ndarray) -> float | None:
    return float(values.mean()) if values.size else None


def baselines_table(study: Study) -> pa.Table:
    """Accuracy over all questions: every agent, the majority vote, the uniform pool's most probable option, and the
    unanimous answers alone.

    Majority ties go to the option that the uniform pool finds more probable, then to the first.
    """
    gold = study.beliefs.gold
    rows: list[dict[str, Any]] = []
    for domain, members in _domain_rows(study):
        for t in range(study.beliefs.rounds):
            unanimous = study.questions.unanimous[:, t]
            choices: list[tuple[str, str | None, np.ndarray, np.ndarray]] = [
                ("single", agent, study.correct[:, t, a], members) for a, agent in enumerate(study.agents)
            ]
            choices.append(("majority_vote", None, study.questions.majority_right[:, t], members))
            choices.append(("uniform_pool", None, study.uniform[:, t].argmax(axis=1) == gold, members))
            choices.append(("consensus", None, study.questions.consensus_right[:, t], members & unanimous))
            for method, model, right, counted in choices:
                k, n = int((right & counted).sum()), int(counted.sum())
                interval = wilson(k, n) or (None, None)
                rows.append(
                    {
                        "method": method,
                        "model": model,
                        "domain": domain,
                        "round": t,
                        "correct": k,
                        "n": n,
                        "accuracy": k / n if n else None,
                        "low": interval[0],
                        "high": interval[1],
                    }
                )
    for row in rows:
        if row["domain"] == ALL:
            same = [other for other in rows if all(other[k] == row[k] for k in ("method", "model", "round"))]
            found = [other["accuracy"] for other in same if other["domain"] != ALL and other["accuracy"] is not None]
            row["min_accuracy"], row["max_accuracy"] = min(found, default=None), max(found, default=None)
    return artifact.from_rows(rows, BASELINES)


def consensus_rounds_table(study: Study) -> pa.Table:
    """When the agents first agree, over all questions, and whether they are right."""
    agree = first_round(study.questions.unanimous)
    right = study.questions.consensus_right[np.arange(len(agree)), np.maximum(agree, 0)]
    rows: list[dict[str, Any]] = []
    last = study.beliefs.rounds - 1
    for domain, members in _domain_rows(study):
        never = members & (agree < 0)
        for t in [*range(study.beliefs.rounds), -1]:
            here = members & (agree == t)
            correct = int((here & right).sum()) if t >= 0 else 0
            rows.append(
                {
                    "domain": domain,
                    "round": "never" if t < 0 else str(t),
                    "n": int(here.sum()),
                    "right": correct,
                    "wrong": int(here.sum()) - correct if t >= 0 else 0,
                    "share": float(here.sum() / members.sum()),
                    "share_with_never": float((here | never).sum() / members.sum()) if t == last else None,
                }
            )
    return artifact.from_rows(rows, CONSENSUS_ROUNDS)


def weights_table(study: Study, split: int) -> pa.Table:
    """Entropy weights over questions, and the weights learned on the calibration half of one split."""
    entropy = pools.entropy_weights(study.beliefs.probability, study.entropy_scale)
    learned = study.learned_weights(study.calibration(split + 1)[split])
    rows: list[dict[str, Any]] = []
    for name, weights in (("entropy", entropy), ("learned", learned)):
        for domain, members in _domain_rows(study):
            if name == "learned" and domain == ALL:
                continue  # learned per domain
            for a, agent in enumerate(study.agents):
                for t in range(study.beliefs.rounds):
                    values = weights[members, t, a]
                    p05, p95 = np.quantile(values, [0.05, 0.95])
                    row = {"weights": name, "domain": domain, "model": agent, "round": t}
                    rows.append({**row, "mean": float(values.mean()), "p05": float(p05), "p95": float(p95)})
    return artifact.from_rows(rows, WEIGHTS)
