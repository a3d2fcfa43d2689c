"""The random-veto null in the published and in the matched form."""

from __future__ import annotations

from decimal import Decimal

from warrant import sample
from warrant.sample import gold_codes
from warrant.step import Step, run
from warrant.systems import by_arm, load_controlled
from warrant.tables.null import null_tables


def main(step: Step) -> None:
    """Read the sample and the verdicts, write the table and the distributions behind it."""
    settings, files = step.settings, by_arm(step.inputs["verdicts"])
    gold = gold_codes(sample.read(step.input("sample")))
    panel = load_controlled(settings, files, len(gold))
    published = (Decimal(settings["tau_e"]), Decimal(settings["tau_f"]))
    matched = list(map(Decimal, settings["matched"]))
    table, distribution = null_tables(gold, panel, published, matched, settings["draws"], settings["seed"])
    step.write("table", table)
    step.write("distribution", distribution)


if __name__ == "__main__":
    run(main, inputs=["sample", "verdicts"], outputs=["table", "distribution"])
