"""Compare a run's tables with the published numbers."""

from __future__ import annotations

import csv
from pathlib import Path

from warrant import artifact
from warrant.audit import audit, read_published, summary
from warrant.step import Step, run


def read_findings(path: Path) -> dict[str, str]:
    """Titles of the findings by id."""
    with path.open(encoding="utf-8", newline="") as handle:
        return {row["id"]: row["title"] for row in csv.DictReader(handle, delimiter="\t", quoting=csv.QUOTE_NONE)}


def main(step: Step) -> None:
    """Write the audit: one row per published number."""
    published = [row for path in step.inputs["published"] for row in read_published(path)]
    tables = {(path.parent.parent.name, path.stem): artifact.read(path).to_pylist() for path in step.inputs["tables"]}
    findings = {name: title for path in step.inputs["findings"] for name, title in read_findings(path).items()}
    table = audit(published, tables, step.settings["missing"], findings)
    step.write("audit", table)
    rows = table.to_pylist()
    for status, count in summary(rows).items():
        print(f"{count:5d} {status}")
    for row in rows:
        if row["worse"]:
            print(
                f"worse than committed: {row['table']}, {row['row']}, {row['column']} ({row['study']}): "
                f"{row['published']} published, {row['recomputed']} recomputed, {row['status']}, {row['note']}"
            )


if __name__ == "__main__":
    run(main, inputs=["tables", "published", "findings"], outputs=["audit"])
