"""Entropy weights and learned weights of every agent."""

from __future__ import annotations

from warrant.panel_study import Study
from warrant.step import Step, run
from warrant.tables.agreement import weights_table


def main(step: Step) -> None:
    """Read the questions and the beliefs, write the table."""
    settings = step.settings
    study = Study.load(step.input("sample"), step.input("beliefs"), settings)
    step.write("table", weights_table(study, settings["split"]))


if __name__ == "__main__":
    run(main, inputs=["sample", "beliefs"], outputs=["table"])
