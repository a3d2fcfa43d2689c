"""What the certificate says about the claims on which each judge commits."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

from warrant import artifact, certificates, sample
from warrant.sample import gold_codes
from warrant.step import Step, run
from warrant.systems import by_arm
from warrant.tables.taxonomy import taxonomy
from warrant.verdicts import read_votes


def main(step: Step) -> None:
    """Read the sample, the verdicts and the certificates, write the table."""
    settings, files = step.settings, by_arm(step.inputs["verdicts"])
    gold = gold_codes(sample.read(step.input("sample")))
    validator = files[settings["validator"]]
    *_, certified = certificates.read_flags(validator, len(gold))  # refuses a missing or repeated case
    listed = artifact.read(validator, certificates.SCHEMA).sort_by("case_id").column("subclaims").to_pylist()
    judges = {}
    for name, system in settings["systems"].items():
        votes = read_votes(files[system["arm"]], system["judges"], len(gold))
        judges[name] = replace(votes, known=votes.known & certified)
    step.write("table", taxonomy(gold, judges, listed, Decimal(settings["tau"])))


if __name__ == "__main__":
    run(main, inputs=["sample", "verdicts"], outputs=["table"])
