"""Parquet artifacts: one writer, one reader, declared schemas, provenance, and an identity by content.

The identity of an artifact is the SHA-256 of its schema and its sorted rows, not of its bytes: Parquet files
carry library versions and wheels differ by platform.
"""

from __future__ import annotations

import csv
import hashlib
import json
import os
import platform
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from warrant.errors import InputError, bad_input

PROVENANCE: Final = b"warrant"


def field(name: str, kind: pa.DataType, meaning: str, *, nullable: bool = True) -> pa.Field[Any]:
    """A schema field whose metadata says what it holds and in which unit."""
    return pa.field(name, kind, nullable=nullable, metadata={"meaning": meaning})


def from_rows(rows: Iterable[Mapping[str, Any]], schema: pa.Schema) -> pa.Table:
    """A table of the declared schema; a key that the schema does not name is an error (KeyError)."""
    listed = list(rows)
    names = set(schema.names)
    for row in listed:
        unknown = set(row) - names
        if unknown:
            raise KeyError(f"columns outside the schema: {sorted(unknown)}")
    return pa.Table.from_pylist([dict(row) for row in listed], schema=schema)


def content_hash(table: pa.Table) -> str:
    """SHA-256 of the schema (names, types, nullability) and the sorted rows."""
    digest = hashlib.sha256()
    for column in table.schema:
        digest.update(f"{column.name}\0{type_name(column.type)}\0{column.nullable}\n".encode())
    lines = [json.dumps(row, ensure_ascii=False, default=_plain) for row in _rows(table)]
    for line in sorted(lines):
        digest.update(line.encode("utf-8", "surrogatepass") + b"\n")
    return digest.hexdigest()


def type_name(kind: pa.DataType) -> str:
    """A type by its structure: Parquet gives the items of a list another name than Arrow does."""
    if pa.types.is_list(kind):
        return f"list<{type_name(kind.value_type)}>"
    if pa.types.is_struct(kind):
        fields = (kind.field(i) for i in range(kind.num_fields))
        return f"struct<{', '.join(f'{item.name}: {type_name(item.type)}' for item in fields)}>"
    return str(kind)


def _holds_nan(values: Iterable[Any]) -> bool:
    return any(_holds_nan(value) if isinstance(value, list) else value != value for value in values)


def _may_hold_nan(kind: pa.DataType) -> bool:
    return _may_hold_nan(kind.value_type) if pa.types.is_list(kind) else pa.types.is_floating(kind)


def _rows(table: pa.Table) -> Iterator[tuple[Any, ...]]:
    return zip(*(column.to_pylist() for column in table.columns), strict=True) if table.num_columns else iter(())


def _plain(value: object) -> str:
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, bytes):
        return value.hex()
    return str(value)


def write(table: pa.Table, path: Path, *, provenance: Mapping[str, Any] | None = None) -> None:
    """Write a table atomically, with provenance and its content hash in the file metadata.

    A float NaN or a null in a non-nullable column is refused (InputError): NaN never stands for missing.
    """
    for name, column in zip(table.column_names, table.columns, strict=True):
        if _may_hold_nan(column.type) and _holds_nan(column.to_pylist()):
            raise InputError(f"{path}: column {name} holds NaN; a missing value is null")
        if not table.schema.field(name).nullable and column.null_count:
            raise InputError(f"{path}: column {name} may not be null, {column.null_count} rows are")
    about = {**(provenance or {}), "content_sha256": content_hash(table)}
    note = json.dumps(about, sort_keys=True, ensure_ascii=False)
    stamped = table.replace_schema_metadata({PROVENANCE: note.encode()})
    with replacing(path) as temporary:
        pq.write_table(stamped, temporary)


def read(path: Path, schema: pa.Schema | None = None) -> pa.Table:
    """Read an artifact; with a schema, its columns and types must be the declared ones (InputError)."""
    try:
        table = pq.read_table(path)
    except (pa.ArrowInvalid, FileNotFoundError) as error:
        raise bad_input(path, found=str(error), expected="a Parquet artifact") from error
    if schema is not None:
        _check(path, table.schema, schema)
        table = table.select(schema.names)
    return table


def _check(path: Path, found: pa.Schema, declared: pa.Schema) -> None:
    for column in declared:
        position = found.get_field_index(column.name)
        if position < 0:
            raise bad_input(path, field=column.name, found="no such column", expected=str(column.type))
        if type_name(found.field(position).type) != type_name(column.type):
            raise bad_input(path, field=column.name, found=str(found.field(position).type), expected=str(column.type))


def provenance_of(path: Path) -> dict[str, Any]:
    """The provenance that `write` stored (empty when the file has none)."""
    metadata = pq.read_schema(path).metadata or {}
    return dict(json.loads(metadata[PROVENANCE])) if PROVENANCE in metadata else {}


def file_identity(path: Path) -> str:
    """Content hash of an artifact, SHA-256 of the bytes of any other file."""
    if path.suffix == ".parquet":
        stored = provenance_of(path).get("content_sha256")
        if stored:
            return str(stored)
    return file_sha256(path)


def file_sha256(path: Path) -> str:
    """SHA-256 of a file's bytes."""
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def versions() -> dict[str, str]:
    """Versions of Python and of the libraries that every step rests on."""
    import numpy as np

    return {"python": platform.python_version(), "numpy": np.__version__, "pyarrow": pa.__version__}


def write_csv(table: pa.Table, path: Path) -> None:
    """The table as CSV (UTF-8, LF): null is empty, lists are JSON, floats have their shortest exact form."""
    with replacing(path) as temporary, temporary.open("w", encoding="utf-8", newline="") as handle:
        out = csv.writer(handle, lineterminator="\n")
        out.writerow(table.column_names)
        quoted = csv.writer(handle, lineterminator="\n", quoting=csv.QUOTE_ALL)
        for row in _rows(table):
            cells = [csv_cell(value) for value in row]
            # the csv module leaves a lone carriage return unquoted, and readers take it for a line end
            (quoted if any("\r" in cell for cell in cells) else out).writerow(cells)


def csv_cell(value: object) -> str:
    """A value as it stands in the CSV files."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, list | dict):
        return json.dumps(value, ensure_ascii=False, default=_plain)
    return str(value)


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A temporary file beside `path` that takes its place when the block succeeds and vanishes when it fails."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        temporary.chmod(0o644)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Write UTF-8 text with LF line ends, atomically."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")


def columns(table: pa.Table, names: Sequence[str]) -> list[tuple[Any, ...]]:
    """The rows of the named columns as tuples."""
    return list(zip(*(table.column(name).to_pylist() for name in names), strict=True))
