"""Who answers requests. A provider makes a judge's requests and completes them; it knows nothing of estimators.

Adding one: a module with a `request` function and a class that satisfies `Provider`, and a line in each `match` below.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, runtime_checkable

from warrant.calls.request_key import Request


class Completion(NamedTuple):
    """A terminal answer: a status of the store and the bytes of the answer, with what the provider says of it.

    raw: the whole body of the provider's response, with all that has no place of its own (response id, system
    fingerprint, log-probabilities). returned_provider: whom an intermediary says it passed the request to. elapsed:
    microseconds that the call took, as whoever made it measured.
    """

    status: str
    body: bytes
    finish_reason: str | None = None
    usage: Mapping[str, Any] | None = None
    returned_model: str | None = None
    retry_causes: Mapping[str, int] | None = None
    raw: bytes | None = None
    returned_provider: str | None = None
    elapsed: int | None = None


class InfraError(Exception):
    """No answer came. Never stored: a later run asks again."""


class TransientError(InfraError):
    """No answer came and another attempt may bring one: a transport error, 408, 409, 429, 5xx, an error body.

    cause: a short code, as retries are counted by: an HTTP status, connect (nobody was reached), timeout, reset,
    bad_body, error_body. retry_after: seconds, where the provider said so.
    """

    def __init__(self, cause: str, retry_after: float | None = None, said: str = "") -> None:
        """What happened, how long to wait, and the provider's own words."""
        super().__init__(f"{cause}: {said}" if said else cause)
        self.cause = cause
        self.retry_after = retry_after


class StopModel(InfraError):
    """No call of this judge can succeed (400, 401, 403, 404, exhausted credit): it is asked nothing more now."""


class Provider(Protocol):
    """Completes requests, several at a time; one attempt each, never a retry of its own.

    One that holds connections has `async def close(self) -> None` too, which ends them after the last call.
    """

    async def complete(self, request: Request) -> Completion:
        """The answer to a request; TransientError, StopModel or another InfraError when none came."""
        ...


@runtime_checkable
class Rereading(Protocol):
    """A provider whose stored answers can be read again, because what the provider sent is kept."""

    def status_now(self, request: Request, raw: bytes) -> str:
        """The status of a stored answer, by what the model's names are now."""
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
            from warrant.calls.providers import simulated

            return simulated.request(judge, settings, messages, case, replicate)
        case "openai" | "openai_compatible":
            from warrant.calls.providers import openai_api

            return openai_api.request(settings, messages, case.contract, replicate)
        case "anthropic":
            from warrant.calls.providers import anthropic_api

            return anthropic_api.request(settings, messages, case.contract, replicate)
        case unknown:
            raise KeyError(unknown)


def provider_for(transport: Mapping[str, Any]) -> Provider:
    """The provider that a judge is reached by."""
    match transport["provider"]:
        case "simulated":
            from warrant.calls.providers.simulated import Simulated

            return Simulated(float(transport["latency"]))
        case "openai" | "openai_compatible":
            from warrant.calls.providers.openai_api import OpenAI

            return OpenAI(transport)
        case "anthropic":
            from warrant.calls.providers.anthropic_api import Anthropic

            return Anthropic(transport)
        case unknown:
            raise KeyError(unknown)
