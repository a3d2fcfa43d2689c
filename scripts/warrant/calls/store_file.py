"""The file of the response store: its tables, the numbered steps that build them, connections, and the query lock.

A database without tables is version 0. Opening applies the steps it lacks, in order, in one transaction.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import sqlite3
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy.pool import QueuePool

from warrant.errors import InputError, bad_input

_metadata: Final = sa.MetaData()
# seq: order of arrival. created_at: microseconds since 1970 UTC, of the answer. request: canonical JSON. usage and
# retry_causes: JSON text or null. raw: what the provider sent, whole. row_sha256: over every other column but seq
# (store.row_sha256). elapsed: microseconds that the answered call took, null where nobody measured.
responses: Final = sa.Table(
    "responses",
    _metadata,
    sa.Column("seq", sa.Integer, primary_key=True),
    sa.Column("request_sha256", sa.Text, nullable=False, unique=True),
    sa.Column("request", sa.LargeBinary, nullable=False),
    sa.Column("provider", sa.Text, nullable=False),
    sa.Column("model", sa.Text, nullable=False),
    sa.Column("status", sa.Text, nullable=False),
    sa.Column("body", sa.LargeBinary, nullable=False),
    sa.Column("finish_reason", sa.Text),
    sa.Column("usage", sa.Text),
    sa.Column("returned_model", sa.Text),
    sa.Column("returned_provider", sa.Text),
    sa.Column("retries", sa.Integer, nullable=False),
    sa.Column("retry_causes", sa.Text),
    sa.Column("created_at", sa.Integer, nullable=False),
    sa.Column("raw", sa.LargeBinary),
    sa.Column("body_sha256", sa.Text, nullable=False),
    sa.Column("row_sha256", sa.Text, nullable=False),
    sa.Column("elapsed", sa.Integer),
)
# What calls may cost and did cost (warrant.calls.spend): the amounts of a run add up to what it has spent at most.
reservations: Final = sa.Table(
    "reservations",
    _metadata,
    sa.Column("seq", sa.Integer, primary_key=True),
    sa.Column("request_sha256", sa.Text, nullable=False),
    sa.Column("run", sa.Text, nullable=False),
    sa.Column("model", sa.Text, nullable=False),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("amount", sa.Text, nullable=False),
    sa.Column("currency", sa.Text, nullable=False),
    sa.Column("created_at", sa.Integer, nullable=False),
)
schema_version: Final = sa.Table("schema_version", _metadata, sa.Column("version", sa.Integer, nullable=False))

# A step, once released, is never edited: stores that took it exist. A change is a step more.
MIGRATIONS: Final[tuple[tuple[str, ...], ...]] = (
    (
        """CREATE TABLE responses (
            seq INTEGER PRIMARY KEY,
            request_sha256 TEXT NOT NULL UNIQUE CHECK (length(request_sha256) = 64),
            request BLOB NOT NULL CHECK (typeof(request) = 'blob'),
            provider TEXT NOT NULL,
            model TEXT NOT NULL,
            status TEXT NOT NULL CHECK (status IN ('ok', 'refusal', 'truncated', 'empty', 'wrong_model')),
            body BLOB NOT NULL CHECK (typeof(body) = 'blob'),
            finish_reason TEXT,
            usage TEXT,
            returned_model TEXT,
            returned_provider TEXT,
            retries INTEGER NOT NULL CHECK (retries >= 0),
            retry_causes TEXT CHECK ((retry_causes IS NOT NULL) = (retries > 0)),
            created_at INTEGER NOT NULL,
            raw BLOB CHECK (raw IS NULL OR typeof(raw) = 'blob'),
            body_sha256 TEXT NOT NULL CHECK (length(body_sha256) = 64),
            row_sha256 TEXT NOT NULL CHECK (length(row_sha256) = 64)
        )""",
        """CREATE TRIGGER responses_no_update BEFORE UPDATE ON responses
            BEGIN SELECT RAISE(ABORT, 'responses are append-only'); END""",
        """CREATE TRIGGER responses_no_delete BEFORE DELETE ON responses
            BEGIN SELECT RAISE(ABORT, 'responses are append-only'); END""",
        # INSERT OR REPLACE deletes without firing the trigger above
        """CREATE TRIGGER responses_no_replace BEFORE INSERT ON responses
            WHEN EXISTS (SELECT 1 FROM responses WHERE request_sha256 = NEW.request_sha256)
                OR EXISTS (SELECT 1 FROM responses WHERE seq = NEW.seq)
            BEGIN SELECT RAISE(ABORT, 'responses are append-only'); END""",
        "CREATE INDEX responses_by_model ON responses (model, provider)",
        """CREATE TABLE reservations (
            seq INTEGER PRIMARY KEY,
            request_sha256 TEXT NOT NULL CHECK (length(request_sha256) = 64),
            run TEXT NOT NULL,
            model TEXT NOT NULL,
            kind TEXT NOT NULL CHECK (kind IN ('reserved', 'settled', 'released')),
            amount TEXT NOT NULL CHECK (typeof(amount) = 'text'),
            currency TEXT NOT NULL,
            created_at INTEGER NOT NULL
        )""",
        """CREATE TRIGGER reservations_no_update BEFORE UPDATE ON reservations
            BEGIN SELECT RAISE(ABORT, 'reservations are append-only'); END""",
        """CREATE TRIGGER reservations_no_delete BEFORE DELETE ON reservations
            BEGIN SELECT RAISE(ABORT, 'reservations are append-only'); END""",
        """CREATE TRIGGER reservations_no_replace BEFORE INSERT ON reservations
            WHEN EXISTS (SELECT 1 FROM reservations WHERE seq = NEW.seq)
            BEGIN SELECT RAISE(ABORT, 'reservations are append-only'); END""",
        "CREATE INDEX reservations_by_run ON reservations (run)",
    ),
    ("ALTER TABLE responses ADD COLUMN elapsed INTEGER CHECK (elapsed IS NULL OR elapsed >= 0)",),
)

_REASONS: Final = {
    sqlite3.SQLITE_FULL: "the disk is full; what was reported is stored, what was not is not. Free space, run again",
    sqlite3.SQLITE_BUSY: "another program has been writing to it for too long",
    sqlite3.SQLITE_NOTADB: "this is not a response store",
    sqlite3.SQLITE_CORRUPT: "the file is damaged",
    sqlite3.SQLITE_READONLY: "it cannot be written",
    sqlite3.SQLITE_CANTOPEN: "it cannot be opened",
    sqlite3.SQLITE_IOERR: "the disk could not be read or written",
}


@contextmanager
def one_line(path: Path) -> Iterator[None]:
    """SQLite's errors as InputError: the store, what happened, SQLite's own words."""
    try:
        yield
    except sa.exc.DBAPIError as error:
        code = getattr(error.orig, "sqlite_errorcode", None) or 0
        reason = _REASONS.get(code & 0xFF, "SQLite refused")
        raise InputError(f"{path}: {reason} ({' '.join(str(error.orig).split())})") from error
    except UnicodeDecodeError as error:  # SQLite quotes damaged bytes in a message, which Python then cannot read
        raise InputError(f"{path}: {_REASONS[sqlite3.SQLITE_CORRUPT]} ({error.reason})") from error


def engine(path: Path, timeout: float) -> sa.Engine:
    """Connections in WAL mode with synchronous=FULL; a connection with the option `writing` begins as the writer."""

    def connect() -> sqlite3.Connection:
        connection = sqlite3.connect(path, timeout=timeout, isolation_level=None, check_same_thread=False)
        try:
            _to_wal(connection, path, timeout)
            connection.execute("PRAGMA synchronous = FULL")
        except BaseException:
            connection.close()
            raise
        return connection

    made = sa.create_engine("sqlite+pysqlite://", creator=connect, poolclass=QueuePool)

    @sa.event.listens_for(made, "begin")
    def begin(connection: sa.Connection) -> None:
        writing = connection.get_execution_options().get("writing", False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writing else "BEGIN")

    return made


def begin_writing(connection: sa.Connection) -> sa.RootTransaction:
    """A transaction that is the only writer from its start, so that what it reads is still so when it writes."""
    return connection.execution_options(writing=True).begin()


def _to_wal(connection: sqlite3.Connection, path: Path, timeout: float) -> None:
    """The mode stays with the file. SQLite does not wait when two programs turn to it at once, so this does."""
    deadline = time.monotonic() + timeout
    while True:
        try:
            (mode,) = connection.execute("PRAGMA journal_mode = WAL").fetchone()
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(0.01)
            continue
        if mode != "wal":
            raise bad_input(path, field="journal_mode", found=mode, expected="wal (is this a network file system?)")
        return


def migrate(made: sa.Engine, path: Path, steps: Sequence[Sequence[str]] = MIGRATIONS) -> None:
    """Bring a store to the version of this program; InputError when it is newer, or no store at all."""
    with made.connect() as connection:
        if _version(connection, path, len(steps)) == len(steps):
            return
    with made.connect() as connection, begin_writing(connection):
        for step in steps[_version(connection, path, len(steps)) :]:  # another program may have been here meanwhile
            for statement in step:
                connection.exec_driver_sql(statement)
        connection.exec_driver_sql("CREATE TABLE IF NOT EXISTS schema_version (version INTEGER NOT NULL)")
        connection.execute(sa.delete(schema_version))
        connection.execute(sa.insert(schema_version), {"version": len(steps)})


def _version(connection: sa.Connection, path: Path, known: int) -> int:
    names: Any = connection.exec_driver_sql("SELECT name FROM sqlite_master WHERE type = 'table'").scalars().all()
    if not names:
        return 0
    if "schema_version" not in names:
        raise bad_input(path, found=f"a database with the tables {sorted(names)}", expected="a response store")
    found = connection.execute(sa.select(schema_version.c.version)).scalars().all()
    if len(found) != 1 or not 0 <= found[0] <= known:
        shown = found[0] if len(found) == 1 else found
        raise bad_input(path, field="schema version", found=shown, expected=f"{known} or older (update warrant)")
    return int(found[0])


def _to_stderr(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


@contextmanager
def query_lock(path: Path, say: Callable[[str], None] = _to_stderr) -> Iterator[None]:
    """Hold the store for one query run; a second one says so, waits, and then finds what the first one stored.

    A flock on `<store>.lock` (the file stays; removing it would let two in): the kernel frees it when the holder dies.
    """
    lock = path.with_name(path.name + ".lock")
    lock.parent.mkdir(parents=True, exist_ok=True)
    with lock.open("a+", encoding="utf-8") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = lock.read_text(encoding="utf-8").strip() or "another process"
            say(f"{path}: {holder} is querying with this store; waiting for it")
            fcntl.flock(handle, fcntl.LOCK_EX)
        with contextlib.suppress(OSError):  # who holds it is a courtesy; a full disk may refuse it
            handle.truncate(0)
            os.write(handle.fileno(), f"process {os.getpid()}\n".encode())
        yield
