"""Render a run's report: one HTML page that needs nothing but itself."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import jinja2
import pyarrow as pa
import pyarrow.parquet as pq

from warrant import artifact
from warrant.artifact import write_text
from warrant.audit import STATUSES, summary
from warrant.captions import CAPTIONS
from warrant.debate_headlines import debate_headlines
from warrant.headlines import headlines
from warrant.step import SIMULATED, Step, rests_on_simulation, run
from warrant.table_titles import TITLES

MOST_ROWS = 500  # of one table on the page; the files hold all


def cell(value: object) -> str:
    """A value for people: floats to four places, lists joined, missing as an en dash."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4f}" if value and abs(value) < 0.01 else f"{value:.3f}"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ", ".join(map(str, value))
    return str(value)


def shown(value: object) -> dict[str, str]:
    """A cell for the template: its text, and the file's value where that has more digits."""
    text = cell(value)
    return {"text": text, "value": repr(value)} if isinstance(value, float) and repr(value) != text else {"text": text}


def table_view(path: Path) -> dict[str, Any]:
    """A table for the template: columns with their meaning, rows of text; what is simulated says so above it."""
    table = artifact.read(path)
    simulated = rests_on_simulation(path)
    if simulated:  # in every row of the files
        table = table.drop_columns("basis")
    columns = [
        {
            "name": field.name,
            "meaning": (field.metadata or {}).get(b"meaning", b"").decode(),
            "number": pa.types.is_integer(field.type) or pa.types.is_floating(field.type),
        }
        for field in pq.read_schema(path)
        if field.name in table.column_names
    ]
    rows = [[shown(value) for value in row.values()] for row in table.slice(0, MOST_ROWS).to_pylist()]
    return {
        "name": path.stem,
        "title": TITLES[path.stem],
        "columns": columns,
        "rows": rows,
        "total": table.num_rows,
        "basis": SIMULATED if simulated else None,
    }


def figure(path: Path) -> dict[str, str]:
    """An SVG figure for the template: its name, and its markup without the XML prologue."""
    text = path.read_text(encoding="utf-8")
    return {"name": path.stem, "path": str(path.with_suffix("")), "svg": text[text.index("<svg") :]}


def embedded(path: Path) -> str:
    """JSON as it may stand in a script element: no text in it ends the element."""
    text = path.read_text(encoding="utf-8")
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def main(step: Step) -> None:
    """Write the page from tables, figures, cases, audit and manifest."""
    settings = step.settings
    manifest = json.loads(step.input("manifest").read_text(encoding="utf-8"))
    by_study: dict[str, list[Path]] = {name: [] for name in settings["studies"]}
    for path in step.inputs["tables"]:
        by_study[path.parent.parent.name].append(path)
    cases = {path.parent.name: embedded(path) for path in step.inputs["cases"]}
    words = {"verdict": headlines, "debate": debate_headlines}
    studies = [
        {
            "name": name,
            **settings["studies"][name],
            "figures": [figure(path) for path in step.inputs["figures"] if path.parent.parent.name == name],
            "headlines": words[settings["studies"][name]["kind"]](
                {path.stem: artifact.read(path).to_pylist() for path in paths}
            ),
            "tables": [table_view(path) for path in paths],
            "basis": SIMULATED if any(map(rests_on_simulation, paths)) else None,
            "cases": cases.get(name),
        }
        for name, paths in by_study.items()
    ]
    audit = [row for path in step.inputs["audit"] for row in artifact.read(path).to_pylist()]
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(step.input("template").parent),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters["cell"] = cell
    context: Mapping[str, Any] = {
        "settings": settings,
        "style": step.input("style").read_text(encoding="utf-8"),
        "script": step.input("script").read_text(encoding="utf-8"),
        "studies": studies,
        "captions": CAPTIONS,
        "audit": sorted(audit, key=lambda row: (-STATUSES.index(row["status"]), row["worse"])) if audit else [],
        "audit_summary": summary(audit),
        "manifest": manifest,
    }
    page = environment.get_template(step.input("template").name).render(context)
    write_text(step.outputs["page"], page)


if __name__ == "__main__":
    run(
        main,
        inputs=["template", "style", "script", "manifest", "tables", "figures", "cases", "audit"],
        outputs=["page"],
    )
