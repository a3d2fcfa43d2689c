"""Write every case of a verdict study with what judges, certificate and controllers say: the case browser's data."""

from __future__ import annotations

import json
from decimal import Decimal

from warrant import artifact, sample
from warrant.artifact import write_text
from warrant.cases import TAGS, Source, records
from warrant.sample import gold_codes
from warrant.step import Step, run
from warrant.systems import by_arm, load_controlled, load_systems


def main(step: Step) -> None:
    """Write one JSON object; texts only where the settings allow them."""
    settings, files = step.settings, by_arm(step.inputs["verdicts"])
    cases = sample.read(step.input("sample"))
    gold = gold_codes(cases)
    panel = None if settings["typed_panel"] is None else load_controlled(settings, files, len(gold))
    source = Source(
        cases.to_pylist(),
        {arm: artifact.read(path).to_pylist() for arm, path in files.items()},
        panel,
        [Decimal(tau) for tau in settings["taus"]],
        [Decimal(margin) for margin in settings["vote_margins"]],
        load_systems(settings["panels"], files, len(gold)),
    )
    content = {
        "basis": step.basis(),
        "text": settings["text"],
        "panel": settings["typed_panel"],
        "tags": TAGS,
        "cases": records(source, gold, settings["text"]),
    }
    write_text(step.outputs["cases"], json.dumps(content, ensure_ascii=False, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    run(main, inputs=["sample", "verdicts"], outputs=["cases"])
