"""Import validator certificates as verdicts, with the flags that follow from them."""

from __future__ import annotations

from warrant import artifact, certificates, sample, verdicts
from warrant.imported import Known, verdict_defaults
from warrant.step import Step, run


def main(step: Step) -> None:
    """Write verdicts and flags of one arm; a row that contradicts the sample or the contract stops the run."""
    settings = step.settings
    data, name = step.source("rows")
    known = Known.of(sample.read(step.input("sample")))
    found = certificates.certificate_rows(data, name, known, models=settings["models"])
    step.write("verdicts", artifact.from_rows(map(verdict_defaults, found.rows), certificates.SCHEMA))
    step.write("flags", artifact.from_rows(found.flags, verdicts.FLAGS))


if __name__ == "__main__":
    run(main, inputs=["sources", "sample"], outputs=["verdicts", "flags"])
