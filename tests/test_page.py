"""The report: one page that needs nothing but itself, in which data cannot become markup."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from warrant import artifact
from warrant.artifact import field
from warrant.config import read_models, read_run
from warrant.plan import plan_run
from warrant.sources import read_sources
from warrant.table_titles import TITLES

NASTY = "</script><img src=x onerror=alert(1)>\u2028<!--"


class Page(HTMLParser):
    """Ids, links, outside addresses and scripts of a page."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.ids: list[str] = []
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.tags: list[str] = []
        self.script: str | None = None
        self.scripts: list[tuple[str, str]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.tags.append(tag)
        self.ids += [given["id"]] if "id" in given else []
        if tag == "a":
            self.links.append(given.get("href", ""))
        self.loaded += [given[name] for name in ("src", "srcset", "poster") if name in given]
        self.loaded += [given["href"]] if tag == "link" else []
        self.script = given.get("type", "") if tag == "script" else None

    def handle_data(self, data: str) -> None:
        if self.script is not None:
            self.scripts.append((self.script, data))

    def handle_endtag(self, tag: str) -> None:
        self.script = None


@pytest.fixture
def page(project: Path, run_step: Any, tmp_path: Path) -> str:
    """A page of one simulated study with a table, an audit row and a case, each with markup in its texts."""
    table = pa.table({"system": [NASTY], "cpo_c": [1 / 3], "basis": ["SIMULATED"]})
    schema = pa.schema(
        [field("system", pa.string(), NASTY), field("cpo_c", pa.float64(), "a rate"), field("basis", pa.string(), "")]
    )
    place = tmp_path / "results/r/s/tables/veto.parquet"
    artifact.write(table.cast(schema), place, provenance={"basis": "SIMULATED"})
    case = {"id": 0, "claim": NASTY, "evidence": [NASTY], "answers": [], "controllers": {}, "tags": []}
    cases = tmp_path / "results/r/s/cases.json"
    cases.write_text(json.dumps({"basis": "SIMULATED", "text": True, "tags": {}, "cases": [case]}, ensure_ascii=False))
    manifest = {"missing": [], "flags": [], "sources": [], "artifacts": {}, "versions": {}, "git": {"commit": None}}
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    settings = {"run": "r", "title": NASTY, "notice": None, "missing": []}
    settings["studies"] = {"s": {"title": "S", "note": None, "kind": "verdict"}}
    report = project / "workflow/report"
    inputs = {
        "template": [report / "page.html.j2"], "style": [report / "page.css"], "script": [report / "page.js"],
        "manifest": [tmp_path / "manifest.json"], "tables": [place], "figures": [], "cases": [cases], "audit": [],
    }  # fmt: skip
    run_step("page", inputs, {"page": tmp_path / "report.html"}, settings)
    return (tmp_path / "report.html").read_text(encoding="utf-8")


def test_the_page_needs_nothing_but_itself(page: str) -> None:
    """No address is loaded; every link within the page has its target; ids are unique."""
    found = Page(page)
    assert found.loaded == []
    assert not re.search(r"@import|url\(", page)
    assert len(set(found.ids)) == len(found.ids)
    inner = {link[1:] for link in found.links if link.startswith("#")}
    assert inner <= set(found.ids)


def test_texts_are_data(page: str) -> None:
    """Markup in a title, a cell, a column's meaning or a claim is shown, not obeyed; data stay what they were."""
    found = Page(page)
    assert "img" not in found.tags
    (data,) = [text for kind, text in found.scripts if kind == "application/json"]
    assert json.loads(data)["cases"][0]["claim"] == NASTY
    assert "\u2028" not in data


def test_what_is_simulated_says_so(page: str) -> None:
    """The study's headings, its table, and what is copied of it."""
    assert page.count('<strong class="basis">SIMULATED</strong>') >= 3
    assert 'data-basis="SIMULATED"' in page
    assert "table.dataset.basis" in page


def test_tables_can_be_sorted_by_the_files_values(page: str) -> None:
    """A rounded number carries the value of the file."""
    assert f'data-v="{1 / 3!r}">0.333<' in page


def test_every_table_of_every_run_has_a_title(project: Path) -> None:
    """The contents list says in a line what each table answers."""
    sources, judges = read_sources(project / "config/sources.tsv"), read_models(project / "config/models.yaml")
    for name in ("demo", "paper", "panel"):
        plan = plan_run(name, read_run(project / "config/runs", name), sources, lambda source: True, judges)
        for study in plan.studies.values():
            assert {item for first, table in study.tables.items() for item in [first, *table.also]} <= set(TITLES)
    assert "composition" in TITLES
