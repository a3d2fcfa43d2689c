"""How long claims, evidence and prompts are, by gold label."""

from __future__ import annotations

import pyarrow as pa

from warrant import artifact, sample
from warrant.calls.prompt import case_values, parse_template
from warrant.errors import bad_input
from warrant.step import Step, run
from warrant.tables.profiles import profiles


def main(step: Step) -> None:
    """Read the sample, and a prompt template where the study has one; write the table."""
    cases = sample.read(step.input("sample"))
    lengths = rendered(*step.source("prompt"), cases) if step.inputs["sources"] else None
    step.write("table", profiles(cases, lengths))


def rendered(data: bytes, name: str, cases: pa.Table) -> list[int | None]:
    """Characters of a template filled with each case; None for a case without evidence."""
    try:
        template = parse_template(data.decode("utf-8"), name)
    except UnicodeDecodeError as error:
        raise bad_input(name, found=str(error), expected="UTF-8") from None
    return [
        None if evidence is None else len(template.render(case_values(text, evidence))[0])
        for text, evidence in artifact.columns(cases, ["text", "evidence"])
    ]


if __name__ == "__main__":
    run(main, inputs=["sample", "sources"], outputs=["table"])
