"""What one does with a response store besides querying: explain a miss, verify it, take it elsewhere and back."""

from __future__ import annotations

import csv
import hashlib
import io
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
import sqlalchemy as sa

from warrant.artifact import field, file_sha256, type_name
from warrant.calls.request_key import (
    Difference,
    Parts,
    Request,
    canonical_json,
    differences,
    differing,
    key_of,
    parse,
    parts,
    shared_start,
)
from warrant.calls.responses import ANSWERED
from warrant.calls.store import COLUMNS, Response, Store, batched, portions, query_lock, row_sha256
from warrant.calls.store_file import responses
from warrant.errors import InputError, bad_input

CANDIDATES: Final = 10_000
LATER: Final = "elapsed"  # which exports of older versions do not have
HASHES: Final = "SHA256SUMS.tsv"
HEADER: Final = ["sha256", "rows", "file"]
EXPORT: Final = pa.schema(
    [
        field("request_sha256", pa.string(), "key of the request", nullable=False),
        field("request", pa.binary(), "canonical JSON under the key", nullable=False),
        field("provider", pa.string(), "whom the request was sent to", nullable=False),
        field("model", pa.string(), "the model that was asked", nullable=False),
        field("status", pa.string(), f"one of {', '.join(ANSWERED)}", nullable=False),
        field("body", pa.binary(), "the answer's bytes", nullable=False),
        field("finish_reason", pa.string(), "as the provider named it"),
        field("usage", pa.string(), "JSON, as the provider counted"),
        field("returned_model", pa.string(), "the model that the provider says answered"),
        field("returned_provider", pa.string(), "whom an intermediary says it passed the request to"),
        field("retries", pa.int64(), "calls before this one", nullable=False),
        field("retry_causes", pa.string(), "JSON, retries by cause; null when there were none"),
        field("created_at", pa.int64(), "microseconds since 1970 UTC", nullable=False),
        field("raw", pa.binary(), "what the provider sent, whole, where it was kept"),
        field("elapsed", pa.int64(), "microseconds that the answered call took; null where nobody measured"),
        field("body_sha256", pa.string(), "SHA-256 of the body", nullable=False),
        field("row_sha256", pa.string(), "SHA-256 of the row", nullable=False),
    ]
)
_ALL: Final = [*COLUMNS, responses.c.body_sha256, responses.c.row_sha256]


# --- why a request is not there --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Explanation:
    """Whether a request is stored, else the nearest stored one and how the two differ.

    examined: stored requests compared, of `stored` in all.
    """

    key: str
    hit: bool
    nearest: str | None
    differences: list[Difference]
    examined: int
    stored: int


def why_miss(store: Store, requests: Iterable[Request], candidates: int = CANDIDATES) -> list[Explanation]:
    """Compare each request (each key once) with the latest `candidates` stored ones of its model and provider.

    When there are none, with those of its model, else of its provider, else with any. Nearest is: the fewest differing
    parts; then the most characters of the messages shared at start and end; then the latest.
    """
    wanted = {request.key(): request for request in requests}
    stored = store.count()
    hits = store.get_many(wanted)
    found = {key: Explanation(key, True, key, [], 0, stored) for key in hits}
    missing = [(request.model, request.provider, key) for key, request in wanted.items() if key not in hits]
    for (model, provider), some in groupby(sorted(missing), key=lambda item: item[:2]):
        compared = _compared(store, model, provider, candidates)
        for *_, key in some:
            ours = _stored(key, wanted[key].canonical())
            nearest = _nearest(ours, compared)
            unlike = differences(ours.parts, nearest.parts) if nearest else []
            found[key] = Explanation(key, False, nearest and nearest.key, unlike, len(compared), stored)
    return [found[key] for key in wanted]


class _Stored(NamedTuple):
    """A stored request, its messages also as text: forwards and backwards, since it is compared many times."""

    key: str
    parts: Parts
    text: str
    backwards: str


def _stored(key: str, canonical: bytes) -> _Stored:
    found = parts(canonical)
    text = canonical_json(found["messages"])
    return _Stored(key, found, text, text[::-1])


def _compared(store: Store, model: str, provider: str, candidates: int) -> list[_Stored]:
    same_model, same_provider = responses.c.model == model, responses.c.provider == provider
    for where in (same_model & same_provider, same_model, same_provider, sa.true()):
        asked = sa.select(responses.c.request_sha256, responses.c.request).where(where)
        latest = store.stream(asked.order_by(responses.c.seq.desc()).limit(candidates))
        if rows := [_stored(*row) for row in latest]:
            return rows
    return []


def _nearest(wanted: _Stored, compared: Sequence[_Stored]) -> _Stored | None:
    counts = [len(differing(wanted.parts, found.parts)) for found in compared]
    least = min(counts, default=0)
    fewest = [found for found, count in zip(compared, counts, strict=True) if count == least]

    def shared(found: _Stored) -> int:
        return shared_start(wanted.text, found.text) + shared_start(wanted.backwards, found.backwards)

    return max(fewest, key=shared, default=None)


@dataclass(frozen=True)
class Misses:
    """Missing requests that differ from their nearest stored ones in the same parts; the first is the example.

    parts: for each part what is wanted and stored where that is the same for all of them, else its name.
    """

    parts: list[str]
    explanations: list[Explanation]


def grouped(explanations: Iterable[Explanation]) -> list[Misses]:
    """The misses by the set of parts that differ, the largest group first."""
    groups: dict[tuple[str, ...], list[Explanation]] = {}
    for found in explanations:
        if not found.hit:
            groups.setdefault(tuple(map(_name, found.differences)), []).append(found)
    named = [
        Misses([_common(column) for column in zip(*(m.differences for m in some), strict=True)], some)
        for some in groups.values()
    ]
    return sorted(named, key=lambda group: -len(group.explanations))


def _name(difference: Difference) -> str:
    """The part, without the place in the messages: that is another for each request."""
    return "messages" if difference.part.startswith("messages") else difference.part


def _common(column: Sequence[Difference]) -> str:
    same = len(set(column)) == 1 and _name(column[0]) != "messages"
    return str(column[0]) if same else _name(column[0])


# --- whether it is whole ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Verification:
    """Rows read, how many of each status, and a line for each row that is damaged."""

    rows: int
    statuses: dict[str, int]
    damaged: list[str]


def verify(store: Store) -> Verification:
    """Recompute every key and hash, and let SQLite check its pages and indexes."""
    counts, damaged = dict.fromkeys(ANSWERED, 0), []
    rows = 0
    # a query without types: a damaged column may hold what its type cannot
    asked = sa.text(f"SELECT seq, {', '.join(EXPORT.names)} FROM responses ORDER BY seq")
    try:
        with store.reading() as connection, _bytes_kept(connection):
            pages = connection.exec_driver_sql("PRAGMA integrity_check").scalars().all()
            damaged += [f"SQLite: {' '.join(line.split())}" for line in pages if line != "ok"]
            for row in connection.execution_options(yield_per=256).execute(asked):
                rows += 1
                counts[row.status] = counts.get(row.status, 0) + 1
                wrong = damage(Response._make(row[1:-2]), row.body_sha256, row.row_sha256)
                if wrong:
                    damaged.append(f"row {row.seq}, {row.request_sha256}: {wrong}")
    except InputError as error:  # a page that SQLite cannot read ends the reading
        damaged.append(str(error))
    return Verification(rows, counts, damaged)


@contextmanager
def _bytes_kept(connection: sa.Connection) -> Iterator[None]:
    """Texts that are no UTF-8 are read with surrogates for the wrong bytes; else they would end the reading."""
    driver: Any = connection.connection.driver_connection
    driver.text_factory = lambda data: data.decode("utf-8", "surrogateescape")
    try:
        yield
    finally:
        driver.text_factory = str


def damage(row: Response, body_sha256: str, recorded: str) -> str | None:
    """What is wrong with a row, if anything; `recorded` is its row_sha256."""
    if not isinstance(row.request, bytes) or not isinstance(row.body, bytes):
        return "the request or the body is not bytes"
    if key_of(row.request) != row.request_sha256:
        return f"the stored request has the key {key_of(row.request)}"
    try:
        request = parse(row.request)
        if request.canonical() != row.request:
            return "the stored request is not in canonical form"
    except InputError as error:
        return f"the stored request cannot be read ({error})"
    if hashlib.sha256(row.body).hexdigest() != body_sha256:
        return f"the body has the SHA-256 {hashlib.sha256(row.body).hexdigest()}, recorded is {body_sha256}"
    if (row.provider, row.model) != (request.provider, request.model):
        return "provider and model are not those of the stored request"
    if row.status not in ANSWERED:
        return f"the status is {row.status!r}"
    if row_sha256(row, body_sha256) != recorded:
        return f"the row has the SHA-256 {row_sha256(row, body_sha256)}, recorded is {recorded}"
    if row.retries < 0 or (row.retries > 0) != (row.retry_causes is not None):
        return f"{row.retries} retries, of the causes {row.retry_causes}"
    return None


# --- elsewhere and back ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Selection:
    """Responses to export: of a provider, of a model, of these keys; None leaves it open."""

    provider: str | None = None
    model: str | None = None
    keys: Sequence[str] | None = None


@dataclass(frozen=True)
class Moved:
    """Files written or read, responses in them, and how many were new (all of them in an export)."""

    files: int
    rows: int
    new: int


def export(store: Store, folder: Path, selection: Selection = Selection()) -> Moved:
    """Write the selection as Parquet files and their hash list into a folder that must not exist (or be empty).

    Rows are in the order of their keys. The folder appears when it is complete.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise bad_input(folder, found="something there already", expected="a new or empty folder")
    folder.parent.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    try:
        lines = [HEADER]
        for number, some in enumerate(portions(_selected(store, selection), most=50_000, size=64 * 2**20)):
            path = temporary / f"responses-{number:05d}.parquet"
            columns = dict(zip(EXPORT.names, zip(*some, strict=True), strict=True))
            table = pa.table({name: list(values) for name, values in columns.items()}, schema=EXPORT)
            pq.write_table(table, path, compression="zstd", row_group_size=4096)
            _sync(path)
            lines.append([file_sha256(path), str(len(some)), path.name])
        listing = temporary / HASHES
        listing.write_text("".join("\t".join(line) + "\n" for line in lines), encoding="utf-8", newline="\n")
        _sync(listing)
        temporary.chmod(0o755)
        temporary.replace(folder)
    except OSError as error:
        raise bad_input(folder, found=error.strerror or str(error), expected="a folder that can be written") from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    rows = sum(int(line[1]) for line in lines[1:])
    return Moved(len(lines) - 1, rows, rows)


def _sync(path: Path) -> None:
    with path.open("rb") as handle:
        os.fsync(handle.fileno())


def _selected(store: Store, selection: Selection) -> Iterator[Any]:
    asked = sa.select(*_ALL).order_by(responses.c.request_sha256)
    if selection.provider is not None:
        asked = asked.where(responses.c.provider == selection.provider)
    if selection.model is not None:
        asked = asked.where(responses.c.model == selection.model)
    if selection.keys is None:
        yield from store.stream(asked)
        return
    for some in batched(sorted(set(selection.keys)), 64):
        stored = store.get_many(some)
        for key in some:
            if key not in stored:
                raise bad_input(store.path, field=key, found="no response", expected="a stored request")
        yield from store.stream(asked.where(responses.c.request_sha256.in_(some)))


def import_folder(path: Path, folder: Path) -> Moved:
    """Merge an exported folder into a store, which is made when it is not there.

    Every file and row is checked before the store is opened or made. All rows or none. Rows that are stored already
    are passed over; StoreConflict when one has another status or body.
    """
    listed = _listed(folder)
    for name, (sha256, rows) in listed.items():
        _check_file(folder / name, sha256, rows)
    with query_lock(path), Store(path) as store:
        new = store.put_many(row for name in listed for row, *_ in _rows(folder / name))
    return Moved(len(listed), sum(rows for _, rows in listed.values()), new)


def _listed(folder: Path) -> dict[str, tuple[str, int]]:
    path = folder / HASHES
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise bad_input(path, found=str(error), expected="the hash list of an export") from error
    lines = list(csv.reader(io.StringIO(text, newline=""), delimiter="\t", quoting=csv.QUOTE_NONE))
    if not lines or lines[0] != HEADER:
        raise bad_input(path, row=1, found=lines[:1], expected=f"the columns {HEADER}")
    listed: dict[str, tuple[str, int]] = {}
    for number, line in enumerate(lines[1:], start=2):
        if len(line) != 3 or not (line[1].isascii() and line[1].isdigit()):
            raise bad_input(path, row=number, found=line, expected="a hash, a number of rows and a file")
        if "/" in line[2] or not line[2].endswith(".parquet") or line[2] in listed:
            raise bad_input(path, row=number, field="file", found=line[2], expected="a Parquet file here, listed once")
        listed[line[2]] = line[0], int(line[1])
    extra = sorted({found.name for found in folder.glob("*.parquet")} - set(listed))
    if extra:
        raise bad_input(folder / extra[0], found="a file that is not listed", expected=f"the files of {HASHES}")
    return listed


def _check_file(path: Path, sha256: str, rows: int) -> None:
    if not path.is_file():
        raise bad_input(path, found="no such file", expected=f"the file that {HASHES} lists")
    if file_sha256(path) != sha256:
        raise bad_input(path, found=f"SHA-256 {file_sha256(path)}", expected=f"{sha256} as {HASHES} lists it")
    number = 0
    for number, row in enumerate(_rows(path), start=1):
        wrong = damage(*row)
        if wrong:
            raise bad_input(path, row=number, found=wrong, expected="an undamaged response")
    if number != rows:
        raise bad_input(path, found=f"{number} rows", expected=f"{rows} as {HASHES} lists")


def _rows(path: Path) -> Iterator[tuple[Response, str, str]]:
    """Each response with the hashes of its body and of its row, as the file has them."""
    try:
        with pq.ParquetFile(path) as file:
            found, declared = _columns(file.schema_arrow), _columns(EXPORT)
            if found not in (declared, {name: kind for name, kind in declared.items() if name != LATER}):
                raise bad_input(path, found=found, expected=f"the columns {declared}")
            for batch in file.iter_batches(batch_size=512):
                columns = {name: batch.column(name).to_pylist() for name in batch.schema.names}
                columns.setdefault(LATER, [None] * len(batch))
                for values in zip(*(columns[name] for name in EXPORT.names), strict=True):
                    yield Response._make(values[:-2]), *values[-2:]
    except (pa.ArrowInvalid, OSError) as error:
        raise bad_input(path, found=str(error), expected="a Parquet file of an export") from error


def _columns(schema: pa.Schema) -> dict[str, str]:
    return {item.name: type_name(item.type) + ("" if item.nullable else ", never null") for item in schema}
