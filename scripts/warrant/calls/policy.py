"""Whether a call that brought no answer is made again, and when: the one retry layer, above all providers.

Only a TransientError is tried again (a transport error, 408, 409, 429, 5xx); never because of what was answered.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from warrant.calls.providers import InfraError, TransientError

FIRST: Final = 1.0  # seconds before the first retry; twice as long before each further one
MOST: Final = 60.0  # seconds that a wait never exceeds, whatever the provider asks for


class Retries(NamedTuple):
    """At most so many retries of a call."""

    most: int = 1

    def wait(self, error: InfraError, made: int, draw: float) -> float | None:
        """Seconds until the next attempt, `made` having been made; None when there is none.

        draw: uniform on [0, 1), so that calls which failed together do not come back together. The wait is never
        shorter than the provider's Retry-After nor longer than MOST, which caps that too.
        """
        if not isinstance(error, TransientError) or made > self.most:
            return None
        backoff = FIRST * 2.0 ** min(made - 1, 10) * (0.5 + draw / 2)
        return min(MOST, max(told(error), backoff))


def told(error: TransientError) -> float:
    """Seconds that the provider asks to wait, at most MOST; 0 when it asks for none."""
    return min(MOST, max(0.0, error.retry_after or 0.0))
