"""Table `accounting`: per arm and judge, what was asked, what came back, and what could be used of it."""

from __future__ import annotations

from warrant import artifact, verdicts
from warrant.step import Step, run
from warrant.tables import accounting


def main(step: Step) -> None:
    """Read the verdicts of every arm and write the table."""
    arms = {path.stem: artifact.read(path, verdicts.SCHEMA).to_pylist() for path in step.inputs["verdicts"]}
    step.write("table", accounting.table(arms))


if __name__ == "__main__":
    run(main, inputs=["verdicts"], outputs=["table"])
