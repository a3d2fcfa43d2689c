"""Blocks of a debate study."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Literal

from pydantic import Field, model_validator

from warrant.block import Block, Name, Sha256


class Subset(Block):
    """A stratified draw in place of the complete domains."""

    per_domain: Annotated[int, Field(ge=1)] = Field(description="questions per domain")
    seed: int
    sha256: Sha256 = Field(description="SHA-256 of the question ids, one a line, in case order")


class MmluProSample(Block):
    """Questions of MMLU-Pro's test split."""

    format: Literal["mmlu_pro"]
    questions: str = Field(description="input: the test split (Parquet)")
    domains: list[str] = Field(min_length=1, description="categories that are taken completely, or drawn from")
    subset: Subset | None = None


class CalibrationStudyImport(Block):
    """Answer letters and stated confidences, one file a model, in the order of the question file."""

    format: Literal["calibration_study"]
    models: dict[Name, str] = Field(min_length=1, description="model -> input (CSV)")


class DebateArm(Block):
    """One set of outputs: where the agents' beliefs come from."""

    imports: list[CalibrationStudyImport] = Field(
        min_length=1, description="the first whose inputs are at hand is used"
    )


class Pool(Block):
    """Constants of the pools."""

    entropy_scale: Annotated[Decimal, Field(ge=0)] = Field(default=Decimal(1), description="lambda of entropy weights")
    log_floor: Annotated[Decimal, Field(gt=0, lt=1)] = Field(
        default=Decimal("0.000001"), description="least probability in the logarithmic pool"
    )


class Splits(Block):
    """Recorded calibration/test splits."""

    seed: int
    count: Annotated[int, Field(ge=2)] = Field(default=200, description="splits of the table `splits`")
    fixed: Annotated[int, Field(ge=0)] = Field(default=0, description="number of the split that the other tables use")


class QuestionBootstrap(Block):
    """Bootstrap over test questions at the fixed split."""

    resamples: Annotated[int, Field(ge=100)] = 1000
    seed: int = 0


class DebateStudy(Block):
    """One study of agents' beliefs over options: pools, conformal sets, actions."""

    kind: Literal["debate"]
    title: str
    note: str | None = Field(default=None, description="shown with the study on the page")
    mark: str | None = Field(default=None, description="written into every figure")
    sample: list[MmluProSample] = Field(min_length=1, description="the first whose inputs are at hand is used")
    arms: dict[Name, DebateArm] = Field(min_length=1)
    arm: Name = Field(description="the arm that the tables read")
    agents: list[Name] = Field(min_length=1, description="agents of the panel, models of the arm")
    alphas: list[Annotated[Decimal, Field(gt=0, lt=1)]] = Field(min_length=1)
    pool: Pool = Pool()
    splits: Splits
    bootstrap: QuestionBootstrap = QuestionBootstrap()

    @model_validator(mode="after")
    def _names_exist(self) -> DebateStudy:
        if self.arm not in self.arms:
            raise ValueError(f"arm {self.arm!r} is not one of {sorted(self.arms)}")
        for choice in self.arms[self.arm].imports:
            unknown = sorted(set(self.agents) - set(choice.models))
            if unknown:
                raise ValueError(
                    f"agents {unknown} have no output in the arm {self.arm}, models are {sorted(choice.models)}"
                )
        if len(set(self.agents)) != len(self.agents):
            raise ValueError("an agent is listed twice")
        return self
