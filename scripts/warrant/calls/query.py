"""Asking for what is not stored yet: every answer is committed before it is reported, and each key asked for once.

One loop starts calls, as `limits` and the budget allow; a call is one attempt of its provider, and what failed comes
back to the loop when `policy` says so. Answers and reservations that come together are committed together.

Laws: calls made whose answers are not stored are never more than `in_flight`; a call's worst case is committed before
it is made; a judge that is stopped is asked nothing more, and the others go on; stopping loses no answer that came.
"""

from __future__ import annotations

import asyncio
import heapq
import random
import signal
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from math import inf
from typing import Final, NamedTuple

from warrant.calls import spend
from warrant.calls.limits import Limits, Start
from warrant.calls.policy import Retries, told
from warrant.calls.progress import Progress
from warrant.calls.providers import Completion, InfraError, Provider, StopModel, TransientError
from warrant.calls.request_key import Request
from warrant.calls.store import Reservation, Store, answer

Say = Callable[[str], None]
GRACE: Final = 30.0  # seconds that calls in flight have to end once a run is stopped
WRONG: Final = 5  # answers in a row from another model than the one asked for, after which a judge is stopped
LOST: Final = 20  # questions in a row without an answer, beside two for each in flight, after which a judge is stopped


class Question(NamedTuple):
    """A request under its key, and the judge who is asked."""

    key: str
    judge: str
    request: Request


class Failure(NamedTuple):
    """A question that no answer came to, and why."""

    question: Question
    cause: str


@dataclass(frozen=True)
class Judge:
    """How a judge is asked.

    price: None when its calls are not counted. output: most output tokens of a call, where the request does not say.
    """

    provider: Provider
    limits: Limits
    price: spend.Price | None = None
    output: int | None = None


class Outcome(NamedTuple):
    """What came of asking: failures in the order in which they came, judges that were stopped and why, a stop."""

    failures: list[Failure]
    stopped: dict[str, str]
    interrupted: bool


@dataclass(slots=True)
class _Call:
    """A question on its way: its worst case, the attempts made and why they failed."""

    question: Question
    bound: spend.Bound | None = None
    worst: Decimal = Decimal(0)
    made: int = 0
    causes: dict[str, int] = field(default_factory=dict)


@dataclass(slots=True)
class _Lane:
    """One judge's questions: those not asked yet, and those to ask again with the time from which they may be.

    head: the call that the first question becomes, made when its turn comes: a million questions are not as many calls.
    Where more wait to be asked again than may be in flight, no new one is asked: everything fails just then.
    """

    name: str
    judge: Judge
    questions: deque[Question]
    head: _Call | None = None
    again: list[tuple[float, int, _Call]] = field(default_factory=list)
    flying: int = 0
    lost: int = 0
    wrong: int = 0

    def next(self, now: float) -> tuple[_Call | None, float]:
        """The next call, or the seconds until there is one."""
        if self.again and self.again[0][0] <= now:
            return self.again[0][2], 0.0
        if self.questions and len(self.again) <= self.judge.limits.in_flight:
            self.head = self.head or _call(self.questions[0], self.judge)
            return self.head, 0.0
        return None, self.again[0][0] - now if self.again else inf

    def take(self, call: _Call) -> None:
        """Remove what `next` gave."""
        if call is self.head:
            self.questions.popleft()
            self.head = None
        else:
            heapq.heappop(self.again)

    @property
    def waiting(self) -> int:
        """Questions that are not in flight."""
        return len(self.questions) + len(self.again)


class _Write(NamedTuple):
    """What is to be committed, and what is done once it is."""

    given: tuple[Request, Completion] | None
    reservation: Reservation | None
    then: Callable[[], None]


def unanswered(questions: Sequence[Question], store: Store) -> list[Question]:
    """The questions whose answer is not stored, each key once, in their order."""
    once = {question.key: question for question in questions}
    stored = store.known(once)
    return [question for key, question in once.items() if key not in stored]


def by_judge(questions: Sequence[Question]) -> Iterator[str]:
    """One line a judge: how many of its answers are missing."""
    counts: dict[str, int] = {}
    for question in questions:
        counts[question.judge] = counts.get(question.judge, 0) + 1
    return (f"{judge}: {count:,}" for judge, count in sorted(counts.items()))


class Asking:
    """One run of questions; `run` once. `in_flight`: most calls at a time, over all judges.

    budget: needed where a judge has a price. seed: of the jitter of waits.
    """

    def __init__(
        self,
        questions: Sequence[Question],
        judges: Mapping[str, Judge],
        store: Store,
        in_flight: int,
        say: Say,
        *,
        retries: int = 1,
        budget: spend.Budget | None = None,
        seed: int = 0,
    ) -> None:
        """The questions, each key once; InputError where a call has no worst case."""
        self._store, self._in_flight, self._say = store, in_flight, say
        self._retries, self._budget, self._random = (
            Retries(retries),
            budget or spend.Budget("", ""),
            random.Random(seed),
        )
        by_name: dict[str, deque[Question]] = {}
        for question in questions:
            judge = judges[question.judge]
            if judge.price is not None:
                spend.most_output(question.judge, question.request, judge.output)
            by_name.setdefault(question.judge, deque()).append(question)
        self._lanes = deque(_Lane(name, judges[name], some) for name, some in by_name.items())
        self._total = len(questions)
        self._priced = any(lane.judge.price is not None for lane in self._lanes)
        self._flying = self._turn = 0
        self._tasks: set[asyncio.Task[None]] = set()
        self._writes: list[_Write] = []
        self._failures: list[Failure] = []
        self._stopped: dict[str, str] = {}
        self._interrupted = False
        self._deadline = inf  # once the run is stopped: when calls in flight are given up
        self._unwritable: Exception | None = None
        self._broken: BaseException | None = None

    async def run(self) -> Outcome:
        """Ask every question. An error of the store ends the run at once, one of a provider's code as `stop` does."""
        self._loop, self._wake = asyncio.get_running_loop(), asyncio.Event()
        self._progress = Progress(self._total, self._say, lambda: self._budget.spent() if self._priced else None)
        try:
            while self._unwritable is None:
                self._wake.clear()
                wait = self._start() if self._deadline == inf else self._deadline - self._loop.time()
                if wait <= 0 or (not self._flying and (wait == inf or self._deadline < inf)):
                    break
                await self._sleep(wait)
        finally:
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
            self._commit()
            self._progress.last()
            for provider in {id(lane.judge.provider): lane.judge.provider for lane in self._lanes}.values():
                await _close(provider)
        for error in (self._unwritable, self._broken):
            if error is not None:
                raise error
        return Outcome(self._failures, self._stopped, self._interrupted)

    def stop(self) -> None:
        """Take no new question; calls in flight have GRACE seconds. Again: give them up."""
        self._deadline = self._loop.time() + (0 if self._interrupted else GRACE)
        if not self._interrupted:
            self._say(f"stopping: {self._flying:,} calls in flight have {GRACE:.0f} s to be answered")
        self._interrupted = True
        self._wake.set()

    async def _sleep(self, seconds: float) -> None:
        """Until something happens, at most so long."""
        alarm = None if seconds == inf else self._loop.call_later(seconds, self._wake.set)
        await self._wake.wait()
        if alarm is not None:
            alarm.cancel()

    # --- starting calls ----------------------------------------------------------------------------------------------

    def _start(self) -> float:
        """Start what may start, judges taking turns; seconds until more may, infinity when something must end first."""
        now, soonest, tried = self._loop.time(), inf, 0
        while tried < len(self._lanes) and self._flying < self._in_flight:
            lane = self._lanes[0]
            self._lanes.rotate(-1)
            wait = self._start_one(lane, now)
            tried = 0 if wait == 0 else tried + 1
            soonest = min(soonest, wait or inf)
        return soonest

    def _start_one(self, lane: _Lane, now: float) -> float:
        """Start a judge's next call: 0 when it is started, else the seconds to wait."""
        call, wait = lane.next(now)
        if call is None:
            return wait
        limits = lane.judge.limits
        tokens = 0 if limits.tokens is None or call.bound is None else limits.expected(call.bound.total)
        wait = limits.wait(now, tokens)
        if wait:
            return wait
        if lane.judge.price is not None and not self._affordable(lane, call.worst):
            return inf
        lane.take(call)
        self._flying += 1
        lane.flying += 1
        row = None
        if lane.judge.price is not None:
            row = self._budget.reserve(call.question.key, lane.name, call.worst)
        task = self._loop.create_task(self._ask(lane, call, limits.start(now, tokens), row))
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return 0

    def _affordable(self, lane: _Lane, worst: Decimal) -> bool:
        """Whether the budget has room. If not, calls in flight may leave some; with none, the judge is stopped."""
        of_judge = self._budget.over_cap_of(lane.name, worst)
        if not of_judge and not self._budget.over_cap(worst):
            return True
        if not (lane.flying if of_judge else self._flying):
            self._stop_judge(lane, self._budget.refusal(lane.name, worst))
        return False

    # --- one call ----------------------------------------------------------------------------------------------------

    async def _ask(self, lane: _Lane, call: _Call, start: Start, row: Reservation | None) -> None:
        """One attempt, once its reservation is on the disk."""
        if row is not None:
            await self._committed(row)
        call.made += 1
        began = self._loop.time()
        try:
            completion = await lane.judge.provider.complete(call.question.request)
        except InfraError as error:
            self._failed(lane, call, start, error)
        else:
            elapsed = round((self._loop.time() - began) * 1e6)
            self._answered(lane, call, start, completion._replace(elapsed=elapsed))

    def _answered(self, lane: _Lane, call: _Call, start: Start, completion: Completion) -> None:
        used = spend.tokens(completion.usage)
        row = None
        if lane.judge.price is not None:
            if used is None:
                self._budget.lose(call.worst)
            else:
                cost = lane.judge.price.cost(*used)
                row = self._budget.settle(call.question.key, lane.name, call.worst, cost)
        if used is not None and call.bound is not None:
            lane.judge.limits.used(call.bound.total, sum(used))
        lane.judge.limits.answered()
        lane.lost = 0
        lane.wrong = lane.wrong + 1 if completion.status == "wrong_model" else 0
        if lane.wrong == WRONG:
            came = f"the last {WRONG} answers came from {completion.returned_model!r}"
            self._stop_judge(lane, f"{came}, not {call.question.request.model!r} (the same model? say `also_named`)")

        def committed() -> None:
            self._over(lane, start, None if used is None else sum(used))

        given = (call.question.request, completion._replace(retry_causes=call.causes or None))
        self._write(_Write(given, row, committed))

    def _failed(self, lane: _Lane, call: _Call, start: Start, error: InfraError) -> None:
        now = self._loop.time()
        if lane.judge.price is not None:
            if spend.billed(error):
                self._budget.lose(call.worst)
            else:
                self._write(_Write(None, self._budget.release(call.question.key, lane.name, call.worst), _nothing))
        wait = self._retries.wait(error, call.made, self._random.random())
        if isinstance(error, TransientError):
            call.causes[error.cause] = call.causes.get(error.cause, 0) + 1
            if error.cause == "429":
                lane.judge.limits.overloaded(start, now, told(error))
        if wait is not None and lane.name not in self._stopped:
            self._turn += 1
            heapq.heappush(lane.again, (now + wait, self._turn, call))
        else:
            self._fail(lane, call, error)
        self._over(lane, start, None)

    def _fail(self, lane: _Lane, call: _Call, error: InfraError) -> None:
        self._progress.failed += 1
        lane.lost += 1
        self._failures.append(Failure(call.question, str(error)))
        if isinstance(error, StopModel):
            self._stop_judge(lane, str(error))
        elif lane.lost > LOST + 2 * lane.judge.limits.in_flight:
            self._stop_judge(lane, f"the last {lane.lost:,} questions got no answer ({error})")

    def _stop_judge(self, lane: _Lane, reason: str) -> None:
        """Ask a judge nothing more, and say why; what it is being asked still counts."""
        if lane.name not in self._stopped:
            self._stopped[lane.name] = reason
            self._say(f"{lane.name} is stopped: {reason}; {lane.waiting:,} of its questions are not asked")
            lane.questions.clear()
            lane.head = None
            lane.again.clear()

    def _over(self, lane: _Lane, start: Start, tokens: int | None) -> None:
        """A call has ended, and its answer, if there is one, is stored."""
        self._flying -= 1
        lane.flying -= 1
        lane.judge.limits.end(start, tokens)
        self._wake.set()

    def _ended(self, task: asyncio.Task[None]) -> None:
        """A task that failed otherwise than by a provider's error: a mistake in the program, which stops the run."""
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._flying -= 1
            self._broken = self._broken or error
            self._deadline = min(self._deadline, self._loop.time() + GRACE)
            self._wake.set()

    # --- committing --------------------------------------------------------------------------------------------------

    async def _committed(self, row: Reservation) -> None:
        """Return when a reservation is on the disk."""
        done = asyncio.Event()
        self._write(_Write(None, row, done.set))
        await done.wait()

    def _write(self, item: _Write) -> None:
        """Commit something with whatever else comes in this turn of the loop."""
        if not self._writes:
            self._loop.call_soon(self._commit)
        self._writes.append(item)

    def _commit(self) -> None:
        some, self._writes = self._writes, []
        if not some or self._unwritable is not None:
            return
        try:
            answers = [answer(item.given[0], **item.given[1]._asdict()) for item in some if item.given is not None]
            self._store.put_many(answers, [item.reservation for item in some if item.reservation is not None])
        except Exception as error:
            self._unwritable = error
            self._wake.set()
            return
        for item in some:
            item.then()
        if answers:
            self._progress.stored(len(answers))


def _call(question: Question, judge: Judge) -> _Call:
    """A question with its worst case, where something depends on it."""
    if judge.price is None and judge.limits.tokens is None:
        return _Call(question)
    most = spend.bound(question.request, judge.output)
    worst = Decimal(0) if judge.price is None else spend.worst_case(question.judge, judge.price, most)
    return _Call(question, most, worst)


def _nothing() -> None:
    """What is done after a commit that nobody waits for."""


async def _close(provider: Provider) -> None:
    """Close a provider that can be closed."""
    close = getattr(provider, "close", None)
    if close is not None:
        closing = close()
        if asyncio.iscoroutine(closing):
            await closing


@contextmanager
def stopped_by_signals(asking: Asking) -> Iterator[None]:
    """Ctrl-C and SIGTERM stop the run; inside the event loop, from the main thread."""
    loop = asyncio.get_running_loop()
    signals = (signal.SIGINT, signal.SIGTERM)
    for number in signals:
        loop.add_signal_handler(number, asking.stop)
    try:
        yield
    finally:
        for number in signals:
            loop.remove_signal_handler(number)
