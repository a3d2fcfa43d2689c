"""Verdict rows from response rows: every response gives exactly one, usable or not, in its order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Final

from warrant.certificates import unknown_evidence
from warrant.errors import bad_input
from warrant.imported import Imported, Known
from warrant.json_object import Repair, in_order
from warrant.parse_verdict import ParsedCertificate, ParsedVerdict, parse_certificate, parse_verdict

Row = dict[str, Any]
CARRIED: Final = (
    "request_sha256", "case_id", "model", "round", "replicate", "status", "text", "finish_reason", "usage",
    "returned_model", "returned_provider", "provider", "retries", "retry_causes",
)  # fmt: skip


def verdict_row(response: Mapping[str, Any], contract: str) -> Row:
    """The verdict of one response under a contract."""
    parsed = parse_verdict(response["text"], contract) if response["status"] == "ok" else None
    return _row(response, parsed)


def certificate_row(response: Mapping[str, Any]) -> Row:
    """The certificate of one response."""
    parsed = parse_certificate(response["text"]) if response["status"] == "ok" else None
    row = _row(response, parsed)
    if parsed is not None and parsed.subclaims is not None:
        row |= {
            "stated_verdict": parsed.stated_verdict,
            "subclaims": [{**asdict(item), "evidence_ids": list(item.evidence_ids)} for item in parsed.subclaims],
            "material_mixed": parsed.material_mixed,
            "material_insufficient": parsed.material_insufficient,
        }
    return row


def _row(response: Mapping[str, Any], parsed: ParsedVerdict | ParsedCertificate | None) -> Row:
    """A response that is not ok has no verdict, whatever text came: what was cut off may end by luck in an object."""
    row: Row = {name: response[name] for name in CARRIED}
    if parsed is None:
        return row | {"parse_status": "invalid", "reason": response["status"]}
    if response["text_repair"] is not None and parsed.reason is None:
        parsed = replace(parsed, repairs=in_order({*parsed.repairs, Repair(response["text_repair"])}))
    return row | {
        "parse_status": parsed.parse_status,
        "reason": parsed.reason,
        "verdict": parsed.verdict,
        "confidence": parsed.confidence,
        "reasoning": parsed.reasoning,
    }


def flag_certificate(out: Imported, file: str, number: int, row: Mapping[str, Any], known: Known) -> None:
    """Note evidence that the sample does not have, and a stated verdict that does not follow from the subclaims."""
    case_id, blocks = row["case_id"], known.evidence_blocks[row["case_id"]]
    if row.get("subclaims") is None:
        return
    for cited in unknown_evidence(row["subclaims"], blocks):
        out.flag(file, number, case_id, "evidence_ids", cited, f"E1 to E{blocks}")
    if row["stated_verdict"] != row["verdict"]:
        out.flag(file, number, case_id, "stated_verdict", row["stated_verdict"], row["verdict"])


def known_case(path: Path, number: int, row: Mapping[str, Any], cases: int) -> None:
    """InputError unless the row's case is one of the sample's."""
    if not 0 <= row["case_id"] < cases:
        raise bad_input(path, row=number, field="case_id", found=row["case_id"], expected=f"0 to {cases - 1}")
