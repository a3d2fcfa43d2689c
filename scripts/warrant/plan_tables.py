"""Which tables a study can have, what each reads and its settings: the part of a plan that knows tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

from warrant.blocks import Study
from warrant.debate_blocks import DebateStudy

Settings = dict[str, Any]


@dataclass(frozen=True)
class Table:
    """A table: the arms and other files it reads, its settings, and the tables that the same step writes."""

    arms: list[str]
    settings: Settings
    also: list[str] = field(default_factory=list)
    files: list[str] = field(default_factory=list)


def verdict_tables(study: Study, arms: Mapping[str, bool]) -> dict[str, Table]:
    """The tables that the arms at hand allow. arms: name -> whether it is partial (does not know every claim)."""
    known = _AtHand(study, arms)
    return {**known.rates(), **known.controllers(), **known.thresholds(), **known.structure(), **known.answers()}


def bounds_table(study: Study, arms: Mapping[str, bool]) -> dict[str, Table]:
    """The table of what missing answers may change, of every system, controller and the validator."""
    known = _AtHand(study, arms)
    if not known.systems:
        return {}
    reads = known.reads(known.systems)
    settings = {
        **{"systems": known.systems, **known.typed, "taus": known.taus, "vote_margins": known.margins},
        "contracts": {arm: study.arms[arm].contract for arm in reads},
    }
    return {"bounds": Table(reads, settings)}


def case_settings(study: Study, arms: Mapping[str, bool]) -> Settings:
    """What the case browser needs of a study: the typed panel, its controllers' thresholds, and the other panels."""
    known = _AtHand(study, arms)
    others = {
        name: system for name, system in known.systems.items() if len(system["judges"]) > 1 and name != known.panel
    }
    return {**known.typed, "taus": known.taus, "vote_margins": known.margins, "panels": others}


class _AtHand:
    """A study's systems, panel and validator as far as their arms are at hand."""

    def __init__(self, study: Study, arms: Mapping[str, bool]) -> None:
        self.study = study
        self.arms = arms
        self.systems = {
            name: system.model_dump(mode="json", include={"arm", "judges"})
            for name, system in study.systems.items()
            if system.arm in arms
        }
        self.panel = study.typed_panel if study.typed_panel in self.systems else None
        self.validator = study.validator if study.validator in arms else None
        self.complete = self.panel is not None and not arms[self.systems[self.panel]["arm"]]
        # what controllers act on
        panel = None if self.panel is None else self.systems[self.panel]
        self.typed: Settings = {"typed_panel": panel, "validator": self.validator}
        self.typed_arms = ([] if panel is None else [panel["arm"]]) + self.validator_arms()
        self.margins = [str(value) for value in study.vote_margins]
        self.taus = [str(value) for value in study.taus]
        self.rungs = {
            name: {**system, "rung": study.systems[name].rung}
            for name, system in self.systems.items()
            if study.systems[name].rung is not None
        }

    def validator_arms(self) -> list[str]:
        return [] if self.validator is None else [self.validator]

    def arms_of(self, systems: Iterable[str]) -> list[str]:
        return sorted({self.systems[name]["arm"] for name in systems})

    def reads(self, systems: Iterable[str]) -> list[str]:
        """Arms of the systems, and of what controllers act on."""
        return sorted({*self.arms_of(systems), *self.typed_arms})

    def has(self, side: str) -> bool:
        """Whether a system or controller can be had."""
        if side in self.study.systems:
            return side in self.systems
        if side == "validator":
            return self.validator is not None
        vetoes = side.startswith(("D/", "F@"))
        return self.panel is not None and (self.validator is not None or not vetoes)

    def rates(self) -> dict[str, Table]:
        """Rates of every system."""
        if not self.systems:
            return {}
        reads = self.reads(self.systems)
        judged = {"systems": self.systems, "validator": self.validator}
        return {
            "judges": Table(reads, judged),
            "confusion": Table(reads, judged),
            "rates": Table(reads, {"systems": self.systems, **self.typed}),
        }

    def controllers(self) -> dict[str, Table]:
        """The ladder, and what compares its rungs."""
        study, found = self.study, {}
        ladder = {"systems": self.rungs, **self.typed, "taus": self.taus, "vote_margins": self.margins}
        if self.rungs or self.panel is not None:
            found["ladder"] = Table(self.reads(self.rungs), ladder)
        if self.panel is not None:
            found["arithmetic"] = Table(self.typed_arms, {**self.typed, "taus": self.taus})
        bootstrap = study.bootstrap.model_dump(mode="json")
        contrasts = [item for item in _contrasts(study) if self.has(item["a"]) and self.has(item["b"])]
        if contrasts:
            sides = sorted({item[side] for item in contrasts for side in ("a", "b")} & set(self.systems))
            systems = {name: self.systems[name] for name in sides}
            settings = {"systems": systems, **self.typed, "contrasts": contrasts, "bootstrap": bootstrap}
            found["contrasts"] = Table(self.reads(sides), settings)
        if study.null is not None and self.complete and self.validator is not None:
            settings = {**self.typed, **study.null.model_dump(mode="json")}
            found["null"] = Table(self.typed_arms, settings, ["null_distribution"])
        if self.panel is not None and self.validator is not None:
            found["veto"] = Table(self.typed_arms, self.typed)
        bases = {name: self.systems[name] for name in study.residual if name in self.systems}
        if bases:
            reads = sorted({*self.reads(self.rungs), *self.arms_of(bases)})
            found["residual"] = Table(reads, {**ladder, "bases": bases})
        if study.utility is not None and self.systems:
            valued = study.utility.model_dump(mode="json")
            valued["controllers"] = [name for name in valued["controllers"] if self.has(name)]
            settings = {"systems": self.systems, **self.typed, **valued}
            found["utility"] = Table(self.reads(self.systems), settings, ["utility_outcomes", "break_even"])
        return found

    def thresholds(self) -> dict[str, Table]:
        """Confidence of the typed panel, and thresholds on it."""
        if self.panel is None:
            return {}
        study = self.study
        grid = {**self.typed, "grid": study.sweep.model_dump(mode="json")}
        stated = {"systems": {self.panel: self.systems[self.panel]}, **study.confidence.model_dump(mode="json")}
        found = {
            "confidence": Table(self.arms_of([self.panel]), stated, ["confidence_bins", "confidence_values"]),
            "sweep": Table(self.typed_arms, grid),
        }
        if self.complete:
            risk = {**grid, "vote_margins": self.margins, **study.risk.model_dump(mode="json")}
            found["risk"] = Table(self.typed_arms, risk, ["risk_choices"])
        if self.complete and self.validator is not None:
            frontier = {**grid, "bootstrap": study.bootstrap.model_dump(mode="json")}
            found["frontier"] = Table(self.typed_arms, frontier, ["sweep_summary"])
        return found

    def structure(self) -> dict[str, Table]:
        """How votes and certificates lie behind the commits."""
        found = {}
        singles = {name: system for name, system in self.systems.items() if len(system["judges"]) == 1}
        panels = {name: system for name, system in self.systems.items() if name not in singles}
        if panels:
            found["anatomy"] = Table(self.arms_of(panels), {"systems": panels})
        if self.study.screening is not None and self.complete and self.panel is not None and self.validator is not None:
            arm = self.systems[self.panel]["arm"]
            names = {system["judges"][0]: name for name, system in singles.items() if system["arm"] == arm}
            settings = {**self.typed, "names": names, "screening": self.study.screening.model_dump(mode="json")}
            found["screening"] = Table(self.typed_arms, settings, ["screening_contrast", "screening_scores"])
        if singles and self.validator is not None:
            settings = {"systems": singles, "validator": self.validator, "tau": str(self.study.taxonomy_tau)}
            found["taxonomy"] = Table([*self.arms_of(singles), *self.validator_arms()], settings)
        return found

    def answers(self) -> dict[str, Table]:
        """What was asked and what came back."""
        return {"accounting": Table(list(self.arms), {"arms": list(self.arms)})} if self.arms else {}


def _contrasts(study: Study) -> list[dict[str, str]]:
    wanted = [{"name": c.name, "metric": metric, "a": c.a, "b": c.b} for c in study.contrasts for metric in c.metrics]
    for block in study.pairwise:
        wanted += [
            {"name": block.name, "metric": metric, "a": a, "b": b}
            for a, b in combinations(block.systems, 2)
            for metric in block.metrics
        ]
    return wanted


def debate_tables(study: DebateStudy) -> dict[str, Table]:
    """Every table of a debate study."""
    common: Settings = {
        "agents": study.agents,
        "split_seed": study.splits.seed,
        **study.pool.model_dump(mode="json"),
    }
    fixed = {**common, "alphas": [str(alpha) for alpha in study.alphas], "split": study.splits.fixed}
    settings: dict[str, Settings] = {
        "rounds": {**fixed, "bootstrap": study.bootstrap.model_dump(mode="json")},
        "groups": fixed,
        "stopping": fixed,
        "wrong_consensus": fixed,
        "introduced": fixed,
        "selection": fixed,
        "baselines": common,
        "consensus_rounds": common,
        "weights": {**common, "split": study.splits.fixed},
        "parse_failures": {"agents": study.agents},
        "splits": {**common, "alphas": fixed["alphas"], "splits": study.splits.count},
    }
    return {name: Table([study.arm], content) for name, content in settings.items()}
