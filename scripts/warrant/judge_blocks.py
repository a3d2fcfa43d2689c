"""config/models.yaml: who can be asked. One block a judge; what of it is sent is part of each request's key."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Any, Literal

from pydantic import Field, RootModel, model_validator

from warrant.block import Block, Name, Share

Seconds = Annotated[Decimal, Field(ge=0, le=3600, decimal_places=6)]


class SimulatedJudge(Block):
    """A judge that nobody trained: it is told the gold label and answers by chance, at stated rates.

    Whatever rests on its answers is marked SIMULATED. `warrant.simulation` states the law.
    """

    provider: Literal["simulated"]
    seed: int = Field(description="judges with the same seed share each case's difficulty")
    sensitivity: Share = Field(description="P(right direction), gold support or refute")
    reversal: Share = Field(description="P(opposite direction), gold support or refute")
    false_conflict: Share = Field(description="P(conflicting), gold support or refute")
    conflict_blindness: Share = Field(description="P(a direction), gold conflicting, contract with conflicting")
    untyped_blindness: Share = Field(description="P(a direction), gold conflicting, contract without conflicting")
    overcommitment: Share = Field(description="P(a direction), gold insufficient")
    correlation: Share = Field(description="of judges' errors on a case, rho of a Gaussian copula")
    confidence_right: Share = Field(description="mean confidence of right answers")
    confidence_wrong: Share = Field(description="mean confidence of wrong answers")
    confidence_noise: Share = Field(description="standard deviation of confidence")
    unusable: Share = Field(default=Decimal(0), description="P(no usable answer: cut off, refused or prose)")
    fenced: Share = Field(default=Decimal(0), description="P(the answer stands in a code fence)")
    latency: Seconds = Field(default=Decimal(0), description="seconds that an answer takes; not sent")

    @model_validator(mode="after")
    def _shares_fit(self) -> SimulatedJudge:
        if self.sensitivity + self.reversal + self.false_conflict > 1:
            raise ValueError("sensitivity, reversal and false_conflict exceed 1 together")
        return self

    def sent(self) -> dict[str, Any]:
        """What of the block a request carries, decimals as texts."""
        return self.model_dump(mode="json", exclude={"latency"})

    def transport(self) -> dict[str, Any]:
        """What says how the judge is reached; a change reruns no call."""
        return self.model_dump(mode="json", include={"provider", "latency"})


Judge = SimulatedJudge


class Models(RootModel[dict[Name, Judge]]):
    """config/models.yaml: judges by the names that runs and tables use."""
