"""The verdicts artifact: one row per case, judge, round and replicate of an arm; and its arrays of votes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa

from warrant import artifact
from warrant.artifact import field
from warrant.decimals import CONFIDENCE, column_units
from warrant.errors import bad_input
from warrant.labels import CODES, NONE, Mask
from warrant.panel import Votes

SCHEMA: Final = pa.schema(
    [
        field("request_sha256", pa.string(), "key of the request; null for an imported output"),
        field("case_id", pa.int32(), "case of the sample", nullable=False),
        field("model", pa.string(), "judge", nullable=False),
        field("round", pa.int32(), "0 for a single turn", nullable=False),
        field("replicate", pa.int32(), "0 for the first answer", nullable=False),
        field("status", pa.string(), "ok, refusal, truncated, empty, wrong_model or infra_error", nullable=False),
        field("text", pa.string(), "the answer as it came; null when the source carries none"),
        field("finish_reason", pa.string(), "as the provider gave it"),
        field("usage", pa.string(), "token counts as JSON"),
        field("returned_model", pa.string(), "model that answered"),
        field("returned_provider", pa.string(), "whom an intermediary says it passed the request to"),
        field("provider", pa.string(), "provider that answered"),
        field("retries", pa.int64(), "calls before this answer"),
        field("retry_causes", pa.string(), "JSON, retries by cause; null when there were none"),
        field("parse_status", pa.string(), "ok, repaired:<codes> or invalid", nullable=False),
        field(
            "reason",
            pa.string(),
            "why it is invalid: a code of json_object.REASONS or the status; null where not known",
        ),
        field("verdict", pa.string(), "support, refute, insufficient or conflicting; null when not usable"),
        field("confidence", CONFIDENCE, "stated confidence in [0, 1]; null when none was stated"),
        field("reasoning", pa.string(), "stated reasoning"),
    ]
)
NO_ANSWER: Final = "infra_error"  # the status of a request to which no answer came
FLAGS: Final = pa.schema(
    [
        field("file", pa.string(), "source", nullable=False),
        field("row", pa.int64(), "row of the source, from 1"),
        field("case_id", pa.int32(), "case of the sample"),
        field("field", pa.string(), "what was looked at", nullable=False),
        field("found", pa.string(), "what the source says", nullable=False),
        field("expected", pa.string(), "what would be consistent", nullable=False),
    ]
)


def read_votes(path: Path, judges: Sequence[str], cases: int) -> Votes:
    """Votes of the listed judges: those of `read_answered`."""
    return read_answered(path, judges, cases)[0]


def read_answered(path: Path, judges: Sequence[str], cases: int) -> tuple[Votes, Mask]:
    """Votes of the listed judges on cases 0..cases-1 (round 0, replicate 0), in the listed order; whose answers came.

    A case that none of the judges has a row for is not known, and neither is one to which some judge's answer did
    not come (infra_error); a case that only some have a row for, a judge without any row, or a repeated row is an
    error (InputError).
    """
    table = artifact.read(path, SCHEMA)
    label = np.full((cases, len(judges)), NONE, dtype=np.int8)
    confidence = np.zeros((cases, len(judges)), dtype=np.int64)
    has_confidence = np.zeros((cases, len(judges)), dtype=np.bool_)
    seen = np.zeros((cases, len(judges)), dtype=np.bool_)
    answered = np.zeros((cases, len(judges)), dtype=np.bool_)
    units, present = column_units(table.column("confidence"))
    position = {judge: j for j, judge in enumerate(judges)}
    rows = artifact.columns(table, ["case_id", "model", "round", "replicate", "verdict", "status"])
    for i, (case_id, model, round_, replicate, verdict, status) in enumerate(rows):
        judge = position.get(model)
        if judge is None or round_ != 0 or replicate != 0:
            continue
        if not 0 <= case_id < cases:
            raise bad_input(path, row=i + 1, field="case_id", found=case_id, expected=f"0 to {cases - 1}")
        if seen[case_id, judge]:
            raise bad_input(path, row=i + 1, field="case_id", found=f"{case_id} of {model} again", expected="once")
        seen[case_id, judge] = True
        answered[case_id, judge] = status != NO_ANSWER
        if verdict is not None:
            label[case_id, judge] = CODES[verdict]
        confidence[case_id, judge] = units[i]
        has_confidence[case_id, judge] = present[i]
    for judge, name in enumerate(judges):
        if not seen[:, judge].any():
            raise bad_input(path, field="model", found=f"no row of {name}", expected="a row per case")
    uneven = seen.any(axis=1) & ~seen.all(axis=1)
    if uneven.any():
        raise bad_input(
            path,
            field="case_id",
            found=f"case {int(np.flatnonzero(uneven)[0])} without some of {list(judges)}",
            expected="a row of every judge",
        )
    return Votes(label, confidence, has_confidence, np.asarray(answered.all(axis=1))), answered
