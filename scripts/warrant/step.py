"""How a rule's program meets the command line: named files, one JSON object of settings, one line on bad input."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from warrant import artifact
from warrant.errors import InputError
from warrant.sources import read_verified


@dataclass(frozen=True)
class Step:
    """One invocation: its files by name, its settings, and the hash of the code that runs."""

    name: str
    inputs: dict[str, list[Path]]
    outputs: dict[str, Path]
    settings: dict[str, Any]
    code: str

    def input(self, name: str) -> Path:
        """The one file of a named input."""
        (path,) = self.inputs[name]
        return path

    def source(self, role: str) -> tuple[bytes, str]:
        """Verified bytes and name of the source in a role (the settings say which file plays which)."""
        for path, settings in zip(self.inputs["sources"], self.settings["sources"], strict=True):
            if settings["role"] == role:
                return read_verified(path, settings), str(settings["name"])
        raise KeyError(role)

    def provenance(self) -> dict[str, Any]:
        """What an output rests on: content hashes of the inputs, settings, code and versions."""
        return {
            "step": self.name,
            "inputs": {str(p): artifact.file_identity(p) for files in self.inputs.values() for p in files},
            "settings": self.settings,
            "code_sha256": self.code,
            "versions": artifact.versions(),
        }

    def write(self, name: str, table: pa.Table) -> None:
        """Write a named output with its provenance; a table below `tables/` gets a CSV beside it."""
        path = self.outputs[name]
        artifact.write(table, path, provenance=self.provenance())
        if path.parent.name == "tables":
            artifact.write_csv(table, path.with_suffix(".csv"))


def run(main: Callable[[Step], None], *, inputs: Sequence[str], outputs: Sequence[str]) -> None:
    """Parse the command line and call `main`; InputError becomes one line on stderr and exit status 1."""
    program = Path(sys.argv[0]).stem
    parser = argparse.ArgumentParser(prog=program, description=main.__doc__)
    for name in inputs:
        parser.add_argument(f"--{name}", nargs="*", type=Path, default=[])
    for name in outputs:
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--settings", type=json.loads, default={})
    parser.add_argument("--code", default="", help="SHA-256 of the program and the modules it imports")
    given = vars(parser.parse_args())
    step = Step(
        program,
        {name: given[name] for name in inputs},
        {name: given[name] for name in outputs},
        given["settings"],
        given["code"],
    )
    try:
        main(step)
    except InputError as error:
        print(f"{program}: {error}", file=sys.stderr)
        raise SystemExit(1) from None
