"""Spend: worst cases bound costs, sums are exact, and the rows of the store are the budget."""

from __future__ import annotations

import json
import sys
from collections import Counter
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import price as program
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from warrant import artifact
from warrant.calls import requests
from warrant.calls.providers import InfraError, StopModel, TransientError
from warrant.calls.request_key import Request
from warrant.calls.requests import Call
from warrant.calls.spend import (
    Budget,
    Price,
    Usage,
    billed,
    bound,
    budget_of,
    lost,
    money,
    price_of,
    tokens,
    unsettled,
    worst_case,
)
from warrant.calls.store import Store, answer

PRICE = Price(Decimal("0.15"), Decimal("0.6"))
AMOUNTS = st.decimals(0, 1000, places=9)


def request(content: str = "claim", schema: dict[str, Any] | None = None, **parameters: Any) -> Request:
    return Request("p", "http://h/v1", "m", [{"role": "user", "content": content}], parameters, schema, 0)


# --- worst cases -----------------------------------------------------------------------------------------------------


@given(st.text(st.characters(codec="utf-8"), max_size=200), st.booleans())
def test_a_token_is_at_least_a_byte(content: str, schema: bool) -> None:
    """Input is at least every byte of message and schema, with room for frames."""
    shape = {"type": "object", "title": content} if schema else None
    size = len(content.encode()) * (2 if schema else 1)
    assert bound(request(content, shape)).input >= size + 64 + (1024 if schema else 0)


@pytest.mark.parametrize(
    ("parameters", "configured", "output"),
    [
        ({"max_tokens": 10}, None, 10),
        ({"max_completion_tokens": 20}, 7, 20),
        ({"max_output_tokens": 30, "n": 3}, None, 90),
        ({"temperature": 0}, 7, 7),
        ({"max_tokens": True}, None, None),
        ({}, None, None),
    ],
)
def test_output_is_what_the_request_allows(parameters: dict[str, Any], configured: int | None, output: int) -> None:
    """By any of three names, times the answers asked for; else what is configured; else nothing bounds it."""
    assert bound(request(**parameters), configured).output == output


def test_a_call_without_a_bound_is_refused(refused: Any) -> None:
    """One line that says what would bound it."""
    with refused("judge", "no limit of output tokens", "max_completion_tokens", "max_output_tokens in its block"):
        worst_case("judge", PRICE, bound(request()))


@pytest.mark.parametrize(
    ("usage", "found"),
    [
        ({"prompt_tokens": 9, "completion_tokens": 4, "total_tokens": 13}, Usage(9, 4)),
        ({"input_tokens": 9, "output_tokens": 4}, Usage(9, 4)),
        ({"input_tokens": 9, "output_tokens": 4, "cache_read_input_tokens": 5, "cache_creation_input_tokens": 2},
         Usage(16, 4)),
        ({"prompt_tokens": 9, "completion_tokens": 4, "total_tokens": 50}, Usage(9, 41)),
        ({"prompt_tokens": 9}, None),
        ({"prompt_tokens": -1, "completion_tokens": 4}, None),
        ({"prompt_tokens": 9, "completion_tokens": "4"}, None),
        ({}, None),
        (None, None),
    ],
)  # fmt: skip
def test_tokens_of_a_usage(usage: dict[str, Any] | None, found: Usage | None) -> None:
    """As OpenAI and Anthropic count; hidden output is output; what does not say says nothing."""
    assert tokens(usage) == found


@given(AMOUNTS, AMOUNTS, st.integers(0, 10**9), st.integers(0, 10**9))
def test_costs_are_exact(a: Decimal, b: Decimal, given_: int, made: int) -> None:
    """Against fractions."""
    assert Fraction(Price(a, b).cost(given_, made)) == (Fraction(a) * given_ + Fraction(b) * made) / 10**6


@pytest.mark.parametrize(
    ("error", "may_be"),
    [
        (TransientError("429"), False),
        (TransientError("503"), False),
        (TransientError("connect"), False),
        (TransientError("timeout"), True),
        (TransientError("reset"), True),
        (TransientError("bad_body"), True),
        (InfraError("400: too long"), False),
        (StopModel("401"), False),
    ],
)
def test_what_may_have_been_billed(error: InfraError, may_be: bool) -> None:
    """Only what may have been computed."""
    assert billed(error) is may_be


# --- the budget ------------------------------------------------------------------------------------------------------


EVENTS = st.lists(st.tuples(st.sampled_from("ab"), AMOUNTS, st.sampled_from(("settle", "release", "lose", "open")),
                            AMOUNTS), max_size=20)  # fmt: skip


@given(EVENTS)
def test_the_rows_are_the_budget(events: list[tuple[str, Decimal, str, Decimal]]) -> None:
    """Whatever comes of calls: a budget read from the rows is the budget; sums are those of fractions."""
    budget, rows, expected, held = Budget("live", "USD"), [], Fraction(0), Fraction(0)
    for judge, worst, what, cost in events:
        rows.append(budget.reserve("0" * 64, judge, worst))
        expected += Fraction(cost if what == "settle" else 0 if what == "release" else worst)
        held += Fraction(worst if what == "open" else 0)
        if what == "settle":
            rows.append(budget.settle("0" * 64, judge, worst, cost))
        elif what == "release":
            rows.append(budget.release("0" * 64, judge, worst))
        elif what == "lose":
            budget.lose(worst)
    again = Budget("live", "USD", rows=rows)
    assert Fraction(budget.total) == Fraction(again.total) == expected
    assert again.by_judge == budget.by_judge
    assert Fraction(budget.open) == held
    assert sum(again.by_judge.values(), Decimal(0)) == again.total


@given(EVENTS, st.lists(st.integers(0, 2), min_size=20, max_size=20))
def test_calls_that_may_have_been_billed_are_counted_and_priced(
    events: list[tuple[str, Decimal, str, Decimal]], keys: list[int]
) -> None:
    """By judge: those that nothing settled or released, at what was reserved for them; of the rest nothing is left."""
    budget, rows, calls, most = Budget("live", "USD"), [], Counter[str](), Counter[str]()
    for (judge, worst, what, cost), number in zip(events, keys, strict=False):
        key = f"{number:064x}"
        rows.append(budget.reserve(key, judge, worst))
        if what == "settle":
            rows.append(budget.settle(key, judge, worst, cost))
        elif what == "release":
            rows.append(budget.release(key, judge, worst))
        else:
            calls[judge] += 1
            most[judge] += Fraction(worst)
    found = unsettled(rows)
    assert {judge: item.calls for judge, item in found.items()} == dict(calls)
    assert {judge: Fraction(item.amount) for judge, item in found.items()} == dict(most)


def test_calls_that_may_have_been_billed_are_told_in_a_line() -> None:
    """A line a judge with their number and their most; none where there are none."""
    budget = Budget("live", "USD")
    rows = [budget.reserve(f"{n:064x}", "a", Decimal("0.01")) for n in range(3)]
    rows.append(budget.settle(f"{0:064x}", "a", Decimal("0.01"), Decimal("0.001")))
    assert lost(rows, "USD") == ["a: 2 earlier calls brought no answer and may have been billed, at most 0.0200 USD"]
    assert lost(rows[:1], "USD")[0].startswith("a: 1 earlier call brought")
    assert lost([], "USD") == []


def test_caps_are_reached_and_not_passed() -> None:
    """A call that takes the last cent is made, one that would take more is not; judge and run apart."""
    budget = Budget("live", "USD", Decimal("1.0"), {"a": Decimal("0.5")})
    assert not budget.over_cap_of("a", Decimal("0.5"))
    assert budget.over_cap_of("a", Decimal("0.500000001"))
    budget.reserve("0" * 64, "a", Decimal("0.5"))
    assert budget.over_cap_of("a", Decimal("1E-9"))
    assert not budget.over_cap_of("b", Decimal(9))
    assert not budget.over_cap(Decimal("0.5"))
    assert budget.over_cap(Decimal("0.500000001"))
    assert "spent 0.5000 of the judge's cap of 0.5 USD" in budget.refusal("a", Decimal("0.1"))
    assert "spent 0.5000 of the run's cap of 1.0 USD" in budget.refusal("b", Decimal("0.6"))


def test_what_is_refused(refused: Any) -> None:
    """No price, a price that is none, a cap without a price, another currency: one line each."""
    api = {"provider": "openai"}
    with refused("judge", "price", "input and output per million tokens"):
        price_of("judge", api)
    assert price_of("judge", api, allow_unpriced=True) is None
    assert price_of("judge", {"provider": "simulated"}) is None
    assert price_of("judge", {**api, "price": {"input": "0.15", "output": "0.6"}}) == PRICE
    for wrong in ("-1", "NaN", "1E+99", "1E-99", "x", "1" * 40):
        with refused("judge, field price output", "a decimal number from 0"):
            price_of("judge", {**api, "price": {"input": "1", "output": wrong}})
    with refused("judge", "a cap and no price"):
        budget_of({"judges": {"judge": {**api, "cap": "1"}}})
    rows = [Budget("live", "EUR").reserve("0" * 64, "a", Decimal(1))]
    with refused("currency", "USD", "EUR"):
        Budget("live", "USD", rows=rows)


def test_amounts_for_people_are_rounded_up() -> None:
    """Never less than what is."""
    assert money(Decimal("1234.00001")) == "1,234.0001"
    assert money(Decimal(0)) == "0.0000"


# --- the program -----------------------------------------------------------------------------------------------------


JUDGES: dict[str, Any] = {
    "big": {"provider": "openai", "price": {"input": "10", "output": "40"}},
    "small": {"provider": "openai", "price": {"input": "0.15", "output": "0.6"}},
    "pretended": {"provider": "simulated"},
}


def asked(number: int, judge: str) -> Request:
    messages = [{"role": "user", "content": f"{number}"}]
    return Request("p", "http://h/v1", judge, messages, {"max_tokens": 100}, None, 0)


@pytest.fixture
def artifacts(tmp_path: Path) -> tuple[Path, Path]:
    """Ten requests to each of three judges, in two overlapping files; three of `big` are stored."""
    calls = [Call(n, judge, 0, asked(n, judge)) for judge in JUDGES for n in range(10)]
    for name, some in (("a", calls[:20]), ("b", calls[10:])):
        table = pa.Table.from_pylist([call.row() for call in some], schema=requests.SCHEMA)
        artifact.write(table, tmp_path / f"{name}.parquet")
    with Store(tmp_path / "store.sqlite") as store:
        store.put_many([answer(call.request, status="ok", body=b"") for call in calls[:3]])
    return tmp_path / "a.parquet", tmp_path / "b.parquet"


def priced(
    artifacts: tuple[Path, Path],
    capsys: Any,
    monkeypatch: Any,
    judges: dict[str, Any],
    *more: str,
    store: str = "store",
) -> tuple[int, list[str], str]:
    settings = json.dumps({"judges": judges, "run": "live", "cap": "0.03"})
    given = ["--requests", *map(str, artifacts), "--store", str(artifacts[0].with_name(f"{store}.sqlite"))]
    monkeypatch.setattr(sys, "argv", ["price.py", *given, "--settings", settings, *more])
    status = program.main()
    said = capsys.readouterr()
    return status, said.out.splitlines(), said.err


def test_the_price_of_a_run(artifacts: Any, capsys: Any, monkeypatch: Any) -> None:
    """Each key once, over all artifacts; what is stored costs nothing; the total is the sum of upper bounds."""
    status, lines, error = priced(artifacts, capsys, monkeypatch, JUDGES)
    assert (status, error) == (0, "")
    rows = {line.split()[0]: line.split()[1:] for line in lines[1:5]}
    assert [rows[name][:3] for name in ("big", "small", "pretended", "total")] == [
        ["10", "3", "7"], ["10", "0", "10"], ["10", "0", "10"], ["30", "3", "27"]
    ]  # fmt: skip
    one = bound(asked(1, "big"))
    assert rows["big"][3:5] == [f"{7 * one.input:,}", "700"]
    costs = {name: Decimal(rows[name][5]) for name in rows}
    assert costs["big"] == Decimal(money(7 * Price(Decimal(10), Decimal(40)).cost(one.input, 100)))
    assert 0 < costs["small"] < costs["big"]
    assert costs["pretended"] == 0
    assert abs(costs["total"] - costs["small"] - costs["big"]) <= Decimal("0.0002")
    assert "The run's cap of 0.03 USD may stop it." in lines
    assert priced(artifacts, capsys, monkeypatch, JUDGES, store="none")[1][1].split()[2] == "0"
    assert not artifacts[0].with_name("none.sqlite").exists()


def test_a_model_without_a_price_is_refused_unless_allowed(artifacts: Any, capsys: Any, monkeypatch: Any) -> None:
    """One line and 1; allowed, it has no price, and neither has the total."""
    judges = {**JUDGES, "small": {"provider": "openai"}}
    status, lines, error = priced(artifacts, capsys, monkeypatch, judges)
    assert (status, lines, error.count("\n")) == (1, [], 1)
    assert error.startswith("price: small, field price: found 'none'")
    status, lines, error = priced(artifacts, capsys, monkeypatch, judges, "--allow-unpriced")
    assert (status, error) == (0, "")
    assert [line.endswith("no price") for line in lines[:5]] == [False, False, False, True, True]
    del judges["small"]
    assert priced(artifacts, capsys, monkeypatch, judges)[0] == 1


def test_a_run_that_asks_nobody_has_no_price_to_see(capsys: Any, monkeypatch: Any) -> None:
    arguments = ["price", "--requests", "--store", "cache/responses.sqlite", "--settings", "{}"]
    monkeypatch.setattr("sys.argv", arguments)
    assert program.main() == 0
    assert capsys.readouterr().out == "No arm of these runs asks a judge: there is nothing to pay.\n"
