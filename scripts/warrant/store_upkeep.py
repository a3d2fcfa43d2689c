"""What one does with a response store besides querying: explain a miss, verify it, take it elsewhere and back."""

from __future__ import annotations

import csv
import hashlib
import io
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq
import sqlalchemy as sa

from warrant.artifact import field, file_sha256, type_name
from warrant.errors import InputError, bad_input
from warrant.request_key import Difference, Request, differences, differing, key_of, likeness, parse, parts
from warrant.store import COLUMNS, Response, Store, batched, portions
from warrant.store_file import STATUSES, responses

CANDIDATES: Final = 10_000
HASHES: Final = "SHA256SUMS.tsv"
HEADER: Final = ["sha256", "rows", "file"]
EXPORT: Final = pa.schema(
    [
        field("request_sha256", pa.string(), "key of the request", nullable=False),
        field("request", pa.binary(), "canonical JSON under the key", nullable=False),
        field("provider", pa.string(), "whom the request was sent to", nullable=False),
        field("model", pa.string(), "the model that was asked", nullable=False),
        field("status", pa.string(), f"one of {', '.join(STATUSES)}", nullable=False),
        field("body", pa.binary(), "the answer's bytes", nullable=False),
        field("finish_reason", pa.string(), "as the provider named it"),
        field("usage", pa.string(), "JSON, as the provider counted"),
        field("returned_model", pa.string(), "the model that the provider says answered"),
        field("retries", pa.int64(), "calls before this one", nullable=False),
        field("created_at", pa.int64(), "microseconds since 1970 UTC", nullable=False),
        field("body_sha256", pa.string(), "SHA-256 of the body", nullable=False),
    ]
)
_ALL: Final = [*COLUMNS, responses.c.body_sha256]


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


def why_miss(store: Store, request: Request, candidates: int = CANDIDATES) -> Explanation:
    """Compare a request with the latest `candidates` stored ones, those of its model and provider first.

    Nearest is: same model and provider, then same model, same provider, neither; then the fewest differing parts;
    then the most characters of the messages shared at start and end; then the latest.
    """
    canonical = request.canonical()
    key = key_of(canonical)
    stored = store.count()
    if store.get_many([key]):
        return Explanation(key, True, key, [], 0, stored)
    wanted = parts(canonical)
    best: tuple[tuple[int, int], list[tuple[str, bytes]]] = ((4, 0), [])
    examined = 0
    model, provider = responses.c.model == request.model, responses.c.provider == request.provider
    for tier, where in enumerate((model & provider, model & ~provider, ~model & provider, ~model & ~provider)):
        asked = sa.select(responses.c.request_sha256, responses.c.request).where(where)
        for row in store.stream(asked.order_by(responses.c.seq.desc()).limit(candidates - examined)):
            examined += 1
            rank = tier, len(differing(wanted, parts(row.request)))
            if rank <= best[0]:
                best = rank, [*(best[1] if rank == best[0] else []), (row.request_sha256, row.request)]
        if best[1]:
            break  # a farther tier holds nothing nearer
    if not best[1]:
        return Explanation(key, False, None, [], examined, stored)
    nearest, found = max(best[1], key=lambda item: likeness(wanted, parts(item[1])))
    return Explanation(key, False, nearest, differences(wanted, parts(found)), examined, stored)


# --- whether it is whole ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Verification:
    """Rows read, how many of each status, and a line for each row that is damaged."""

    rows: int
    statuses: dict[str, int]
    damaged: list[str]


def verify(store: Store) -> Verification:
    """Recompute every key and body hash, and let SQLite check its pages and indexes."""
    counts, damaged = dict.fromkeys(STATUSES, 0), []
    rows = 0
    with store.reading() as connection:
        pages = connection.exec_driver_sql("PRAGMA integrity_check").scalars().all()
        damaged += [f"SQLite: {' '.join(line.split())}" for line in pages if line != "ok"]
    try:
        for row in store.stream(sa.select(responses.c.seq, *_ALL).order_by(responses.c.seq)):
            rows += 1
            counts[row.status] = counts.get(row.status, 0) + 1
            wrong = damage(Response._make(row[1:-1]), row.body_sha256)
            if wrong:
                damaged.append(f"row {row.seq}, {row.request_sha256}: {wrong}")
    except InputError as error:  # a page that SQLite cannot read ends the reading
        damaged.append(str(error))
    return Verification(rows, counts, damaged)


def damage(row: Response, body_sha256: str) -> str | None:
    """What is wrong with a row, if anything."""
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
    if row.status not in STATUSES:
        return f"the status is {row.status!r}"
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


def import_folder(store: Store, folder: Path) -> Moved:
    """Merge an exported folder: every file is checked against the hash list before the first row is stored.

    All rows or none. Rows that are stored already are passed over; StoreConflict when one has another body.
    """
    listed = _listed(folder)
    for name, (sha256, _) in listed.items():
        path = folder / name
        if not path.is_file():
            raise bad_input(path, found="no such file", expected=f"the file that {HASHES} lists")
        if file_sha256(path) != sha256:
            raise bad_input(path, found=f"SHA-256 {file_sha256(path)}", expected=f"{sha256} as {HASHES} lists it")
    new = store.put_many(row for name, (_, rows) in listed.items() for row in _rows(folder / name, rows))
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


def _rows(path: Path, expected: int) -> Iterator[Response]:
    number = 0
    try:
        with pq.ParquetFile(path) as file:
            found = {item.name: type_name(item.type) for item in file.schema_arrow}
            declared = {item.name: type_name(item.type) for item in EXPORT}
            if found != declared:
                raise bad_input(path, found=found, expected=f"the columns {declared}")
            for batch in file.iter_batches(batch_size=512, columns=EXPORT.names):
                for values in zip(*(batch.column(name).to_pylist() for name in EXPORT.names), strict=True):
                    number += 1
                    row = Response._make(values[:-1])
                    wrong = damage(row, values[-1])
                    if wrong:
                        raise bad_input(path, row=number, found=wrong, expected="an undamaged response")
                    yield row
    except (pa.ArrowInvalid, OSError) as error:
        raise bad_input(path, found=str(error), expected="a Parquet file of an export") from error
    if number != expected:
        raise bad_input(path, found=f"{number} rows", expected=f"{expected} as {HASHES} lists")
