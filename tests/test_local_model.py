"""A real model behind a server on this machine judges ten demo claims, from the claims to the report.

    WARRANT_LOCAL_MODEL=http://127.0.0.1:8080/v1 python -m pytest tests/test_local_model.py

The model is asked for under the name `local`. Small ones answer badly: what is tested is that every answer comes, is
held to its schema, is stored and is asked for once, not what it says.
"""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from checkouts import copy_project, edit, snakemake

from warrant.calls.store import Store
from warrant.calls.store_upkeep import verify

RUN = """\
extends: local
title: Ten claims
studies:
  claims:
    sample:
      - format: averitec
        dev: data/demo/averitec_dev.json
        train: data/demo/averitec_train.json
        counts: {Supported: 3, Refuted: 3, Not Enough Evidence: 2, Conflicting-dev-all: 1, Conflicting-train: 1}
        seed: 7
    bootstrap: {resamples: 500, seed: 1}
"""
ARMS = ("3opt", "4opt", "certificate")


@pytest.mark.slow
@pytest.mark.local_model
def test_a_real_model_judges_ten_claims_end_to_end(tmp_path: Path) -> None:
    """30 calls, 30 stored answers of this model, each parsed; a report without SIMULATED; nothing to ask again."""
    folder = copy_project(tmp_path / "warrant")
    url = os.environ["WARRANT_LOCAL_MODEL"]
    edit(folder / "config/models.yaml", "base_url: http://127.0.0.1:8080/v1", f"base_url: {url}")
    (folder / "config/runs/ten.yaml").write_text(RUN, encoding="utf-8")
    first = snakemake(folder, "--config", "runs=ten")
    assert first.returncode == 0, first.stdout + first.stderr
    for arm in ARMS:
        answers = pq.read_table(folder / f"results/ten/claims/responses/{arm}.parquet").to_pylist()
        assert [row["status"] for row in answers] == ["ok"] * 10
        verdicts = pq.read_table(folder / f"results/ten/claims/verdicts/{arm}.parquet").to_pylist()
        assert all(row["verdict"] is not None for row in verdicts)
    with Store(folder / "cache/responses.sqlite") as store:
        assert store.count() == 30
        assert verify(store).damaged == []
    assert "SIMULATED" not in (folder / "results/ten/report.html").read_text(encoding="utf-8")
    again = snakemake(folder, "--config", "runs=ten", "--forcerun", "query")
    assert again.returncode == 0, again.stdout + again.stderr
    for arm in ARMS:
        said = (folder / f"logs/ten/claims/query_{arm}.log").read_text(encoding="utf-8")
        assert "10 requests, 10 stored, 0 to ask" in said
