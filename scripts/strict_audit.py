"""Fail when an audit status is worse than the committed one."""

from __future__ import annotations

from warrant import artifact
from warrant.artifact import write_text
from warrant.errors import InputError
from warrant.step import Step, run


def main(step: Step) -> None:
    """Write how many rows were compared, or stop with one line per row that got worse."""
    rows = artifact.read(step.input("audit")).to_pylist()
    worse = [row for row in rows if row["worse"]]
    if worse:
        lines = [
            f"{row['table']}, {row['row']}, {row['column']} ({row['study']}): {row['status']}, committed as "
            f"{row['committed']}; published {row['published']}, recomputed {row['recomputed']}; {row['note']}"
            for row in worse
        ]
        raise InputError("\n".join([f"{len(worse)} audit rows are worse than committed", *lines]))
    write_text(step.outputs["verdict"], f"{len(rows)} audit rows, none worse than committed\n")


if __name__ == "__main__":
    run(main, inputs=["audit"], outputs=["verdict"])
