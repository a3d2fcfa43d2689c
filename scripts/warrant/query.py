"""Asking for what is not stored yet: every answer is committed before it is reported, and asked for once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from warrant.providers import Completion, InfraError, Provider
from warrant.request_key import Request
from warrant.store import Store, answer

Say = Callable[[str], None]


class Question(NamedTuple):
    """A request under its key, and the judge who is asked."""

    key: str
    judge: str
    request: Request


class Failure(NamedTuple):
    """A question that no answer came to, and why."""

    question: Question
    cause: str


class _Answered(NamedTuple):
    question: Question
    completion: Completion
    stored: asyncio.Future[None]


def unanswered(questions: Sequence[Question], store: Store) -> list[Question]:
    """The questions whose answer is not stored, each key once, in their order."""
    once = {question.key: question for question in questions}
    stored = store.get_many(once)
    return [question for key, question in once.items() if key not in stored]


async def ask(
    questions: Sequence[Question], providers: Mapping[str, Provider], store: Store, in_flight: int, say: Say
) -> list[Failure]:
    """Ask every question, `in_flight` at a time; the failures, in the order in which they came.

    A worker takes its next question once its answer is committed: killed at any moment, at most `in_flight` calls were
    made whose answers are not stored. Answers that arrive together are committed together.
    """
    waiting = iter(questions)
    answered: asyncio.Queue[_Answered] = asyncio.Queue()
    failures: list[Failure] = []

    async def work() -> None:
        for question in waiting:
            try:
                completion = await providers[question.judge].complete(question.request)
            except InfraError as error:
                failures.append(Failure(question, str(error)))
                continue
            stored = asyncio.get_running_loop().create_future()
            answered.put_nowait(_Answered(question, completion, stored))
            await stored

    async def commit() -> None:
        done = 0
        while True:
            some = [await answered.get()]
            while not answered.empty():
                some.append(answered.get_nowait())
            store.put_many([answer(item.question.request, **item.completion._asdict()) for item in some])
            done += len(some)
            say(f"stored {done:,} of {len(questions):,}")
            for item in some:
                item.stored.set_result(None)

    committing = asyncio.create_task(commit())
    workers = [asyncio.create_task(work()) for _ in range(min(in_flight, len(questions)))]
    everyone = [committing, *workers]
    try:
        open_workers = set(workers)
        while open_workers:
            # a commit that fails (a full disk) ends the run: its workers would wait for ever
            ended, _ = await asyncio.wait({committing, *open_workers}, return_when=asyncio.FIRST_COMPLETED)
            for task in ended:
                task.result()
            open_workers -= ended
    finally:
        for task in everyone:
            task.cancel()
        await asyncio.gather(*everyone, return_exceptions=True)
    return failures


def by_judge(questions: Sequence[Question]) -> Iterator[str]:
    """One line a judge: how many of its answers are missing."""
    counts: dict[str, int] = {}
    for question in questions:
        counts[question.judge] = counts.get(question.judge, 0) + 1
    return (f"{judge}: {count:,}" for judge, count in sorted(counts.items()))
