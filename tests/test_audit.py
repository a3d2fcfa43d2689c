"""The audit: a published number agrees, differs for a reason that predicts the value, lacks a source, or differs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from warrant import artifact
from warrant.audit import SCHEMA, STATUSES, Published, agrees, audit, read_published, summary

# --- tolerances ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tolerance", "published", "recomputed", "expected"),
    [
        ("exact", "28", 28.0, True),
        ("exact", "28", 28.000001, False),
        ("exact", "0.1", 0.1, True),
        ("digits", "0.416", 0.41561, True),
        ("digits", "0.416", 0.4154, False),
        ("digits", "0.640", 0.6404, True),
        ("digits", "0.64", 0.6404, True),
        ("digits", "0.640", 0.6449, False),
        ("digits", "0.64", 0.6449, True),
        ("digits", "727", 727.4, True),
        ("digits", "727", 727.6, False),
        ("digits", "-0.05", -0.0524, True),
        ("digits", "-0.05", 0.05, False),
        ("within 0.01", "0.30", 0.31, True),
        ("within 0.01", "0.30", 0.29, True),
        ("within 0.01", "0.30", 0.3101, False),
        ("at_most", "0.07", 0.07, True),
        ("at_most", "0.07", 0.0701, False),
        ("at_least", "0.04", 0.04, True),
        ("at_least", "0.04", 0.0399, False),
        ("above", "0", 0.001, True),
        ("above", "0", 0.0, False),
        ("below", "0", -0.001, True),
        ("below", "0", 0.0, False),
        ("monte_carlo 2000", "0.05", 0.05 + 3 * (0.05 * 0.95 / 2000) ** 0.5 - 1e-6, True),
        ("monte_carlo 2000", "0.05", 0.05 + 3 * (0.05 * 0.95 / 2000) ** 0.5 + 1e-6, False),
        ("monte_carlo 2000", "0", 0.001, True),
        ("monte_carlo 2000", "0", 0.01, False),
        ("monte_carlo 2000", "1", 0.999, True),
    ],
)
def test_the_tolerances(tolerance: str, published: str, recomputed: float, expected: bool) -> None:
    """Each kind accepts what it says and nothing beyond."""
    assert agrees(published, recomputed, tolerance) is expected


@given(st.integers(-999, 999), st.integers(1, 4))
def test_at_a_tie_either_rounding_agrees(digits: int, places: int) -> None:
    """A value half way between two printed numbers agrees with both, whatever its binary form, and with no other."""
    tie = (2 * Decimal(digits) + 1).scaleb(-places) / 2
    lower, upper = Decimal(digits).scaleb(-places), Decimal(digits + 1).scaleb(-places)
    assert agrees(str(lower), float(tie), "digits")
    assert agrees(str(upper), float(tie), "digits")
    assert not agrees(str(Decimal(digits + 2).scaleb(-places)), float(tie), "digits")
    assert not agrees(str(Decimal(digits - 1).scaleb(-places)), float(tie), "digits")


@given(st.decimals(-2, 2, places=6), st.integers(0, 5))
def test_a_value_agrees_with_its_own_rounding(value: Decimal, places: int) -> None:
    """Whatever is printed by rounding agrees in its digits."""
    assert agrees(f"{value:.{places}f}", float(value), "digits")


@pytest.mark.parametrize("tolerance", ["", "about", "within", "within x", "Exact", "monte_carlo", "monte_carlo x"])
def test_an_unknown_tolerance_is_an_error(tolerance: str) -> None:
    """The grammar has eight kinds."""
    with pytest.raises(ValueError):  # noqa: PT011 - the reader of the file gives it its words
        agrees("1", 1.0, tolerance)


# --- statuses --------------------------------------------------------------------------------------------------------

ROW = Published(
    paper="verdict",
    table="Table 1",
    page="",
    row="Panel",
    column="SE",
    published="0.42",
    status="paper",
    study="s",
    artifact="ladder",
    select="system=panel;tau=0.90",
    field="se",
    tolerance="digits",
    finding="",
    alternative="",
    needs="",
    expect="match",
)
LADDER: list[dict[str, Any]] = [
    {"system": "panel", "tau": 0.9, "se": 0.4202, "n": 10},
    {"system": "panel", "tau": None, "se": 0.5, "n": 10},
    {"system": "judge", "tau": 0.9, "se": None, "n": 10},
]
EXPLAINED = replace(ROW, published="0.50", finding="F1", alternative="0.42")


def audited(
    row: Published, *, built: bool = True, missing: Mapping[str, Any] | None = None, rows: Any = LADDER
) -> dict[str, Any]:
    """The one audit row of a published number."""
    tables = {("s", "ladder"): rows} if built else {}
    lacks = [] if missing is None else [missing]
    (found,) = audit([row], tables, lacks, {"F1": "A finding"}).to_pylist()
    return dict(found)


LACKING = {"study": "s", "what": "arm 4opt", "tables": ["ladder"], "unbuilt": ["ladder"], "sources": ["b", "a"]}


@pytest.mark.parametrize(
    ("row", "more", "status", "note"),
    [
        (ROW, {}, "match", ""),
        (replace(ROW, published="0.43"), {}, "differs", "unexplained"),
        (EXPLAINED, {}, "differs-explained", "F1: A finding (expected 0.42)"),
        (replace(EXPLAINED, published="0.42"), {}, "match", ""),
        (replace(EXPLAINED, alternative="0.41"), {}, "differs", "finding F1 does not account for this value"),
        (replace(EXPLAINED, alternative=""), {}, "differs", "finding F1 does not account for this value"),
        (replace(EXPLAINED, finding=""), {}, "differs", "unexplained"),
        (replace(EXPLAINED, finding="F9"), {}, "differs-explained", "F9: no such finding (expected 0.42)"),
        (replace(ROW, select="system=judge"), {"missing": LACKING}, "not-computable", "lacks a, b"),
        (ROW, {"built": False, "missing": LACKING}, "not-computable", "lacks a, b"),
        (ROW, {"built": False}, "not-computable", "this version has no table ladder"),
        (replace(ROW, needs="z c"), {"built": False, "missing": LACKING}, "not-computable", "lacks a, b, c, z"),
        (replace(ROW, select="system=judge", needs="z"), {}, "not-computable", "lacks z"),
        (replace(ROW, select="system=judge"), {}, "differs", "not computable"),
        (replace(ROW, select="system=nobody"), {}, "differs", "0 rows of ladder have system=nobody"),
        (replace(ROW, select="system=panel"), {}, "differs", "2 rows of ladder have system=panel"),
        (replace(ROW, select=""), {}, "differs", "3 rows of ladder have "),
        (replace(ROW, select="sistem=panel"), {}, "differs", "0 rows of ladder have sistem=panel"),
        (replace(ROW, field="sel"), {}, "differs", "ladder has no column sel"),
        (ROW, {"missing": LACKING}, "match", ""),
        (ROW, {"built": False, "missing": {**LACKING, "study": "t"}}, "not-computable", "this version has no table"),
        (
            replace(ROW, select="system=judge"),
            {"missing": {**LACKING, "tables": ["null"]}},
            "differs",
            "not computable",
        ),
    ],
    ids=[
        "agrees",
        "differs",
        "explained",
        "agrees although a finding was expected",
        "another value than the finding predicts",
        "finding without a prediction",
        "prediction without a finding",
        "finding without a title",
        "null while a source is lacking",
        "table unbuilt while a source is lacking",
        "table of another version",
        "sources of the row and of the plan",
        "sources of the row alone",
        "null while nothing is lacking",
        "select without a row",
        "select with two rows",
        "no select",
        "select of no column",
        "no such column",
        "agrees although a source is lacking",
        "source of another study",
        "source of another table",
    ],
)
def test_the_status_of_a_number(row: Published, more: dict[str, Any], status: str, note: str) -> None:
    """Match, explained by a finding that predicts the value, not computable by name, or differs."""
    found = audited(row, **more)
    assert found["status"] == status
    assert found["note"].startswith(note)
    assert found["note"] == note or "no table" in note


def test_a_finding_explains_only_the_value_that_it_predicts() -> None:
    """Within a bound the predicted value is held to its own digits, else to the row's tolerance."""
    row = replace(ROW, published="0.1", tolerance="at_most", finding="F1", alternative="0.42")
    assert audited(row)["status"] == "differs-explained"
    assert audited(replace(row, alternative="0.43"))["status"] == "differs"
    row = replace(ROW, published="0.1", tolerance="within 0.001", finding="F1", alternative="0.421")
    assert audited(row)["status"] == "differs-explained"
    assert audited(replace(row, alternative="0.422"))["status"] == "differs"


@pytest.mark.parametrize(
    ("select", "found"),
    [
        ("system=panel;tau=.9", True),
        ("system=panel;tau=0.900", True),
        ("system=panel;tau=", False),
        ("tau=;system=panel", False),
        ("system=judge;n=10", False),
        ("system=panel;tau=0.91", False),
        ("system=panel;tau=high", False),
    ],
)
def test_a_select_compares_numbers_as_numbers_and_empty_with_null(select: str, found: bool) -> None:
    """One row is chosen by all its keys."""
    assert (audited(replace(ROW, select=select))["status"] == "match") is found
    null = replace(ROW, select="system=panel;tau=", published="0.5", tolerance="exact")
    assert audited(null)["status"] == "match"


@pytest.mark.parametrize("expect", STATUSES)
@pytest.mark.parametrize("row", [ROW, EXPLAINED, replace(ROW, select="system=judge", needs="z")])
def test_worse_means_behind_the_committed_status(row: Published, expect: str) -> None:
    """From best to worst: match, differs-explained, not-computable, differs."""
    found = audited(replace(row, expect=expect))
    assert found["committed"] == expect
    assert found["worse"] == (STATUSES.index(found["status"]) > STATUSES.index(expect))


def test_a_row_says_what_was_compared_with_what() -> None:
    """Published as printed, recomputed as computed, the cell that did it, and how the number is known."""
    found = audited(ROW)
    assert (found["published"], found["recomputed"], found["page"]) == ("0.42", 0.4202, None)
    assert found["cell"] == "ladder[system=panel;tau=0.90].se"
    assert (found["provenance"], found["study"], found["tolerance"]) == ("paper", "s", "digits")
    assert audited(replace(ROW, page="7"))["page"] == "7"


def test_the_summary_counts_every_status() -> None:
    """In the order from best to worst, zeros included."""
    rows = [{"status": "match"}, {"status": "differs"}, {"status": "match"}]
    assert list(summary(rows).items()) == [
        ("match", 2),
        ("differs-explained", 0),
        ("not-computable", 0),
        ("differs", 1),
    ]


# --- reading ---------------------------------------------------------------------------------------------------------

COLUMNS = [item.name for item in fields(Published)]


def written(path: Path, *rows: Published, header: list[str] = COLUMNS) -> Path:
    lines = [header, *([str(getattr(row, name)) for name in COLUMNS] for row in rows)]
    path.write_text("".join("\t".join(cells) + "\n" for cells in lines), encoding="utf-8")
    return path


def test_published_numbers_are_read_as_they_stand(tmp_path: Path) -> None:
    """No quoting, no change of digits, rows in their order."""
    rows = [replace(ROW, published="0.640", column='a "quoted" column'), EXPLAINED]
    assert read_published(written(tmp_path / "p.tsv", *rows)) == rows


@pytest.mark.parametrize(
    ("change", "parts"),
    [
        ({"published": ""}, ("field published", "''", "a number")),
        ({"published": "28/150"}, ("field published", "'28/150'", "a number")),
        ({"published": "NaN"}, ("field published", "'NaN'", "a number")),
        ({"published": "0,42"}, ("field published", "'0,42'")),
        ({"alternative": "many"}, ("field alternative", "'many'", "a number")),
        ({"expect": "fine"}, ("field expect", "'fine'", "differs-explained")),
        ({"expect": ""}, ("field expect", "''")),
        ({"tolerance": "about"}, ("field tolerance", "'about'", "within X")),
        ({"tolerance": ""}, ("field tolerance", "''")),
        ({"tolerance": "within x"}, ("field tolerance", "'within x'")),
        ({"row": "a\tb"}, ("17 fields", "16 fields")),
    ],
)
def test_a_malformed_row_is_refused(
    tmp_path: Path, refused: Any, change: dict[str, str], parts: tuple[str, ...]
) -> None:
    """The file, the row (the header is the first), the field, what was found and what was expected."""
    with refused("p.tsv", "row 3", *parts):
        read_published(written(tmp_path / "p.tsv", ROW, replace(ROW, **change)))


def test_another_header_is_refused(tmp_path: Path, refused: Any) -> None:
    """The columns are fixed, in their order."""
    with refused("p.tsv", "row 1", "expect"):
        read_published(written(tmp_path / "p.tsv", header=COLUMNS[::-1]))
    (tmp_path / "empty.tsv").write_text("")
    with refused("empty.tsv", "row 1"):
        read_published(tmp_path / "empty.tsv")


# --- the programs ----------------------------------------------------------------------------------------------------


def test_the_audit_names_what_got_worse_and_the_strict_audit_stops_there(
    run_step: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str], refused: Any
) -> None:
    """scripts/audit.py reads tables by their place; scripts/strict_audit.py fails on a row worse than committed."""
    import pyarrow as pa

    artifact.write(pa.Table.from_pylist(LADDER), tmp_path / "s/tables/ladder.parquet")
    (tmp_path / "findings.tsv").write_text("id\tpaper\ttitle\nF1\tverdict\tA finding\n")
    inputs = {
        "tables": [tmp_path / "s/tables/ladder.parquet"],
        "published": [written(tmp_path / "p.tsv", ROW, EXPLAINED)],
        "findings": [tmp_path / "findings.tsv"],
    }
    outputs = {"audit": tmp_path / "audit.parquet"}
    run_step("audit", inputs, outputs, {"missing": []})
    found = artifact.read(outputs["audit"], SCHEMA).to_pylist()
    assert [(row["status"], row["worse"]) for row in found] == [("match", False), ("differs-explained", True)]
    said = capsys.readouterr().out.splitlines()
    assert [line.split() for line in said[:4]] == [
        ["1", "match"],
        ["1", "differs-explained"],
        ["0", "not-computable"],
        ["0", "differs"],
    ]
    assert said[4].startswith("worse than committed: Table 1, Panel, SE (s): 0.50 published, 0.4202 recomputed")
    strict = {"audit": [outputs["audit"]]}
    with pytest.raises(ValueError, match=r"^1 audit rows are worse than committed\nTable 1, Panel, SE"):
        run_step("strict_audit", strict, {"verdict": tmp_path / "ok.txt"}, {})
    assert not (tmp_path / "ok.txt").exists()
    written(tmp_path / "p.tsv", ROW)
    run_step("audit", inputs, outputs, {"missing": []})
    run_step("strict_audit", strict, {"verdict": tmp_path / "ok.txt"}, {})
    assert (tmp_path / "ok.txt").read_text() == "1 audit rows, none worse than committed\n"
