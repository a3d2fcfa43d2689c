"""Tables `judges` and `confusion`: every number of a row follows from the system's decisions."""

from __future__ import annotations

import numpy as np
import oracles
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import GOLD, VERDICTS, golds, hidden, masks, names, row, rows, systems

from warrant.intervals import newcombe, wilson
from warrant.labels import Labels, Mask
from warrant.metrics import macro_f1
from warrant.systems import Decisions
from warrant.tables.judges import JUDGES, confusions, judges

Drawn = tuple[Labels, dict[str, Decisions]]
WITH_INTERVAL = ("cpo_c", "ovc_i", "rec_c", "acc_sr", "false_conflict", "accuracy", "cov", "se")
fewer = settings(max_examples=50)
samples = st.integers(0, 10).flatmap(lambda n: st.tuples(golds(n), systems(n, 3)))
partial = st.integers(0, 8).flatmap(lambda n: st.tuples(golds(n), systems(n, 1), masks(n)))


def shown(gold: Labels, found: dict[str, Decisions], known: Mask) -> dict[str, Decisions]:
    return {"a": hidden(Decisions(found["a"].decision, known), known)}


@fewer
@given(samples)
def test_rates_are_their_counts_with_wilson_intervals(drawn: Drawn) -> None:
    """Each rate stands with its count, denominator and Wilson interval, all null where the denominator is 0."""
    gold, found = drawn
    table = judges(gold, found)
    for name, system in found.items():
        line = row(table, system=name)
        for metric in WITH_INTERVAL:
            k, n = oracles.counts(metric, names(gold), names(system.decision))
            assert (line[f"{metric}_k"], line[f"{metric}_n"]) == (k, n)
            assert line[metric] == (k / n if n else None)
            assert (line[f"{metric}_low"], line[f"{metric}_high"]) == (wilson(k, n) or (None, None))
        n_all = len(gold)
        assert line["cpo_n"] == (line["cpo_c_k"] / n_all if n_all else None)
        assert line["macro_f1"] == macro_f1(gold, system.decision)
        assert (line["n"], line["partial"]) == (n_all, False)
        assert line["n_parsed"] == sum(label != "none" for label in names(system.decision))


@fewer
@given(samples)
def test_the_gap_is_an_unpaired_difference(drawn: Drawn) -> None:
    """The gap is CPO_C minus Ovc_I with Newcombe's interval, null when either has no claims."""
    gold, found = drawn
    for line in rows(judges(gold, found)):
        interval = newcombe(line["cpo_c_k"], line["cpo_c_n"], line["ovc_i_k"], line["ovc_i_n"])
        if interval is None:
            assert (line["gap"], line["gap_low"], line["gap_high"]) == (None, None, None)
        else:
            assert line["gap"] == line["cpo_c"] - line["ovc_i"]
            assert (line["gap_low"], line["gap_high"]) == interval


@fewer
@given(samples, st.data())
def test_the_order_of_claims_plays_no_part(drawn: Drawn, data: st.DataObject) -> None:
    """Permuting claims changes no number of either table."""
    gold, found = drawn
    order = data.draw(st.permutations(range(len(gold))))
    again = {name: Decisions(system.decision[order], system.known[order]) for name, system in found.items()}
    assert judges(gold[order], again).equals(judges(gold, found))
    assert confusions(gold[order], again).equals(confusions(gold, found))


@fewer
@given(samples)
def test_systems_do_not_see_each_other(drawn: Drawn) -> None:
    """A system's rows are the same alone and among others, in the order in which systems are given."""
    gold, found = drawn
    for make in (judges, confusions):
        alone = pa.concat_tables([make(gold, {name: system}) for name, system in found.items()])
        assert make(gold, found).equals(alone)


@fewer
@given(partial)
def test_a_partial_row_has_what_its_known_claims_allow(drawn: tuple[Labels, dict[str, Decisions], Mask]) -> None:
    """In a partial row a rate is that of full knowledge when the claims it needs are known, else its cells are null."""
    gold, found, known = drawn
    full, line = rows(judges(gold, found))[0], rows(judges(gold, shown(gold, found, known)))[0]
    assert line["partial"] == (not known.all())
    computable = {
        metric: all(k for label, k in zip(names(gold), known.tolist(), strict=True) if label in needed)
        for metric, needed in oracles.NEEDS.items()
    }
    shows = {"cpo_n": computable["cpo_n"], "n_parsed": bool(known.all()), "macro_f1": bool(known.all())}
    for part in ("", "_low", "_high"):
        shows[f"gap{part}"] = computable["cpo_c"] and computable["ovc_i"]
    for metric in WITH_INTERVAL:
        shows |= {f"{metric}{part}": computable[metric] for part in ("", "_k", "_n", "_low", "_high")}
    assert {"system", "n", "partial", *shows} == set(JUDGES.names)
    for column, seen in shows.items():
        assert line[column] == (full[column] if seen else None), column


@fewer
@given(samples)
def test_every_claim_is_in_one_cell_of_the_confusion(drawn: Drawn) -> None:
    """A known system's confusion has 20 cells that sum to the claims, row sums being the gold labels' counts."""
    gold, found = drawn
    for name, system in found.items():
        cells = [line for line in rows(confusions(gold, found)) if line["system"] == name]
        said = ["none" if label == "no_commit" else label for label in names(system.decision)]
        expected = [(g, p, list(zip(names(gold), said, strict=True)).count((g, p))) for g in GOLD for p in VERDICTS]
        assert [(line["gold"], line["predicted"], line["n"]) for line in cells] == expected


@fewer
@given(partial)
def test_a_partial_confusion_has_the_gold_labels_that_are_known(
    drawn: tuple[Labels, dict[str, Decisions], Mask],
) -> None:
    """Of a partial system the confusion has full-knowledge rows for completely known gold labels, and no others."""
    gold, found, known = drawn
    complete = [label for code, label in enumerate(GOLD) if known[gold == code].all()]
    expected = [line for line in rows(confusions(gold, found)) if line["gold"] in complete]
    assert rows(confusions(gold, shown(gold, found, known))) == expected


@fewer
@given(samples)
def test_no_cell_is_not_a_number(drawn: Drawn) -> None:
    """A missing value is null: no cell of the tables is NaN, and no column that may not be null is."""
    for table in (judges(*drawn), confusions(*drawn)):
        for line in rows(table):
            assert all(value == value for value in line.values())
        table.validate(full=True)
        assert all(table.column(field.name).null_count == 0 for field in table.schema if not field.nullable)


def test_a_silent_judge_is_wrong_everywhere() -> None:
    """A judge without usable verdicts keeps every denominator, has accuracy 0 and no selective error."""
    gold = np.array([0, 1, 2, 3], dtype=np.int8)
    silent = Decisions(np.full(4, 4, dtype=np.int8), np.ones(4, dtype=np.bool_))
    line = rows(judges(gold, {"silent": silent}))[0]
    assert (line["n_parsed"], line["accuracy"], line["cov"], line["se"], line["se_n"]) == (0, 0.0, 0.0, None, 0)
    assert [line[f"{metric}_n"] for metric in ("cpo_c", "ovc_i", "acc_sr")] == [1, 1, 2]
    assert line["gap"] == pytest.approx(0)
