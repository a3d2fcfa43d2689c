"""Import one arm of the release's panel rows as verdicts."""

from __future__ import annotations

from warrant import artifact, release, sample, verdicts
from warrant.imported import Known, verdict_defaults
from warrant.step import Step, run


def main(step: Step) -> None:
    """Write verdicts and flags of one arm; a row that contradicts the sample or the contract stops the run."""
    settings = step.settings
    data, name = step.source("rows")
    known = Known.of(sample.read(step.input("sample")))
    found = release.panel_rows(
        data,
        name,
        known,
        arm_systems=settings["systems"],
        all_systems=settings["all_systems"],
        models=settings["models"],
        contract=settings["contract"],
    )
    step.write("verdicts", artifact.from_rows(map(verdict_defaults, found.rows), verdicts.SCHEMA))
    step.write("flags", artifact.from_rows(found.flags, verdicts.FLAGS))


if __name__ == "__main__":
    run(main, inputs=["sources", "sample"], outputs=["verdicts", "flags"])
