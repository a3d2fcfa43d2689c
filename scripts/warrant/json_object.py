"""Exactly one JSON object in a model's answer: raw text first, then one balanced object among fences and prose.

The scan is one pass. Outside an object nothing but its opening matters (a brace, then a quote or the closing brace);
inside it strings are skipped and braces counted. Positions only grow, so time is linear in the length, and nothing
recurses deeper than MOST_DEPTH. What lies inside an object that is not closed is never taken for an answer.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from enum import StrEnum
from typing import Any, Final

MOST_DEPTH: Final = 64  # objects and lists inside each other
JsonObject = dict[str, Any]


class Repair(StrEnum):
    """What was mended on the way to a usable answer, in the order in which a status lists it."""

    FENCED = "fenced"
    PROSE = "prose"
    DUPLICATE_OBJECT = "duplicate_object"
    DUPLICATE_KEY = "duplicate_key"
    UTF8 = "utf8"
    SURROGATE = "surrogate"
    LABEL_ALIAS = "label_alias"


class Reason(StrEnum):
    """Why an answer is invalid; REASONS says what each code means."""

    EMPTY = "empty"
    NO_OBJECT = "no_object"
    MALFORMED = "malformed"
    TRUNCATED = "truncated"
    TOO_DEEP = "too_deep"
    DUPLICATE_KEY = "duplicate_key"
    NOT_A_NUMBER = "not_a_number"
    NUMBER = "number"
    NO_ANSWER = "no_answer"
    SEVERAL_ANSWERS = "several_answers"
    UNKNOWN_LABEL = "unknown_label"
    LABEL_OUTSIDE_CONTRACT = "label_outside_contract"
    CONFIDENCE = "confidence"
    SUBCLAIMS = "subclaims"
    SUBCLAIM_TEXT = "subclaim_text"
    MATERIAL = "material"
    EVIDENCE_STATE = "evidence_state"
    EVIDENCE_IDS = "evidence_ids"
    NO_MATERIAL_SUBCLAIM = "no_material_subclaim"


REPAIRS: Final = {
    Repair.FENCED: "the object stood in a code fence",
    Repair.PROSE: "other text stood around the object (also: a list around it, objects that are no answer)",
    Repair.DUPLICATE_OBJECT: "the same answer was given more than once",
    Repair.DUPLICATE_KEY: "an object gave a key more than once, with the same value",
    Repair.UTF8: "bytes of the answer that are no UTF-8 were replaced by U+FFFD",
    Repair.SURROGATE: "lone surrogates in the answer were replaced by U+FFFD",
    Repair.LABEL_ALIAS: "a label or evidence state was a known variant of the one asked for",
}
REASONS: Final = {
    Reason.EMPTY: "no text, or white space only",
    Reason.NO_OBJECT: "nothing in the text opens like a JSON object",
    Reason.MALFORMED: "what opens like a JSON object is balanced but not JSON",
    Reason.TRUNCATED: "an object is opened and not closed: cut off, or a quote too many",
    Reason.TOO_DEEP: f"objects and lists nested more than {MOST_DEPTH} deep",
    Reason.DUPLICATE_KEY: "an object gives a key twice, with different values",
    Reason.NOT_A_NUMBER: "NaN or Infinity",
    Reason.NUMBER: "a number with an exponent of 18 digits or more",
    Reason.NO_ANSWER: "there are JSON objects, but none has the key that makes it an answer",
    Reason.SEVERAL_ANSWERS: "several different objects, each of which has the key that makes it an answer",
    Reason.UNKNOWN_LABEL: "the label is null, not a text, or no known label",
    Reason.LABEL_OUTSIDE_CONTRACT: "the label is known but was not offered",
    Reason.CONFIDENCE: "the confidence is not a JSON number in [0, 1] with at most 18 decimal places",
    Reason.SUBCLAIMS: "subclaims are not a non-empty list of objects",
    Reason.SUBCLAIM_TEXT: "the text of a subclaim is missing, blank or not a text",
    Reason.MATERIAL: "material is not true or false",
    Reason.EVIDENCE_STATE: "an evidence state is not one of those asked for",
    Reason.EVIDENCE_IDS: "evidence ids are not a list of texts",
    Reason.NO_MATERIAL_SUBCLAIM: "no subclaim is material, so that no verdict follows",
}

_OPENING: Final = re.compile(r'\{(?=[ \t\n\r]*+(?:["}]|\Z))')
_STRUCTURE: Final = re.compile(r'["{}\[\]]')
_IN_STRING: Final = re.compile(r'["\\]')
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_FENCE: Final = re.compile(r"(?:`{3,20}|~{3,20}) ?[\w+.-]{0,20}")


@dataclass(frozen=True)
class Found:
    """The object, with every number in it an exact Decimal and no lone surrogate, and what was mended."""

    value: JsonObject
    repairs: tuple[Repair, ...] = ()


class Unusable(Exception):
    """An answer that cannot be used; its one argument is the Reason."""

    def __init__(self, reason: Reason) -> None:
        """Keep the reason."""
        super().__init__(reason)
        self.reason = reason


def find_object(text: str, is_answer: Callable[[JsonObject], bool]) -> Found:
    """The one object of a text for which `is_answer` holds; Unusable, with the first reason in the text, otherwise.

    No repair if the stripped text is that object. An object that is not an answer and a balanced text in braces
    that is not JSON (a format repeated before the answer) count as prose. Invalid whatever else the text holds:
    an object that is not closed, too deep, or has a key with two values, NaN, Infinity or a number that cannot be
    held; and answers that are not the same. The same means the same JSON, with U+FFFD for lone surrogates (0.9 is
    0.90, true is not 1; the order of keys plays no part).
    """
    if not text or text.isspace():
        raise Unusable(Reason.EMPTY)
    answer: JsonObject | None = None
    answers = 0
    repairs: set[Repair] = set()
    outside: list[str] = []
    reason, rest = Reason.NO_OBJECT, 0
    for start, end in _balanced(text):
        read = _loads(text[start:end])
        if read is None:
            reason = Reason.MALFORMED if reason is Reason.NO_OBJECT else reason
            continue
        if not is_answer(read.value):
            reason = Reason.NO_ANSWER
            continue
        if answer is not None and not _same(answer, read.value):
            raise Unusable(Reason.SEVERAL_ANSWERS)
        answer = read.value
        answers += 1
        repairs.update(read.repairs)
        outside.append(text[rest:start])
        rest = end
    if answer is None:
        raise Unusable(reason)
    outside.append(text[rest:])
    repairs.update(_around(outside))
    if answers > 1:
        repairs.add(Repair.DUPLICATE_OBJECT)
    return Found(answer, in_order(repairs))


def in_order(repairs: Collection[Repair]) -> tuple[Repair, ...]:
    """Repairs, each once, in the order in which a status lists them."""
    return tuple(code for code in Repair if code in repairs)


def _balanced(text: str) -> Iterator[tuple[int, int]]:
    """Outermost texts from an opening brace to its closing one; Unusable where one is not closed or too deep."""
    position = 0
    while (opening := _OPENING.search(text, position)) is not None:
        position = _closing(text, opening.start())
        yield opening.start(), position


def _closing(text: str, position: int) -> int:
    """Position after the brace that closes the one at `position`."""
    braces = depth = 0
    while (mark := _STRUCTURE.search(text, position)) is not None:
        position = mark.end()
        match mark[0]:
            case '"':
                position = _string_end(text, position)
            case "{" | "[" as opened:
                braces += opened == "{"
                depth += 1
                if depth > MOST_DEPTH:
                    raise Unusable(Reason.TOO_DEEP)
            case closed:
                braces -= closed == "}"
                depth -= 1
                if not braces:
                    return position
    raise Unusable(Reason.TRUNCATED)


def _string_end(text: str, position: int) -> int:
    """Position after the quote that ends the string whose content starts at `position`."""
    while (mark := _IN_STRING.search(text, position)) is not None:
        position = mark.end()
        if mark[0] == '"':
            return position
        position += 1  # what a backslash escapes
    raise Unusable(Reason.TRUNCATED)


def _constant(_: str) -> Any:
    raise Unusable(Reason.NOT_A_NUMBER)


def _number(digits: str) -> Decimal:
    try:
        return Decimal(digits)
    except InvalidOperation:
        raise Unusable(Reason.NUMBER) from None


def _loads(text: str) -> Found | None:
    """The object that a balanced text in braces, nested at most MOST_DEPTH deep, is; None if it is not JSON.

    A key with the same value again is a repair, with another one Unusable.
    """
    repairs: set[Repair] = set()

    def build(pairs: list[tuple[str, Any]]) -> JsonObject:
        found: JsonObject = {}
        for said, value in pairs:
            key, value = mended(said), mended(value)
            if key in found:
                if not _same(found[key], value):
                    raise Unusable(Reason.DUPLICATE_KEY)
                repairs.add(Repair.DUPLICATE_KEY)
            found[key] = value  # the last one, as _same asks for
        return found

    def mended(value: Any) -> Any:
        """The value with U+FFFD for lone surrogates; objects in it have been built, and so mended, before."""
        if isinstance(value, str) and _SURROGATE.search(value):
            repairs.add(Repair.SURROGATE)
            return _SURROGATE.sub("\ufffd", value)
        return [mended(item) for item in value] if isinstance(value, list) else value

    try:
        value: JsonObject = json.loads(
            text, parse_int=_number, parse_float=_number, parse_constant=_constant, object_pairs_hook=build
        )
    except json.JSONDecodeError:
        return None
    return Found(value, in_order(repairs))


def _same(a: Any, b: Any) -> bool:
    """Equality that tells true from 1, in time linear in both.

    Of several values each is compared with the one before it: a thousand 1 after a long 1.000 would otherwise cost a
    thousand times its length.
    """
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(_same(a[key], b[key]) for key in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(_same, a, b))
    return type(a) is type(b) and bool(a == b)


def _around(outside: list[str]) -> list[Repair]:
    """The repair that leaving out these texts is: none if they are blank, a fence, else prose."""
    lines = [line for piece in outside for line in map(str.strip, piece.splitlines()) if line]
    if not lines:
        return []
    return [Repair.FENCED if all(map(_FENCE.fullmatch, lines)) else Repair.PROSE]
