"""Prompt templates: text with named fields such as <<CLAIM>>, rendered in one pass, exactly and reversibly.

A template is split at its fields once; values are put between the pieces and never looked at. So braces, quotes,
"<<CLAIM>>" or instructions inside a value are data. The spans of the fields come with the text: they give every
value and the template back, whatever the values contain.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from warrant.errors import bad_input
from warrant.sample import NO_EVIDENCE, evidence_text

_FIELD: Final = re.compile(r"<<([A-Z][A-Z0-9_]*)>>")


@dataclass(frozen=True)
class Span:
    """Where the value of a field stands in a rendered text: characters start to end, from 0."""

    field: str
    start: int
    end: int


@dataclass(frozen=True)
class Template:
    """Literal texts and the fields between them: one literal more than fields."""

    literals: tuple[str, ...]
    fields: tuple[str, ...]

    def render(self, values: Mapping[str, str]) -> tuple[str, list[Span]]:
        """The text and where each field stands in it, in order. KeyError for a field without a value."""
        pieces = [self.literals[0]]
        spans = []
        position = len(pieces[0])
        for name, literal in zip(self.fields, self.literals[1:], strict=True):
            value = values[name]
            spans.append(Span(name, position, position + len(value)))
            pieces += [value, literal]
            position += len(value) + len(literal)
        return "".join(pieces), spans


def parse_template(text: str, file: str) -> Template:
    """A template, every character of it; InputError for a field that no case has and for one that is not used.

    CLAIM is required, and one of EVIDENCE and NUMBERED_EVIDENCE.
    """
    pieces = _FIELD.split(text)
    template = Template(tuple(pieces[::2]), tuple(pieces[1::2]))
    for name in template.fields:
        if name not in FIELDS:
            raise bad_input(file, field=f"<<{name}>>", found="a field that no case has", expected=f"one of {[*FIELDS]}")
    if "CLAIM" not in template.fields or not {"EVIDENCE", "NUMBERED_EVIDENCE"} & set(template.fields):
        expected = "<<CLAIM>>, and <<EVIDENCE>> or <<NUMBERED_EVIDENCE>>"
        raise bad_input(file, found=f"the fields {sorted(set(template.fields))}", expected=expected)
    return template


def read_back(text: str, spans: Sequence[Span]) -> tuple[Template, list[tuple[str, str]]]:
    """The template that a text was rendered from, and the value of each of its fields in order."""
    literals = []
    position = 0
    for span in spans:
        literals.append(text[position : span.start])
        position = span.end
    literals.append(text[position:])
    template = Template(tuple(literals), tuple(span.field for span in spans))
    return template, [(span.field, text[span.start : span.end]) for span in spans]


def numbered_evidence(evidence: Sequence[str]) -> str:
    """Evidence blocks with the ids that certificates cite: E1, E2, ..."""
    return "\n\n".join(f"E{number}: {block}" for number, block in enumerate(evidence, start=1)) or NO_EVIDENCE


# What a template may ask for, from the claim and its evidence blocks.
FIELDS: Final[Mapping[str, Callable[[str, Sequence[str]], str]]] = {
    "CLAIM": lambda claim, evidence: claim,
    "EVIDENCE": lambda claim, evidence: evidence_text(evidence),
    "NUMBERED_EVIDENCE": lambda claim, evidence: numbered_evidence(evidence),
}


def case_values(claim: str, evidence: Sequence[str]) -> dict[str, str]:
    """The value of every field for one case."""
    return {name: value(claim, evidence) for name, value in FIELDS.items()}
