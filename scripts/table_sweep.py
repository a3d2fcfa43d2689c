"""The threshold controllers over a grid of thresholds."""

from __future__ import annotations

from decimal import Decimal

from warrant import sample
from warrant.sample import gold_codes
from warrant.step import Step, run
from warrant.systems import by_arm, load_controlled
from warrant.tables.sweep import sweep, thresholds


def main(step: Step) -> None:
    """Read the sample and the verdicts, write the table."""
    settings, files = step.settings, by_arm(step.inputs["verdicts"])
    gold = gold_codes(sample.read(step.input("sample")))
    taus = thresholds(*(Decimal(settings["grid"][name]) for name in ("low", "high", "step")))
    step.write("table", sweep(gold, load_controlled(settings, files, len(gold)), taus))


if __name__ == "__main__":
    run(main, inputs=["sample", "verdicts"], outputs=["table"])
