"""The requests artifact: one row per call that an arm needs, with all that is sent; the key says which answer it is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from warrant import artifact, strict_json
from warrant.artifact import field
from warrant.calls.request_key import Request, canonical_json
from warrant.errors import bad_input

MESSAGE: Final = pa.struct([pa.field("role", pa.string()), pa.field("content", pa.string())])
SPAN: Final = pa.struct(
    [
        pa.field("field", pa.string()),
        pa.field("message", pa.int32()),
        pa.field("start", pa.int32()),
        pa.field("end", pa.int32()),
    ]
)
# What tells the rows of requests, responses and verdicts apart.
IDENTITY: Final = [
    field("request_sha256", pa.string(), "key of the request", nullable=False),
    field("case_id", pa.int32(), "case of the sample", nullable=False),
    field("model", pa.string(), "judge, as the tables name it", nullable=False),
    field("round", pa.int32(), "0 for a single turn", nullable=False),
    field("replicate", pa.int32(), "0 for the first answer", nullable=False),
]
SCHEMA: Final = pa.schema(
    [
        *IDENTITY,
        field("provider", pa.string(), "whom the request is sent to", nullable=False),
        field("base_url", pa.string(), "address of the provider", nullable=False),
        field("requested_model", pa.string(), "model as the provider names it", nullable=False),
        field("messages", pa.list_(MESSAGE), "the messages, exactly as sent", nullable=False),
        field("parameters", pa.string(), "canonical JSON of exactly the parameters that are sent", nullable=False),
        field("schema", pa.string(), "canonical JSON of the response schema; null when none is sent"),
        field("spans", pa.list_(SPAN), "where the prompt's fields stand: message and characters", nullable=False),
    ]
)


@dataclass(frozen=True)
class Call:
    """A request and whose it is: the judge's name in the tables, the case and the round."""

    case_id: int
    judge: str
    round: int
    request: Request
    spans: Sequence[Mapping[str, Any]] = ()

    def row(self) -> dict[str, Any]:
        """The call as a row of SCHEMA."""
        request = self.request
        return {
            "request_sha256": request.key(),
            "case_id": self.case_id,
            "model": self.judge,
            "round": self.round,
            "replicate": request.replicate,
            "provider": request.provider,
            "base_url": request.base_url,
            "requested_model": request.model,
            "messages": list(request.messages),
            "parameters": canonical_json(request.parameters),
            "schema": None if request.schema is None else canonical_json(request.schema),
            "spans": list(self.spans),
        }


def read(path: Path) -> Iterator[tuple[str, Call]]:
    """Key and call of every row; InputError where a row is not the request that its key stands for."""
    for number, row in enumerate(artifact.read(path, SCHEMA).to_pylist(), start=1):
        request = Request(
            provider=row["provider"],
            base_url=row["base_url"],
            model=row["requested_model"],
            messages=row["messages"],
            parameters=strict_json.loads(row["parameters"]),
            schema=None if row["schema"] is None else strict_json.loads(row["schema"]),
            replicate=row["replicate"],
        )
        key = request.key()
        if key != row["request_sha256"]:
            raise bad_input(path, row=number, field="request_sha256", found=row["request_sha256"], expected=key)
        yield key, Call(row["case_id"], row["model"], row["round"], request, row["spans"])
