"""Paired contrasts with bootstrap intervals, exact McNemar tests and Holm adjustment."""

from __future__ import annotations

from warrant import sample
from warrant.sample import gold_codes
from warrant.step import Step, run
from warrant.systems import by_arm, load_controlled, load_systems
from warrant.tables.contrasts import Contrast, contrasts


def main(step: Step) -> None:
    """Read the sample and the verdicts, write the table."""
    settings, files = step.settings, by_arm(step.inputs["verdicts"])
    gold = gold_codes(sample.read(step.input("sample")))
    systems = load_systems(settings["systems"], files, len(gold))
    wanted = [Contrast(**item) for item in settings["contrasts"]]
    controllers = {side for contrast in wanted for side in (contrast.a, contrast.b)} - set(systems)
    if controllers:
        panel = load_controlled(settings, files, len(gold))
        systems |= {name: panel.named(name) for name in controllers}
    step.write("table", contrasts(gold, systems, wanted, **settings["bootstrap"]))


if __name__ == "__main__":
    run(main, inputs=["sample", "verdicts"], outputs=["table"])
