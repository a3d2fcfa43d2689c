"""What every block of the configuration is made of."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

Sha256 = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$")]
Share = Annotated[Decimal, Field(ge=0, le=1, decimal_places=18)]


class Block(BaseModel):
    """A block of configuration: no key but the declared ones, and no change after reading."""

    model_config = ConfigDict(extra="forbid", frozen=True)
