"""The response store beside plain sqlite3 on the same rows: writing, look-ups, a Parquet projection.

Plain sqlite3 has the same columns, the same unique key, WAL, synchronous=FULL and the same transactions. It has no
triggers, no index by model, no check that a key is its request's, and is handed the hashes of body and row; the ratios
are what those cost, with SQLAlchemy. Making the rows is not timed. Rows are synthetic.
"""

from __future__ import annotations

import argparse
import platform
import random
import resource
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import sqlalchemy as sa

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "scripts"))

from warrant.calls.request_key import Request
from warrant.calls.store import KEYS_AT_ONCE, PROJECTION, ROWS_AT_ONCE, Response, Store, answer, batched, row_sha256
from warrant.calls.store_upkeep import verify, why_miss

SEED = 20261
CHUNK = 10_000
SINGLE = 1000
TABLE = """CREATE TABLE responses (seq INTEGER PRIMARY KEY, request_sha256 TEXT NOT NULL UNIQUE, request BLOB,
    provider TEXT, model TEXT, status TEXT, body BLOB, finish_reason TEXT, usage TEXT, returned_model TEXT,
    returned_provider TEXT, raw BLOB, retries INTEGER, retry_causes TEXT, created_at INTEGER, body_sha256 TEXT,
    row_sha256 TEXT, elapsed INTEGER)"""
NAMES = ", ".join([*Response._fields, "body_sha256", "row_sha256"])
INSERT = f"INSERT INTO responses ({NAMES}) VALUES ({', '.join('?' * (len(Response._fields) + 2))})"
SELECT = f"SELECT {', '.join(Response._fields)} FROM responses"


def request(number: int) -> Request:
    text = f"Claim {number}: the moon is {number % 977} km away. Supported, refuted, or neither? Answer in JSON."
    messages = [{"role": "system", "content": "You judge claims."}, {"role": "user", "content": text}]
    return Request("openai", "https://api.example.org/v1", "a-model", messages, {"temperature": 0}, None, number % 3)


def response(number: int) -> Response:
    body = f'{{"verdict": "support", "confidence": 0.{number % 100:02d}, "reasoning": "é {number}"}}'.encode()
    usage = {"input_tokens": 40, "output_tokens": 20}
    return answer(request(number), status="ok", body=body, finish_reason="stop", usage=usage, created_at=number)


def with_hashes(item: Response) -> tuple[Any, ...]:
    body_sha256 = sha256(item.body).hexdigest()
    return *item, body_sha256, row_sha256(item, body_sha256)


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


def plain_put(connection: sqlite3.Connection, rows: list[tuple[Any, ...]]) -> None:
    connection.execute("BEGIN IMMEDIATE")
    connection.executemany(INSERT, rows)
    connection.execute("COMMIT")


def plain_get(connection: sqlite3.Connection, keys: list[str]) -> dict[str, tuple[Any, ...]]:
    found = {}
    for some in batched(keys, KEYS_AT_ONCE):
        asked = f"{SELECT} WHERE request_sha256 IN ({','.join('?' * len(some))})"
        found.update({row[0]: row for row in connection.execute(asked, some)})
    return found


def plain_batches(connection: sqlite3.Connection) -> Iterator[pa.RecordBatch]:
    cursor = connection.execute(
        "SELECT request_sha256, status, body, NULL, finish_reason, usage, returned_model, returned_provider, provider,"
        " retries, retry_causes, created_at, elapsed FROM responses ORDER BY seq"
    )
    while rows := cursor.fetchmany(ROWS_AT_ONCE):
        columns = [list(column) for column in zip(*rows, strict=True)]
        columns[2] = [body.decode() for body in columns[2]]
        arrays = [pa.array(column, item.type) for column, item in zip(columns, PROJECTION, strict=True)]
        yield pa.RecordBatch.from_arrays(arrays, schema=PROJECTION)


def to_parquet(batches: Iterator[pa.RecordBatch], path: Path) -> int:
    rows = 0
    with pq.ParquetWriter(path, PROJECTION) as writer:
        for batch in batches:
            writer.write_batch(batch)
            rows += batch.num_rows
    return rows


def line(name: str, number: int, ours: float, plain: float) -> None:
    print(f"{name:<34} {number:>10,} {ours:>9.2f} {plain:>9.2f} {ours / number * 1e6:>11.1f} {ours / plain:>7.2f}")


def peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000, help="responses (default 1,000,000)")
    parser.add_argument("--lookups", type=int, default=100_000, help="keys looked up (default 100,000)")
    parser.add_argument("--folder", type=Path, help="where to write (default: a temporary folder)")
    arguments = parser.parse_args()
    rows, chance = int(arguments.rows), random.Random(SEED)
    print(f"Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}, SQLAlchemy {sa.__version__}")
    with tempfile.TemporaryDirectory(dir=arguments.folder) as name, Store(Path(name) / "store.sqlite") as store:
        folder = Path(name)
        plain = sqlite3.connect(folder / "plain.sqlite", isolation_level=None)
        plain.execute("PRAGMA journal_mode = WAL")
        plain.execute("PRAGMA synchronous = FULL")
        plain.execute(TABLE)
        print(f"{'':<34} {'number':>10} {'store s':>9} {'plain s':>9} {'store us/1':>11} {'ratio':>7}")

        ours = theirs = making = 0.0
        keys: list[str] = []
        for some in batched(range(rows), CHUNK):
            start = time.perf_counter()
            made = [response(number) for number in some]
            making += time.perf_counter() - start
            ready = [with_hashes(item) for item in made]
            ours += timed(partial(store.put_many, made))[0]
            theirs += timed(partial(plain_put, plain, ready))[0]
            keys += [item.request_sha256 for item in made]
        line(f"write, {CHUNK:,} a transaction", rows, ours, theirs)

        singles = [response(number) for number in range(rows, rows + SINGLE)]
        ready = [with_hashes(item) for item in singles]
        ours = timed(lambda: [store.put(item) for item in singles])[0]
        line(
            "write, one a transaction",
            SINGLE,
            ours,
            timed(lambda: list(map(partial(plain_put, plain), ([item] for item in ready))))[0],
        )

        asked = chance.choices(keys, k=arguments.lookups)
        for turn in ("first", "again"):
            ours, found = timed(lambda: store.get_many(asked))
            theirs, same = timed(lambda: plain_get(plain, asked))
            assert found == same
            line(f"look-ups in one call, {turn}", len(asked), ours, theirs)

        before = peak()
        ours, count = timed(lambda: to_parquet(store.projection(), folder / "ours.parquet"))
        growth = peak() - before
        theirs, _ = timed(lambda: to_parquet(plain_batches(plain), folder / "plain.parquet"))
        assert count == rows + SINGLE
        if rows <= 1_000_000:
            assert pq.read_table(folder / "ours.parquet").equals(pq.read_table(folder / "plain.parquet"))
        line("projection to Parquet", count, ours, theirs)

        took, checked = timed(lambda: verify(store))
        assert checked.rows == count
        assert not checked.damaged
        print(f"verify {took:.1f} s", end="; ")
        for number in (1, 100):
            missing = [request(-i) for i in range(1, number + 1)]
            print(f"why-miss of {number} requests {timed(partial(why_miss, store, missing))[0]:.2f} s", end="; ")
        plain.close()
        sizes = [(folder / file).stat().st_size / 2**20 for file in ("store.sqlite", "plain.sqlite")]
        print(
            f"making a response with its key {making / rows * 1e6:.1f} us; files {sizes[0]:.0f} and {sizes[1]:.0f} MiB"
        )
        print(f"peak memory before the projection {before:.0f} MiB, which added {growth:.0f} MiB")


if __name__ == "__main__":
    main()
