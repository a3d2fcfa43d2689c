"""Choosing a controller on half of the claims under a bound on CPO_N, and what the other half shows."""

from __future__ import annotations

from decimal import Decimal

from warrant import sample
from warrant.sample import gold_codes
from warrant.step import Step, run
from warrant.systems import by_arm, load_controlled
from warrant.tables.risk import risk
from warrant.tables.sweep import thresholds


def main(step: Step) -> None:
    """Read the sample and the verdicts, write the summary per bound and how often each configuration was chosen."""
    settings, files = step.settings, by_arm(step.inputs["verdicts"])
    gold = gold_codes(sample.read(step.input("sample")))
    panel = load_controlled(settings, files, len(gold))
    taus = thresholds(*(Decimal(settings["grid"][name]) for name in ("low", "high", "step")))
    margins, alphas = (list(map(Decimal, settings[name])) for name in ("vote_margins", "alphas"))
    table, choices = risk(gold, panel, taus, margins, alphas, settings["splits"], settings["seed"])
    step.write("table", table)
    step.write("choices", choices)


if __name__ == "__main__":
    run(main, inputs=["sample", "verdicts"], outputs=["table", "choices"])
