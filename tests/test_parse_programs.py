"""The programs that parse an arm's responses: one verdict for each, whatever came back, and nothing lost on the way."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from warrant import artifact, certificates, sample, verdicts
from warrant.calls import requests, responses, store
from warrant.calls.request_key import Request
from warrant.calls.requests import IDENTITY, Call
from warrant.calls.responses import STATUSES, TEXT_REPAIRS
from warrant.json_object import REASONS, Repair
from warrant.parse_verdict import parse_certificate, parse_verdict
from warrant.sample import Case
from warrant.verdicts import read_votes

BLOCKS: tuple[list[str] | None, ...] = (["e"], ["e", "f"], None)
SAMPLE = sample.to_table([Case("g", "support", f"claim {i}", BLOCKS[i], "source", i) for i in range(3)], "study")
SAID = '{"verdict": "SUPPORTS", "confidence": 0.9, "reasoning": "because"}'
CARRIED = [item.name for item in responses.SCHEMA if item.name != "text_repair"]
Row = dict[str, Any]


def subclaim(*ids: str, state: str = "supports", material: bool = True) -> Row:
    return {"text": "t", "material": material, "evidence_state": state, "evidence_ids": [*ids], "rationale": None}


def certificate(*listed: Row, final: str = "SUPPORTS") -> str:
    return json.dumps({"subclaims": listed or [subclaim("E1")], "final_verdict": final, "confidence": 0.5})


def response(number: int = 0, text: str | None = SAID, status: str = "ok", **more: Any) -> Row:
    return {
        "request_sha256": f"{number:064x}",
        "case_id": number % 3,
        "model": f"judge-{number // 3}",
        "round": 0,
        "replicate": 0,
        "status": status,
        "text": text,
        "text_repair": None,
        "finish_reason": "stop",
        "usage": '{"input":1}',
        "returned_model": "model-1",
        "returned_provider": None,
        "provider": "someone",
        "retries": 2,
        "retry_causes": '{"429":2}',
        **more,
    }


def program(contract: str) -> str:
    return "parse_certificates" if contract == "certificate" else "parse_verdicts"


@pytest.fixture(scope="module")
def parse(run_step: Any, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., tuple[list[Row], list[Row]]]:
    """Verdicts and flags that a contract's program writes for these responses."""
    folder = tmp_path_factory.mktemp("parse")
    artifact.write(SAMPLE, folder / "sample.parquet")
    outputs = {"verdicts": folder / "verdicts/arm.parquet", "flags": folder / "flags/arm.parquet"}
    inputs = {"sources": [folder / "responses/arm.parquet"], "sample": [folder / "sample.parquet"]}

    def run(rows: list[Row], contract: str = "4opt") -> tuple[list[Row], list[Row]]:
        artifact.write(artifact.from_rows(rows, responses.SCHEMA), inputs["sources"][0])
        run_step(program(contract), inputs, outputs, {"arm": "arm", "contract": contract, "sources": []})
        schema = certificates.SCHEMA if contract == "certificate" else verdicts.SCHEMA
        found = artifact.read(outputs["verdicts"], schema).to_pylist()
        return found, artifact.read(outputs["flags"], verdicts.FLAGS).to_pylist()

    return run


# --- one verdict for each response -----------------------------------------------------------------------------------

texts = st.sampled_from(
    [
        None,
        "",
        " ",
        SAID,
        f"```json\n{SAID}\n```",
        SAID[:-1],
        "No.",
        certificate(),
        certificate(subclaim(material=False)),
    ]
)
drawn = st.lists(
    st.builds(
        dict,
        text=texts | st.text(max_size=20),
        status=st.sampled_from(STATUSES),
        text_repair=st.sampled_from(TEXT_REPAIRS),
        round=st.integers(0, 2),
        replicate=st.integers(0, 2),
        usage=st.none() | st.just("{}"),
        retry_causes=st.none() | st.just('{"timeout":2}'),
    ),
    max_size=6,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(drawn, st.sampled_from(["3opt", "4opt", "certificate"]))
def test_every_response_gives_one_verdict_in_its_place(parse: Any, given_rows: list[Row], contract: str) -> None:
    """Whatever came: the row is carried over, and it has a verdict or a reason, by its status and then by its text."""
    rows = [response(number, **more) for number, more in enumerate(given_rows)]
    found, _ = parse(rows, contract)
    assert [{name: row[name] for name in CARRIED} for row in found] == [
        {name: row[name] for name in CARRIED} for row in rows
    ]
    for row, came in zip(found, rows, strict=True):
        text = came["text"]
        parsed = parse_certificate(text) if contract == "certificate" else parse_verdict(text, contract)
        reason = parsed.reason if came["status"] == "ok" else came["status"]
        assert row["reason"] == reason
        assert (row["parse_status"] == "invalid") == (reason is not None) == (row["verdict"] is None)
        usable = reason is None
        assert row["verdict"] == (parsed.verdict if usable else None)
        assert row["confidence"] == (parsed.confidence if usable else None)
        assert row["reasoning"] == (parsed.reasoning if usable else None)
        if usable:
            codes = set(row["parse_status"].removeprefix("ok").removeprefix("repaired:").split("+")) - {""}
            assert codes == {*parsed.repairs, came["text_repair"]} - {None}
        if contract == "certificate":
            subclaims = getattr(parsed, "subclaims", None) if usable else None
            assert (row["subclaims"] is not None) == (subclaims is not None) == usable
            assert (row["stated_verdict"] is not None) == usable
            assert (row["material_mixed"] is not None) == (row["material_insufficient"] is not None) == usable


@pytest.mark.parametrize("contract", ["4opt", "certificate"])
@pytest.mark.parametrize("status", ["refusal", "truncated", "empty", "infra_error"])
def test_an_answer_that_did_not_come_whole_has_no_verdict(parse: Any, contract: str, status: str) -> None:
    """Even where what came holds a whole object: whether it does is luck. The text stays in the row."""
    text = certificate() if contract == "certificate" else SAID
    usable, refused = parse([response(0, text), response(1, text, status)], contract)[0]
    assert (usable["parse_status"], usable["reason"], usable["verdict"]) == ("ok", None, "support")
    assert (refused["parse_status"], refused["reason"], refused["verdict"]) == ("invalid", status, None)
    assert (refused["status"], refused["text"], refused["confidence"]) == (status, text, None)


def test_reasons_that_are_statuses_are_no_codes_of_the_parser_but_by_meaning() -> None:
    """`empty` and `truncated` mean the same from either; the others come from the status only."""
    assert {status for status in STATUSES if status in set(REASONS)} == {"empty", "truncated"}


@pytest.mark.parametrize("text", [None, "", " \n"])
def test_a_blank_answer_is_empty_whatever_its_status(parse: Any, text: str | None) -> None:
    found, _ = parse([response(0, text), response(1, text, "empty")])
    assert [(row["parse_status"], row["reason"]) for row in found] == [("invalid", "empty")] * 2


@pytest.mark.parametrize(
    ("text", "repair", "status"),
    [
        (SAID, None, "ok"),
        (SAID, "surrogate", "repaired:surrogate"),
        (SAID, "utf8", "repaired:utf8"),
        (f"So: {SAID}", "utf8", "repaired:prose+utf8"),
        (SAID.replace("because", "\\ud800"), "surrogate", "repaired:surrogate"),
        (SAID.replace("because", "\\ud800"), "utf8", "repaired:utf8+surrogate"),
        (
            f"```\n{SAID.replace('SUPPORTS', 'nei')}\n```" * 2,
            "utf8",
            "repaired:fenced+duplicate_object+utf8+label_alias",
        ),
        ("No.", "utf8", "invalid"),
    ],
)
def test_a_repair_of_the_store_is_one_among_the_others(parse: Any, text: str, repair: str, status: str) -> None:
    """In the order in which a status lists them, each once; none where there is nothing usable."""
    ((row,), _) = parse([response(0, text, text_repair=repair)])
    assert row["parse_status"] == status


def test_the_repairs_of_the_store_have_codes() -> None:
    assert set(TEXT_REPAIRS) - {None} <= set(Repair)


def test_verdicts_are_read_as_votes(parse: Any, tmp_path: Path) -> None:
    """What is written is what the tables read: an unusable answer is known, one that did not come is not."""
    rows = [response(0), response(1, None, "infra_error"), response(2, "No.")]
    artifact.write(artifact.from_rows(parse(rows)[0], verdicts.SCHEMA), tmp_path / "arm.parquet")
    votes = read_votes(tmp_path / "arm.parquet", ["judge-0"], 3)
    assert votes.known.tolist() == [True, False, True]
    assert votes.usable.tolist() == [[True], [False], [False]]


def test_an_arm_without_responses_gives_none(parse: Any) -> None:
    assert parse([], "3opt") == parse([], "certificate") == ([], [])


# --- flags -----------------------------------------------------------------------------------------------------------


def flags_of(parse: Any, *texts: str) -> list[tuple[Any, ...]]:
    _, flags = parse([response(number, text) for number, text in enumerate(texts)], "certificate")
    assert all(flag["file"] == "arm.parquet" for flag in flags)
    return [(flag["row"], flag["case_id"], flag["field"], flag["found"], flag["expected"]) for flag in flags]


@pytest.mark.parametrize("cited", ["E2", "E0", "E01", "e1", "", "E1 "])
def test_evidence_that_the_sample_does_not_have_is_flagged(parse: Any, cited: str) -> None:
    """Once a certificate, however often it is cited; E2 exists in case 1, and of case 2 nothing is known."""
    text = certificate(subclaim(cited, "E1"), subclaim(cited))
    expected = [(1, 0, "evidence_ids", cited, "E1 to E1"), (2, 1, "evidence_ids", cited, "E1 to E2")]
    assert flags_of(parse, text, text, text) == expected[: 1 if cited == "E2" else 2]


def test_a_stated_verdict_that_does_not_follow_is_flagged(parse: Any) -> None:
    """The row keeps both; the verdict is the one that follows."""
    texts = [certificate(), certificate(final="REFUTES"), certificate(subclaim(state="mixed"), final="NEI")]
    assert flags_of(parse, *texts) == [
        (2, 1, "stated_verdict", "refute", "support"),
        (3, 2, "stated_verdict", "insufficient", "conflicting"),
    ]
    found, _ = parse([response(1, texts[1])], "certificate")
    assert (found[0]["verdict"], found[0]["stated_verdict"]) == ("support", "refute")


def test_what_is_not_usable_is_not_flagged(parse: Any) -> None:
    """An invalid certificate has no evidence and no verdict that could be wrong; and verdicts have no flags at all."""
    wrong = certificate(subclaim("E9"), final="REFUTES")
    _, flags = parse([response(0, wrong[:-1]), response(1, wrong, "truncated")], "certificate")
    assert flags == []
    assert parse([response(0, wrong)], "4opt")[1] == []


# --- what is refused -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("contract", ["4opt", "certificate"])
@pytest.mark.parametrize(
    ("more", "parts"),
    [
        ({"case_id": 3}, ("row 2", "field case_id", "found 3", "0 to 2")),
        ({"case_id": -1}, ("row 2", "field case_id", "found -1", "0 to 2")),
        (
            {"status": "fine"},
            ("row 2", "field status", "'fine'", "ok, refusal, truncated, empty, wrong_model, infra_error"),
        ),
        ({"text_repair": "nul"}, ("row 2", "field text_repair", "'nul'", "None, surrogate, utf8")),
    ],
)
def test_a_response_that_cannot_be_is_refused(
    parse: Any, refused: Any, contract: str, more: Row, parts: tuple[str, ...]
) -> None:
    """The file, the row and the field are named."""
    with refused("arm.parquet", *parts):
        parse([response(0), response(1, **more)], contract)


# --- as the workflow runs them ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("contract", ["3opt", "certificate"])
def test_the_program_is_run_as_an_importer_is(run_program: Any, tmp_path: Path, contract: str) -> None:
    """Its command line; and one line, no traceback, where a response is none of the sample's."""
    artifact.write(SAMPLE, tmp_path / "sample.parquet")
    settings_ = json.dumps({"arm": "arm", "contract": contract, "sources": []})
    command = (
        *("--sources", "arm.parquet", "--sample", "sample.parquet", "--settings", settings_, "--code", "0"),
        *("--verdicts", "verdicts/arm.parquet", "--flags", "flags/arm.parquet"),
    )
    text = certificate(subclaim("E9")) if contract == "certificate" else SAID
    artifact.write(artifact.from_rows([response(0, text)], responses.SCHEMA), tmp_path / "arm.parquet")
    done = run_program(program(contract), *command)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert artifact.read(tmp_path / "verdicts/arm.parquet").column("verdict").to_pylist() == ["support"]
    assert len(artifact.read(tmp_path / "flags/arm.parquet")) == (contract == "certificate")
    artifact.write(artifact.from_rows([response(0, case_id=7)], responses.SCHEMA), tmp_path / "arm.parquet")
    done = run_program(program(contract), *command)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"{program(contract)}: arm.parquet, row 1, field case_id: found 7, expected 0 to 2\n"


@pytest.mark.parametrize("name", ["parse_verdicts", "parse_certificates"])
def test_what_parses_starts_fast(project: Path, name: str) -> None:
    """No database, validation or statistics library is imported: start-up dominates."""
    command = [sys.executable, "-X", "importtime", str(project / f"scripts/{name}.py"), "--help"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    imported = {line.rpartition("|")[2].strip().partition(".")[0] for line in done.stderr.splitlines()}
    assert {"warrant", "pyarrow", "numpy"} <= imported
    assert not imported & {"sqlalchemy", "pydantic", "pandas", "scipy", "statsmodels", "matplotlib", "sklearn", "httpx"}


def test_what_the_query_step_writes_is_parsed(run_step: Any, parse: Any, tmp_path: Path) -> None:
    """From the store's bytes to verdicts: text that is no UTF-8 and lone surrogates are mended under their codes."""
    bodies = {
        "whole": ("ok", SAID.encode(), "ok"),
        "no UTF-8": ("ok", SAID.encode().replace(b"because", b"be\xffcause"), "repaired:utf8"),
        "surrogate": ("ok", store.encode_body(SAID.replace("because", "\ud800")), "repaired:surrogate"),
        "cut off": ("truncated", SAID.encode(), "invalid"),
        "nothing": ("empty", b"", "invalid"),
    }
    calls = [
        Call(0, "judge-0", 0, Request("p", "u", "m", [{"role": "user", "content": asked}], {}, None, 0))
        for asked in bodies
    ]
    artifact.write(artifact.from_rows([call.row() for call in calls], requests.SCHEMA), tmp_path / "requests.parquet")
    with store.Store(tmp_path / "store.sqlite") as opened:
        for call, (status, body, _) in zip(calls, bodies.values(), strict=True):
            opened.put(store.answer(call.request, status=status, body=body, created_at=7))
    settings_ = {"store": str(tmp_path / "store.sqlite"), "replay": True, "judges": {}}
    outputs = {"responses": tmp_path / "responses.parquet"}
    run_step("query", {"requests": [tmp_path / "requests.parquet"]}, outputs, settings_)
    rows = responses.read(outputs["responses"])
    found, _ = parse(rows)
    assert [row["parse_status"] for row in found] == [status for _, _, status in bodies.values()]
    assert [row["reason"] for row in found] == [None, None, None, "truncated", "empty"]
    assert [row["reasoning"] for row in found] == ["because", "be\ufffdcause", "\ufffd", None, None]


# --- the schema ------------------------------------------------------------------------------------------------------


def test_the_columns_of_the_store_have_its_types() -> None:
    """Identity, then the store's projection without times; only text may be missing here, where no answer came."""
    shared = [item for item in store.PROJECTION if item.name not in ("request_sha256", "created_at", "elapsed")]
    assert [item.name for item in responses.SCHEMA] == [item.name for item in [*IDENTITY, *shared]]
    declared = {item.name: item for item in responses.SCHEMA}
    assert all(declared[item.name].type == item.type for item in shared)
    looser = {item.name for item in shared if declared[item.name].nullable != item.nullable}
    assert looser == {"text"}
