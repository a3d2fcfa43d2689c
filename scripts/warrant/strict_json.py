"""JSON as the importers read it: exact decimals, no NaN, no duplicate keys, the line named when it is wrong."""

from __future__ import annotations

import json
from collections.abc import Iterator
from decimal import Decimal, InvalidOperation
from typing import Any

from warrant.errors import bad_input


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise ValueError(f"key {name!r} twice in one object")
        found[name] = value
    return found


def _decimal(digits: str) -> Decimal:
    try:
        return Decimal(digits)
    except InvalidOperation:  # no ValueError
        raise ValueError(f"number {digits} has an exponent that no decimal holds") from None


def _constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def loads(text: str) -> Any:
    """Parse one JSON text with decimals exact; ValueError for NaN, Infinity, repeated keys and huge exponents."""
    return json.loads(text, parse_float=_decimal, parse_constant=_constant, object_pairs_hook=_pairs)


def lines(data: bytes, file: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Objects of a JSON-lines file with their line numbers (from 1); blank lines are passed over."""
    for number, line in enumerate(data.split(b"\n"), start=1):
        if not line.strip():
            continue
        try:
            row = loads(line.decode("utf-8"))
        except (ValueError, RecursionError) as error:  # UnicodeDecodeError and JSONDecodeError are ValueErrors
            raise bad_input(file, row=number, found=str(error), expected="one JSON object a line") from error
        if not isinstance(row, dict):
            raise bad_input(file, row=number, found=row, expected="a JSON object")
        yield number, row
