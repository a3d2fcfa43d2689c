"""The rows of docs/interval-coverage.csv: made, written, read and found."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from warrant.interval_coverage.binomial import exact_gaps, exact_rates
from warrant.interval_coverage.methods import BESIDE
from warrant.interval_coverage.replications import study
from warrant.interval_coverage.settings import SETTINGS

REPLICATIONS, RESAMPLES, DRAWS, PER_LABEL, SEED = 1000, 2000, 200, 500_000, 20260522
TESTED: Final = ("averitec", "vitaminc_mixed", "demo")  # settings in which the random-veto null is run too
ERRORS: Final = 3  # Monte Carlo standard errors below nominal that count as under-covering
COLUMNS: Final = (
    "setting", "table", "row", "metric", "method", "nominal", "replications", "defined", "share", "share_error",
    "truth", "truth_error", "bias", "bias_error", "above", "below", "width", "empty",
)  # fmt: skip
Row = Mapping[str, str]


def measured() -> list[dict[str, str]]:
    """Every row of the CSV."""
    rows: list[dict[str, object]] = []
    for position, setting in enumerate(SETTINGS):
        draws = DRAWS if setting.name in TESTED else 0
        rows += study(setting, REPLICATIONS, RESAMPLES, draws, PER_LABEL, SEED + position * 10 * REPLICATIONS)
    return [{name: _cell(row.get(name, "")) for name in COLUMNS} for row in (*rows, *exact_rates(), *exact_gaps())]


def _cell(value: object) -> str:
    if isinstance(value, float):
        return "" if math.isnan(value) else f"{value:.6f}"
    return str(value)


def as_csv(rows: Iterable[Row]) -> str:
    """The CSV's text."""
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def read_csv(text: str) -> list[dict[str, str]]:
    """The rows of the CSV's text."""
    return list(csv.DictReader(io.StringIO(text)))


def number(row: Row, name: str) -> float:
    """A cell as a number."""
    return float(row[name])


def percent(row: Row, name: str = "share") -> str:
    """A share in percent."""
    return f"{100 * number(row, name):.1f}"


def short(row: Row) -> bool:
    """Whether an interval's coverage is below nominal by more than ERRORS Monte Carlo standard errors."""
    nominal = number(row, "nominal")
    return number(row, "share") < nominal - ERRORS * math.sqrt(nominal * (1 - nominal) / number(row, "defined"))


def mean(rows: Sequence[Row], name: str) -> float:
    """Mean of a column."""
    return math.fsum(number(row, name) for row in rows) / len(rows)


def least(rows: Sequence[Row]) -> Row:
    """The row of least coverage."""
    return min(rows, key=lambda row: number(row, "share"))


def where(row: Row) -> str:
    """What an interval is about."""
    return f"{row['row']}, {row['metric']}"


class Measured:
    """The rows of the CSV, found by the values of columns."""

    def __init__(self, rows: Sequence[Row]) -> None:
        """Keep the rows; settings in their order."""
        self.rows = rows
        self.settings = [s for s in dict.fromkeys(row["setting"] for row in rows) if s != "exact"]

    def all(self, keep: Callable[[Row], bool] = lambda row: True, **values: str) -> list[Row]:
        """Rows with these values."""
        return [row for row in self.rows if values.items() <= row.items() and keep(row)]

    def beside(self, row: Row) -> Row:
        """The row of what stands beside a published interval."""
        values = {name: row[name] for name in ("setting", "table", "row", "metric")}
        values["method"] = BESIDE[row["method"]]
        (found,) = [one for one in self.rows if values.items() <= one.items()]
        return found


def moved(data: Measured) -> tuple[int, int]:
    """Rows whose mean estimate is more than ERRORS standard errors from the truth, of how many."""
    found = data.all(lambda row: row["bias"] != "" and row["method"] in BESIDE and number(row, "bias_error") > 0)
    return len([row for row in found if abs(number(row, "bias")) > ERRORS * number(row, "bias_error")]), len(found)
