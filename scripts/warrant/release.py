"""Importers of the verdict study's public release into the artifacts of this project.

Each takes the bytes of a file and the sample it belongs to, checks every row against the sample and the
contract, and returns verdict rows and flags. What contradicts the sample or the contract is refused with
file, row and field; what is merely inconsistent inside the release is flagged and kept.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any, Final

import numpy as np

from warrant import strict_json
from warrant.errors import bad_input
from warrant.imported import Imported, Known, Row, complete, confidence, label, once, one_of, text
from warrant.labels import CODES, GOLD, NAMES, NONE
from warrant.panel import Votes, majority
from warrant.sample import Case

UNPARSED: Final = "parse_failure"
STRATUM_OF_SOURCE: Final = {
    "vitaminc-mixed": "mixed-composite",
    "vitaminc-pure-supports": "pure-supports",
    "vitaminc-pure-refutes": "pure-refutes",
    "vitaminc-pure-nei": "pure-nei",
}


def panel_rows(
    data: bytes,
    file: str,
    known: Known,
    arm_systems: Iterable[str],
    all_systems: Iterable[str],
    models: Mapping[str, str],
    contract: str,
) -> Imported:
    """Judge outputs of one arm from panel rows (one line per system and case).

    arm_systems: the release's systems that belong to this arm. all_systems: every system the file may hold.
    models: the release's model names -> ours. The same judge's output may stand in several systems; it must
    then be the same output. The row's own verdict is recomputed by the majority rule and flagged if it differs.
    """
    wanted, every = set(arm_systems), set(all_systems)
    out = Imported()
    outputs: dict[tuple[int, str], tuple[Row, int]] = {}
    seen: dict[str, set[int]] = {system: set() for system in sorted(wanted)}
    for number, row in strict_json.lines(data, file):
        system = one_of(row.get("system"), every, file, number, "system")
        if system not in wanted:
            continue
        case_id = known.case(file, number, row)
        once(seen[system], case_id, file, number, f"case {case_id} of {system}")
        listed = row.get("judge_outputs")
        if not isinstance(listed, list) or not listed:
            raise bad_input(file, row=number, field="judge_outputs", found=listed, expected="a list of outputs")
        judged = [_judge_output(output, file, number, case_id, models, contract) for output in listed]
        for verdict in judged:
            before = outputs.setdefault((case_id, verdict["model"]), (verdict, number))
            if before[0] != verdict:
                found = f"another output of {verdict['model']} on case {case_id} than row {before[1]}"
                raise bad_input(file, row=number, field="judge_outputs", found=found, expected="one output")
        if len({verdict["model"] for verdict in judged}) != len(judged):
            raise bad_input(file, row=number, field="judge_outputs", found="a judge twice", expected="each judge once")
        decided = _majority_of(judged)
        if row.get("verdict_normal") != decided:
            out.flag(file, number, case_id, f"verdict_normal of {system}", row.get("verdict_normal"), decided)
    for system, cases in seen.items():
        complete(cases, len(known.gold), file, system)
    out.rows = [outputs[key][0] for key in sorted(outputs)]
    return out


def _judge_output(output: Any, file: str, number: int, case_id: int, models: Mapping[str, str], contract: str) -> Row:
    if not isinstance(output, dict):
        raise bad_input(file, row=number, field="judge_outputs", found=output, expected="an object")
    model = models[one_of(output.get("model"), models, file, number, "judge_outputs.model")]
    said = text(output.get("raw_response"), file, number, "raw_response")
    row: Row = {"case_id": case_id, "model": model, "text": said}
    parsed = output.get("parsed")
    if parsed is None:
        return {**row, "parse_status": "invalid", "verdict": None, "confidence": None, "reasoning": None}
    if not isinstance(parsed, dict):
        raise bad_input(file, row=number, field="judge_outputs.parsed", found=parsed, expected="an object or null")
    return {
        **row,
        "parse_status": "ok",
        "verdict": label(parsed.get("verdict_normal"), contract, file, number, "parsed.verdict_normal"),
        "confidence": confidence(parsed.get("confidence"), file, number, "parsed.confidence"),
        "reasoning": text(parsed.get("reasoning"), file, number, "parsed.reasoning"),
    }


def _majority_of(judged: Sequence[Row]) -> str | None:
    codes = [[NONE if row["verdict"] is None else CODES[row["verdict"]] for row in judged]]
    votes = Votes(
        np.array(codes, dtype=np.int8),
        np.zeros((1, len(judged)), dtype=np.int64),
        np.zeros((1, len(judged)), dtype=np.bool_),
        np.ones(1, dtype=np.bool_),
    )
    decided = int(majority(votes)[0])
    return None if decided == NONE else NAMES[decided]


def sample_cases(data: bytes, file: str, source: str) -> list[Case]:
    """The sample that a panel file describes: claim, gold label and stratum by case id, no evidence text.

    For a study whose evidence source is not at hand. Rows that disagree on a case are refused.
    """
    cases: dict[int, tuple[Case, int]] = {}
    for number, row in strict_json.lines(data, file):
        case_id, claim, gold = row.get("case_id"), row.get("claim"), row.get("gold_normal")
        stratum = STRATUM_OF_SOURCE.get(str(row.get("source")))
        if not isinstance(case_id, int) or isinstance(case_id, bool) or case_id < 0:
            raise bad_input(file, row=number, field="case_id", found=case_id, expected="a number from 0")
        if not isinstance(claim, str):
            raise bad_input(file, row=number, field="claim", found=claim, expected="a text")
        if gold not in GOLD:
            raise bad_input(file, row=number, field="gold_normal", found=gold, expected=f"one of {list(GOLD)}")
        if stratum is None:
            raise bad_input(
                file, row=number, field="source", found=row.get("source"), expected=f"one of {list(STRATUM_OF_SOURCE)}"
            )
        case = Case(stratum, gold, claim, None, source, None)
        first = cases.setdefault(case_id, (case, number))
        if first[0] != case:
            raise bad_input(
                file, row=number, field="claim", found=claim, expected=f"case {case_id} as in row {first[1]}"
            )
    complete(set(cases), max(cases, default=-1) + 1, file, "the sample")
    return [cases[case_id][0] for case_id in sorted(cases)]


def predictions(
    data: bytes, file: str, known: Known, dataset: str, models: Mapping[str, str], contract: str
) -> Imported:
    """Verdicts from a per-case predictions table (model_slot, dataset, case_id, gold, pred)."""
    out = Imported()
    seen: dict[str, set[int]] = {model: set() for model in sorted(models)}
    for number, row in csv_rows(data, file, ["model_slot", "dataset", "case_id", "gold", "pred"]):
        if row["dataset"] != dataset:
            raise bad_input(file, row=number, field="dataset", found=row["dataset"], expected=dataset)
        model = one_of(row["model_slot"], models, file, number, "model_slot")
        case_id = _case_id(row, len(known.gold), file, number)
        once(seen[model], case_id, file, number, f"case {case_id} of {model}")
        if row["gold"] != known.gold[case_id]:
            raise bad_input(
                file, row=number, field="gold", found=row["gold"], expected=f"the sample's {known.gold[case_id]!r}"
            )
        out.rows.append(_prediction(row["pred"], "", case_id, models[model], contract, file, number, "pred"))
    for model, cases in seen.items():
        complete(cases, len(known.gold), file, model)
    return out


def taxonomy(data: bytes, file: str, known: Known, dataset: str, models: Mapping[str, str], contract: str) -> Imported:
    """A partial panel from the taxonomy table: every judge's vote and confidence on the gold-conflicting claims."""
    header = ["dataset", "case_id", "model", "structural_category", "prediction", "is_dataset_cco", "confidence"]
    out = Imported()
    conflicting = {case_id for case_id, gold in enumerate(known.gold) if gold == "conflicting"}
    seen: dict[str, set[int]] = {model: set() for model in sorted(models)}
    for number, row in csv_rows(data, file, header):
        if row["dataset"] != dataset:
            continue
        model = one_of(row["model"], models, file, number, "model")
        case_id = _case_id(row, len(known.gold), file, number)
        once(seen[model], case_id, file, number, f"case {case_id} of {model}")
        if case_id not in conflicting:
            raise bad_input(file, row=number, field="case_id", found=case_id, expected="a gold-conflicting case")
        verdict = _prediction(
            row["prediction"], row["confidence"], case_id, models[model], contract, file, number, "prediction"
        )
        out.rows.append(verdict)
        commits = verdict["verdict"] in ("support", "refute")
        if row["is_dataset_cco"] != str(int(commits)):
            out.flag(file, number, case_id, "is_dataset_cco", row["is_dataset_cco"], int(commits))
    for model, cases in seen.items():
        if cases != conflicting:
            missing = sorted(conflicting - cases)
            raise bad_input(
                file,
                field="case_id",
                found=f"{len(missing)} of {model}'s gold-conflicting cases missing, first {missing[:1]}",
                expected=f"{len(conflicting)} cases",
            )
    return out


def _prediction(
    said: str, stated: str, case_id: int, model: str, contract: str, file: str, number: int, where: str
) -> Row:
    row: Row = {"case_id": case_id, "model": model, "text": None, "reasoning": None}
    if said == UNPARSED:
        return {**row, "parse_status": "invalid", "verdict": None, "confidence": None}
    try:
        value = Decimal(stated) if stated else None
    except ArithmeticError:
        raise bad_input(file, row=number, field="confidence", found=stated, expected="a number from 0 to 1") from None
    return {
        **row,
        "parse_status": "ok",
        "verdict": label(said, contract, file, number, where),
        "confidence": confidence(value, file, number),
    }


def csv_rows(data: bytes, file: str, header: Sequence[str]) -> Iterable[tuple[int, dict[str, str]]]:
    """Rows of a CSV with exactly this header, with their row numbers (the header is row 1)."""
    try:
        decoded = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise bad_input(file, found=str(error), expected="UTF-8") from error
    reader = csv.reader(io.StringIO(decoded, newline=""))
    try:
        found = next(reader, [])
        if found != list(header):
            raise bad_input(file, row=1, found=found, expected=f"the header {list(header)}")
        for number, cells in enumerate(reader, start=2):
            if len(cells) != len(header):
                raise bad_input(file, row=number, found=f"{len(cells)} fields", expected=f"{len(header)} fields")
            yield number, dict(zip(header, cells, strict=True))
    except csv.Error as error:
        raise bad_input(file, row=reader.line_num, found=str(error), expected="a CSV row") from error


def _case_id(row: Mapping[str, str], cases: int, file: str, number: int) -> int:
    digits = row["case_id"]
    if not (digits.isascii() and digits.isdigit() and len(digits) < 10) or int(digits) >= cases:
        raise bad_input(file, row=number, field="case_id", found=digits, expected=f"a case id from 0 to {cases - 1}")
    return int(digits)
