"""Providers behind APIs, against servers that speak the real formats: what is sent, what an answer becomes, what fails.

The servers know no SDK, the providers no server: what meets here is the wire.
"""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import socket
import subprocess
import sys
import traceback
import tracemalloc
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import wire_servers as wire
from hypothesis import given
from hypothesis import strategies as st
from wire_servers import VERDICT, Call, Reply, Server, serving

from warrant import strict_json
from warrant.calls import spend
from warrant.calls.limits import Limits
from warrant.calls.providers import Case, Completion, InfraError, StopModel, TransientError, provider_for, request_for
from warrant.calls.providers.answer_schemas import answer_schema, in_order
from warrant.calls.providers.wire import MOST_WAIT, is_loopback, is_other_model, json_text, repeats, retry_after
from warrant.calls.query import Asking, Judge, Outcome, Question
from warrant.calls.request_key import Request, canonical_json, parse
from warrant.calls.store import Store
from warrant.calls.store import answer as stored
from warrant.judge_blocks import ApiJudge, Models
from warrant.labels import CONTRACTS
from warrant.parse_verdict import parse_certificate, parse_verdict

KEY = "sk-test-Zq7_planted-0123456789"
KINDS = ("openai", "responses", "anthropic", "openai_compatible")
TEXT = 'Naïve "claim"\u2028 <<X>> \x00 — 5 €'
MESSAGES = [{"role": "user", "content": TEXT}]


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted key, and nothing else that an SDK reads."""
    for name in ("OPENAI", "ANTHROPIC"):
        for part in ("API_KEY", "BASE_URL", "ORG_ID", "PROJECT_ID", "AUTH_TOKEN", "ADMIN_KEY", "CUSTOM_HEADERS"):
            monkeypatch.delenv(f"{name}_{part}", raising=False)
    monkeypatch.setenv("TEST_KEY", KEY)


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as running:
        yield running


def block(kind: str, server: Server | None = None, **changed: Any) -> ApiJudge:
    """A judge of each kind on a loopback server."""
    provider = "openai" if kind == "responses" else kind
    own: dict[str, Any] = {"parameters": {"max_tokens": 300}}
    if kind == "responses":
        own = {"api": "responses", "parameters": {"max_output_tokens": 300}}
    address = "http://127.0.0.1:9/v1" if server is None else server.base_url(provider)
    given = {"provider": provider, "model": "m-1", "base_url": address, "api_key_env": "TEST_KEY", "timeout": "5"}
    made = Models.model_validate({"j": {**given, **own, **changed}}).root["j"]
    assert isinstance(made, ApiJudge)
    return made


def question(judge: ApiJudge, contract: str = "4opt", replicate: int = 0) -> Request:
    """A request as it comes out of the requests artifact: rendered, stored as canonical JSON, read."""
    settings = json.loads(json.dumps(judge.sent()))
    made = request_for("j", settings, MESSAGES, Case("0" * 64, "support", contract), replicate)
    return parse(made.canonical())


async def complete(judge: ApiJudge, *requests: Request) -> list[Completion | BaseException]:
    """Completions of requests, or what was raised, from one provider that is closed at the end."""
    provider: Any = provider_for(json.loads(json.dumps(judge.transport())))
    found: list[Completion | BaseException]
    try:
        found = await asyncio.gather(*(provider.complete(item) for item in requests), return_exceptions=True)
    finally:
        await provider.close()
    return found


def ask(judge: ApiJudge, request: Request | None = None) -> Completion:
    """One completion."""
    (outcome,) = asyncio.run(complete(judge, request or question(judge)))
    if isinstance(outcome, BaseException):
        raise outcome
    return outcome


def failure(judge: ApiJudge) -> InfraError:
    """What one call raises."""
    with pytest.raises(InfraError) as caught:
        ask(judge)
    return caught.value


def key_in(call: Call) -> str:
    """The key that a call carries, in either of the headers for one."""
    return call.headers.get("x-api-key") or call.headers["authorization"].removeprefix("Bearer ")


# --- what is sent ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_sent_is_the_request(server: Server, kind: str) -> None:
    """Body: the parts of the canonical request under the API's names, and nothing else. Path, key and no retry."""
    changed: dict[str, Any] = {"extra_body": {"provider": {"only": ["groq"], "allow_fallbacks": False}}}
    judge = block(kind, server, **changed)
    request = question(judge)
    ask(judge, request)
    (call,) = server.calls
    canonical = json.loads(request.canonical())
    version = canonical["parameters"].pop("anthropic-version", None)
    messages = "input" if kind == "responses" else "messages"
    assert call.body == {"model": "m-1", messages: canonical["messages"], **canonical["parameters"]}
    path = {"responses": "/v1/responses", "anthropic": "/v1/messages"}.get(kind, "/v1/chat/completions")
    assert (call.method, call.path) == ("POST", path)
    assert key_in(call) == KEY
    assert call.headers.get("anthropic-version") == version
    assert call.headers["x-stainless-retry-count"] == "0"


@pytest.mark.parametrize("kind", KINDS)
def test_numbers_and_texts_are_sent_exactly(server: Server, kind: str) -> None:
    """Bytes of the body: decimals as their text, code points as they are."""
    judge = block(kind, server)
    plain = question(judge)
    exact = {**plain.parameters, "w": Decimal("0.950"), "x": Decimal("1E-7"), "y": 1.0, "z": 1, "none": None}
    request = Request(plain.provider, plain.base_url, plain.model, MESSAGES, exact, None, 0)
    ask(judge, request)
    content = server.calls[0].content
    for part in (b'"w":0.950', b'"x":1E-7', b'"y":1.0', b'"z":1', b'"none":null', "5 €".encode()):
        assert part in content
    assert parse(request.canonical()).key() == request.key()


SENDABLE = st.text(st.characters(exclude_categories=["Cs"]))
NUMBERS = st.integers() | st.decimals(allow_nan=False, allow_infinity=False)
JSON = st.recursive(
    st.none() | st.booleans() | NUMBERS | SENDABLE,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(SENDABLE, inner, max_size=3),
    max_leaves=8,
)


@given(JSON)
def test_sent_text_is_the_canonical_text_but_for_order(value: Any) -> None:
    """Read back and sorted, it is the text under the key."""
    assert canonical_json(strict_json.loads(json_text(value))) == canonical_json(value)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("contract", CONTRACTS)
def test_the_schema_is_sent_in_each_form(server: Server, kind: str, contract: str) -> None:
    """The format object of the API is the request's schema, properties in the order in which to write them."""
    given: dict[str, dict[str, Any]] = {
        "responses": {"parameters": {"text": {"verbosity": "low"}}},
        "anthropic": {"parameters": {"max_tokens": 9, "output_config": {"effort": "low"}}},
    }
    judge = block(kind, server, structured=True, **given.get(kind, {}))
    request = question(judge, contract)
    ask(judge, request)
    body = server.calls[0].body
    sent = {
        "responses": lambda: body["text"]["format"],
        "anthropic": lambda: body["output_config"]["format"],
    }.get(kind, lambda: body["response_format"])()
    assert sent == json.loads(canonical_json(request.schema))
    assert sent["type"] == "json_schema"
    schema = sent["json_schema"]["schema"] if "json_schema" in sent else sent["schema"]
    first = "subclaims" if contract == "certificate" else "verdict"
    assert list(schema["properties"]) == schema["required"]
    assert schema["required"][0] == first
    if kind == "responses":
        assert body["text"]["verbosity"] == "low"
    if kind == "anthropic":
        assert body["output_config"]["effort"] == "low"


def test_log_probabilities_are_asked_for_and_kept(server: Server) -> None:
    """By each API's parameters, which are in the key; the answer's are in the raw body, digit for digit."""
    judge = block("openai", server, log_probabilities=5)
    found = ask(judge)
    assert {name: server.calls[0].body[name] for name in ("logprobs", "top_logprobs")} == {
        "logprobs": True,
        "top_logprobs": 5,
    }
    assert found.raw is not None
    assert b"-0.012345678901234567" in found.raw
    judge = block("responses", server, log_probabilities=2, parameters={"include": ["x"]})
    ask(judge)
    assert server.calls[1].body["include"] == ["x", "message.output_text.logprobs"]
    assert server.calls[1].body["top_logprobs"] == 2


@pytest.mark.parametrize("contract", CONTRACTS)
def test_schemas_hold_what_the_parser_takes(contract: str) -> None:
    """An answer in the schema is parsed without repair, for each label of the contract; a label outside is in neither.

    Strict modes: every property is required and there are no others.
    """
    schema = answer_schema(contract)
    name = "final_verdict" if contract == "certificate" else "verdict"
    labels = schema["properties"][name]["enum"]
    assert len(labels) == len(CONTRACTS[contract])
    subclaim = {
        "text": "a", "material": True, "evidence_state": "mixed", "evidence_ids": ["E1"], "rationale": "b",
    }  # fmt: skip
    for label in [*labels, "MIXED"]:
        said: dict[str, Any] = {name: label, "confidence": 0.5, "reasoning": "c"}
        if contract == "certificate":
            said["subclaims"] = [subclaim]
        valid = jsonschema.Draft202012Validator(schema).is_valid(said)
        text = json.dumps(said)
        parsed = parse_certificate(text) if contract == "certificate" else parse_verdict(text, contract)
        assert valid == (parsed.parse_status == "ok") == (label != "MIXED")

    def check(part: Any) -> None:
        if isinstance(part, dict):
            if part.get("type") == "object":
                assert part["additionalProperties"] is False
                assert set(part["required"]) == set(part["properties"])
            for inner in part.values():
                check(inner)

    check(schema)
    assert list(in_order(json.loads(canonical_json(schema)))["properties"]) == list(schema["properties"])


# --- what an answer becomes ------------------------------------------------------------------------------------------

FINISH = {"openai": "stop", "responses": "completed", "anthropic": "end_turn", "openai_compatible": "stop"}


@pytest.mark.parametrize("kind", KINDS)
def test_an_answer(server: Server, kind: str, tmp_path: Path) -> None:
    """Text as bytes (parts joined, thinking left out), the provider's own words and counts, the whole raw body."""
    judge = block(kind, server)
    request = question(judge)
    found = ask(judge, request)
    assert (found.status, found.body.decode(), found.finish_reason) == ("ok", VERDICT, FINISH[kind])
    assert (found.returned_model, found.retry_causes, found.returned_provider) == ("m-1", None, None)
    assert found.raw is not None
    assert found.raw == wire.answer(server.calls[0]).content
    assert found.usage == json.loads(found.raw)["usage"]
    assert spend.tokens(found.usage) == {
        "responses": (36, 87), "anthropic": (2095, 503),
    }.get(kind, (19, 10))  # fmt: skip
    with Store(tmp_path / "s.sqlite") as store:
        assert store.put(stored(request, **found._asdict()))
        assert store.get_many([request.key()])[request.key()].raw == found.raw


def said(kind: str, **how: Any) -> Callable[[Call], Reply]:
    """An answer that ended in a given way."""
    make: Any = {"responses": wire.responses, "anthropic": wire.messages}.get(kind, wire.chat)
    return lambda call: wire.ok(make(call, **how))


ENDINGS = [
    ("openai", {"text": None, "refusal": "I can't help."}, "refusal", b"I can't help.", "stop"),
    ("openai", {"text": '{"verd', "finish": "content_filter"}, "refusal", b'{"verd', "content_filter"),
    ("openai", {"text": '{"verd', "finish": "length"}, "truncated", b'{"verd', "length"),
    ("openai", {"text": "", "finish": "length"}, "truncated", b"", "length"),
    ("openai", {"text": None}, "empty", b"", "stop"),
    ("openai", {"text": " \n"}, "empty", b" \n", "stop"),
    ("openai", {"text": None, "finish": "tool_calls"}, "empty", b"", "tool_calls"),
    ("openai", {"text": "\ud800 \x00"}, "ok", b"\xed\xa0\x80 \x00", "stop"),
    ("openai_compatible", {"text": "x", "finish": "eos"}, "ok", b"x", "eos"),
    ("openai_compatible", {"text": "x", "finish": "model_length"}, "truncated", b"x", "model_length"),
    ("openai_compatible", {"text": [{"type": "thinking", "thinking": []}, {"type": "text", "text": "a"},
                                    {"type": "text", "text": "b"}]}, "ok", b"ab", "stop"),
    ("responses", {"text": None, "refusal": "I can't."}, "refusal", b"I can't.", "completed"),
    ("responses", {"text": "ab", "reason": "content_filter"}, "refusal", b"ab", "content_filter"),
    ("responses", {"text": "ab", "reason": "max_output_tokens"}, "truncated", b"ab", "max_output_tokens"),
    ("responses", {"text": None, "reason": "max_output_tokens"}, "truncated", b"", "max_output_tokens"),
    ("responses", {"text": None}, "empty", b"", "completed"),
    ("anthropic", {"text": None, "reason": "refusal"}, "refusal", b"", "refusal"),
    ("anthropic", {"text": "ab", "reason": "refusal"}, "refusal", b"ab", "refusal"),
    ("anthropic", {"text": "ab", "reason": "max_tokens"}, "truncated", b"ab", "max_tokens"),
    ("anthropic", {"text": "a", "reason": "model_context_window_exceeded"}, "truncated", b"a",
     "model_context_window_exceeded"),
    ("anthropic", {"text": "ab", "reason": "pause_turn"}, "truncated", b"ab", "pause_turn"),
    ("anthropic", {"text": "ab", "reason": "stop_sequence"}, "ok", b"ab", "stop_sequence"),
    ("anthropic", {"text": None}, "empty", b"", "end_turn"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "how", "status", "body", "finish"), ENDINGS, ids=str)
def test_how_an_answer_ended(
    server: Server, kind: str, how: dict[str, Any], status: str, body: bytes, finish: str
) -> None:
    """Each is an answer with its status, kept with its text, and never asked for again."""
    server.default = said(kind, **how)
    found = ask(block(kind, server))
    assert (found.status, found.body, found.finish_reason) == (status, body, finish)
    assert found.usage is not None
    assert len(server.calls) == 1


@pytest.mark.parametrize(
    ("returned", "wrong"),
    [
        ("m-1", False),
        ("m-1-2026-08-07", False),
        ("m-1-20260807", False),
        ("vendor/m-1-fast", False),
        (None, False),
        ("m-1-mini", True),
        ("m-1-2026-08-07-mini", True),
        ("m-12026-08-07", True),
        ("m-1-2026080", True),
        ("M-1", True),
        ("m", True),
    ],
)
@pytest.mark.parametrize("kind", KINDS)
def test_another_model_has_a_status_of_its_own(server: Server, kind: str, returned: str | None, wrong: bool) -> None:
    """Neither the one asked for, nor a dated version, nor another name of it: its answer is kept and is nobody's."""
    server.default = lambda call: wire.answer(call, model=returned)
    found = ask(block(kind, server, also_named=["vendor/m-1-fast"]))
    assert found.status == ("wrong_model" if wrong else "ok")
    assert (found.returned_model, found.body.decode()) == (returned, VERDICT)


def test_another_model_outweighs_how_its_answer_ended(server: Server) -> None:
    """Cut off or refused by somebody else is still somebody else."""
    server.default = lambda call: wire.ok({**wire.chat(call, "a", "length"), "model": "other"})
    assert ask(block("openai", server)).status == "wrong_model"
    assert not is_other_model("m", 7)


def test_an_intermediary_says_who_answered(server: Server) -> None:
    """OpenRouter's `provider`; its cost, a decimal, stays exact; what cannot be stored is in the raw body only."""
    usage = {"prompt_tokens": 1, "completion_tokens": 2, "cost": 0.00001425, "is_byok": False}
    server.default = lambda call: wire.answer(call, provider="Groq", usage=usage)
    found = ask(block("openai_compatible", server))
    assert found.returned_provider == "Groq"
    assert found.usage is not None
    assert found.usage["cost"] == Decimal("0.00001425")
    server.default = lambda call: wire.answer(call, provider={"name": "Groq"}, usage={"\ud800": 1}, model="\ud800")
    found = ask(block("openai_compatible", server))
    assert (found.returned_provider, found.usage, found.returned_model) == (None, None, "?")
    assert found.raw is not None


@pytest.mark.parametrize(
    ("status", "code"),
    [(400, "content_filter"), (400, "invalid_prompt"), (400, "content_policy_violation"), (200, "content_filter")],
)
def test_a_prompt_that_policy_refuses_is_a_refusal(server: Server, status: int, code: str) -> None:
    """One claim that a filter stops is that claim's answer: it stops no judge and leaves no denominator."""
    make = wire.error(400, "The prompt was flagged.", code=code)
    server.default = make if status == 400 else wire.under_200(make)
    found = ask(block("openai", server))
    assert (found.status, found.body, found.finish_reason) == ("refusal", b"", code)
    assert found.raw is not None
    moderated = {"error": {"code": 403, "message": "flagged", "metadata": {"reasons": ["x"], "flagged_input": "y"}}}
    server.default = Reply(403, json.dumps(moderated).encode())
    assert ask(block("openai_compatible", server)).status == "refusal"


# --- what fails ------------------------------------------------------------------------------------------------------

TRANSIENT: list[tuple[Any, str]] = [
    (wire.overloaded(408), "408"),
    (wire.overloaded(409), "409"),
    (wire.overloaded(429), "429"),
    (wire.overloaded(500), "500"),
    (wire.overloaded(502), "502"),
    (wire.overloaded(503), "503"),
    (wire.overloaded(529), "529"),
    (Reply(503, b"<html>no JSON</html>"), "503"),
    (wire.reset_in_body, "reset"),
    (wire.closed_in_body, "reset"),
    (Reply(200, b"", reset=True, stated=5), "reset"),
    (wire.half_json, "bad_body"),
    (Reply(200, b""), "bad_body"),
    (Reply(200, b"[]"), "bad_body"),
    (Reply(200, b"{}"), "bad_body"),
    (Reply(200, b"\xff"), "bad_body"),
    (Reply(200, b"[" * 100_000), "bad_body"),
    (Reply(200, b"x", headers={"content-encoding": "gzip"}), "bad_body"),
    (wire.under_200(wire.overloaded(500)), "error_body"),
    (Reply(200, b'{"error": "model is loading"}'), "error_body"),
    (Reply(200, b'{"error": {"code": 502, "message": "upstream"}}'), "error_body"),
    (Reply(200, b'{"error": {"code": 429, "message": "upstream"}}'), "429"),
    (Reply(200, b'{"type": "error", "error": {"type": "overloaded_error", "message": "busy"}}'), "error_body"),
    (Reply(200, b'{"type": "error", "error": {"type": "rate_limit_error", "message": "slow"}}'), "429"),
    (wire.dripping(0.05), "timeout"),
    (Reply(200, b"{}", delay=5), "timeout"),
]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("fault", "cause"), TRANSIENT)
def test_what_another_attempt_may_mend(server: Server, kind: str, fault: Any, cause: str) -> None:
    """One attempt, one TransientError with its cause; the next call on the same client is answered."""
    judge = block(kind, server, timeout="0.4" if cause == "timeout" else "5")
    server.script = [fault]

    async def twice() -> list[Any]:
        provider: Any = provider_for(judge.transport())
        try:
            return [
                (await asyncio.gather(provider.complete(question(judge)), return_exceptions=True))[0] for _ in range(2)
            ]
        finally:
            await provider.close()

    first, second = asyncio.run(twice())
    assert type(first) is TransientError
    assert first.cause == cause
    assert "\n" not in str(first)
    assert second.status == "ok"
    assert len(server.calls) == 2


@pytest.mark.parametrize(
    "body",
    [
        {"choices": []},
        {"choices": [{"finish_reason": "stop"}]},
        {"choices": [{"message": {"content": "half"}, "finish_reason": "error"}]},
        {"choices": [{"message": {"content": "half"}, "error": {"code": 502, "message": "upstream died"}}]},
        {"choices": [{"message": {"content": "half"}, "finish_reason": "insufficient_system_resource"}]},
    ],
)
def test_a_choice_that_is_none(server: Server, body: dict[str, Any]) -> None:
    """No choice, or one that the server itself gave up: no answer of the model's."""
    server.default = wire.ok(body)
    assert isinstance(failure(block("openai_compatible", server)), TransientError)


@pytest.mark.parametrize("status", ["failed", "cancelled", "in_progress", None])
def test_a_response_that_is_not_complete(server: Server, status: str | None) -> None:
    """Failed by the server's fault, or not done: no answer. A failure that no retry mends stops the judge."""
    server.default = lambda call: wire.answer(call, status=status)
    assert isinstance(failure(block("responses", server)), TransientError)
    server.default = lambda call: wire.answer(call, status="failed", error={"code": "server_error", "message": "x"})
    assert isinstance(failure(block("responses", server)), TransientError)
    server.default = lambda call: wire.answer(
        call, status="failed", error={"code": "insufficient_quota", "message": ""}
    )
    assert isinstance(failure(block("responses", server)), StopModel)


def test_nobody_is_there() -> None:
    """A refused connection and an unknown host reached nobody, so they cost nothing."""
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        for address in (f"http://127.0.0.1:{closed.getsockname()[1]}/v1", "http://nowhere.invalid/v1"):
            found = failure(block("openai", base_url=address))
            assert isinstance(found, TransientError)
            assert found.cause == "connect"
            assert not spend.billed(found)


STOPS: list[tuple[Any, tuple[str, ...]]] = [
    (wire.error(400, "Bad request."), ("400", "Bad request.")),
    (wire.error(401, "Incorrect API key provided."), ("401", "Incorrect API key")),
    (wire.error(402, "Insufficient credits."), ("credit exhausted", "402")),
    (wire.error(403, "Country not supported."), ("403",)),
    (wire.error(404, "The model `m-1` does not exist."), ("404", "m-1")),
    (
        Reply(429, b'{"error": {"message": "Quota.", "type": "insufficient_quota", "code": "insufficient_quota"}}'),
        ("credit exhausted", "429", "Quota."),
    ),
    (wire.error(400, "Your credit balance is too low to access the API."), ("credit exhausted", "400")),
    (
        Reply(
            429,
            b'{"type": "error", "error": {"type": "rate_limit_error", "message": "Limit.",'
            b' "details": {"error_code": "contract_spend_limit_reached"}}}',
        ),
        ("credit exhausted", "Limit."),
    ),
    (wire.error(400, "You have reached your specified API usage limits."), ("credit exhausted",)),
    (Reply(302, b"", headers={"location": "http://127.0.0.1:9/v1/chat/completions"}), ("302",)),
    (Reply(405, b"<html>\n no </html>"), ("405", "<html> no </html>")),
    (Reply(200, b'{"error": {"code": 402, "message": "pay"}}'), ("credit exhausted", "HTTP 200", "pay")),
    (Reply(200, b'{"error": {"code": "401", "message": "who"}}'), ("HTTP 200", "who")),
]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("fault", "parts"), STOPS)
def test_what_no_call_can_mend(server: Server, kind: str, fault: Any, parts: tuple[str, ...]) -> None:
    """One attempt, one StopModel of one line that says what the provider says. A redirect is not followed."""
    server.script = [fault]
    found = failure(block(kind, server))
    assert type(found) is StopModel
    for part in parts:
        assert part in str(found)
    assert "\n" not in str(found)
    assert len(server.calls) == 1


@pytest.mark.parametrize(
    ("kind", "changed", "fault", "parts"),
    [
        (
            "openai",
            {"parameters": {"temperature": 0, "max_tokens": 5}},
            wire.error(
                400,
                "Unsupported parameter: 'max_tokens' is not supported with this model. "
                "Use 'max_completion_tokens' instead.",
                param="max_tokens",
                code="unsupported_parameter",
            ),
            ("does not take max_tokens", "parameters.max_tokens", "Use 'max_completion_tokens'"),
        ),
        (
            "openai",
            {"parameters": {"temperature": 0, "max_completion_tokens": 5}},
            wire.error(
                400,
                "Unsupported value: 'temperature' does not support 0 with this model.",
                param="temperature",
                code="unsupported_value",
            ),
            ("parameters.temperature",),
        ),
        (
            "responses",
            {"parameters": {"reasoning": {"effort": "none"}}},
            wire.error(400, "Unsupported value", param="reasoning.effort", code="unsupported_value"),
            ("parameters.reasoning",),
        ),
        (
            "anthropic",
            {"parameters": {"max_tokens": 5, "top_k": 3, "temperature": 1}, "api_version": "2023-06-01"},
            wire.error(400, "`temperature` may only be set to 1 when thinking is enabled"),
            ("parameters.temperature",),
        ),
        (
            "anthropic",
            {"parameters": {"max_tokens": 5, "seed": 3}},
            wire.error(400, "seed: Extra inputs are not permitted"),
            ("parameters.seed",),
        ),
        (
            "anthropic",
            {"structured": True},
            wire.error(400, "output_config.format: not supported by this model"),
            ("remove or change structured",),
        ),
        (
            "openai_compatible",
            {"log_probabilities": 3},
            wire.error(400, "logprobs is not supported"),
            ("remove or change log_probabilities",),
        ),
        (
            "openai_compatible",
            {"structured": True},
            Reply(422, b'{"detail": [{"loc": ["body", "response_format"], "msg": "invalid"}]}'),
            ("remove or change structured",),
        ),
    ],
)
def test_a_parameter_that_the_model_rejects(
    server: Server, kind: str, changed: dict[str, Any], fault: Any, parts: tuple[str, ...]
) -> None:
    """The judge stops with the parameter's name, the key of the block to remove, and the provider's words."""
    server.default = fault
    found = failure(block(kind, server, **changed))
    assert type(found) is StopModel
    for part in ("remove or change", *parts):
        assert part in str(found)


@pytest.mark.parametrize(
    ("kind", "fault"),
    [
        ("openai", wire.error(400, "This model's maximum context length is 8192.", code="context_length_exceeded")),
        ("openai_compatible", wire.error(400, "This model's maximum context length is 8192 tokens.")),
        ("anthropic", wire.error(400, "prompt is too long: 210000 tokens > 200000 maximum")),
        ("anthropic", wire.error(413, "Request exceeds the maximum size")),
    ],
)
def test_a_request_that_is_too_long_stops_no_judge(server: Server, kind: str, fault: Any) -> None:
    """It fails by itself, is not tried again, and the other cases are asked."""
    server.default = fault
    assert type(failure(block(kind, server))) is InfraError


# --- waiting ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_retry_after_is_read(server: Server, kind: str) -> None:
    """Seconds, a date, or nothing."""
    date = format_datetime(datetime.now(UTC) + timedelta(seconds=90), usegmt=True)
    server.script = [wire.overloaded(429, "7"), wire.overloaded(503, date), wire.overloaded(429)]
    judge = block(kind, server)
    waits = []
    for _ in range(3):
        found = failure(judge)
        assert isinstance(found, TransientError)
        waits.append(found.retry_after)
    assert waits[0] == 7
    assert waits[1] is not None
    assert 85 < waits[1] <= 90
    assert waits[2] is None


NOW = datetime(2026, 8, 7, 12, 0, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "0"}, 0.0),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after": "86400"}, MOST_WAIT),
        ({"retry-after": "inf"}, MOST_WAIT),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": ""}, None),
        ({}, None),
        ({"retry-after": "Fri, 07 Aug 2026 12:00:30 GMT"}, 30.0),
        ({"retry-after": "Fri, 07 Aug 2026 14:00:30 +0200"}, 30.0),
        ({"retry-after": "Fri, 07 Aug 2026 12:00:30 -0000"}, 30.0),
        ({"retry-after": "Friday, 07-Aug-26 12:00:30 GMT"}, 30.0),
        ({"retry-after": "Fri, 07 Aug 2026 11:59:00 GMT"}, 0.0),
        ({"retry-after": "Fri, 07 Aug 2027 12:00:00 GMT"}, MOST_WAIT),
        ({"retry-after": "Fri, 99 Aug 2026 12:00:00 GMT"}, None),
        ({"retry-after-ms": "250", "retry-after": "1"}, 0.25),
    ],
)
def test_retry_after(headers: dict[str, str], seconds: float | None) -> None:
    """From 0 to the cap, whatever a server asks for; nothing where it cannot be read."""
    assert retry_after(headers, NOW) == seconds


@given(st.text())
def test_any_retry_after(said: str) -> None:
    """No header raises, and none makes a call wait longer than the cap."""
    found = retry_after({"retry-after": said}, NOW)
    assert found is None or 0 <= found <= MOST_WAIT


def test_time_is_counted_in_all(server: Server) -> None:
    """A byte now and then keeps no call alive beyond its time."""
    server.default = wire.dripping(0.02)
    loop_time: list[float] = []

    async def timed() -> None:
        loop = asyncio.get_running_loop()
        start = loop.time()
        (found,) = await complete(judge, question(judge))
        loop_time.append(loop.time() - start)
        assert isinstance(found, TransientError)
        assert found.cause == "timeout"
        assert spend.billed(found)

    judge = block("anthropic", server, timeout="0.3")
    asyncio.run(complete(judge, question(judge)))  # the SDK's import is not the call's time
    asyncio.run(timed())
    assert 0.3 <= loop_time[0] < 2


# --- the environment and the key -------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_the_key_is_read_at_each_call(server: Server, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A key that is changed between two calls of one client is the one that the second sends; a missing one stops."""
    judge = block(kind, server)

    async def several() -> list[Any]:
        provider: Any = provider_for(judge.transport())
        outcomes: list[Any] = []
        try:
            for key in (KEY, "sk-test-second-key", "", "sk-test with space", "sk-test-é", "sk-test\n"):
                monkeypatch.setenv("TEST_KEY", key)
                outcomes += await asyncio.gather(provider.complete(question(judge)), return_exceptions=True)
        finally:
            await provider.close()
        return outcomes

    outcomes = asyncio.run(several())
    assert [type(item) for item in outcomes] == [Completion, Completion, *[StopModel] * 4]
    assert [key_in(call) for call in server.calls] == [KEY, "sk-test-second-key"]
    for item in outcomes[2:]:
        assert "TEST_KEY" in str(item)
        assert "sk-test" not in str(item)


def test_of_the_environment_only_the_key_is_sent(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """What SDKs take from the environment (other keys, organisation, headers, addresses) reaches no server."""
    for name in ("OPENAI", "ANTHROPIC"):
        for part in ("API_KEY", "ORG_ID", "PROJECT_ID", "AUTH_TOKEN", "ADMIN_KEY", "WEBHOOK_SECRET"):
            monkeypatch.setenv(f"{name}_{part}", "leak-of-the-environment")
        monkeypatch.setenv(f"{name}_BASE_URL", "http://127.0.0.1:9")
        monkeypatch.setenv(f"{name}_CUSTOM_HEADERS", "X-Leak: leak\nAuthorization: Bearer leak\nanthropic-beta: leak")
    for kind in KINDS:
        assert ask(block(kind, server)).status == "ok"
        assert ask(block(kind, server, api_key_env=None)).status == "ok"
    for call in server.calls:
        assert "leak" not in str(call)
    for call in server.calls[1::2]:
        assert not {"authorization", "x-api-key"} & call.headers.keys()


@pytest.mark.parametrize("kind", KINDS)
def test_loopback_is_reached_without_proxies(server: Server, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A proxy of the environment is not asked for this machine's own addresses; for others it is."""
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{closed.getsockname()[1]}")
        for name in ("NO_PROXY", "no_proxy"):
            monkeypatch.delenv(name, raising=False)
        assert ask(block(kind, server)).status == "ok"
    with serving() as proxy:
        for name in ("HTTP_PROXY", "http_proxy"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.port}")
        assert "404" in str(failure(block(kind, base_url="http://somewhere.invalid/v1")))
        assert proxy.calls[0].path.startswith("http://somewhere.invalid/v1")


@pytest.mark.parametrize(
    ("url", "loopback"),
    [
        ("http://localhost:8000/v1", True),
        ("http://127.0.0.1/v1", True),
        ("http://127.9.9.9/v1", True),
        ("http://[::1]:80/v1", True),
        ("https://api.openai.com/v1", False),
        ("http://localhost.example.org", False),
        ("http://10.0.0.1", False),
    ],
)
def test_loopback(url: str, loopback: bool) -> None:
    """This machine's own addresses, by name or number."""
    assert is_loopback(url) == loopback


def reachable(error: BaseException) -> Iterator[str]:
    """Every text that an exception leads to: its words, its parts, what it came from, and how it is printed."""
    seen: set[int] = set()
    waiting: list[Any] = [error]
    while waiting:
        item = waiting.pop()
        if id(item) in seen:
            continue
        seen.add(id(item))
        yield str(item)
        yield repr(item)
        if isinstance(item, BaseException):
            waiting += [item.args, vars(item), item.__cause__, item.__context__]
            yield "".join(traceback.format_exception(item))
        elif isinstance(item, dict):
            waiting += [*item.keys(), *item.values()]
        elif isinstance(item, list | tuple | set):
            waiting += item


@pytest.mark.parametrize("kind", KINDS)
def test_no_error_tells_the_key(
    server: Server, kind: str, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    """Every error above, and servers that repeat the key in every way: in no text, no log line, no output."""
    caplog.set_level(logging.DEBUG)
    echo = f"key {KEY} is wrong, Bearer {KEY}"
    long = f"{'x' * 290}{KEY}"  # is cut off within the key
    echoes: list[Any] = [
        *(wire.error(status, text) for status in (400, 401, 403, 404, 413, 429, 500) for text in (echo, long)),
        *(wire.under_200(wire.error(status, echo)) for status in (400, 401, 429, 500)),
        Reply(401, echo.encode()),
        Reply(200, echo.encode()),
        Reply(200, json.dumps({"status": echo}).encode()),
        Reply(200, json.dumps({"error": echo}).encode()),
        Reply(200, json.dumps({"error": {"other": echo}}).encode()),
        lambda call: wire.answer(call, text=echo),
        lambda call: wire.answer(call, id=KEY),
    ]
    faults = [*echoes, *(fault for fault, _ in TRANSIENT), *(fault for fault, _ in STOPS)]
    judge = block(kind, server, timeout="0.4")

    async def all_of_them() -> list[Any]:
        provider: Any = provider_for(judge.transport())
        outcomes: list[Any] = []
        try:
            for fault in faults:
                server.script = [fault]
                outcomes += await asyncio.gather(provider.complete(question(judge)), return_exceptions=True)
        finally:
            await provider.close()
        return [*outcomes, repr(provider), vars(provider)]

    *outcomes, shown, parts = asyncio.run(all_of_them())
    assert len(server.calls) == len(faults)
    for fault, outcome in zip(faults, outcomes, strict=True):
        assert isinstance(outcome, InfraError), fault
        for text in reachable(outcome):
            assert KEY not in text
            assert KEY[:12] not in text or fault not in echoes
    assert KEY not in shown + repr(parts)
    assert KEY not in caplog.text
    assert all(KEY not in str(vars(record)) for record in caplog.records)
    assert KEY not in "".join(capfd.readouterr())


def test_a_refused_prompt_that_repeats_the_key_is_not_kept_raw(server: Server) -> None:
    """The refusal is an answer; its body is left out."""
    server.default = wire.error(400, f"flagged {KEY}", code="content_filter")
    found = ask(block("openai", server))
    assert (found.status, found.raw) == ("refusal", None)
    assert KEY not in repr(found)


@given(st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=8, max_size=40), st.data())
def test_a_key_is_seen_however_json_writes_it(key: str, data: st.DataObject) -> None:
    """Any character may be its number; quotes, backslashes and slashes may follow a backslash."""

    def ways(character: str) -> list[str]:
        plain = json.dumps(character)[1:-1]
        return [plain, f"\\u{ord(character):04x}", f"\\u{ord(character):04X}", "\\/" if character == "/" else plain]

    written = "".join(data.draw(st.sampled_from(ways(character))) for character in key)
    body = f'{{"content": "é \\n {written}\\u00e9"}}'.encode()
    assert key in json.loads(body)["content"]
    assert repeats(key, body)


def test_a_key_that_is_a_word_hides_nothing(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """Local servers are given keys such as EMPTY, which answers may contain."""
    monkeypatch.setenv("TEST_KEY", "EMPTY")
    server.default = lambda call: wire.answer(call, text="EMPTY")
    assert ask(block("openai_compatible", server)).body == b"EMPTY"


# --- clients ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_256_calls_at_a_time(kind: str) -> None:
    """One client, as many connections as calls in flight, which later calls use again."""
    with serving(lag=0.5) as server:
        judge = block(kind, server, timeout="60")
        requests = [question(judge, replicate=number) for number in range(256)]

        async def both() -> list[Any]:
            provider: Any = provider_for(judge.transport())
            try:
                first = await asyncio.gather(*map(provider.complete, requests))
                return first + await asyncio.gather(*map(provider.complete, requests))
            finally:
                await provider.close()

        found = asyncio.run(both())
        assert {item.status for item in found} == {"ok"}
        assert server.most == 256
        assert server.connections == 256


@pytest.mark.parametrize("kind", KINDS)
def test_the_query_loop_asks_until_all_is_stored(server: Server, kind: str, tmp_path: Path) -> None:
    """Faults among 40 calls: each is one more call, counted with its cause, and every answer is stored once."""
    judge = block(kind, server)
    requests = [question(judge, replicate=number) for number in range(40)]
    server.script = [wire.overloaded(429, "0"), wire.overloaded(503), wire.half_json, wire.reset_in_body]
    with Store(tmp_path / "s.sqlite") as store:
        judges = {"j": Judge(provider_for(judge.transport()), Limits(8))}
        questions = [Question(item.key(), "j", item) for item in requests]

        async def run() -> Outcome:
            return await Asking(questions, judges, store, 8, lambda line: None, retries=3).run()

        outcome = asyncio.run(run())
        assert (outcome.failures, outcome.stopped) == ([], {})
        assert len(server.calls) == 44
        rows = store.table().to_pylist()
        assert len(rows) == 40
        assert {row["text"] for row in rows} == {VERDICT}
        causes = [cause for row in rows for cause in json.loads(row["retry_causes"] or "{}")]
        assert sorted(causes) == ["429", "503", "bad_body", "reset"]
        server.default = wire.error(401, "no")
        late = question(judge, replicate=99)
        questions = [Question(late.key(), "j", late)]
        assert "401" in asyncio.run(run()).stopped["j"]  # a provider that was closed connects anew


def test_nothing_is_left_open(server: Server) -> None:
    """A closed provider leaves no connection behind (an unclosed one warns, and warnings are errors here)."""
    tracemalloc.start(1)
    try:
        for kind in KINDS:
            ask(block(kind, server))
        gc.collect()
    finally:
        tracemalloc.stop()
    provider: Any = provider_for(block("openai", server).transport())
    asyncio.run(provider.close())  # one that was never asked


def test_sdks_are_imported_by_the_first_call_only() -> None:
    """Rendering requests and making a provider import no SDK: they cost seconds."""
    code = f"""
import sys
from warrant.judge_blocks import Models
from warrant.calls.providers import Case, provider_for, request_for
for kind in ({{"provider": "openai"}}, {{"provider": "anthropic", "parameters": {{"max_tokens": 1}}}}):
    judge = Models.model_validate({{"j": {{"model": "m", **kind}}}}).root["j"]
    request_for("j", judge.sent(), {MESSAGES!r}, Case("0" * 64, "support", "4opt"), 0).key()
    provider_for(judge.transport())
assert not {{"openai", "anthropic", "httpx2"}} & sys.modules.keys()
"""
    scripts = Path(__file__).parents[1] / "scripts"
    subprocess.run([sys.executable, "-c", code], check=True, env={"PYTHONPATH": str(scripts)}, timeout=60)
