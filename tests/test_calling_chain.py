"""The calling chain under the real Snakemake: what is asked after a change; what kills, full disks and twins cost."""

from __future__ import annotations

import json
import random
import re
import resource
import shutil
import sqlite3
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from checkouts import copy_project, edit, killed, planned, snakemake

from warrant.calls.store import Store
from warrant.calls.store_upkeep import verify

pytestmark = pytest.mark.slow
ARMS = ("3opt", "4opt", "certificate")
STORE = "cache/responses.sqlite"
JUDGES = "[judge-a, judge-b, judge-c, judge-d]"
# One study, 30 cases; every request is new to the store of the copy.
RUN = """\
extends: demo
title: Calls
studies:
  claims: null
  pairs:
    sample:
      - format: vitaminc
        split: data/demo/vitaminc.jsonl
        mixed: 12
        controls: {SUPPORTS: 6, REFUTES: 6, NOT ENOUGH INFO: 6}
        seed: 7
    bootstrap: {resamples: 100}
    screening: {resamples: 100, other_deals: 0}
    risk: {splits: 2}
"""
WANTED = [f"results/calls/pairs/responses/{arm}.parquet" for arm in ARMS]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the project in which every answer of the run is stored."""
    folder = copy_project(tmp_path_factory.mktemp("calls ü") / "warrant")
    (folder / "config/runs/calls.yaml").write_text(RUN, encoding="utf-8")
    run(folder)
    return folder


@pytest.fixture
def project(built: Path, tmp_path: Path) -> Path:
    """A copy of that copy, its store included."""
    return Path(shutil.copytree(built, tmp_path / "clone ü"))


def run(folder: Path, *targets: str, config: str = "runs=calls") -> subprocess.CompletedProcess[str]:
    done = snakemake(folder, "--config", *config.split(), "--", *(targets or WANTED))
    assert done.returncode == 0, done.stdout + done.stderr
    return done


def stored(folder: Path) -> int:
    with sqlite3.connect(folder / STORE) as connection:
        (count,) = connection.execute("SELECT count(*) FROM responses").fetchone()
    return int(count)


def asked(folder: Path) -> dict[str, int]:
    """Calls that each arm's last query made, by its log."""
    found = {}
    for path in sorted(folder.glob("logs/calls/pairs/query_*.log")):
        said = re.search(r"([\d,]+) to ask", path.read_text(encoding="utf-8"))
        assert said is not None
        found[path.stem.removeprefix("query_")] = int(said[1].replace(",", ""))
    return found


def after(folder: Path) -> tuple[dict[str, int], int]:
    """Run again: what the arms whose query ran asked, and how many responses came to be stored."""
    before = stored(folder)
    for path in folder.glob("logs/calls/pairs/query_*.log"):
        path.unlink()
    run(folder)
    return asked(folder), stored(folder) - before


# --- counted calls ---------------------------------------------------------------------------------------------------


def test_the_first_run_asks_each_request_once(built: Path) -> None:
    """30 cases, three judges under two contracts and one validator: 210 calls, 210 responses."""
    assert asked(built) == {"3opt": 90, "4opt": 90, "certificate": 30}
    assert stored(built) == 210


def test_a_changed_prompt_asks_its_arm_anew(project: Path) -> None:
    """One prompt edited: its arm is rendered, asked and parsed anew, and nothing of the other arms runs."""
    run(project, "results/calls/report.html")
    edit(project / "config/prompts/verdict_4opt_strong.txt", "You check claims", "You compare claims")
    jobs = planned(project, "--config", "runs=calls")
    assert {rule: jobs[rule] for rule in ("render", "query", "verdicts")} == {"render": 1, "query": 1, "verdicts": 1}
    assert after(project) == ({"4opt": 90}, 90)
    assert after(project) == ({}, 0)


def test_a_changed_parameter_asks_its_judge_anew(project: Path) -> None:
    """A parameter of one judge: 30 calls in each of the arms that ask it."""
    edit(project / "config/models.yaml", 'sensitivity: "0.88"', 'sensitivity: "0.89"')
    assert after(project) == ({"3opt": 30, "4opt": 30}, 60)


def test_a_parameter_that_is_not_sent_asks_nobody(project: Path) -> None:
    """Latency says how a judge is reached: the queries run and find everything stored."""
    edit(project / "config/models.yaml", 'fenced: "0.30"', 'fenced: "0.30"\n  latency: "0.01"')
    assert after(project) == ({"3opt": 0, "4opt": 0}, 0)


def test_an_added_judge_is_asked_alone(project: Path) -> None:
    """A new judge in one arm: its 30 calls; the other arms do not even run."""
    text = (project / "config/models.yaml").read_text(encoding="utf-8")
    block = text[text.index("judge-c:") : text.index("# writes certificates")]
    with (project / "config/models.yaml").open("a", encoding="utf-8") as models:
        models.write("\n" + block.replace("judge-c", "judge-d"))
    (project / "config/runs/calls.yaml").write_text(
        RUN + "    arms: {4opt: {calls: {judges: " + JUDGES + "}}}\n",
        encoding="utf-8",
    )
    assert after(project) == ({"4opt": 30}, 30)


def test_another_replicate_asks_for_the_new_one(project: Path) -> None:
    """Two replicates instead of one: as many calls again, no stored one repeated."""
    (project / "config/runs/calls.yaml").write_text(
        RUN + "    arms: {3opt: {calls: {replicates: 2}}}\n",
        encoding="utf-8",
    )
    assert after(project) == ({"3opt": 90}, 90)


def test_a_changed_claim_asks_its_requests_anew(project: Path) -> None:
    """One evidence sentence of one drawn case: three calls in each judges' arm and one certificate."""
    case = pq.read_table(project / "results/calls/pairs/sample.parquet").to_pylist()[29]
    edit(project / "data/demo/vitaminc.jsonl", case["evidence"][0][:-1], case["evidence"][0][:-1] + " as a rule")
    assert after(project) == ({"3opt": 3, "4opt": 3, "certificate": 1}, 7)


def test_a_parser_is_no_reason_to_ask(project: Path) -> None:
    """An edited parser parses stored text again: no render, no query."""
    run(project, "results/calls/report.html")
    edit(
        project / "scripts/warrant/parse_verdict.py",
        "Nothing a model writes raises",
        "Nothing that a model writes raises",
    )
    jobs = planned(project, "--config", "runs=calls")
    assert jobs["verdicts"] == 3
    assert jobs["render"] == jobs["query"] == 0


def test_lost_results_cost_no_call(project: Path) -> None:
    """Results and Snakemake's records deleted: everything is computed again from the store."""
    before = [pq.read_table(project / path).to_pylist() for path in WANTED]
    shutil.rmtree(project / "results")
    shutil.rmtree(project / ".snakemake")
    assert after(project) == ({"3opt": 0, "4opt": 0, "certificate": 0}, 0)
    assert [pq.read_table(project / path).to_pylist() for path in WANTED] == before


# --- replay ----------------------------------------------------------------------------------------------------------


def test_a_replay_of_stored_answers_builds_the_run(project: Path) -> None:
    """With every answer stored, replay=true gives the same tables."""
    shutil.rmtree(project / "results")
    run(project, "results/calls/report.html", config="runs=calls replay=true")
    assert "SIMULATED" in (project / "results/calls/report.html").read_text(encoding="utf-8")


def test_a_replay_names_what_is_missing_and_how_many(project: Path) -> None:
    """Nobody is asked: one line with the number, the judges, and the command that says why."""
    edit(project / "config/models.yaml", 'sensitivity: "0.88"', 'sensitivity: "0.89"')
    before = stored(project)
    done = snakemake(project, "--config", "runs=calls", "replay=true", "--", *WANTED)
    assert done.returncode != 0
    said = done.stdout + done.stderr
    assert "30 of 90 responses missing (judge-b: 30)" in said
    assert f"store.py why-miss {STORE} results/calls/pairs/requests/4opt.parquet" in said
    assert stored(project) == before
    requests = "results/calls/pairs/requests/4opt.parquet"
    why = subprocess.run(
        [sys.executable, "scripts/store.py", "why-miss", STORE, requests],
        cwd=project, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "parameters.sensitivity" in why.stdout


def test_a_run_may_go_on_without_answers(project: Path) -> None:
    """allow_missing: judge-b's answers are not stored; nothing that rests on them is scored, and bounds are given."""
    edit(project / "config/models.yaml", 'sensitivity: "0.88"', 'sensitivity: "0.89"')
    allowed = "title: Calls\nresponses: {allow_missing: true, replay: true}\n"
    edit(project / "config/runs/calls.yaml", "title: Calls\n", allowed)
    run(project, "results/calls/report.html")
    tables = project / "results/calls/pairs/tables"
    found = {(row["system"], row["metric"]): row for row in pq.read_table(tables / "bounds.parquet").to_pylist()}
    panel, single = found["panel/4opt", "cpo_c"], found["single/judge-a/4opt", "cpo_c"]
    assert (panel["claims"], single["open"], single["least"]) == (12, 0, single["greatest"])
    assert 0 < panel["open"] <= 12
    assert panel["least"] < panel["greatest"]
    scored = {row["system"]: row for row in pq.read_table(tables / "judges.parquet").to_pylist()}
    assert scored["panel/4opt"]["cpo_c"] is None
    assert scored["single/judge-b/4opt"]["cpo_c"] is None
    assert scored["single/judge-a/4opt"]["cpo_c"] == single["least"]
    assert not (tables / "null.parquet").exists()
    page = (project / "results/calls/report.html").read_text(encoding="utf-8")
    assert "Answers are missing. They leave" in page
    assert "answers that did not come (`allow_missing`)" in page


# --- kills, twins, a full disk ---------------------------------------------------------------------------------------

KILLS = {"program": 40, "snakemake": 10}
REPLICATES = 40
TOTAL = 30 * 3 * REPLICATES
TARGET = "results/calls/pairs/responses/4opt.parquet"


def many_calls(folder: Path, latency: str) -> None:
    """One arm with 3,600 requests."""
    arms = f"    arms: {{4opt: {{calls: {{replicates: {REPLICATES}}}}}}}\n"
    (folder / "config/runs/calls.yaml").write_text(RUN + arms, encoding="utf-8")
    text = (folder / "config/models.yaml").read_text(encoding="utf-8")
    text = text.replace("provider: simulated\n", f'provider: simulated\n  latency: "{latency}"\n')
    (folder / "config/models.yaml").write_text(text, encoding="utf-8")


def query_command(folder: Path, responses: str = TARGET) -> list[str]:
    """The query program as the rule calls it, with settings of the same meaning."""
    latency = re.search(r'latency: "(.*)"', (folder / "config/models.yaml").read_text(encoding="utf-8"))
    assert latency is not None
    judges = {name: {"provider": "simulated", "latency": latency[1]} for name in ("judge-a", "judge-b", "judge-c")}
    settings = json.dumps({"store": STORE, "replay": False, "in_flight": 16, "judges": judges})
    requests = "results/calls/pairs/requests/4opt.parquet"
    program = [sys.executable, "scripts/query.py", "--requests", requests, "--settings", settings]
    return [*program, "--responses", responses]


def reported(said: str) -> int:
    """Responses of the run that it had reported as stored."""
    counts = re.findall(r"^stored ([\d,]+) of", said, re.MULTILINE)
    return int(counts[-1].replace(",", "")) if counts else 0


def contents(folder: Path, path: str = TARGET) -> list[dict[str, Any]]:
    return list(pq.read_table(folder / path).to_pylist())


def test_kill_9_at_50_random_moments(project: Path, tmp_path: Path) -> None:
    """No response that was reported is lost, none is there twice, the store is whole, the end is that of a quiet run.

    40 kills hit the query program. Then 10 hit Snakemake: five times alone (its job goes on as an orphan, which the
    next run waits for), five times with its job.
    """
    quiet = Path(shutil.copytree(project, tmp_path / "quiet"))
    many_calls(quiet, "0")
    run(quiet, TARGET)
    many_calls(project, "0.08")
    run(project, "results/calls/pairs/requests/4opt.parquet")
    rng = random.Random(20261201)
    moments: Counter[bool] = Counter()
    held = stored(project)
    for _ in range(KILLS["program"]):
        after = rng.choice(["", "to ask", "to ask", "to ask"])
        said = killed(query_command(project), project, rng.uniform(0.0, 0.6), group=True, after=after)
        now = stored(project)  # the store can be read at once, whatever was being written
        assert now >= held + reported(said)
        moments[now > held] += 1
        held = now
    assert moments[True] >= 15  # the kills did hit runs that were storing
    assert held < 210 + TOTAL  # and the last one did not hit a run that was done
    command = [sys.executable, "-m", "snakemake", "--cores", "2", "--config", "runs=calls", "--", TARGET]
    for number in range(KILLS["snakemake"]):
        killed(command, project, rng.uniform(0.5, 4.0), group=number % 2 == 0)
        assert stored(project) >= held
        held = stored(project)
    edit(project / "config/models.yaml", 'latency: "0.08"', 'latency: "0"')
    run(project, TARGET)
    assert contents(project) == contents(quiet)
    assert stored(project) == stored(quiet)
    with Store(project / STORE, create=False) as store:
        assert verify(store).damaged == []


def test_two_runs_at_once_pay_each_call_once(project: Path) -> None:
    """The second waits for the first and finds what it stored; both end with the same responses."""
    many_calls(project, "0.01")
    run(project, "results/calls/pairs/requests/4opt.parquet")
    before = stored(project)
    twins = [
        subprocess.Popen(
            query_command(project, f"results/{name}.parquet"),
            cwd=project, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )
        for name in "ab"
    ]  # fmt: skip
    said = [process.communicate()[0] for process in twins]
    assert [process.returncode for process in twins] == [0, 0], said
    counts = [int(found.replace(",", "")) for text in said for found in re.findall(r"([\d,]+) to ask", text)]
    assert sorted(counts) == [0, stored(project) - before]
    assert sum("waiting for it" in text for text in said) == 1
    assert contents(project, "results/a.parquet") == contents(project, "results/b.parquet")


def test_a_full_disk_stops_the_query_in_one_line_and_loses_nothing(project: Path) -> None:
    """No file may grow further: what was reported is stored, and with space again the run ends as if nothing was."""
    many_calls(project, "0.001")
    run(project, "results/calls/pairs/requests/4opt.parquet")
    before = stored(project)
    most = (project / STORE).stat().st_size + 300_000

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))

    done = subprocess.run(
        query_command(project), cwd=project, capture_output=True, text=True, preexec_fn=limit, check=False
    )
    assert done.returncode == 1
    (line,) = [line for line in done.stderr.splitlines() if line.startswith("query: ")]
    assert "cache/responses.sqlite" in line
    assert "Traceback" not in done.stderr
    assert 0 < reported(done.stderr) <= stored(project) - before < TOTAL
    assert not (project / TARGET).exists() or len(contents(project)) < TOTAL
    again = subprocess.run(query_command(project), cwd=project, capture_output=True, text=True, check=False)
    assert again.returncode == 0, again.stderr
    assert len(contents(project)) == TOTAL
    with Store(project / STORE, create=False) as store:
        assert verify(store).damaged == []
