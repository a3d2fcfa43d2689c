"""The one exception for bad input: a single line that says where, what was found and what was expected."""

from __future__ import annotations

from pathlib import Path


class InputError(ValueError):
    """Input that a user can mend. Its message is one line; programs print it and exit with 1."""


def bad_input(
    file: str | Path, *, found: object, expected: object, row: int | None = None, field: str | None = None
) -> InputError:
    """Build the line: file, row (counted from 1), field, what was found, what was expected."""
    place = str(file)
    if row is not None:
        place += f", row {row}"
    if field is not None:
        place += f", field {field}"
    line = f"{place}: found {shorten(found)}, expected {expected}"
    return InputError(" ".join(line.split()))


def shorten(value: object, limit: int = 120) -> str:
    """`repr` of a value, cut in the middle when long, so that an error stays one readable line."""
    text = repr(value)
    if len(text) <= limit:
        return text
    half = (limit - 3) // 2
    return f"{text[:half]}...{text[-half:]}"
