"""How a rule's program meets the command line: named files, one JSON object of settings, one line on bad input."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from warrant import artifact
from warrant.artifact import field
from warrant.errors import InputError
from warrant.sources import read_verified

SIMULATED: Final = "SIMULATED"


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

    def basis(self) -> str | None:
        """SIMULATED when the step asks simulated judges or reads an artifact that rests on their answers."""
        read = [path for files in self.inputs.values() for path in files if path.suffix == ".parquet"]
        simulated = self.settings.get("simulated", False) or any(map(rests_on_simulation, read))
        return SIMULATED if simulated else None

    def provenance(self) -> dict[str, Any]:
        """What an output rests on: content hashes of the inputs, settings, code and versions."""
        basis = self.basis()
        return {
            **({} if basis is None else {"basis": basis}),
            "step": self.name,
            "inputs": {str(p): artifact.file_identity(p) for files in self.inputs.values() for p in files},
            "settings": self.settings,
            "code_sha256": self.code,
            "versions": artifact.versions(),
        }

    def write(self, name: str, table: pa.Table) -> None:
        """Write a named output with its provenance; a table below `tables/` gets a CSV beside it.

        A table that rests on simulated judges says so in every row, in a last column `basis`.
        """
        path, provenance = self.outputs[name], self.provenance()
        is_table = path.parent.name == "tables"
        if is_table and "basis" in provenance:
            about = field("basis", pa.string(), "SIMULATED: rests on simulated judges", nullable=False)
            table = table.append_column(about, pa.array([provenance["basis"]] * len(table), pa.string()))
        artifact.write(table, path, provenance=provenance)
        if is_table:
            artifact.write_csv(table, path.with_suffix(".csv"))


def rests_on_simulation(path: Path) -> bool:
    """Whether an artifact says that it rests on simulated judges."""
    return artifact.provenance_of(path).get("basis") == SIMULATED


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
