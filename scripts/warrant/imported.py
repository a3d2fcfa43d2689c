"""What every importer shares: the sample it checks rows against, the rows and flags it returns, single checks."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import pyarrow as pa

from warrant.decimals import from_units, to_units
from warrant.errors import bad_input
from warrant.labels import CONTRACTS

Row = dict[str, Any]


@dataclass
class Imported:
    """Rows of `verdicts.SCHEMA` (without defaults) and of `verdicts.FLAGS`."""

    rows: list[Row] = field(default_factory=list)
    flags: list[Row] = field(default_factory=list)

    def flag(
        self, file: str, row: int | None, case_id: int | None, where: str, found: object, expected: object
    ) -> None:
        """Note an inconsistency that does not stop the import."""
        self.flags.append(
            {
                "file": file,
                "row": row,
                "case_id": case_id,
                "field": where,
                "found": _printable(found),
                "expected": str(expected),
            }
        )


@dataclass(frozen=True)
class Known:
    """What an importer needs of the sample: gold label, text and number of evidence blocks by case id."""

    gold: Sequence[str]
    text: Sequence[str]
    evidence_blocks: Sequence[int | None]

    @classmethod
    def of(cls, sample: pa.Table) -> Known:
        """From a sample in the order of case_id."""
        evidence = sample.column("evidence").to_pylist()
        return cls(
            [str(gold) for gold in sample.column("gold").to_pylist()],
            [str(text) for text in sample.column("text").to_pylist()],
            [None if blocks is None else len(blocks) for blocks in evidence],
        )

    def case(self, file: str, number: int, row: Mapping[str, Any]) -> int:
        """The row's case id, once id, gold label and claim agree with the sample."""
        case_id = row.get("case_id")
        if not isinstance(case_id, int) or isinstance(case_id, bool) or not 0 <= case_id < len(self.gold):
            expected = f"a case id from 0 to {len(self.gold) - 1}"
            raise bad_input(file, row=number, field="case_id", found=case_id, expected=expected)
        self._same(file, number, "gold_normal", row, self.gold[case_id])
        self._same(file, number, "claim", row, self.text[case_id])
        return case_id

    @staticmethod
    def _same(file: str, number: int, name: str, row: Mapping[str, Any], expected: str) -> None:
        if row.get(name) != expected:
            raise bad_input(file, row=number, field=name, found=row.get(name), expected=f"the sample's {expected!r}")


def _printable(value: object) -> str:
    """A value as text that UTF-8 can hold: lone surrogates are written as escapes."""
    return str(value).encode("utf-8", "backslashreplace").decode("utf-8")


def text(value: object, file: str, number: int, where: str) -> str | None:
    """A text or None as it stands; InputError for anything else and for a text that UTF-8 cannot hold."""
    if value is None:
        return None
    if not isinstance(value, str):
        raise bad_input(file, row=number, field=where, found=value, expected="a text")
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        expected = "a text without lone surrogates"
        raise bad_input(file, row=number, field=where, found=_printable(value), expected=expected) from None
    return value


def one_of(value: object, allowed: Collection[str], file: str, number: int, where: str) -> str:
    """One of the allowed texts, or InputError."""
    if not isinstance(value, str) or value not in allowed:
        raise bad_input(file, row=number, field=where, found=value, expected=f"one of {sorted(allowed)}")
    return value


def confidence(value: object, file: str, number: int, where: str = "confidence") -> Decimal | None:
    """A stated confidence as an exact decimal in [0, 1]; None when absent; InputError otherwise."""
    if value is None:
        return None
    try:
        if isinstance(value, bool) or not isinstance(value, int | Decimal):
            raise ValueError
        units = to_units(value)
        if not 0 <= units <= to_units(1):
            raise ValueError
    except ValueError:
        expected = "a number from 0 to 1 with at most 18 decimal places"
        raise bad_input(file, row=number, field=where, found=value, expected=expected) from None
    return from_units(units)


def label(value: object, contract: str, file: str, number: int, where: str) -> str:
    """A verdict inside the contract, or InputError."""
    return one_of(value, CONTRACTS[contract], file, number, where)


def once(seen: set[int], case_id: int, file: str, number: int, what: str) -> None:
    """Note that a case was seen; InputError when it was seen before."""
    if case_id in seen:
        raise bad_input(file, row=number, field="case_id", found=f"{what} again", expected="each case once")
    seen.add(case_id)


def complete(cases: set[int], wanted: int, file: str, who: str) -> None:
    """InputError unless cases 0 to wanted-1 were all seen."""
    missing = sorted(set(range(wanted)) - cases)
    if missing:
        found = f"{len(missing)} cases of {who} missing, first {missing[0]}"
        raise bad_input(file, field="case_id", found=found, expected=f"cases 0 to {wanted - 1}")


def verdict_defaults(row: Row) -> Row:
    """A verdict row with what an imported single-turn answer has in common with every other."""
    return {"round": 0, "replicate": 0, "status": "ok", **row}
