"""Blocks of the configuration: one Pydantic model each.

A string that names an input is a source of config/sources.tsv, or, with a slash in it, a file of the project.
"""

from __future__ import annotations

import re
from decimal import Decimal
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
    replay: bool = Field(default=False, description="ask nobody in any run: stored answers only")
    text: bool = Field(default=False, description="show texts on the page whatever the licences of the sources say")
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


class ClaimsSample(Block):
    """Claims with their evidence from a file of your own, all of them."""

    format: Literal["claims"]
    rows: str = Field(
        description="input: JSON Lines with claim, label, evidence (a list of texts) and, if any, stratum"
    )


class PanelSample(Block):
    """The claims and gold labels that a panel file describes, where their evidence source is not at hand."""

    format: Literal["panel"]
    rows: str = Field(description="input: panel rows")


Sample = Annotated[AveritecSample | VitamincSample | ClaimsSample | PanelSample, Field(discriminator="format")]


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


class Calls(Block):
    """Judges that are asked: each about every case, with one prompt."""

    prompt: str = Field(description="input: the prompt template")
    judges: list[Name] = Field(min_length=1, description="judges of config/models.yaml")
    replicates: Annotated[int, Field(ge=1)] = Field(default=1, description="answers a judge gives to each case")


class Arm(Block):
    """One condition under which judges answered: its contract and where its outputs come from."""

    contract: Literal["3opt", "4opt", "certificate"]
    imports: list[Import] = Field(default=[], description="released outputs; the first whose input is at hand is used")
    calls: Calls | None = Field(default=None, description="judges that are asked")

    @model_validator(mode="after")
    def _one_origin(self) -> Arm:
        if bool(self.imports) == (self.calls is not None):
            raise ValueError("an arm has either imports or calls")
        return self


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


class Confidence(Block):
    """Stated confidence of the typed panel's commits."""

    taus: list[Share] = Field(default=[Decimal("0.85"), Decimal("0.90"), Decimal("0.95")], min_length=1)
    bins: Annotated[int, Field(ge=1)] = 10


class Sweep(Block):
    """Grid of thresholds."""

    low: Share = Decimal("0.50")
    high: Share = Decimal("0.99")
    step: Annotated[Decimal, Field(gt=0, le=1, decimal_places=18)] = Decimal("0.005")


class Risk(Block):
    """Choice of a controller on a calibration half under a bound on CPO_N."""

    alphas: list[Share] = Field(default=[Decimal(f"0.{item}") for item in (10, 15, 20, 25, 30)], min_length=1)
    splits: Annotated[int, Field(ge=1)] = 200
    seed: int = 20260522


class Screening(Block):
    """Screening models of directional outputs."""

    folds: Annotated[int, Field(ge=2)] = 5
    seed: int = 20260522
    other_deals: Annotated[int, Field(ge=0)] = Field(default=20, description="other fold draws, for their spread")
    resamples: Annotated[int, Field(ge=100)] = 2000


class Profile(Block):
    """What each outcome is worth: a cost is negative."""

    right_direction: Decimal
    wrong_direction: Decimal
    abstention_on_support_refute: Decimal
    unusable_on_support_refute: Decimal
    correct_conflicting: Decimal
    cpo: Decimal
    abstention_on_conflicting: Decimal
    unusable_on_conflicting: Decimal
    correct_insufficient: Decimal
    directional_on_insufficient: Decimal
    abstention_on_insufficient: Decimal
    unusable_on_insufficient: Decimal


class Utility(Block):
    """What systems are worth under cost profiles."""

    controllers: list[str] = Field(default=[], description="controllers beside the systems, named as in the tables")
    profiles: dict[Name, Profile] = Field(min_length=1)


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
    confidence: Confidence = Confidence()
    sweep: Sweep = Sweep()
    risk: Risk = Risk()
    utility: Utility | None = None
    screening: Screening | None = Screening()
    residual: list[str] = Field(default=[], description="systems whose CPO commits are followed up the ladder")
    taxonomy_tau: Share = Field(default=Decimal("0.80"), description="confidence counted as high in the taxonomy")
    profile_prompt: str | None = Field(default=None, description="input: prompt whose rendered length is profiled")
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
        for controller in [] if self.utility is None else self.utility.controllers:
            if not is_controller(controller):
                raise ValueError(f"utility: {controller!r} is not a controller")
        for base in self.residual:
            if base not in self.systems:
                raise ValueError(f"residual: {base!r} is not a system, systems are {sorted(self.systems)}")
        for pairwise in self.pairwise:
            for side in pairwise.systems:
                if side not in self.systems:
                    raise ValueError(f"pairwise {pairwise.name}: {side!r} is not a system")
        return self


def _kind(study: object) -> str:
    """A study without a kind is a verdict study."""
    return str(study.get("kind", "verdict")) if isinstance(study, dict) else str(getattr(study, "kind", "verdict"))


AnyStudy = Annotated[Annotated[Study, Tag("verdict")] | Annotated[DebateStudy, Tag("debate")], Discriminator(_kind)]


Money = Annotated[Decimal, Field(gt=0, decimal_places=6)]


class Responses(Block):
    """Where a run's answers are kept, and whether anybody is asked."""

    store: str = Field(default="cache/responses.sqlite", description="the response store, never deleted by a run")
    replay: bool = Field(default=False, description="ask nobody: an answer that is not stored is an error")
    in_flight: Annotated[int, Field(ge=1, le=1024)] = Field(default=16, description="most calls at a time")
    retries: Annotated[int, Field(ge=0, le=20)] = Field(default=1, description="most repeated calls for one answer")
    allow_missing: bool = Field(default=False, description="go on where an answer did not come; see table bounds")
    cap: Money | None = Field(default=None, description="most that the run may spend, worst case included")
    currency: str = Field(default="USD", description="of caps and prices")
    allow_unpriced: bool = Field(default=False, description="ask judges without a price; they count towards no cap")


class Run(Block):
    """config/runs/{run}.yaml: studies, their sources and settings."""

    title: str
    notice: str | None = Field(default=None, description="shown on the report when the run is not evidence")
    responses: Responses = Field(default=Responses(), description="where answers are kept and how they are asked for")
    studies: dict[Name, AnyStudy] = Field(min_length=1)
    audit: list[str] = Field(default=[], description="files of published numbers to compare with")


def is_controller(name: str) -> bool:
    """Whether a table name is a controller's (E@0.90, F@0.85, D/any, conflict_if_any, vote_margin@0.5, validator)."""
    kind, at, value = name.partition("@")
    if at:
        return kind in ("E", "F", "vote_margin") and re.fullmatch(r"0(\.[0-9]{1,18})?|1(\.0{1,18})?", value) is not None
    return name in ("conflict_if_any", "validator", "D/conflict_only", "D/insufficient_only", "D/any")
