"""How the votes of a panel lie behind its commits on gold-conflicting claims."""

from __future__ import annotations

from warrant import sample
from warrant.sample import gold_codes
from warrant.step import Step, run
from warrant.systems import by_arm
from warrant.tables.anatomy import anatomy
from warrant.verdicts import read_votes


def main(step: Step) -> None:
    """Read the sample and the verdicts, write the table."""
    files = by_arm(step.inputs["verdicts"])
    gold = gold_codes(sample.read(step.input("sample")))
    panels = {
        name: read_votes(files[panel["arm"]], panel["judges"], len(gold))
        for name, panel in step.settings["systems"].items()
    }
    step.write("table", anatomy(gold, panels))


if __name__ == "__main__":
    run(main, inputs=["sample", "verdicts"], outputs=["table"])
