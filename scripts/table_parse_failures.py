"""Statuses of the agents' outputs, per model and domain."""

from __future__ import annotations

from warrant import artifact, beliefs, mmlu_pro
from warrant.calibration_study import FAILURES, counts
from warrant.step import Step, run


def main(step: Step) -> None:
    """Read the questions and the beliefs, write the table."""
    sample = artifact.read(step.input("sample"), mmlu_pro.SCHEMA).sort_by("case_id")
    rows = artifact.read(step.input("beliefs"), beliefs.SCHEMA).to_pylist()
    domains = [str(name) for name in sample.column("stratum").to_pylist()]
    step.write("table", artifact.from_rows(counts(rows, domains), FAILURES))


if __name__ == "__main__":
    run(main, inputs=["sample", "beliefs"], outputs=["table"])
