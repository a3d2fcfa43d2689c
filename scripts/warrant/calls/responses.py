"""The responses artifact: one row per request of an arm, with what came back; a projection of the response store.

What a response says beside its text is defined here, and the store takes it from here, so that what parses answers need
not import the store. Times stay in the store: the same answers are the same artifact, whenever they came.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from warrant import artifact
from warrant.artifact import field
from warrant.calls.requests import IDENTITY
from warrant.errors import bad_input

ANSWERED: Final = ("ok", "refusal", "truncated", "empty", "wrong_model")  # the statuses that a stored answer can have
STATUSES: Final = (*ANSWERED, "infra_error")
TEXT_REPAIRS: Final = (None, "surrogate", "utf8")
ABOUT_THE_ANSWER: Final = (
    field("text_repair", pa.string(), "null, or surrogate or utf8: what U+FFFD stands for in the text"),
    field("finish_reason", pa.string(), "as the provider named it"),
    field("usage", pa.string(), "JSON, as the provider counted"),
    field("returned_model", pa.string(), "the model that the provider says answered"),
    field("returned_provider", pa.string(), "whom an intermediary says it passed the request to"),
    field("provider", pa.string(), "whom the request was sent to", nullable=False),
    field("retries", pa.int64(), "calls before this answer", nullable=False),
    field("retry_causes", pa.string(), "JSON, retries by cause; null when there were none"),
)
SCHEMA: Final = pa.schema(
    [
        *IDENTITY,
        field("status", pa.string(), ", ".join(STATUSES), nullable=False),
        field("text", pa.string(), "the answer as it came; null for an infra_error"),
        *ABOUT_THE_ANSWER,
    ]
)


def read(path: Path) -> list[dict[str, Any]]:
    """The rows in their order; InputError for a status or a repair that there is not."""
    rows: list[dict[str, Any]] = artifact.read(path, SCHEMA).to_pylist()
    for number, row in enumerate(rows, start=1):
        for name, known in (("status", STATUSES), ("text_repair", TEXT_REPAIRS)):
            if row[name] not in known:
                expected = f"one of {', '.join(map(str, known))}"
                raise bad_input(path, row=number, field=name, found=row[name], expected=expected)
    return rows
