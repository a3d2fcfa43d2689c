"""A step reads verified files, writes artifacts that say where they come from, and fails in one line."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from warrant import artifact, sample, verdicts
from warrant.sample import Case
from warrant.step import Step

HEADER = "model_slot,dataset,case_id,gold,pred\n"
GOOD = HEADER + "slot,D,0,support,support\nslot,D,1,refute,parse_failure\n"


@pytest.fixture
def arguments(tmp_path: Path) -> dict[str, Any]:
    """The command line of scripts/import_predictions.py on two cases."""
    cases = [Case("g", gold, f"claim {i}", None, "s", None) for i, gold in enumerate(("support", "refute"))]
    artifact.write(sample.to_table(cases, "study"), tmp_path / "sample.parquet")
    (tmp_path / "rows.csv").write_text(GOOD)
    source = {"role": "rows", "name": "the_rows", "sha256": "", "sha256_lf": "", "bytes": None}
    settings = {"sources": [source], "dataset": "D", "models": {"slot": "a"}, "contract": "4opt", "arm": "c"}
    return {
        "sources": "rows.csv",
        "sample": "sample.parquet",
        "settings": settings,
        "code": "c0de",
        "verdicts": "out/verdicts/c.parquet",
        "flags": "out/flags/c.parquet",
    }


def command(arguments: dict[str, Any]) -> list[str]:
    return [
        part
        for name, value in arguments.items()
        for part in (f"--{name}", json.dumps(value) if name == "settings" else value)
    ]


def test_a_step_writes_its_outputs_with_their_provenance(
    run_program: Any, arguments: dict[str, Any], tmp_path: Path
) -> None:
    """Settings, code, versions and the identities of its inputs are in the file; it says nothing and exits with 0."""
    done = run_program("import_predictions", *command(arguments))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    path = tmp_path / "out/verdicts/c.parquet"
    table = artifact.read(path, verdicts.SCHEMA)
    assert table.column("verdict").to_pylist() == ["support", None]
    about = artifact.provenance_of(path)
    assert about == {
        "step": "import_predictions",
        "inputs": {
            "rows.csv": hashlib.sha256(GOOD.encode()).hexdigest(),
            "sample.parquet": artifact.file_identity(tmp_path / "sample.parquet"),
        },
        "settings": arguments["settings"],
        "code_sha256": "c0de",
        "versions": artifact.versions(),
        "content_sha256": artifact.content_hash(table),
    }


@pytest.mark.parametrize(
    ("rows", "parts"),
    [
        (GOOD + "slot,D,1,refute,refute\n", ("the_rows, row 4, field case_id", "case 1 of slot again")),
        (GOOD.replace("parse_failure", "maybe"), ("the_rows, row 3, field pred", "'maybe'")),
        (None, ("rows.csv", "field the_rows", "no such file", "make fetch")),
    ],
    ids=["repeated", "label", "absent"],
)
def test_bad_input_is_one_line_and_exit_status_1(
    run_program: Any, arguments: dict[str, Any], tmp_path: Path, rows: str | None, parts: tuple[str, ...]
) -> None:
    """The program, the file, the row and the field are named, there is no traceback, and nothing is written."""
    if rows is None:
        (tmp_path / "rows.csv").unlink()
    else:
        (tmp_path / "rows.csv").write_text(rows)
    done = run_program("import_predictions", *command(arguments))
    assert done.returncode == 1
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert line.startswith("import_predictions: ")
    assert all(part in line for part in parts)
    assert not (tmp_path / "out").exists()


def test_a_source_that_changed_since_it_was_fetched_is_refused(
    run_program: Any, arguments: dict[str, Any], tmp_path: Path
) -> None:
    """The hash of the settings is checked again by the step that reads the file."""
    arguments["settings"]["sources"][0]["sha256"] = hashlib.sha256(GOOD.encode()).hexdigest()
    assert run_program("import_predictions", *command(arguments)).returncode == 0
    (tmp_path / "rows.csv").write_text(GOOD.replace("parse_failure", "support"))
    done = run_program("import_predictions", *command(arguments))
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert "rows.csv, field the_rows" in line
    assert arguments["settings"]["sources"][0]["sha256"] in line


def step(tmp_path: Path, **more: Any) -> Step:
    defaults: dict[str, Any] = {
        "name": "a_step",
        "inputs": {"sources": []},
        "outputs": {"table": tmp_path / "x.parquet"},
        "settings": {"sources": []},
        "code": "",
    }
    return Step(**{**defaults, **more})


def test_sources_are_found_by_their_role(tmp_path: Path) -> None:
    """The settings say which file plays which role; a role that no source plays is an error."""
    (tmp_path / "a").write_bytes(b"A")
    (tmp_path / "b").write_bytes(b"B")
    rows = [
        {"role": role, "name": f"source_{role}", "sha256": "", "sha256_lf": "", "bytes": None}
        for role in ("dev", "train")
    ]
    one = step(tmp_path, inputs={"sources": [tmp_path / "a", tmp_path / "b"]}, settings={"sources": rows})
    assert one.source("train") == (b"B", "source_train")
    assert one.source("dev") == (b"A", "source_dev")
    with pytest.raises(KeyError, match="test"):
        one.source("test")


def test_a_table_gets_a_csv_beside_it_and_nothing_else_does(tmp_path: Path) -> None:
    """What is below tables/ is for people too."""
    table = pa.table({"n": [1]})
    outputs = {"table": tmp_path / "tables/t.parquet", "other": tmp_path / "verdicts/v.parquet"}
    one = step(tmp_path, outputs=outputs)
    one.write("table", table)
    one.write("other", table)
    assert (tmp_path / "tables/t.csv").read_text() == "n\n1\n"
    assert [path.name for path in (tmp_path / "verdicts").iterdir()] == ["v.parquet"]


def test_a_named_input_is_one_file(tmp_path: Path) -> None:
    """None or two are a mistake of the rule."""
    for files in ([], [Path("a"), Path("b")]):
        with pytest.raises(ValueError, match="unpack"):
            step(tmp_path, inputs={"sample": files}).input("sample")
    assert step(tmp_path, inputs={"sample": [Path("a")]}).input("sample") == Path("a")
