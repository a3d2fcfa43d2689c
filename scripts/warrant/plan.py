"""What a run can compute from the inputs at hand, and what it cannot and why.

Pure: from the configuration, the table of sources and a rule that says which sources are at hand. The
workflow builds what the plan lists; the report names what it leaves out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Final

from warrant.blocks import AveritecSample, Calls, Import, PanelImport, Run, Sample, Study, VitamincSample
from warrant.debate_blocks import DebateStudy
from warrant.errors import InputError, bad_input
from warrant.judge_blocks import Judge
from warrant.plan_tables import Settings, Table, bounds_table, case_settings, debate_tables, verdict_tables
from warrant.sources import Source

AtHand = Callable[[Source], bool]
RAW: Final = "data/raw"
ALLOWED: Final = "answers that did not come (`allow_missing`)"


@dataclass(frozen=True)
class Prepared:
    """A step that reads inputs: which program, which files, which settings."""

    program: str
    files: list[str]
    settings: Settings
    partial: bool = False


@dataclass(frozen=True)
class Called:
    """How an arm's judges are asked: the step that renders its requests, and the settings of the one that asks."""

    render: Prepared
    query: Settings


@dataclass(frozen=True)
class Missing:
    """Something that is not at hand: the tables it takes part in, those not built without it, the sources it lacks.

    No sources: answers of judges may be missing.
    """

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
    calls: dict[str, Called] = field(default_factory=dict)
    cases: Settings = field(default_factory=dict)

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


def plan_run(
    name: str, run: Run, sources: Mapping[str, Source], at_hand: AtHand, judges: Mapping[str, Judge] | None = None
) -> RunPlan:
    """Plan a run. Required sources count as available: the workflow fetches them.

    judges: those of config/models.yaml. InputError for an unknown source or judge.
    """
    planner = _Planner(name, run, sources, at_hand, judges or {})
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
    prompts = [arm.calls.prompt for arm in study.arms.values() if arm.calls is not None]
    prompts += [] if study.profile_prompt is None else [study.profile_prompt]
    return roles + prompts + [choice.rows for arm in study.arms.values() for choice in arm.imports]


def _roles(choice: Sample) -> dict[str, str]:
    """Inputs of a way to build a sample, by the role they play."""
    if isinstance(choice, AveritecSample):
        prompt = {} if choice.prompts is None else {"prompt": choice.prompts.template}
        return {"dev": choice.dev, "train": choice.train, **prompt}
    return {"split": choice.split} if isinstance(choice, VitamincSample) else {"rows": choice.rows}


class _Planner:
    def __init__(
        self, name: str, run: Run, sources: Mapping[str, Source], at_hand: AtHand, judges: Mapping[str, Judge]
    ) -> None:
        self.name = name
        self.run = run
        self.judges = judges
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
        calls: dict[str, Called] = {}
        for arm, block in study.arms.items():
            if block.calls is None:
                prepared, lacks[arm] = self.arm(study, arm)
            else:
                called, lacks[arm] = self.called(f"studies.{name}.arms.{arm}", block.contract, block.calls)
                prepared = None if called is None else self.parsed(name, arm, block.contract)
                calls |= {} if called is None else {arm: called}
            if prepared is not None:
                arms[arm] = prepared
        at_hand = {arm: prepared.partial for arm, prepared in arms.items()}
        tables = {**verdict_tables(study, at_hand), "profiles": self.profiles(study)}
        if calls and self.run.responses.allow_missing:
            tables |= bounds_table(study, at_hand)
        defined = verdict_tables(study, dict.fromkeys(study.arms, False))
        missing = []
        if lacking:
            missing.append(Missing(name, f"the sample from {lacking[0]}", ["composition"], [], lacking))
        for arm, without in lacks.items():
            if without:
                what = f"arm {arm}: partial, not every claim" if arm in arms else f"arm {arm}"
                readers = [table for table, plan in defined.items() if arm in plan.arms]
                unbuilt = [table for table in readers if table not in tables]
                missing.append(Missing(name, what, readers, unbuilt, without))
        if calls and self.run.responses.allow_missing:
            unbuilt = [table for table in defined if table not in tables]
            missing.append(Missing(name, ALLOWED, list(defined), unbuilt, []))
        return StudyPlan(name, study.kind, sample, arms, tables, missing, calls, case_settings(study, at_hand))

    def profiles(self, study: Study) -> Table:
        """The table of lengths: of prompts too, where the template is at hand."""
        prompt = study.profile_prompt
        files, sources = self.use({} if prompt is None or not self.available(prompt) else {"prompt": prompt})
        return Table([], {"sources": sources}, files=files)

    def called(self, place: str, contract: str, calls: Calls) -> tuple[Called | None, list[str]]:
        """How judges are asked, or the sources that the prompt lacks."""
        for judge in calls.judges:
            if judge not in self.judges:
                where, expected = f"config/runs/{self.name}.yaml", f"one of {sorted(self.judges)} (config/models.yaml)"
                raise bad_input(where, field=f"{place}.calls.judges", found=judge, expected=expected)
        if not self.available(calls.prompt):
            return None, [calls.prompt]
        files, sources = self.use({"prompt": calls.prompt})
        judges = {judge: self.judges[judge] for judge in calls.judges}
        render: Settings = {
            "contract": contract,
            "replicates": calls.replicates,
            "judges": {judge: block.sent() for judge, block in judges.items()},
            "simulated": any(block.provider == "simulated" for block in judges.values()),
            "sources": sources,
        }
        query: Settings = {
            **self.run.responses.model_dump(mode="json"),
            "run": self.name,
            "judges": {judge: block.transport() for judge, block in judges.items()},
        }
        return Called(Prepared("render", files, render), query), []

    def parsed(self, study: str, arm: str, contract: str) -> Prepared:
        """How the answers of an arm become verdicts."""
        program = "parse_certificates" if contract == "certificate" else "parse_verdicts"
        files = [f"results/{self.name}/{study}/responses/{arm}.parquet"]
        return Prepared(
            program, files, {"arm": arm, "contract": contract, "sources": []}, self.run.responses.allow_missing
        )

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
                    arms[arm] = Prepared(f"import_{choice.format}", files, {"arm": arm, "sources": sources})
                    break
                lacking += absent
            if lacking:
                readers = list(debate_tables(study)) if arm == study.arm else []
                unbuilt = [] if arm in arms else readers
                missing.append(Missing(name, f"arm {arm}", readers, unbuilt, sorted(set(lacking))))
        tables = debate_tables(study) if study.arm in arms else {}
        return StudyPlan(name, study.kind, sample, arms, tables, missing)

    def questions(self, name: str, study: DebateStudy) -> Prepared:
        lacking: list[str] = []
        for choice in study.sample:
            if self.available(choice.questions):
                files, sources = self.use({"questions": choice.questions})
                settings = {"study": name, "sources": sources, **choice.model_dump(mode="json", exclude={"format"})}
                return Prepared(f"sample_{choice.format}", files, settings)
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
            return Prepared(f"sample_{choice.format}", files, settings), lacking
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
            partial = choice.format == "taxonomy"
            return Prepared(f"import_{choice.format}", files, settings, partial), lacking
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


def missing_settings(plan: RunPlan) -> list[Settings]:
    """What is missing, as plain data for a rule's settings."""
    return [asdict(item) for item in plan.missing]
