"""The debate paper's published numbers, and how a value is shown beside one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import partial
from pathlib import Path

from warrant.audit import Published, read_published
from warrant.errors import InputError
from warrant.markdown import Lines
from warrant.printed import ONCE, TWICE, UNIT, Chain, Count, Fit, fit, read_count

ROUNDS = ("0", "1", "2", "3")
ALPHAS = {"Table 1": ("0.05", "0.10"), "Table 6": ("0.05", "0.10"), "Table 8": ("0.01",)}
UNPLACED = "Text (place not recorded)"
SLACK = {ONCE: "once", TWICE: "twice", UNIT: "off by up to one unit"}


class Paper:
    """The published numbers, found by table, field and any keys that pick exactly one of them."""

    def __init__(self, path: Path) -> None:
        """Read and index the file."""
        self.path = path
        self._index: dict[tuple[str, str], list[tuple[dict[str, str], Published]]] = {}
        for row in read_published(path):
            self._index.setdefault((row.table, row.field), []).append((row.keys, row))
        self.domains = [keys["domain"] for keys, _ in self._index.get(("Domain sizes", "n"), [])]
        self.settings = [(domain, alpha) for domain in self.domains for alpha in ALPHAS["Table 1"]]
        self.columns = [
            (t, domain, alpha) for t, alphas in ALPHAS.items() for domain in self.domains for alpha in alphas
        ]

    def all(self, table: str, field: str, **keys: str) -> list[Decimal]:
        """Every number of a table and field with these keys, in the order of the file."""
        found = self._index.get((table, field), [])
        return [Decimal(row.published) for have, row in found if keys.items() <= have.items()]

    def one(self, table: str, field: str, **keys: str) -> Decimal:
        """The one number with these keys; InputError when there are none or several."""
        found = self.all(table, field, **keys)
        if len(found) != 1:
            raise InputError(f"{self.path}: found {len(found)} numbers of {table}, {field}, {keys}, expected one")
        return found[0]

    def whole(self, table: str, field: str, **keys: str) -> int:
        """The one number with these keys, a count."""
        return int(self.one(table, field, **keys))

    def size(self, domain: str, field: str = "n_test") -> int:
        """Questions of a domain: `n`, `n_test` or `n_cal`."""
        return self.whole("Domain sizes", field, domain=domain)

    def by_round(self, table: str, field: str, domain: str, alpha: str) -> list[Decimal]:
        """A field of Table 1, 6 or 8 at rounds 0 to 3."""
        return [self.one(table, field, domain=domain, alpha=alpha, round=t) for t in ROUNDS]

    def acts(self, table: str, domain: str, alpha: str) -> Fit:
        """What the table's singleton shares and accuracies say about new and right singleton sets by round."""
        find = partial(self.all, table, "new_singleton_accuracy", domain=domain, alpha=alpha)
        accuracies = [next(iter(find(round=t)), None) for t in ROUNDS]  # none is printed where no set is new
        return fit(self.by_round(table, "singleton_rate", domain, alpha), accuracies, self.size(domain))

    def chain(self, table: str, domain: str, alpha: str) -> Chain:
        """The counts of new and right singleton sets by round; InputError unless only one solution exists."""
        found = self.acts(table, domain, alpha).chains
        if len(found) != 1:
            raise InputError(f"{self.path}: found {len(found)} solutions for {table}, {domain}, {alpha}, expected one")
        return found[0]

    def held(self, domain: str) -> int:
        """Test questions on which the agents are unanimous at round 3, right or wrong."""
        wrong = self.whole("Table 3", "wrong", domain=domain, round="3")
        return wrong + self.whole("Table 9", "right", domain=domain, round="3")

    def rejected(self, domain: str) -> Count:
        """Wrong consensus at round 3 that is rejected at alpha .05."""
        wrong = self.whole("Table 3", "wrong", domain=domain, round="3")
        return read_count(self.one("Table 3", "interception", domain=domain), wrong)

    def agreed(self, domain: str) -> Count:
        """Test questions that consensus decides, by Table 2."""
        return read_count(self.one("Table 2", "consensus_rate", domain=domain), self.size(domain))


@dataclass(frozen=True)
class Section:
    """One part of the document: its finding, what it asks, the answer in a line, and the evidence."""

    finding: str
    title: str
    answer: str
    lines: Lines


def percent(value: Fraction | Decimal, places: int = 2) -> str:
    """A share in percent: exact ones to `places` decimals, printed ones with the digits they have."""
    if isinstance(value, Decimal):
        return f"{value.scaleb(2):f}"
    return f"{Decimal(value.numerator * 100) / value.denominator:.{places}f}"


def yes(holds: bool, once: bool = True) -> str:
    """How an agreement is shown, also one that needs two roundings."""
    return ("yes" if once else "rounded twice") if holds else "**no**"


def of(holds: Iterable[bool]) -> str:
    """How many hold, of how many."""
    listed = list(holds)
    return f"{sum(listed)} of {len(listed)}"
