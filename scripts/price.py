"""See the price first: what the calls that are not stored may cost at most, by model. Asks nobody and makes no store.

Input tokens are an upper bound (bytes of the request), output tokens are all that a request allows: see
scripts/warrant/calls/spend.py. Without a requests artifact there is nobody to ask, and it says so.
Exit status: 0 done; 1 bad input, or a model without a price; 2 a command line that is not understood.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

from warrant.calls import requests, spend
from warrant.calls.query import Question, unanswered
from warrant.calls.store import Reservation, Store
from warrant.errors import InputError, bad_input

HEADER: Final = ["model", "calls", "stored", "to ask", "input tokens", "output tokens", "upper bound"]


@dataclass
class Line:
    """One model's calls; tokens and cost at most of those to ask; cost None where nobody knows."""

    calls: int = 0
    asked: int = 0
    input: int = 0
    output: int = 0
    cost: Decimal | None = Decimal(0)


def lines(
    questions: Sequence[Question], missing: Sequence[Question], judges: Mapping[str, Any], allow_unpriced: bool
) -> dict[str, Line]:
    """By judge; InputError for one with questions to ask and without a price."""
    found: dict[str, Line] = {}
    for question in questions:
        found.setdefault(question.judge, Line()).calls += 1
    for question in missing:
        line, transport = found[question.judge], _transport(judges, question.judge)
        most = spend.bound(question.request, transport.get("max_output_tokens"))
        line.asked += 1
        line.input += most.input
        line.output += most.output or 0
        price = spend.price_of(question.judge, transport, allow_unpriced=allow_unpriced)
        if price is not None and line.cost is not None:
            line.cost = spend.EXACT.add(line.cost, spend.worst_case(question.judge, price, most))
        elif transport["provider"] != "simulated":
            line.cost = None
    return found


def _transport(judges: Mapping[str, Any], judge: str) -> Mapping[str, Any]:
    if judge not in judges:
        raise bad_input("--settings", field="judges", found=sorted(judges), expected=f"{judge} among them")
    transport: Mapping[str, Any] = judges[judge]
    return transport


def table(found: Mapping[str, Line], currency: str) -> Iterator[str]:
    """The lines as text, a total last."""
    known = [line.cost for line in found.values() if line.cost is not None]
    counts = [sum(getattr(line, name) for line in found.values()) for name in ("calls", "asked", "input", "output")]
    cost = sum(known, Decimal(0)) if len(known) == len(found) else None
    total = Line(counts[0], counts[1], counts[2], counts[3], cost)
    rows = [HEADER, *(_row(name, found[name], currency) for name in sorted(found)), _row("total", total, currency)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(HEADER))]
    for row in rows:
        cells = [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]
        yield "  ".join(cells).rstrip()


def _row(name: str, line: Line, currency: str) -> list[str]:
    numbers = (line.calls, line.calls - line.asked, line.asked, line.input, line.output)
    cost = "no price" if line.cost is None else f"{spend.money(line.cost)} {currency}"
    return [name, *(f"{number:,}" for number in numbers), cost]


def notes(found: Mapping[str, Line], settings: Mapping[str, Any], rows: Iterable[Reservation]) -> Iterator[str]:
    """What the table does not show: retries, what the run has spent, caps that its calls may meet."""
    rows = list(rows)
    budget = spend.budget_of(settings, rows)
    retries = int(settings.get("retries", 1))
    if retries and any(line.cost for line in found.values()):
        yield f"Of at most {retries} retries a call, those of attempts that timed out may be billed in addition."
    if budget.total:
        yield f"Spent by run {budget.run} so far, at most: {budget.spent()}."
    yield from (f"{line}." for line in spend.lost(rows, budget.currency))
    for name, line in sorted(found.items()):
        if line.cost is not None and budget.over_cap_of(name, line.cost):
            yield f"{name}: the cap of {budget.caps[name]} {budget.currency} may stop it."
    total = sum((line.cost for line in found.values() if line.cost is not None), Decimal(0))
    if budget.over_cap(total):
        yield f"The run's cap of {budget.cap} {budget.currency} may stop it."


def price(arguments: argparse.Namespace) -> None:
    """Print the table and what is to be said of it."""
    if not arguments.requests:
        print("No arm of these runs asks a judge: there is nothing to pay.")
        return
    settings = arguments.settings
    if not isinstance(settings, dict) or not isinstance(settings.get("judges"), dict):
        raise bad_input("--settings", found=settings, expected="a JSON object with judges")
    every = {
        key: Question(key, call.judge, call.request) for path in arguments.requests for key, call in requests.read(path)
    }
    questions, missing, rows = list(every.values()), list(every.values()), list[Reservation]()
    if arguments.store.exists():
        with Store(arguments.store, create=False) as store:
            missing, rows = unanswered(questions, store), store.reservations(str(settings.get("run", "")))
    found = lines(questions, missing, settings["judges"], arguments.allow_unpriced)
    for line in table(found, str(settings.get("currency", "USD"))):
        print(line)
    for line in notes(found, settings, rows):
        print(line)


def main() -> int:
    """Parse the command line and print."""
    parser = argparse.ArgumentParser(
        prog="price", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--requests", type=Path, nargs="*", required=True, help="requests artifacts (Parquet)")
    parser.add_argument("--store", type=Path, required=True, help="the response store; it need not be there")
    about = "JSON: judges (their transport settings), and run, currency, cap, retries as query takes them"
    parser.add_argument("--settings", type=json.loads, required=True, help=about)
    parser.add_argument("--allow-unpriced", action="store_true", help="list models without a price, too")
    try:
        price(parser.parse_args())
    except InputError as error:
        print(f"price: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
