"""The query loop: each missing answer is asked for once and committed before it is reported; retries, stops, caps."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import virtual_time
import wire_servers
from hypothesis import given, settings
from hypothesis import strategies as st
from wire_servers import serving

from warrant import artifact
from warrant.calls import query, requests
from warrant.calls.limits import WINDOW, Limits
from warrant.calls.providers import Case, Completion, InfraError, StopModel, TransientError, request_for
from warrant.calls.query import Asking, Judge, Outcome, Question, unanswered
from warrant.calls.request_key import Request
from warrant.calls.requests import Call
from warrant.calls.spend import Budget, Price, bound, worst_case
from warrant.calls.store import Response, Store
from warrant.errors import InputError
from warrant.judge_blocks import ApiJudge, Models

PRICE = Price(Decimal("10"), Decimal("40"))
USAGE = {"prompt_tokens": 20, "completion_tokens": 5}


def question(number: int, judge: str = "a") -> Question:
    messages = [{"role": "user", "content": str(number)}]
    request = Request("fake", "fake:", judge, messages, {"max_tokens": 100}, None, 0)
    return Question(request.key(), judge, request)


class Fake:
    """A provider that counts: what was asked and when, how many at a time, what was stored when a call began.

    errors: what each question's attempts bring first, by its number.
    """

    def __init__(self, store: Store, errors: Mapping[str, list[Exception]] | None = None, delay: float = 0.0) -> None:
        self.store, self.delay = store, delay
        self.errors = {number: list(some) for number, some in (errors or {}).items()}
        self.asked: list[str] = []
        self.times: list[float] = []
        self.now = self.most = 0
        self.unstored = 0  # most calls made whose answers were not stored
        self.closed = 0

    async def complete(self, request: Request) -> Completion:
        self.asked.append(request.key())
        self.times.append(asyncio.get_running_loop().time())
        self.unstored = max(self.unstored, len(self.asked) - self.store.count())
        self.now += 1
        self.most = max(self.most, self.now)
        try:
            await asyncio.sleep(self.delay)
        finally:
            self.now -= 1
        number = request.messages[0]["content"]
        if self.errors.get(number):
            raise self.errors[number].pop(0)
        return Completion("ok", number.encode(), usage=USAGE)

    async def close(self) -> None:
        self.closed += 1


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "store.sqlite") as opened:
        yield opened


def run(
    questions: list[Question],
    providers: Fake | Mapping[str, Fake],
    store: Store,
    in_flight: int = 4,
    limits: Callable[[], Limits] | None = None,
    meanwhile: Callable[[Asking], None] | None = None,
    price: Price | None = None,
    **options: Any,
) -> tuple[Outcome, list[str]]:
    """What came of it, and the lines that were said; in virtual time."""
    said: list[str] = []

    def say(line: str) -> None:
        if line.startswith("stored "):
            assert int(line.split()[1].replace(",", "")) <= store.count()  # committed before it is reported
        said.append(line)

    async def main() -> Outcome:
        names = {item.judge for item in questions}
        judges = {
            name: Judge(
                providers if isinstance(providers, Fake) else providers[name],
                limits() if limits is not None else Limits(in_flight),
                price,
            )
            for name in names
        }
        asking = Asking(questions, judges, store, in_flight, say, **options)
        if meanwhile is not None:
            meanwhile(asking)
        return await asking.run()

    return virtual_time.run(main()), said


def failed(outcome: Outcome) -> list[str]:
    return [f"{item.question.key}: {item.cause}" for item in outcome.failures]


# --- each once, committed first --------------------------------------------------------------------------------------


@settings(max_examples=25, deadline=None)
@given(stored=st.sets(st.integers(0, 11)), asked=st.lists(st.integers(0, 11), max_size=20), in_flight=st.integers(1, 8))
def test_each_missing_answer_is_asked_for_once(
    tmp_path_factory: pytest.TempPathFactory, stored: set[int], asked: list[int], in_flight: int
) -> None:
    """Whatever is stored and however often a request occurs: exactly the missing keys are asked for, each once."""
    with Store(tmp_path_factory.mktemp("store") / "s.sqlite") as store:
        provider = Fake(store)
        run([question(i) for i in stored], provider, store)
        provider.asked.clear()
        questions = [question(i) for i in asked]
        run(unanswered(questions, store), provider, store, in_flight)
        assert sorted(provider.asked) == sorted({question(i).key for i in set(asked) - stored})
        assert unanswered(questions, store) == []
        assert store.count() == len(stored | set(asked))


@pytest.mark.parametrize("price", [None, PRICE])
def test_at_most_in_flight_calls_are_not_stored(store: Store, price: Price | None) -> None:
    """Calls made less responses stored never exceed the number in flight, over all judges: what a kill can cost."""
    provider = Fake(store, delay=0.002)
    run([question(i, "abc"[i % 3]) for i in range(60)], provider, store, in_flight=7, price=price,
        budget=Budget("live", "USD"))  # fmt: skip
    assert provider.most == 7
    assert provider.unstored <= 7
    assert store.count() == 60


def test_a_judge_has_its_own_number_in_flight(store: Store) -> None:
    """Two judges of at most three each, though ten might be asked at a time; they take turns."""
    providers = {name: Fake(store, delay=1.0) for name in "ab"}
    run([question(i, name) for name in "ab" for i in range(12)], providers, store, 10, limits=lambda: Limits(3))
    assert [providers[name].most for name in "ab"] == [3, 3]
    assert providers["a"].times == providers["b"].times


def test_judges_take_turns(store: Store) -> None:
    """One after the other, when there is room for one only: nobody waits for the other's last question."""
    provider = Fake(store, delay=1.0)
    questions = [question(i, name) for name in "ab" for i in range(5)]
    run(questions, provider, store, in_flight=1)
    assert provider.asked == [questions[i].key for pair in zip(range(5), range(5, 10), strict=True) for i in pair]


def test_answers_that_arrive_together_are_committed_together(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Commits cost a sync each: 40 answers at once are far fewer than 40 commits."""
    commits, put_many = [], store.put_many

    def counted(given: list[Response], rows: Any = ()) -> int:
        commits.append(len(given))
        return put_many(given, rows)

    monkeypatch.setattr(store, "put_many", counted)
    _, said = run([question(i) for i in range(40)], Fake(store), store, in_flight=40)
    assert len(commits) < 10
    assert said[-1].startswith("stored 40 of 40")


def test_a_store_that_cannot_be_written_ends_the_run(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """One line, and nobody is left waiting for a commit that will not come; reservations too must be written."""

    def full(given: object, rows: object = ()) -> int:
        raise InputError("the disk is full")

    monkeypatch.setattr(store, "put_many", full)
    provider = Fake(store)
    with pytest.raises(InputError, match="the disk is full"):
        run([question(i) for i in range(20)], provider, store)
    assert provider.closed == 1
    with pytest.raises(InputError, match="the disk is full"):
        run([question(i) for i in range(20)], untouched := Fake(store), store, price=PRICE, budget=Budget("r", "USD"))
    assert untouched.asked == []


def test_nothing_to_ask(store: Store) -> None:
    """No question, no call, no line."""
    assert run([], Fake(store), store) == (Outcome([], {}, False), [])


# --- retries ---------------------------------------------------------------------------------------------------------


def test_a_failure_is_named_and_the_others_are_stored(store: Store) -> None:
    """An answer that did not come is not stored as one; everybody else's is, and a second run asks only for it."""
    questions = [question(i) for i in range(10)]
    outcome, _ = run(questions, Fake(store, {n: [InfraError("no route")] for n in "37"}), store)
    assert failed(outcome) == [f"{questions[i].key}: no route" for i in (3, 7)]
    assert [item.key for item in unanswered(questions, store)] == [questions[i].key for i in (3, 7)]
    again = Fake(store)
    assert run(unanswered(questions, store), again, store)[0].failures == []
    assert again.asked == [questions[i].key for i in (3, 7)]


@pytest.mark.parametrize("retries", [0, 1, 3])
def test_at_most_so_many_retries(store: Store, retries: int) -> None:
    """Transient errors are tried again R times, then the question has failed; causes are kept with an answer."""
    errors = [TransientError("429", 3.0), TransientError("timeout"), TransientError("timeout"), TransientError("503")]
    provider = Fake(store, {"0": errors, "1": errors[:retries]})
    outcome, _ = run([question(0), question(1)], provider, store, retries=retries)
    assert Counter(provider.asked) == {question(0).key: retries + 1, question(1).key: retries + 1}
    assert failed(outcome) == [f"{question(0).key}: {errors[retries]}"]
    (row,) = store.get_many([question(0).key, question(1).key]).values()
    causes = dict(Counter(error.cause for error in errors[:retries]))
    assert (row.retries, row.retry_causes and json.loads(row.retry_causes)) == (retries, causes or None)


def test_a_retry_waits_and_others_go_on(store: Store) -> None:
    """Retry-After 40 keeps one question waiting 40 s and holds no place in flight."""
    provider = Fake(store, {"0": [TransientError("503", 40.0)]}, delay=1.0)
    run([question(i) for i in range(6)], provider, store, in_flight=1)
    assert provider.asked == [question(i).key for i in (0, 1, 2, 3, 4, 5, 0)]
    assert provider.times[:6] == [0, 1, 2, 3, 4, 5]
    assert provider.times[6] == pytest.approx(41)


def test_what_was_answered_is_never_tried_again(store: Store) -> None:
    """A refusal, an empty or truncated answer is stored and final, whatever it says."""

    class Refusing(Fake):
        async def complete(self, request: Request) -> Completion:
            await super().complete(request)
            return Completion(("refusal", "empty", "truncated")[len(self.asked) % 3], b"")

    provider = Refusing(store)
    assert run([question(i) for i in range(9)], provider, store, retries=5)[0].failures == []
    assert len(provider.asked) == store.count() == 9


class Mixed(Fake):
    """Answers come from another model than asked for, as a pattern of letters says: w(rong) or o(k), repeated."""

    def __init__(self, store: Store, pattern: str) -> None:
        super().__init__(store, delay=1.0)
        self.pattern = pattern

    async def complete(self, request: Request) -> Completion:
        answered = await super().complete(request)
        if self.pattern[self.asked.index(request.key()) % len(self.pattern)] == "o":
            return answered
        return answered._replace(status="wrong_model", returned_model="other")


def test_a_judge_that_another_model_answers_for_is_stopped(store: Store) -> None:
    """After WRONG answers in a row: what was in flight is stored, nothing more is asked, the reason says what to do."""
    providers = {"a": Mixed(store, "w"), "b": Fake(store, delay=1.0)}
    questions = [question(i, "ab"[i % 2]) for i in range(200)]
    outcome, said = run(questions, providers, store, in_flight=3)
    assert query.WRONG <= len(providers["a"].asked) < query.WRONG + 3
    assert len(providers["b"].asked) == 100
    assert store.count() == len(providers["a"].asked) + 100
    reason = "the last 5 answers came from 'other', not 'a' (the same model? say `also_named`)"
    assert (outcome.stopped, outcome.failures) == ({"a": reason}, [])
    assert any(line.startswith(f"a is stopped: {reason}; ") for line in said)


def test_a_judge_that_another_model_answers_for_now_and_then_goes_on(store: Store) -> None:
    """One answer of the model asked for in every WRONG is enough: the others are counted where they are read."""
    provider = Mixed(store, "w" * (query.WRONG - 1) + "o")
    assert run([question(i) for i in range(40)], provider, store, in_flight=1)[0].stopped == {}
    assert len(provider.asked) == 40


def test_how_long_the_answered_call_took_is_stored(store: Store) -> None:
    """Microseconds of the attempt that was answered, without waits and attempts before it."""
    run([question(0)], Fake(store, {"0": [TransientError("503", 30.0)]}, delay=1.5), store)
    assert store.table().column("elapsed").to_pylist() == [1_500_000]


def test_all_that_a_provider_says_is_stored(store: Store) -> None:
    """Status, finish reason, usage, returned model and provider, and the raw body."""
    said = Completion("wrong_model", b"text", "stop", USAGE, "another", None, b'{"id": 1}', "somebody")

    class Saying(Fake):
        async def complete(self, request: Request) -> Completion:
            return said

    run([question(0)], Saying(store), store)
    (row,) = store.get_many([question(0).key]).values()
    assert (row.status, row.body, row.finish_reason, row.returned_model) == (*said[:3], "another")
    assert (row.raw, row.returned_provider, json.loads(row.usage or "")) == (said.raw, "somebody", USAGE)
    (projected,) = store.table([question(0).key]).to_pylist()
    assert (projected["returned_provider"], projected["status"]) == ("somebody", "wrong_model")


def test_429_slows_the_judge_down(store: Store) -> None:
    """Of eight at once, 429 to all: four at a time afterwards, not before Retry-After has passed, and nothing lost."""
    provider = Fake(store, {str(i): [TransientError("429", 7.0)] for i in range(8)}, delay=1.0)
    outcome, _ = run([question(i) for i in range(20)], provider, store, in_flight=8)
    assert outcome.failures == []
    assert provider.times[8] == pytest.approx(8.0)
    assert sum(t < 9.0 for t in provider.times) == 8 + 4
    assert store.count() == 20


@pytest.mark.parametrize("in_flight", [1, 16])
def test_requests_and_tokens_a_minute(store: Store, in_flight: int) -> None:
    """No window of the clock holds more calls or tokens than the judge allows; retries count as calls."""
    errors = {str(i): [TransientError("503")] for i in range(0, 60, 7)}
    provider = Fake(store, errors, delay=0.5)
    most = 10 * bound(question(0).request).total
    run([question(i) for i in range(60)], provider, store, in_flight, lambda: Limits(in_flight, 30, most))
    assert store.count() == 60
    for end in provider.times:
        window = [start for start in provider.times if end - WINDOW + 1e-6 < start <= end]
        assert len(window) <= 30
        assert sum(sum(USAGE.values()) for _ in window) <= most


def test_a_mistake_in_a_provider_stops_the_run_and_keeps_what_came(store: Store) -> None:
    """An exception that is no InfraError is raised, once what was in flight is stored; providers are closed."""
    provider = Fake(store, {"3": [ZeroDivisionError("oops")]}, delay=1.0)
    with pytest.raises(ZeroDivisionError, match="oops"):
        run([question(i) for i in range(20)], provider, store)
    assert store.count() == 3
    assert provider.closed == 1


# --- judges that are stopped -----------------------------------------------------------------------------------------


def test_a_judge_that_cannot_be_asked_is_stopped_and_others_go_on(store: Store) -> None:
    """One line with the reason; what it is being asked still counts, the rest is not asked, the other's is."""
    providers = {"a": Fake(store, {"2": [StopModel("401: no such key")]}, delay=1.0), "b": Fake(store, delay=1.0)}
    questions = [question(i, name) for name in "ab" for i in range(20)]
    outcome, said = run(questions, providers, store, 8, limits=lambda: Limits(4))
    assert len(providers["a"].asked) == 4
    assert len(providers["b"].asked) == 20
    assert outcome.stopped == {"a": "401: no such key"}
    assert [line for line in said if "a is stopped" in line] == [
        "a is stopped: 401: no such key; 16 of its questions are not asked"
    ]
    assert store.count() == 23


def test_a_judge_that_is_stopped_is_not_tried_again(store: Store) -> None:
    """Retries that wait are dropped, and calls in flight that fail afterwards make none."""
    errors: dict[str, list[Exception]] = {"0": [TransientError("503", 5.0)], "1": [StopModel("402")]}
    provider = Fake(store, {**errors, "2": [StopModel("402")]}, delay=1.0)
    outcome, said = run([question(i) for i in range(9)], provider, store, in_flight=3)
    assert len(provider.asked) == 3
    assert len([line for line in said if "stopped" in line]) == 1
    assert len(outcome.failures) == 2


def test_a_judge_that_nobody_reaches_is_stopped(store: Store) -> None:
    """A network that is gone: the run ends soon, not after every question has failed by itself."""
    errors = {str(i): [TransientError("connect")] * 2 for i in range(1000)}
    outcome, said = run([question(i) for i in range(1000)], provider := Fake(store, errors), store)
    assert len({*provider.asked}) < 60
    assert outcome.stopped.keys() == {"a"}
    assert any("the last 29 questions got no answer (connect)" in line for line in said)


# --- spend -----------------------------------------------------------------------------------------------------------


WORST = worst_case("a", PRICE, bound(question(0).request))
COST = PRICE.cost(20, 5)


class Reserved(Fake):
    """A provider that looks whether its call's worst case is in the store, and all of them are within the cap."""

    cap = Decimal(1000)

    async def complete(self, request: Request) -> Completion:
        rows = self.store.reservations("live")
        assert Budget("live", "USD", rows=rows).total <= self.cap
        open_ = sum(row.kind == "reserved" for row in rows) - sum(row.kind != "reserved" for row in rows)
        assert open_ > self.now
        assert any((row.request_sha256, row.kind) == (request.key(), "reserved") for row in rows)
        return await super().complete(request)


def test_the_worst_case_is_committed_before_the_call(store: Store) -> None:
    """And settled with the answer: afterwards the rows add up to the cost of the usages."""
    provider = Reserved(store, {"3": [TransientError("429")], "4": [TransientError("timeout")]}, delay=1.0)
    run([question(i) for i in range(10)], provider, store, price=PRICE, budget=Budget("live", "USD"))
    again = Budget("live", "USD", rows=store.reservations("live"))
    assert again.total == 10 * COST + WORST  # the call that timed out may have been billed, 429 was not
    assert store.count() == 10


@settings(max_examples=25, deadline=None)
@given(
    cap=st.integers(0, 30),
    judge_cap=st.none() | st.integers(0, 30),
    in_flight=st.integers(1, 8),
    failing=st.sets(st.integers(0, 39)),
)
def test_a_cap_is_never_exceeded(
    tmp_path_factory: pytest.TempPathFactory, cap: int, judge_cap: int | None, in_flight: int, failing: set[int]
) -> None:
    """Whatever fails: what was spent at most stays within the caps; what is left undone did not fit; a line says so."""
    caps = {} if judge_cap is None else {"a": judge_cap * WORST / 4}
    questions = [question(i, "ab"[i % 2]) for i in range(40)]
    with Store(tmp_path_factory.mktemp("store") / "s.sqlite") as store:
        errors = {str(i): [TransientError(("timeout", "429")[i % 2])] for i in failing}
        provider = Reserved(store, errors, delay=1.0)
        provider.cap = cap * WORST / 4
        budget = Budget("live", "USD", provider.cap, caps)
        outcome, said = run(questions, provider, store, in_flight, price=PRICE, budget=budget, retries=2)
        spent = Budget("live", "USD", rows=store.reservations("live"))
        assert spent.total == budget.total <= cap * WORST / 4
        for name, most in caps.items():
            assert spent.by_judge.get(name, Decimal(0)) <= most
        left = Counter(item.judge for item in unanswered(questions, store))
        assert outcome.failures == []
        assert {name for name in left if left[name]} == set(outcome.stopped)
        for name in outcome.stopped:
            assert spent.total + WORST > cap * WORST / 4 or spent.by_judge.get(name, Decimal(0)) + WORST > caps[name]
            (line,) = [line for line in said if line.startswith(f"{name} is stopped: spent ")]
            assert f"{left[name]} of its questions are not asked" in line
            assert "cap of" in line


def test_a_cap_is_used_up(store: Store) -> None:
    """Calls in flight hold their worst case only while they are: a cap of three worst cases pays for many answers."""
    budget = Budget("live", "USD", 3 * WORST)
    run([question(i) for i in range(40)], provider := Fake(store, delay=1.0), store, 8, price=PRICE, budget=budget)
    assert provider.most == 3
    assert store.count() == (3 * WORST - WORST) // COST + 1


def test_what_a_killed_run_reserved_counts(store: Store) -> None:
    """What a kill left open may have been billed: it stays at its worst case, and is not charged to other runs."""
    lost = Budget("live", "USD")
    store.put_many([], [lost.reserve(question(0).key, "a", WORST)])
    budget = Budget("live", "USD", 2 * WORST, rows=store.reservations("live"))
    run([question(0)], Fake(store), store, price=PRICE, budget=budget)
    assert Budget("live", "USD", rows=store.reservations("live")).total == WORST + COST
    assert store.reservations("other") == []


# --- progress --------------------------------------------------------------------------------------------------------


def test_progress_is_a_line_a_second_and_a_last_one(store: Store) -> None:
    """100 answers in 10 s: about ten lines, each with rate, spend and time left, the last with all of them."""
    _, said = run([question(i) for i in range(100)], Fake(store, delay=0.1), store, 1, price=PRICE,
                  budget=Budget("live", "USD"))  # fmt: skip
    assert 10 <= len(said) <= 12
    shape = r"stored \d+ of 100, [\d.]+/s, 0:00:\d\d left, spent 0\.\d{4} USD"
    assert all(re.fullmatch(shape, line) for line in said[:-1])
    assert all(float(line.split()[4][:-3]) == pytest.approx(10, rel=0.1) for line in said[1:])
    assert "stored 40 of 100" in said[4]
    assert "0:00:06 left" in said[4]
    assert re.fullmatch(r"stored 100 of 100, [\d.]+/s, spent 0\.\d{4} USD", said[-1])
    assert len(said) == len(set(said))


def test_the_last_line_comes_though_nothing_was_answered(store: Store) -> None:
    """With the number of questions that have no answer."""
    _, said = run([question(0)], Fake(store, {"0": [InfraError("no")]}), store)
    assert said == ["stored 0 of 1, 1 without an answer"]


# --- stopping --------------------------------------------------------------------------------------------------------


def test_a_stop_waits_for_what_is_in_flight(store: Store) -> None:
    """No new question, no retry; what is in flight is stored, providers are closed."""
    provider = Fake(store, {"1": [TransientError("503", 2.0)]}, delay=3.0)
    questions = [question(i) for i in range(50)]
    outcome, said = run(questions, provider, store, 5, meanwhile=lambda asking: later(4.0, asking.stop))
    assert outcome.interrupted
    assert (len(provider.asked), store.count(), provider.closed) == (10, 9, 1)
    assert "stopping: 5 calls in flight have 30 s to be answered" in said
    assert said[-1].startswith("stored 9 of 50")


def test_a_stop_waits_no_longer_than_it_says(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Calls that do not end are given up; a second signal gives them up at once."""
    ended = []

    for seconds, expected in (([1.0], 1.0 + query.GRACE), ([1.0, 3.0], 3.0)):
        provider = Fake(store, delay=1000.0)

        def stop(asking: Asking, seconds: list[float] = seconds) -> None:
            for moment in seconds:
                later(moment, asking.stop)

        def close(provider: Fake = provider) -> None:
            ended.append(asyncio.get_running_loop().time())

        monkeypatch.setattr(provider, "close", close)
        outcome, _ = run([question(i) for i in range(9)], provider, store, meanwhile=stop)
        assert outcome.interrupted
        assert ended.pop() == pytest.approx(expected)
        assert provider.now == 0


def later(seconds: float, call: Callable[[], None]) -> None:
    asyncio.get_running_loop().call_later(seconds, call)


# --- the program -----------------------------------------------------------------------------------------------------


JUDGE = {
    "provider": "simulated", "seed": 1, "sensitivity": "0.80", "reversal": "0.05", "false_conflict": "0.08",
    "conflict_blindness": "0.30", "untyped_blindness": "0.65", "overcommitment": "0.40", "correlation": "0.50",
    "confidence_right": "0.90", "confidence_wrong": "0.82", "confidence_noise": "0.05", "unusable": "0.10",
    "fenced": "0.20",
}  # fmt: skip


def rendered(folder: Path, judge: dict[str, Any]) -> Path:
    """200 requests to a judge."""
    calls = []
    for n in range(200):
        case = Case(f"{n:064x}", "support", "4opt")
        calls.append(Call(n, "a", 0, request_for("a", judge, [{"role": "user", "content": f"claim {n}"}], case, 0)))
    table = pa.Table.from_pylist([call.row() for call in calls], schema=requests.SCHEMA)
    artifact.write(table, folder / "requests.parquet", provenance={"step": "render"})
    return folder


@pytest.fixture
def asked(tmp_path: Path) -> Path:
    """200 requests to a simulated judge."""
    return rendered(tmp_path, JUDGE)


def command(project: Path, folder: Path, judges: dict[str, Any] | None = None, **more: Any) -> list[str]:
    judges = {"a": {"provider": "simulated", "latency": "0.05"}} if judges is None else judges
    given = {"store": str(folder / "s.sqlite"), "replay": False, "in_flight": 4, "judges": judges, **more}
    files = ["--requests", str(folder / "requests.parquet"), "--responses", str(folder / "responses.parquet")]
    return [sys.executable, str(project / "scripts/query.py"), *files, "--settings", json.dumps(given)]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_program_cleanly(project: Path, asked: Path, number: int) -> None:
    """130, one line, every answer that came stored; the next run asks for the others."""
    with subprocess.Popen(command(project, asked), stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        first = [process.stderr.readline(), process.stderr.readline()]
        assert first[0] == "200 requests, 0 stored, 200 to ask\n"
        assert first[1].startswith("stored ")
        os.kill(process.pid, number)
        rest = process.stderr.read().splitlines()
    assert process.returncode == 130
    assert "Traceback" not in "".join(rest)
    said = re.fullmatch(r"query: stopped; (\d+) answers were stored, (\d+) are left for another run", rest[-1])
    assert said is not None
    with Store(asked / "s.sqlite") as store:
        assert (store.count(), 200 - store.count()) == (int(said[1]), int(said[2]))
        assert 0 < store.count() < 200
    assert not (asked / "responses.parquet").exists()
    done = subprocess.run(command(project, asked), capture_output=True, text=True, check=True)
    assert f"200 requests, {said[1]} stored, {said[2]} to ask" in done.stderr
    assert len(pq.read_table(asked / "responses.parquet")) == 200


def test_answers_that_did_not_come_for_one_cause_are_one_line(project: Path, tmp_path: Path) -> None:
    """Nobody listens there: the judge, one of its keys, how many more, why; then what is left to do."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
    given = {"provider": "openai_compatible", "model": "m-1", "base_url": address, "api_key_env": None}
    block = Models.model_validate({"a": given}).root["a"]
    rendered(tmp_path, block.sent())
    settings = {"judges": {"a": block.transport()}, "allow_unpriced": True, "retries": 0}
    done = subprocess.run(command(project, tmp_path, **settings), capture_output=True, text=True, check=False)
    assert done.returncode == 1
    lines = done.stderr.splitlines()
    assert len([line for line in lines if re.fullmatch(r"a, [0-9a-f]{64} and [0-9]+ more: .+", line)]) == 1, done.stderr
    assert "200 of 200 answers did not come; run again to ask for them (a was stopped: " in lines[-1]


def test_a_signal_while_another_run_has_the_store(project: Path, asked: Path) -> None:
    """Waiting for the lock it ends as cleanly."""
    from warrant.calls.store import query_lock

    with query_lock(asked / "s.sqlite"):
        with subprocess.Popen(command(project, asked), stderr=subprocess.PIPE, text=True) as process:
            assert process.stderr is not None
            assert "waiting for it" in process.stderr.readline()
            time.sleep(0.1)
            os.kill(process.pid, signal.SIGTERM)
            rest = process.stderr.read()
        assert (process.returncode, rest) == (130, "query: stopped; nothing that was reported is lost\n")


def test_missing_answers_are_rows_when_they_may_be(project: Path, asked: Path) -> None:
    """allow_missing: an infra_error without text for each request whose answer is not stored, in a replay too."""
    half = pq.read_table(asked / "requests.parquet")
    subprocess.run(command(project, asked), check=True, capture_output=True)
    whole = pq.read_table(asked / "responses.parquet").to_pylist()
    kept = [row["request_sha256"] for row in half.to_pylist()[::2]]
    with Store(asked / "s.sqlite") as store, Store(asked / "half.sqlite") as other:
        other.put_many(store.get_many(kept).values())
    some = {"store": str(asked / "half.sqlite"), "replay": True}
    refused = subprocess.run(command(project, asked, **some), capture_output=True, text=True, check=False)
    assert refused.returncode == 1
    assert "100 of 200 responses missing (a: 100)" in refused.stderr
    done = subprocess.run(command(project, asked, **some, allow_missing=True), capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    rows = pq.read_table(asked / "responses.parquet").to_pylist()
    assert rows[::2] == whole[::2]
    assert {(row["status"], row["text"], row["provider"], row["retries"]) for row in rows[1::2]} == {
        ("infra_error", None, "simulated", 0)
    }


@pytest.mark.parametrize(
    ("judge", "more", "part"),
    [
        ({"provider": "openai"}, {}, "query: a, field price: found 'none'"),
        ({"provider": "openai", "cap": "1"}, {"allow_unpriced": True}, "query: a, field cap: found a cap and no price"),
        ({"provider": "openai", "price": {"input": "1", "output": "x"}}, {}, "query: a, field price output: found 'x'"),
    ],
)
def test_settings_that_are_refused_before_anybody_is_asked(
    project: Path, asked: Path, judge: dict[str, Any], more: dict[str, Any], part: str
) -> None:
    """One line, status 1, no row in the store."""
    done = subprocess.run(command(project, asked, {"a": judge}, **more), capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith(part)
    assert "Traceback" not in done.stderr
    with Store(asked / "s.sqlite") as store:
        assert store.count() == 0


def test_a_price_on_a_simulated_judge_is_charged(project: Path, asked: Path) -> None:
    """A cap that one call exceeds: nobody is asked, one line says what was spent, what the cap is, what is undone."""
    judge = {"provider": "simulated", "latency": "0", "price": {"input": "1000", "output": "1"}, "max_output_tokens": 9}
    given = {"judges": {"a": judge}, "cap": "0.0001", "run": "live"}
    done = subprocess.run(command(project, asked, **given), capture_output=True, text=True, check=False)
    assert done.returncode == 1
    lines = done.stderr.splitlines()
    assert re.match(r"a is stopped: spent 0.0000 of the run's cap of 0.0001 USD, the next call may cost 0\.\d+; "
                    "200 of its questions are not asked", lines[1])  # fmt: skip
    assert "200 of 200 answers did not come" in lines[-1]
    with Store(asked / "s.sqlite") as store:
        assert store.reservations("live") == []


def test_an_answer_under_another_name_is_read_again_and_not_paid_again(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """wrong_model until the judge's block has the name: then the stored answers count, and nobody is asked for them."""
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    judge = {
        "provider": "openai",
        "model": "m-1",
        "parameters": {"max_tokens": 9},
        "price": {"input": "1", "output": "1"},
    }
    with serving() as server:
        server.default = lambda call: wire_servers.answer(call, model="m-1-fast")
        judge["base_url"] = server.base_url("openai")

        def blocks(*named: str) -> ApiJudge:
            made = Models.model_validate({"j": {**judge, "also_named": list(named)}}).root["j"]
            assert isinstance(made, ApiJudge)
            return made

        sent, calls = json.loads(json.dumps(blocks().sent())), []
        for n in range(12):
            case = Case(f"{n:064x}", "support", "4opt")
            calls.append(Call(n, "j", 0, request_for("j", sent, [{"role": "user", "content": f"claim {n}"}], case, 0)))
        table = pa.Table.from_pylist([call.row() for call in calls], schema=requests.SCHEMA)
        artifact.write(table, tmp_path / "requests.parquet", provenance={"step": "render"})

        def program(*named: str, **more: Any) -> subprocess.CompletedProcess[str]:
            transport = json.loads(json.dumps(blocks(*named).transport()))
            given = command(project, tmp_path, {"j": transport}, in_flight=1, **more)
            return subprocess.run(given, capture_output=True, text=True, check=False)

        stopped = program()
        assert stopped.returncode == 1
        assert "the last 5 answers came from 'm-1-fast', not 'm-1' (the same model? say `also_named`)" in stopped.stderr
        assert len(server.calls) == query.WRONG
        done = program("m-1-fast")
        assert done.returncode == 0, done.stderr
        assert "12 requests, 5 stored, 7 to ask" in done.stderr
    assert len(server.calls) == 12
    assert {row["status"] for row in pq.read_table(tmp_path / "responses.parquet").to_pylist()} == {"ok"}
    assert program(replay=True).returncode == 0
    statuses = [row["status"] for row in pq.read_table(tmp_path / "responses.parquet").to_pylist()]
    assert statuses == ["wrong_model"] * 5 + ["ok"] * 7
