"""Artifacts are identified by what they say, are written whole or not at all, and never hide a missing value."""

from __future__ import annotations

import csv
import hashlib
import io
import math
import stat
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from warrant import artifact
from warrant.artifact import content_hash, field, from_rows

SCHEMA = pa.schema(
    [
        field("case_id", pa.int32(), "case", nullable=False),
        field("name", pa.string(), "a text"),
        field("value", pa.float64(), "a share"),
        field("flag", pa.bool_(), "a flag"),
        field("confidence", pa.decimal128(22, 18), "a decimal"),
        field("parts", pa.list_(pa.string()), "texts"),
        field("body", pa.binary(), "bytes"),
    ]
)
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "case_id": st.integers(0, 2**31 - 1),
    "name": st.none() | st.text(),
    "value": st.none() | st.floats(allow_nan=False),
    "flag": st.none() | st.booleans(),
    "confidence": st.none() | st.integers(0, 10**18).map(lambda n: Decimal(n).scaleb(-18)),
    "parts": st.none() | st.lists(st.text(max_size=3), max_size=3),
    "body": st.none() | st.binary(max_size=4),
}
ROWS = st.lists(st.fixed_dictionaries(VALUES), min_size=1, max_size=6)
ROW = {
    "case_id": 1,
    "name": "a",
    "value": 0.5,
    "flag": True,
    "confidence": Decimal("0.9"),
    "parts": ["x"],
    "body": b"z",
}


def same(a: object, b: object) -> bool:
    return repr(a) == repr(b)  # tells 0.0 from -0.0


# --- identity --------------------------------------------------------------------------------------------------------


@given(st.data())
def test_the_order_of_rows_plays_no_part_in_the_content_hash(data: st.DataObject) -> None:
    """A permutation of the rows has the same content hash."""
    rows = data.draw(ROWS)
    permuted = data.draw(st.permutations(rows))
    assert content_hash(from_rows(rows, SCHEMA)) == content_hash(from_rows(permuted, SCHEMA))


@given(st.data())
def test_the_content_hash_changes_with_any_value(data: st.DataObject) -> None:
    """One value changed, and the content hash is another."""
    rows = data.draw(ROWS)
    row = data.draw(st.integers(0, len(rows) - 1))
    name = data.draw(st.sampled_from(SCHEMA.names))
    value = data.draw(VALUES[name].filter(lambda other: not same(other, rows[row][name])))
    changed = [dict(item) for item in rows]
    changed[row][name] = value
    assert content_hash(from_rows(rows, SCHEMA)) != content_hash(from_rows(changed, SCHEMA))


def test_a_repeated_row_changes_the_content_hash() -> None:
    """Rows are counted: a table and the same table with a row twice differ."""
    assert content_hash(from_rows([ROW], SCHEMA)) != content_hash(from_rows([ROW, ROW], SCHEMA))


def test_null_empty_and_their_spellings_differ() -> None:
    """Null, the empty text, "null" and "None" are four values; null, no list and a list of nothing are told apart."""
    names = [from_rows([{**ROW, "name": name}], SCHEMA) for name in (None, "", "null", "None")]
    parts = [from_rows([{**ROW, "parts": part}], SCHEMA) for part in (None, [], [""], [None], ["", ""])]
    assert len(set(map(content_hash, names))) == 4
    assert len(set(map(content_hash, parts))) == 5


@pytest.mark.parametrize(
    "other",
    [
        pa.field("case_id", pa.int64(), nullable=False),
        pa.field("case_id", pa.int32(), nullable=True),
        pa.field("case", pa.int32(), nullable=False),
    ],
    ids=["type", "nullability", "name"],
)
def test_the_content_hash_changes_with_a_columns_type_nullability_and_name(other: pa.Field[Any]) -> None:
    """The schema is part of the identity."""
    column = pa.field("case_id", pa.int32(), nullable=False)
    tables = [pa.table([pa.array([1, 2], item.type)], schema=pa.schema([item])) for item in (column, other)]
    assert content_hash(tables[0]) != content_hash(tables[1])


def test_the_order_of_columns_is_part_of_the_identity() -> None:
    """Two columns that change places are another table."""
    table = from_rows([ROW], SCHEMA)
    assert content_hash(table) != content_hash(table.select(SCHEMA.names[::-1]))


def test_metadata_plays_no_part_in_the_content_hash() -> None:
    """What a column means in words, and where a table comes from, are not its content."""
    table = from_rows([ROW], SCHEMA)
    bare = pa.table(table.columns, schema=pa.schema([item.remove_metadata() for item in SCHEMA]))
    assert content_hash(table) == content_hash(bare) == content_hash(bare.replace_schema_metadata({"a": "b"}))


@pytest.mark.parametrize("compression", ["none", "snappy", "zstd", "gzip"])
@pytest.mark.parametrize("row_group_size", [1, 3, 100])
def test_compression_and_row_groups_play_no_part_in_the_content_hash(
    tmp_path: Path, compression: str, row_group_size: int
) -> None:
    """The same rows in other bytes keep their content hash, and the bytes really are others."""
    flat = pa.schema([item for item in SCHEMA if item.name != "parts"])
    table = from_rows([{name: i if name == "case_id" else ROW[name] for name in flat.names} for i in range(10)], flat)
    path, plain = tmp_path / "other.parquet", tmp_path / "plain.parquet"
    artifact.write(table, plain)
    pq.write_table(table, path, compression=compression, row_group_size=row_group_size)
    assert content_hash(artifact.read(path)) == content_hash(artifact.read(plain)) == content_hash(table)
    assert path.read_bytes() != plain.read_bytes()


def test_the_identity_of_an_artifact_is_its_content_and_of_another_file_its_bytes(tmp_path: Path) -> None:
    """Provenance does not change an artifact's identity; a file that no writer stamped is identified by its bytes."""
    table = from_rows([ROW], SCHEMA)
    a, b, bare, text = (tmp_path / name for name in ("a.parquet", "b.parquet", "bare.parquet", "c.txt"))
    artifact.write(table, a, provenance={"step": "one"})
    artifact.write(table, b, provenance={"step": "two"})
    pq.write_table(pa.table({"x": [1]}), bare)
    artifact.write_text(text, "é\n")
    assert artifact.file_identity(a) == artifact.file_identity(b) == content_hash(table)
    assert artifact.file_sha256(a) != artifact.file_sha256(b)
    assert artifact.file_identity(bare) == hashlib.sha256(bare.read_bytes()).hexdigest()
    assert artifact.file_identity(text) == hashlib.sha256("é\n".encode()).hexdigest()


# --- writing ---------------------------------------------------------------------------------------------------------


@given(rows=ROWS)
def test_what_is_written_is_read(tmp_path_factory: pytest.TempPathFactory, rows: list[dict[str, Any]]) -> None:
    """Any rows of the schema come back as they were, and the stored content hash is theirs."""
    path = tmp_path_factory.getbasetemp() / "any.parquet"
    table = from_rows(rows, SCHEMA)
    artifact.write(table, path)
    assert same(artifact.read(path, SCHEMA).to_pylist(), table.to_pylist())
    assert artifact.provenance_of(path)["content_sha256"] == content_hash(table)


@pytest.mark.parametrize("kind", [pa.float64(), pa.float32()], ids=str)
def test_nan_is_refused(tmp_path: Path, refused: Any, kind: pa.DataType) -> None:
    """NaN never stands for missing: the column is named and no file is written."""
    table = pa.table({"rate": pa.array([0.5, math.nan], kind)})
    with refused("t.parquet", "rate", "NaN"):
        artifact.write(table, tmp_path / "t.parquet")
    assert not list(tmp_path.iterdir())


def test_infinity_and_null_are_not_nan(tmp_path: Path) -> None:
    """Null is how a missing number is written, and an infinite threshold is a number."""
    table = pa.table({"rate": pa.array([None, math.inf, -math.inf], pa.float64())})
    artifact.write(table, tmp_path / "t.parquet")
    assert artifact.read(tmp_path / "t.parquet").column("rate").to_pylist() == [None, math.inf, -math.inf]


def test_null_in_a_column_that_may_not_be_null_is_refused(tmp_path: Path, refused: Any) -> None:
    """The column and the number of rows are named and no file is written."""
    with refused("t.parquet", "case_id", "1 rows"):
        artifact.write(from_rows([ROW, {**ROW, "case_id": None}], SCHEMA), tmp_path / "t.parquet")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("how", ["write", "write_csv", "write_text", "replacing"])
def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    """Half a file is never seen: not under its name, and not beside it."""
    path, table = tmp_path / "table.parquet", from_rows([ROW], SCHEMA)
    path.write_bytes(b"old")

    def half(_: object, target: Path, *rest: object, **more: object) -> None:
        Path(target).write_bytes(b"half")
        raise OSError("disk full")

    def cell(value: object) -> str:
        raise OSError("disk full")

    monkeypatch.setattr(pq, "write_table", half)
    monkeypatch.setattr(artifact, "csv_cell", cell)

    def interrupted() -> None:
        with artifact.replacing(path) as temporary:
            temporary.write_bytes(b"half")
            raise OSError("interrupted")

    attempts: dict[str, Callable[[], None]] = {
        "write": lambda: artifact.write(table, path),
        "write_csv": lambda: artifact.write_csv(table, path),
        "write_text": lambda: artifact.write_text(path, "half\ud800"),
        "replacing": interrupted,
    }
    with pytest.raises((OSError, UnicodeEncodeError)):
        attempts[how]()
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_in_the_making_is_not_seen_under_its_name(tmp_path: Path) -> None:
    """While a block writes, the old file is there; after it, the new one, readable by all; folders are made."""
    path = tmp_path / "a" / "b" / "file.txt"
    artifact.write_text(path, "old")
    with artifact.replacing(path) as temporary:
        temporary.write_text("new")
        assert path.read_text() == "old"
        assert temporary.parent == path.parent
    assert path.read_text() == "new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o644


def test_provenance_comes_back_as_it_was(tmp_path: Path) -> None:
    """Provenance is stored with the file, together with the content hash, and plays no part in the rows."""
    path, about = tmp_path / "t.parquet", {"inputs": {"ä.json": "0" * 64}, "settings": {"b": [1, None], "a": "é"}}
    table = from_rows([ROW], SCHEMA)
    artifact.write(table, path, provenance=about)
    assert artifact.provenance_of(path) == {**about, "content_sha256": content_hash(table)}
    assert artifact.read(path, SCHEMA).to_pylist() == table.to_pylist()


def test_a_file_without_provenance_has_none(tmp_path: Path) -> None:
    """A Parquet file of another writer has empty provenance."""
    pq.write_table(pa.table({"a": [1]}), tmp_path / "t.parquet")
    assert artifact.provenance_of(tmp_path / "t.parquet") == {}


def test_the_meaning_of_a_column_is_stored(tmp_path: Path) -> None:
    """A reader of the file sees what a column holds."""
    artifact.write(from_rows([ROW], SCHEMA), tmp_path / "t.parquet")
    assert pq.read_schema(tmp_path / "t.parquet").field("value").metadata[b"meaning"] == b"a share"


# --- reading ---------------------------------------------------------------------------------------------------------


def test_a_reader_gets_the_declared_columns_in_the_declared_order(tmp_path: Path) -> None:
    """Extra columns are welcome in a file and are not handed on."""
    table = from_rows([ROW], SCHEMA)
    artifact.write(table.select(SCHEMA.names[::-1]).append_column("extra", [[1]]), tmp_path / "t.parquet")
    assert artifact.read(tmp_path / "t.parquet", SCHEMA).column_names == SCHEMA.names


def test_another_type_and_a_missing_column_are_refused(tmp_path: Path, refused: Any) -> None:
    """The file, the column, what was found and what was expected are named."""
    path = tmp_path / "t.parquet"
    artifact.write(pa.table({"case_id": pa.array([1], pa.int64())}), path)
    with refused("t.parquet", "case_id", "int64", "int32"):
        artifact.read(path, pa.schema([SCHEMA.field("case_id")]))
    with refused("t.parquet", "name", "no such column", "string"):
        artifact.read(path, pa.schema([SCHEMA.field("name")]))


@pytest.mark.parametrize("content", [b"", b"junk", b"PAR1junkjunkPAR1", None], ids=["empty", "junk", "torn", "absent"])
def test_a_file_that_is_no_artifact_is_refused(tmp_path: Path, refused: Any, content: bytes | None) -> None:
    """The file is named."""
    if content is not None:
        (tmp_path / "t.parquet").write_bytes(content)
    with refused("t.parquet", "a Parquet artifact"):
        artifact.read(tmp_path / "t.parquet")


def test_rows_outside_the_schema_are_an_error() -> None:
    """A key that the schema does not name is a mistake of the program; a key that is left out is null."""
    with pytest.raises(KeyError, match="extra"):
        from_rows([{**ROW, "extra": 1}], SCHEMA)
    assert from_rows([{"case_id": 1}], SCHEMA).to_pylist() == [dict.fromkeys(SCHEMA.names) | {"case_id": 1}]


# --- CSV -------------------------------------------------------------------------------------------------------------


LINES = st.none() | st.text(st.characters(exclude_characters="\r", exclude_categories=["Cs"]))


def read_csv(path: Path) -> list[list[str]]:
    return list(csv.reader(io.StringIO(path.read_bytes().decode("utf-8"), newline="")))


def test_the_csv_form_of_values(tmp_path: Path) -> None:
    """Null is empty, booleans are true and false, decimals have no exponent, lists are JSON, line ends are LF."""
    schema = pa.schema([SCHEMA.field(name) for name in SCHEMA.names if name != "body"])
    tiny = Decimal("0.000000000000000001")
    rows = [
        {"case_id": 1, "name": 'é, "x"', "value": 0.1, "flag": True, "confidence": tiny, "parts": ["a", "é"]},
        {"case_id": 2, "name": None, "value": None, "flag": False, "confidence": None, "parts": None},
    ]
    artifact.write_csv(from_rows(rows, schema), tmp_path / "t.csv")
    assert (tmp_path / "t.csv").read_bytes().decode("utf-8") == (
        "case_id,name,value,flag,confidence,parts\n"
        '1,"é, ""x""",0.1,true,0.000000000000000001,"[""a"", ""é""]"\n'
        "2,,,false,,\n"
    )


@given(
    rows=st.lists(st.fixed_dictionaries({**VALUES, "name": LINES, "parts": st.none() | st.lists(LINES)}), min_size=1)
)
def test_a_csv_cell_says_exactly_what_the_artifact_says(
    tmp_path_factory: pytest.TempPathFactory, rows: list[dict[str, Any]]
) -> None:
    """Every row is there in order, floats and decimals without loss."""
    path = tmp_path_factory.getbasetemp() / "any.csv"
    artifact.write_csv(from_rows(rows, SCHEMA), path)
    header, *cells = read_csv(path)
    assert header == SCHEMA.names
    assert len(cells) == len(rows)
    for row, line in zip(rows, cells, strict=True):
        cell = dict(zip(header, line, strict=True))
        assert cell["value"] == "" if row["value"] is None else same(float(cell["value"]), row["value"])
        assert (
            cell["confidence"] == "" if row["confidence"] is None else Decimal(cell["confidence"]) == row["confidence"]
        )
        assert cell["name"] == (row["name"] or "")


def test_versions_name_what_every_step_rests_on() -> None:
    """Python, numpy and pyarrow are in every artifact's provenance."""
    assert set(artifact.versions()) == {"python", "numpy", "pyarrow"}
