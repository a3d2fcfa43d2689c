"""What a run can compute from the inputs at hand, and what it cannot and why.

Pure: from the configuration, the table of sources and a rule that says which sources are at hand. The
workflow builds what the plan lists; the report names what it leaves out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import combinations
from typing import Any, Final

from warrant.blocks import AveritecSample, Import, PanelImport, Run, Sample, Study, VitamincSample
from warrant.debate_blocks import DebateStudy
from warrant.errors import InputError
from warrant.sources import Source

AtHand = Callable[[Source], bool]
Settings = dict[str, Any]
RAW: Final = "data/raw"


@dataclass(frozen=True)
class Prepared:
    """A step that reads inputs: which program, which files, which settings."""

    format: str
    files: list[str]
    settings: Settings
    partial: bool = False


@dataclass(frozen=True)
class Table:
    """A table: the arms it reads and its settings."""

    arms: list[str]
    settings: Settings


@dataclass(frozen=True)
class Missing:
    """Something that is not at hand: the tables it takes part in, those not built without it, the sources it lacks."""

    study: str
    what: str
    tables: list[str]
    unbuilt: list[str]
    sources: list[str]


@dataclass(frozen=True)
class StudyPlan:
    """One study: how its sample and arms come about, and its tables by name."""

    name: str
    kind: str
    sample: Prepared
    arms: dict[str, Prepared]
    tables: dict[str, Table]
    missing: list[Missing] = field(default_factory=list)

    @property
    def outputs(self) -> str:
        """Folder of what the arms' imports write."""
        return "verdicts" if self.kind == "verdict" else "beliefs"


@dataclass(frozen=True)
class RunPlan:
    """One run. `absent` names required sources that are not at hand (they would have to be fetched)."""

    name: str
    studies: dict[str, StudyPlan]
    absent: list[str]

    @property
    def missing(self) -> list[Missing]:
        """What no study of the run can compute."""
        return [item for study in self.studies.values() for item in study.missing]


def plan_run(name: str, run: Run, sources: Mapping[str, Source], at_hand: AtHand) -> RunPlan:
    """Plan a run. Required sources count as available: the workflow fetches them. InputError for an unknown source."""
    planner = _Planner(sources, at_hand)
    for block in run.studies.values():
        for item in _inputs(block):
            planner.available(item)  # refuses a name that is no source, also behind a choice that is at hand
    studies = {
        study: planner.debate(study, block) if isinstance(block, DebateStudy) else planner.study(study, block)
        for study, block in run.studies.items()
    }
    absent = sorted(source for source in planner.used if not at_hand(sources[source]))
    return RunPlan(name, studies, absent)


def _inputs(study: Study | DebateStudy) -> list[str]:
    """Every input that a study names."""
    if isinstance(study, DebateStudy):
        models = [name for arm in study.arms.values() for choice in arm.imports for name in choice.models.values()]
        return [choice.questions for choice in study.sample] + models
    roles = [name for choice in study.sample for name in _roles(choice).values()]
    return roles + [choice.rows for arm in study.arms.values() for choice in arm.imports]


def _roles(choice: Sample) -> dict[str, str]:
    """Inputs of a way to build a sample, by the role they play."""
    if isinstance(choice, AveritecSample):
        prompt = {} if choice.prompts is None else {"prompt": choice.prompts.template}
        return {"dev": choice.dev, "train": choice.train, **prompt}
    return {"split": choice.split} if isinstance(choice, VitamincSample) else {"rows": choice.rows}


class _Planner:
    def __init__(self, sources: Mapping[str, Source], at_hand: AtHand) -> None:
        self.sources = sources
        self.at_hand = at_hand
        self.used: set[str] = set()  # required sources of what is planned

    def available(self, name: str) -> bool:
        if "/" in name:
            return True
        source = self.source(name)
        return not source.optional or self.at_hand(source)

    def source(self, name: str) -> Source:
        if name not in self.sources:
            raise InputError(f"config/sources.tsv: found no source {name!r}, expected one of {sorted(self.sources)}")
        return self.sources[name]

    def use(self, roles: Mapping[str, str]) -> tuple[list[str], list[Settings]]:
        """Files and settings of the inputs of a step, in order."""
        files, settings = [], []
        for role, name in roles.items():
            if "/" in name:
                files.append(name)
                settings.append({"role": role, "name": name, "sha256": "", "sha256_lf": "", "bytes": None})
            else:
                source = self.source(name)
                if not source.optional:
                    self.used.add(name)
                files.append(f"{RAW}/{source.file}")
                settings.append({"role": role, **source.settings()})
        return files, settings

    def study(self, name: str, study: Study) -> StudyPlan:
        sample, lacking = self.sample(name, study)
        arms: dict[str, Prepared] = {}
        lacks: dict[str, list[str]] = {}
        for arm in study.arms:
            prepared, lacks[arm] = self.arm(study, arm)
            if prepared is not None:
                arms[arm] = prepared
        tables = _tables(study, arms)
        defined = _tables(study, {arm: Prepared("", [], {}) for arm in study.arms})
        missing = []
        if lacking:
            missing.append(Missing(name, f"the sample from {lacking[0]}", ["composition"], [], lacking))
        for arm, without in lacks.items():
            if without:
                what = f"arm {arm}: partial, not every claim" if arm in arms else f"arm {arm}"
                readers = [table for table, plan in defined.items() if arm in plan.arms]
                unbuilt = [table for table in readers if table not in tables]
                missing.append(Missing(name, what, readers, unbuilt, without))
        return StudyPlan(name, study.kind, sample, arms, tables, missing)

    def debate(self, name: str, study: DebateStudy) -> StudyPlan:
        sample = self.questions(name, study)
        arms: dict[str, Prepared] = {}
        missing: list[Missing] = []
        for arm, block in study.arms.items():
            lacking: list[str] = []
            for choice in block.imports:
                absent = [source for source in choice.models.values() if not self.available(source)]
                if not absent:
                    files, sources = self.use(choice.models)
                    arms[arm] = Prepared(choice.format, files, {"arm": arm, "sources": sources})
                    break
                lacking += absent
            if lacking:
                readers = list(_debate_tables(study)) if arm == study.arm else []
                unbuilt = [] if arm in arms else readers
                missing.append(Missing(name, f"arm {arm}", readers, unbuilt, sorted(set(lacking))))
        tables = _debate_tables(study) if study.arm in arms else {}
        return StudyPlan(name, study.kind, sample, arms, tables, missing)

    def questions(self, name: str, study: DebateStudy) -> Prepared:
        lacking: list[str] = []
        for choice in study.sample:
            if self.available(choice.questions):
                files, sources = self.use({"questions": choice.questions})
                settings = {"study": name, "sources": sources, **choice.model_dump(mode="json", exclude={"format"})}
                return Prepared(choice.format, files, settings)
            lacking.append(choice.questions)
        raise InputError(f"study {name}: no sample can be built, lacking {lacking}")

    def sample(self, name: str, study: Study) -> tuple[Prepared, list[str]]:
        lacking: list[str] = []
        for choice in study.sample:
            roles = _roles(choice)
            absent = [item for item in roles.values() if not self.available(item)]
            if absent:
                lacking += absent
                continue
            files, sources = self.use(roles)
            settings = {"study": name, "sources": sources, **choice.model_dump(mode="json", exclude={"format"})}
            return Prepared(choice.format, files, settings), lacking
        raise InputError(f"study {name}: no sample can be built, lacking {lacking}")

    def arm(self, study: Study, name: str) -> tuple[Prepared | None, list[str]]:
        arm = study.arms[name]
        lacking: list[str] = []
        for choice in arm.imports:
            if not self.available(choice.rows):
                lacking.append(choice.rows)
                continue
            files, sources = self.use({"rows": choice.rows})
            settings = {"arm": name, "contract": arm.contract, "sources": sources, **choice.model_dump(mode="json")}
            if isinstance(choice, PanelImport):
                settings["all_systems"] = _all_systems(study, choice)
            return Prepared(choice.format, files, settings, partial=choice.format == "taxonomy"), lacking
        return None, lacking


def _all_systems(study: Study, choice: Import) -> list[str]:
    """Every system that the file may hold: those that some arm takes from it and those declared as left aside."""
    found = {
        system
        for arm in study.arms.values()
        for other in arm.imports
        if isinstance(other, PanelImport) and other.rows == choice.rows
        for system in (*other.systems, *other.other_systems)
    }
    return sorted(found)


def _tables(study: Study, arms: Mapping[str, Prepared]) -> dict[str, Table]:
    """The study's tables that the arms allow."""
    systems = {
        name: system.model_dump(mode="json", include={"arm", "judges"})
        for name, system in study.systems.items()
        if system.arm in arms
    }
    panel = study.typed_panel if study.typed_panel in systems else None
    validator = study.validator if study.validator in arms else None
    typed: Settings = {"typed_panel": None if panel is None else systems[panel], "validator": validator}
    typed_arms = ([] if panel is None else [systems[panel]["arm"]]) + ([] if validator is None else [validator])

    def reads(*names: str) -> list[str]:
        return sorted({systems[name]["arm"] for name in names} | set(typed_arms))

    def side_at_hand(side: str) -> bool:
        if side in study.systems:
            return side in systems
        if side == "validator":
            return validator is not None
        vetoes = side.startswith(("D/", "F@"))
        return panel is not None and (validator is not None or not vetoes)

    tables: dict[str, Table] = {}

    def table(name: str, possible: bool, read: Sequence[str], settings: Settings) -> None:
        if possible:
            tables[name] = Table(list(read), settings)

    for name in ("judges", "confusion"):
        table(name, bool(systems), reads(*systems), {"systems": systems, "validator": validator})
    rungs = {name: study.systems[name].rung for name in systems if study.systems[name].rung is not None}
    rung_systems = {name: {**systems[name], "rung": rung} for name, rung in rungs.items()}
    margins = [str(value) for value in study.vote_margins]
    taus = [str(value) for value in study.taus]
    ladder = {"systems": rung_systems, **typed, "taus": taus, "vote_margins": margins}
    table("ladder", bool(rungs) or panel is not None, reads(*rungs), ladder)
    table("arithmetic", panel is not None, typed_arms, {**typed, "taus": taus})
    contrasts = [c for c in _contrasts(study) if side_at_hand(c["a"]) and side_at_hand(c["b"])]
    sides = sorted({c[side] for c in contrasts for side in ("a", "b")} & set(systems))
    settings = {
        "systems": {name: systems[name] for name in sides},
        **typed,
        "contrasts": contrasts,
        "bootstrap": study.bootstrap.model_dump(mode="json"),
    }
    table("contrasts", bool(contrasts), reads(*sides), settings)
    complete = panel is not None and not arms[systems[panel]["arm"]].partial
    if study.null is not None:
        null = {**typed, **study.null.model_dump(mode="json")}
        table("null", complete and validator is not None, typed_arms, null)
    table("veto", panel is not None and validator is not None, typed_arms, typed)
    return tables


def _debate_tables(study: DebateStudy) -> dict[str, Table]:
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


def _contrasts(study: Study) -> list[dict[str, str]]:
    wanted = [{"name": c.name, "metric": metric, "a": c.a, "b": c.b} for c in study.contrasts for metric in c.metrics]
    for block in study.pairwise:
        wanted += [
            {"name": block.name, "metric": metric, "a": a, "b": b}
            for a, b in combinations(block.systems, 2)
            for metric in block.metrics
        ]
    return wanted


def missing_settings(plan: RunPlan) -> list[Settings]:
    """What is missing, as plain data for a rule's settings."""
    return [asdict(item) for item in plan.missing]
