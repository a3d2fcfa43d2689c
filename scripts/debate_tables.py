"""Write docs/debate-tables.md: the debate paper's printed tables set against one another."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from warrant.artifact import write_text
from warrant.debate_paper.document import document
from warrant.errors import InputError


def main() -> None:
    """Write the document; one line and exit status 1 when the file of published numbers lacks something."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--published", type=Path, default=Path("config/published/debate.tsv"))
    parser.add_argument("--output", type=Path, default=Path("docs/debate-tables.md"))
    given = parser.parse_args()
    try:
        text = document(given.published)
    except InputError as error:
        print(f"debate_tables: {error}", file=sys.stderr)
        raise SystemExit(1) from None
    write_text(given.output, text)


if __name__ == "__main__":
    main()
