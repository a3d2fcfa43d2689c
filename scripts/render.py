"""Render an arm's requests: one per case, judge and replicate, from the sample and a prompt template."""

from __future__ import annotations

from warrant import artifact, sample
from warrant.calls import requests
from warrant.calls.prompt import case_values, parse_template
from warrant.calls.providers import Case, request_for
from warrant.calls.requests import Call
from warrant.errors import bad_input
from warrant.step import Step, run


def main(step: Step) -> None:
    """Write the requests in the order of case, judge and replicate; a case without evidence stops the run."""
    settings = step.settings
    data, name = step.source("prompt")
    try:
        template = parse_template(data.decode("utf-8"), name)
    except UnicodeDecodeError as error:
        raise bad_input(name, found=str(error), expected="UTF-8") from None
    path = step.input("sample")
    rows = []
    for number, row in enumerate(sample.read(path).to_pylist(), start=1):
        if row["evidence"] is None:
            raise bad_input(path, row=number, field="evidence", found=None, expected="evidence to show to a judge")
        text, spans = template.render(case_values(row["text"], row["evidence"]))
        case = Case(row["sha256"], row["gold"], settings["contract"])
        placed = [{"field": span.field, "message": 0, "start": span.start, "end": span.end} for span in spans]
        for judge, given in sorted(settings["judges"].items()):
            for replicate in range(settings["replicates"]):
                asked = request_for(judge, given, [{"role": "user", "content": text}], case, replicate)
                rows.append(Call(row["case_id"], judge, 0, asked, placed).row())
    step.write("requests", artifact.from_rows(rows, requests.SCHEMA))


if __name__ == "__main__":
    run(main, inputs=["sources", "sample"], outputs=["requests"])
