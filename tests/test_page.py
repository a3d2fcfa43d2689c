"""The report: one page that needs nothing but itself, in which data cannot become markup."""

from __future__ import annotations

import csv
import html
import io
import json
import re
import shutil
import subprocess
from collections.abc import Callable
from decimal import Decimal
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import yaml

from warrant import artifact
from warrant.artifact import field
from warrant.audit import SCHEMA as AUDIT
from warrant.captions import CAPTIONS
from warrant.config import read_models, read_run
from warrant.headlines import headlines, probability, share, signed
from warrant.page_view import MOST_ROWS, shown, table_view
from warrant.plan import plan_run
from warrant.sources import read_sources
from warrant.table_titles import FIGURES, TITLES

ROOT = Path(__file__).resolve().parents[1]
NASTY = "</script><img src=x onerror=alert(1)>\u2028<!--"
MADE = {
    "step": "table_veto", "code_sha256": "0" * 64, "content_sha256": "1" * 64,
    "inputs": {"results/r/s/x.parquet": "2" * 64},
    "settings": {"taus": ["0.80", "0.90"], "validator": None, "systems": {NASTY: {"arm": "4opt", "judges": ["a"]}}},
}  # fmt: skip
VALUES = pa.table(
    {
        "system": [NASTY, 'a "b", c', None, ""],
        "cpo_c": [1 / 3, 0.5, None, 1e-7],
        "k": [1, None, 3, 10**12],
        "partial": [True, False, None, True],
        "stated": pa.array([Decimal("0.90"), None, Decimal("1"), Decimal("5.13")], pa.decimal128(22, 18)),
        "cites": [["E1", "E2"], [], None, ["x, y"]],
    }
)


class Page(HTMLParser):
    """Ids, links, labels, outside addresses, scripts and tables of a page."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.ids: list[str] = []
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.tags: list[str] = []
        self.labelled: list[str] = []
        self.inside: list[str] = []
        self.scripts: list[tuple[str, str]] = []
        self.files: dict[str, list[list[str]]] = {}  # data-file of a table -> cells as they are copied
        self.classes: list[str] = []
        self.unlabelled = 0
        self.wide = ""
        self.text = ""
        self.rows: list[list[str]] | None = None
        self.value: str | None = None
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.tags.append(tag)
        self.ids += [given["id"]] if "id" in given else []
        self.loaded += [given[name] for name in ("src", "srcset", "poster", "data") if name in given]
        self.loaded += [given["href"]] if tag == "link" else []
        self.links += [given.get("href", "")] if tag == "a" else []
        self.labelled += [given["for"]] if "for" in given else []
        if tag in ("input", "select") and "label" not in self.inside:
            self.unlabelled += given.get("id") not in self.labelled
        if tag == "script":
            self.scripts.append((given.get("type", ""), ""))
        if tag == "table":
            self.rows = self.files.setdefault(given.get("data-file", ""), [])
        if tag == "tr" and self.rows is not None:
            self.rows.append([])
        if tag in ("td", "th"):
            self.text, self.value = "", given.get("data-v")
        if tag not in ("meta", "input", "br"):
            self.inside.append(tag)

    def handle_data(self, data: str) -> None:
        self.text += data
        if self.inside and self.inside[-1] == "script":
            self.scripts[-1] = (self.scripts[-1][0], self.scripts[-1][1] + data)

    def handle_endtag(self, tag: str) -> None:
        if tag in ("td", "th") and self.rows is not None:
            self.rows[-1].append(self.text if self.value is None else self.value)
        if tag in self.inside:
            while self.inside.pop() != tag:
                pass


def audit_row(status: str, worse: bool, number: int) -> dict[str, Any]:
    """A row of the audit."""
    texts = {item.name: NASTY for item in AUDIT if item.type == pa.string()}
    return {**texts, "published": str(number), "recomputed": 1 / 3, "status": status, "worse": worse}


@pytest.fixture
def render(run_step: Any, tmp_path: Path) -> Callable[..., str]:
    """Render a page of one study with one table, three audit rows and one case, with markup in its texts."""

    def page(simulated: bool = True, text: bool = True, table: pa.Table = VALUES) -> str:
        basis = "SIMULATED" if simulated else None
        provenance = {"basis": "SIMULATED"} if simulated else {}
        place = tmp_path / "results/r/s/tables/veto.parquet"
        if simulated:
            table = table.append_column("basis", pa.array(["SIMULATED"] * len(table)))
        about = {name: field(name, table.field(name).type, NASTY) for name in table.column_names}
        table = table.cast(pa.schema(about.values()))
        artifact.write(table, place, provenance=provenance)
        artifact.write_csv(table, place.with_suffix(".csv"))
        case = {"id": 0, "claim": NASTY, "evidence": [NASTY], "answers": [], "controllers": {}, "tags": []}
        cases = tmp_path / "results/r/s/cases.json"
        content = {"basis": basis, "text": text, "panel": None, "tags": {}, "cases": [case]}
        cases.write_text(json.dumps(content, ensure_ascii=False))
        audit = tmp_path / "results/r/audit.parquet"
        rows = [audit_row("match", False, 1), audit_row("differs", False, 2), audit_row("differs", True, 3)]
        artifact.write(artifact.from_rows(rows, AUDIT), audit)
        figure = tmp_path / "results/r/s/figures/forest.svg"
        figure.parent.mkdir(exist_ok=True)
        figure.write_text('<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg"></svg>')
        source = {"name": "x", "url": "https://example.org/x", "about": NASTY, "licence": NASTY, "pinned": True}
        missing = [{"study": "s", "what": NASTY, "sources": ["x"], "unbuilt": ["null"], "tables": ["null", "veto"]}]
        flag = {"file": NASTY, "row": 1, "case_id": None, "field": "f", "found": NASTY, "expected": NASTY}
        manifest = {
            "missing": missing, "flags": [flag], "sources": [{**source, "observed_sha256": "0"}],
            "artifacts": {"results/r/s/tables/veto.parquet": MADE}, "versions": {}, "git": {"commit": None},
        }  # fmt: skip
        (tmp_path / "manifest.json").write_text(json.dumps(manifest))
        settings = {"run": "r", "title": NASTY, "notice": NASTY, "missing": missing}
        settings["studies"] = {"s": {"title": "S", "note": NASTY, "kind": "verdict"}}
        report = ROOT / "workflow/report"
        inputs = {
            "template": [report / "page.html.j2"], "style": [report / "page.css"], "script": [report / "page.js"],
            "manifest": [tmp_path / "manifest.json"], "tables": [place], "figures": [figure], "cases": [cases],
            "audit": [audit],
        }  # fmt: skip
        run_step("page", inputs, {"page": tmp_path / "report.html"}, settings)
        return (tmp_path / "report.html").read_text(encoding="utf-8")

    return page


@pytest.fixture
def page(render: Callable[..., str]) -> str:
    """The page of a simulated study."""
    return render()


def test_the_page_needs_nothing_but_itself(page: str) -> None:
    """No address is loaded, by markup, style or script; every link within has its target; ids are unique."""
    found = Page(page)
    assert found.loaded == []
    assert not re.search(r"@import|url\(|fetch\(|XMLHttpRequest|import\(|localStorage", page)
    assert len(set(found.ids)) == len(found.ids)
    inner = {link[1:] for link in found.links if link.startswith("#")}
    assert inner <= set(found.ids)
    assert {"findings", "contents", "s", "s-veto", "s-cases", "audit", "missing", "inputs", "provenance"} <= inner


def test_texts_are_data(page: str) -> None:
    """Markup in a title, a cell, a column's meaning or a claim is shown, not obeyed; data stay what they were."""
    found = Page(page)
    assert "img" not in found.tags
    (data,) = [text for kind, text in found.scripts if kind == "application/json"]
    assert json.loads(data)["cases"][0]["claim"] == NASTY
    assert "\u2028" not in data
    assert [kind for kind, _ in found.scripts] == ["application/json", ""]


def test_a_table_says_what_made_it(page: str) -> None:
    """Its program, its inputs and the very settings, in the notation of the configuration."""
    assert "Made by <code>scripts/table_veto.py</code>" in page
    assert "<code>results/r/s/x.parquet</code>" in page
    (shown_settings,) = re.findall(r'<pre class="settings"[^>]*>(.*?)</pre>', page, re.DOTALL)
    assert yaml.safe_load(html.unescape(shown_settings)) == MADE["settings"]


def test_what_is_simulated_says_so(render: Callable[..., str]) -> None:
    """Title, study, findings and contents, figure, table, cases and what is copied; nothing does where nothing is."""
    page = render(simulated=True)
    mark = '<strong class="basis">SIMULATED</strong>'
    for place in (
        rf"<h1>[^\n]*{mark}", rf'<h2 id="s-heading">S {mark}', rf"<h3>S {mark}", rf"<h3>veto</h3> {mark}",
        rf"<figcaption>[^\n]*{mark}", rf"Cases of s {mark}", r'data-basis="SIMULATED"',
    ):  # fmt: skip
        assert re.search(place, page), place
    plain = render(simulated=False)
    assert mark not in plain
    assert "data-basis=" not in plain.split("<script>")[0]


@pytest.mark.parametrize("simulated", [True, False])
def test_a_table_is_copied_as_its_file(render: Callable[..., str], tmp_path: Path, simulated: bool) -> None:
    """The cells' values, with the basis that the page says once, are the CSV file, however they are shown."""
    table = VALUES.set_column(0, "system", pa.array(["a", 'a "b", c', None, ""]))
    header, *rows = Page(render(simulated, table=table)).files["results/r/s/tables/veto.csv"]
    if simulated:
        header, rows = [*header, "basis"], [[*row, "SIMULATED"] for row in rows]
    written = io.StringIO()
    csv.writer(written, lineterminator="\n").writerows([header, *rows])
    assert written.getvalue() == (tmp_path / "results/r/s/tables/veto.csv").read_text(encoding="utf-8")


def test_long_tables_are_cut_and_name_their_file() -> None:
    """The first rows only; the number of all of them is said."""
    view = table_view("veto", pa.table({"a": list(range(MOST_ROWS + 1))}), None)
    assert (len(view["rows"]), view["total"]) == (MOST_ROWS, MOST_ROWS + 1)


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, ""), (True, "yes"), (0.5, "0.500"), (0.001234, "0.0012"), (0.0, "0.000"), (-0.25, "-0.250"), (7, "7"),
     (["a", "b"], "a, b"), (Decimal("0.900000"), "0.9"), ("x", "x")],
)  # fmt: skip
def test_values_are_shown_short(value: object, text: str) -> None:
    """Three places, four below .01; what is missing is an empty cell, which the style marks."""
    assert shown(value) == text


def test_the_audit_is_one_table_with_the_worst_first(page: str) -> None:
    """What got worse stands before what has always differed, and all of it can be read without a script."""
    _, *rows = Page(page).files["results/r/audit.parquet"]
    assert [row[4] for row in rows] == ["3", "2", "1"]
    assert [row[0] for row in rows] == ["differs (got worse)", "differs", "match"]
    assert rows[0][5] == repr(1 / 3)


def test_controls_have_labels_and_tables_have_headings(page: str) -> None:
    """Every control has a label, every heading cell a scope, every table a caption, every region a name."""
    found = Page(page)
    assert found.unlabelled == 0
    assert page.count("<th ") + page.count("<th>") == page.count('<th scope="col"')
    assert page.count("<table") == page.count("<caption")
    assert page.count('role="region"') == page.count('role="region" aria-label=')


def test_without_leave_the_page_says_why_there_is_no_text(render: Callable[..., str]) -> None:
    """And how to see the texts on one's own machine; with leave there is nothing to say."""
    assert "--config text=true" in render(text=False)
    assert "--config text=true" not in render(text=True)


def test_every_table_of_every_run_has_a_title() -> None:
    """The contents list says in a line what each table and figure answers."""
    sources, judges = read_sources(ROOT / "config/sources.tsv"), read_models(ROOT / "config/models.yaml")
    for name in ("demo", "paper", "panel"):
        plan = plan_run(name, read_run(ROOT / "config/runs", name), sources, lambda source: True, judges)
        for study in plan.studies.values():
            assert {item for first, table in study.tables.items() for item in [first, *table.also]} <= set(TITLES)
    assert "composition" in TITLES
    assert set(FIGURES) == set(CAPTIONS)


# --- findings --------------------------------------------------------------------------------------------------------


def test_findings_say_what_their_tables_hold() -> None:
    """Each sentence has the numbers of its row, rounded; a table that lacks a number gives no sentence."""
    summary = {
        "controller": "F-E", "arithmetic": "exact", "mean_se": -0.0012, "low": -0.015, "high": 0.0138,
        "support_low": 0.1, "support_high": 0.476,
    }  # fmt: skip
    contrast = {
        "a": "confidence", "b": "structure", "auprc_a": 0.342, "auprc_b": 0.577, "delta": 0.2353,
        "refit_low": 0.0718, "refit_high": 0.3988,
    }  # fmt: skip
    risk = [
        {"alpha": alpha, "arithmetic": "exact", "violations": k, "splits": 200} for alpha, k in ((0.2, 1), (0.1, 82))
    ]
    (one,) = headlines({"sweep_summary": [summary]})
    assert "(.100 to .476)" in one
    assert "-.001 (95% interval -.015 to +.014)" in one
    (two,) = headlines({"screening_contrast": [contrast]})
    assert ".342 from stated confidence and .577 from the certificate's structure: +.235" in two
    (three,) = headlines({"risk": risk})
    assert "at most .100 of all claims" in three
    assert "82 of 200 splits" in three
    assert headlines({"sweep_summary": [{**summary, "mean_se": None}], "risk": []}) == []
    assert headlines({}) == []


def test_shares_have_no_zero_before_the_point() -> None:
    """Three places; differences have a sign; a p value is never 0."""
    assert [share(0.0416), share(1.0)] == [".042", "1.000"]
    assert [signed(0.0416), signed(-0.0416), signed(0.0), signed(-1.0)] == ["+.042", "-.042", "+.000", "-1.000"]
    assert [probability(0.0004), probability(0.059)] == ["below .001", ".059"]


# --- script ----------------------------------------------------------------------------------------------------------


def test_the_script_is_strict_and_asks_for_each_thing_it_needs(page: str) -> None:
    """Each element that the script looks up by a fixed id is in the page."""
    script = (ROOT / "workflow/report/page.js").read_text(encoding="utf-8")
    asked = set(re.findall(r'getElementById\("([^"]+)"\)', script))
    assert asked <= set(Page(page).ids)
    assert {"status", "find", "found-cases", "audit-filters"} <= asked


if shutil.which("node"):  # the script's logic needs no browser; where there is no engine it is not collected

    def logic(call: str) -> Any:
        """The value of an expression on the script's logic."""
        module = json.dumps(str(ROOT / "workflow/report/page.js"))
        program = f"const l = require({module}); console.log(JSON.stringify({call}))"
        return json.loads(subprocess.run(["node", "-e", program], capture_output=True, text=True, check=True).stdout)

    def test_rows_are_sorted_by_number_or_text_with_missing_ones_last() -> None:
        """Stable, numbers by size, text with numbers in it naturally, missing last in either direction."""
        assert logic('l.order(["3", "", "10", "-2.5e-1"], false)') == [3, 0, 2, 1]
        assert logic('l.order(["3", "", "10", "-2.5e-1"], true)') == [2, 0, 3, 1]
        assert logic('l.order(["E@0.90", "E@0.85", "D/any"], false)') == [2, 1, 0]
        assert logic('l.order(["a", "b", "a"], true)') == [1, 0, 2]

    def test_copied_csv_is_quoted_as_the_files_are() -> None:
        """Commas, quotes and line ends are quoted, nothing else."""
        cells = [["a", "b c"], ['x "y"', "1,5"], ["line\nend", ""]]
        written = io.StringIO()
        csv.writer(written, lineterminator="\n").writerows(cells)
        assert logic(f"l.csv({json.dumps(cells)})") == written.getvalue()

    def test_copied_latex_is_escaped_and_says_simulated() -> None:
        """Marks of LaTeX are escaped; the basis is typeset, not a comment."""
        given = {
            "head": ["a_b", "n"],
            "body": [["50% & \\x", ""]],
            "numbers": [2],
            "basis": "SIMULATED",
            "file": "f.csv",
        }
        lines = logic(f"l.latex({json.dumps(given)})").splitlines()
        assert lines[1] == "\\begin{tabular}{lr}"
        assert lines[3] == "\\multicolumn{2}{l}{SIMULATED: rests on simulated judges} \\\\"
        assert lines[4:7] == ["a\\_b & n \\\\", "\\hline", "50\\% \\& \\textbackslash{}x & -- \\\\"]
        plain = logic(f"l.latex({json.dumps({**given, 'basis': None})})")
        assert "SIMULATED" not in plain

    def test_cases_are_found_by_number_words_gold_and_every_tag() -> None:
        """After "case" a number is the case's own; tags and words must all hold."""
        cases = [
            {"id": 7, "stratum": "s", "gold": "support", "claim": "A bridge", "tags": ["cpo"]},
            {"id": 8, "stratum": "s", "gold": "refute", "claim": "7 bridges", "tags": ["cpo", "vetoed"]},
        ]
        for wanted, ids in (
            ({"text": "case 7"}, [7]), ({"text": "7"}, [7, 8]), ({"text": "BRIDGE"}, [7, 8]), ({"gold": "refute"}, [8]),
            ({"tags": ["cpo"]}, [7, 8]), ({"tags": ["cpo", "vetoed"]}, [8]), ({}, [7, 8]), ({"text": "case"}, []),
        ):  # fmt: skip
            assert [case["id"] for case in logic(f"l.chosen({json.dumps(cases)}, {json.dumps(wanted)})")] == ids
        assert logic('l.effect("E@0.90", "no_commit", "support")') == "withholds it"
        ids = ["E1", "E2", "E3", "E0", "e1", "ordinance", "(another id)"]
        assert logic(f"{json.dumps(ids)}.map((id) => l.cited(id, 2))") == [0, 1, -1, -1, -1, -1, None]
        assert logic(f"{json.dumps(ids)}.map((id) => l.cited(id, null))") == [None] * len(ids)
