"""The response store: every answer that was paid for, under the key of its request, once and for good.

One SQLite file in WAL mode. A response is committed before it is reported. Durability: a commit appends to the WAL
and, with synchronous=FULL, syncs it before it returns. Kill -9 loses nothing committed (the bytes are with the kernel)
and power loss neither, if the disk keeps what it says it synced. NORMAL would be safe under kill -9 too, but after
power loss the last commits could be gone, though reported and paid for; the sync costs milliseconds beside a
call of seconds. What was being written at the time vanishes whole. On a full disk the transaction is rolled back.

The file is append-only (triggers refuse UPDATE, DELETE and REPLACE); infra_error is no answer and is never stored.
Beside the responses it keeps what calls may cost, reserved before each (`warrant.calls.spend`).
"""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Any, Final, NamedTuple, TypeVar

import pyarrow as pa
import sqlalchemy as sa

from warrant.artifact import field
from warrant.calls.request_key import Request, canonical_json, key_of
from warrant.calls.responses import ABOUT_THE_ANSWER, ANSWERED
from warrant.calls.store_file import begin_writing, engine, migrate, one_line, reservations, responses
from warrant.calls.store_file import query_lock as query_lock
from warrant.errors import InputError, bad_input

T = TypeVar("T")

KEYS_AT_ONCE: Final = 500  # SQLite takes 32,766 variables
ROWS_AT_ONCE: Final = 4096
BYTES_AT_ONCE: Final = 16 * 2**20
_SURROGATE: Final = re.compile("[\ud800-\udfff]")

PROJECTION: Final = pa.schema(
    [
        field("request_sha256", pa.string(), "key of the request", nullable=False),
        field("status", pa.string(), f"one of {', '.join(ANSWERED)}", nullable=False),
        field("text", pa.string(), "body, decoded as text_repair says", nullable=False),
        *ABOUT_THE_ANSWER,
        field("created_at", pa.timestamp("us", tz="UTC"), "when the answer was there", nullable=False),
        field("elapsed", pa.int64(), "microseconds that the answered call took; null where nobody measured"),
    ]
)


class StoreConflict(InputError):
    """Another body or another status is stored under this key."""


class Response(NamedTuple):
    """A terminal response, in the order of the table's columns. Make one with `answer`.

    request: canonical JSON. body: the answer's bytes. usage: JSON text. retry_causes: JSON text, of which retries is
    the sum. created_at: microseconds since 1970 UTC. raw: what the provider sent, whole, where it was kept. elapsed:
    microseconds that the answered call took, where somebody measured.
    """

    request_sha256: str
    request: bytes
    provider: str
    model: str
    status: str
    body: bytes
    finish_reason: str | None
    usage: str | None
    returned_model: str | None
    returned_provider: str | None
    retries: int
    retry_causes: str | None
    created_at: int
    raw: bytes | None
    elapsed: int | None = None


COLUMNS: Final = [responses.c[name] for name in Response._fields]


class Reservation(NamedTuple):
    """An amount that a call may cost (`reserved`), or that is added to it once it is known (`settled`, `released`).

    model: the judge. amount: exact decimal text, negative where a call costs less than was reserved.
    """

    request_sha256: str
    run: str
    model: str
    kind: str
    amount: str
    currency: str
    created_at: int


def answer(
    request: Request,
    *,
    status: str,
    body: bytes,
    finish_reason: str | None = None,
    usage: Mapping[str, Any] | None = None,
    returned_model: str | None = None,
    returned_provider: str | None = None,
    retry_causes: Mapping[str, int] | None = None,
    created_at: int | None = None,
    raw: bytes | None = None,
    elapsed: int | None = None,
) -> Response:
    """The response to a request (created now unless told). retry_causes: calls before this one, by why they failed."""
    canonical = request.canonical()
    counted = None if usage is None else canonical_json(usage, "usage")
    for cause, count in (retry_causes or {}).items():
        if type(count) is not int or count < 1:
            raise bad_input("retry_causes", field=cause, found=count, expected="a whole number from 1")
    return Response(
        request_sha256=key_of(canonical),
        request=canonical,
        provider=request.provider,
        model=request.model,
        status=status,
        body=body,
        finish_reason=finish_reason,
        usage=counted,
        returned_model=returned_model,
        returned_provider=returned_provider,
        retries=sum((retry_causes or {}).values()),
        retry_causes=canonical_json(retry_causes, "retry_causes") if retry_causes else None,
        created_at=time.time_ns() // 1000 if created_at is None else created_at,
        raw=raw,
        elapsed=elapsed,
    )


def row_sha256(response: Response, body_sha256: str) -> str:
    """The hash of a row: each column of Response in order, the body by its own hash, as `type:length:bytes`.

    Type and length make the encoding one-to-one: other values, null and empty, a text and its bytes never meet. The
    last column, which came later, counts only where it has a value: older rows keep their hash.
    """
    encoded = []
    values = {**response._asdict(), "body": body_sha256}
    if response.elapsed is None:
        del values["elapsed"]
    for value in values.values():
        # surrogateescape: `verify` reads bytes that are no UTF-8 so; what is stored has none
        data = value if isinstance(value, bytes) else str(value).encode("utf-8", "surrogateescape")
        encoded.append(b"%s:%d:%s" % (type(value).__name__.encode(), len(data), data))
    return hashlib.sha256(b"".join(encoded)).hexdigest()


def encode_body(text: str) -> bytes:
    """A text as a body. Lone surrogates, which JSON escapes can bring, are kept as they are."""
    return text.encode("utf-8", "surrogatepass")


def decode_body(body: bytes) -> tuple[str, str | None]:
    """Text that Arrow can hold, and the code of its repair: None, `surrogate` or `utf8` (U+FFFD for each)."""
    try:
        return body.decode("utf-8"), None
    except UnicodeDecodeError:
        pass
    try:
        return _SURROGATE.sub("\ufffd", body.decode("utf-8", "surrogatepass")), "surrogate"
    except UnicodeDecodeError:
        return body.decode("utf-8", "replace"), "utf8"


class Store:
    """An open store. Any number of programs may read it while one writes; others wait `timeout` seconds.

    create: make a file that is not there (InputError otherwise). Close it, or use it as a context manager.
    """

    def __init__(self, path: Path, *, create: bool = True, timeout: float = 60) -> None:
        """Open, and migrate a store of an older version."""
        if not create and not path.is_file():
            raise bad_input(path, found="no such file", expected="a response store")
        if create:
            path.parent.mkdir(parents=True, exist_ok=True)
        self.path = path
        self._engine = engine(path, timeout)
        try:
            with one_line(path):
                migrate(self._engine, path)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close every connection."""
        self._engine.dispose()

    def __enter__(self) -> Store:
        """The store itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close."""
        self.close()

    @contextmanager
    def reading(self) -> Iterator[sa.Connection]:
        """One snapshot: what others commit meanwhile is not seen."""
        with one_line(self.path), self._engine.connect() as connection, connection.begin():
            yield connection

    def put(self, response: Response) -> bool:
        """Store a response; it is committed when this returns. False when it was stored already."""
        return self.put_many([response]) == 1

    def put_many(self, given: Iterable[Response], reserved: Sequence[Reservation] = ()) -> int:
        """Store responses (and reservations) in one transaction, all or none; the number of new responses.

        A key with the same status and body again is passed over, whatever else differs: the first row stays.
        StoreConflict when it has another status or body.
        """
        new = 0
        with one_line(self.path), self._engine.connect() as connection, begin_writing(connection):
            for some in batched(given, KEYS_AT_ONCE):
                new += self._insert(connection, some)
            if reserved:
                connection.execute(sa.insert(reservations), [item._asdict() for item in reserved])
        return new

    def _insert(self, connection: sa.Connection, given: Sequence[Response]) -> int:
        keys = {response.request_sha256 for response in given}
        asked = sa.select(responses.c.request_sha256, responses.c.status, responses.c.body_sha256)
        stored = connection.execute(asked.where(responses.c.request_sha256.in_(keys)))
        known = {key: (status, body_sha256) for key, status, body_sha256 in stored}
        rows = []
        for response in given:
            key, body_sha256 = response.request_sha256, hashlib.sha256(response.body).hexdigest()
            self._check(response)
            if key not in known:
                known[key] = response.status, body_sha256
                hashes = {"body_sha256": body_sha256, "row_sha256": row_sha256(response, body_sha256)}
                rows.append({**response._asdict(), **hashes})
            elif known[key] != (response.status, body_sha256):
                found = f"{response.status}, a body with SHA-256 {body_sha256}"
                expected = f"what is stored, {' '.join(known[key])}"
                raise StoreConflict(str(bad_input(self.path, field=key, found=found, expected=expected)))
        if rows:
            connection.execute(sa.insert(responses), rows)
        return len(rows)

    def _check(self, response: Response) -> None:
        key = response.request_sha256
        if response.status not in ANSWERED:
            expected = f"one of {', '.join(ANSWERED)} (an infrastructure error is no answer)"
            raise bad_input(self.path, field=f"{key} status", found=response.status, expected=expected)
        if key_of(response.request) != key:
            raise bad_input(self.path, field=key, found="a request with another key", expected="its own")

    def count(self) -> int:
        """Number of responses."""
        with self.reading() as connection:
            return int(connection.execute(sa.select(sa.func.count()).select_from(responses)).scalar_one())

    def reservations(self, run: str) -> list[Reservation]:
        """A run's reservations in their order."""
        asked = sa.select(*(reservations.c[name] for name in Reservation._fields)).where(reservations.c.run == run)
        with self.reading() as connection:
            return [Reservation._make(row) for row in connection.execute(asked.order_by(reservations.c.seq))]

    def known(self, keys: Iterable[str]) -> set[str]:
        """Those of the keys that a response is stored under."""
        found: set[str] = set()
        with self.reading() as connection:
            for some in batched(dict.fromkeys(keys), KEYS_AT_ONCE):
                asked = sa.select(responses.c.request_sha256).where(responses.c.request_sha256.in_(some))
                found.update(connection.execute(asked).scalars())
        return found

    def get_many(self, keys: Iterable[str]) -> dict[str, Response]:
        """The stored responses among the keys, in the order of the keys, from one snapshot."""
        found: dict[str, Response] = {}
        with self.reading() as connection:
            for some in batched(dict.fromkeys(keys), KEYS_AT_ONCE):
                asked = sa.select(*COLUMNS).where(responses.c.request_sha256.in_(some))
                rows = {row[0]: Response._make(row) for row in connection.execute(asked)}
                found.update((key, rows[key]) for key in some if key in rows)
        return found

    def stream(self, asked: sa.Select[Any]) -> Iterator[sa.Row[Any]]:
        """Rows of a query in one snapshot, a few in memory at a time."""
        with self.reading() as connection:
            yield from connection.execution_options(yield_per=256).execute(asked)

    def projection(self, keys: Iterable[str] | None = None) -> Iterator[pa.RecordBatch]:
        """Batches of the schema PROJECTION: the stored ones of `keys` in their order, or all as they arrived.

        Memory is bounded by ROWS_AT_ONCE rows and about BYTES_AT_ONCE bytes of bodies.
        """
        rows: Iterator[Any]
        if keys is None:
            rows = self.stream(sa.select(*COLUMNS).order_by(responses.c.seq))
        else:
            rows = (row for some in batched(dict.fromkeys(keys), 64) for row in self.get_many(some).values())
        for some_rows in portions(rows):
            yield _project(some_rows)

    def table(self, keys: Iterable[str] | None = None) -> pa.Table:
        """The projection as one table."""
        return pa.Table.from_batches(self.projection(keys), schema=PROJECTION)


def _project(rows: Sequence[Any]) -> pa.RecordBatch:
    values: dict[str, Any] = dict(zip(Response._fields, zip(*rows, strict=True), strict=True))
    bodies = values["body"]
    try:  # Arrow checks UTF-8 as strictly as Python does, and faster
        values["text"] = pa.array(bodies, pa.binary()).cast(pa.string())
        values["text_repair"] = [None] * len(bodies)
    except pa.ArrowInvalid:
        values["text"], values["text_repair"] = zip(*map(decode_body, bodies), strict=True)
    return pa.RecordBatch.from_arrays([_array(values[item.name], item.type) for item in PROJECTION], schema=PROJECTION)


def _array(values: Any, kind: pa.DataType) -> pa.Array[Any]:
    return values if isinstance(values, pa.Array) else pa.array(values, kind)


def batched(items: Iterable[T], size: int) -> Iterator[list[T]]:
    """Lists of `size` items, the last one shorter."""
    rest = iter(items)
    while some := list(islice(rest, size)):
        yield some


def portions(rows: Iterable[Any], most: int = ROWS_AT_ONCE, size: int = BYTES_AT_ONCE) -> Iterator[list[Any]]:
    """Lists of rows (each with request, body and raw) of at most `most` rows, closed when they reach `size` bytes."""
    some: list[Any] = []
    held = 0
    for row in rows:
        some.append(row)
        held += len(row.request) + len(row.body) + len(row.raw or b"")
        if len(some) == most or held >= size:
            yield some
            some, held = [], 0
    if some:
        yield some
