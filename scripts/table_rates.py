"""Every rate that is printed with an interval, with exact limits beside Wilson's."""

from __future__ import annotations

from warrant import sample
from warrant.sample import gold_codes
from warrant.step import Step, run
from warrant.systems import by_arm, load_controlled, load_systems
from warrant.tables.rates import rates


def main(step: Step) -> None:
    """Read the sample and the verdicts, write the table."""
    settings, files = step.settings, by_arm(step.inputs["verdicts"])
    gold = gold_codes(sample.read(step.input("sample")))
    systems = load_systems(settings["systems"], files, len(gold), settings["validator"])
    panel = None if settings["typed_panel"] is None else load_controlled(settings, files, len(gold))
    step.write("table", rates(gold, systems, panel))


if __name__ == "__main__":
    run(main, inputs=["sample", "verdicts"], outputs=["table"])
