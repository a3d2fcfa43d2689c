"""Blocks of the configuration: one Pydantic model each.

A string that names an input is a source of config/sources.tsv, or, with a slash in it, a file of the project.
"""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import BeforeValidator, Discriminator, Field, Tag, model_validator

from warrant.block import Block, Name, Sha256, Share
from warrant.debate_blocks import DebateStudy

Metric = Literal["cov", "se", "cpo_n", "cpo_c", "ovc_i", "acc_sr", "rec_c", "false_conflict", "accuracy"]


def _listed(value: object) -> object:
    """`runs=smoke` on the command line is one run, `runs=a,b` are two."""
    if isinstance(value, str):
        return [item.strip() for item in value.strip("[]").split(",") if item.strip()]
    return value


class Workflow(Block):
    """config/config.yaml: which runs are built by default, and how strict the audit is."""

    runs: Annotated[list[Name], BeforeValidator(_listed), Field(min_length=1)] = Field(
        default=["demo", "paper", "panel"], description="runs to build; each is a file in config/runs"
    )
    strict_audit: bool = Field(default=False, description="fail when an audit status is worse than the committed one")


class PromptCheck(Block):
    """Rendered prompts whose hashes were published: proof that the evidence text is rendered as it was."""

    template: str = Field(description="input with the placeholders <<CLAIM>> and <<EVIDENCE>>")
    sha256: dict[int, Sha256] = Field(description="case id -> SHA-256 of its rendered prompt")


class AveritecSample(Block):
    """Claims drawn from AVeriTeC's development and training files."""

    format: Literal["averitec"]
    dev: str = Field(description="input: the development file")
    train: str = Field(description="input: the training file")
    counts: dict[
        Literal["Supported", "Refuted", "Not Enough Evidence", "Conflicting-dev-all", "Conflicting-train"],
        Annotated[int, Field(ge=0)],
    ] = Field(description="claims per group; the order of keys plays no part")
    seed: int = Field(description="seed of the one generator")
    map_sha256: Sha256 | None = Field(default=None, description="SHA-256 that the written map must have")
    prompts: PromptCheck | None = None


class VitamincSample(Block):
    """Contrastive claims and controls constructed from a VitaminC split."""

    format: Literal["vitaminc"]
    split: str = Field(description="input: a split, one JSON object a line, or a zip that holds it")
    member: str | None = Field(default=None, description="file inside the zip")
    mixed: Annotated[int, Field(ge=0)] = Field(description="mixed cases")
    controls: dict[Literal["SUPPORTS", "REFUTES", "NOT ENOUGH INFO"], Annotated[int, Field(ge=0)]] = Field(
        description="pure cases per label; the order of keys plays no part"
    )
    seed: int = Field(description="seed of the mixed draw; the controls use the next number")


class PanelSample(Block):
    """The claims and gold labels that a panel file describes, where their evidence source is not at hand."""

    format: Literal["panel"]
    rows: str = Field(description="input: panel rows")


Sample = Annotated[AveritecSample | VitamincSample | PanelSample, Field(discriminator="format")]


class PanelImport(Block):
    """Judge outputs from panel rows."""

    format: Literal["panel"]
    rows: str = Field(description="input: panel rows, one line per system and case")
    systems: list[str] = Field(min_length=1, description="the file's systems that belong to this arm")
    other_systems: list[str] = Field(default=[], description="systems of the file that no arm takes")
    models: dict[str, Name] = Field(min_length=1, description="the file's model names -> ours")


class CertificatesImport(Block):
    """Certificates from validator rows."""

    format: Literal["certificates"]
    rows: str = Field(description="input: validator rows, one line per case")
    models: dict[str, Name] = Field(min_length=1, description="the file's model names -> ours")


class PredictionsImport(Block):
    """Verdicts from a per-case predictions table."""

    format: Literal["predictions"]
    rows: str = Field(description="input: predictions table (CSV)")
    dataset: str = Field(description="the table's name of the data set")
    models: dict[str, Name] = Field(min_length=1, description="the table's model names -> ours")


class TaxonomyImport(Block):
    """A partial panel: votes and confidences on the gold-conflicting claims."""

    format: Literal["taxonomy"]
    rows: str = Field(description="input: taxonomy table (CSV)")
    dataset: str = Field(description="the table's name of the data set")
    models: dict[str, Name] = Field(min_length=1, description="the table's model names -> ours")


Import = Annotated[PanelImport | CertificatesImport | PredictionsImport | TaxonomyImport, Field(discriminator="format")]


class Arm(Block):
    """One condition under which judges answered: its contract and where its outputs come from."""

    contract: Literal["3opt", "4opt", "certificate"]
    imports: list[Import] = Field(min_length=1, description="the first whose input is at hand is used")


class System(Block):
    """A judge or a panel of judges in one arm; the listed order decides three-way splits."""

    arm: Name
    judges: list[Name] = Field(min_length=1)
    rung: Literal["L0", "L1"] | None = Field(default=None, description="its rung of the ladder; none: not on it")


class ContrastBlock(Block):
    """b against the baseline a. Systems are named as in the tables, controllers included (E@0.90)."""

    name: Name
    a: str
    b: str
    metrics: list[Metric] = Field(min_length=1)


class Pairwise(Block):
    """Every pair of the listed systems."""

    name: Name
    systems: list[str] = Field(min_length=2)
    metrics: list[Metric] = Field(min_length=1)


class Bootstrap(Block):
    """Paired bootstrap."""

    resamples: Annotated[int, Field(ge=100)] = 5000
    seed: int = 20260522


class Null(Block):
    """Random-veto null."""

    tau_e: Share = Field(description="published form: threshold of E")
    tau_f: Share = Field(description="published form: threshold of F")
    matched: list[Share] = Field(min_length=1, description="matched form: thresholds")
    draws: Annotated[int, Field(ge=100)] = 2000
    seed: int = 0


class Study(Block):
    """One verdict study of a run."""

    kind: Literal["verdict"] = "verdict"
    title: str
    note: str | None = Field(default=None, description="shown with the study on the page")
    sample: list[Sample] = Field(min_length=1, description="the first whose inputs are at hand is used")
    arms: dict[Name, Arm] = {}
    systems: dict[str, System] = {}
    typed_panel: str | None = Field(default=None, description="the system that controllers act on")
    validator: str | None = Field(default=None, description="the arm of certificates")
    taus: list[Share] = []
    vote_margins: list[Share] = []
    contrasts: list[ContrastBlock] = []
    pairwise: list[Pairwise] = []
    bootstrap: Bootstrap = Bootstrap()
    null: Null | None = None

    @model_validator(mode="after")
    def _names_exist(self) -> Study:
        for name, system in self.systems.items():
            if system.arm not in self.arms:
                raise ValueError(f"system {name} names the arm {system.arm!r}, arms are {sorted(self.arms)}")
        if self.typed_panel is not None and self.typed_panel not in self.systems:
            raise ValueError(f"typed_panel {self.typed_panel!r} is not a system, systems are {sorted(self.systems)}")
        if self.validator is not None and self.validator not in self.arms:
            raise ValueError(f"validator {self.validator!r} is not an arm, arms are {sorted(self.arms)}")
        for contrast in self.contrasts:
            for side in (contrast.a, contrast.b):
                if side not in self.systems and not is_controller(side):
                    raise ValueError(f"contrast {contrast.name}: {side!r} is neither a system nor a controller")
        for pairwise in self.pairwise:
            for side in pairwise.systems:
                if side not in self.systems:
                    raise ValueError(f"pairwise {pairwise.name}: {side!r} is not a system")
        return self


def _kind(study: object) -> str:
    """A study without a kind is a verdict study."""
    return str(study.get("kind", "verdict")) if isinstance(study, dict) else str(getattr(study, "kind", "verdict"))


AnyStudy = Annotated[Annotated[Study, Tag("verdict")] | Annotated[DebateStudy, Tag("debate")], Discriminator(_kind)]


class Run(Block):
    """config/runs/{run}.yaml: studies, their sources and settings."""

    title: str
    notice: str | None = Field(default=None, description="shown on the report when the run is not evidence")
    studies: dict[Name, AnyStudy] = Field(min_length=1)
    audit: list[str] = Field(default=[], description="files of published numbers to compare with")


def is_controller(name: str) -> bool:
    """Whether a table name is a controller's (E@0.90, F@0.85, D/any, conflict_if_any, vote_margin@0.5, validator)."""
    kind, at, value = name.partition("@")
    if at:
        return kind in ("E", "F", "vote_margin") and re.fullmatch(r"0(\.[0-9]{1,18})?|1(\.0{1,18})?", value) is not None
    return name in ("conflict_if_any", "validator", "D/conflict_only", "D/insufficient_only", "D/any")
