"""Systems of a study: single judges, panels and the validator, as one decision per claim.

A settings object names each system's verdict file by arm and its judges in listed order:
`{"single/a/4opt": {"arm": "4opt", "judges": ["a"]}, ...}`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

import numpy as np

from warrant.certificates import read_flags
from warrant.controllers import confidence_threshold, conflict_if_any, veto, vote_margin
from warrant.decimals import Arithmetic
from warrant.labels import Labels, Mask
from warrant.panel import Votes, majority
from warrant.verdicts import read_votes


@dataclass(frozen=True)
class Decisions:
    """One system's decision on every claim; `known` is False where its votes are not in the source."""

    decision: Labels
    known: Mask

    @property
    def partial(self) -> bool:
        """Whether some claims are not known."""
        return not bool(self.known.all())

    def relabelled(self, decision: Labels) -> Decisions:
        """The same claims known, another decision."""
        return Decisions(decision, self.known)


def threshold_name(kind: str, value: Decimal) -> str:
    """Table name of a controller with a threshold: E@0.90 (two decimals at least), vote_margin@0.5."""
    text = format(value.normalize(), "f")
    if kind != "vote_margin":
        whole, _, places = text.partition(".")
        text = f"{whole}.{places.ljust(2, '0')}"
    return f"{kind}@{text}"


def by_arm(paths: Iterable[Path]) -> dict[str, Path]:
    """Verdict files by arm: verdicts/{arm}.parquet."""
    return {path.stem: path for path in paths}


def decide(votes: Votes) -> Decisions:
    """The majority decision of a system (of one judge: its verdict)."""
    return Decisions(majority(votes), votes.known)


@dataclass(frozen=True)
class Controlled:
    """A typed panel with what its controllers need: votes and the certificates' flags (None without a validator).

    certified: where the certificate is known; None for everywhere.
    """

    votes: Votes
    proposal: Decisions
    verdict: Labels | None = None
    mixed: Mask | None = None
    insufficient: Mask | None = None
    certified: Mask | None = None

    @property
    def vetted(self) -> Mask:
        """Where panel and certificate are both known."""
        return self.proposal.known if self.certified is None else self.proposal.known & self.certified

    def e(self, tau: Decimal, arithmetic: Arithmetic = "exact") -> Decisions:
        """E(tau): the confidence threshold."""
        return self.proposal.relabelled(confidence_threshold(self.proposal.decision, self.votes, tau, arithmetic))

    def d(self, mode: str) -> Decisions:
        """D(mode): the validator's veto. ValueError without a validator."""
        if self.mixed is None or self.insufficient is None:
            raise ValueError("a veto needs a validator")
        return Decisions(veto(self.proposal.decision, self.mixed, self.insufficient, mode), self.vetted)

    def f(self, tau: Decimal, arithmetic: Arithmetic = "exact") -> Decisions:
        """F(tau): the conflict veto, then the threshold."""
        vetoed = self.d("conflict_only")
        return vetoed.relabelled(confidence_threshold(vetoed.decision, self.votes, tau, arithmetic))

    def any_conflict(self) -> Decisions:
        """Conflict-if-any."""
        return self.proposal.relabelled(conflict_if_any(self.proposal.decision, self.votes))

    def margin(self, margin: Decimal) -> Decisions:
        """Vote margin."""
        return self.proposal.relabelled(vote_margin(self.proposal.decision, self.votes, margin))

    def validator(self) -> Decisions:
        """The validator as a classifier, which needs no panel."""
        if self.verdict is None:
            raise ValueError("the study has no validator")
        known = np.ones(len(self.verdict), dtype=np.bool_) if self.certified is None else self.certified
        return Decisions(self.verdict, known)

    def named(self, name: str, arithmetic: Arithmetic = "exact") -> Decisions:
        """A controller by its table name: E@0.90, F@0.85, D/any, conflict_if_any, vote_margin@0.5, validator."""
        kind, _, value = name.partition("@")
        if kind in ("E", "F", "vote_margin") and value:
            try:
                threshold = Decimal(value)
            except InvalidOperation:
                raise ValueError(f"{name!r} has no number as its threshold") from None
            if kind == "vote_margin":
                return self.margin(threshold)
            return (self.e if kind == "E" else self.f)(threshold, arithmetic)
        if kind.startswith("D/"):
            return self.d(kind.removeprefix("D/"))
        if kind == "conflict_if_any":
            return self.any_conflict()
        if kind == "validator":
            return self.validator()
        raise ValueError(f"no controller is named {name!r}")


def load_systems(
    systems: Mapping[str, Mapping[str, Any]], files: Mapping[str, Path], cases: int, validator: str | None = None
) -> dict[str, Decisions]:
    """Decisions of every system of the settings, and of the validator as a classifier when its arm is given."""
    found = {
        name: decide(read_votes(files[system["arm"]], system["judges"], cases)) for name, system in systems.items()
    }
    if validator is not None:
        verdict, _, _, known = read_flags(files[validator], cases)
        found["validator"] = Decisions(verdict, known)
    return found


def load_controlled(settings: Mapping[str, Any], files: Mapping[str, Path], cases: int) -> Controlled:
    """The typed panel of the settings, with the validator's flags when the study has a validator at hand."""
    panel, validator = settings["typed_panel"], settings["validator"]
    votes = read_votes(files[panel["arm"]], panel["judges"], cases)
    if validator is None:
        return Controlled(votes, decide(votes))
    return Controlled(votes, decide(votes), *read_flags(files[validator], cases))  # in the order of its fields
