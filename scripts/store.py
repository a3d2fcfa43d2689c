"""The response store from the command line: why a request is not in it, whether it is whole, export and import.

Exit status: 0 the question is answered or the work done; 1 bad input, a damaged store or a conflict, one line on
stderr; 2 the command line is not understood.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Final

from warrant.calls import requests
from warrant.calls import store_upkeep as upkeep
from warrant.calls.request_key import parse
from warrant.calls.store import Store
from warrant.errors import InputError, bad_input

SAMPLE: Final = 100  # of missing requests that why-miss compares
NONE: Final = "none, the store is empty"


def why_miss(arguments: argparse.Namespace) -> int:
    """Print whether requests are stored, or how the nearest stored ones differ."""
    if arguments.requests.suffix == ".parquet":
        return _why_misses(arguments)
    if arguments.case is not None or arguments.model is not None:
        raise bad_input(arguments.requests, found="--case or --model", expected="a requests artifact (.parquet)")
    request = parse(_read(arguments.requests), str(arguments.requests))
    with Store(arguments.store, create=False) as store:
        (found,) = upkeep.why_miss(store, [request], arguments.candidates)
    print(f"{'hit' if found.hit else 'miss'}: {found.key}")
    if not found.hit:
        print(f"examined {found.examined:,} of {found.stored:,} stored requests")
        print(f"nearest: {found.nearest or NONE}")
        for difference in found.differences:
            print(f"  {difference}")
    return 0


def _why_misses(arguments: argparse.Namespace) -> int:
    calls = {
        key: call
        for key, call in requests.read(arguments.requests)
        if arguments.case in (None, call.case_id) and arguments.model in (None, call.judge)
    }
    if not calls:
        raise bad_input(arguments.requests, found="no such request", expected="a request (of this case and judge)")
    with Store(arguments.store, create=False) as store:
        stored = store.get_many(calls)
        missing = [key for key in calls if key not in stored]
        most = min(len(missing), SAMPLE)
        sample = [missing[i * len(missing) // most] for i in range(most)]
        found = upkeep.why_miss(store, [calls[key].request for key in sample], arguments.candidates)
        total = store.count()
    print(f"{len(calls):,} requests: {len(stored):,} stored, {len(missing):,} missing")
    if missing:
        some = "" if most == len(missing) else ", evenly spread"
        latest = f"the latest {arguments.candidates:,} at most of {total:,} stored requests"
        print(f"compared {most:,} of the missing{some}, each with {latest}")
    for group in upkeep.grouped(found):
        example = group.explanations[0]
        print(f"{len(group.explanations):,} requests: {'; '.join(group.parts) or NONE}")
        print(f"  example: {example.key} (case {calls[example.key].case_id}, {calls[example.key].judge})")
        print(f"  nearest: {example.nearest or NONE}")
        for difference in example.differences:
            if str(difference) not in group.parts:
                print(f"    {difference}")
    return 0


def verify(arguments: argparse.Namespace) -> int:
    """Recompute every key and hash; each damaged row is a line."""
    with Store(arguments.store, create=False) as store:
        found = upkeep.verify(store)
    counts = ", ".join(f"{count:,} {status}" for status, count in found.statuses.items())
    print(f"{found.rows:,} responses ({counts}), {len(found.damaged):,} damaged")
    for line in found.damaged:
        print(f"{arguments.store}: {line}", file=sys.stderr)
    return 1 if found.damaged else 0


def export(arguments: argparse.Namespace) -> int:
    """Write responses and their hash list into a new folder."""
    keys = None if arguments.keys is None else _read(arguments.keys).decode("ascii", "replace").split()
    with Store(arguments.store, create=False) as store:
        done = upkeep.export(store, arguments.folder, upkeep.Selection(arguments.provider, arguments.model, keys))
    print(f"{done.rows:,} responses in {done.files:,} files")
    return 0


def import_(arguments: argparse.Namespace) -> int:
    """Merge an exported folder, once all of it has been checked. The store is made when it is not there."""
    done = upkeep.import_folder(arguments.store, arguments.folder)
    print(f"{done.rows:,} responses in {done.files:,} files, {done.new:,} new")
    return 0


def _read(path: Path) -> bytes:
    try:
        return sys.stdin.buffer.read() if str(path) == "-" else path.read_bytes()
    except OSError as error:
        raise bad_input(path, found=error.strerror, expected="a file that can be read") from error


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise ValueError
    return number


def main() -> int:
    """Parse the command line and do what it says."""
    parser = argparse.ArgumentParser(
        prog="store", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(required=True, metavar="command")

    def command(name: str, run: object, about: str) -> argparse.ArgumentParser:
        added = commands.add_parser(name, help=about, description=about)
        added.set_defaults(run=run)
        added.add_argument("store", type=Path, help="the store's file")
        return added

    added = command("why-miss", why_miss, "say whether requests are stored, or how the nearest stored ones differ")
    about = "requests artifact (.parquet), or JSON file of a request (docs/store.md), - for standard input"
    added.add_argument("requests", type=Path, help=about)
    added.add_argument("--case", type=int, help="of an artifact only this case")
    added.add_argument("--model", help="of an artifact only this judge")
    number = upkeep.CANDIDATES
    added.add_argument("--candidates", type=_positive, default=number, help=f"most to compare (default {number:,})")
    command("verify", verify, "recompute every key and hash, name every damaged row")
    added = command("export", export, "write responses as Parquet files with a hash list")
    added.add_argument("folder", type=Path, help="a new or empty folder")
    added.add_argument("--provider", help="only of this provider")
    added.add_argument("--model", help="only of this model")
    added.add_argument("--keys", type=Path, help="only the keys in this file, one a line; - for standard input")
    added = command("import", import_, "merge an exported folder, hashes checked first")
    added.add_argument("folder", type=Path, help="a folder that export wrote")
    arguments = parser.parse_args()
    try:
        return int(arguments.run(arguments))
    except InputError as error:
        print(f"store: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
