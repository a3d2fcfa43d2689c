"""Table `anatomy`: the votes behind a panel's commits, and two readings of suppressed dissent."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import oracles
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import ballot, ballots, claims_of, codes, golds, hidden_votes, judges_of, masks, names, row, rows

from warrant import artifact, release, sample, verdicts
from warrant.audit import audit, read_published
from warrant.imported import Imported, Known, verdict_defaults
from warrant.intervals import wilson
from warrant.labels import Labels, Mask
from warrant.panel import Votes
from warrant.sample import Case
from warrant.tables.anatomy import SCHEMA, anatomy

NUMBERS = {2: "two", 3: "three", 4: "four", 5: "five"}
COUNTS = ("k", "n", "rate", "percent", "low", "high", "committed", "conflicting", "insufficient", "without", "cases")
MODELS = {"claude-haiku-4-5": "haiku-4.5", "claude-sonnet-4-5": "sonnet-4.5", "gpt-4o-mini": "gpt-4o-mini"}
panels = ballots(claims=st.integers(0, 8), judges=st.integers(2, 5)).flatmap(
    lambda votes: st.tuples(golds(len(votes.known), ("conflicting", "conflicting", "support")), st.just(votes))
)


def table(gold: Labels, votes: Votes) -> list[dict[str, Any]]:
    return rows(anatomy(gold, {"panel": votes}))


def groups_of(votes: list[str]) -> set[str]:
    """Groups of one gold-conflicting claim, by their definitions."""
    said, judges = oracles.majority(votes), len(votes)
    commits = said in oracles.DIRECTIONS
    if "none" in votes:
        return {"incomplete", "cpo"} if commits else {"incomplete"}
    toward = [vote for vote in votes if vote in oracles.DIRECTIONS]
    found = {f"votes_{len(toward)}"}
    if len(toward) >= judges - 1:
        found.add(f"votes_{judges}_or_{judges - 1}")
    if len(toward) == judges - 1 and not commits:
        found.add("splits_returned")
    if commits:
        found |= {"cpo", f"commits_{NUMBERS[judges]}_votes"}
        dissent = "commits_opposed" if len(set(toward)) > 1 else "commits_suppressed"
        found.add("commits_unanimous" if set(votes) == {said} else dissent)
    return found


def part_of(group: str, judges: int) -> str | None:
    """The group whose claims are a group's denominator; None: every gold-conflicting claim."""
    record = f"commits_{NUMBERS[judges]}_votes"
    if group == "splits_returned":
        return f"votes_{judges - 1}"
    return {record: "cpo"}.get(group, record) if group.startswith("commits_") else None


@given(panels)
def test_every_row_counts_the_claims_of_its_definition(drawn: tuple[Labels, Votes]) -> None:
    """Members, what they are a part of and what the panel returns on them are those of a claim-by-claim reading."""
    gold, votes = drawn
    judges = votes.label.shape[1]
    claims = {
        i: names(votes.label[i]) for i, label in enumerate(names(gold)) if label == "conflicting"
    }  # the others play no part
    lines = table(gold, votes)
    kinds = [f"votes_{j}" for j in range(judges, -1, -1)] + ["incomplete", f"votes_{judges}_or_{judges - 1}"]
    kinds += [f"commits_{NUMBERS[judges]}_votes", "commits_unanimous", "commits_suppressed", "commits_opposed"]
    assert [line["group"] for line in lines] == [*kinds, "splits_returned"]
    for line in lines:
        members = [i for i, ballots in claims.items() if line["group"] in groups_of(ballots)]
        whole = part_of(line["group"], judges)
        n = len([i for i, ballots in claims.items() if whole is None or whole in groups_of(ballots)])
        said = [oracles.majority(claims[i]) for i in members]
        assert (line["k"], line["n"]) == (len(members), n)
        assert (line["low"], line["high"]) == (wilson(len(members), n) or (None, None))
        assert line["rate"] == (len(members) / n if n else None)
        assert line["percent"] == (100 * len(members) / n if n else None)
        assert line["committed"] == len([one for one in said if one in oracles.DIRECTIONS])
        returned = [line[name] for name in ("conflicting", "insufficient", "without")]
        assert returned == [said.count("conflicting"), said.count("insufficient"), said.count("none")]
        assert line["cases"] == (members if line["group"] in ("splits_returned", "incomplete") else None)
        assert line["partial"] is False


@given(panels)
def test_groups_are_partitions(drawn: tuple[Labels, Votes]) -> None:
    """Vote counts and the incomplete sum to the claims; the three kinds of commit to those with a full record.

    The two readings of suppressed dissent differ by exactly the splits that the panel returned.
    """
    gold, votes = drawn
    judges = votes.label.shape[1]
    k = {line["group"]: line["k"] for line in table(gold, votes)}
    by_votes = [k[f"votes_{j}"] for j in range(judges + 1)]
    assert int(np.sum(by_votes)) + k["incomplete"] == names(gold).count("conflicting")
    kinds = [k[f"commits_{kind}"] for kind in ("unanimous", "suppressed", "opposed")]
    assert int(np.sum(kinds)) == k[f"commits_{NUMBERS[judges]}_votes"]
    second = row(anatomy(gold, {"panel": votes}), group=f"votes_{judges - 1}")
    assert second["k"] - second["committed"] == k["splits_returned"]


@given(panels, st.data())
def test_the_order_of_claims_and_judges_plays_no_part(drawn: tuple[Labels, Votes], data: st.DataObject) -> None:
    """Permuting claims changes nothing but case ids; permuting judges nothing when no ballot is a tie of directions."""
    gold, votes = drawn
    order = data.draw(st.permutations(range(len(gold))))
    for line, other in zip(table(gold[order], claims_of(votes, order)), table(gold, votes), strict=True):
        assert {**line, "cases": None} == {**other, "cases": None}
    clear = [i for i, line in enumerate(votes.label) if not oracles.tied_without_conflicting(names(line))]
    gold, votes = gold[clear], claims_of(votes, clear)
    judges = data.draw(st.permutations(range(votes.label.shape[1])))
    assert table(gold, judges_of(votes, judges)) == table(gold, votes)


@given(panels.flatmap(lambda drawn: st.tuples(st.just(drawn), masks(len(drawn[0])))))
def test_a_partial_panel_needs_the_gold_conflicting_claims(drawn: tuple[tuple[Labels, Votes], Mask]) -> None:
    """A panel known on gold-conflicting claims has every number of the whole one, marked; else every count is null."""
    (gold, votes), known = drawn
    enough = bool(known[gold == 3].all())
    for line, full in zip(table(gold, hidden_votes(votes, known)), table(gold, votes), strict=True):
        assert [line[name] for name in COUNTS] == [full[name] if enough else None for name in COUNTS]
        assert line["partial"] is (not known.all())


def test_a_split_that_comes_back_conflicting_suppresses_nobody() -> None:
    """S/R/C is two directional votes and no commit; S/S/C is a commit; S/S/R and S/I/R have an opposed vote."""
    votes = ballot(
        [
            ["support", "refute", "conflicting"],
            ["support", "support", "conflicting"],
            ["support", "support", "refute"],
            ["refute", "none", "refute"],
            ["support", "insufficient", "refute"],
        ]
    )
    found = anatomy(codes(["conflicting"] * 5), {"panel": votes})
    second = row(found, group="votes_2")
    assert (second["k"], second["committed"], second["conflicting"]) == (3, 2, 1)
    assert row(found, group="splits_returned")["cases"] == [0]
    assert row(found, group="incomplete")["cases"] == [3]
    assert row(found, group="votes_3")["k"] == 1
    kinds = {kind: row(found, group=f"commits_{kind}")["k"] for kind in ("unanimous", "suppressed", "opposed")}
    assert kinds == {"unanimous": 0, "suppressed": 1, "opposed": 2}
    record = row(found, group="commits_three_votes")
    assert (record["k"], record["n"]) == (3, 4)


def test_one_judge_is_no_panel() -> None:
    """A single judge suppresses nobody: ValueError. No panel at all is an empty table, no claims are zero counts."""
    with pytest.raises(ValueError, match="lonely is a single judge"):
        anatomy(codes(["conflicting"]), {"lonely": ballot([["support"]])})
    assert rows(anatomy(codes([]), {})) == []
    empty = ballot([["support", "support"]])
    lines = table(codes([]), claims_of(empty, []))
    assert {line["k"] for line in lines} == {0}
    assert {line["rate"] for line in lines} == {None}


# --- the program, on the release -------------------------------------------------------------------------------------


def written(found: Imported, path: Path) -> Path:
    artifact.write(artifact.from_rows(map(verdict_defaults, found.rows), verdicts.SCHEMA), path)
    return path


def published(project: Path, study: str, built: list[dict[str, Any]]) -> dict[tuple[str, str], str]:
    """Audit status of every published number on this table, where its system is at hand."""
    here = {line["system"] for line in built}
    wanted = [
        line
        for line in read_published(project / "config/published/verdict.tsv")
        if (line.artifact, line.study) == ("anatomy", study) and line.keys["system"] in here
    ]
    assert wanted
    found = audit(wanted, {(study, "anatomy"): built}, [], {}).to_pylist()
    return {(line["cell"], line["published"]): line["status"] for line in found}


@pytest.mark.real_inputs("vitaminc_panel")
def test_published_anatomy_of_vitaminc(
    project: Path, real_input: Callable[[str], Path], run_step: Any, tmp_path: Path
) -> None:
    """Every printed number of both panels agrees, but for suppressed dissent, which finding V09 explains."""
    data = real_input("vitaminc_panel").read_bytes()
    cases = sample.to_table(release.sample_cases(data, "panel", "panel"), "vitaminc_mixed")
    artifact.write(cases, tmp_path / "sample.parquet")
    systems = sorted({json.loads(line)["system"] for line in data.splitlines()})
    files, settings = [], {}
    for arm in ("3opt", "4opt"):
        mine = [name for name in systems if arm in name]
        found = release.panel_rows(data, "panel", Known.of(cases), mine, systems, MODELS, arm)
        files.append(written(found, tmp_path / f"verdicts/{arm}.parquet"))
        settings[f"panel/{arm}"] = {"arm": arm, "judges": [*MODELS.values()]}
    inputs = {"sample": [tmp_path / "sample.parquet"], "verdicts": files}
    run_step("table_anatomy", inputs, {"table": tmp_path / "tables/anatomy.parquet"}, {"systems": settings})
    lines = artifact.read(tmp_path / "tables/anatomy.parquet", SCHEMA).to_pylist()
    statuses = published(project, "vitaminc_mixed", lines)
    differing = {cell for (cell, _), status in statuses.items() if status != "match"}
    assert differing == {"anatomy[system=panel/4opt;group=votes_2].committed"}
    assert set(statuses.values()) == {"match", "differs-explained"}
    split = next(line for line in lines if (line["system"], line["group"]) == ("panel/4opt", "splits_returned"))
    assert split["k"] == split["conflicting"] == 5
    untyped = {line["group"]: line["k"] for line in lines if line["system"] == "panel/3opt"}
    assert untyped["votes_3"] == untyped["commits_unanimous"] + 10  # ten "unanimous" claims have votes both ways


@pytest.mark.real_inputs("case_taxonomy", "averitec_certificates")
def test_published_anatomy_of_averitec(
    project: Path, real_input: Callable[[str], Path], run_step: Any, tmp_path: Path
) -> None:
    """The partial panel, known on the gold-conflicting claims, gives every printed number of the typed panel."""
    lines = list(map(json.loads, real_input("averitec_certificates").read_text("utf-8").splitlines()))
    lines.sort(key=lambda line: line["case_id"])
    cases = sample.to_table([Case("g", line["gold_normal"], line["claim"], None, "s", None) for line in lines], "a")
    artifact.write(cases, tmp_path / "sample.parquet")
    data = real_input("case_taxonomy").read_bytes()
    found = release.taxonomy(data, "taxonomy", Known.of(cases), "AVeriTeC", MODELS, "4opt")
    path = written(found, tmp_path / "verdicts/4opt.parquet")
    settings = {"systems": {"panel/4opt": {"arm": "4opt", "judges": [*MODELS.values()]}}}
    inputs = {"sample": [tmp_path / "sample.parquet"], "verdicts": [path]}
    run_step("table_anatomy", inputs, {"table": tmp_path / "tables/anatomy.parquet"}, settings)
    built = artifact.read(tmp_path / "tables/anatomy.parquet", SCHEMA).to_pylist()
    statuses = published(project, "averitec", built)
    differing = {cell for (cell, _), status in statuses.items() if status != "match"}
    assert differing == {"anatomy[system=panel/4opt;group=votes_2].committed"}
    assert {line["group"]: line["cases"] for line in built if line["cases"] is not None} == {
        "splits_returned": [24],
        "incomplete": [157, 217],
    }
    assert all(line["partial"] for line in built)
