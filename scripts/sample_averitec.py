"""Draw the AVeriTeC sample and prove it by the hashes that are pinned in the run's configuration."""

from __future__ import annotations

from warrant import averitec, sample
from warrant.artifact import write_text
from warrant.calls.prompt import case_values, parse_template
from warrant.errors import InputError, bad_input
from warrant.sample import sha256_text
from warrant.step import Step, run


def main(step: Step) -> None:
    """Write the sample, its composition and its map; a hash that is not the pinned one stops the run."""
    settings = step.settings
    files = {split: step.source(split) for split in ("dev", "train")}
    dev, train = (averitec.read_rows(data, name) for data, name in files.values())
    drawn = averitec.draw(dev, train, settings["counts"], settings["seed"])
    written = averitec.sample_map(drawn)
    if settings["map_sha256"] not in (None, sha256_text(written)):
        raise bad_input("sample map", found=f"SHA-256 {sha256_text(written)}", expected=settings["map_sha256"])
    cases = averitec.cases(drawn, {split: name for split, (_, name) in files.items()})
    if settings["prompts"] is not None:
        prompt, name = step.source("prompt")
        template = parse_template(prompt.decode("utf-8"), name)
        for case_id, expected in settings["prompts"]["sha256"].items():
            case = cases[int(case_id)]
            if case.evidence is None:
                raise InputError(f"case {case_id} has no evidence to render")
            found = sha256_text(template.render(case_values(case.text, case.evidence))[0])
            if found != expected:
                raise bad_input("rendered prompt", row=int(case_id), found=f"SHA-256 {found}", expected=expected)
    write_text(step.outputs["map"], written)
    step.write("sample", sample.to_table(cases, settings["study"]))
    step.write("composition", sample.composition(averitec.strata(dev, train, settings["counts"])))


if __name__ == "__main__":
    run(main, inputs=["sources"], outputs=["sample", "composition", "map"])
