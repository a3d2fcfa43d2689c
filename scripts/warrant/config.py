"""Configuration: one Pydantic model per block. Unknown keys are refused with the nearest valid key named.

A string that names an input is a source of config/sources.tsv, or, with a slash in it, a file of the project.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, get_args

import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from warrant.errors import InputError, bad_input

Sha256 = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$")]
Share = Annotated[Decimal, Field(ge=0, le=1)]
Model = TypeVar("Model", bound=BaseModel)
Metric = Literal["cov", "se", "cpo_n", "cpo_c", "ovc_i", "acc_sr", "rec_c", "false_conflict", "accuracy"]


class Block(BaseModel):
    """A block of configuration: no key but the declared ones, and no change after reading."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def _listed(value: object) -> object:
    """`runs=smoke` on the command line is one run, `runs=a,b` are two."""
    if isinstance(value, str):
        return [item.strip() for item in value.strip("[]").split(",") if item.strip()]
    return value


class Workflow(Block):
    """config/config.yaml: which runs are built by default, and how strict the audit is."""

    runs: Annotated[list[Name], BeforeValidator(_listed), Field(min_length=1)] = Field(
        default=["demo", "paper"], description="runs to build; each is a file in config/runs"
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

    title: str
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


class Run(Block):
    """config/runs/{run}.yaml: studies, their sources and settings."""

    title: str
    notice: str | None = Field(default=None, description="shown on the report when the run is not evidence")
    studies: dict[Name, Study] = Field(min_length=1)
    audit: list[str] = Field(default=[], description="files of published numbers to compare with")


def is_controller(name: str) -> bool:
    """Whether a table name is a controller's (E@0.90, F@0.85, D/any, conflict_if_any, vote_margin@0.5, validator)."""
    kind, at, value = name.partition("@")
    if at:
        return kind in ("E", "F", "vote_margin") and value.replace(".", "", 1).isdigit()
    return name in ("conflict_if_any", "validator", "D/conflict_only", "D/insufficient_only", "D/any")


def read_run(folder: Path, name: str) -> Run:
    """Read a run file, with what it extends; InputError in one line per mistake."""
    path = folder / f"{name}.yaml"
    return _validated(Run, _merged(folder, name, ()), path)


def _merged(folder: Path, name: str, below: tuple[str, ...]) -> dict[str, Any]:
    path = folder / f"{name}.yaml"
    if name in below:
        raise bad_input(path, field="extends", found=" -> ".join((*below, name)), expected="no circle")
    if not path.is_file():
        known = sorted(item.stem for item in folder.glob("*.yaml"))
        raise InputError(f"{path}: no such run, {_nearest(name, known) or f'runs are {known}'}")
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except yaml.YAMLError as error:
        raise bad_input(path, found=str(error), expected="YAML") from error
    if not isinstance(content, dict):
        raise bad_input(path, found=content, expected="a mapping")
    parent = content.pop("extends", None)
    return content if parent is None else _overlaid(_merged(folder, str(parent), (*below, name)), content)


def _overlaid(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """`over` on top of `base`, mappings merged key by key; a null removes the key."""
    merged = dict(base)
    for key, value in over.items():
        if value is None:
            merged.pop(key, None)
        elif isinstance(value, dict) and isinstance(merged.get(key), dict):
            merged[key] = _overlaid(merged[key], value)
        else:
            merged[key] = value
    return merged


def read_workflow(config: Mapping[str, Any]) -> Workflow:
    """Validate Snakemake's config (file and command line)."""
    return _validated(Workflow, dict(config), Path("config/config.yaml"))


def _validated(model: type[Model], content: Mapping[str, Any], path: Path) -> Model:
    try:
        return model.model_validate(content)
    except ValidationError as error:
        lines = [_line(model, path, item) for item in error.errors()]
        raise InputError("\n".join(dict.fromkeys(lines))) from None


def _line(model: type[BaseModel], path: Path, item: Any) -> str:
    place = ".".join(str(part) for part in item["loc"])
    if item["type"] == "extra_forbidden":
        keys = sorted(_keys_at(model, item["loc"][:-1]))
        return f"{path}, field {place}: unknown key, {_nearest(str(item['loc'][-1]), keys) or f'valid keys are {keys}'}"
    if item["type"] == "missing":
        return f"{path}, field {place}: found nothing, expected a value"
    return str(bad_input(path, field=place, found=item["input"], expected=item["msg"]))


def _nearest(word: str, known: Sequence[str]) -> str | None:
    close = difflib.get_close_matches(word, known, n=1, cutoff=0.5)
    return f"did you mean {close[0]!r}?" if close else None


def _keys_at(model: type[BaseModel], location: Sequence[Any]) -> set[str]:
    """Valid keys of the block at a location of a validation error."""
    here: list[type[BaseModel]] = [model]
    for part in location:
        nested = [inner for block in here for inner in _blocks(block, str(part))]
        here = nested or here
    return {name for block in here for name in block.model_fields}


def _blocks(block: type[BaseModel], part: str) -> Iterator[type[BaseModel]]:
    info = block.model_fields.get(part)
    if info is not None:
        yield from _models_in(info.annotation)
    elif "format" in block.model_fields and part in get_args(block.model_fields["format"].annotation):
        yield block  # the tag of a discriminated union is a step of the location


def _models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for inner in get_args(annotation):
        yield from _models_in(inner)


def schemas() -> dict[str, dict[str, Any]]:
    """JSON schemas of the configuration files, by file name; committed and held to the models by a test."""
    return {
        "config.schema.json": Workflow.model_json_schema(),
        "run.schema.json": Run.model_json_schema(),
    }


if __name__ == "__main__":  # PYTHONPATH=scripts python -m warrant.config: write the committed schemas anew
    for file, schema in schemas().items():
        target = Path(__file__).parents[2] / "workflow" / "schemas" / file
        target.parent.mkdir(exist_ok=True)
        target.write_text(json.dumps(schema, indent=2, sort_keys=True) + "\n", encoding="utf-8", newline="\n")
