"""The two threshold controllers at equal coverage, and over the coverage that both reach."""

from __future__ import annotations

from decimal import Decimal

from warrant import sample
from warrant.sample import gold_codes
from warrant.step import Step, run
from warrant.systems import by_arm, load_controlled
from warrant.tables.frontier import frontier, sweep_summary
from warrant.tables.sweep import thresholds


def main(step: Step) -> None:
    """Read the sample and the verdicts, write the comparison at equal coverage and the summary of the curves."""
    settings, files = step.settings, by_arm(step.inputs["verdicts"])
    gold = gold_codes(sample.read(step.input("sample")))
    panel = load_controlled(settings, files, len(gold))
    taus = thresholds(*(Decimal(settings["grid"][name]) for name in ("low", "high", "step")))
    bootstrap = settings["bootstrap"]
    step.write("table", frontier(gold, panel, taus))
    step.write("summary", sweep_summary(gold, panel, taus, bootstrap["resamples"], bootstrap["seed"]))


if __name__ == "__main__":
    run(main, inputs=["sample", "verdicts"], outputs=["table", "summary"])
