"""Who answers requests. A provider makes a judge's requests and completes them; it knows nothing of estimators.

Adding one: a module with a `request` function and a class that satisfies `Provider`, and a line in each `match` below.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from warrant.request_key import Request


class Completion(NamedTuple):
    """A terminal answer: a status of the store and the bytes of the answer, with what the provider says of it."""

    status: str
    body: bytes
    finish_reason: str | None = None
    usage: Mapping[str, Any] | None = None
    returned_model: str | None = None
    retry_causes: Mapping[str, int] | None = None


class InfraError(Exception):
    """No answer came, after whatever retries the provider makes. Never stored: a later run asks again."""


class Provider(Protocol):
    """Completes requests, several at a time."""

    async def complete(self, request: Request) -> Completion:
        """The answer to a request; InfraError when none came."""
        ...


@dataclass(frozen=True)
class Case:
    """What a request may be made of, beside the prompt. Gold labels reach simulated judges and nobody else."""

    sha256: str
    gold: str
    contract: str


def request_for(
    judge: str, settings: Mapping[str, Any], messages: Sequence[Mapping[str, Any]], case: Case, replicate: int
) -> Request:
    """The request that asks a judge (its name, and what its block sends)."""
    match settings["provider"]:
        case "simulated":
            from warrant.providers import simulated

            return simulated.request(judge, settings, messages, case, replicate)
        case unknown:
            raise KeyError(unknown)


def provider_for(transport: Mapping[str, Any]) -> Provider:
    """The provider that a judge is reached by."""
    match transport["provider"]:
        case "simulated":
            from warrant.providers.simulated import Simulated

            return Simulated(float(transport["latency"]))
        case unknown:
            raise KeyError(unknown)
