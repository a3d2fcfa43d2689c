"""Take a file of claims with their evidence as a study's sample."""

from __future__ import annotations

import json

from warrant import sample
from warrant.artifact import write_text
from warrant.claims import read_claims, strata
from warrant.step import Step, run


def main(step: Step) -> None:
    """Write the sample, its composition and its map (case id, stratum, line among claims, hash)."""
    data, name = step.source("rows")
    cases = read_claims(data, name, name)
    table = sample.to_table(cases, step.settings["study"])
    listed = table.select(["case_id", "stratum", "source_row", "sha256"]).to_pylist()
    write_text(step.outputs["map"], json.dumps(listed, indent=1) + "\n")
    step.write("sample", table)
    step.write("composition", sample.composition(strata(cases)))


if __name__ == "__main__":
    run(main, inputs=["sources"], outputs=["sample", "composition", "map"])
