"""Stated confidence on commits that should not have been made, and on correct ones."""

from __future__ import annotations

from decimal import Decimal

from warrant import sample
from warrant.sample import gold_codes
from warrant.step import Step, run
from warrant.systems import by_arm
from warrant.tables.confidence import confidence, confidence_bins, confidence_values
from warrant.verdicts import read_votes


def main(step: Step) -> None:
    """Read the sample and the verdicts, write the comparison of groups, calibration bins and single values."""
    settings, files = step.settings, by_arm(step.inputs["verdicts"])
    gold = gold_codes(sample.read(step.input("sample")))
    votes = {
        name: read_votes(files[system["arm"]], system["judges"], len(gold))
        for name, system in settings["systems"].items()
    }
    step.write("table", confidence(gold, votes, list(map(Decimal, settings["taus"])), settings["bins"]))
    step.write("bins", confidence_bins(gold, votes, settings["bins"]))
    step.write("values", confidence_values(gold, votes))


if __name__ == "__main__":
    run(main, inputs=["sample", "verdicts"], outputs=["table", "bins", "values"])
