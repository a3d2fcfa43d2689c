"""The query loop: each missing answer is asked for once, committed before it is reported, and failures are named."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from warrant.errors import InputError
from warrant.providers import Completion, InfraError
from warrant.query import Question, ask, unanswered
from warrant.request_key import Request
from warrant.store import Store


def question(number: int, judge: str = "a") -> Question:
    messages = [{"role": "user", "content": str(number)}]
    request = Request("fake", "fake:", judge, messages, {}, None, 0)
    return Question(request.key(), judge, request)


class Fake:
    """A provider that counts: what was asked, how many at a time, and what was stored when the next call began."""

    def __init__(self, store: Store, failing: frozenset[str] = frozenset(), delay: float = 0.0) -> None:
        self.store, self.failing, self.delay = store, failing, delay
        self.asked: list[str] = []
        self.now = self.most = 0
        self.unstored = 0  # most calls made whose answers were not stored

    async def complete(self, request: Request) -> Completion:
        self.asked.append(request.key())
        self.unstored = max(self.unstored, len(self.asked) - self.store.count())
        self.now += 1
        self.most = max(self.most, self.now)
        await asyncio.sleep(self.delay)
        self.now -= 1
        if request.messages[0]["content"] in self.failing:
            raise InfraError("no route")
        return Completion("ok", request.messages[0]["content"].encode())


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "store.sqlite") as opened:
        yield opened


def run(questions: list[Question], provider: Fake, store: Store, in_flight: int = 4) -> tuple[list[str], list[str]]:
    """Causes of failures, and the lines that were said."""
    said: list[str] = []

    def say(line: str) -> None:
        assert int(line.split()[1].replace(",", "")) <= store.count()  # committed before it is reported
        said.append(line)

    judges = {item.judge: provider for item in questions}
    failures = asyncio.run(ask(questions, judges, store, in_flight, say))
    return [f"{item.question.key}: {item.cause}" for item in failures], said


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


def test_at_most_in_flight_calls_are_not_stored(store: Store) -> None:
    """Calls made less responses stored never exceed the number in flight: what a kill can cost."""
    provider = Fake(store, delay=0.002)
    run([question(i) for i in range(60)], provider, store, in_flight=7)
    assert provider.most == 7
    assert provider.unstored <= 7


def test_answers_that_arrive_together_are_committed_together(store: Store) -> None:
    """Commits cost a sync each: 40 answers at once are far fewer than 40 commits."""
    _, said = run([question(i) for i in range(40)], Fake(store), store, in_flight=40)
    assert len(said) < 10
    assert said[-1] == "stored 40 of 40"


def test_a_failure_is_named_and_the_others_are_stored(store: Store) -> None:
    """An answer that did not come is not stored as one; everybody else's is, and a second run asks only for it."""
    questions = [question(i) for i in range(10)]
    failures, _ = run(questions, Fake(store, frozenset({"3", "7"})), store)
    assert failures == [f"{questions[i].key}: no route" for i in (3, 7)]
    assert [item.key for item in unanswered(questions, store)] == [questions[i].key for i in (3, 7)]
    again = Fake(store)
    assert run(unanswered(questions, store), again, store)[0] == []
    assert again.asked == [questions[i].key for i in (3, 7)]


def test_a_store_that_cannot_be_written_ends_the_run(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """One line, and no worker is left waiting for a commit that will not come."""

    def full(given: object) -> int:
        raise InputError("the disk is full")

    monkeypatch.setattr(store, "put_many", full)
    with pytest.raises(InputError, match="the disk is full"):
        run([question(i) for i in range(20)], Fake(store), store)


def test_nothing_to_ask(store: Store) -> None:
    """No question, no call."""
    assert run([], Fake(store), store) == ([], [])
