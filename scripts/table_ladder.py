"""The ladder of interventions, L0 to L5, in exact and in published arithmetic."""

from __future__ import annotations

from decimal import Decimal

from warrant import sample
from warrant.sample import gold_codes
from warrant.step import Step, run
from warrant.systems import by_arm, load_controlled, load_systems
from warrant.tables.ladder import ladder


def main(step: Step) -> None:
    """Read the sample and the verdicts, write the table."""
    settings, files = step.settings, by_arm(step.inputs["verdicts"])
    gold = gold_codes(sample.read(step.input("sample")))
    systems = load_systems(settings["systems"], files, len(gold))
    singles = {name: (settings["systems"][name]["rung"], decisions) for name, decisions in systems.items()}
    panel = None if settings["typed_panel"] is None else load_controlled(settings, files, len(gold))
    taus, margins = (list(map(Decimal, settings[name])) for name in ("taus", "vote_margins"))
    step.write("table", ladder(gold, singles, panel, taus, margins))


if __name__ == "__main__":
    run(main, inputs=["sample", "verdicts"], outputs=["table"])
