"""Coverage, set sizes and actions at one recorded split, with bootstrap intervals over questions."""

from __future__ import annotations

from warrant.panel_study import Study, decimals
from warrant.step import Step, run
from warrant.tables.rounds import rounds_table


def main(step: Step) -> None:
    """Read the questions and the beliefs, write the table."""
    settings = step.settings
    study = Study.load(step.input("sample"), step.input("beliefs"), settings)
    bootstrap = settings["bootstrap"]
    table = rounds_table(
        study, decimals(settings["alphas"]), settings["split"], bootstrap["resamples"], bootstrap["seed"]
    )
    step.write("table", table)


if __name__ == "__main__":
    run(main, inputs=["sample", "beliefs"], outputs=["table"])
