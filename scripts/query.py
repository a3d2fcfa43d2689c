"""Ask for the answers to an arm's requests that the store does not hold, and write the projection of all of them."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pyarrow as pa

from warrant import requests, responses
from warrant.errors import InputError, bad_input
from warrant.providers import provider_for
from warrant.query import Question, ask, by_judge, unanswered
from warrant.step import Step, run
from warrant.store import Store, query_lock

SHOWN = 10  # of the answers that did not come


def say(line: str) -> None:
    """A line of progress, at once."""
    print(line, file=sys.stderr, flush=True)


def main(step: Step) -> None:
    """Write the responses; a replay asks nobody. The step fails while an answer is missing, and keeps the others."""
    settings, path = step.settings, step.input("requests")
    calls = list(requests.read(path))
    questions = [Question(key, call.judge, call.request) for key, call in calls]
    place = Path(settings["store"])
    if settings["replay"]:
        with Store(place, create=False) as store:
            missing = unanswered(questions, store)
            if missing:
                found = f"{len(missing)} of {len(questions)} responses missing ({', '.join(by_judge(missing))})"
                expected = f"all of them in a replay (why: python scripts/store.py why-miss {place} {path})"
                raise bad_input(place, found=found, expected=expected)
            _project(step, calls, store)
        return
    with query_lock(place), Store(place) as store:
        missing = unanswered(questions, store)
        say(f"{len(questions):,} requests, {len(questions) - len(missing):,} stored, {len(missing):,} to ask")
        providers = {name: provider_for(transport) for name, transport in settings["judges"].items()}
        failures = asyncio.run(ask(missing, providers, store, settings["in_flight"], say))
        if failures:
            for failure in failures[:SHOWN]:
                say(f"{failure.question.judge}, {failure.question.key}: {failure.cause}")
            raise InputError(
                f"{path}: {len(failures)} of {len(questions)} answers did not come; run again to ask for them"
            )
        _project(step, calls, store)


def _project(step: Step, calls: list[tuple[str, requests.Call]], store: Store) -> None:
    """Write one response for each request, in the order of the requests."""
    stored = {row["request_sha256"]: row for row in store.table(key for key, _ in calls).to_pylist()}
    columns = [item.name for item in responses.SCHEMA if item.name not in {field.name for field in requests.IDENTITY}]
    rows = [
        {
            "request_sha256": key,
            "case_id": call.case_id,
            "model": call.judge,
            "round": call.round,
            "replicate": call.request.replicate,
            **{name: stored[key][name] for name in columns},
        }
        for key, call in calls
    ]
    step.write("responses", pa.Table.from_pylist(rows, schema=responses.SCHEMA))


if __name__ == "__main__":
    run(main, inputs=["requests"], outputs=["responses"])
