"""Progress of a query run: a line at most every second, and always a last one."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Final

EVERY: Final = 1.0
RATE_OVER: Final = 60.0  # seconds that the rate is taken over


def duration(seconds: float) -> str:
    """Hours, minutes and seconds."""
    whole = int(seconds + 0.5)
    return f"{whole // 3600}:{whole // 60 % 60:02d}:{whole % 60:02d}"


class Progress:
    """Counts what was stored and says it: `stored N of M`, rate, spend, time left."""

    def __init__(self, total: int, say: Callable[[str], None], spent: Callable[[], str | None]) -> None:
        """total: questions. spent: what was spent, for people, or None when nothing is counted."""
        self.total, self.done, self.failed = total, 0, 0
        self._say, self._spent = say, spent
        self._loop = asyncio.get_running_loop()
        self._seen = deque([(self._loop.time(), 0)])
        self._told = -EVERY + self._loop.time()
        self._later: asyncio.TimerHandle | None = None
        self._counts: tuple[int, int] | None = None  # as last told

    def stored(self, number: int) -> None:
        """So many more are stored."""
        self.done += number
        if self._later is None:
            wait = self._told + EVERY - self._loop.time()
            if wait <= 0:
                self._tell()
            else:
                self._later = self._loop.call_later(wait, self._tell)

    def last(self) -> None:
        """The last line, if anything was to be asked and it has not been said."""
        if self._later is not None:
            self._later.cancel()
        if self.total and self._counts != (self.done, self.failed):
            self._tell()

    def _tell(self) -> None:
        self._later, self._told, self._counts = None, self._loop.time(), (self.done, self.failed)
        self._say(self._line(self._told))

    def _line(self, now: float) -> str:
        self._seen.append((now, self.done))
        while len(self._seen) > 2 and self._seen[0][0] < now - RATE_OVER:
            self._seen.popleft()
        since, before = self._seen[0]
        parts = [f"stored {self.done:,} of {self.total:,}"]
        if self.failed:
            parts.append(f"{self.failed:,} without an answer")
        if now > since and self.done > before:
            rate = (self.done - before) / (now - since)
            left = self.total - self.done - self.failed
            parts += [f"{rate:,.1f}/s", *([f"{duration(left / rate)} left"] if left else [])]
        spent = self._spent()
        return ", ".join([*parts, *([] if spent is None else [f"spent {spent}"])])
