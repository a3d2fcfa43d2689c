"""Parse an arm's responses as verdicts."""

from __future__ import annotations

from warrant import artifact, sample, verdicts
from warrant.calls import responses
from warrant.calls.parse_responses import known_case, verdict_row
from warrant.step import Step, run


def main(step: Step) -> None:
    """Write one verdict per response, and no flags: nothing in a verdict can contradict the sample."""
    (path,) = step.inputs["sources"]
    cases = len(sample.read(step.input("sample")))
    rows = responses.read(path)
    for number, row in enumerate(rows, start=1):
        known_case(path, number, row, cases)
    found = [verdict_row(row, step.settings["contract"]) for row in rows]
    step.write("verdicts", artifact.from_rows(found, verdicts.SCHEMA))
    step.write("flags", artifact.from_rows([], verdicts.FLAGS))


if __name__ == "__main__":
    run(main, inputs=["sources", "sample"], outputs=["verdicts", "flags"])
