"""Write docs/interval-coverage.csv and the page made from it: how often the verdict study's intervals cover."""

from __future__ import annotations

import argparse
from pathlib import Path

from warrant.artifact import write_text
from warrant.interval_coverage.page import page
from warrant.interval_coverage.rows import as_csv, measured, read_csv


def main() -> None:
    """Measure and write, or write the page again from the CSV."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--csv", type=Path, default=Path("docs/interval-coverage.csv"))
    parser.add_argument("--output", type=Path, default=Path("docs/interval-coverage.md"))
    parser.add_argument("--page-only", action="store_true", help="take the numbers from the CSV as it is")
    given = parser.parse_args()
    if not given.page_only:
        write_text(given.csv, as_csv(measured()))
    write_text(given.output, page(read_csv(given.csv.read_text(encoding="utf-8"))))


if __name__ == "__main__":
    main()
