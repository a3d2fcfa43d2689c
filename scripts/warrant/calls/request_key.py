"""The key of a request (v1): SHA-256 of one canonical JSON text, and what tells two requests apart.

In the text: provider, base_url, model, every message, every parameter that is given, the response schema, the
replicate index and the version. Nothing else: no time, no expiry, no environment. config/README.md goes field by field.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from decimal import Decimal
from typing import Any, Final
from urllib.parse import urlsplit

from warrant import strict_json
from warrant.errors import InputError, bad_input, shorten

VERSION: Final = "v1"
ABSENT: Final = "absent"


@dataclass(frozen=True)
class Request:
    """One call of a model, as it is sent.

    messages: objects with role, content and whatever else is sent. parameters: exactly those that are sent (leave one
    out and it is absent, which is not the same as null or the provider's default). schema: the response schema or None.
    replicate: which of several calls with otherwise equal parts, from 0. Values are those of JSON; Decimal is a number.
    """

    provider: str
    base_url: str
    model: str
    messages: Sequence[Mapping[str, Any]]
    parameters: Mapping[str, Any]
    schema: Mapping[str, Any] | None
    replicate: int

    def canonical(self) -> bytes:
        """The text under the key, in UTF-8; InputError names the part that no key can be made of."""
        _check(self)
        parts: dict[str, Any] = {item.name: getattr(self, item.name) for item in fields(self)}
        try:
            return canonical_json({**parts, "version": VERSION}, "request").encode()
        except RecursionError as error:
            raise bad_input("request", found="values nested too deeply", expected="JSON that can be sent") from error

    def key(self) -> str:
        """`key_of` the canonical text."""
        return key_of(self.canonical())


def key_of(canonical: bytes) -> str:
    """The key: 64 hexadecimal digits. The version is in the text, so keys of two versions never meet."""
    return hashlib.sha256(canonical).hexdigest()


def _check(request: Request) -> None:
    def wrong(field: str, expected: str) -> InputError:
        return bad_input("request", field=field, found=getattr(request, field), expected=expected)

    for name in ("provider", "base_url", "model"):
        value = getattr(request, name)
        if not isinstance(value, str) or not value:
            raise wrong(name, "a text that is not empty")
    try:
        secret = "@" in urlsplit(request.base_url).netloc
    except ValueError:
        raise wrong("base_url", "an address") from None
    if secret:  # the address is stored and shown; a password must be in neither, nor in this error
        raise bad_input("request", field="base_url", found="a user or password in it", expected="an address without")
    if not isinstance(request.messages, list | tuple) or not request.messages:
        raise wrong("messages", "a list of at least one message")
    for number, message in enumerate(request.messages, start=1):
        if not isinstance(message, Mapping) or not isinstance(message.get("role"), str) or "content" not in message:
            place = f"message {number}"
            raise bad_input("request", field=place, found=message, expected="an object with role and content")
    if not isinstance(request.parameters, Mapping):
        raise wrong("parameters", "an object")
    if request.schema is not None and not isinstance(request.schema, Mapping):
        raise wrong("schema", "an object or null")
    if isinstance(request.replicate, bool) or not isinstance(request.replicate, int) or request.replicate < 0:
        raise wrong("replicate", "a whole number from 0")


def canonical_json(value: object, place: str = "value") -> str:
    """The one JSON text of a value: keys sorted by code point, no spaces, numbers as `number_text` has them.

    Texts keep every code point (no normalisation). InputError names the place of NaN, an infinity, a lone surrogate
    (it could not be sent: UTF-8 has none) and anything that is not JSON.
    """
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, str):
        if not value.isascii():
            try:
                value.encode()
            except UnicodeEncodeError as error:
                raise bad_input(place, found=value, expected="text without lone surrogates") from error
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, int | float | Decimal):
        return number_text(value, place)
    if isinstance(value, list | tuple):
        return f"[{','.join([canonical_json(item, f'{place}[{i}]') for i, item in enumerate(value)])}]"
    if isinstance(value, Mapping):
        for name in value:
            if not isinstance(name, str):
                raise bad_input(place, found=name, expected="texts as keys")
        members = [f"{canonical_json(n, place)}:{canonical_json(value[n], f'{place}.{n}')}" for n in sorted(value)]
        return "{" + ",".join(members) + "}"
    if isinstance(value, _Number):
        return value.text
    raise bad_input(place, found=value, expected="a JSON value")


def number_text(value: int | float | Decimal, place: str = "value") -> str:
    """A number as JSON text: 1, 1.0 and 1.00 are three; float 0.7 and Decimal("0.7") are one; 1e-7 is 1E-7.

    Reading the text with decimals exact and writing it again gives the same text. InputError unless finite.
    """
    number = value if isinstance(value, Decimal) else None
    if isinstance(value, float):
        number = Decimal(float.__repr__(value))
    if number is not None and not number.is_finite():
        raise bad_input(place, found=value, expected="a finite number")
    if number is not None and number.as_tuple().exponent != 0:
        return str(number).upper()  # the E of a decimal context may be a small one
    try:
        return int.__repr__(int(value if number is None else number))
    except ValueError as error:
        raise bad_input(place, found="a number of too many digits", expected="at most 4,300 digits") from error


def parse(text: bytes | str, file: str = "request") -> Request:
    """The request that a JSON text describes (`version` may be left out, nothing else); InputError if it is none."""
    try:
        found = strict_json.loads(text if isinstance(text, str) else text.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise bad_input(file, found=str(error), expected="one JSON object") from error
    if not isinstance(found, dict):
        raise bad_input(file, found=found, expected="a JSON object")
    version = found.pop("version", VERSION)
    if version != VERSION:
        raise bad_input(file, field="version", found=version, expected=VERSION)
    names = [item.name for item in fields(Request)]
    for name in [*names, *found]:
        if name not in found or name not in names:
            raise bad_input(file, field=name, found="a field " + ("too few", "too many")[name in found], expected=names)
    request = Request(**found)
    _check(request)
    return request


@dataclass(frozen=True)
class _Number:
    """A number as its text: 1, 1.0 and true are equal in Python and differ in a key."""

    text: str


@dataclass(frozen=True)
class Difference:
    """A part that two requests do not share, as canonical JSON (or `absent`); for messages, where they part."""

    part: str
    wanted: str
    stored: str

    def __str__(self) -> str:
        """One line."""
        return f"{' '.join(self.part.split())}: wanted {self.wanted}, stored {self.stored}"


Parts = dict[str, Any]


def parts(canonical: bytes) -> Parts:
    """What of a canonical request can differ: each member, and each parameter by itself."""
    tree = json.loads(canonical, parse_float=_Number, parse_int=_Number)
    given = tree.pop("parameters")
    return {**tree, **{f"parameters.{name}": value for name, value in given.items()}}


def differing(wanted: Parts, stored: Parts) -> list[str]:
    """Names of the parts that differ or that one of the two has not, in alphabetical order."""
    missing = object()
    return [name for name in sorted({*wanted, *stored}) if wanted.get(name, missing) != stored.get(name, missing)]


def shared_start(a: str, b: str) -> int:
    """Length of the longest common start."""
    low, high = 0, min(len(a), len(b))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if a[low:middle] == b[low:middle] else (low, middle - 1)
    return low


def differences(wanted: Parts, stored: Parts) -> list[Difference]:
    """Every differing part; messages by the first message that differs, and the character at which it does."""
    found = []
    for name in differing(wanted, stored):
        if name == "messages":
            found.append(_messages(wanted[name], stored[name]))
        else:
            texts = [shorten_text(canonical_json(side[name])) if name in side else ABSENT for side in (wanted, stored)]
            found.append(Difference(name, *texts))
    return found


def _messages(wanted: list[dict[str, Any]], stored: list[dict[str, Any]]) -> Difference:
    same = next((i for i, (a, b) in enumerate(zip(wanted, stored, strict=False)) if a != b), None)
    if same is None:
        return Difference("messages", f"{len(wanted)} messages", f"{len(stored)}; those that both have are equal")
    ours, theirs = wanted[same], stored[same]
    field = differing(ours, theirs)[0]
    place = f"messages: message {same + 1} ({ours['role']}), {field}"
    if field not in ours or field not in theirs:
        return Difference(place, *(canonical_json(side[field]) if field in side else ABSENT for side in (ours, theirs)))
    texts = [side[field] if isinstance(side[field], str) else canonical_json(side[field]) for side in (ours, theirs)]
    position = shared_start(*texts)
    around = [ascii(text[max(0, position - 10) : position + 30]) for text in texts]
    return Difference(f"{place}, character {position + 1}", *around)


def shorten_text(text: str) -> str:
    """A long canonical text cut in the middle, as errors cut values."""
    return text if len(text) <= 120 else shorten(text)
