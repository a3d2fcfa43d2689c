"""The blocks of docs/findings.md: what each finding prints."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from warrant.findings import controllers, debate, inputs, judges
from warrant.findings.material import Finding, Material

BLOCK: Final = re.compile(r"(```console\n\$ python scripts/finding\.py (\S+)\n)(.*?)(```)", re.DOTALL)
FINDINGS: Final[dict[str, Finding]] = {
    **inputs.FINDINGS, **controllers.FINDINGS, **judges.FINDINGS, **debate.FINDINGS
}  # fmt: skip


def titles(config: Path) -> dict[str, str]:
    """Titles of the findings that have one."""
    with (config / "published/findings.tsv").open(encoding="utf-8", newline="") as handle:
        return {row["id"]: row["title"] for row in csv.DictReader(handle, delimiter="\t", quoting=csv.QUOTE_NONE)}


def printed(name: str, material: Material) -> str:
    """What the program prints for a finding."""
    return "".join(f"{line}\n" for line in FINDINGS[name](material))


def renewed(document: str, material: Material, only: Iterable[str] = tuple(FINDINGS)) -> str:
    """The document with the block of every finding in `only` as the program prints it now."""
    wanted = set(only)

    def block(found: re.Match[str]) -> str:
        head, name, old, tail = found.groups()
        return head + (printed(name, material) if name in wanted else old) + tail

    return BLOCK.sub(block, document)
