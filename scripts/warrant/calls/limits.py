"""How fast a judge may be asked: in flight, requests and tokens a minute. Pure: told what time it is, never waiting.

Laws, of calls that start when `wait` gives 0: at no time more in flight than allowed; in no WINDOW more requests than
the limit; nor more tokens, where usage is at most what was expected (a call of more than the whole limit goes alone).
Where usage turns out higher, calls wait until the window has room again.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from math import ceil, inf
from typing import Final

WINDOW: Final = 61.0  # seconds: a minute, and one for calls that reach the provider later than others
CATCH_UP: Final = 1.0  # seconds of pace that a late start may make up for
REMEMBERED: Final = 32  # usages that an expectation rests on


@dataclass(slots=True, eq=False)
class Start:
    """A call that was started: when, and the tokens that it counts for."""

    time: float
    tokens: int
    counted: bool = True


class Limits:
    """One judge's limits; None is no limit.

    allowed: calls at a time; halved on 429 (once for all calls that were in flight then), and one more for each round
    of answers, up to `in_flight`.
    """

    def __init__(
        self, in_flight: int, requests_per_minute: int | None = None, tokens_per_minute: int | None = None
    ) -> None:
        """The limits, with nothing in flight."""
        self.in_flight, self.requests, self.tokens = in_flight, requests_per_minute, tokens_per_minute
        self.allowed = float(in_flight)
        self.flying = 0
        self._pace = 0.0 if requests_per_minute is None else WINDOW / requests_per_minute
        self._next = self._paused = self._cut = -inf
        self._window: deque[Start] = deque()
        self._sum = 0
        self._shares: deque[float] = deque([1.0], REMEMBERED)

    def expected(self, bound: int) -> int:
        """Tokens to count a call for that can take at most `bound`: the largest share that recent calls took of it."""
        return ceil(bound * max(self._shares))

    def used(self, bound: int, tokens: int) -> None:
        """Learn what a call took, of what it could."""
        self._shares.append(min(1.0, tokens / max(1, bound)))

    def wait(self, now: float, tokens: int = 0) -> float:
        """Seconds until a call may start, 0 for now; infinity: when one that is in flight has ended."""
        if self.flying >= int(self.allowed):
            return inf
        self._forget(now)
        until = max(self._next, self._paused)
        if self.requests is not None and len(self._window) >= self.requests:
            until = max(until, self._window[len(self._window) - self.requests].time + WINDOW)
        if self.tokens is not None and self._sum + tokens > self.tokens:
            until = max(until, self._room(self._sum + tokens - self.tokens))
        return max(0.0, until - now)

    def _forget(self, now: float) -> None:
        while self._window and self._window[0].time + WINDOW <= now:
            gone = self._window.popleft()
            gone.counted = False
            self._sum -= gone.tokens

    def _room(self, needed: int) -> float:
        """When so many tokens have left the window, or all of them."""
        until = -inf
        for start in self._window:
            if needed <= 0:
                break
            needed -= start.tokens
            until = start.time + WINDOW
        return until

    def start(self, now: float, tokens: int = 0) -> Start:
        """Start a call."""
        self.flying += 1
        self._next = max(self._next, now - CATCH_UP) + self._pace
        made = Start(now, tokens)
        if self.requests is not None or self.tokens is not None:
            self._window.append(made)
            self._sum += tokens
        return made

    def end(self, start: Start, tokens: int | None = None) -> None:
        """A call has ended; tokens: what it took, where that is known."""
        self.flying -= 1
        if tokens is not None:
            if start.counted and self._window:
                self._sum += tokens - start.tokens
            start.tokens = tokens

    def answered(self) -> None:
        """An answer came: a little more at a time."""
        self.allowed = min(float(self.in_flight), self.allowed + 1 / self.allowed)

    def overloaded(self, start: Start, now: float, seconds: float = 0.0) -> None:
        """429: half as many at a time, unless that was done since the call started; nothing for some seconds."""
        if start.time > self._cut:
            self.allowed, self._cut = max(1.0, self.allowed / 2), now
        self._paused = max(self._paused, now + seconds)
