"""Audit: every published number beside the recomputed one.

A row of config/published/*.tsv says where a number is printed, which cell of which table recomputes it, and how
far the two may be apart. `match`: they agree. `differs-explained`: they do not, a finding says why, and the
recomputation gives the value which that finding predicts. `not-computable`: a source is lacking (it is named).
`differs`: anything else.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from warrant import artifact
from warrant.artifact import field
from warrant.errors import bad_input

STATUSES: Final = ("match", "differs-explained", "not-computable", "differs")  # from best to worst
TOLERANCES: Final = "exact, digits, within X, at_most, at_least, above, below or monte_carlo B"
SCHEMA: Final = pa.schema(
    [
        field("paper", pa.string(), "verdict or debate", nullable=False),
        field("table", pa.string(), "where the number is printed", nullable=False),
        field("page", pa.string(), "page, where it is known"),
        field("row", pa.string(), "row of the published table", nullable=False),
        field("column", pa.string(), "column of the published table", nullable=False),
        field("published", pa.string(), "the number as printed", nullable=False),
        field("recomputed", pa.float64(), "this run's value"),
        field("tolerance", pa.string(), "how far they may be apart", nullable=False),
        field("status", pa.string(), "match, differs-explained, not-computable or differs", nullable=False),
        field("note", pa.string(), "why", nullable=False),
        field("provenance", pa.string(), "paper, released, derived or inferred", nullable=False),
        field("study", pa.string(), "study of the run", nullable=False),
        field("cell", pa.string(), "table, row and column that recompute it", nullable=False),
        field("committed", pa.string(), "the status that is committed", nullable=False),
        field("worse", pa.bool_(), "the status is worse than the committed one", nullable=False),
    ]
)
Row = Mapping[str, Any]


@dataclass(frozen=True)
class Published:
    """One published number. Column meanings: config/published/README.md."""

    paper: str
    table: str
    page: str
    row: str
    column: str
    published: str
    status: str
    study: str
    artifact: str
    select: str
    field: str
    tolerance: str
    finding: str
    alternative: str
    needs: str
    expect: str

    @property
    def keys(self) -> dict[str, str]:
        """The selection as column -> value."""
        pairs = (item.partition("=") for item in self.select.split(";") if item)
        return {name: value for name, _, value in pairs}


def read_published(path: Path) -> list[Published]:
    """Read published numbers; InputError names the row and field of anything malformed."""
    names = [item.name for item in fields(Published)]
    rows = []
    with path.open(encoding="utf-8", newline="") as handle:
        reader = csv.reader(handle, delimiter="\t", quoting=csv.QUOTE_NONE)
        header = next(reader, [])
        if header != names:
            raise bad_input(path, row=1, found=header, expected=f"the columns {names}")
        for number, cells in enumerate(reader, start=2):
            if len(cells) != len(names):
                raise bad_input(path, row=number, found=f"{len(cells)} fields", expected=f"{len(names)} fields")
            row = Published(*cells)
            for name in ("published", "alternative"):
                value = getattr(row, name)
                if not (name == "alternative" and not value) and _number(value) is None:
                    raise bad_input(path, row=number, field=name, found=value, expected="a number")
            if row.expect not in STATUSES:
                raise bad_input(path, row=number, field="expect", found=row.expect, expected=f"one of {STATUSES}")
            try:
                agrees(row.published, 0.0, row.tolerance)
            except ValueError as error:
                raise bad_input(path, row=number, field="tolerance", found=row.tolerance, expected=str(error)) from None
            rows.append(row)
    return rows


def agrees(published: str, recomputed: float, tolerance: str) -> bool:
    """Whether two numbers agree. ValueError for an unknown tolerance.

    exact; digits (equal once rounded to the printed digits, either way at a tie); within X; at_most; at_least;
    above; below; monte_carlo B (three binomial standard errors of a p value from B draws).
    """
    kind, _, argument = tolerance.partition(" ")
    if not _sensible(kind, argument):
        raise ValueError(TOLERANCES)
    printed = Decimal(published)
    value = float(printed)
    slack = 1e-9  # decimal text against binary floats
    if kind == "exact":
        return abs(recomputed - value) <= slack
    if kind == "digits":
        exponent = int(printed.as_tuple().exponent)
        return abs(recomputed - value) <= 0.5 * 10.0**exponent + slack
    if kind == "within":
        return abs(recomputed - value) <= float(argument) + slack
    if kind == "at_most":
        return recomputed <= value + slack
    if kind == "at_least":
        return recomputed >= value - slack
    if kind == "above":
        return recomputed > value
    if kind == "below":
        return recomputed < value
    if kind == "monte_carlo":
        draws = int(argument)
        p = min(max(value, 1 / draws), 1 - 1 / draws)
        return abs(recomputed - value) <= 3 * math.sqrt(p * (1 - p) / draws)
    raise ValueError(TOLERANCES)


def _sensible(kind: str, argument: str) -> bool:
    """Whether a tolerance has the argument that its kind needs, and no other."""
    if kind == "within":
        number = _number(argument)
        return number is not None and number >= 0
    if kind == "monte_carlo":
        return argument.isascii() and argument.isdigit() and int(argument) > 0
    return not argument


def audit(
    published: Iterable[Published],
    tables: Mapping[tuple[str, str], Sequence[Row]],
    missing: Sequence[Mapping[str, Any]],
    findings: Mapping[str, str],
) -> pa.Table:
    """Compare every published number. tables: (study, table) -> rows. missing: plan.Missing as mappings.

    findings: id -> title, for the notes.
    """
    return artifact.from_rows((_compare(row, tables, missing, findings) for row in published), SCHEMA)


def _compare(
    row: Published,
    tables: Mapping[tuple[str, str], Sequence[Row]],
    missing: Sequence[Mapping[str, Any]],
    findings: Mapping[str, str],
) -> dict[str, Any]:
    value, note = _cell(row, tables.get((row.study, row.artifact)))
    if value is None:
        lacking = sorted(
            set(row.needs.split())
            | {
                source
                for item in missing
                if item["study"] == row.study and row.artifact in item["tables"]
                for source in item["sources"]
            }
        )
        built = (row.study, row.artifact) in tables
        status = "differs" if built and not lacking else "not-computable"
        if lacking:
            note = f"lacks {', '.join(lacking)}"
        elif not built:
            note = f"this version has no table {row.artifact}"
    elif agrees(row.published, value, row.tolerance):
        status, note = "match", ""
    elif row.finding and row.alternative and agrees(row.alternative, value, _alternative_tolerance(row)):
        status = "differs-explained"
        note = f"{row.finding}: {findings.get(row.finding, 'no such finding')} (expected {row.alternative})"
    else:
        status = "differs"
        note = f"finding {row.finding} does not account for this value" if row.finding else "unexplained"
    return {
        "paper": row.paper,
        "table": row.table,
        "page": row.page or None,
        "row": row.row,
        "column": row.column,
        "published": row.published,
        "recomputed": value,
        "tolerance": row.tolerance,
        "status": status,
        "note": note,
        "provenance": row.status,
        "study": row.study,
        "cell": f"{row.artifact}[{row.select}].{row.field}",
        "committed": row.expect,
        "worse": STATUSES.index(status) > STATUSES.index(row.expect),
    }


def _alternative_tolerance(row: Published) -> str:
    """Bounds say nothing about how near the predicted value must be: it is held to its own digits."""
    return "digits" if row.tolerance in ("at_most", "at_least", "above", "below") else row.tolerance


def _cell(row: Published, table: Sequence[Row] | None) -> tuple[float | None, str]:
    """The recomputed value, or None and why there is none."""
    if table is None:
        return None, f"no table {row.artifact}"
    found = [line for line in table if all(_same(line.get(key), value) for key, value in row.keys.items())]
    if len(found) != 1:
        return None, f"{len(found)} rows of {row.artifact} have {row.select}"
    if row.field not in found[0]:
        return None, f"{row.artifact} has no column {row.field}"
    value = found[0][row.field]
    if value is None:
        return None, "not computable"
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        return None, f"{row.artifact}.{row.field} is no number"
    return float(value), ""


def _same(cell: object, wanted: str) -> bool:
    if cell is None:
        return wanted == ""
    if isinstance(cell, int | float | Decimal) and not isinstance(cell, bool):
        number = _number(wanted)
        return number is not None and float(number) == float(cell)
    return str(cell) == wanted


def _number(text: str) -> Decimal | None:
    try:
        number = Decimal(text)
    except InvalidOperation:
        return None
    return number if number.is_finite() else None


def summary(rows: Iterable[Row]) -> dict[str, int]:
    """Number of rows by status, in the order of STATUSES."""
    counts = dict.fromkeys(STATUSES, 0)
    for row in rows:
        counts[row["status"]] += 1
    return counts
