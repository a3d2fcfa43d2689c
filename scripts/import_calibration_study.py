"""Import single-turn answers and stated confidences as beliefs."""

from __future__ import annotations

from warrant import artifact, beliefs, calibration_study, mmlu_pro, verdicts
from warrant.step import Step, run


def main(step: Step) -> None:
    """Write beliefs and flags of one arm; a row that is not about its question stops the run."""
    files = {source["role"]: step.source(source["role"]) for source in step.settings["sources"]}
    sample = artifact.read(step.input("sample"), mmlu_pro.SCHEMA).sort_by("case_id")
    found = calibration_study.beliefs(files, sample)
    step.write("beliefs", artifact.from_rows(found.rows, beliefs.SCHEMA))
    step.write("flags", artifact.from_rows(found.flags, verdicts.FLAGS))


if __name__ == "__main__":
    run(main, inputs=["sources", "sample"], outputs=["beliefs", "flags"])
