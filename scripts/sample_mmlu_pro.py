"""Take MMLU-Pro questions: complete domains, or a pinned stratified subset."""

from __future__ import annotations

import json

from warrant import mmlu_pro
from warrant.artifact import write_text
from warrant.errors import bad_input
from warrant.sample import sha256_text
from warrant.step import Step, run


def main(step: Step) -> None:
    """Write the sample, its composition and its map; a subset whose ids do not hash to the pinned value stops."""
    settings = step.settings
    data, name = step.source("questions")
    rows = mmlu_pro.read_questions(data, name)
    subset = settings["subset"]
    per_domain, seed = (None, 0) if subset is None else (subset["per_domain"], subset["seed"])
    chosen = mmlu_pro.choose(rows, settings["domains"], per_domain, seed, name)
    if subset is not None:
        found = sha256_text("".join(f"{row['question_id']}\n" for _, row in chosen))
        if found != subset["sha256"]:
            raise bad_input("subset", field="question ids", found=f"SHA-256 {found}", expected=subset["sha256"])
    table = mmlu_pro.to_table(chosen, settings["study"], name)
    listed = table.select(["case_id", "stratum", "question_id", "source_row", "sha256"]).to_pylist()
    write_text(step.outputs["map"], json.dumps(listed, indent=1) + "\n")
    step.write("sample", table)
    step.write("composition", mmlu_pro.composition(rows, chosen, settings["domains"]))


if __name__ == "__main__":
    run(main, inputs=["sources"], outputs=["sample", "composition", "map"])
