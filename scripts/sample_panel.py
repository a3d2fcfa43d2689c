"""Take the sample that a panel file describes, where the source of its evidence is not at hand."""

from __future__ import annotations

import json
from collections import Counter

from warrant import sample
from warrant.artifact import write_text
from warrant.release import sample_cases
from warrant.sample import Stratum
from warrant.step import Step, run


def main(step: Step) -> None:
    """Write the sample (without evidence text), its composition (without pools) and its map."""
    data, name = step.source("rows")
    cases = sample_cases(data, name, name)
    table = sample.to_table(cases, step.settings["study"])
    listed = table.select(["case_id", "stratum", "sha256"]).to_pylist()
    write_text(step.outputs["map"], json.dumps(listed, indent=1) + "\n")
    step.write("sample", table)
    counts = Counter(case.stratum for case in cases)
    step.write("composition", sample.composition([Stratum(name, None, n, None) for name, n in counts.items()]))


if __name__ == "__main__":
    run(main, inputs=["sources"], outputs=["sample", "composition", "map"])
