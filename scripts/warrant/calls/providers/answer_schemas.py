"""JSON schemas of answers: what a contract asks for, for APIs that hold a model to a schema.

Only what every API with structured outputs takes: every property required, none beside them, no ranges (a confidence
outside [0, 1] is the parser's matter). The order of `required` is the order in which a model is to write: it is the
prompts' order, verdict first, and survives where keys are sorted.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from warrant.labels import ASKED, CONTRACTS, STATES

Schema = dict[str, Any]

TEXT: Final[Schema] = {"type": "string"}


def answer_schema(contract: str) -> Schema:
    """The schema of an answer to an arm with this contract (a key of `labels.CONTRACTS`)."""
    labels = [label for label, meaning in ASKED.items() if meaning in CONTRACTS[contract]]
    verdict: Schema = {"type": "string", "enum": labels}
    rest: Schema = {"confidence": {"type": "number"}, "reasoning": TEXT}
    if contract != "certificate":
        return _object({"verdict": verdict, **rest})
    subclaim = _object(
        {
            "text": TEXT,
            "material": {"type": "boolean"},
            "evidence_state": {"type": "string", "enum": list(STATES)},
            "evidence_ids": {"type": "array", "items": TEXT},
            "rationale": TEXT,
        }
    )
    return _object({"subclaims": {"type": "array", "items": subclaim}, "final_verdict": verdict, **rest})


def _object(properties: Schema) -> Schema:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def in_order(value: Any) -> Any:
    """A JSON value in which the properties of every schema stand in the order of its `required`."""
    if isinstance(value, Mapping):
        ordered = {name: in_order(item) for name, item in value.items()}
        properties, required = ordered.get("properties"), ordered.get("required")
        if isinstance(properties, dict) and isinstance(required, list):
            first = [name for name in required if name in properties]
            ordered["properties"] = {name: properties[name] for name in dict.fromkeys([*first, *properties])}
        return ordered
    return [in_order(item) for item in value] if isinstance(value, list | tuple) else value
