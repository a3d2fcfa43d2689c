"""Ask for the answers to an arm's requests that the store does not hold, and write the projection of all of them.

Exit status: 0 every answer is there (or may be missing: `allow_missing`); 1 bad input, or answers are missing; 130
stopped by Ctrl-C or SIGTERM, with all that was answered stored.
"""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from warrant.calls import requests, responses, spend
from warrant.calls.limits import Limits
from warrant.calls.providers import Rereading, provider_for
from warrant.calls.query import Asking, Judge, Outcome, Question, by_judge, stopped_by_signals, unanswered
from warrant.calls.store import Store, query_lock
from warrant.errors import InputError, bad_input
from warrant.step import Step, run

SHOWN: Final = 10  # causes for which answers did not come
INTERRUPTED: Final = 130

Calls = Sequence[tuple[str, requests.Call]]


def say(line: str) -> None:
    """A line of progress, at once."""
    print(line, file=sys.stderr, flush=True)


def main(step: Step) -> None:
    """Write the responses; a replay asks nobody. The step fails while an answer is missing, and keeps the others."""
    settings, path = step.settings, step.input("requests")
    calls = list(requests.read(path))
    questions = [Question(key, call.judge, call.request) for key, call in calls]
    place = Path(settings["store"])
    may_miss = bool(settings.get("allow_missing", False))
    if settings["replay"]:
        with Store(place, create=False) as store:
            missing = unanswered(questions, store)
            if missing and not may_miss:
                found = f"{len(missing)} of {len(questions)} responses missing ({', '.join(by_judge(missing))})"
                expected = f"all of them in a replay (why: python scripts/store.py why-miss {place} {path})"
                raise bad_input(place, found=found, expected=expected)
            _project(step, calls, store)
        return
    with query_lock(place), Store(place) as store:
        missing = unanswered(questions, store)
        say(f"{len(questions):,} requests, {len(questions) - len(missing):,} stored, {len(missing):,} to ask")
        if missing:
            outcome = asyncio.run(_ask(missing, settings, store))
            left = len(unanswered(missing, store))
            if outcome.interrupted:
                say(f"query: stopped; {len(missing) - left:,} answers were stored, {left:,} are left for another run")
                raise SystemExit(INTERRUPTED)
            _report(outcome, left, f"{path}: {left:,} of {len(questions):,} answers did not come", may_miss)
        _project(step, calls, store)


async def _ask(missing: Sequence[Question], settings: Mapping[str, Any], store: Store) -> Outcome:
    """Ask what is missing, within the limits and caps that the settings state."""
    transports: Mapping[str, Mapping[str, Any]] = settings["judges"]
    unpriced = bool(settings.get("allow_unpriced", False))
    asked = sorted({question.judge for question in missing})
    prices = {name: spend.price_of(name, transports[name], allow_unpriced=unpriced) for name in asked}
    rows = store.reservations(str(settings.get("run", "")))
    budget = spend.budget_of(settings, rows)
    for line in spend.lost(rows, budget.currency):
        say(f"{line}: counted as spent")
    judges = {
        name: Judge(
            provider_for(transports[name]),
            limits_of(transports[name], settings["in_flight"]),
            prices[name],
            transports[name].get("max_output_tokens"),
        )
        for name in asked
    }
    retries = int(settings.get("retries", 1))
    asking = Asking(missing, judges, store, settings["in_flight"], say, retries=retries, budget=budget)
    with stopped_by_signals(asking):
        return await asking.run()


def limits_of(transport: Mapping[str, Any], in_flight: int) -> Limits:
    """A judge's limits; in flight, the run's where its block has none."""
    return Limits(
        transport.get("in_flight") or in_flight,
        transport.get("requests_per_minute"),
        transport.get("tokens_per_minute"),
    )


def _report(outcome: Outcome, left: int, line: str, may_miss: bool) -> None:
    """Name failures, each cause once; InputError while answers are missing, unless they may be."""
    causes: dict[tuple[str, str], list[str]] = {}
    for failure in outcome.failures:
        causes.setdefault((failure.question.judge, failure.cause), []).append(failure.question.key)
    for (judge, cause), keys in list(causes.items())[:SHOWN]:
        rest = f" and {len(keys) - 1:,} more" if len(keys) > 1 else ""
        say(f"{judge}, {keys[0]}{rest}: {cause}")
    if len(causes) > SHOWN:
        say(f"and {len(causes) - SHOWN:,} more causes")
    if left and not may_miss:
        stopped = "; ".join(f"{judge} was stopped: {reason}" for judge, reason in outcome.stopped.items())
        raise InputError(f"{line}; run again to ask for them" + (f" ({stopped})" if stopped else ""))


def _project(step: Step, calls: Calls, store: Store) -> None:
    """Write one response for each request, in the order of the requests; an infra_error where no answer is stored."""
    stored = {row["request_sha256"]: row for row in store.table(key for key, _ in calls).to_pylist()}
    for key, status in _renamed(step, calls, store, stored):
        stored[key]["status"] = status
    columns = [item.name for item in responses.SCHEMA if item.name not in {field.name for field in requests.IDENTITY}]
    rows = []
    for key, call in calls:
        none = {"status": "infra_error", "provider": call.request.provider, "retries": 0}
        found = stored.get(key, none)
        rows.append(
            {
                "request_sha256": key,
                "case_id": call.case_id,
                "model": call.judge,
                "round": call.round,
                "replicate": call.request.replicate,
                **{name: found.get(name) for name in columns},
            }
        )
    step.write("responses", pa.Table.from_pylist(rows, schema=responses.SCHEMA))


def _renamed(
    step: Step, calls: Calls, store: Store, stored: Mapping[str, Mapping[str, Any]]
) -> Iterator[tuple[str, str]]:
    """Status of answers of another model than asked for, where the judge's `also_named` has its name by now."""
    named = {name: transport for name, transport in step.settings["judges"].items() if transport.get("also_named")}
    wrong = {
        key: call
        for key, call in calls
        if call.judge in named and key in stored and stored[key]["status"] == "wrong_model"
    }
    providers = {name: provider_for(named[name]) for name in {call.judge for call in wrong.values()}}
    for key, response in store.get_many(wrong).items():
        provider = providers[wrong[key].judge]
        if isinstance(provider, Rereading) and response.raw is not None:
            yield key, provider.status_now(wrong[key].request, response.raw)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # outside the event loop it is as Ctrl-C
    try:
        run(main, inputs=["requests"], outputs=["responses"])
    except KeyboardInterrupt:
        say("query: stopped; nothing that was reported is lost")
        raise SystemExit(INTERRUPTED) from None
