"""Bring one public input to data/raw, verified: from the cache, the mirror or its address."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from warrant.errors import InputError
from warrant.sources import mirror_folder, obtain, read_sources


def main() -> None:
    """Exit with 1 and one line for every source that cannot be had; the others are not affected."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--table", type=Path, default=Path("config/sources.tsv"))
    parser.add_argument("--raw", type=Path, default=Path("data/raw"))
    parser.add_argument("--cache", type=Path, default=Path("cache/sources"))
    parser.add_argument("names", nargs="*", help="sources to bring (default: all)")
    given = parser.parse_args()
    failed = 0
    try:
        table = read_sources(given.table)
        mirror = mirror_folder()
        for name in given.names:
            if name not in table:
                raise InputError(f"{given.table}: found no source {name!r}, expected one of {sorted(table)}")
    except InputError as error:
        raise SystemExit(f"fetch_source: {error}") from None
    for source in [table[name] for name in given.names] or table.values():
        try:
            observed = obtain(source, given.raw, given.cache, mirror)
        except InputError as error:
            missing = source.optional and not given.names
            print(f"{'not at hand (optional)' if missing else 'fetch_source'}: {error}", file=sys.stderr, flush=True)
            failed += not missing
            continue
        pin = "verified" if observed.pinned else "UNPINNED, no known hash"
        print(f"{source.name}: {observed.bytes} bytes, SHA-256 {observed.sha256}, {pin}", flush=True)
    raise SystemExit(1 if failed else 0)


if __name__ == "__main__":
    main()
