"""Construct a VitaminC-Mixed sample from a split file."""

from __future__ import annotations

import io
import json
import zipfile

from warrant import sample, vitaminc
from warrant.artifact import write_text
from warrant.errors import bad_input
from warrant.step import Step, run


def main(step: Step) -> None:
    """Write the sample, its composition and its map (case id, stratum, source row)."""
    settings = step.settings
    data, name = step.source("split")
    if settings["member"] is not None:
        try:
            data = zipfile.ZipFile(io.BytesIO(data)).read(settings["member"])
        except (KeyError, zipfile.BadZipFile) as error:
            raise bad_input(name, field="member", found=str(error), expected=settings["member"]) from error
    rows = vitaminc.read_rows(data, name)
    cases, strata = vitaminc.construct(rows, settings["mixed"], settings["controls"], settings["seed"], name)
    table = sample.to_table(cases, settings["study"])
    listed = table.select(["case_id", "stratum", "source_row", "sha256"]).to_pylist()
    write_text(step.outputs["map"], json.dumps(listed, indent=1) + "\n")
    step.write("sample", table)
    step.write("composition", sample.composition(strata))


if __name__ == "__main__":
    run(main, inputs=["sources"], outputs=["sample", "composition", "map"])
