"""Hit rate and false alarms of the validator's flags."""

from __future__ import annotations

from warrant import sample
from warrant.sample import gold_codes
from warrant.step import Step, run
from warrant.systems import by_arm, load_controlled
from warrant.tables.veto import veto


def main(step: Step) -> None:
    """Read the sample and the verdicts, write the table."""
    settings, files = step.settings, by_arm(step.inputs["verdicts"])
    gold = gold_codes(sample.read(step.input("sample")))
    step.write("table", veto(gold, load_controlled(settings, files, len(gold))))


if __name__ == "__main__":
    run(main, inputs=["sample", "verdicts"], outputs=["table"])
