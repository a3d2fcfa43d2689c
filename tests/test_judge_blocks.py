"""Blocks of judges behind APIs: what is sent is theirs alone, what says how they are reached reruns nothing."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import yaml

from warrant.calls.providers import Case, request_for
from warrant.config import read_models
from warrant.errors import InputError
from warrant.judge_blocks import ApiJudge

SECRET = "sk-proj-Zq7-never-shown"
BLOCKS: dict[str, dict[str, Any]] = {
    "openai": {"provider": "openai", "model": "gpt-5.6-terra"},
    "responses": {"provider": "openai", "api": "responses", "model": "gpt-5.6-terra"},
    "anthropic": {"provider": "anthropic", "model": "claude-sonnet-5", "parameters": {"max_tokens": 300}},
    "openai_compatible": {
        "provider": "openai_compatible",
        "model": "openai/gpt-oss-120b",
        "base_url": "https://openrouter.ai/api/v1",
        "api_key_env": "OPENROUTER_API_KEY",
        "extra_body": {"provider": {"only": ["groq"], "allow_fallbacks": False}},
    },
}
CASE = Case("0" * 64, "support", "4opt")
REACHED = {
    "api_key_env": "OTHER_KEY",
    "also_named": ["other"],
    "timeout": "7.5",
    "in_flight": 3,
    "requests_per_minute": 60,
    "tokens_per_minute": 10000,
    "price": {"input": "0.15", "output": "0.60"},
    "cap": "2.50",
    "max_output_tokens": 500,
}


@pytest.fixture
def read(tmp_path: Path) -> Callable[..., ApiJudge]:
    """The block of a judge, read from a models.yaml as the workflow reads it."""

    def read_block(kind: str, **changed: Any) -> ApiJudge:
        path = tmp_path / "models.yaml"
        path.write_text(yaml.safe_dump({"j": {**BLOCKS[kind], **changed}}), encoding="utf-8")
        block = read_models(path)["j"]
        assert isinstance(block, ApiJudge)
        return block

    return read_block


def key(block: ApiJudge, contract: str = "4opt") -> str:
    """Of a request, from settings that went through JSON as a step's do."""
    settings = json.loads(json.dumps(block.sent()))
    case = Case(CASE.sha256, CASE.gold, contract)
    return request_for("j", settings, [{"role": "user", "content": "?"}], case, 0).key()


@pytest.mark.parametrize("kind", BLOCKS)
def test_how_a_judge_is_reached_changes_no_request(read: Any, kind: str) -> None:
    """Key variable, time, limits, price and cap are transport, decimals as texts, and in no key."""
    plain, reached = read(kind), read(kind, **REACHED)
    assert key(plain) == key(reached)
    assert reached.transport() == {"provider": BLOCKS[kind]["provider"], **REACHED}
    assert not plain.sent().keys() & REACHED.keys()


@pytest.mark.parametrize("kind", BLOCKS)
@pytest.mark.parametrize(
    "changed",
    [
        {"model": "another"},
        {"base_url": "https://example.org/v1"},
        {"parameters": {"max_tokens": 301}},
        {"parameters": {"max_tokens": 300, "seed": 0.7}},
        {"parameters": {"max_tokens": 300, "seed": None}},
        {"extra_body": {"provider": {"only": ["cerebras"]}}},
        {"structured": True},
    ],
    ids=str,
)
def test_what_is_sent_changes_every_request(read: Any, kind: str, changed: dict[str, Any]) -> None:
    """Any other model, address, parameter, value or absence of one, body member or schema asks anew."""
    assert key(read(kind)) != key(read(kind, **changed))


def test_apis_and_contracts_have_keys_of_their_own(read: Any) -> None:
    """Chat Completions and Responses never share an answer; nor do the schemas of two contracts."""
    assert key(read("openai")) != key(read("responses"))
    chat, other = read("openai"), read("openai_compatible", base_url="https://api.openai.com/v1", extra_body={})
    assert key(chat) != key(read("openai_compatible", model=chat.model, base_url=chat.base_url, extra_body={}))
    assert key(chat) != key(other)
    assert key(chat, "3opt") == key(chat, "4opt")
    structured = read("openai", structured=True)
    assert len({key(structured, contract) for contract in ("3opt", "4opt", "certificate")}) == 3


def test_parameters_are_sent_as_they_stand(read: Any) -> None:
    """Numbers keep their kind and null is sent; without parameters there are none."""
    given = {"temperature": 0, "top_p": 0.95, "seed": None, "stop": ["\n"], "logit_bias": {"7": -100}, "x": 1e-07}
    settings = json.loads(json.dumps(read("openai", parameters=given).sent()))
    made = request_for("j", settings, [{"role": "user", "content": "?"}], CASE, 0)
    assert made.parameters == given
    assert b'"temperature":0,"top_p":0.95,"x":1E-7' in made.canonical()
    assert request_for("j", read("openai").sent(), [{"role": "user", "content": "?"}], CASE, 0).parameters == {}


def test_numbers_that_are_equal_and_written_differently_are_two(read: Any) -> None:
    """1 and 1.0 differ on the wire, so they do in the key."""
    assert key(read("openai", parameters={"top_p": 1})) != key(read("openai", parameters={"top_p": 1.0}))


def test_the_version_of_an_api_is_in_the_key(read: Any) -> None:
    """It decides what a request means; YAML may have read it as a date. Its older version takes sampling parameters."""
    old = read("anthropic", api_version=date(2023, 6, 1), parameters={"max_tokens": 300, "temperature": 0})
    assert old.api_version == "2023-06-01"
    assert key(read("anthropic")) != key(read("anthropic", api_version="2023-06-01"))


def test_defaults(read: Any) -> None:
    """The official addresses and variables; a compatible server has neither."""
    assert read("openai").base_url == "https://api.openai.com/v1"
    assert read("anthropic").base_url == "https://api.anthropic.com"
    assert read("openai").api_key_env == "OPENAI_API_KEY"
    assert read("anthropic").api_key_env == "ANTHROPIC_API_KEY"
    local = read("openai_compatible", base_url="http://localhost:11434/v1", api_key_env=None)
    assert local.api_key_env is None
    assert read("openai", price={"input": 0.15, "output": 0.6}).price.input == Decimal("0.15")


@pytest.mark.parametrize(
    ("kind", "changed", "parts"),
    [
        ("openai", {"provider": "openai_compatible"}, ("j.base_url", "found nothing")),
        ("openai", {"modle": "x"}, ("j.modle", "did you mean 'model'?")),
        ("openai", {"api": "completions"}, ("j.api", "'completions'")),
        ("openai", {"sensitivity": "0.8"}, ("field j", "sensitivity is no key of provider openai")),
        ("anthropic", {"log_probabilities": 3}, ("log_probabilities is no key of provider anthropic",)),
        ("anthropic", {"parameters": {}}, ("parameters.max_tokens",)),
        ("anthropic", {"parameters": {"max_tokens": 9, "top_k": 3}}, ("parameters.top_k", "2023-06-01")),
        ("anthropic", {"api_version": "latest"}, ("j.api_version",)),
        ("anthropic", {"parameters": {"max_tokens": 9, "anthropic-version": "x"}}, ("given by api_version",)),
        ("anthropic", {"parameters": {"max_tokens": True}}, ("parameters.max_tokens",)),
        ("openai", {"base_url": "api.openai.com/v1"}, ("j.base_url", "http or https")),
        ("openai", {"base_url": f"https://me:{SECRET}@api.openai.com/v1"}, ("j.base_url", "without user")),
        ("openai", {"base_url": f"https://api.openai.com/v1?key={SECRET}"}, ("j.base_url", "query")),
        ("openai", {"base_url": "http://localhost:99999/v1"}, ("j.base_url",)),
        ("openai", {"api_key_env": SECRET}, ("j.api_key_env", "never the key itself")),
        ("openai", {"api_key": SECRET}, ("j.api_key", "did you mean 'api_key_env'?")),
        ("openai", {"extra_body": {"api_key": SECRET}}, ("extra_body.api_key",)),
        ("openai", {"parameters": {"stream": True}}, ("parameters.stream",)),
        ("openai", {"parameters": {"n": 5}}, ("parameters.n",)),
        ("openai", {"parameters": {"messages": []}}, ("parameters.messages",)),
        ("anthropic", {"parameters": {"max_tokens": 9, "system": "Be kind."}}, ("parameters.system",)),
        ("openai", {"parameters": {"seed": 1}, "extra_body": {"seed": 1}}, ("seed stands in",)),
        ("openai", {"parameters": {"temperature": float("nan")}}, ("temperature", "finite")),
        ("openai", {"parameters": {"response_format": {}}, "structured": True}, ("is given by structured",)),
        ("openai", {"parameters": {"logprobs": True}, "log_probabilities": 2}, ("is given by log_probabilities",)),
        ("responses", {"parameters": {"text": {"format": {}}}, "structured": True}, ("text.format",)),
        ("responses", {"parameters": {"include": "x"}}, ("include is no list",)),
        (
            "anthropic",
            {"parameters": {"max_tokens": 9, "output_config": {"format": {}}}, "structured": True},
            ("output_config.format",),
        ),
        ("openai", {"timeout": 0}, ("j.timeout", "greater than 0")),
        ("openai", {"in_flight": 0}, ("j.in_flight",)),
        ("openai", {"cap": "-1"}, ("j.cap",)),
        ("openai", {"price": {"input": "1"}}, ("j.price.output", "found nothing")),
        ("openai", {"log_probabilities": 21}, ("j.log_probabilities",)),
    ],
    ids=str,
)
def test_a_mistake_is_refused(read: Any, kind: str, changed: dict[str, Any], parts: tuple[str, ...]) -> None:
    """One line with judge, key and what is wrong; what may be a secret is not in it."""
    with pytest.raises(InputError) as caught:
        read(kind, **changed)
    line = str(caught.value)
    assert SECRET not in line + repr(caught.value)
    assert "\n" not in line
    for part in ("models.yaml", *parts):
        assert part in line
