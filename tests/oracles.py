"""The verdict study's rules in plain Python on label names, written from their definitions: slow and obvious.

Nothing here imports the package, so that a test which compares the two compares two readings of the text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import combinations

DIRECTIONS = ("support", "refute")
METRICS = ("cov", "se", "cpo_n", "cpo_c", "ovc_i", "acc_sr", "rec_c", "false_conflict", "accuracy")
EVERYTHING = frozenset(("support", "refute", "insufficient", "conflicting"))
# The gold labels whose claims a metric's counts depend on; everything else about a sample is in its gold labels.
NEEDS: Mapping[str, frozenset[str]] = {
    "cov": EVERYTHING,
    "se": EVERYTHING,
    "accuracy": EVERYTHING,
    "cpo_n": frozenset(("conflicting",)),
    "cpo_c": frozenset(("conflicting",)),
    "rec_c": frozenset(("conflicting",)),
    "ovc_i": frozenset(("insufficient",)),
    "acc_sr": frozenset(DIRECTIONS),
    "false_conflict": frozenset(DIRECTIONS),
}


def majority(votes: Sequence[str]) -> str:
    """The panel's decision: plurality; a tie goes to conflicting, else to the judge who is listed first."""
    usable = [vote for vote in votes if vote != "none"]
    if not usable:
        return "none"
    tally = Counter(usable)
    most = max(tally.values())
    leaders = [vote for vote in usable if tally[vote] == most]
    return "conflicting" if "conflicting" in leaders else leaders[0]


def tied_without_conflicting(votes: Sequence[str]) -> bool:
    """Whether the first listed judge decides: several labels lead and conflicting is not one of them."""
    tally = Counter(vote for vote in votes if vote != "none")
    leaders = {label for label, n in tally.items() if n == max(tally.values())}
    return len(leaders) > 1 and "conflicting" not in leaders


def mean_reaches(confidences: Sequence[Fraction], tau: Fraction) -> bool:
    """Whether the exact mean reaches tau; nothing reaches anything without a confidence."""
    return bool(confidences) and sum(confidences, Fraction(0)) / len(confidences) >= tau


def float_mean_reaches(confidences: Sequence[Fraction], tau: Fraction) -> bool:
    """The published arithmetic: stated numbers as doubles, their sum rounded once, divided, against a double."""
    if not confidences:
        return False
    total = sum((Fraction(float(value)) for value in confidences), Fraction(0))
    return float(total) / len(confidences) >= float(tau)


def counts(metric: str, gold: Sequence[str], said: Sequence[str]) -> tuple[int, int]:
    """Numerator and denominator of a metric."""
    pairs = list(zip(gold, said, strict=True))
    commits = [(g, s) for g, s in pairs if s in DIRECTIONS]
    on_conflicting = [s for g, s in pairs if g == "conflicting"]
    on_insufficient = [s for g, s in pairs if g == "insufficient"]
    on_directional = [(g, s) for g, s in pairs if g in DIRECTIONS]
    return {
        "cov": (len(commits), len(pairs)),
        "se": (sum(g != s for g, s in commits), len(commits)),
        "cpo_n": (sum(s in DIRECTIONS for s in on_conflicting), len(pairs)),
        "cpo_c": (sum(s in DIRECTIONS for s in on_conflicting), len(on_conflicting)),
        "ovc_i": (sum(s in DIRECTIONS for s in on_insufficient), len(on_insufficient)),
        "acc_sr": (sum(g == s for g, s in on_directional), len(on_directional)),
        "rec_c": (sum(s == "conflicting" for s in on_conflicting), len(on_conflicting)),
        "false_conflict": (sum(s == "conflicting" for _, s in on_directional), len(on_directional)),
        "accuracy": (sum(g == s for g, s in pairs), len(pairs)),
    }[metric]


def rate(metric: str, gold: Sequence[str], said: Sequence[str]) -> Fraction | None:
    """The metric; None where its denominator is 0."""
    k, n = counts(metric, gold, said)
    return Fraction(k, n) if n else None


def promotions(base: Sequence[str], k: int) -> Iterator[list[str]]:
    """Every way to promote k of the commits to conflicting."""
    commits = [i for i, label in enumerate(base) if label in DIRECTIONS]
    for drawn in combinations(commits, k):
        yield ["conflicting" if i in drawn else label for i, label in enumerate(base)]


def random_veto(
    metric: str, gold: Sequence[str], base: Sequence[str], observed: Sequence[str], k: int
) -> tuple[Fraction, Fraction] | None:
    """Mean of the metric over all random vetoes and the share that is at least as good as the observation."""
    seen = rate(metric, gold, observed)
    values = [rate(metric, gold, said) for said in promotions(base, k)]
    defined = [value for value in values if value is not None]
    if seen is None or len(defined) < len(values):
        return None
    as_good: Callable[[Fraction], bool] = (
        (lambda value: value <= seen) if metric in ("se", "cpo_n") else (lambda value: value >= seen)
    )
    return sum(defined, Fraction(0)) / len(values), Fraction(sum(map(as_good, defined)), len(values))
