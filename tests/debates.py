"""Synthetic debate studies, and the decisions of a study written out in plain Python, question by question."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from hypothesis import strategies as st

from warrant.beliefs import MOST_OPTIONS, Beliefs
from warrant.grid import INFINITE
from warrant.panel_study import Study

KINDS = ("spread", "short", "continuous")
ALPHAS = ("0.05", "0.10", "0.20", "0.19", "0.34", "0.5")
Sets = list[list[set[int]]]  # round -> question -> positions of the options that are left


def alphas() -> st.SearchStrategy[Decimal]:
    return st.sampled_from(ALPHAS).map(Decimal)


def study_of(
    beliefs: Sequence[Sequence[Sequence[Sequence[float]]]],
    gold: Sequence[int],
    domain: Sequence[str],
    *,
    votes: Sequence[Sequence[Sequence[int]]] | None = None,
    ids: Sequence[int] | None = None,
    seed: int = 7,
) -> Study:
    """A study from beliefs[question][round][agent][option]; a vote is the most probable option unless it is given."""
    n, rounds, agents = len(beliefs), len(beliefs[0]), len(beliefs[0][0])
    options = np.array([len(question[0][0]) for question in beliefs], dtype=np.int64)
    probability = np.zeros((n, rounds, agents, MOST_OPTIONS))
    for i, question in enumerate(beliefs):
        probability[i, :, :, : options[i]] = question
    vote = probability.argmax(axis=-1) if votes is None else np.array(votes, dtype=np.int64)
    believed = Beliefs(probability, vote, np.zeros(vote.shape, dtype=np.bool_), options, np.array(gold, dtype=np.int64))
    names = [f"agent{a}" for a in range(agents)]
    return Study(list(domain), list(range(n)) if ids is None else list(ids), names, believed, seed, 1.0, 1e-6)


def synthetic(
    seed: int, n: int = 12, rounds: int = 3, agents: int = 3, domains: int = 2, kind: str = "spread"
) -> Study:
    """A random study: beliefs spread from short confidences, multiples of .05, or continuous; some votes differ."""
    rng = np.random.default_rng(seed)
    options = rng.integers(3, 7, n)
    gold = [int(rng.integers(k)) for k in options]

    def belief(k: int, right: int) -> list[float]:
        if kind == "spread":
            answer = right if rng.random() < 0.6 else int(rng.integers(k))
            confidence = float(rng.choice([0.5, 0.6, 0.8, 0.9, 0.95, 1.0]))
            return [confidence if option == answer else (1 - confidence) / (k - 1) for option in range(k)]
        weights = rng.dirichlet(np.where(np.arange(k) == right, 2.0, 0.5))
        return (rng.multinomial(20, weights) / 20 if kind == "short" else weights).tolist()

    beliefs = [
        [[belief(int(k), right) for _ in range(agents)] for _ in range(rounds)]
        for k, right in zip(options, gold, strict=True)
    ]
    votes = [
        [
            [int(np.argmax(one)) if rng.random() < 0.9 else int(rng.integers(len(one))) for one in panel]
            for panel in turn
        ]
        for turn in beliefs
    ]
    domain = [f"domain{d}" for d in rng.integers(domains, size=n)]
    ids = [int(number) for number in rng.permutation(10 * n)[:n]]
    return study_of(beliefs, gold, domain, votes=votes, ids=ids, seed=int(rng.integers(100)))


def studies(
    n: st.SearchStrategy[int] = st.integers(1, 16),  # noqa: B008
    rounds: st.SearchStrategy[int] = st.integers(1, 3),  # noqa: B008
    kinds: Sequence[str] = KINDS,
) -> st.SearchStrategy[Study]:
    return st.builds(
        synthetic,
        seed=st.integers(0, 2**32 - 1),
        n=n,
        rounds=rounds,
        agents=st.integers(1, 4),
        domains=st.integers(1, 3),
        kind=st.sampled_from(kinds),
    )


# --- the specification, in plain Python ------------------------------------------------------------------------------


def slow_rank(n: int, alpha: Decimal) -> int:
    """The least whole number that is not below (n + 1)(1 - alpha), in fractions."""
    wanted = (n + 1) * (1 - Fraction(alpha))
    return wanted.numerator // wanted.denominator + (wanted.denominator > 1)


def slow_threshold(scores: Iterable[int], alpha: Decimal) -> int | None:
    """The k-th smallest score; None (infinite) where there are fewer than k."""
    ordered = sorted(scores)
    k = slow_rank(len(ordered), alpha)
    return ordered[k - 1] if ordered and k <= len(ordered) else None


def slow_sets(
    study: Study, scores: np.ndarray, groups: Sequence[int], calibrates: Sequence[bool], alpha: Decimal, early: bool
) -> Sets:
    """The sets of every round and question of one split."""
    n, last = len(study.domain), scores.shape[1]
    options, gold = study.beliefs.options.tolist(), study.beliefs.gold.tolist()
    kept: dict[int, set[int]] = {}
    found: Sets = []
    for t in range(last):
        limits = {
            group: slow_threshold(
                (int(scores[q, t, gold[q]]) for q in range(n) if groups[q] == group and calibrates[q]), alpha
            )
            for group in set(groups)
        }
        line = []
        for q in range(n):
            limit = limits[groups[q]]
            left = {o for o in range(options[q]) if limit is None or int(scores[q, t, o]) <= limit}
            left = kept.get(q, left) if early else left
            if early and len(left) == 1:
                kept[q] = left
            line.append(left)
        found.append(line)
    return found


def slow_majority(votes: Sequence[int], uniform: Sequence[int]) -> int:
    """Most votes; then more probable in the uniform pool; then first."""
    tally = Counter(votes)
    return min(range(len(uniform)), key=lambda o: (-tally[o], -uniform[o], o))


def slow_counts(study: Study, sets: Sets, t: int, tested: Sequence[int]) -> dict[str, int]:
    """Every count of the engine over the questions tested, at round t, from the sets alone."""
    gold = study.beliefs.gold.tolist()
    votes = [[line[r].tolist() for r in range(line.shape[0])] for line in study.beliefs.vote]
    counts: Counter[str] = Counter()
    for q in tested:
        left, answer = sets[t][q], gold[q]
        agree, agreed_first = len(set(votes[q][t])) == 1, len(set(votes[q][0])) == 1
        wrong, right = agree and votes[q][t][0] != answer, agree and votes[q][t][0] == answer
        majority = [slow_majority(votes[q][r], study.uniform[q, r].tolist()) == answer for r in (0, t)]
        acted, hit, several = len(left) == 1, answer in left, len(left) > 1
        new = acted and not any(len(sets[r][q]) == 1 for r in range(t))
        counts.update(
            n=1,
            covered=hit,
            size=len(left),
            singleton=acted,
            singleton_right=acted and hit,
            new=new,
            new_right=new and hit,
            empty=not left,
            several=several,
            wrong=wrong,
            wrong_several=wrong and several,
            wrong_not_acted=wrong and not acted,
            right=right,
            right_several=right and several,
            right_not_acted=right and not acted,
            introduced=acted and not hit and not wrong,
            disputed=not agreed_first,
            to_wrong=not agreed_first and wrong,
            acted_majority_right=acted and majority[1],
            acted_majority_right_first=acted and majority[0],
            acted_unanimous=acted and agree,
            majority_right=majority[1],
        )
    return dict(counts)


def ratio(top: float, bottom: float) -> float | None:
    """A rate, null without a denominator."""
    return top / bottom if bottom else None


def mean(values: Iterable[float]) -> float | None:
    """A mean, null without values."""
    listed = list(values)
    return sum(listed) / len(listed) if listed else None


def by_domain(study: Study) -> dict[str, list[int]]:
    """Questions of every domain, and of all."""
    n = range(len(study.domain))
    named = {name: [q for q in n if study.domain[q] == name] for name in sorted(set(study.domain))}
    return {**named, "all": list(n)}


def sets_of(
    study: Study, pool: str, score: str, calibration: str, alpha: Decimal, half: np.ndarray
) -> tuple[np.ndarray, Callable[[bool], Sets]]:
    """Scores of a scheme on one split, and its sets by whether stopping is early."""
    scores, _ = study.scores(study.pooled(pool, half), score)
    groups: list[Any] = study.groups(calibration).tolist()
    return scores, lambda early: slow_sets(study, scores, groups, half.tolist(), alpha, early)


def finite(threshold: int | None) -> int:
    """The engine's form of a threshold."""
    return INFINITE if threshold is None else threshold
