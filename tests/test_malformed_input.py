"""Malformed input of every kind: one line, never a traceback, and nothing silently taken."""

from __future__ import annotations

import csv
import dataclasses
import json
from pathlib import Path
from typing import Any

import jsonschema
import pyarrow as pa
import pytest

from warrant import artifact, audit, averitec, certificates, release, verdicts, vitaminc
from warrant.config import read_run, schemas
from warrant.errors import InputError
from warrant.imported import Known, verdict_defaults
from warrant.plan import plan_run
from warrant.sources import Source, read_sources

KNOWN = Known(["support"], ["c"], [1])
M = {"m": "m"}


def panel(**kw: Any) -> bytes:
    out = {
        "model": "m",
        "raw_response": "x",
        "parsed": {"verdict_normal": "support", "confidence": 0.5, "reasoning": "r"},
    }
    out.update(kw.pop("out", {}))
    out["parsed"].update(kw.pop("parsed", {}))
    return json.dumps(
        {
            "system": "s",
            "case_id": 0,
            "claim": "c",
            "gold_normal": "support",
            "verdict_normal": "support",
            "judge_outputs": [out],
            **kw,
        }
    ).encode()


def import_panel(data: bytes) -> None:
    found = release.panel_rows(data, "F", KNOWN, ["s"], ["s"], M, "4opt")
    artifact.from_rows(map(verdict_defaults, found.rows), verdicts.SCHEMA)
    artifact.from_rows(found.flags, verdicts.FLAGS)


def cert(sub: Any = (), **kw: Any) -> bytes:
    item = {
        "text": "t",
        "material": True,
        "evidence_state": "supports",
        "evidence_ids": ["E1"],
        "rationale": "r",
        **dict(sub),
    }
    return json.dumps(
        {
            "case_id": 0,
            "claim": "c",
            "gold_normal": "support",
            "model": "m",
            "prompt_final_verdict": "support",
            "validator_verdict": "support",
            "certificate": {"subclaims": [item], "confidence": 0.5},
            **kw,
        }
    ).encode()


def import_cert(data: bytes) -> None:
    found = certificates.certificate_rows(data, "F", KNOWN, M)
    artifact.from_rows(map(verdict_defaults, found.rows), certificates.SCHEMA)


def predictions(data: bytes) -> None:
    release.predictions(b"model_slot,dataset,case_id,gold,pred\n" + data, "F", KNOWN, "D", M, "4opt")


def claim(**kw: Any) -> bytes:
    return json.dumps([{"claim": "c", "label": "Supported", **kw}]).encode()


def averitec_whole(data: bytes) -> None:
    for row in averitec.read_rows(data, "F"):
        averitec.evidence_blocks(row)


REFUSE = {
    "panel system is a list": lambda: import_panel(panel(system=["s"])),
    "panel model is a list": lambda: import_panel(panel(out={"model": []})),
    "panel raw_response is a number": lambda: import_panel(panel(out={"raw_response": 3})),
    "panel reasoning is a list": lambda: import_panel(panel(parsed={"reasoning": [1]})),
    "panel raw_response has a lone surrogate ": lambda: import_panel(panel(out={"raw_response": "\ud800"})),
    "certificate model is a list": lambda: import_cert(cert(model=[])),
    "certificate subclaim text is a number": lambda: import_cert(cert({"text": 3})),
    "certificate rationale is a number": lambda: import_cert(cert({"rationale": 3})),
    "csv case id of 5000 digits": lambda: predictions(b"m,D," + b"1" * 5000 + b",support,support\n"),
    "csv field beyond the limit": lambda: predictions(b"m,D,0,support," + b"s" * 200000 + b"\n"),
    "averitec label is a list": lambda: averitec_whole(claim(label=[])),
    "averitec question is a number": lambda: averitec_whole(claim(questions=[3])),
    "averitec question text is a number": lambda: averitec_whole(claim(questions=[{"question": 3}])),
    "averitec answer is a number": lambda: averitec_whole(claim(questions=[{"question": "q", "answers": [3]}])),
    "averitec answer text is a number": lambda: averitec_whole(
        claim(questions=[{"question": "q", "answers": [{"answer": 3}]}])
    ),
    "averitec nested too deep": lambda: averitec_whole(b"[" * 100000),
    "averitec number too long": lambda: averitec_whole(b"[" + b"1" * 5000 + b"]"),
    "vitaminc label is a list": lambda: vitaminc.read_rows(b'{"claim":"c","evidence":"e","label":[]}', "F"),
    "vitaminc nested too deep": lambda: vitaminc.read_rows(b"[" * 100000, "F"),
    "vitaminc number too long": lambda: vitaminc.read_rows(b'{"claim":' + b"1" * 5000 + b"}", "F"),
}


@pytest.mark.parametrize("act", REFUSE.values(), ids=REFUSE)
def test_refused_in_one_line(act: Any) -> None:
    """What no importer can use is an InputError."""
    with pytest.raises(InputError):
        act()


def test_zero_with_an_exponent_is_a_confidence() -> None:
    """0e5 is zero."""
    import_panel(panel().replace(b"0.5", b"0e5"))


def test_list_columns_keep_their_identity(tmp_path: Path) -> None:
    """A table with a list column has the same content hash before and after it was written."""
    table = pa.table({"a": pa.array([["x"]], pa.list_(pa.string()))})
    artifact.write(table, tmp_path / "t.parquet")
    assert artifact.content_hash(artifact.read(tmp_path / "t.parquet")) == artifact.content_hash(table)


def test_nan_inside_a_list_is_refused(tmp_path: Path) -> None:
    """NaN never stands for missing, inside lists neither."""
    with pytest.raises(InputError):
        artifact.write(pa.table({"a": pa.array([[float("nan")]], pa.list_(pa.float64()))}), tmp_path / "t.parquet")


def test_a_carriage_return_is_quoted(tmp_path: Path) -> None:
    """A lone carriage return does not tear a CSV row in two."""
    artifact.write_csv(pa.table({"a": ["x\ry"], "b": ["z"]}), tmp_path / "t.csv")
    with (tmp_path / "t.csv").open(newline="", encoding="utf-8") as handle:
        assert list(csv.reader(handle)) == [["a", "b"], ["x\ry", "z"]]


ROW = audit.Published("verdict", "T", "", "r", "c", "1", "paper", "s", "a", "k=x", "k", "exact", "", "", "", "match")


@pytest.mark.parametrize("value", ["x", [1]])
def test_a_field_that_is_no_number_differs(value: Any) -> None:
    """A cell that is no number cannot match."""
    (found,) = audit.audit(
        [dataclasses.replace(ROW, field="v")], {("s", "a"): [{"k": "x", "v": value}]}, [], {}
    ).to_pylist()
    assert found["status"] == "differs"


@pytest.mark.parametrize("tolerance", ["monte_carlo 0", "within -1", "within nan", "exact 3", "digits 3"])
def test_a_senseless_tolerance_is_refused(tolerance: str) -> None:
    """A tolerance has the argument that its kind needs, and no other."""
    with pytest.raises(ValueError, match="monte_carlo B"):
        audit.agrees("1", 1.0, tolerance)


HEAD = "name\tfile\turl\tsha256\tsha256_lf\tbytes\tlicence\tneeded_by\toptional\tabout\n"


def line(name: str = "a", file: str = "a", size: str = "5") -> str:
    return "\t".join([name, file, "https://x", "0" * 64, "", size, "L", "", "no", "x"]) + "\n"


@pytest.mark.parametrize(
    ("text", "part"),
    [
        (HEAD + line(size="²"), "field bytes"),
        (HEAD + line(name=""), "field name"),
        (HEAD + line(name="a/b"), "field name"),
        (HEAD + line(file=".."), "field file"),
        (HEAD + line() + line(name="b"), "field file"),
    ],
)
def test_the_table_of_sources(tmp_path: Path, text: str, part: str) -> None:
    """A malformed row is refused with the field that is wrong."""
    (tmp_path / "s.tsv").write_text(text)
    with pytest.raises(InputError, match=part):
        read_sources(tmp_path / "s.tsv")


@pytest.mark.parametrize("data", [None, HEAD.encode() + b"\xff"])
def test_the_table_of_sources_as_a_file(tmp_path: Path, data: bytes | None) -> None:
    """A missing table, or one that is not UTF-8, is refused."""
    if data is not None:
        (tmp_path / "s.tsv").write_bytes(data)
    with pytest.raises(InputError):
        read_sources(tmp_path / "s.tsv")


def test_a_run_file_that_is_not_utf8(tmp_path: Path) -> None:
    """A run file is UTF-8."""
    (tmp_path / "u.yaml").write_bytes(b"\xff")
    with pytest.raises(InputError):
        read_run(tmp_path, "u")


def test_a_key_twice_in_yaml(tmp_path: Path) -> None:
    """A repeated key is refused, not silently taken."""
    (tmp_path / "d.yaml").write_text("title: a\ntitle: b\nstudies: {s: {title: t, sample: [{format: panel, rows: x}]}}")
    with pytest.raises(InputError):
        read_run(tmp_path, "d")


def test_the_schemas_accept_what_the_readers_accept() -> None:
    """Runs may be a list in one text."""
    jsonschema.validate({"runs": "demo,paper"}, schemas()["config.schema.json"])


def test_the_run_schema_accepts_extends() -> None:
    """A run file may extend another."""
    jsonschema.validate(
        {
            "extends": "demo",
            "title": "x",
            "studies": {"s": {"title": "t", "sample": [{"format": "panel", "rows": "x"}]}},
        },
        schemas()["run.schema.json"],
    )


def test_an_unknown_source_behind_the_first_choice(tmp_path: Path) -> None:
    """A misspelt source is refused even where another choice is used."""
    text = "title: a\nstudies: {s: {title: t, sample: [{format: panel, rows: x}, {format: panel, rows: typo}]}}"
    (tmp_path / "d.yaml").write_text(text)
    source = Source("x", "x", "u", "0" * 64, "", None, "", "", False, "")
    with pytest.raises(InputError, match="typo"):
        plan_run("d", read_run(tmp_path, "d"), {"x": source}, lambda s: True)
