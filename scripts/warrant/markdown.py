"""Paragraphs and tables of the documents that programs write, as lines of Markdown."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence

Lines = list[str]


def prose(*sentences: str) -> Lines:
    """A paragraph."""
    return ["", *textwrap.wrap(" ".join(sentences), 118, break_long_words=False, break_on_hyphens=False), ""]


def grid(header: Sequence[str], rows: Iterable[Sequence[object]], left: int = 1) -> Lines:
    """A table; the first `left` columns are text, the others stand to the right."""
    rule = "".join(["---|"] * left + ["---:|"] * (len(header) - left))
    return ["", f"| {' | '.join(header)} |", f"|{rule}", *(f"| {' | '.join(map(str, row))} |" for row in rows), ""]


def joined(lines: Sequence[str]) -> str:
    """The text of a document, at most one empty line between others."""
    kept = [line for line, before in zip(lines, ["", *lines], strict=False) if line or before]
    return "\n".join(kept).strip("\n") + "\n"
