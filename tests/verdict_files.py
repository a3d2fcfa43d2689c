"""Artifacts for the programs of the verdict study's tables: a study of our own, and the release's."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

from warrant import artifact, certificates, release, sample, verdicts
from warrant.imported import Imported, Known, verdict_defaults
from warrant.sample import Case

MODELS = {"claude-haiku-4-5": "haiku-4.5", "claude-sonnet-4-5": "sonnet-4.5", "gpt-4o-mini": "gpt-4o-mini"}
JUDGES = [*MODELS.values()]
TYPED = {"typed_panel": {"arm": "4opt", "judges": JUDGES}, "validator": "certificate"}
GRID = {"low": "0.50", "high": "0.99", "step": "0.005"}
Inputs = dict[str, list[Path]]


def _write(found: Sequence[dict[str, Any]], path: Path) -> Path:
    schema = certificates.SCHEMA if path.stem == "certificate" else verdicts.SCHEMA
    artifact.write(artifact.from_rows(map(verdict_defaults, found), schema), path)
    return path


def _inputs(folder: Path, cases: Any, arms: dict[str, Imported]) -> Inputs:
    artifact.write(cases, folder / "sample.parquet")
    files = [_write(found.rows, folder / f"verdicts/{arm}.parquet") for arm, found in arms.items()]
    return {"sample": [folder / "sample.parquet"], "verdicts": files}


def own(folder: Path) -> Inputs:
    """Forty claims of every label; three judges that agree more or less; a validator that flags some."""
    golds = ["support", "refute", "insufficient", "conflicting"]
    cases = sample.to_table([Case("g", golds[i % 4], f"claim {i}", ["e"], "s", i) for i in range(40)], "own")
    found = Imported()
    for i in range(40):
        for j, judge in enumerate(JUDGES):
            said = golds[i % 4] if (i + j) % 3 else golds[(i // 4) % 2]
            confidence = Decimal(70 + (7 * i + 3 * j) % 30).scaleb(-2)
            found.rows.append(
                {"case_id": i, "model": judge, "parse_status": "ok", "verdict": said, "confidence": confidence}
            )
    flags = Imported()
    for i in range(40):
        mixed = i % 5 == 3
        verdict = "conflicting" if mixed else golds[i % 3]
        flags.rows.append(
            {
                "case_id": i,
                "model": "haiku-4.5",
                "parse_status": "ok",
                "verdict": verdict,
                "material_mixed": mixed,
                "material_insufficient": i % 7 == 2,
            }
        )
    return _inputs(folder, cases, {"4opt": found, "certificate": flags})


def vitaminc(real_input: Callable[[str], Path], folder: Path) -> Inputs:
    """The released VitaminC-Mixed panels and certificates. Needs vitaminc_panel and vitaminc_certificates."""
    data = real_input("vitaminc_panel").read_bytes()
    cases = sample.to_table(release.sample_cases(data, "panel", "panel"), "vitaminc_mixed")
    systems = sorted({json.loads(line)["system"] for line in data.splitlines()})
    known = Known.of(cases)
    arms = {
        arm: release.panel_rows(data, "panel", known, [name for name in systems if arm in name], systems, MODELS, arm)
        for arm in ("3opt", "4opt")
    }
    rows = real_input("vitaminc_certificates").read_bytes()
    arms["certificate"] = certificates.certificate_rows(rows, "certificates", known, MODELS)
    return _inputs(folder, cases, arms)


def averitec(real_input: Callable[[str], Path], folder: Path) -> Inputs:
    """The partial AVeriTeC panel and its certificates. Needs case_taxonomy and averitec_certificates."""
    rows = real_input("averitec_certificates").read_bytes()
    lines = sorted(map(json.loads, rows.splitlines()), key=lambda line: line["case_id"])
    cases = sample.to_table([Case("g", line["gold_normal"], line["claim"], None, "s", None) for line in lines], "a")
    known, data = Known.of(cases), real_input("case_taxonomy").read_bytes()
    arms = {
        "4opt": release.taxonomy(data, "taxonomy", known, "AVeriTeC", MODELS, "4opt"),
        "certificate": certificates.certificate_rows(rows, "certificates", known, MODELS),
    }
    return _inputs(folder, cases, arms)


def read(path: Path) -> list[dict[str, Any]]:
    """The rows of a written table."""
    return artifact.read(path).to_pylist()
