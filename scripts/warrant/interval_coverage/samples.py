"""Samples of a setting: votes of judges and panels, the validator, controllers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from warrant.decimals import ONE
from warrant.interval_coverage.settings import COMPARED, CONTROLLERS, PANEL, UNTYPED, Setting
from warrant.labels import CONFLICTING, INSUFFICIENT, NONE, Labels, Mask
from warrant.metrics import METRICS
from warrant.panel import Votes
from warrant.simulation import HUNDREDTHS, OWN, SHARED, Answers, answer
from warrant.systems import Controlled, Decisions, decide
from warrant.tables.contrasts import Contrast


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
