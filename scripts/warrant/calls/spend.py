"""What calls cost: prices, the worst case of a call, and the budget of a run. Exact decimals throughout.

The worst case is an upper bound. Input: a token is at least one byte of text, so the bytes of the canonical request
(messages, schema and all) bound its tokens, with MESSAGE more for each message's frame and SCHEMA for what a provider
adds to have a schema obeyed. Output: the most that the request allows. No discount (cache, batch) is counted on.

The amounts of a run's rows in the store add up to what it has spent at most. Before a call its worst case is reserved;
an answer settles it to the cost of its usage; a refusal (an HTTP status) or a connection that never was releases it.
Any other call without an answer (killed, timed out, cut off) stays at its worst case for good: it may have been billed.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from decimal import ROUND_CEILING, Context, Decimal, Inexact, InvalidOperation
from typing import Any, Final, NamedTuple

from warrant.calls.providers import InfraError, TransientError
from warrant.calls.request_key import Request
from warrant.calls.store import Reservation
from warrant.errors import InputError, bad_input

MESSAGE: Final = 64
SCHEMA: Final = 1024
OUTPUT: Final = ("max_tokens", "max_completion_tokens", "max_output_tokens")
EXACT: Final = Context(prec=100, traps=[Inexact, InvalidOperation])
UNBILLED: Final = ("connect",)  # causes, beside HTTP statuses, of calls that reached nobody


class Bound(NamedTuple):
    """The most tokens that a call can take; output None: nothing says."""

    input: int
    output: int | None

    @property
    def total(self) -> int:
        """Of both; what is unknown is not counted."""
        return self.input + (self.output or 0)


class Usage(NamedTuple):
    """Tokens that a provider counted."""

    input: int
    output: int


class Price(NamedTuple):
    """Per million tokens."""

    input: Decimal
    output: Decimal

    def cost(self, input_tokens: int, output_tokens: int) -> Decimal:
        """Of so many tokens, exactly."""
        parts = (EXACT.multiply(self.input, input_tokens), EXACT.multiply(self.output, output_tokens))
        return EXACT.scaleb(EXACT.add(*parts), -6)


def bound(request: Request, output: int | None = None) -> Bound:
    """The most tokens that a request can take; output: where the request does not say (its judge's block does)."""
    extra = MESSAGE * len(request.messages) + (0 if request.schema is None else SCHEMA)
    return Bound(len(request.canonical()) + extra, _output(request, output))


def _output(request: Request, output: int | None) -> int | None:
    given = request.parameters
    stated = [given[name] for name in OUTPUT if type(given.get(name)) is int]
    most = max(stated, default=output)
    answers = given.get("n", 1)
    return most if most is None or type(answers) is not int else most * max(1, answers)


def most_output(judge: str, request: Request, output: int | None = None) -> int:
    """The most output tokens of a request, as in `bound`; InputError when nothing bounds them."""
    most = _output(request, output)
    if most is None:
        raise _unbounded(judge)
    return most


def tokens(usage: Mapping[str, Any] | None) -> Usage | None:
    """Tokens of a usage as OpenAI or Anthropic counts them; None when it does not say.

    What was written to or read from a cache counts as input; a total that is larger than its parts (hidden
    reasoning), as output.
    """
    if usage is None:
        return None

    def count(*names: str) -> int | None:
        return next((usage[name] for name in names if type(usage.get(name)) is int and usage[name] >= 0), None)

    given, made = count("input_tokens", "prompt_tokens"), count("output_tokens", "completion_tokens")
    if given is None or made is None:
        return None
    given += (count("cache_creation_input_tokens") or 0) + (count("cache_read_input_tokens") or 0)
    return Usage(given, max(made, (count("total_tokens") or 0) - given))


def amount(text: object, place: str, field: str) -> Decimal:
    """A price or a cap: a decimal from 0; InputError for anything else."""
    try:
        found = Decimal(str(text))
    except InvalidOperation:
        found = Decimal(-1)
    if not found.is_finite() or found < 0 or not 1e-20 <= (found or 1) <= 1e15 or len(found.as_tuple().digits) > 30:
        raise bad_input(place, field=field, found=text, expected="a decimal number from 0")
    return found


def price_of(judge: str, transport: Mapping[str, Any], *, allow_unpriced: bool = False) -> Price | None:
    """A judge's price; None: it costs nothing (simulated), or nobody knows and the user allowed that."""
    given = transport.get("price")
    if given is not None:
        return Price(*(amount(given[name], judge, f"price {name}") for name in ("input", "output")))
    if transport["provider"] == "simulated" or allow_unpriced:
        return None
    expected = "input and output per million tokens in config/models.yaml (or say that unpriced models are allowed)"
    raise bad_input(judge, field="price", found="none", expected=expected)


def worst_case(judge: str, price: Price, most: Bound) -> Decimal:
    """What a call can cost; InputError when nothing bounds its output."""
    if most.output is None:
        raise _unbounded(judge)
    return price.cost(most.input, most.output)


def _unbounded(judge: str) -> InputError:
    expected = f"one of {', '.join(OUTPUT)} in its parameters, or max_output_tokens in its block"
    return bad_input(judge, field="parameters", found="no limit of output tokens", expected=expected)


def billed(error: InfraError) -> bool:
    """Whether the provider may bill a call that failed so: not one that it refused or that never reached it."""
    return isinstance(error, TransientError) and not (error.cause.isdecimal() or error.cause in UNBILLED)


def money(value: Decimal, places: int = 4) -> str:
    """An amount for people, rounded up."""
    return f"{value.quantize(Decimal(1).scaleb(-places), ROUND_CEILING):,}"


class Budget:
    """What a run has spent at most, by judge, and what it may spend: in all, and on each judge."""

    def __init__(
        self,
        run: str,
        currency: str,
        cap: Decimal | None = None,
        caps: Mapping[str, Decimal] | None = None,
        rows: Iterable[Reservation] = (),
    ) -> None:
        """The caps, and the run's rows of the store; InputError for a row in another currency."""
        self.run, self.currency, self.cap, self.caps = run, currency, cap, dict(caps or {})
        self.by_judge: dict[str, Decimal] = {}
        self.total = self.open = Decimal(0)
        for row in rows:
            if row.currency != currency:
                raise bad_input("currency", found=currency, expected=f"{row.currency}, in which run {run} has spent")
            self._count(row.model, Decimal(row.amount))

    def _count(self, judge: str, value: Decimal) -> None:
        self.by_judge[judge] = EXACT.add(self.by_judge.get(judge, Decimal(0)), value)
        self.total = EXACT.add(self.total, value)

    def reserve(self, key: str, judge: str, worst: Decimal) -> Reservation:
        """Count the worst case of a call that is about to be made; the row to store before it is."""
        self.open = EXACT.add(self.open, worst)
        return self._row(key, judge, "reserved", worst)

    def settle(self, key: str, judge: str, worst: Decimal, cost: Decimal) -> Reservation:
        """Count what an answered call did cost."""
        self.open = EXACT.subtract(self.open, worst)
        return self._row(key, judge, "settled", EXACT.subtract(cost, worst))

    def release(self, key: str, judge: str, worst: Decimal) -> Reservation:
        """Count a call that cost nothing."""
        self.open = EXACT.subtract(self.open, worst)
        return self._row(key, judge, "released", EXACT.minus(worst))

    def lose(self, worst: Decimal) -> None:
        """A call is over that may have been billed: its worst case stays."""
        self.open = EXACT.subtract(self.open, worst)

    def _row(self, key: str, judge: str, kind: str, value: Decimal) -> Reservation:
        self._count(judge, value)
        return Reservation(key, self.run, judge, kind, f"{value:f}", self.currency, time.time_ns() // 1000)

    def spent(self) -> str:
        """For people: all but what calls in flight have reserved."""
        return f"{money(EXACT.subtract(self.total, self.open))} {self.currency}"

    def over_cap_of(self, judge: str, worst: Decimal) -> bool:
        """Whether a call would exceed what may be spent on its judge."""
        cap = self.caps.get(judge)
        return cap is not None and EXACT.add(self.by_judge.get(judge, Decimal(0)), worst) > cap

    def over_cap(self, worst: Decimal) -> bool:
        """Whether a call would exceed what the run may spend."""
        return self.cap is not None and EXACT.add(self.total, worst) > self.cap

    def refusal(self, judge: str, worst: Decimal) -> str:
        """Why a call is not made: what was spent, what the cap is, what the call may cost."""
        of_judge = self.over_cap_of(judge, worst)
        spent = self.by_judge.get(judge, Decimal(0)) if of_judge else self.total
        cap = self.caps[judge] if of_judge else self.cap
        whose = "judge" if of_judge else "run"
        return (
            f"spent {money(spent)} of the {whose}'s cap of {cap} {self.currency}, "
            f"the next call may cost {money(worst, 6)}"
        )


class Unsettled(NamedTuple):
    """Calls that may have been billed without an answer, and the most that they may have cost."""

    calls: int
    amount: Decimal


def unsettled(rows: Iterable[Reservation]) -> dict[str, Unsettled]:
    """By judge, the calls that nothing settled or released: killed, timed out, cut off. rows: in their order.

    Calls with the same key follow each other, so what settles one settles the latest.
    """
    held: dict[tuple[str, str], list[Decimal]] = {}
    for row in rows:
        amounts = held.setdefault((row.model, row.request_sha256), [])
        if row.kind == "reserved":
            amounts.append(Decimal(row.amount))
        else:
            amounts.pop()
    found: dict[str, Unsettled] = {}
    for (judge, _), amounts in sorted(held.items()):
        if amounts:
            before = found.get(judge, Unsettled(0, Decimal(0)))
            most = EXACT.add(before.amount, sum(amounts, Decimal(0)))
            found[judge] = Unsettled(before.calls + len(amounts), most)
    return found


def lost(rows: Iterable[Reservation], currency: str) -> list[str]:
    """For people, a line a judge: what its unsettled calls may have cost."""
    return [
        f"{judge}: {item.calls:,} earlier {'call' if item.calls == 1 else 'calls'} brought no answer and may have been "
        f"billed, at most {money(item.amount)} {currency}"
        for judge, item in unsettled(rows).items()
    ]


def budget_of(settings: Mapping[str, Any], rows: Iterable[Reservation] = ()) -> Budget:
    """The budget that settings state: run, currency, cap and the judges' caps."""
    caps = {
        name: amount(transport["cap"], name, "cap")
        for name, transport in settings["judges"].items()
        if transport.get("cap") is not None
    }
    cap = None if settings.get("cap") is None else amount(settings["cap"], "settings", "cap")
    unpriced = sorted(
        name
        for name, item in settings["judges"].items()
        if name in caps and item.get("price") is None and item["provider"] != "simulated"
    )
    if unpriced:
        raise InputError(f"{unpriced[0]}, field cap: found a cap and no price, expected both: nothing else counts it")
    return Budget(str(settings.get("run", "")), str(settings.get("currency", "USD")), cap, caps, rows)
