"""Render a run's report: one HTML page that needs nothing but itself."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import jinja2
import pyarrow as pa
import yaml

from warrant import artifact
from warrant.artifact import write_text
from warrant.audit import summary
from warrant.captions import CAPTIONS
from warrant.debate_headlines import debate_headlines
from warrant.headlines import headlines
from warrant.page_view import View, basis_of, cases_view, cell, table_view, worst_first
from warrant.step import SIMULATED, Step, rests_on_simulation, run
from warrant.table_titles import FIGURES

WORDS = {"verdict": headlines, "debate": debate_headlines}


def basis(path: Path) -> str | None:
    """SIMULATED for an artifact that rests on simulated judges."""
    return SIMULATED if rests_on_simulation(path) else None


def figure(path: Path) -> View:
    """An SVG figure: its name and title, and its markup without the XML prologue."""
    text = path.read_text(encoding="utf-8")
    return {
        "name": path.stem,
        "title": FIGURES.get(path.stem, ""),
        "path": str(path.with_suffix("")),
        "svg": text[text.index("<svg") :],
    }


def study_view(
    about: Mapping[str, Any], tables: Sequence[Path], figures: Sequence[Path], cases: Sequence[Path]
) -> View:
    """One study: its findings in words, figures, tables and cases."""
    read: dict[str, pa.Table] = {path.stem: artifact.read(path) for path in tables}
    views = [table_view(path.stem, read[path.stem], basis(path)) for path in tables]
    browsers = [cases_view(path.read_text(encoding="utf-8")) for path in cases]
    return {
        **about,
        "headlines": WORDS[about["kind"]]({name: table.to_pylist() for name, table in read.items()}),
        "figures": [figure(path) for path in figures],
        "tables": views,
        "cases": browsers[0] if browsers else None,
        "basis": basis_of([*views, *browsers]),
    }


def as_yaml(settings: object) -> str:
    """Settings as the configuration writes them, what has no further level on one line."""
    return yaml.safe_dump(settings, default_flow_style=None, allow_unicode=True, width=110).rstrip()


def studies(step: Step) -> list[View]:
    """Every study of the run, in the order of the settings."""

    def of(name: str, files: str, depth: int) -> list[Path]:
        return [path for path in step.inputs[files] if path.parents[depth].name == name]

    return [
        {"name": name, **study_view(about, of(name, "tables", 1), of(name, "figures", 1), of(name, "cases", 0))}
        for name, about in step.settings["studies"].items()
    ]


def main(step: Step) -> None:
    """Write the page from tables, figures, cases, audit and manifest."""
    audit = [row for path in step.inputs["audit"] for row in artifact.read(path).to_pylist()]
    found = studies(step)
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(step.input("template").parent),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    context: Mapping[str, Any] = {
        "settings": step.settings,
        "style": step.input("style").read_text(encoding="utf-8"),
        "script": step.input("script").read_text(encoding="utf-8"),
        "studies": found,
        "basis": basis_of(found),
        "captions": CAPTIONS,
        "audit": worst_first(audit),
        "audit_summary": summary(audit),
        "manifest": json.loads(step.input("manifest").read_text(encoding="utf-8")),
        "cell": cell,
        "as_yaml": as_yaml,
    }
    write_text(step.outputs["page"], environment.get_template(step.input("template").name).render(context))


if __name__ == "__main__":
    run(
        main,
        inputs=["template", "style", "script", "manifest", "tables", "figures", "cases", "audit"],
        outputs=["page"],
    )
