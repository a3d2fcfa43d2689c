"""The committed published numbers are well-formed, point at cells that exist, and are never an input of a table."""

from __future__ import annotations

import csv
from collections import Counter
from pathlib import Path
from typing import Final

import pyarrow as pa
import pytest

from warrant import sample
from warrant.audit import Published, read_published
from warrant.closure import closure
from warrant.config import read_run
from warrant.plan import plan_run
from warrant.sources import read_sources
from warrant.tables import (
    accounting,
    anatomy,
    confidence,
    contrasts,
    frontier,
    judges,
    ladder,
    null,
    profiles,
    rates,
    residual,
    risk,
    screening,
    sweep,
    taxonomy,
    utility,
    veto,
)

BUILT: Final[dict[str, pa.Schema]] = {
    "composition": sample.COMPOSITION,
    "judges": judges.JUDGES,
    "confusion": judges.CONFUSION,
    "ladder": ladder.LADDER,
    "arithmetic": ladder.ARITHMETIC,
    "contrasts": contrasts.SCHEMA,
    "null": null.SCHEMA,
    "null_distribution": null.DISTRIBUTION,
    "veto": veto.SCHEMA,
    "rates": rates.SCHEMA,
    "residual": residual.SCHEMA,
    "utility": utility.UTILITY,
    "utility_outcomes": utility.OUTCOMES,
    "break_even": utility.BREAK_EVEN,
    "confidence": confidence.SCHEMA,
    "confidence_bins": confidence.BINS,
    "confidence_values": confidence.VALUES,
    "sweep": sweep.SCHEMA,
    "frontier": frontier.SCHEMA,
    "sweep_summary": frontier.SUMMARY,
    "risk": risk.SCHEMA,
    "risk_choices": risk.CHOICES,
    "anatomy": anatomy.SCHEMA,
    "taxonomy": taxonomy.SCHEMA,
    "screening": screening.SCREENING,
    "screening_contrast": screening.CONTRAST,
    "screening_scores": screening.SCORES,
    "profiles": profiles.SCHEMA,
    "accounting": accounting.SCHEMA,
}


@pytest.fixture(scope="module", params=["verdict", "debate"])
def published(project: Path, request: pytest.FixtureRequest) -> list[Published]:
    return read_published(project / f"config/published/{request.param}.tsv")


@pytest.fixture(scope="module")
def verdict(project: Path) -> list[Published]:
    return read_published(project / "config/published/verdict.tsv")


@pytest.fixture(scope="module")
def findings(project: Path) -> list[dict[str, str]]:
    with (project / "config/published/findings.tsv").open(encoding="utf-8", newline="") as handle:
        return list(csv.DictReader(handle, delimiter="\t", quoting=csv.QUOTE_NONE))


def test_every_file_of_published_numbers_is_well_formed(project: Path) -> None:
    """Every row parses; the files that a run audits are there."""
    folder = project / "config/published"
    assert all(read_published(path) for path in folder.glob("*.tsv") if path.name != "findings.tsv")
    for run in (project / "config/runs").glob("*.yaml"):
        for name in read_run(run.parent, run.stem).audit:
            assert (project / name).is_file(), name


def test_no_row_expects_to_differ(published: list[Published]) -> None:
    """A difference that nobody explains is an error, never an expectation."""
    assert not [row for row in published if row.expect == "differs"]


def test_every_finding_that_is_named_exists(published: list[Published], findings: list[dict[str, str]]) -> None:
    """Finding ids are unique, have a title, and those of the rows are among them; a prediction has a finding."""
    ids = Counter(row["id"] for row in findings)
    assert set(ids.values()) == {1}
    assert all(row["title"] for row in findings)
    assert {row.finding for row in published if row.finding} <= set(ids)
    assert all(row.finding for row in published if row.alternative)
    assert all(row.finding and row.alternative for row in published if row.expect == "differs-explained")


def test_cells_of_built_tables_exist_in_their_schemas(verdict: list[Published]) -> None:
    """Where this version builds the table, the field is a number of it and every key of the select a column."""
    compared = 0
    for row in verdict:
        schema = BUILT.get(row.artifact)
        if schema is None:
            assert row.expect == "not-computable", row
            continue
        compared += 1
        assert row.field in schema.names, row
        kind = schema.field(row.field).type
        assert pa.types.is_integer(kind) or pa.types.is_floating(kind), row
        assert row.keys, row
        assert set(row.keys) <= set(schema.names), row
        assert all("=" in item for item in row.select.split(";")), row
    assert compared > 700


def test_the_tables_of_the_schemas_are_those_that_the_paper_run_builds(project: Path) -> None:
    """With every source at hand the verdict studies have exactly these tables."""
    sources = read_sources(project / "config/sources.tsv")
    plan = plan_run("paper", read_run(project / "config/runs", "paper"), sources, lambda source: True)
    tables = [item for study in plan.studies.values() for item in study.tables.items()]
    assert {"composition", *(name for first, table in tables for name in [first, *table.also])} == set(BUILT)


def test_the_words_of_a_row_are_the_declared_ones(published: list[Published], project: Path) -> None:
    """Paper and status are from their short lists, what a row needs is a known source, and no word is lacking."""
    sources = read_sources(project / "config/sources.tsv")
    assert len({row.paper for row in published}) == 1
    for row in published:
        assert row.paper in ("verdict", "debate")
        assert row.status in ("paper", "released", "derived", "inferred")
        assert set(row.needs.split()) <= set(sources), row
        assert all((row.table, row.row, row.column, row.study, row.artifact, row.field)), row


def test_the_studies_of_the_verdict_paper_are_those_of_its_run(verdict: list[Published], project: Path) -> None:
    """A row of no study would never be computable."""
    assert {row.study for row in verdict} <= set(read_run(project / "config/runs", "paper").studies)


def test_no_number_is_listed_twice(published: list[Published]) -> None:
    """A place of a paper, and a cell that recomputes it with a tolerance, occur once."""
    places = Counter((row.table, row.row, row.column, row.study, row.tolerance) for row in published)
    assert [place for place, n in places.items() if n > 1] == []


def test_the_files_are_written_as_their_description_says(project: Path) -> None:
    """UTF-8, tabs, LF line ends, a header, no quoting, no blank or padded cell."""
    for path in (project / "config/published").glob("*.tsv"):
        data = path.read_bytes()
        assert b"\r" not in data
        assert data.endswith(b"\n")
        for line in data.decode("utf-8").splitlines():
            assert all(cell == cell.strip() for cell in line.split("\t")), line


def test_published_numbers_are_no_input_of_what_they_are_compared_with(project: Path) -> None:
    """No program of a sample, an import or a table reaches the audit or names the folder; one file of rules does."""
    programs = [path for kind in ("sample", "import", "table") for path in (project / "scripts").glob(f"{kind}_*.py")]
    assert len(programs) > 10
    for program in programs:
        for path in closure(program):
            assert path.name != "audit.py", program
            assert "published/" not in path.read_text(encoding="utf-8"), path
    rules = {path.name: path.read_text(encoding="utf-8") for path in (project / "workflow/rules").glob("*.smk")}
    assert {name for name, text in rules.items() if "config/published" in text} == {"reports.smk"}
