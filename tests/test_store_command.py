"""scripts/store.py: what it prints, its exit statuses, and one line on stderr for anything that is wrong."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import store as program

from warrant import artifact
from warrant.artifact import file_sha256
from warrant.calls import requests
from warrant.calls.request_key import Request
from warrant.calls.requests import Call
from warrant.calls.store import Store, answer
from warrant.calls.store_upkeep import EXPORT


def ask(number: int, **changed: Any) -> Request:
    messages = [{"role": "user", "content": f"question {number}"}]
    parts = {"provider": "p", "base_url": "http://h/v1", "model": "m", "messages": messages, "parameters": {"t": 0}}
    return Request(**{**parts, "schema": None, "replicate": 0, **changed})


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """Run the command in this process, in a folder of its own."""

    def command(*arguments: object) -> subprocess.CompletedProcess[str]:
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(sys, "argv", ["store.py", *map(str, arguments)])
        try:
            status = program.main()
        except SystemExit as stopped:
            status = int(stopped.code or 0)
        said = capsys.readouterr()
        return subprocess.CompletedProcess(list(map(str, arguments)), status, said.out, said.err)

    return command


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A store of ten responses, five of another model."""
    made = tmp_path / "store.sqlite"
    with Store(made) as store:
        for model in ("m", "n"):
            store.put_many([answer(ask(n, model=model), status="ok", body=b"%d" % n) for n in range(5)])
    return made


def test_why_miss(run: Any, path: Path, tmp_path: Path) -> None:
    """A hit is a hit; a miss names the nearest request and each part that differs."""
    file = tmp_path / "request.json"
    file.write_bytes(ask(3).canonical())
    done = run("why-miss", path, file)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"hit: {ask(3).key()}\n", "")
    wanted = ask(3, parameters={"t": 0.5})
    described = json.loads(wanted.canonical())
    del described["version"]
    file.write_text(json.dumps(described, indent=1))
    done = run("why-miss", path, file)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        f"miss: {wanted.key()}",
        "examined 5 of 10 stored requests",
        f"nearest: {ask(3).key()}",
        "  parameters.t: wanted 0.5, stored 0",
    ]


@pytest.fixture
def artifacts(tmp_path: Path) -> Path:
    """Requests of two judges on eight cases: judge-n with another parameter, cases 5 to 7 with new messages."""
    calls = [Call(n, f"judge-{m}", 0, ask(n, model=m, parameters={"t": int(m == "n")})) for n in range(8) for m in "mn"]
    made = tmp_path / "requests.parquet"
    artifact.write(pa.Table.from_pylist([call.row() for call in calls], schema=requests.SCHEMA), made)
    return made


def test_why_a_whole_artifact_misses(run: Any, path: Path, artifacts: Path) -> None:
    """How many are stored and missing, and the misses by what differs, with an example each."""
    done = run("why-miss", path, artifacts)
    assert (done.returncode, done.stderr) == (0, "")
    new = [ask(5, model="m").key(), ask(5, model="n", parameters={"t": 1}).key()]
    lines = done.stdout.splitlines()
    nearest = [line.split()[1] for line in lines if line.startswith("  nearest")]
    message = "    messages: message 1 (user), content, character 10: wanted 'question 5', stored 'question 4'"
    assert lines == [
        "16 requests: 5 stored, 11 missing",
        "compared 11 of the missing, each with the latest 10,000 at most of 10 stored requests",
        "5 requests: parameters.t: wanted 1, stored 0",
        f"  example: {ask(0, model='n', parameters={'t': 1}).key()} (case 0, judge-n)",
        f"  nearest: {ask(0, model='n').key()}",
        "3 requests: messages",
        f"  example: {new[0]} (case 5, judge-m)",
        f"  nearest: {nearest[1]}",
        message,
        "3 requests: messages; parameters.t: wanted 1, stored 0",
        f"  example: {new[1]} (case 5, judge-n)",
        f"  nearest: {nearest[2]}",
        message,
    ]


def test_why_some_of_an_artifact_miss(run: Any, path: Path, artifacts: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A case, a judge, or both are chosen; of many misses a sample that is stated is compared."""
    heads = {(): "16", ("--case", 3): "2", ("--model", "judge-m"): "8", ("--case", 3, "--model", "judge-m"): "1"}
    for chosen, number in heads.items():
        assert run("why-miss", path, artifacts, *chosen).stdout.startswith(f"{number} requests: ")
    assert run("why-miss", path, artifacts, "--case", 3, "--model", "judge-m").stdout.count("\n") == 1
    done = run("why-miss", path, artifacts, "--case", 99)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
    monkeypatch.setattr(program, "SAMPLE", 4)
    lines = run("why-miss", path, artifacts, "--candidates", 2).stdout.splitlines()
    assert lines[1].startswith("compared 4 of the missing, evenly spread, each with the latest 2 at most of 10 ")
    assert sum(int(line.split()[0]) for line in lines[2:] if line[0] != " ") == 4
    Store(path.with_name("empty.sqlite")).close()
    done = run("why-miss", path.with_name("empty.sqlite"), artifacts, "--case", 3, "--model", "judge-m")
    assert done.stdout.splitlines()[2:] == [
        "1 requests: none, the store is empty",
        f"  example: {ask(3).key()} (case 3, judge-m)",
        "  nearest: none, the store is empty",
    ]


def test_export_and_import(run: Any, path: Path, tmp_path: Path) -> None:
    """A model's responses go elsewhere, where verify finds them whole; importing again brings nothing."""
    out, other = tmp_path / "out", tmp_path / "new" / "other.sqlite"
    assert run("export", path, out, "--model", "n").stdout == "5 responses in 1 files\n"
    assert sorted(file.name for file in out.iterdir()) == ["SHA256SUMS.tsv", "responses-00000.parquet"]
    assert run("import", other, out).stdout == "5 responses in 1 files, 5 new\n"
    assert run("import", other, out).stdout == "5 responses in 1 files, 0 new\n"
    done = run("verify", other)
    line = "5 responses (5 ok, 0 refusal, 0 truncated, 0 empty, 0 wrong_model), 0 damaged\n"
    assert (done.returncode, done.stdout, done.stderr) == (0, line, "")


def test_export_of_keys(run: Any, path: Path, tmp_path: Path) -> None:
    """Exactly the keys of a file; one that is not stored is an error and leaves no folder."""
    keys = tmp_path / "keys.txt"
    keys.write_text(f"{ask(1).key()}\n{ask(2).key()}\n")
    assert run("export", path, tmp_path / "out", "--keys", keys).stdout.startswith("2 responses")
    keys.write_text(f"{ask(1).key()}\n{'0' * 64}\n")
    done = run("export", path, tmp_path / "lacking", "--keys", keys)
    assert done.returncode == 1
    assert "0" * 64 in done.stderr
    assert sorted(item.name for item in tmp_path.iterdir() if "lacking" in item.name) == []


def spoil(folder: Path, how: str) -> str:
    """Tamper with an export; what the refusal must name."""
    (file,), listing = folder.glob("*.parquet"), folder / "SHA256SUMS.tsv"
    if how == "changed":
        data = bytearray(file.read_bytes())
        data[len(data) // 2] ^= 1
        file.write_bytes(data)
    elif how == "missing":
        file.unlink()
    elif how == "extra":
        (folder / "more.parquet").write_bytes(b"")
        return "more.parquet"
    elif how == "unlisted":
        listing.unlink()
        return listing.name
    elif how == "outside":
        listing.write_text(listing.read_text().replace(file.name, f"../out/{file.name}"))
    elif how == "rows":
        listing.write_text(listing.read_text().replace("\t10\t", "\t9\t"))
    return file.name


@pytest.mark.parametrize("how", ["changed", "missing", "extra", "unlisted", "outside", "rows"])
def test_a_tampered_export_is_refused(run: Any, path: Path, tmp_path: Path, how: str) -> None:
    """One line with the file's name, exit status 1, no store made, and nothing merged into one that is there."""
    run("export", path, tmp_path / "out")
    named = spoil(tmp_path / "out", how)
    done = run("import", tmp_path / "other.sqlite", tmp_path / "out")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.count("\n") == 1
    assert named in done.stderr
    assert sorted(item.name for item in tmp_path.iterdir()) == ["out", "store.sqlite"]
    with Store(tmp_path / "other.sqlite") as store:
        store.put(answer(ask(77), status="ok", body=b""))
    assert run("import", tmp_path / "other.sqlite", tmp_path / "out").returncode == 1
    with Store(tmp_path / "other.sqlite") as store:
        assert store.count() == 1


def rewrite(folder: Path, column: str, value: Any) -> None:
    """Change a value of an export's last row, with the list of hashes made to agree."""
    (file,), listing = folder.glob("*.parquet"), folder / "SHA256SUMS.tsv"
    old, table = file_sha256(file), pq.read_table(file)
    rows = table.to_pylist()
    rows[-1][column] = value
    pq.write_table(pa.Table.from_pylist(rows, schema=table.schema), file)
    listing.write_text(listing.read_text().replace(old, file_sha256(file)))


CHANGED = {
    "request_sha256": "0" * 64, "request": b"{}", "provider": "q", "model": "q", "status": "refusal", "body": b"q",
    "finish_reason": "q", "usage": "{}", "returned_model": "q", "returned_provider": "q", "raw": b"q", "retries": 1,
    "retry_causes": '{"429":1}', "created_at": 7, "elapsed": 7, "body_sha256": "0" * 64,
    "row_sha256": "0" * 64,
}  # fmt: skip


@pytest.mark.parametrize("column", EXPORT.names)
def test_a_bad_row_is_refused_and_no_store_made(run: Any, path: Path, tmp_path: Path, column: str) -> None:
    """Whatever column was changed, and though the list of hashes was made to agree."""
    run("export", path, tmp_path / "out")
    rewrite(tmp_path / "out", column, CHANGED[column])
    done = run("import", tmp_path / "new" / "other.sqlite", tmp_path / "out")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
    assert "row 10: found" in done.stderr
    assert not (tmp_path / "new").exists()


def test_a_conflict_merges_nothing(run: Any, path: Path, tmp_path: Path) -> None:
    """An import in which one key has another body is refused as a whole."""
    run("export", path, tmp_path / "out")
    with Store(tmp_path / "other.sqlite") as store:
        store.put(answer(ask(2), status="ok", body=b"another"))
    done = run("import", tmp_path / "other.sqlite", tmp_path / "out")
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert ask(2).key() in done.stderr
    with Store(tmp_path / "other.sqlite") as store:
        assert store.count() == 1


@pytest.mark.parametrize(
    ("arguments", "status", "part"),
    [
        (["verify", "none.sqlite"], 1, "none.sqlite: found 'no such file'"),
        (["verify", "request.json"], 1, "not a response store"),
        (["why-miss", "store.sqlite", "none.json"], 1, "none.json"),
        (["why-miss", "store.sqlite", "request.json"], 1, "request.json, field provider"),
        (["why-miss", "store.sqlite", "request.json", "--case", "1"], 1, "a requests artifact"),
        (["why-miss", "store.sqlite", "none.parquet"], 1, "none.parquet"),
        (["import", "new/none.sqlite", "none"], 1, "SHA256SUMS.tsv"),
        (["export", "store.sqlite", "."], 1, "a new or empty folder"),
        (["import", "store.sqlite", "none"], 1, "SHA256SUMS.tsv"),
        (["why-miss", "store.sqlite", "request.json", "--candidates", "0"], 2, "--candidates"),
        (["burn", "store.sqlite"], 2, "burn"),
        ([], 2, "command"),
    ],
)
def test_refusals(run: Any, path: Path, tmp_path: Path, arguments: list[str], status: int, part: str) -> None:
    """Bad input is 1 and one line, a bad command line 2; nothing is made by asking."""
    (tmp_path / "request.json").write_text("{}" + " " * 2000)
    before = sorted(tmp_path.iterdir())
    done = run(*arguments)
    assert (done.returncode, done.stdout) == (status, "")
    assert part in done.stderr
    assert status == 2 or done.stderr.count("\n") == 1
    assert sorted(tmp_path.iterdir()) == before


def test_as_a_program(run_program: Any, path: Path) -> None:
    """From a shell it behaves as in this process."""
    done = run_program("store", "verify", path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("10 responses")
    done = run_program("store", "verify", "none.sqlite")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
