"""Kill -9 while calls are paid for: nothing stored is lost or there twice, and what was lost is counted and priced."""

from __future__ import annotations

import random
import re
import shutil
import sys
import time
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from checkouts import copy_project, killed, snakemake
from wire_servers import Server, serving

from warrant.calls.spend import Unsettled, unsettled
from warrant.calls.store import Store
from warrant.calls.store_upkeep import verify

KILLS = {"query": 42, "snakemake": 8}
IN_FLIGHT = 16
REPLICATES = 400
CASES = 8
TOTAL = CASES * REPLICATES
STORE = "cache/responses.sqlite"
TARGET = "results/paid/claims/responses/4opt.parquet"
REQUESTS = "results/paid/claims/requests/4opt.parquet"
RUN = f"""\
extends: local
title: Paid calls
responses: {{in_flight: {IN_FLIGHT}, cap: "1000"}}
studies:
  claims:
    sample:
      - format: averitec
        dev: data/demo/averitec_dev.json
        train: data/demo/averitec_train.json
        counts: {{Supported: 2, Refuted: 2, Not Enough Evidence: 2, Conflicting-dev-all: 1, Conflicting-train: 1}}
        seed: 7
    arms:
      4opt: {{calls: {{replicates: {REPLICATES}, judges: [paid]}}}}
    systems:
      single/local/4opt: {{arm: 4opt, judges: [paid], rung: L1}}
"""
JUDGE = """
paid:
  provider: openai_compatible
  base_url: {url}
  model: m-1
  parameters: {{max_tokens: 50}}
  price: {{input: "2", output: "10"}}
"""


@pytest.fixture(scope="module")
def rendered(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the project with the run's requests; the address of its judge is that of a server to come."""
    folder = copy_project(tmp_path_factory.mktemp("paid") / "warrant")
    (folder / "config/runs/paid.yaml").write_text(RUN, encoding="utf-8")
    return folder


def prepared(folder: Path, server: Server) -> None:
    """Put the judge in and render: the address is part of every key."""
    models = folder / "config/models.yaml"
    models.write_text(
        models.read_text(encoding="utf-8") + JUDGE.format(url=server.base_url("openai")), encoding="utf-8"
    )
    done = snakemake(folder, "--config", "runs=paid", "--", REQUESTS)
    assert done.returncode == 0, done.stdout + done.stderr


def query_of(folder: Path) -> list[str]:
    """The query program with the settings that Snakemake gives it."""
    done = snakemake(folder, "--config", "runs=paid", "--dry-run", "--printshellcmds", "--", TARGET)
    found = re.search(r"--settings '(\{.*\})'", done.stdout + done.stderr)
    assert found is not None, done.stdout + done.stderr
    files = ["--requests", REQUESTS, "--responses", TARGET]
    return [sys.executable, "scripts/query.py", *files, "--settings", found[1]]


def rows(folder: Path) -> dict[str, tuple[Any, ...]]:
    """What is stored, by key; a key twice is an error of the store itself."""
    if not (folder / STORE).exists():
        return {}
    with Store(folder / STORE) as store:
        listed = store.table().to_pylist()
    found = {row["request_sha256"]: (row["status"], row["text"], row["created_at"]) for row in listed}
    assert len(found) == len(listed)
    return found


def lost(folder: Path) -> Unsettled:
    """What the store knows of calls without an answer."""
    if not (folder / STORE).exists():
        return Unsettled(0, Decimal(0))
    with Store(folder / STORE) as store:
        return unsettled(store.reservations("paid")).get("paid", Unsettled(0, Decimal(0)))


def arrived(server: Server) -> int:
    """Calls that reached the server, once no more come."""
    before = -1
    while before != len(server.calls) or server.now:
        before = len(server.calls)
        time.sleep(0.05)
    return before


@pytest.mark.slow
def test_kill_9_at_50_random_moments_of_paid_calls(rendered: Path, tmp_path: Path) -> None:
    """After each kill: all that was stored is there, unchanged; calls without an answer are no more than were reserved,
    and those no more than may be in flight. In the end: the responses of a quiet run, and a bill that names the excess.
    """
    folder, quiet = rendered, tmp_path / "quiet"
    rng = random.Random(20261202)
    with serving() as server:
        prepared(folder, server)
        shutil.copytree(folder, quiet)
        query = query_of(folder)
        server.lag = 0.1
        build = [sys.executable, "-m", "snakemake", "--cores", "2", "--config", "runs=paid", "--", TARGET]
        moments = [("query", rng.choice(["", "to ask", "stored ", "stored "])) for _ in range(KILLS["query"])]
        moments += [("snakemake", "")] * KILLS["snakemake"]
        kept, calls, reserved, hit = rows(folder), 0, 0, 0
        for what, after in moments:
            seconds = rng.uniform(0.0, 0.5) if what == "query" else rng.uniform(2.0, 5.0)
            killed(query if what == "query" else build, folder, seconds, group=True, after=after)
            now, came, without = rows(folder), arrived(server), lost(folder).calls
            assert kept.items() <= now.items()
            excess = (came - calls) - (len(now) - len(kept))
            assert 0 <= excess <= without - reserved <= IN_FLIGHT
            hit += excess > 0
            kept, calls, reserved = now, came, without
        assert hit >= 15  # the kills did hit runs that were asking
        assert len(kept) < TOTAL  # and the last one did not hit a run that was done
        server.lag = 0.0
        done = snakemake(folder, "--config", "runs=paid", "--", TARGET)
        assert done.returncode == 0, done.stdout + done.stderr
        excess = arrived(server) - TOTAL
        bill = lost(folder)
        assert 0 < excess <= bill.calls <= sum(KILLS.values()) * IN_FLIGHT
        assert bill.amount >= excess * Decimal(19 * 2 + 10 * 10) / 10**6  # what the server's usage would have cost
        said = (folder / "logs/paid/claims/query_4opt.log").read_text(encoding="utf-8")
        line = f"paid: {bill.calls:,} earlier calls brought no answer and may have been billed, at most "
        assert line in said
        price = snakemake(
            folder, "--quiet", "host", "progress", "reason", "rules", "--config", "runs=paid", "--", "price"
        )
        assert line in price.stdout
        with Store(folder / STORE) as store:
            assert verify(store).damaged == []
        print(f"{excess} calls in excess of {TOTAL}, {bill.calls} reserved, {hit} kills of {len(moments)} hit calls")
        assert snakemake(quiet, "--config", "runs=paid", "--", TARGET).returncode == 0
        assert lost(quiet).calls == 0
    assert pq.read_table(folder / TARGET).to_pylist() == pq.read_table(quiet / TARGET).to_pylist()
    assert len(rows(folder)) == len(rows(quiet)) == TOTAL
