"""Between which values every rate lies, whatever the answers that did not come would have been."""

from __future__ import annotations

from decimal import Decimal
from functools import partial

from warrant import sample
from warrant.labels import Labels
from warrant.missing import Possible, outcomes
from warrant.sample import gold_codes
from warrant.step import Step, run
from warrant.systems import Controlled, by_arm, decide, load_controlled
from warrant.tables.bounds import bounds
from warrant.tables.ladder import controllers
from warrant.verdicts import read_answered


def main(step: Step) -> None:
    """Read the sample and the verdicts, write the table."""
    settings, files = step.settings, by_arm(step.inputs["verdicts"])
    gold = gold_codes(sample.read(step.input("sample")))
    found: dict[str, Possible] = {}
    for name, system in settings["systems"].items():
        votes, answered = read_answered(files[system["arm"]], system["judges"], len(gold))
        ways = outcomes(Controlled(votes, decide(votes)), answered, settings["contracts"][system["arm"]])
        found[name] = ways.possible(_proposed)
    typed = settings["typed_panel"]
    if typed is not None:
        panel = load_controlled(settings, files, len(gold))
        _, answered = read_answered(files[typed["arm"]], typed["judges"], len(gold))
        ways = outcomes(panel, answered, settings["contracts"][typed["arm"]])
        taus, margins = ([Decimal(value) for value in settings[name]] for name in ("taus", "vote_margins"))
        for _, name, _ in controllers(panel, taus, margins):
            found[name] = ways.possible(partial(_decided, name))
    step.write("table", bounds(gold, found))


def _proposed(panel: Controlled) -> Labels:
    return panel.proposal.decision


def _decided(name: str, panel: Controlled) -> Labels:
    return panel.named(name).decision


if __name__ == "__main__":
    run(main, inputs=["sample", "verdicts"], outputs=["table"])
