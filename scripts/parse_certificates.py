"""Parse an arm's responses as certificates, with the flags that follow from them."""

from __future__ import annotations

from warrant import artifact, certificates, sample, verdicts
from warrant.calls import responses
from warrant.calls.parse_responses import certificate_row, flag_certificate, known_case
from warrant.imported import Imported, Known
from warrant.step import Step, run


def main(step: Step) -> None:
    """Write one certificate per response; what contradicts the sample or itself is flagged."""
    (path,) = step.inputs["sources"]
    known = Known.of(sample.read(step.input("sample")))
    out = Imported()
    for number, row in enumerate(responses.read(path), start=1):
        known_case(path, number, row, len(known.gold))
        out.rows.append(certificate_row(row))
        flag_certificate(out, path.name, number, out.rows[-1], known)
    step.write("verdicts", artifact.from_rows(out.rows, certificates.SCHEMA))
    step.write("flags", artifact.from_rows(out.flags, verdicts.FLAGS))


if __name__ == "__main__":
    run(main, inputs=["sources", "sample"], outputs=["verdicts", "flags"])
