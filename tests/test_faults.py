"""What comes of every fault, for each API: the status that is stored, the attempts, and what counts towards a cap.

The table in config/README.md is the one that is tested here.
"""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import Callable
from decimal import Decimal
from email.utils import formatdate
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import wire_servers as wire
from wire_servers import Call, Making, Reply, Server, serving

from warrant.calls import policy, spend
from warrant.calls.limits import Limits
from warrant.calls.providers import Case, provider_for, request_for
from warrant.calls.query import Asking, Judge, Outcome, Question
from warrant.calls.request_key import parse
from warrant.calls.store import Store
from warrant.judge_blocks import ApiJudge, Models

KINDS = ("openai", "responses", "anthropic", "openai_compatible")
MESSAGES = [{"role": "user", "content": "Is it so?"}]
PRICE = {"input": "3", "output": "15"}
TIMEOUT = 0.4


class Fault(NamedTuple):
    """What a server does, and what it says of it when it does it to every call.

    status: of the stored answer; None when there is none. attempts: calls for one question with one retry. each: what
    each of them counts: nothing, its worst case, or what its usage costs. stops: the judge is asked nothing more.
    """

    makes: Making
    status: str | None
    attempts: int
    each: str
    stops: bool = False


def refused(call: Call) -> Reply:
    """The model declines, in the words of each API."""
    make: dict[str, Callable[[], dict[str, Any]]] = {
        "chat": lambda: wire.chat(call, None, refusal="No."),
        "responses": lambda: wire.responses(call, None, refusal="No."),
        "messages": lambda: wire.messages(call, None, "refusal"),
    }
    return wire.ok(make[call.api]())


def empty(call: Call) -> Reply:
    """A well-formed answer without a word."""
    return wire.answer(call, "")


def cut_off(call: Call) -> Reply:
    """An answer that ended at its limit of tokens."""
    make: dict[str, Callable[[], dict[str, Any]]] = {
        "chat": lambda: wire.chat(call, '{"ver', "length"),
        "responses": lambda: wire.responses(call, '{"ver', "max_output_tokens"),
        "messages": lambda: wire.messages(call, '{"ver', "max_tokens"),
    }
    return wire.ok(make[call.api]())


FAULTS = {
    "429, `Retry-After` in seconds": Fault(wire.overloaded(429, "1"), None, 2, "nothing"),
    "429, `Retry-After` as a date": Fault(
        lambda call: wire.overloaded(429, formatdate(time.time() + 2, usegmt=True))(call), None, 2, "nothing"
    ),
    "408, 409": Fault(wire.overloaded(409), None, 2, "nothing"),
    "500": Fault(wire.overloaded(500), None, 2, "nothing"),
    "503": Fault(wire.overloaded(503), None, 2, "nothing"),
    "529": Fault(wire.overloaded(529), None, 2, "nothing"),
    "connection reset inside the answer": Fault(wire.reset_in_body, None, 2, "worst case"),
    "half a JSON body": Fault(wire.half_json, None, 2, "worst case"),
    "200 with an error body": Fault(wire.under_200(wire.overloaded(500)), None, 2, "worst case"),
    "an answer that drips past `timeout`": Fault(wire.dripping(0.05), None, 2, "worst case"),
    "refusal": Fault(refused, "refusal", 1, "usage"),
    "empty content": Fault(empty, "empty", 1, "usage"),
    "cut off at the limit of tokens": Fault(cut_off, "truncated", 1, "usage"),
    "another model than asked for": Fault(lambda call: wire.answer(call, model="other"), "wrong_model", 1, "usage"),
    "400, 404": Fault(wire.error(404, "The model does not exist."), None, 1, "nothing", stops=True),
    "401, 403": Fault(wire.error(401, "Incorrect API key provided."), None, 1, "nothing", stops=True),
    "402, or credit exhausted": Fault(wire.error(402, "Insufficient credits."), None, 1, "nothing", stops=True),
}


@pytest.fixture(autouse=True)
def fast(monkeypatch: pytest.MonkeyPatch) -> None:
    """A key, and waits that no test needs to sit out."""
    monkeypatch.setenv("TEST_KEY", "sk-test")
    monkeypatch.setattr(policy, "FIRST", 0.01)
    monkeypatch.setattr(policy, "MOST", 0.02)


def asked(kind: str, server: Server, store: Store, questions: int = 1) -> tuple[Outcome, spend.Price, Decimal]:
    """What comes of asking a judge of this kind: the outcome, its price, and the worst case of one call."""
    provider = "openai" if kind == "responses" else kind
    own: dict[str, Any] = {"parameters": {"max_tokens": 300}}
    if kind == "responses":
        own = {"api": "responses", "parameters": {"max_output_tokens": 300}}
    given = {"provider": provider, "model": "m-1", "base_url": server.base_url(provider), "api_key_env": "TEST_KEY"}
    block = Models.model_validate({"j": {**given, "timeout": str(TIMEOUT), "price": PRICE, **own}}).root["j"]
    assert isinstance(block, ApiJudge)
    sent, transport = json.loads(json.dumps([block.sent(), block.transport()]))
    made = []
    for replicate in range(questions):
        request = parse(request_for("j", sent, MESSAGES, Case("0" * 64, "support", "4opt"), replicate).canonical())
        made.append(Question(request.key(), "j", request))
    price = spend.price_of("j", transport)
    assert price is not None

    async def main() -> Outcome:
        judge = Judge(provider_for(transport), Limits(1), price)
        budget = spend.Budget("r", "USD", rows=store.reservations("r"))
        return await Asking(made, {"j": judge}, store, 1, lambda line: None, retries=1, budget=budget).run()

    return asyncio.run(main()), price, spend.worst_case("j", price, spend.bound(made[0].request))


def counted(store: Store) -> Decimal:
    """What the run has spent, as a later run reads it."""
    return spend.Budget("r", "USD", rows=store.reservations("r")).total


def cost(price: spend.Price, call: Call) -> Decimal:
    """What the usage of a whole answer of the server's costs."""
    usage = spend.tokens(json.loads(wire.answer(call).content)["usage"])
    assert usage is not None
    return price.cost(*usage)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_of_every_call(tmp_path: Path, kind: str, name: str) -> None:
    """Status, attempts and bill of one question whose every call goes wrong."""
    fault = FAULTS[name]
    with serving(fault.makes) as server, Store(tmp_path / "s.sqlite") as store:
        outcome, price, worst = asked(kind, server, store)
        assert len(server.calls) == fault.attempts
        each = {"nothing": Decimal(0), "worst case": worst, "usage": cost(price, server.calls[0])}[fault.each]
        assert counted(store) == fault.attempts * each
        rows = store.table().to_pylist()
        assert [row["status"] for row in rows] == ([] if fault.status is None else [fault.status])
        assert len(outcome.failures) == (fault.status is None)
        assert ("j" in outcome.stopped) == fault.stops


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", [name for name, fault in FAULTS.items() if fault.attempts == 2])
def test_a_fault_of_one_call(tmp_path: Path, kind: str, name: str) -> None:
    """Where another attempt is made, its answer is stored, with the retry and its cause; both calls are on the bill."""
    fault = FAULTS[name]
    with serving() as server, Store(tmp_path / "s.sqlite") as store:
        server.script = [fault.makes]
        outcome, price, worst = asked(kind, server, store)
        assert (outcome.failures, outcome.stopped, len(server.calls)) == ([], {}, 2)
        lost = worst if fault.each == "worst case" else Decimal(0)
        assert counted(store) == lost + cost(price, server.calls[1])
        (row,) = store.table().to_pylist()
        assert (row["status"], row["retries"], sum(json.loads(row["retry_causes"]).values())) == ("ok", 1, 1)


@pytest.mark.parametrize("name", [name for name, fault in FAULTS.items() if fault.stops])
def test_a_judge_that_is_stopped_is_asked_once(tmp_path: Path, name: str) -> None:
    """Ten questions, one call: the others are neither asked nor paid."""
    with serving(FAULTS[name].makes) as server, Store(tmp_path / "s.sqlite") as store:
        outcome, _, _ = asked("openai", server, store, questions=10)
        assert (len(server.calls), len(outcome.failures), counted(store)) == (1, 1, 0)


def test_the_documented_table_is_the_one_that_is_tested(project: Path) -> None:
    """config/README.md, line by line."""
    lines = (project / "config/README.md").read_text(encoding="utf-8").splitlines()
    start = lines.index("| what comes | stored as | calls | each counts |") + 2
    table = []
    for line in lines[start:]:
        if not line.startswith("|"):
            break
        table.append(tuple(re.split(r" \| ", line.strip("| "))))
    expected = []
    for name, fault in FAULTS.items():
        stored = f"`{fault.status}`" if fault.status else "nothing; the judge is stopped" if fault.stops else "nothing"
        expected.append((name, stored, str(fault.attempts), fault.each))
    assert table == expected
