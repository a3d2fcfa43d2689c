"""Errors that the conformal layer introduces, beside those it intercepts."""

from __future__ import annotations

from warrant.panel_study import Study, decimals
from warrant.step import Step, run
from warrant.tables.rounds import introduced_table


def main(step: Step) -> None:
    """Read the questions and the beliefs, write the table."""
    settings = step.settings
    study = Study.load(step.input("sample"), step.input("beliefs"), settings)
    step.write("table", introduced_table(study, decimals(settings["alphas"]), settings["split"]))


if __name__ == "__main__":
    run(main, inputs=["sample", "beliefs"], outputs=["table"])
