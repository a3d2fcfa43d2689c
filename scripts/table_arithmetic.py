"""The cases on which exact decimals and compensated floats decide differently."""

from __future__ import annotations

from decimal import Decimal

from warrant import sample
from warrant.sample import gold_codes
from warrant.step import Step, run
from warrant.systems import by_arm, load_controlled
from warrant.tables.ladder import arithmetic_cases


def main(step: Step) -> None:
    """Read the sample and the verdicts, write the table."""
    settings, files = step.settings, by_arm(step.inputs["verdicts"])
    gold = gold_codes(sample.read(step.input("sample")))
    panel = load_controlled(settings, files, len(gold))
    step.write("table", arithmetic_cases(gold, panel, list(map(Decimal, settings["taus"]))))


if __name__ == "__main__":
    run(main, inputs=["sample", "verdicts"], outputs=["table"])
