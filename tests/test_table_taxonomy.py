"""Table `taxonomy`: one structural category per certificate, and each judge's commits in it."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import oracles
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import GOLD, ballot, ballots, claims_of, codes, golds, hidden_votes, masks, names, row, rows, taus

from warrant import artifact, certificates, release, sample, verdicts
from warrant.certificates import deterministic_verdict
from warrant.decimals import ONE, to_units
from warrant.imported import Known, verdict_defaults
from warrant.intervals import wilson
from warrant.labels import STATES, Labels, Mask
from warrant.panel import Votes
from warrant.sample import Case
from warrant.tables.taxonomy import CATEGORIES, SCHEMA, structural_category, taxonomy

Certificate = list[dict[str, Any]] | None
MODELS = {"claude-haiku-4-5": "haiku-4.5", "claude-sonnet-4-5": "sonnet-4.5", "gpt-4o-mini": "gpt-4o-mini"}
STATED = ("commits", "support", "refute", "stated", "confident", "confidence_sum", "mean_confidence", "rate", "low")
subclaims = st.fixed_dictionaries({"material": st.booleans(), "evidence_state": st.sampled_from(STATES)})
certificate = st.none() | st.lists(subclaims, min_size=1, max_size=4)


@st.composite
def studies(draw: st.DrawFn) -> tuple[Labels, Votes, list[Certificate]]:
    """Gold labels, one judge and a certificate a claim."""
    votes = draw(ballots(claims=st.integers(0, 8), judges=st.just(1)))
    n = len(votes.known)
    return draw(golds(n)), votes, draw(st.lists(certificate, min_size=n, max_size=n))


def table(
    gold: Labels, votes: Votes, listed: list[Certificate], tau: Decimal = Decimal("0.80")
) -> list[dict[str, Any]]:
    return rows(taxonomy(gold, {"judge": votes}, listed, tau))


def category_of(listed: Certificate) -> str:
    """The category from its definition, a question at a time."""
    states = [item["evidence_state"] for item in listed or [] if item["material"]]
    questions = {
        "material_mixed": "mixed" in states,
        "separate_support_and_refute": "supports" in states and "refutes" in states,
        "directional_plus_insufficient": "insufficient" in states and ("supports" in states or "refutes" in states),
        "insufficient_only": "insufficient" in states,
        "support_only": "supports" in states,
        "refute_only": "refutes" in states,
        "none": True,
    }
    return next(name for name, holds in questions.items() if holds)


def test_every_set_of_states_has_its_category() -> None:
    """All 16 sets of material states, whatever else the certificate says in subclaims that are not material."""
    found = {}
    for chosen in product((False, True), repeat=len(STATES)):
        material = [state for state, is_in in zip(STATES, chosen, strict=True) if is_in]
        listed = [{"material": True, "evidence_state": state} for state in material]
        aside = [{"material": False, "evidence_state": state} for state in STATES]
        assert structural_category(listed) == structural_category([*aside, *listed]) == category_of(listed)
        found[frozenset(material)] = structural_category(listed)
    assert len(found) == 16
    assert set(found.values()) == set(CATEGORIES)
    assert structural_category(None) == structural_category([]) == "none"


@given(certificate)
def test_a_category_implies_the_deterministic_verdict(listed: Certificate) -> None:
    """The verdict that follows from a certificate is a function of its category."""
    expected = {
        "material_mixed": "conflicting",
        "separate_support_and_refute": "conflicting",
        "directional_plus_insufficient": "insufficient",
        "insufficient_only": "insufficient",
        "support_only": "support",
        "refute_only": "refute",
        "none": None,
    }
    assert deterministic_verdict(listed or []) == expected[structural_category(listed)]


@given(studies(), taus)
def test_every_row_counts_the_claims_of_its_category(
    drawn: tuple[Labels, Votes, list[Certificate]], tau: Decimal
) -> None:
    """Claims, commits, directions and confidences are those of a claim-by-claim reading, in exact arithmetic."""
    gold, votes, listed = drawn
    lines = table(gold, votes, listed, tau)
    labels = ["conflicting", *GOLD[:3]]
    assert [(line["gold"], line["category"]) for line in lines] == list(product(labels, CATEGORIES))
    said = names(votes.label[:, 0])
    for line in lines:
        members = [
            i
            for i, label in enumerate(names(gold))
            if label == line["gold"] and category_of(listed[i]) == line["category"]
        ]
        commits = [i for i in members if said[i] in oracles.DIRECTIONS]
        stated = [Fraction(int(votes.confidence[i, 0]), ONE) for i in commits if votes.has_confidence[i, 0]]
        assert line["claims"] == len(members)
        assert line["unusable"] == len([i for i in members if listed[i] is None])
        assert line["commits"] == len(commits)
        assert [line["support"], line["refute"]] == [
            [said[i] for i in commits].count(way) for way in oracles.DIRECTIONS
        ]
        confident = len([value for value in stated if value >= Fraction(tau)])
        assert (line["stated"], line["confident"]) == (len(stated), confident)
        total = sum(stated, Fraction(0))
        assert line["mean_confidence"] == (float(total / len(stated)) if stated else None)
        assert line["confidence_sum"] == (total if stated else None)
        assert (line["low"], line["high"]) == (wilson(len(commits), len(members)) or (None, None))
        assert line["rate"] == (len(commits) / len(members) if members else None)
        assert (line["confident_low"], line["confident_high"]) == (wilson(confident, len(commits)) or (None, None))
        assert line["confident_rate"] == (confident / len(commits) if commits else None)
        assert (line["tau"], line["partial"]) == (float(tau), False)


@given(studies(), st.data())
def test_the_order_of_claims_plays_no_part(drawn: tuple[Labels, Votes, list[Certificate]], data: st.DataObject) -> None:
    """Permuting claims changes no row, means included."""
    gold, votes, listed = drawn
    order = data.draw(st.permutations(range(len(gold))))
    assert table(gold[order], claims_of(votes, order), [listed[i] for i in order]) == table(gold, votes, listed)


@given(studies().flatmap(lambda drawn: st.tuples(st.just(drawn), masks(len(drawn[0])))))
def test_a_partial_judge_has_the_gold_labels_that_are_known(
    drawn: tuple[tuple[Labels, Votes, list[Certificate]], Mask],
) -> None:
    """Claims are counted for every label; commits are null where a claim of the label is not known."""
    (gold, votes, listed), known = drawn
    lines = table(gold, hidden_votes(votes, known), listed)
    for line, full in zip(lines, table(gold, votes, listed), strict=True):
        seen = all(k for label, k in zip(names(gold), known.tolist(), strict=True) if label == line["gold"])
        assert (line["claims"], line["unusable"]) == (full["claims"], full["unusable"])
        assert [line[name] for name in STATED] == [full[name] if seen else None for name in STATED]
        assert line["partial"] is (not known.all())


def test_a_confidence_at_the_threshold_counts_and_a_missing_one_does_not() -> None:
    """.80 reaches .80, a commit without a confidence stays in the denominator, and the mean is over stated ones."""
    votes = ballot([["support"], ["refute"], ["support"], ["conflicting"]], [["0.80"], [None], ["0.7"], ["0.9"]])
    mixed = [{"material": True, "evidence_state": "mixed"}]
    found = taxonomy(codes(["conflicting"] * 4), {"judge": votes}, [mixed] * 4, Decimal("0.80"))
    line = row(found, gold="conflicting", category="material_mixed")
    assert (line["claims"], line["commits"], line["stated"], line["confident"]) == (4, 3, 2, 1)
    assert (line["confidence_sum"], line["mean_confidence"]) == (Decimal("1.5"), 0.75)
    assert line["confident_rate"] == 1 / 3


def test_what_is_refused() -> None:
    """A panel has no one confidence, and a threshold is a share: ValueError. No judge is an empty table."""
    gold = codes(["conflicting"])
    with pytest.raises(ValueError, match="pair is a panel of 2"):
        taxonomy(gold, {"pair": ballot([["support", "support"]])}, [None], Decimal("0.8"))
    with pytest.raises(ValueError, match="tau"):
        taxonomy(gold, {"judge": ballot([["support"]])}, [None], Decimal("1.1"))
    assert rows(taxonomy(gold, {}, [None], Decimal("0.8"))) == []


def test_a_sum_of_confidences_does_not_overflow() -> None:
    """Ten thousand commits with confidence 1 have the sum 10000: more than int64 holds in units."""
    n = 10_000
    label = np.zeros((n, 1), dtype=np.int8)
    votes = Votes(label, np.full((n, 1), to_units(1)), np.ones((n, 1), np.bool_), np.ones(n, np.bool_))
    found = taxonomy(codes(["conflicting"] * n), {"judge": votes}, [None] * n, Decimal(1))
    line = row(found, gold="conflicting", category="none")
    assert (line["confidence_sum"], line["mean_confidence"], line["confident"]) == (n, 1.0, n)


# --- the program, on the release -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("study", "dataset"), [("averitec", "AVeriTeC"), ("vitaminc", "VitaminC-Mixed")])
@pytest.mark.real_inputs("case_taxonomy", "averitec_certificates", "vitaminc_certificates")
def test_categories_and_counts_are_the_released_ones(
    study: str, dataset: str, real_input: Callable[[str], Path], run_step: Any, tmp_path: Path
) -> None:
    """The category recomputed from each certificate is the released one on every row, and so is every count of it."""
    data = real_input(f"{study}_certificates").read_bytes()
    lines = sorted(map(json.loads, data.splitlines()), key=lambda line: line["case_id"])
    cases = sample.to_table([Case("g", line["gold_normal"], line["claim"], None, "s", None) for line in lines], "s")
    known = Known.of(cases)
    listed = certificates.certificate_rows(data, "certificates", known, MODELS).rows
    votes = release.taxonomy(real_input("case_taxonomy").read_bytes(), "taxonomy", known, dataset, MODELS, "4opt").rows
    artifact.write(cases, tmp_path / "sample.parquet")
    files = [tmp_path / f"verdicts/{arm}.parquet" for arm in ("certificate", "4opt")]
    for path, found, schema in zip(files, (listed, votes), (certificates.SCHEMA, verdicts.SCHEMA), strict=True):
        artifact.write(artifact.from_rows(map(verdict_defaults, found), schema), path)
    with real_input("case_taxonomy").open(encoding="utf-8-sig", newline="") as handle:
        released = [line for line in csv.DictReader(handle) if line["dataset"] == dataset]
    by_case = {item["case_id"]: structural_category(item["subclaims"]) for item in listed}
    assert len(released) == 3 * known.gold.count("conflicting")
    assert [by_case[int(line["case_id"])] for line in released] == [line["structural_category"] for line in released]

    systems = {f"single/{judge}/4opt": {"arm": "4opt", "judges": [judge]} for judge in MODELS.values()}
    settings = {"systems": systems, "validator": "certificate", "tau": "0.80"}
    inputs = {"sample": [tmp_path / "sample.parquet"], "verdicts": files}
    run_step("table_taxonomy", inputs, {"table": tmp_path / "tables/taxonomy.parquet"}, settings)
    for line in artifact.read(tmp_path / "tables/taxonomy.parquet", SCHEMA).to_pylist():
        if line["gold"] != "conflicting":
            assert line["commits"] is None or line["claims"] == 0
            continue
        mine = [
            other
            for other in released
            if f"single/{MODELS[other['model']]}/4opt" == line["system"]
            and other["structural_category"] == line["category"]
        ]
        committed = [other for other in mine if other["is_dataset_cco"] == "1"]
        values = [Fraction(other["confidence"]) for other in committed]
        assert (line["claims"], line["commits"]) == (len(mine), len(committed))
        assert line["support"] == len([other for other in committed if other["prediction"] == "support"])
        assert line["confident"] == len([value for value in values if value >= Fraction("0.8")])
        expected = float(sum(values, Fraction(0)) / len(values)) if values else None
        assert line["mean_confidence"] == expected


def test_a_missing_certificate_is_refused(run_step: Any, refused: Any, tmp_path: Path) -> None:
    """The program stops when a case has no row of the validator."""
    cases = sample.to_table([Case("g", "conflicting", f"claim {i}", None, "s", None) for i in range(2)], "s")
    artifact.write(cases, tmp_path / "sample.parquet")
    base = verdict_defaults({"case_id": 0, "model": "v", "parse_status": "invalid"})
    path = tmp_path / "certificate.parquet"
    artifact.write(artifact.from_rows([base], certificates.SCHEMA), path)
    settings = {"systems": {}, "validator": "certificate", "tau": "0.80"}
    inputs = {"sample": [tmp_path / "sample.parquet"], "verdicts": [path]}
    with refused("certificate.parquet", "1 cases missing"):
        run_step("table_taxonomy", inputs, {"table": tmp_path / "tables/taxonomy.parquet"}, settings)
