"""config/models.yaml: who can be asked. One block a judge; what of it is sent is part of each request's key."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date
from decimal import Decimal
from typing import Annotated, Any, ClassVar, Literal, get_args
from urllib.parse import urlsplit

from pydantic import BaseModel, Field, JsonValue, RootModel, WrapValidator, field_validator, model_validator

from warrant.block import Block, Name, Share
from warrant.calls.request_key import canonical_json
from warrant.errors import InputError

Seconds = Annotated[Decimal, Field(ge=0, le=3600, decimal_places=6)]
Money = Annotated[Decimal, Field(ge=0, max_digits=24, decimal_places=12)]
Count = Annotated[int, Field(ge=1)]
Text = Annotated[str, Field(min_length=1)]


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


class Price(Block):
    """Per million tokens."""

    input: Money
    output: Money


class ApiJudge(Block):
    """A judge behind an API.

    A request is made of model, messages (the prompt, and nothing else), `parameters` and `extra_body`, exactly as they
    stand here: nothing is added, and a parameter that is left out is absent from the request and its key, which is not
    the same as its default. A model that rejects a parameter (reasoning models: temperature, max_tokens) stops its
    judge with a line that names it: leave it out here. Answers so far keep their keys; the judge is asked anew.

    Each of a case's replicates is sent alike: a seed among the parameters is the seed of all of them.
    """

    reached: ClassVar[frozenset[str]] = frozenset(
        {
            "api_key_env",
            "also_named",
            "timeout",
            "in_flight",
            "requests_per_minute",
            "tokens_per_minute",
            "price",
            "cap",
            "max_output_tokens",
        }
    )
    reserved: ClassVar[frozenset[str]] = frozenset(
        {
            "model",
            "messages",
            "input",
            "instructions",
            "system",
            "prompt",
            "n",
            "stream",
            "stream_options",
            "background",
            "api_key",
            "authorization",
        }
    )

    provider: str
    model: Text = Field(description="as the provider names it")
    base_url: str
    api_key_env: str | None = Field(default=None, description="name of the environment variable that holds the key")
    parameters: dict[str, JsonValue] = Field(default={}, description="sent exactly as given")
    extra_body: dict[str, JsonValue] = Field(
        default={}, description="sent beside the parameters: what only this server takes, as OpenRouter's provider"
    )
    structured: bool = Field(default=False, description="hold the model to the JSON schema of the arm's contract")
    also_named: list[Text] = Field(
        default=[], description="names under which the model answers, beside its own and dated versions of it"
    )
    timeout: Seconds = Field(default=Decimal(300), gt=0, description="seconds that a call may take in all")
    in_flight: Count | None = Field(default=None, description="most calls at a time; the run's unless told")
    requests_per_minute: Count | None = None
    tokens_per_minute: Count | None = None
    price: Price | None = Field(default=None, description="per million tokens")
    cap: Money | None = Field(default=None, description="most that a run may spend on this judge")
    max_output_tokens: Count | None = Field(
        default=None, description="of a call, for its worst-case price, where no parameter says; not sent"
    )

    @field_validator("base_url")
    @classmethod
    def _is_address(cls, url: str) -> str:
        try:
            parts = urlsplit(url)
            fine = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port is None or parts.port > 0)
        except ValueError:
            fine = False
        if not fine or "@" in url or "?" in url or "#" in url or not url.isascii() or re.search(r"\s", url):
            raise ValueError("expected an http or https address without user, password, query and fragment")
        return url

    @field_validator("api_key_env")
    @classmethod
    def _is_name(cls, name: str | None) -> str | None:
        if name is not None and not re.fullmatch("[A-Z][A-Z0-9_]*", name):  # it may be the key: it is not shown
            raise ValueError("expected the name of an environment variable (capitals, digits, _), never the key itself")
        return name

    @model_validator(mode="after")
    def _what_is_sent_fits(self) -> ApiJudge:
        for place, given in (("parameters", self.parameters), ("extra_body", self.extra_body)):
            for name in given:
                if name in self.reserved:
                    raise ValueError(f"{place}.{name} is not a parameter that can be given")
                if name in self.made():
                    raise ValueError(f"{place}.{name} is given by {self.made()[name]}")
            try:
                canonical_json(given, place)
            except InputError as error:
                raise ValueError(str(error)) from None
        if both := sorted(self.parameters.keys() & self.extra_body.keys()):
            raise ValueError(f"{both[0]} stands in parameters and in extra_body")
        return self

    def made(self) -> dict[str, str]:
        """Parameters that another key of the block gives, and which key."""
        return {}

    def sent(self) -> dict[str, Any]:
        """What of the block requests are made of."""
        return self.model_dump(mode="json", exclude=set(self.reached))

    def transport(self) -> dict[str, Any]:
        """What says how the judge is reached, decimals as texts; a change reruns no call."""
        return self.model_dump(mode="json", include={"provider", *self.reached})


class OpenAIJudge(ApiJudge):
    """A model of OpenAI's."""

    provider: Literal["openai"]
    api: Literal["chat", "responses"] = Field(default="chat", description="Chat Completions or Responses")
    base_url: str = "https://api.openai.com/v1"
    api_key_env: str | None = "OPENAI_API_KEY"
    log_probabilities: int | None = Field(default=None, ge=0, le=20, description="alternatives a token, top_logprobs")

    @model_validator(mode="after")
    def _formats_fit(self) -> OpenAIJudge:
        given = {**self.parameters, **self.extra_body}
        if self.api == "responses":
            _may_hold(given, "text", "format" if self.structured else None, dict)
            _may_hold(given, "include", None, list)
        return self

    def made(self) -> dict[str, str]:
        """The format of the answer, and log-probabilities."""
        responses = self.api == "responses"
        return _made_by_chat(self.structured and not responses, self.log_probabilities is not None)


class OpenAICompatibleJudge(ApiJudge):
    """A model on a server that speaks Chat Completions: OpenRouter, Groq, Mistral, vLLM, llama.cpp, Ollama.

    Where the server passes requests on, pin who answers: OpenRouter with `extra_body: {provider: {only: [name],
    allow_fallbacks: false}}`.
    """

    provider: Literal["openai_compatible"]
    log_probabilities: int | None = Field(default=None, ge=0, le=20, description="alternatives a token, top_logprobs")

    def made(self) -> dict[str, str]:
        """The format of the answer, and log-probabilities."""
        return _made_by_chat(self.structured, self.log_probabilities is not None)


class AnthropicJudge(ApiJudge):
    """A model of Anthropic's. `max_tokens` is a parameter that its API requires; log-probabilities it has none.

    Its version 2026-10-21 takes no temperature, top_p and top_k; 2023-06-01 does, where the model does.
    """

    provider: Literal["anthropic"]
    api_version: Annotated[str, Field(pattern=r"^\d{4}-\d{2}-\d{2}$")] = Field(
        default="2026-10-21", description="sent as the header anthropic-version"
    )
    base_url: str = "https://api.anthropic.com"
    api_key_env: str | None = "ANTHROPIC_API_KEY"

    @field_validator("api_version", mode="before")
    @classmethod
    def _is_text(cls, version: object) -> object:
        return version.isoformat() if isinstance(version, date) else version  # YAML reads one without quotes as a date

    @model_validator(mode="after")
    def _formats_fit(self) -> AnthropicJudge:
        removed = sorted({*self.parameters, *self.extra_body} & {"temperature", "top_p", "top_k"})
        if removed and self.api_version >= "2026-10-21":
            raise ValueError(f"parameters.{removed[0]}: leave it out, or say api_version: '2023-06-01', which has it")
        if "anthropic-version" in self.parameters or "anthropic-version" in self.extra_body:
            raise ValueError("anthropic-version is given by api_version")
        most = self.parameters.get("max_tokens")
        if type(most) is not int or most < 1:
            raise ValueError("parameters.max_tokens is missing or no whole number from 1: this API requires it")
        _may_hold({**self.parameters, **self.extra_body}, "output_config", "format" if self.structured else None, dict)
        return self


def _made_by_chat(structured: bool, log_probabilities: bool) -> dict[str, str]:
    formats = {"response_format": "structured"} if structured else {}
    return formats | (dict.fromkeys(("logprobs", "top_logprobs"), "log_probabilities") if log_probabilities else {})


def _may_hold(given: Mapping[str, Any], name: str, taken: str | None, kind: type) -> None:
    """A parameter that something is added to is of its kind, and leaves that something out."""
    if not isinstance(given.get(name, kind()), kind):
        raise ValueError(f"{name} is no {'list' if kind is list else 'mapping'}")
    if taken is not None and taken in given.get(name, ()):
        raise ValueError(f"{name}.{taken} is given by structured")


class _Provider(BaseModel):
    """What of a block says which kind it is."""

    provider: Literal["simulated", "openai", "openai_compatible", "anthropic"]


def _by_provider(block: Any, union: Any) -> Any:
    """Read a block as its provider has it, so that a mistake has the place at which it stands and no other."""
    if not isinstance(block, dict):
        return union(block)
    kinds = {get_args(kind.model_fields["provider"].annotation)[0]: kind for kind in KINDS}
    kind = kinds[_Provider.model_validate(block).provider]
    others = {name for other in KINDS for name in other.model_fields} - set(kind.model_fields)
    if strange := sorted(others.intersection(block)):
        raise ValueError(f"{strange[0]} is no key of provider {block['provider']}")
    return kind.model_validate(block)


KINDS: tuple[type[Block], ...] = (SimulatedJudge, OpenAIJudge, OpenAICompatibleJudge, AnthropicJudge)
Judge = Annotated[
    Annotated[SimulatedJudge | OpenAIJudge | OpenAICompatibleJudge | AnthropicJudge, Field(discriminator="provider")],
    WrapValidator(_by_provider),
]


class Models(RootModel[dict[Name, Judge]]):
    """config/models.yaml: judges by the names that runs and tables use."""
