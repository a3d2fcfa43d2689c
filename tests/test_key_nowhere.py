"""An API key is sent to its provider and is nowhere else: not in a byte of what a run leaves, whatever comes back."""

from __future__ import annotations

import base64
import gzip
import json
import shutil
import sqlite3
import zlib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import wire_servers as wire
from checkouts import copy_project, snakemake
from wire_servers import Call, Reply, serving

KEYS = {  # with characters that JSON or URLs write otherwise
    "OPENAI_API_KEY": "sk-planted/Zq7+openai==0123456789",
    "ANTHROPIC_API_KEY": "sk-ant-planted/Zq7+anthropic==0123",
    "OTHER_API_KEY": "gsk_planted<Zq7>&other~0123456789",
}
JUDGES = """
chat:
  {{provider: openai, model: flaky, base_url: "{v1}", parameters: {{max_tokens: 9}}, price: &p {{input: "1",
   output: "1"}}}}
responses:
  {{provider: openai, api: responses, model: flaky, base_url: "{v1}", parameters: {{max_output_tokens: 9}}, price: *p}}
messages: {{provider: anthropic, model: flaky, base_url: "{root}", parameters: {{max_tokens: 9}}, price: *p}}
compatible: &other
  provider: openai_compatible
  model: flaky
  base_url: "{v1}"
  api_key_env: OTHER_API_KEY
  parameters: {{max_tokens: 9}}
  price: *p
echo: {{<<: *other, model: echo}}
escaped: {{<<: *other, model: escaped}}
denied: {{<<: *other, model: denied}}
flagged: {{<<: *other, model: flagged}}
"""
NAMES = ["chat", "responses", "messages", "compatible", "echo", "escaped", "denied", "flagged"]
SOUND = NAMES[:4]
RUN = f"""\
extends: local
title: A key
responses: {{{{allow_missing: true}}}}
studies:
  claims:
    sample:
      - format: averitec
        dev: data/demo/averitec_dev.json
        train: data/demo/averitec_train.json
        counts: {{{{Supported: 1, Refuted: 1, Not Enough Evidence: 1, Conflicting-dev-all: 1, Conflicting-train: 1}}}}
        seed: 7
    arms:
      3opt: {{{{calls: {{{{judges: [chat]}}}}}}}}
      4opt: {{{{calls: {{{{judges: {NAMES}}}}}}}}}
      certificate: {{{{calls: {{{{judges: [messages]}}}}}}}}
    systems:
      single/local/3opt: {{{{arm: 3opt, judges: [chat]}}}}
      single/local/4opt: {{{{arm: 4opt, judges: [chat, responses, messages]}}}}
    bootstrap: {{{{resamples: 100}}}}
""".format()


def escaped(text: str) -> str:
    """As JSON may write it: every character as its number."""
    return "".join(f"\\u{ord(character):04x}" for character in text)


class Echoing:
    """A server that says the caller's key wherever it can: in errors, answers and headers."""

    def __init__(self) -> None:
        self.keys: set[str] = set()
        self.failed: set[bytes] = set()

    def __call__(self, call: Call) -> Reply:
        key = call.headers.get("x-api-key") or call.headers["authorization"].removeprefix("Bearer ")
        self.keys.add(key)
        model = call.body["model"]
        if model == "denied":
            return wire.error(401, f"Incorrect API key provided: {key}.")(call)
        if model == "flagged":
            return wire.error(400, f"Flagged, {key}.", code="content_policy_violation")(call)
        if model == "echo":
            return wire.answer(call, f"Your key is {key}.")
        if model == "escaped":
            return Reply(200, wire.answer(call, "KEY").content.replace(b"KEY", escaped(key).encode()))
        if call.content not in self.failed:  # the first attempt of each question
            self.failed.add(call.content)
            return wire.error(500, f"{key} made us fail", headers={"x-echo": key})(call)
        answered = wire.answer(call)
        return Reply(answered.status, answered.content, {"x-echo": key, "x-request-id": key})


def forms(key: str) -> list[bytes]:
    """The key as it may be written down."""
    raw = key.encode()
    half = key[: len(key) // 2]
    written = [raw, raw.hex().encode(), quote(key, safe="").encode(), json.dumps(key)[1:-1].encode()]
    written += [key.replace("/", "\\/").encode(), escaped(key).encode(), raw[::-1], half.encode()]
    for shift in range(3):  # base64 of a text that has the key in it, wherever it begins
        coded = base64.b64encode(b" " * shift + raw)
        written.append(coded[4 if shift else 0 : len(coded) - 4])
    return written


def contents(path: Path) -> Iterator[bytes]:
    """A file's bytes, and what is in it where it is compressed, a Parquet file or a database."""
    raw = path.read_bytes()
    yield raw
    if raw[:2] == b"\x1f\x8b":
        yield gzip.decompress(raw)
    if raw[:1] == b"\x78":
        with suppress(zlib.error):
            yield zlib.decompress(raw)
    if raw[:4] == b"PAR1":
        table = pq.read_table(path)
        yield repr(table.schema.metadata).encode() + "\n".join(map(str, table.to_pylist())).encode()
    if raw[:15] == b"SQLite format 3":
        with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as connection:
            for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
                for row in connection.execute(f'SELECT * FROM "{name}"'):
                    yield b"\0".join(cell if isinstance(cell, bytes) else str(cell).encode() for cell in row)


def places(folder: Path, said: str) -> list[str]:
    """Where a key is: files of the folder, or what was said."""
    written = [form for key in KEYS.values() for form in forms(key)]
    found = ["said"] if any(form in said.encode() for form in written) else []
    for path in sorted(folder.rglob("*")):
        if path.is_file() and any(form in content for content in contents(path) for form in written):
            found.append(str(path.relative_to(folder)))
    return found


def test_the_search_finds_a_key_in_every_kind_of_file(tmp_path: Path) -> None:
    """Control: text, gzip, Parquet (compressed), a database with a blob over several pages, what was said."""
    key = KEYS["OTHER_API_KEY"]
    (tmp_path / "a.txt").write_text(f"x{key}y", encoding="utf-8")
    (tmp_path / "b.json").write_text(escaped(key), encoding="utf-8")
    (tmp_path / "c.gz").write_bytes(gzip.compress(base64.b64encode(b"Bearer " + key.encode())))
    pq.write_table(pa.table({"a": [key] * 50}), tmp_path / "d.parquet", compression="zstd")
    with sqlite3.connect(tmp_path / "e.sqlite") as connection:
        connection.execute("CREATE TABLE t (b BLOB)")
        connection.execute("INSERT INTO t VALUES (?)", (b"-" * 4090 + key.encode() * 200,))
    (tmp_path / "f.txt").write_text("nothing", encoding="utf-8")
    assert places(tmp_path, f"said {key}") == ["said", "a.txt", "b.json", "c.gz", "d.parquet", "e.sqlite"]


@pytest.mark.slow
def test_a_run_leaves_the_key_nowhere(tmp_path: Path) -> None:
    """All APIs, from claims to the report, with servers that repeat the key in errors, answers, escapes and headers."""
    folder, echoing = copy_project(tmp_path / "warrant"), Echoing()
    shutil.rmtree(folder / "tests")  # the keys are in this file
    with serving(echoing) as server:
        models = folder / "config/models.yaml"
        judges = JUDGES.format(v1=server.base_url("openai"), root=server.base_url("anthropic"))
        models.write_text(models.read_text(encoding="utf-8") + judges, encoding="utf-8")
        (folder / "config/runs/key.yaml").write_text(RUN, encoding="utf-8")
        done = snakemake(folder, "--config", "runs=key", variables=KEYS)
        said = done.stdout + done.stderr
        assert done.returncode == 0, said
        assert echoing.keys == set(KEYS.values())  # it was sent
        price = snakemake(folder, "--config", "runs=key", "--", "price", variables=KEYS)
    answers = pq.read_table(folder / "results/key/claims/responses/4opt.parquet").to_pylist()
    for name in SOUND:
        assert [row["status"] for row in answers if row["model"] == name] == ["ok"] * 5, name
    assert {row["status"] for row in answers if row["model"] in ("echo", "escaped", "denied")} == {"infra_error"}
    log = (folder / "logs/key/claims/query_4opt.log").read_text(encoding="utf-8")
    assert log.count("the response repeats the API key: it is not stored") >= 2
    assert "Incorrect API key provided: [key]." in log
    assert (folder / "results/key/report.html").is_file()
    assert places(folder, said + price.stdout + price.stderr) == []
