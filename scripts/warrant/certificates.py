"""Structured certificates: subclaims with an evidence state, and what follows from them deterministically."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa

from warrant import artifact, strict_json
from warrant.artifact import field
from warrant.errors import bad_input
from warrant.imported import Imported, Known, Row, complete, confidence, label, once, one_of, text
from warrant.labels import CODES, NONE, STATES, Labels, Mask
from warrant.verdicts import NO_ANSWER
from warrant.verdicts import SCHEMA as VERDICTS

# json_object.Reason has it too; what reads flags is not to depend on how answers are parsed
NO_MATERIAL: Final = "no_material_subclaim"
SUBCLAIM: Final = pa.struct(
    [
        pa.field("text", pa.string()),
        pa.field("material", pa.bool_()),
        pa.field("evidence_state", pa.string()),
        pa.field("evidence_ids", pa.list_(pa.string())),
        pa.field("rationale", pa.string()),
    ]
)
SCHEMA: Final = pa.schema(
    [
        *VERDICTS,
        field("stated_verdict", pa.string(), "the verdict that the model itself gave"),
        field("subclaims", pa.list_(SUBCLAIM), "the certificate; null when not usable"),
        field("material_mixed", pa.bool_(), "some material subclaim is mixed; null when not usable"),
        field("material_insufficient", pa.bool_(), "some material subclaim is insufficient; null when not usable"),
    ]
)


def material_states(subclaims: Sequence[Mapping[str, Any]]) -> frozenset[str]:
    """Evidence states that occur among the material subclaims (material is the validator's own boolean)."""
    return frozenset(item["evidence_state"] for item in subclaims if item["material"])


def deterministic_verdict(subclaims: Sequence[Mapping[str, Any]]) -> str | None:
    """The verdict that follows from the certificate: mixed, then support with refute, then insufficient, then
    the direction; None when no subclaim is material.
    """
    states = material_states(subclaims)
    if "mixed" in states or {"supports", "refutes"} <= states:
        return "conflicting"
    for state, verdict in (("insufficient", "insufficient"), ("supports", "support"), ("refutes", "refute")):
        if state in states:
            return verdict
    return None


def unknown_evidence(subclaims: Sequence[Mapping[str, Any]], blocks: int | None) -> list[str]:
    """Cited ids that are not E1 to E`blocks`, each once; none where the number of evidence blocks is not known."""
    cited = dict.fromkeys(one for item in subclaims for one in item["evidence_ids"])
    known = None if blocks is None else {f"E{number}" for number in range(1, blocks + 1)}
    return [] if known is None else [one for one in cited if one not in known]


def certificate_rows(data: bytes, file: str, known: Known, models: Mapping[str, str]) -> Imported:
    """Certificates from validator rows (one line per case).

    The verdict of a row is the deterministic one; the release's own is recomputed and flagged if it differs, as
    are counts that do not fit and evidence ids that do not exist in the sample. A certificate without a material
    subclaim is invalid, as where answers are parsed: no verdict follows from it.
    """
    out = Imported()
    seen: set[int] = set()
    for number, row in strict_json.lines(data, file):
        case_id = known.case(file, number, row)
        once(seen, case_id, file, number, f"case {case_id}")
        model = models[one_of(row.get("model"), models, file, number, "model")]
        said = text(row.get("raw_response"), file, number, "raw_response")
        base: Row = {"case_id": case_id, "model": model, "text": said}
        certificate = row.get("certificate")
        if certificate is None:
            out.rows.append({**base, "parse_status": "invalid"})
            continue
        if not isinstance(certificate, dict):
            raise bad_input(file, row=number, field="certificate", found=certificate, expected="an object or null")
        subclaims = _subclaims(certificate.get("subclaims"), file, number)
        states = material_states(subclaims)
        verdict = deterministic_verdict(subclaims)
        usable = {
            "parse_status": "ok",
            "verdict": verdict,
            "confidence": confidence(certificate.get("confidence"), file, number, "certificate.confidence"),
            "reasoning": text(certificate.get("reasoning"), file, number, "certificate.reasoning"),
            "stated_verdict": label(
                row.get("prompt_final_verdict"), "certificate", file, number, "prompt_final_verdict"
            ),
            "subclaims": subclaims,
            "material_mixed": "mixed" in states,
            "material_insufficient": "insufficient" in states,
        }
        without = {"parse_status": "invalid", "reason": NO_MATERIAL}
        out.rows.append({**base, **(without if verdict is None else usable)})
        _flag_inconsistencies(out, file, number, case_id, row, subclaims, verdict, known.evidence_blocks[case_id])
    complete(seen, len(known.gold), file, "the validator")
    return out


def _subclaims(listed: Any, file: str, number: int) -> list[Row]:
    if not isinstance(listed, list) or not listed:
        raise bad_input(file, row=number, field="certificate.subclaims", found=listed, expected="a list of subclaims")
    subclaims = []
    for item in listed:
        if not isinstance(item, dict):
            raise bad_input(file, row=number, field="subclaims", found=item, expected="an object")
        one_of(item.get("evidence_state"), STATES, file, number, "evidence_state")
        if not isinstance(item.get("material"), bool):
            raise bad_input(file, row=number, field="material", found=item.get("material"), expected="true or false")
        ids = item.get("evidence_ids")
        if not isinstance(ids, list) or not all(isinstance(one, str) for one in ids):
            raise bad_input(file, row=number, field="evidence_ids", found=ids, expected="a list of evidence ids")
        for name in ("text", "rationale"):
            text(item.get(name), file, number, f"subclaims.{name}")
        for one in ids:
            text(one, file, number, "subclaims.evidence_ids")
        subclaims.append({name: item.get(name) for name in SUBCLAIM.names})
    return subclaims


def _flag_inconsistencies(
    out: Imported,
    file: str,
    number: int,
    case_id: int,
    row: Mapping[str, Any],
    subclaims: Sequence[Row],
    verdict: str | None,
    blocks: int | None,
) -> None:
    for one in unknown_evidence(subclaims, blocks):
        out.flag(file, number, case_id, "evidence_ids", one, f"E1 to E{blocks}")
    if row.get("validator_verdict") != verdict:
        out.flag(file, number, case_id, "validator_verdict", row.get("validator_verdict"), verdict)
    stated = row.get("validity")
    if isinstance(stated, dict):
        states = material_states(subclaims)
        recomputed = {
            "n_subclaims": len(subclaims),
            "n_material_subclaims": sum(bool(item["material"]) for item in subclaims),
            "has_material_support": "supports" in states,
            "has_material_refute": "refutes" in states,
            "has_material_mixed": "mixed" in states,
            "has_material_insufficient": "insufficient" in states,
            # the release counts citations of material subclaims, repeated ones included
            "n_cited_evidence_ids": sum(len(item["evidence_ids"]) for item in subclaims if item["material"]),
        }
        for name, value in recomputed.items():
            if name in stated and stated[name] != value:
                out.flag(file, number, case_id, f"validity.{name}", stated[name], value)


def read_flags(path: Path, cases: int) -> tuple[Labels, Mask, Mask, Mask]:
    """Per case: the deterministic verdict (NONE when not usable), material_mixed, material_insufficient, known.

    A claim without a usable certificate raises no flag; one to which no answer came (infra_error) is not known. A
    missing or repeated case is an error (InputError).
    """
    table = artifact.read(path, SCHEMA)
    verdict = np.full(cases, NONE, dtype=np.int8)
    mixed = np.zeros(cases, dtype=np.bool_)
    insufficient = np.zeros(cases, dtype=np.bool_)
    seen, known = np.zeros(cases, dtype=np.bool_), np.zeros(cases, dtype=np.bool_)
    names = ["case_id", "verdict", "material_mixed", "material_insufficient", "status"]
    for i, (case_id, said, is_mixed, is_insufficient, status) in enumerate(artifact.columns(table, names), start=1):
        if not 0 <= case_id < cases or seen[case_id]:
            raise bad_input(path, row=i, field="case_id", found=case_id, expected=f"cases 0 to {cases - 1}, once each")
        seen[case_id], known[case_id] = True, status != NO_ANSWER
        if said is not None:
            verdict[case_id] = CODES[said]
        mixed[case_id], insufficient[case_id] = bool(is_mixed), bool(is_insufficient)
    if not seen.all():
        raise bad_input(path, field="case_id", found=f"{int((~seen).sum())} cases missing", expected=f"{cases} cases")
    return verdict, mixed, insufficient, known
