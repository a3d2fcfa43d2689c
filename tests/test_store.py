"""The store keeps what it reported: through kills, full disks, two writers, older versions; and never changes it."""

from __future__ import annotations

import hashlib
import os
import random
import select
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from warrant.artifact import from_rows
from warrant.calls import store as store_module
from warrant.calls import store_file
from warrant.calls.request_key import Request
from warrant.calls.store import (
    PROJECTION,
    Reservation,
    Response,
    Store,
    StoreConflict,
    answer,
    decode_body,
    encode_body,
    query_lock,
    row_sha256,
)
from warrant.calls.store_upkeep import Explanation, damage, export, grouped, import_folder, verify, why_miss
from warrant.errors import InputError

# A process that forks: each line of its input ("path first step size") is a child that stores `size` responses at a
# time and reports each one once it is committed. Starting Python for every kill would take a second each.
NURSERY = """
import os, sys, time
from pathlib import Path
from test_store import reply
from warrant.calls.store import Store, query_lock
for line in sys.stdin:
    path, first, step, size = line.rstrip("\\n").split("\\t")
    child = os.fork()
    if child == 0:
        with query_lock(Path(path)) if step == "lock" else Store(Path(path)) as store:
            number, size = int(first), int(size)
            some = [reply(number + i) for i in range(size)]
            os.write(1, f"child {os.getpid()}\\n".encode())
            while step != "lock":
                store.put_many(some)
                os.write(1, "".join(f"{number + i}\\n" for i in range(size)).encode())
                number += int(step)
                some = [reply(number + i) for i in range(size)]
            time.sleep(60)
"""


def ask(number: int, **changed: Any) -> Request:
    messages = [{"role": "user", "content": f"question {number}"}]
    parts = {"provider": "p", "base_url": "http://h/v1", "model": "m", "messages": messages, "parameters": {"t": 0}}
    return Request(**{**parts, "schema": None, "replicate": 0, **changed})


def reply(number: int, body: bytes | None = None, **changed: Any) -> Response:
    content = f"answer {number}".encode() if body is None else body
    return answer(ask(number), **{"status": "ok", "body": content, "created_at": number, **changed})


def full(number: int, **changed: Any) -> Response:
    """A response without nulls."""
    about = {"finish_reason": "stop", "usage": {"n": number}, "returned_model": "m-1", "returned_provider": "q"}
    about |= {"elapsed": 1_250_000}
    return reply(number, **{**about, "raw": b'{"a": 1}\xff', "retry_causes": {"timeout": 1, "429": 2}, **changed})


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "a folder" / "store.sqlite") as opened:
        yield opened


class Nursery:
    """Starts children and collects what they report."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process, self.told, self._rest, self._children = process, list[int](), b"", list[int]()

    def child(self, path: Path, first: int, step: int | str, size: int = 2) -> int:
        """Start a child; its process id."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{path}\t{first}\t{step}\t{size}\n".encode())
        self.process.stdin.flush()
        while not self._children:
            self.listen(30)
        return self._children.pop()

    def listen(self, seconds: float) -> None:
        """Take what is in the pipe, waiting for the first of it at most so long."""
        assert self.process.stdout is not None
        while select.select([self.process.stdout], [], [], seconds)[0]:
            data = os.read(self.process.stdout.fileno(), 65536)
            assert data
            *lines, self._rest = (self._rest + data).split(b"\n")
            for line in lines:
                (self._children if line.startswith(b"child") else self.told).append(int(line.split()[-1]))
            seconds = 0


@pytest.fixture
def nursery(project: Path) -> Iterator[Nursery]:
    paths = os.pathsep.join(str(project / name) for name in ("scripts", "tests"))
    environment = {**os.environ, "PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "1"}
    with subprocess.Popen(
        [sys.executable, "-c", NURSERY], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment
    ) as process:
        yield Nursery(process)
        process.kill()


# --- writing and reading ---------------------------------------------------------------------------------------------


def test_what_is_put_is_got(store: Store) -> None:
    """Every field comes back as it was, in the order of the keys asked for; unknown keys are absent."""
    given = [
        full(1, body=b"\x00\xff\xed\xa0\x80", usage={"b": 1, "a": 0.5}),
        reply(2, b"", status="empty"),
        reply(3, status="refusal"),
        reply(4, status="truncated"),
        reply(5, status="wrong_model", returned_model="another", raw=b""),
    ]
    assert store.put_many(given) == 5
    keys = [item.request_sha256 for item in given]
    found = store.get_many([keys[2], "0" * 64, keys[0], keys[0], keys[1], keys[3], keys[4]])
    assert list(found) == [keys[2], keys[0], keys[1], keys[3], keys[4]]
    assert [found[key] for key in keys] == given
    assert found[keys[0]].usage == '{"a":0.5,"b":1}'
    assert (found[keys[0]].retries, found[keys[0]].retry_causes) == (3, '{"429":2,"timeout":1}')
    assert (found[keys[1]].retries, found[keys[1]].retry_causes) == (0, None)
    assert (found[keys[4]].raw, found[keys[1]].raw) == (b"", None)
    assert store.count() == 5
    assert store.get_many([]) == {}
    assert store.known([*keys, "0" * 64, keys[0]]) == set(keys)


def test_more_keys_than_a_batch(store: Store) -> None:
    """Batches are a matter of speed only."""
    given = [reply(number) for number in range(1203)]
    assert store.put_many(given) == 1203
    keys = [item.request_sha256 for item in reversed(given)]
    assert list(store.get_many(keys).values()) == given[::-1]
    assert store.known(keys[:1001]) == set(keys[:1001])


def test_the_same_again_is_nothing_and_another_answer_is_an_error(store: Store) -> None:
    """A key keeps its first row; another body or status is an error, and a transaction with one stores nothing."""
    assert store.put(reply(1))
    assert not store.put(full(1, created_at=99))
    assert store.put_many([reply(2), reply(2)]) == 1
    with pytest.raises(StoreConflict, match=reply(1).request_sha256):
        store.put_many([reply(3), reply(1, b"another")])
    with pytest.raises(StoreConflict, match=f"{reply(1).request_sha256}.*refusal.*ok"):
        store.put_many([reply(3), reply(1, status="refusal")])
    with pytest.raises(StoreConflict):
        store.put_many([reply(4), reply(4, b"another")])
    with pytest.raises(StoreConflict):
        store.put_many([reply(4), reply(4, status="truncated")])
    assert store.count() == 2
    assert store.get_many([reply(1).request_sha256])[reply(1).request_sha256] == reply(1)


def test_what_is_no_answer_is_never_stored(store: Store, refused: Any) -> None:
    """An infrastructure error, an unknown status, a request under another's key."""
    for status in ("infra_error", "", "OK"):
        with refused("status", repr(status), "expected one of ok, refusal, truncated, empty, wrong_model"):
            store.put(reply(1, status=status))
    with refused("a request with another key"):
        store.put(reply(1)._replace(request=reply(2).request))
    for count in (0, -1, 1.5, True):
        with refused("retry_causes", "field 429", "a whole number from 1"):
            reply(1, retry_causes={"429": count})
    with refused("CHECK constraint"):
        store.put(reply(1)._replace(retries=1))
    assert store.count() == 0


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE responses SET body = x'00'",
        "DELETE FROM responses",
        "INSERT OR REPLACE INTO responses SELECT * FROM responses",
        "REPLACE INTO responses SELECT seq + 1, request_sha256, request, provider, model, status, x'00', finish_reason,"
        " usage, returned_model, returned_provider, retries, retry_causes, created_at, raw, body_sha256, row_sha256,"
        " elapsed FROM responses",
    ],
)
def test_triggers_refuse_any_change(store: Store, statement: str) -> None:
    """Whoever asks, with whatever program."""
    store.put(reply(1))
    with sqlite3.connect(store.path) as other, pytest.raises(sqlite3.IntegrityError, match="append-only"):
        other.execute(statement)
    other.close()
    assert store.get_many([reply(1).request_sha256]) == {reply(1).request_sha256: reply(1)}


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE reservations SET amount = '0'",
        "DELETE FROM reservations",
        "INSERT OR REPLACE INTO reservations SELECT * FROM reservations",
    ],
)
def test_reservations_are_kept_as_they_were_made(store: Store, statement: str) -> None:
    """In their order, by run; committed with responses or alone, all or none; nobody changes one."""
    rows = [Reservation(f"{n:064}", "live", "m", "reserved", "0.10", "USD", n) for n in range(3)]
    store.put_many([], rows)
    store.put_many([reply(1)], [rows[0]._replace(kind="settled", amount="-0.050"), rows[0]._replace(run="other")])
    assert store.reservations("live") == [*rows, rows[0]._replace(kind="settled", amount="-0.050")]
    assert store.reservations("none") == []
    with pytest.raises(InputError):
        store.put_many([reply(2)], [rows[0]._replace(kind="spent")])
    assert store.count() == 1
    with sqlite3.connect(store.path) as other, pytest.raises(sqlite3.IntegrityError, match="append-only"):
        other.execute(statement)
    other.close()
    assert len(store.reservations("live")) == 4


@settings(max_examples=25)
@given(st.lists(st.tuples(st.integers(0, 6), st.binary(max_size=1), st.sampled_from(("ok", "empty"))), max_size=12))
def test_a_store_is_a_mapping_that_only_grows(tmp_path_factory: Any, puts: list[tuple[int, bytes, str]]) -> None:
    """Against a dict: the first answer to a key stays, others are refused, and every put that returns is there."""
    model: dict[str, Response] = {}
    with Store(tmp_path_factory.mktemp("law") / "s.sqlite") as opened:
        for moment, (number, body, status) in enumerate(puts):
            response = reply(number, body, status=status, created_at=moment)
            key = response.request_sha256
            first = model.get(key, response)
            if (first.status, first.body) != (status, body):
                with pytest.raises(StoreConflict):
                    opened.put(response)
            else:
                assert opened.put(response) is (key not in model)
                model[key] = first
        assert opened.get_many(reply(number).request_sha256 for number in range(7)) == model
        assert verify(opened).damaged == []


# --- projection ------------------------------------------------------------------------------------------------------


@given(st.text() | st.text(st.characters(categories=["Cs", "Lu"])))
def test_text_survives_as_a_body(text: str) -> None:
    """Text comes back as it was; what Arrow cannot hold becomes U+FFFD, one each, with a code."""
    read, repair = decode_body(encode_body(text))
    surrogates = any("\ud800" <= c <= "\udfff" for c in text)
    assert repair == ("surrogate" if surrogates else None)
    assert read == "".join("\ufffd" if "\ud800" <= c <= "\udfff" else c for c in text)
    assert pa.array([read]).to_pylist() == [read]


def test_the_projection_has_its_schema(store: Store) -> None:
    """All rows as they arrived, or those of some keys in their order; repairs have a code, NUL is a character."""
    bodies = [b"plain \xc3\xa9", b"nul \x00", encode_body("lone \ud83d"), b"not utf-8 \xff"]
    store.put(full(0, body=bodies[0]))
    store.put_many([reply(n, bodies[n], usage={"n": n}, finish_reason="stop") for n in (1, 2, 3)])
    table = store.table()
    assert table.schema.equals(PROJECTION, check_metadata=True)
    table.validate(full=True)
    assert table.column("text").to_pylist() == ["plain é", "nul \x00", "lone \ufffd", "not utf-8 \ufffd"]
    assert table.column("text_repair").to_pylist() == [None, None, "surrogate", "utf8"]
    assert table.column("usage").to_pylist()[3] == '{"n":3}'
    assert table.column("retries").to_pylist() == [3, 0, 0, 0]
    assert table.column("retry_causes").to_pylist() == ['{"429":2,"timeout":1}', None, None, None]
    assert table.column("created_at").cast(pa.int64()).to_pylist() == [0, 1, 2, 3]
    keys = [reply(n).request_sha256 for n in (3, 9, 1, 3)]
    assert store.table(keys).column("request_sha256").to_pylist() == [keys[0], keys[2]]
    assert store.table([]).equals(from_rows([], PROJECTION))


def test_batches_are_bounded_in_rows_and_bytes(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """No batch has more rows than it may, nor more bytes than a row over; together they are all rows in order."""
    store.put_many([reply(n, b"x" * (n * 10)) for n in range(100)])
    monkeypatch.setattr(store_module.portions, "__defaults__", (7, 3000))
    batches = list(store.projection())
    assert max(batch.num_rows for batch in batches) <= 7
    assert all(sum(len(text or "") for text in b.column("text").to_pylist()[:-1]) < 3000 for b in batches)
    assert [n for b in batches for n in b.column("created_at").cast(pa.int64()).to_pylist()] == list(range(100))


# --- kills, two writers, full disks ----------------------------------------------------------------------------------


def test_kill_9_loses_nothing_that_was_reported(tmp_path: Path, nursery: Nursery) -> None:
    """Twenty writers killed at random moments: what they reported is there once, the store opens and is whole."""
    path, chance, turn = tmp_path / "store.sqlite", random.Random(1), 0
    while turn < 20 or len(nursery.told) <= 40:  # more than twenty where the machine is so busy that few report
        process = nursery.child(path, turn * 100_000, 2)
        time.sleep(chance.uniform(0, 0.08))
        os.kill(process, signal.SIGKILL)
        nursery.listen(0.01)
        with Store(path) as opened:
            assert len(opened.get_many(reply(number).request_sha256 for number in nursery.told)) == len(nursery.told)
        turn += 1
    nursery.listen(0.1)
    told = nursery.told
    assert len(told) == len(set(told))
    with Store(path) as opened:
        found = verify(opened)
        assert found.damaged == []
        assert len(told) <= found.rows <= len(told) + 2 * turn  # each may have died between commit and report
        keys = opened.table().column("request_sha256").to_pylist()
        assert len(set(keys)) == len(keys)
        expected = [reply(number) for number in told]
        assert list(opened.get_many(item.request_sha256 for item in expected).values()) == expected


def test_kill_9_while_many_are_put_leaves_all_or_none(tmp_path: Path, nursery: Nursery) -> None:
    """Writers killed all along a transaction of 1,500: the store has all of them or not one."""
    path, size = tmp_path / "store.sqlite", 1500
    process, start = nursery.child(path, 0, 0, size), time.monotonic()
    while len(nursery.told) < size:
        nursery.listen(1)
    took = time.monotonic() - start
    os.kill(process, signal.SIGKILL)
    outcomes = {size}
    for turn in range(1, 11):
        process = nursery.child(path, turn * size, 0, size)
        time.sleep(took * (turn - 1) / 10)
        os.kill(process, signal.SIGKILL)
        with Store(path) as opened:
            outcomes.add(len(opened.get_many(reply(turn * size + i).request_sha256 for i in range(size))))
    assert outcomes == {0, size}
    with Store(path) as opened:
        assert verify(opened).damaged == []


def test_two_writers_at_once(tmp_path: Path, nursery: Nursery) -> None:
    """Two processes that store overlapping responses: no error, nothing lost, nothing twice."""
    path = tmp_path / "store.sqlite"
    processes = [nursery.child(path, 0, 1), nursery.child(path, 5, 1)]
    deadline = time.monotonic() + 60
    # one alone reports each twice; SQLite is not fair, so one may be far ahead of the other
    while sum(times > 2 for times in Counter(nursery.told).values()) < 20:
        nursery.listen(0.05)
        assert time.monotonic() < deadline
    for process in processes:
        os.kill(process, signal.SIGKILL)
    nursery.listen(0.05)
    with Store(path) as opened:
        told = {reply(number).request_sha256 for number in nursery.told}
        assert len(opened.get_many(told)) == len(told)
        found = verify(opened)
        assert found.damaged == []
        assert len(told) <= found.rows <= len(told) + 4


def test_two_writers_make_one_store(tmp_path: Path) -> None:
    """Threads that open a store that is not there yet, and write the same responses, all succeed."""
    failures: list[BaseException] = []
    new: list[int] = []

    def write() -> None:
        try:
            with Store(tmp_path / "store.sqlite") as opened:
                new.extend(opened.put(reply(number)) for number in range(20))
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=write) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert sum(new) == 20


def test_a_second_query_waits_for_the_first(tmp_path: Path, nursery: Nursery) -> None:
    """It says who holds the store, waits, and goes on as soon as the holder is killed."""
    path = tmp_path / "store.sqlite"
    process = nursery.child(path, 0, "lock")
    said: list[str] = []
    entered = threading.Event()

    def second() -> None:
        with query_lock(path, said.append):
            entered.set()

    thread = threading.Thread(target=second)
    thread.start()
    assert not entered.wait(0.2)
    assert said == [f"{path}: process {process} is querying with this store; waiting for it"]
    os.kill(process, signal.SIGKILL)
    assert entered.wait(10)
    thread.join()
    with query_lock(path, said.append):
        pass
    assert len(said) == 1


def test_a_full_disk_loses_nothing(store: Store, refused: Any) -> None:
    """SQLite's page limit stands in for the disk: one line, what was stored stays readable, later there is room."""
    stored = [reply(number) for number in range(50)]
    store.put_many(stored)
    with store._engine.connect() as connection:
        pages = connection.exec_driver_sql("PRAGMA page_count").scalar_one()
        connection.exec_driver_sql(f"PRAGMA max_page_count = {pages + 3}")
    big = [reply(number, b"x" * 4000) for number in range(50, 60)]
    with refused(str(store.path), "the disk is full", "what was reported is stored"):
        store.put_many(big)
    assert store.count() == 50
    assert list(store.get_many(item.request_sha256 for item in stored).values()) == stored
    assert verify(store).damaged == []
    with store._engine.connect() as connection:
        connection.exec_driver_sql("PRAGMA max_page_count = 1000000")
    assert store.put_many(big) == 10


# --- versions --------------------------------------------------------------------------------------------------------


def at_version(path: Path, version: int) -> None:
    """A store as a program of that version left it; from version 1 on with a response in it."""
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE schema_version (version INTEGER NOT NULL)")
    connection.execute("INSERT INTO schema_version VALUES (?)", [version])
    for step in store_file.MIGRATIONS[:version]:
        for statement in step:
            connection.execute(statement)
    if version:
        row = {**reply(1)._asdict(), "body_sha256": hashlib.sha256(reply(1).body).hexdigest()}
        row["row_sha256"] = row_sha256(reply(1), row["body_sha256"])  # which the later column leaves as it was
        if version == 1:
            del row["elapsed"]
        places = ", ".join(f":{name}" for name in row)
        connection.execute(f"INSERT INTO responses ({', '.join(row)}) VALUES ({places})", row)
    connection.commit()
    connection.close()


def shape(path: Path) -> list[Any]:
    connection = sqlite3.connect(path)
    found = connection.execute("SELECT type, name, sql FROM sqlite_master ORDER BY name").fetchall()
    found += connection.execute("SELECT version FROM schema_version").fetchall()
    connection.close()
    return found


@pytest.mark.parametrize("version", range(len(store_file.MIGRATIONS) + 1))
def test_older_stores_are_migrated(tmp_path: Path, version: int) -> None:
    """From every version there was, 0 (no table of responses) included: the same tables, and the responses kept."""
    at_version(tmp_path / "old.sqlite", version)
    with Store(tmp_path / "new.sqlite"), Store(tmp_path / "old.sqlite") as old:
        assert list(old.get_many([reply(1).request_sha256]).values()) == ([reply(1)] if version else [])
        assert old.put(full(2))
        assert verify(old).damaged == []
    assert shape(tmp_path / "old.sqlite") == shape(tmp_path / "new.sqlite")


def test_steps_that_are_new_are_taken_once(tmp_path: Path, refused: Any) -> None:
    """A program with two steps more (made up) brings a store to its version, rows kept; this one then refuses it."""
    path, known = tmp_path / "old.sqlite", len(store_file.MIGRATIONS)
    at_version(path, known)
    more = ["ALTER TABLE responses ADD COLUMN more TEXT"], ["CREATE TABLE extra (a INTEGER)"]
    made = store_file.engine(path, 1)
    for _ in range(2):
        store_file.migrate(made, path, [*store_file.MIGRATIONS, *more])
    with made.connect() as connection:
        found = connection.exec_driver_sql("SELECT request_sha256, more FROM responses").all()
        assert found == [(reply(1).request_sha256, None)]
        assert connection.exec_driver_sql("SELECT version FROM schema_version").scalars().all() == [known + 2]
        assert connection.exec_driver_sql("SELECT a FROM extra").all() == []
    made.dispose()
    with refused("schema version", f"found {known + 2}", f"{known} or older"):
        Store(path)


def test_a_migration_that_fails_changes_nothing(tmp_path: Path, refused: Any) -> None:
    """The steps are one transaction: when the last one fails, the first one has not been taken either."""
    path = tmp_path / "old.sqlite"
    at_version(path, 1)
    before, made = shape(path), store_file.engine(path, 1)
    steps = [*store_file.MIGRATIONS, ["CREATE TABLE more (a INTEGER)", "CREATE NONSENSE"]]
    with refused(str(path), "NONSENSE"), store_file.one_line(path):
        store_file.migrate(made, path, steps)
    made.dispose()
    assert shape(path) == before


def test_a_newer_store_is_refused(tmp_path: Path, refused: Any) -> None:
    """With both versions named, and left as it is."""
    Store(tmp_path / "new.sqlite").close()
    connection = sqlite3.connect(tmp_path / "new.sqlite")
    connection.execute("UPDATE schema_version SET version = 99")
    connection.commit()
    connection.close()
    with refused("new.sqlite", "schema version", "99", f"{len(store_file.MIGRATIONS)} or older"):
        Store(tmp_path / "new.sqlite")


def test_what_is_no_store_is_refused(tmp_path: Path, refused: Any) -> None:
    """A missing file, another file, another database, a folder: one line, nothing made or changed."""
    with refused("no such file"):
        Store(tmp_path / "none.sqlite", create=False)
    assert not (tmp_path / "none.sqlite").exists()
    (tmp_path / "text").write_text("not a database " * 100)
    with refused("text", "not a response store"):
        Store(tmp_path / "text")
    connection = sqlite3.connect(tmp_path / "other.sqlite")
    connection.execute("CREATE TABLE theirs (a INTEGER)")
    connection.close()
    with refused("other.sqlite", "theirs", "a response store"):
        Store(tmp_path / "other.sqlite")
    with refused("cannot be opened"):
        Store(tmp_path)


# --- upkeep ----------------------------------------------------------------------------------------------------------


def why(store: Store, request: Request, candidates: int = 10_000) -> Explanation:
    (found,) = why_miss(store, [request], candidates)
    return found


def test_why_miss_finds_the_nearest(store: Store) -> None:
    """Same model and provider before fewer differences; then fewer differences; then more shared text."""
    assert why(store, ask(1)).nearest is None
    store.put_many([answer(ask(n, model="other"), status="ok", body=b"") for n in range(3)])
    assert why(store, ask(1)).nearest == ask(1, model="other").key()
    store.put_many([reply(n) for n in range(10, 20)])
    found = why(store, ask(1))
    assert found.nearest in {ask(n).key() for n in range(10, 20)}
    assert [item.part for item in found.differences] == ["messages: message 1 (user), content, character 11"]
    changed = why(store, ask(13, parameters={"t": 1}))
    assert changed.nearest == ask(13).key()
    assert [str(item) for item in changed.differences] == ["parameters.t: wanted 1, stored 0"]
    assert not changed.hit
    assert why(store, ask(13)).hit
    few = why(store, ask(13, parameters={}), candidates=2)
    assert (few.examined, few.stored) == (2, 13)


def test_why_miss_of_many_is_that_of_each(store: Store) -> None:
    """In the order of the requests, each once, whatever models and hits are among them."""
    store.put_many([answer(ask(n, model="mn"[n % 2]), status="ok", body=b"") for n in range(12)])
    asked = [ask(n, model=model, parameters={"t": n % 3}) for n in range(12) for model in "mno"]
    assert why_miss(store, [*asked, asked[0]]) == [why(store, request) for request in asked]


def test_misses_are_grouped_by_what_differs(store: Store) -> None:
    """Every miss is in one group, the largest first; a value is shown where all of a group have it."""
    store.put_many([reply(n) for n in range(10)])
    asked = [ask(n, parameters={"t": 0.5}) for n in range(6)] + [ask(n) for n in range(8, 12)]
    asked += [ask(n, parameters={"t": n}, model="new") for n in (3, 4, 5)]
    groups = grouped(why_miss(store, asked))
    assert [(group.parts, len(group.explanations)) for group in groups] == [
        (["parameters.t: wanted 0.5, stored 0"], 6),
        (['model: wanted "new", stored "m"', "parameters.t"], 3),
        (["messages"], 2),
    ]
    assert groups[0].explanations[0].key == asked[0].key()
    assert grouped(why_miss(store, [ask(1), ask(2)])) == []


def tamper(store: Store, assignment: str, seq: int) -> None:
    """Change a row as a failing disk would, past the triggers and checks."""
    connection = sqlite3.connect(store.path)
    connection.execute("DROP TRIGGER IF EXISTS responses_no_update")
    connection.execute("PRAGMA ignore_check_constraints = ON")
    connection.execute(f"UPDATE responses SET {assignment} WHERE seq = ?", [seq])
    connection.commit()
    connection.close()


def test_verify_names_every_damaged_row(store: Store) -> None:
    """Body, request, key, provider and status; whole rows are counted and not named."""
    store.put_many([reply(number) for number in range(9)])
    assert verify(store).damaged == []
    tamper(store, "body = x'00'", 1)
    tamper(store, "request = x'7b7d'", 2)
    tamper(store, "request_sha256 = replace(request_sha256, substr(request_sha256, 1, 4), 'zzzz')", 3)
    tamper(store, "provider = 'q'", 4)
    tamper(store, "body_sha256 = replace(body_sha256, substr(body_sha256, 1, 4), 'zzzz')", 5)
    tamper(store, "status = 'infra_error'", 6)
    tamper(store, "status = 'refusal'", 7)
    found = verify(store)
    assert (found.rows, found.statuses["ok"], found.statuses["infra_error"]) == (9, 7, 1)
    rows = [line for line in found.damaged if line.startswith("row ")]
    assert [line.split(",")[0] for line in rows] == [f"row {n}" for n in range(1, 8)]
    for line, part in zip(rows, ("body", "key", "key", "provider", "body", "status", "the row has"), strict=True):
        assert part in line


@pytest.mark.parametrize("column", [*Response._fields, "body_sha256", "row_sha256"])
def test_verify_names_a_row_changed_in_any_column(store: Store, column: str) -> None:
    """Another value, bytes that are no UTF-8, another type, a value for null and null for a value; the rest is read."""
    kind, other = ("BLOB", "TEXT") if column in ("request", "body", "raw") else ("TEXT", "BLOB")
    changes = [f"CAST({column} || 'x' AS {kind})", "CAST(x'ff' AS TEXT)", f"CAST({column} || '' AS {other})", "1.5"]
    if column in ("retries", "created_at", "elapsed"):
        changes += [f"{column} + 1"]
    if column in ("finish_reason", "usage", "returned_model", "returned_provider", "retry_causes", "raw", "elapsed"):
        changes += ["NULL"]
    store.put_many([full(n) for n in range(len(changes) + 1)])
    store.put_many([reply(99), reply(100)])
    for seq, change in enumerate(changes, start=1):
        tamper(store, f"{column} = {change}", seq)
    damaged = list(range(1, len(changes) + 1))
    if "NULL" in changes:
        tamper(store, f"{column} = ''", len(changes) + 2)
        damaged.append(len(changes) + 2)
    found = verify(store)
    assert found.rows == len(changes) + 3
    rows = [line for line in found.damaged if line.startswith("row ")]
    assert [line.split(",")[0] for line in rows] == [f"row {seq}" for seq in damaged]


TEXTS = st.text(st.characters(codec="utf-8"), max_size=3)


@given(st.lists(st.tuples(TEXTS, TEXTS | st.none(), TEXTS | st.none(), st.integers(0, 12)), min_size=2, max_size=2))
def test_rows_that_differ_have_different_hashes(rows: list[tuple[str, str | None, str | None, int]]) -> None:
    """Text cannot wander from one column to the next, nor null pass for empty."""
    made = [reply(1)._replace(model=a, finish_reason=b, usage=c, retries=n) for a, b, c, n in rows]
    assert (made[0] == made[1]) == (row_sha256(made[0], "0" * 64) == row_sha256(made[1], "0" * 64))


def test_the_hash_of_a_row_stays_what_it_is() -> None:
    """Stores and exports carry it: computed here by hand, as docs/store.md describes it."""
    row = reply(1, retry_causes={"429": 1}, raw=b"all of it")
    body_sha256 = hashlib.sha256(row.body).hexdigest()
    values = [row.request_sha256, row.request, "p", "m", "ok", body_sha256, None, None, None, None, 1, '{"429":1}', 1]
    values.append(b"all of it")
    names = {str: "str", bytes: "bytes", int: "int", type(None): "NoneType"}
    text = [(names[type(v)], v.decode() if isinstance(v, bytes) else str(v)) for v in values]
    expected = hashlib.sha256("".join(f"{name}:{len(v)}:{v}" for name, v in text).encode()).hexdigest()
    assert row_sha256(row, body_sha256) == expected
    timed = "".join(f"{name}:{len(v)}:{v}" for name, v in [*text, ("int", "7")])
    assert row_sha256(row._replace(elapsed=7), body_sha256) == hashlib.sha256(timed.encode()).hexdigest()
    assert damage(row, body_sha256, expected) is None


def test_no_byte_of_the_file_changes_unnoticed(tmp_path: Path, refused: Any) -> None:
    """One byte changed: the store is refused, or verify complains, or every response is still what it was."""
    with Store(tmp_path / "store.sqlite") as whole:
        whole.put_many([full(n) for n in range(12)])
        before = list(whole.table().to_pylist())
    data, chance, noticed = (tmp_path / "store.sqlite").read_bytes(), random.Random(3), 0
    for turn in range(150):
        changed = bytearray(data)
        changed[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        path = tmp_path / f"{turn}.sqlite"
        path.write_bytes(changed)
        try:
            with Store(path) as opened:
                if verify(opened).damaged:
                    noticed += 1
                else:
                    assert opened.table().to_pylist() == before
        except InputError:
            noticed += 1
    assert noticed > 20
    (tmp_path / "words.sqlite").write_bytes(data.replace(b"CHECK (retries", b"CHEC\xcb (retries"))
    with refused("words.sqlite: the file is damaged"):  # SQLite's message quotes the byte
        Store(tmp_path / "words.sqlite")


def test_an_export_of_an_older_version_is_imported(tmp_path: Path) -> None:
    """Without the column `elapsed`, which came later: every row is there, and undamaged."""
    with Store(tmp_path / "a.sqlite") as a:
        a.put_many([reply(n) for n in range(3)])
        export(a, tmp_path / "out")
    (file,), listing = (tmp_path / "out").glob("*.parquet"), tmp_path / "out/SHA256SUMS.tsv"
    before = hashlib.sha256(file.read_bytes()).hexdigest()
    pq.write_table(pq.read_table(file).drop_columns(["elapsed"]), file)
    listing.write_text(listing.read_text().replace(before, hashlib.sha256(file.read_bytes()).hexdigest()))
    assert import_folder(tmp_path / "b.sqlite", tmp_path / "out").new == 3
    with Store(tmp_path / "b.sqlite") as b:
        assert list(b.get_many([reply(1).request_sha256]).values()) == [reply(1)]
        assert verify(b).damaged == []


@given(st.sets(st.integers(0, 30)), st.sets(st.integers(0, 30)))
@settings(max_examples=10)
def test_export_and_import_merge(tmp_path_factory: Any, ours: set[int], theirs: set[int]) -> None:
    """An import brings exactly what was missing, a second one nothing; an export of the same rows is the same files."""
    folder = tmp_path_factory.mktemp("merge")
    with Store(folder / "a.sqlite") as a, Store(folder / "b.sqlite") as b:
        a.put_many([reply(n) for n in ours])
        b.put_many([reply(n) for n in theirs])
        export(a, folder / "out")
        done = import_folder(b.path, folder / "out")
        assert (done.rows, done.new) == (len(ours), len(ours - theirs))
        assert import_folder(b.path, folder / "out").new == 0
        assert set(b.get_many(reply(n).request_sha256 for n in range(31)).values()) == {reply(n) for n in ours | theirs}
        assert verify(b).damaged == []
        export(b, folder / "all")
        assert import_folder(a.path, folder / "all").new == len(theirs - ours)
        export(a, folder / "again")
        listings = [(folder / name / "SHA256SUMS.tsv").read_bytes() for name in ("all", "again")]
        assert listings[0] == listings[1]
