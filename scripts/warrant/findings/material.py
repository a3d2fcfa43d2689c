"""What findings rest on, and how their numbers are shown."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

from warrant import artifact
from warrant.audit import Published, read_published
from warrant.errors import InputError

Row = dict[str, Any]
Lines = Iterator[str]
AVERITEC: Final = "averitec"
VITAMINC: Final = "vitaminc_mixed"
SETTINGS: Final = (AVERITEC, VITAMINC)
CONTEMPORARY: Final = {
    "GPT-5.6 Terra": "single/gpt-5.6-terra/4opt",
    "Claude Sonnet 5": "single/claude-sonnet-5/4opt",
    "gpt-oss-120b": "single/gpt-oss-120b/4opt",
    "Mistral Small 4": "single/mistral-small-4/4opt",
}


@dataclass(frozen=True)
class Material:
    """Where built tables, the configuration and this project's own studies lie. Nothing is ever written there."""

    results: Path = Path("results")
    config: Path = Path("config")
    docs: Path = Path("docs")

    def built(self, name: str, run: str = "paper") -> Path:
        """A file of a run; InputError when it is not built."""
        path = self.results / run / name
        if not path.is_file():
            raise InputError(f"{path} is not built; `snakemake --cores 8 --config runs={run}` builds what it can")
        return path

    def rows(self, study: str, table: str, run: str = "paper", **keys: object) -> list[Row]:
        """The rows of a built table that have these values."""
        listed = artifact.read(self.built(f"{study}/tables/{table}.parquet", run)).to_pylist()
        return [row for row in listed if keys.items() <= row.items()]

    def one(self, study: str, table: str, run: str = "paper", **keys: object) -> Row:
        """The one row of a built table that has these values; InputError when there are none or several."""
        found = self.rows(study, table, run, **keys)
        if len(found) != 1:
            raise InputError(f"{study}/tables/{table}: found {len(found)} rows with {keys}, expected one")
        return found[0]

    def published(self, **keys: str) -> list[Published]:
        """Published numbers of the verdict paper whose columns have these values."""
        listed = read_published(self.config / "published/verdict.tsv")
        return [row for row in listed if all(getattr(row, name) == value for name, value in keys.items())]

    def number(self, **keys: str) -> str:
        """The one published number with these columns, as printed; InputError when there are none or several."""
        found = {row.published for row in self.published(**keys)}
        if len(found) != 1:
            raise InputError(f"{self.config}/published/verdict.tsv: found {len(found)} numbers with {keys}, expected 1")
        return found.pop()

    def settings(self, study: str) -> Mapping[str, Any]:
        """A study of the run `paper`, as configured."""
        text = (self.config / "runs/paper.yaml").read_text(encoding="utf-8")
        settings: Mapping[str, Any] = yaml.safe_load(text)["studies"][study]
        return settings

    def coverage(self, **keys: str) -> list[Row]:
        """Rows of docs/interval-coverage.csv."""
        with (self.docs / "interval-coverage.csv").open(encoding="utf-8", newline="") as handle:
            return [row for row in csv.DictReader(handle) if keys.items() <= row.items()]


Finding = Callable[[Material], Lines]


def show(value: float | None, places: int = 3) -> str:
    """A number to some places; a missing one as a dash."""
    return "-" if value is None else f"{value:.{places}f}"


def span(low: float | None, high: float | None, places: int = 3) -> str:
    """An interval."""
    return f"[{show(low, places)}, {show(high, places)}]"


def percent(text: str) -> str:
    """A share of the coverage study in percent."""
    return f"{100 * float(text):.1f}"


def tally(items: Iterable[object]) -> str:
    """Counts, the most frequent first, then in order."""
    found = sorted(Counter(map(str, items)).items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{name} {count}" for name, count in found)
