"""What the outcomes of every system are worth under cost profiles, and at which cost ratio two systems break even."""

from __future__ import annotations

from decimal import Decimal
from typing import get_args

from warrant import sample
from warrant.decimals import Arithmetic
from warrant.sample import gold_codes
from warrant.step import Step, run
from warrant.systems import Decisions, by_arm, load_controlled, load_systems
from warrant.tables.utility import break_even, outcomes, utility


def main(step: Step) -> None:
    """Read the sample and the verdicts, write utilities, outcome counts and break-even ratios."""
    settings, files = step.settings, by_arm(step.inputs["verdicts"])
    gold = gold_codes(sample.read(step.input("sample")))
    singles = load_systems(settings["systems"], files, len(gold))
    panel = None if settings["typed_panel"] is None else load_controlled(settings, files, len(gold))
    systems: dict[tuple[str, str], Decisions] = {}
    for arithmetic in get_args(Arithmetic):
        systems |= {(name, arithmetic): decisions for name, decisions in singles.items()}
        for name in settings["controllers"] if panel is not None else []:
            assert panel is not None
            systems[name, arithmetic] = panel.named(name, arithmetic)
    profiles = {
        profile: {category: Decimal(value) for category, value in weights.items()}
        for profile, weights in settings["profiles"].items()
    }
    step.write("table", utility(gold, systems, profiles))
    step.write("outcomes", outcomes(gold, systems))
    step.write("break_even", break_even(gold, systems))


if __name__ == "__main__":
    run(main, inputs=["sample", "verdicts"], outputs=["table", "outcomes", "break_even"])
