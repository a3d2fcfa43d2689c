"""What the API providers share: keys from the environment, exact bodies, one attempt, and what came of it.

The SDKs carry a request: address, authentication, connection. The body is this project's own JSON text, so that what
is sent is what the request's key stands for: decimals exact, nothing added. Of the environment only the key is read,
and proxies, which loopback addresses are never sent through.

A key never leaves this module but in a header: texts that an error quotes are searched for it, and errors are raised
outside of the handler that caught the SDK's, whose request carries it.
"""

from __future__ import annotations

import asyncio
import email.utils
import ipaddress
import os
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from math import isnan
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple
from urllib.parse import urlsplit

from warrant import strict_json
from warrant.calls.providers import Completion, InfraError, StopModel, TransientError
from warrant.calls.request_key import Request, canonical_json
from warrant.errors import InputError

if TYPE_CHECKING:
    import ssl
    from types import ModuleType

    import httpx2
    from anthropic import AsyncAnthropic
    from openai import AsyncOpenAI

MOST_WAIT: Final = 600.0  # seconds; whoever waits may cap further
LONGEST: Final = 300  # characters of a provider's own words
CALLS_A_CLIENT: Final = 8  # what a pool does for each call grows with its connections: at 256, it is most of the work
SECRET: Final = 8  # a key of fewer characters (EMPTY, none) is no secret and may be a word
FORMAT: Final = "structured"  # the key of a judge's block that gives the format of the answer
ESCAPE: Final = re.compile(rb"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)  # in JSON text
DATED: Final = re.compile(r"-(\d{4}-\d{2}-\d{2}|\d{8})")

# --- what failed -----------------------------------------------------------------------------------------------------

CAUSES: Final = {
    **dict.fromkeys(("ConnectError", "ConnectTimeout", "PoolTimeout", "ProxyError"), "connect"),
    **dict.fromkeys(("ReadTimeout", "WriteTimeout"), "timeout"),
    "DecodingError": "bad_body",
}  # of httpx2's exceptions by name; every other one: reset
AGAIN: Final = (408, 409, 429)  # and 500 to 599
STATUS_OF: Final = {  # what error bodies under HTTP 200 call themselves
    "overloaded_error": 529,
    "rate_limit_error": 429,
    "rate_limit_exceeded": 429,
    "insufficient_quota": 402,
    "billing_error": 402,
    "authentication_error": 401,
    "invalid_api_key": 401,
    "permission_error": 403,
    "not_found_error": 404,
    "model_not_found": 404,
    "request_too_large": 413,
    "invalid_request_error": 400,
}
CREDIT: Final = (
    "insufficient_quota",
    "billing_hard_limit_reached",
    "billing_error",
    "contract_spend_limit_reached",
    "enforced_spend_limit_reached",
)
CREDIT_SAID: Final = re.compile(r"credit balance|insufficient (credits?|balance|funds)|api usage limits", re.IGNORECASE)
FLAGGED: Final = (
    "content_filter",
    "content_policy_violation",
    "invalid_prompt",
)  # the prompt was refused, no call made
TOO_LONG: Final = ("context_length_exceeded", "request_too_large")
TOO_LONG_SAID: Final = re.compile(
    r"prompt is too long|maximum context length|context size|input is too long", re.IGNORECASE
)
REJECTED: Final = re.compile(
    r"unsupported|not support|unknown|unrecogni[sz]ed|unexpected|not permitted|deprecated|extra input|not allowed"
    r"|invalid|cannot|may only|must be|should be|less than|greater than|maximum",
    re.IGNORECASE,
)


class Failure(NamedTuple):
    """An error body: HTTP status (None: 200), the error object in it, what it says, and when to come back."""

    status: int | None
    error: Mapping[str, Any]
    said: str
    retry_after: float | None = None

    @property
    def names(self) -> list[str]:
        """What the error calls itself."""
        details = self.error.get("details")
        inner = details.get("error_code") if isinstance(details, Mapping) else None
        return [str(name) for name in (self.error.get("code"), inner, self.error.get("type")) if name is not None]


def error_in(body: object) -> Mapping[str, Any] | None:
    """The error that a JSON body carries, whatever its HTTP status; None when it carries none."""
    if not isinstance(body, Mapping):
        return None
    error = body.get("error")
    if isinstance(error, Mapping) and error:
        return error
    if isinstance(error, str) and error:
        return {"message": error}
    return body if body.get("object") == "error" or body.get("type") == "error" else None


def failure_of(failure: Failure, request: Request, settings_of: Mapping[str, str]) -> InfraError:
    """Whether another attempt may bring an answer, no call of the judge can, or this one request cannot be answered.

    settings_of: the keys of the judge's block that give a parameter, where its name is not the key.
    """
    status, names, said = failure.status, failure.names, failure.said
    if status is None:
        status = next((STATUS_OF[name] for name in names if name in STATUS_OF), None) or _http_status(failure.error)
    line = f"{failure.status or 'error body under HTTP 200'}{f': {said}' if said else ''}"
    if status == 402 or any(name in CREDIT for name in names) or CREDIT_SAID.search(said):
        return StopModel(f"credit exhausted ({line})")
    if failure.status is None and (status is None or status in AGAIN or status >= 500):
        return TransientError("429" if status == 429 else "error_body", failure.retry_after, said)
    assert status is not None
    if status in AGAIN or status >= 500:
        return TransientError(str(status), failure.retry_after, said)
    if status == 413 or any(name in TOO_LONG for name in names) or TOO_LONG_SAID.search(said):
        return InfraError(f"the request is too long for the model ({line})")
    name = rejected(failure, request, settings_of) if status in (400, 422) else None
    if name is not None:
        setting = f"parameters.{name}"
        if name in settings_of and (name not in request.parameters or settings_of[name] != FORMAT):
            setting = settings_of[name]
        return StopModel(f"the model does not take {name} as given: remove or change {setting} in its block ({line})")
    return StopModel(line)


def _http_status(error: Mapping[str, Any]) -> int | None:
    code = error.get("code", error.get("status"))
    code = int(code) if isinstance(code, str) and code.isascii() and code.isdecimal() and len(code) == 3 else code
    return code if type(code) is int and 400 <= code <= 599 else None


def rejected(failure: Failure, request: Request, settings_of: Mapping[str, str]) -> str | None:
    """The parameter that a provider complains of: the one it names, else the first that its words contain."""
    formats = [name for name, setting in settings_of.items() if setting == FORMAT and request.schema is not None]
    sent = [*request.parameters, *formats]
    named = failure.error.get("param")
    if isinstance(named, str) and (top := re.split(r"[.\[]", named)[0]) in sent:
        return top
    if not REJECTED.search(failure.said):
        return None
    places = {name: re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", failure.said) for name in sent}
    found = {name: place.start() for name, place in places.items() if place is not None}
    return min(found, key=found.__getitem__) if found else None


def is_flagged(failure: Failure) -> bool:
    """Whether a provider's policy refused the prompt: an answer, of no text."""
    metadata = failure.error.get("metadata")
    return any(name in FLAGGED for name in failure.names) or (
        isinstance(metadata, Mapping) and "flagged_input" in metadata
    )


def retry_after(headers: Mapping[str, str], now: datetime | None = None) -> float | None:
    """Seconds that Retry-After asks for, as a number or as an HTTP date; from 0 to MOST_WAIT, None without one."""
    milliseconds, said = _number(headers.get("retry-after-ms")), headers.get("retry-after")
    seconds = _number(said) if milliseconds is None else milliseconds / 1000
    if seconds is None and said is not None:
        try:
            date = email.utils.parsedate_to_datetime(said)
            seconds = ((date if date.tzinfo else date.replace(tzinfo=UTC)) - (now or datetime.now(UTC))).total_seconds()
        except (ValueError, TypeError, OverflowError):
            return None
    return None if seconds is None else min(MOST_WAIT, max(0.0, seconds))


def _number(text: str | None) -> float | None:
    try:
        number = float(text or "")
    except ValueError:
        return None
    return None if isnan(number) else number


# --- what is sent ----------------------------------------------------------------------------------------------------


def api_key(variable: str | None) -> str | None:
    """The key in an environment variable, read now; None where no variable is named. StopModel when it is not there."""
    if variable is None:
        return None
    key = os.environ.get(variable, "")
    if not key:
        raise StopModel(f"environment variable {variable} holds no API key")
    if not re.fullmatch(r"[!-~]+", key):
        raise StopModel(f"environment variable {variable} holds white space or other characters that no key has")
    return key


def repeats(key: str | None, raw: bytes) -> bool:
    """Whether a body has the key in it, as it is or with characters escaped as JSON may."""
    if key is None or len(key) < SECRET:
        return False
    return key.encode() in raw or (b"\\" in raw and key.encode() in ESCAPE.sub(_unescaped, raw))


def _unescaped(found: re.Match[bytes]) -> bytes:
    """The character of a JSON escape; one that no key has becomes a question mark."""
    code = int(found[1], 16) if found[1] else found[2][0]
    return bytes([code]) if code < 128 else b"?"


def without(key: str | None, text: str) -> str:
    """A text for people: one line, without the key, not long."""
    if key is not None and len(key) >= SECRET:
        text = text.replace(key, "[key]")
    line = " ".join(text.encode("utf-8", "replace").decode().split())
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 3]}..."


def json_text(value: Any) -> str:
    """JSON text of a value with keys in their order and numbers exact."""
    if isinstance(value, Mapping):
        return "{" + ",".join([f"{canonical_json(name)}:{json_text(item)}" for name, item in value.items()]) + "}"
    if isinstance(value, list | tuple):
        return f"[{','.join([json_text(item) for item in value])}]"
    return canonical_json(value)


def is_loopback(url: str) -> bool:
    """Whether an address is this machine's own."""
    host = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


# --- what came -------------------------------------------------------------------------------------------------------


class Answer(NamedTuple):
    """An answer as an API words it: text parts joined, why it ended, whether it was refused or cut off."""

    text: str
    finish_reason: str | None
    refused: bool
    truncated: bool


class NoAnswer(Exception):
    """A body that is no answer: cause and what is wrong with it."""

    def __init__(self, cause: str, said: str) -> None:
        """Cause of a TransientError, and words for it."""
        super().__init__(said)
        self.cause = cause


def completion(answer: Answer, body: Mapping[str, Any], raw: bytes, wrong: bool) -> Completion:
    """The completion of an answer; wrong: another model gave it, which outweighs all else."""
    kinds = {"wrong_model": wrong, "refusal": answer.refused, "truncated": answer.truncated}
    status = next((name for name, holds in kinds.items() if holds), "ok" if answer.text.strip() else "empty")
    usage = body.get("usage")
    if not isinstance(usage, Mapping) or not _is_json(usage):
        usage = None
    text = answer.text.encode("utf-8", "surrogatepass")
    return Completion(
        status=status,
        body=text,
        finish_reason=answer.finish_reason,
        usage=usage,
        returned_model=text_or_none(body.get("model")),
        raw=raw,
        returned_provider=text_or_none(body.get("provider")),
    )


def flagged(failure: Failure, key: str | None, raw: bytes) -> Completion:
    """The completion of a prompt that the provider's policy refused."""
    name = next(iter(failure.names), None)
    return Completion(
        "refusal", b"", None if name is None else without(key, name), raw=None if repeats(key, raw) else raw
    )


def _is_json(value: object) -> bool:
    try:
        canonical_json(value)
    except (InputError, RecursionError):
        return False
    return True


def text_or_none(value: object) -> str | None:
    """A text that can be stored, or None."""
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) and value else None


def parts(content: object, kind: str, member: str) -> str:
    """The texts of those parts of a content list that are of a kind, joined."""
    listed = content if isinstance(content, list) else []
    texts = [item.get(member) for item in listed if isinstance(item, Mapping) and item.get("type") == kind]
    return "".join(text for text in texts if isinstance(text, str))


def is_other_model(asked: str, returned: object, also_named: Iterable[str] = ()) -> bool:
    """Whether a named model is neither the one asked for, nor a dated version of it, nor one of its other names."""
    if not isinstance(returned, str) or not returned or returned == asked or returned in also_named:
        return False
    return not (returned.startswith(asked) and DATED.fullmatch(returned, len(asked)))


@cache
def certificates(trusting: bool) -> ssl.SSLContext:
    """What servers are known by, read once; trusting: as the environment says, too."""
    import httpx2

    return httpx2.create_ssl_context(trust_env=trusting)


# --- one attempt -----------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Connection:
    """A client, and the module that it comes from, of whose names APIStatusError, APIConnectionError, Omit are used.

    flying: the calls that it has in flight.
    """

    sdk: ModuleType
    client: AsyncOpenAI | AsyncAnthropic
    flying: int = 0


class Api(ABC):
    """A provider behind an HTTP API: clients of CALLS_A_CLIENT calls each, made as they are needed inside the loop."""

    # keys of the judge's block by the parameters that they give, where the names differ
    settings_of: ClassVar[Mapping[str, str]]

    def __init__(self, transport: Mapping[str, Any]) -> None:
        """How the judge is reached: the transport part of its block."""
        self.variable: str | None = transport["api_key_env"]
        self.timeout = float(transport["timeout"])
        self.also_named = frozenset(transport["also_named"])
        self._connections: dict[str, list[Connection]] = {}

    @abstractmethod
    def connect(self, base_url: str, key: str) -> Connection:
        """A client that retries nothing; `http_options` says how its connections are."""

    @abstractmethod
    def path(self, request: Request) -> str:
        """Where the request goes, below the base URL."""

    @abstractmethod
    def body(self, request: Request) -> Mapping[str, Any]:
        """What is sent."""

    @abstractmethod
    def read(self, request: Request, body: Mapping[str, Any]) -> Answer:
        """The answer in a body that carries no error; NoAnswer when there is none."""

    def headers(self, request: Request) -> Mapping[str, str]:
        """What of the request is sent as a header."""
        return {}

    async def complete(self, request: Request) -> Completion:
        """One attempt."""
        key = api_key(self.variable)
        connection = self._connection(request.base_url, key or "")
        connection.flying += 1
        try:
            outcome = await self._attempt(request, key, connection)
        finally:
            connection.flying -= 1
        if isinstance(outcome, InfraError):
            raise outcome
        return outcome

    async def close(self) -> None:
        """End the connections."""
        for connections in self._connections.values():
            for connection in connections:
                await connection.client.close()
        self._connections.clear()

    def _connection(self, base_url: str, key: str) -> Connection:
        """The first client that has room, so that few are busy and their connections are used again."""
        connections = self._connections.setdefault(base_url, [])
        for connection in connections:
            if connection.flying < CALLS_A_CLIENT:
                return connection
        connections.append(self.connect(base_url, key))
        return connections[-1]

    def http_options(self, base_url: str) -> dict[str, Any]:
        """Of the HTTP client: as many connections as calls, no redirect, the environment's proxies unless loopback."""
        import httpx2

        trusting = not is_loopback(base_url)
        return {
            "timeout": httpx2.Timeout(self.timeout),
            "limits": httpx2.Limits(max_connections=None, max_keepalive_connections=None),
            "follow_redirects": False,
            "trust_env": trusting,
            "verify": certificates(trusting),
        }

    async def _attempt(self, request: Request, key: str | None, connection: Connection) -> Completion | InfraError:
        """Send, and say what came; an SDK's exception, whose request carries the key, ends here."""
        sdk = connection.sdk
        try:
            async with asyncio.timeout(self.timeout):
                response = await self._post(request, key, connection)
        except TimeoutError:
            return TransientError("timeout", said=f"no answer in {self.timeout:g} s")
        except sdk.APIStatusError as error:
            return self._refused(request, key, error.response)
        except sdk.APIConnectionError as error:
            name = type(error.__cause__ or error).__name__
            return TransientError(CAUSES.get(name, "reset"), said=without(key, f"{name} {error.__cause__ or ''}"))
        return self._answered(request, key, response.content)

    async def _post(self, request: Request, key: str | None, connection: Connection) -> httpx2.Response:
        import httpx2

        connection.client.api_key = key or ""  # as the environment has it now; how it is sent is the SDK's matter
        headers = {**self.headers(request), **({"Authorization": connection.sdk.Omit()} if key is None else {})}
        return await connection.client.post(
            self.path(request),
            cast_to=httpx2.Response,
            content=json_text(self.body(request)).encode(),
            options={"headers": headers},
        )

    def _refused(self, request: Request, key: str | None, response: httpx2.Response) -> Completion | InfraError:
        """An HTTP status that is no success."""
        try:
            body = strict_json.loads(response.content.decode("utf-8-sig"))
        except (ValueError, RecursionError):
            body = None
        error = error_in(body) or (body if isinstance(body, Mapping) else {})
        said = error.get("message") or error.get("detail") or response.text
        failure = Failure(response.status_code, error, without(key, str(said)), retry_after(response.headers))
        if response.is_client_error and is_flagged(failure):
            return flagged(failure, key, response.content)
        return failure_of(failure, request, self.settings_of)

    def status_now(self, request: Request, raw: bytes) -> str:
        """The status of a stored answer, by what the model's names are now: its body as the provider sent it."""
        body = strict_json.loads(raw.decode("utf-8-sig"))
        wrong = is_other_model(request.model, body.get("model"), self.also_named)
        return completion(self.read(request, body), body, raw, wrong).status

    def _answered(self, request: Request, key: str | None, raw: bytes) -> Completion | InfraError:
        """A body under a status of success: an answer, an error, or no whole JSON object."""
        if repeats(key, raw):
            return StopModel("the response repeats the API key: it is not stored")
        try:
            body = strict_json.loads(raw.decode("utf-8-sig"))
        except (ValueError, RecursionError) as broken:
            return TransientError("bad_body", said=without(key, str(broken)))
        if not isinstance(body, Mapping):
            return TransientError("bad_body", said="no JSON object")
        if (error := error_in(body)) is not None:
            failure = Failure(None, error, without(key, str(error.get("message") or error)))
            if is_flagged(failure):
                return flagged(failure, key, raw)
            return failure_of(failure, request, self.settings_of)
        try:
            answer = self.read(request, body)
        except NoAnswer as no_answer:
            return TransientError(no_answer.cause, said=without(key, str(no_answer)))
        return completion(answer, body, raw, is_other_model(request.model, body.get("model"), self.also_named))
