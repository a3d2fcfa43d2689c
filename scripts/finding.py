"""Print the numbers behind a finding, from built tables and published ones; docs/findings.md shows what it prints."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from warrant import artifact
from warrant.errors import InputError
from warrant.findings.document import FINDINGS, renewed, titles
from warrant.findings.material import Material


def main() -> None:
    """Print a finding's numbers; one line and exit status 1 when something that they rest on is not built."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("finding", nargs="?", choices=sorted(FINDINGS), help="which (without: list them)", metavar="ID")
    parser.add_argument("--results", type=Path, default=Path("results"))
    parser.add_argument("--renew", action="store_true", help="put the numbers into docs/findings.md")
    given = parser.parse_args()
    material = Material(results=given.results)
    try:
        if given.renew:
            document = material.docs / "findings.md"
            artifact.write_text(document, renewed(document.read_text(encoding="utf-8"), material))
        elif given.finding is None:
            known = titles(material.config)
            for name in sorted(FINDINGS):
                print(f"{name}  {known.get(name, FINDINGS[name].__doc__)}")
        else:
            for line in FINDINGS[given.finding](material):
                print(line)
    except InputError as error:
        print(f"finding: {error}", file=sys.stderr)
        raise SystemExit(1) from None


if __name__ == "__main__":
    main()
