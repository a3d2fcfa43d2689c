"""The key: any part that changes changes it, order does not, and it says what two requests do not share."""

from __future__ import annotations

import dataclasses
import decimal
import hashlib
import json
import random
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from warrant.calls.request_key import Request, canonical_json, differences, differing, number_text, parse, parts

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
NAMED = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="@[]/\\?#"), min_size=1, max_size=8)
NUMBER = (
    st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.decimals(allow_nan=False, allow_infinity=False, places=3)
)
JSON = st.recursive(
    st.none() | st.booleans() | NUMBER | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)
MESSAGE = st.fixed_dictionaries({"role": TEXT, "content": TEXT | st.lists(JSON, max_size=2)})
REQUEST = st.builds(
    Request,
    provider=NAMED,
    base_url=NAMED.map(lambda name: f"https://host/{name}"),
    model=NAMED,
    messages=st.lists(MESSAGE, min_size=1, max_size=4),
    parameters=st.dictionaries(TEXT, JSON, max_size=4),
    schema=st.none() | st.dictionaries(TEXT, JSON, max_size=3),
    replicate=st.integers(0, 1000),
)
PLAIN = Request(
    provider="openai",
    base_url="https://api.example.org/v1",
    model="m",
    messages=[{"role": "system", "content": "Judge."}, {"role": "user", "content": "Is the moon made of cheese?"}],
    parameters={"temperature": Decimal("0.7"), "max_tokens": 100},
    schema=None,
    replicate=0,
)


def but(**changed: Any) -> Request:
    return dataclasses.replace(PLAIN, **changed)


def turned(value: Any, chance: random.Random) -> Any:
    """The same value with the keys of every object in another order."""
    if isinstance(value, dict):
        items = list(value.items())
        chance.shuffle(items)
        return {name: turned(item, chance) for name, item in items}
    return [turned(item, chance) for item in value] if isinstance(value, list) else value


def test_the_key_of_v1_is_what_it_was() -> None:
    """A key that has been published does not change: the text under it is written out here."""
    text = (
        '{"base_url":"https://api.example.org/v1","messages":[{"content":"Judge.","role":"system"},'
        '{"content":"Is the moon made of cheese?","role":"user"}],"model":"m","parameters":'
        '{"max_tokens":100,"temperature":0.7},"provider":"openai","replicate":0,"schema":null,"version":"v1"}'
    )
    assert PLAIN.canonical().decode() == text
    assert PLAIN.key() == hashlib.sha256(text.encode()).hexdigest()
    assert PLAIN.key() == "fbadab06db946eac268752f45485da8a22012d59aeaf22f66cc7f3d3757e3287"


@given(REQUEST, st.randoms(use_true_random=False))
def test_order_of_keys_plays_no_part(request_: Request, chance: random.Random) -> None:
    """Every object of a request may be written in any order."""
    again = Request(**{item.name: turned(getattr(request_, item.name), chance) for item in dataclasses.fields(Request)})
    assert again.key() == request_.key()


@given(REQUEST)
def test_the_stored_text_gives_its_request_back(request_: Request) -> None:
    """Reading a canonical text and writing it again changes no byte, and it is JSON to anyone."""
    text = request_.canonical()
    assert parse(text).canonical() == text
    assert set(json.loads(text)) == {*(item.name for item in dataclasses.fields(Request)), "version"}


@given(REQUEST, REQUEST, st.sampled_from([item.name for item in dataclasses.fields(Request)]))
def test_a_changed_part_changes_the_key(one: Request, other: Request, name: str) -> None:
    """Replace one part by another's: the key changes unless the parts have one JSON text."""
    changed = dataclasses.replace(one, **{name: getattr(other, name)})
    same = canonical_json(getattr(one, name)) == canonical_json(getattr(other, name))
    assert (changed.key() == one.key()) is same
    found = differing(parts(one.canonical()), parts(changed.canonical()))
    assert bool(found) is not same
    assert all(part == name or part.startswith(f"{name}.") for part in found)


@given(REQUEST, st.data())
def test_a_changed_character_changes_the_key(one: Request, data: st.DataObject) -> None:
    """One character put in, anywhere in any message's role or content."""
    number = data.draw(st.integers(0, len(one.messages) - 1))
    field = data.draw(st.sampled_from(["role", "content"]))
    text = one.messages[number][field]
    if not isinstance(text, str):
        return
    place, new = data.draw(st.integers(0, len(text))), data.draw(st.characters(exclude_categories=["Cs"]))
    messages = list(one.messages)
    messages[number] = {**messages[number], field: text[:place] + new + text[place:]}
    assert dataclasses.replace(one, messages=messages).key() != one.key()


@given(REQUEST, TEXT, JSON)
def test_an_absent_parameter_is_not_a_value(one: Request, name: str, value: Any) -> None:
    """A parameter with any value, null too, is another request than one without it."""
    without = dataclasses.replace(one, parameters={k: v for k, v in one.parameters.items() if k != name})
    assert dataclasses.replace(without, parameters={**without.parameters, name: value}).key() != without.key()


def test_look_alikes_differ() -> None:
    """What Python or a reader takes for equal is not equal on the wire."""
    variants: list[Any] = [1, True, "1", 1.0, Decimal("1.00"), [1], None, {}, [], "", 0, False, "true"]
    keys = {but(parameters={"a": value}).key() for value in variants}
    assert len(keys) == len(variants)
    accents = {but(messages=[{"role": "user", "content": text}]).key() for text in ("\u00e9", "e\u0301", "é ")}
    assert len(accents) == 3
    split = [{"role": "user", "content": text} for text in ("ab", "c")]
    joined = [{"role": "user", "content": text} for text in ("a", "bc")]
    assert but(messages=split).key() != but(messages=joined).key()
    assert but(base_url="https://a/v1/").key() != but(base_url="https://a/v1").key()


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.7, "0.7"),
        (Decimal("0.7"), "0.7"),
        (Decimal("0.70"), "0.70"),
        (1, "1"),
        (Decimal("1"), "1"),
        (1.0, "1.0"),
        (-0.0, "-0.0"),
        (Decimal("-0"), "0"),
        (1e-7, "1E-7"),
        (1e22, "1E+22"),
        (10**30, "1" + "0" * 30),
    ],
)
def test_numbers_are_their_json_text(value: int | float | Decimal, text: str) -> None:
    """Whatever the decimal context says."""
    assert number_text(value) == text
    with decimal.localcontext() as context:
        context.capitals, context.prec = 0, 2
        assert number_text(value) == text


@given(NUMBER)
def test_a_number_reads_as_itself(value: int | float | Decimal) -> None:
    """Its text is JSON, has its value, and is written again as it is."""
    text = number_text(value)
    read = json.loads(text, parse_float=Decimal)
    assert number_text(read) == text
    assert float(read) == float(value)


@pytest.mark.parametrize(
    ("changed", "parts_"),
    [
        ({"parameters": {"a": float("nan")}}, ["request.parameters.a", "nan", "finite"]),
        ({"parameters": {"a": [Decimal("sNaN")]}}, ["request.parameters.a[0]", "finite"]),
        ({"parameters": {"a": float("inf")}}, ["finite"]),
        ({"parameters": {"a": 10**5000}}, ["digits"]),
        ({"parameters": {1: 2}}, ["texts as keys"]),
        ({"parameters": {"a": {1, 2}}}, ["a JSON value"]),
        ({"parameters": {"a": b"x"}}, ["a JSON value"]),
        ({"messages": [{"role": "user", "content": "a\ud800"}]}, ["request.messages[0].content", "surrogates"]),
        ({"messages": [{"role": "user", "content": "\ud83d\ude00"}]}, ["surrogates"]),
        ({"parameters": {"\udfff": 1}}, ["surrogates"]),
        ({"messages": []}, ["messages"]),
        ({"messages": "hi"}, ["messages"]),
        ({"messages": [{"role": "user"}]}, ["message 1", "role and content"]),
        ({"parameters": None}, ["parameters"]),
        ({"schema": "s"}, ["schema"]),
        ({"replicate": -1}, ["replicate"]),
        ({"replicate": True}, ["replicate"]),
        ({"model": ""}, ["model"]),
        ({"base_url": "http://[x"}, ["base_url"]),
    ],
)
def test_what_has_no_key_is_refused(changed: dict[str, Any], parts_: list[str], refused: Any) -> None:
    """In one line that names the part."""
    with refused(*parts_):
        but(**changed).key()


def test_deep_nesting_is_refused(refused: Any) -> None:
    """And is no RecursionError."""
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    with refused("nested too deeply"):
        but(parameters={"a": deep}).key()
    while deep:  # freed one by one
        deep = deep[0]


def test_a_password_is_neither_stored_nor_shown() -> None:
    """An address with a user in it is refused without repeating it."""
    with pytest.raises(ValueError, match="password") as caught:
        but(base_url="https://me:hunter2@host/v1").key()
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "parts_"),
    [
        ("{", ["file.json"]),
        ("[]", ["a JSON object"]),
        (b"\xff", ["file.json"]),
        ('{"a": 1, "a": 2}', ["twice"]),
        (PLAIN.canonical().replace(b'v1"}', b'v9"}'), ["version", "v9"]),
        (PLAIN.canonical().replace(b'"replicate":0,', b""), ["replicate", "too few"]),
        (PLAIN.canonical().replace(b'"replicate"', b'"expiry":1,"replicate"'), ["expiry", "too many"]),
        (PLAIN.canonical().replace(b"0.7", b"NaN"), ["NaN"]),
    ],
)
def test_texts_that_are_no_request_are_refused(text: bytes | str, parts_: list[str], refused: Any) -> None:
    """In one line with the file."""
    with refused("file.json", *parts_):
        parse(text, "file.json")


@pytest.mark.parametrize(
    ("changed", "lines"),
    [
        ({"model": "n"}, ['model: wanted "n", stored "m"']),
        ({"parameters": {"temperature": Decimal("0.70"), "max_tokens": 100}}, ["temperature: wanted 0.70, stored 0.7"]),
        ({"parameters": {"temperature": Decimal("0.7")}}, ["parameters.max_tokens: wanted absent, stored 100"]),
        ({"schema": {"a": 1}}, ['schema: wanted {"a":1}, stored null']),
        ({"replicate": 3}, ["replicate: wanted 3, stored 0"]),
        ({"messages": PLAIN.messages[:1]}, ["messages: wanted 1 messages, stored 2"]),
        (
            {"messages": [PLAIN.messages[0], {"role": "user", "content": "Is the moon made of rock?"}]},
            ["messages: message 2 (user), content, character 21:", "made of rock", "made of cheese"],
        ),
        ({"messages": [{"role": "user", "content": "Judge."}, PLAIN.messages[1]]}, ["message 1 (user), role"]),
        ({"messages": [{**PLAIN.messages[0], "name": "x"}, PLAIN.messages[1]]}, ['name: wanted "x", stored absent']),
        ({"messages": [{"role": "system", "content": ["Judge."]}, PLAIN.messages[1]]}, ["content, character 1:"]),
    ],
)
def test_differences_name_the_part_and_the_place(changed: dict[str, Any], lines: list[str]) -> None:
    """One difference each, in one line."""
    (found,) = differences(parts(but(**changed).canonical()), parts(PLAIN.canonical()))
    assert "\n" not in str(found)
    for line in lines:
        assert line in str(found)
