"""What the report's template shows of tables, figures, cases and the audit, as plain data."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any, Final

import pyarrow as pa

from warrant.artifact import csv_cell
from warrant.audit import STATUSES
from warrant.step import SIMULATED
from warrant.table_titles import TITLES

MOST_ROWS: Final = 500  # of one table on the page; the files hold all
WIDE: Final = 13  # columns that a portrait page does not hold
View = dict[str, Any]
Cell = tuple[str, str | None]


def shown(value: object) -> str:
    """A value for people: floats to three places (four below .01), lists joined, nothing where it is missing."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4f}" if value and abs(value) < 0.01 else f"{value:.3f}"
    if isinstance(value, Decimal):
        return format(value.normalize(), "f")
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ", ".join(map(str, value))
    return str(value)


def cell(value: object) -> Cell:
    """A cell: its text, and the file's value where that is another."""
    text, file = shown(value), csv_cell(value)
    return text, None if file == text else file


def table_view(name: str, table: pa.Table, basis: str | None) -> View:
    """A table: columns with their meaning, rows of cells; what is simulated says so above it, not in every row."""
    if basis is not None:
        table = table.drop_columns("basis")
    columns = [column_view(field) for field in table.schema]
    cells = ([cell(value) for value in column.to_pylist()] for column in table.slice(0, MOST_ROWS).columns)
    return {
        "name": name,
        "title": TITLES.get(name, ""),
        "columns": columns,
        "numbers": [place for place, column in enumerate(columns, start=1) if column["number"]],
        "rows": list(zip(*cells, strict=True)),
        "total": table.num_rows,
        "wide": table.num_columns >= WIDE,
        "basis": basis,
    }


def column_view(field: pa.Field[Any]) -> View:
    """A column: its name, what it holds, and whether its values are numbers."""
    kind = field.type
    return {
        "name": field.name,
        "meaning": (field.metadata or {}).get(b"meaning", b"").decode(),
        "number": pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind),
    }


def cases_view(text: str) -> View:
    """A study's cases: how many, whether texts are among them, and the JSON as a script element may hold it."""
    content = json.loads(text)
    return {
        "json": embedded(text),
        "count": len(content["cases"]),
        "text": content["text"],
        "basis": content["basis"],
    }


def embedded(text: str) -> str:
    """JSON as it may stand in a script element: no text in it ends the element or a line."""
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def worst_first(audit: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Rows of the audit by status, the worst first; within a status what got worse first."""
    return sorted(audit, key=lambda row: (-STATUSES.index(row["status"]), not row["worse"]))


def basis_of(views: Iterable[View]) -> str | None:
    """SIMULATED when something that is shown rests on simulated judges."""
    return SIMULATED if any(view["basis"] for view in views) else None
