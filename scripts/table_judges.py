"""Rates of every judge, panel and validator, with Wilson intervals."""

from __future__ import annotations

from warrant import sample
from warrant.sample import gold_codes
from warrant.step import Step, run
from warrant.systems import by_arm, load_systems
from warrant.tables.judges import judges


def main(step: Step) -> None:
    """Read the sample and the verdicts, write the table."""
    settings, files = step.settings, by_arm(step.inputs["verdicts"])
    gold = gold_codes(sample.read(step.input("sample")))
    systems = load_systems(settings["systems"], files, len(gold), settings["validator"])
    step.write("table", judges(gold, systems))


if __name__ == "__main__":
    run(main, inputs=["sample", "verdicts"], outputs=["table"])
