"""Which of a judge's CPO commits each rung of the ladder leaves, resolves, or adds."""

from __future__ import annotations

from decimal import Decimal

from warrant import sample
from warrant.sample import gold_codes
from warrant.step import Step, run
from warrant.systems import by_arm, load_controlled, load_systems
from warrant.tables.residual import residual


def main(step: Step) -> None:
    """Read the sample and the verdicts, write the table."""
    settings, files = step.settings, by_arm(step.inputs["verdicts"])
    gold = gold_codes(sample.read(step.input("sample")))
    bases = load_systems(settings["bases"], files, len(gold))
    systems = load_systems(settings["systems"], files, len(gold))
    singles = {name: (settings["systems"][name]["rung"], decisions) for name, decisions in systems.items()}
    panel = None if settings["typed_panel"] is None else load_controlled(settings, files, len(gold))
    taus, margins = (list(map(Decimal, settings[name])) for name in ("taus", "vote_margins"))
    step.write("table", residual(gold, bases, singles, panel, taus, margins))


if __name__ == "__main__":
    run(main, inputs=["sample", "verdicts"], outputs=["table"])
