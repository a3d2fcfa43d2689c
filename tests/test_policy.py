"""Retries and limits: what is tried again and when, and that no window ever holds more than it may."""

from __future__ import annotations

import heapq
from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from warrant.calls.limits import WINDOW, Limits, Start
from warrant.calls.policy import FIRST, MOST, Retries
from warrant.calls.providers import InfraError, StopModel, TransientError

# --- retries ---------------------------------------------------------------------------------------------------------


@given(st.integers(0, 5), st.integers(1, 8), st.none() | st.floats(), st.floats(0, 1, exclude_max=True))
def test_a_retry_waits_as_long_as_it_is_told(most: int, made: int, retry_after: float | None, draw: float) -> None:
    """At most R retries; never before Retry-After, never after MOST, whatever number the provider sends."""
    wait = Retries(most).wait(TransientError("503", retry_after), made, draw)
    if made > most:
        assert wait is None
        return
    assert wait is not None
    assert FIRST / 2 <= wait <= MOST
    if retry_after is not None and retry_after == retry_after:
        assert wait >= min(MOST, retry_after)


def test_waits_grow_and_differ() -> None:
    """Without Retry-After each wait is twice the last one, half of it at random."""
    waits = [Retries(9).wait(TransientError("timeout"), made, 0.5) for made in range(1, 8)]
    assert waits == [0.75, 1.5, 3, 6, 12, 24, 48]
    assert Retries(9).wait(TransientError("timeout"), 1, 0.0) == 0.5


@pytest.mark.parametrize("error", [StopModel("401"), InfraError("no answer")])
def test_only_a_transient_error_is_tried_again(error: InfraError) -> None:
    """However many retries there may be."""
    assert Retries(9).wait(error, 1, 0.0) is None


# --- limits ----------------------------------------------------------------------------------------------------------


CALLS = st.lists(
    st.tuples(st.integers(1, 400), st.integers(0, 100), st.integers(1, 9000), st.integers(0, 100), st.booleans()),
    min_size=1,
    max_size=60,
)


def simulated(limits: Limits, calls: list[tuple[int, int, int, int, bool]]) -> list[tuple[float, float, int, int, int]]:
    """Start calls (expected tokens, share used in %, centiseconds taken, centiseconds before, 429?) as soon as may be.

    Start, end, tokens expected, tokens used, in flight then, of each.
    """
    now, done, flying = 0.0, [], list[tuple[float, int, Start, int, bool]]()

    def until(time: float) -> float:
        while flying and flying[0][0] <= time:
            ended, _, start, used, failed = heapq.heappop(flying)
            limits.end(start, used)
            if failed:
                limits.overloaded(start, ended, 2.0)
            else:
                limits.answered()
        return time

    for number, (tokens, share, taken, pause, failed) in enumerate(calls):
        now = until(now + pause / 100)
        while wait := limits.wait(now, tokens):
            now = until(flying[0][0] if wait == inf else min(now + wait, flying[0][0] if flying else inf))
        used = tokens * share // 100
        allowed = int(limits.allowed)
        start = limits.start(now, tokens)
        assert limits.flying <= allowed
        heapq.heappush(flying, (now + taken / 100, number, start, used, failed))
        done.append((now, now + taken / 100, tokens, used, limits.flying))
    return done


@given(CALLS, st.integers(1, 8), st.none() | st.integers(1, 20), st.none() | st.integers(400, 2000))
def test_no_window_holds_more_than_the_limits(
    calls: list[tuple[int, int, int, int, bool]], in_flight: int, requests: int | None, tokens: int | None
) -> None:
    """In flight at any moment, requests and tokens (used or still expected) in any WINDOW; and every call starts."""
    done = simulated(Limits(in_flight, requests, tokens), calls)
    assert len(done) == len(calls)
    for start, *_ in done:
        assert sum(other <= start < ended for other, ended, *_ in done) <= in_flight
        window = [item for item in done if start - WINDOW + 1e-6 < item[0] <= start]
        if requests is not None:
            assert len(window) <= requests
        if tokens is not None:
            known = sum(used if ended <= start else expected for _, ended, expected, used, _ in window)
            assert known <= tokens


@given(CALLS, st.integers(1, 20))
def test_a_pace_keeps_to_its_rate(calls: list[tuple[int, int, int, int, bool]], requests: int) -> None:
    """Calls do not wait for nothing: without failures, n of them take at most the time that n - 1 paces take."""
    quick = [(tokens, share, 1, 0, False) for tokens, share, *_ in calls]
    done = simulated(Limits(1000, requests, None), quick)
    assert done[-1][0] <= (len(calls) - 1) * WINDOW / requests + 1e-6


def test_more_tokens_than_the_limit_go_alone() -> None:
    """A call that no window has room for waits until the window is empty, and then starts."""
    limits = Limits(4, None, 100)
    limits.start(0.0, 60)
    assert limits.wait(1.0, 500) == WINDOW - 1
    limits.start(WINDOW, 500)
    assert limits.wait(WINDOW + 1, 1) == WINDOW - 1


def test_usage_corrects_what_was_expected() -> None:
    """Less than expected makes room at once; more takes room away. Expectations follow the largest recent share."""
    limits = Limits(4, None, 100)
    start = limits.start(0.0, 90)
    assert limits.wait(1.0, 50) > 0
    limits.end(start, 10)
    assert limits.wait(1.0, 90) == 0
    start = limits.start(1.0, 90)
    limits.end(start, 300)
    assert limits.wait(2.0, 1) == WINDOW - 1
    for _ in range(40):
        limits.used(1000, 100)
    assert limits.expected(2000) == 200
    limits.used(1000, 500)
    assert limits.expected(2000) == 1000


def test_429_halves_once_a_round_and_answers_bring_it_back() -> None:
    """Eight calls that fail together count once; then one more for each round of answers, up to the limit."""
    limits = Limits(8)
    together = [limits.start(1.0) for _ in range(8)]
    for start in together:
        limits.end(start)
        limits.overloaded(start, 2.0, 5.0)
    assert limits.allowed == 4
    assert limits.wait(2.0) == 5.0
    assert limits.wait(7.0) == 0
    later = limits.start(7.0)
    limits.end(later)
    limits.overloaded(later, 8.0)
    assert limits.allowed == 2
    for _ in range(2):
        limits.answered()
    assert 2.8 < limits.allowed <= 3
    for _ in range(100):
        limits.answered()
    assert limits.allowed == 8
    for now in range(10, 30):
        start = limits.start(float(now))
        limits.end(start)
        limits.overloaded(start, now + 0.5)
    assert limits.allowed == 1
    assert limits.wait(40.0) == 0
