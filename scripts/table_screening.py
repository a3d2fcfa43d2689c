"""Screening of the typed judges' commits, the contrasts between feature sets, and the out-of-fold scores."""

from __future__ import annotations

from warrant import sample
from warrant.sample import gold_codes
from warrant.screening import read_structure
from warrant.step import Step, run
from warrant.systems import by_arm
from warrant.tables.screening import Settings, screening
from warrant.verdicts import read_votes


def main(step: Step) -> None:
    """Read the sample, the typed panel's votes and the certificates, write the three tables."""
    settings, files = step.settings, by_arm(step.inputs["verdicts"])
    cases = sample.read(step.input("sample"))
    gold, panel = gold_codes(cases), settings["typed_panel"]
    tables = screening(
        gold,
        list(map(str, cases.column("text").to_pylist())),
        read_votes(files[panel["arm"]], panel["judges"], len(gold)),
        read_structure(files[settings["validator"]], len(gold)),
        [settings["names"].get(judge, judge) for judge in panel["judges"]],
        Settings(**settings["screening"]),
    )
    step.write("table", tables.screening)
    step.write("contrast", tables.contrast)
    step.write("scores", tables.scores)


if __name__ == "__main__":
    run(main, inputs=["sample", "verdicts"], outputs=["table", "contrast", "scores"])
