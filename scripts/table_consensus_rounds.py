"""When the agents first agree, and whether they are right."""

from __future__ import annotations

from warrant.panel_study import Study
from warrant.step import Step, run
from warrant.tables.agreement import consensus_rounds_table


def main(step: Step) -> None:
    """Read the questions and the beliefs, write the table."""
    settings = step.settings
    study = Study.load(step.input("sample"), step.input("beliefs"), settings)
    step.write("table", consensus_rounds_table(study))


if __name__ == "__main__":
    run(main, inputs=["sample", "beliefs"], outputs=["table"])
