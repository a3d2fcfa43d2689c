"""The AVeriTeC draw and the sample artifact: one generator, fixed order, evidence as a judge was shown it."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Sequence
from itertools import permutations
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from warrant import artifact, averitec, sample
from warrant.sample import Case, Stratum, evidence_text, sha256_text

CONFLICTING = "Conflicting Evidence/Cherrypicking"
LABELS = ("Supported", "Refuted", "Not Enough Evidence", CONFLICTING)
COUNTS = {
    "Supported": 4,
    "Refuted": 3,
    "Not Enough Evidence": 2,
    "Conflicting-dev-all": 5,
    "Conflicting-train": 4,
}
SOURCES = {"dev": "dev_source", "train": "train_source"}


def claim(text: str, label: str, *questions: Any) -> dict[str, Any]:
    return {"claim": text, "label": label, "questions": list(questions)}


def split(name: str, **sizes: int) -> list[dict[str, Any]]:
    """Claims of a split, the labels interleaved."""
    rows = [claim(f"{name} {label} – {i}", label) for label, n in sizes.items() for i in range(n)]
    return sorted(rows, key=lambda row: (row["claim"][-1], row["label"]))


DEV = split("dev", **{"Supported": 9, "Refuted": 8, "Not Enough Evidence": 7, CONFLICTING: 5})
TRAIN = split("train", **{CONFLICTING: 8, "Supported": 3})


def drawn_again(dev: Sequence[Any], train: Sequence[Any], counts: dict[str, int], seed: int) -> list[dict[str, Any]]:
    """The draw as the study describes it, written a second time."""
    rng = random.Random(seed)
    taken = []

    def group(name: str, split: str, rows: Sequence[Any], label: str) -> None:
        members = [number for number in range(len(rows)) if rows[number]["label"] == label]
        rng.shuffle(members)
        for index, number in enumerate(members[: counts[name]]):
            taken.append((split, number, name, index, label, rows[number]["claim"]))

    for label in ("Supported", "Refuted", "Not Enough Evidence"):
        group(label, "dev", dev, label)
    group("Conflicting-dev-all", "dev", dev, CONFLICTING)
    group("Conflicting-train", "train", train, CONFLICTING)
    rng.shuffle(taken)
    names = ("split", "source_row_idx", "sample_group", "sample_index", "label", "claim")
    return [{**dict(zip(names, item, strict=True)), "case_id": i} for i, item in enumerate(taken)]


# --- the draw --------------------------------------------------------------------------------------------------------


@given(
    labels=st.lists(st.sampled_from(LABELS), max_size=40),
    train_labels=st.lists(st.sampled_from(LABELS), max_size=20),
    seed=st.integers(0, 2**32),
    data=st.data(),
)
def test_the_draw_is_the_described_one(
    labels: list[str], train_labels: list[str], seed: int, data: st.DataObject
) -> None:
    """For any two files, counts and seed, the map holds what the described procedure gives."""
    dev = [claim(f"d{i}", label) for i, label in enumerate(labels)]
    train = [claim(f"t{i}", label) for i, label in enumerate(train_labels)]
    pools = {name: labels.count(name) for name in LABELS[:3]}
    pools |= {"Conflicting-dev-all": labels.count(CONFLICTING), "Conflicting-train": train_labels.count(CONFLICTING)}
    counts = {name: data.draw(st.integers(0, pool), label=name) for name, pool in pools.items()}
    written = averitec.sample_map(averitec.draw(dev, train, counts, seed))
    assert json.loads(written) == drawn_again(dev, train, counts, seed)


def test_every_group_has_its_count_from_its_split_and_no_claim_comes_twice() -> None:
    """Counts, splits and labels are those of the groups; case ids are positions."""
    drawn = averitec.draw(DEV, TRAIN, COUNTS, 1)
    assert Counter(item.group for item in drawn) == COUNTS
    assert len({(item.split, item.row) for item in drawn}) == len(drawn) == sum(COUNTS.values())
    for item in drawn:
        assert item.split == ("train" if item.group == "Conflicting-train" else "dev")
        assert item.claim is (DEV if item.split == "dev" else TRAIN)[item.row]
        assert item.claim["label"] == (item.group if item.group in LABELS else CONFLICTING)
    for group, count in COUNTS.items():
        assert sorted(item.index for item in drawn if item.group == group) == list(range(count))


def test_the_order_of_keys_in_counts_plays_no_part() -> None:
    """Groups are drawn in their own order, not in that of the configuration."""
    maps = {
        averitec.sample_map(averitec.draw(DEV, TRAIN, {name: COUNTS[name] for name in order}, 1))
        for order in permutations(COUNTS)
    }
    assert len(maps) == 1
    strata = {
        tuple(averitec.strata(DEV, TRAIN, {name: COUNTS[name] for name in order})) for order in permutations(COUNTS)
    }
    assert len(strata) == 1


def test_the_seed_decides_the_draw() -> None:
    """One seed gives one sample, however often; other seeds give others."""
    maps = [averitec.sample_map(averitec.draw(DEV, TRAIN, COUNTS, seed)) for seed in (1, 1, 2, 3)]
    assert maps[0] == maps[1]
    assert len(set(maps)) == 3


def test_drawing_leaves_the_files_and_the_global_generator_alone() -> None:
    """A draw has no side effect: not on its rows, not on `random`."""
    before, state = json.dumps([DEV, TRAIN]), random.getstate()
    averitec.draw(DEV, TRAIN, COUNTS, 1)
    assert json.dumps([DEV, TRAIN]) == before
    assert random.getstate() == state


def test_claims_of_other_labels_in_train_play_no_part() -> None:
    """Only conflicting claims are drawn from train: others behind them change nothing."""
    more = [*TRAIN, *split("more", Supported=4, Refuted=4)]
    drawn = [averitec.sample_map(averitec.draw(DEV, train, COUNTS, 1)) for train in (TRAIN, more)]
    assert drawn[0] == drawn[1]


@pytest.mark.parametrize("group", COUNTS)
def test_a_pool_that_is_too_small_is_refused(refused: Any, group: str) -> None:
    """The split, the group, what is there and what is wanted are named."""
    pool = {"Supported": 9, "Refuted": 8, "Not Enough Evidence": 7, "Conflicting-dev-all": 5, "Conflicting-train": 8}
    wanted = pool[group] + 1
    split_name = "train" if group == "Conflicting-train" else "dev"
    averitec.draw(DEV, TRAIN, {**COUNTS, group: pool[group]}, 1)
    with refused(split_name, f"field {group}", f"{pool[group]} claims", f"at least {wanted}"):
        averitec.draw(DEV, TRAIN, {**COUNTS, group: wanted}, 1)


def test_a_group_that_is_not_named_is_not_drawn() -> None:
    """Leaving a group out gives the groups that are named."""
    drawn = averitec.draw(DEV, TRAIN, {"Refuted": 3}, 1)
    assert [item.group for item in drawn] == ["Refuted"] * 3
    assert averitec.strata(DEV, TRAIN, {"Refuted": 3}) == [Stratum("Refuted", "dev", 3, 8)]


def test_a_blank_claim_is_harmless_unless_it_is_drawn(refused: Any) -> None:
    """A claim without text is refused by its row when it would be a case."""
    train = [*TRAIN, claim(" \n", "Supported")]
    averitec.draw(DEV, train, COUNTS, 1)
    train = [claim(" \n", CONFLICTING), *TRAIN]
    with refused("train", "row 1", "field claim"):
        averitec.draw(DEV, train, {**COUNTS, "Conflicting-train": 9}, 1)


# --- the map ---------------------------------------------------------------------------------------------------------


def test_the_map_is_written_as_the_authors_wrote_it() -> None:
    """JSON with indent 2, the keys in their order, non-ASCII kept, one final newline."""
    drawn = averitec.draw([claim('Größe "1"', "Supported")], [], {"Supported": 1}, 1)
    assert averitec.sample_map(drawn) == (
        "[\n"
        "  {\n"
        '    "split": "dev",\n'
        '    "source_row_idx": 0,\n'
        '    "sample_group": "Supported",\n'
        '    "sample_index": 0,\n'
        '    "label": "Supported",\n'
        '    "claim": "Größe \\"1\\"",\n'
        '    "case_id": 0\n'
        "  }\n"
        "]\n"
    )


def test_the_map_has_one_entry_a_case_in_order() -> None:
    """Case ids are 0, 1, 2, ... as the entries stand."""
    entries = json.loads(averitec.sample_map(averitec.draw(DEV, TRAIN, COUNTS, 1)))
    assert [entry["case_id"] for entry in entries] == list(range(sum(COUNTS.values())))


# --- evidence --------------------------------------------------------------------------------------------------------


def question(asked: Any, *answers: dict[str, Any]) -> dict[str, Any]:
    return {"question": asked, "answers": list(answers)}


@pytest.mark.parametrize(
    ("questions", "text"),
    [
        ([], "(no evidence provided)"),
        ([question("Is it?")], "Q: Is it?\nA: (no answer)"),
        ([{"question": "Is it?"}], "Q: Is it?\nA: (no answer)"),
        ([question("Is it?", {"answer": "It is."})], "Q: Is it?\nA: It is."),
        ([question("  Is it?\n", {"answer": " It is. \n"})], "Q: Is it?\nA: It is."),
        (
            [
                question(
                    "Is it?", {"answer": "Yes", "answer_type": "Boolean", "boolean_explanation": " A list says so. "}
                )
            ],
            "Q: Is it?\nA: Yes (A list says so.)",
        ),
        (
            [question("Is it?", {"answer": "Yes", "answer_type": "Boolean", "boolean_explanation": " "})],
            "Q: Is it?\nA: Yes",
        ),
        (
            [question("Is it?", {"answer": "Yes", "answer_type": "Extractive", "boolean_explanation": "No matter."})],
            "Q: Is it?\nA: Yes",
        ),
        ([question("Is it?", {"answer": "One."}, {"answer": "Two."})], "Q: Is it?\nA: One.\nQ: Is it?\nA: Two."),
        ([question("One?", {"answer": "1"}), question("Two?")], "Q: One?\nA: 1\n\nQ: Two?\nA: (no answer)"),
        ([question(" ", {"answer": "lost"}), question("Two?", {"answer": "2"})], "Q: Two?\nA: 2"),
        ([question(None, {"answer": "lost"})], "(no evidence provided)"),
        ([question("Is it?", {"answer": None})], "Q: Is it?\nA: "),
    ],
    ids=[
        "no questions",
        "no answers",
        "no list of answers",
        "one",
        "stripped",
        "boolean explained",
        "boolean not explained",
        "explanation of another type",
        "two answers",
        "two questions",
        "blank question",
        "null question",
        "null answer",
    ],
)
def test_evidence_is_rendered_as_it_was_shown(questions: list[Any], text: str) -> None:
    """Question and answer lines, one block a question, a blank line between blocks."""
    assert evidence_text(averitec.evidence_blocks(claim("c", "Supported", *questions))) == text


def test_a_claim_without_the_key_has_no_evidence() -> None:
    """A missing list of questions is an empty one."""
    assert averitec.evidence_blocks({"claim": "c", "label": "Supported"}) == []


# --- reading ---------------------------------------------------------------------------------------------------------


def encoded(*rows: Any) -> bytes:
    return json.dumps(rows).encode()


@pytest.mark.parametrize(
    ("data", "parts"),
    [
        (b"{", ("a JSON array of claims",)),
        (b"\xff[]", ("a JSON array of claims",)),
        (b'{"claim": "c"}', ("dict", "a JSON array of claims")),
        (encoded(claim("c", "Supported"), 3), ("row 2", "found 3", "a JSON object")),
        (encoded(claim("c", "Supported"), {"label": "Refuted"}), ("row 2", "field claim", "None", "a text")),
        (encoded({**claim("c", "Supported"), "claim": 3}), ("row 1", "field claim", "found 3", "a text")),
        (encoded(claim("c", "Refuted"), claim("c", "supported")), ("row 2", "field label", "'supported'", "Refuted")),
        (encoded({"claim": "c"}), ("row 1", "field label", "None")),
        (encoded({**claim("c", "Refuted"), "questions": None}), ("row 1", "field questions", "None", "a list")),
    ],
    ids=["not JSON", "not UTF-8", "no array", "no object", "no claim", "claim", "label", "no label", "questions"],
)
def test_a_claim_that_cannot_be_used_is_refused(refused: Any, data: bytes, parts: tuple[str, ...]) -> None:
    """File, row (from 1), field, what was found and what was expected are named."""
    with refused("dev.json", *parts):
        averitec.read_rows(data, "dev.json")


def test_a_file_is_read_as_it_stands() -> None:
    """Rows keep their order and their other fields."""
    rows = [{**claim("c", "Supported"), "speaker": "x"}, claim("ä", "Refuted")]
    assert averitec.read_rows(json.dumps(rows, ensure_ascii=False).encode(), "dev.json") == rows


# --- the sample artifact ---------------------------------------------------------------------------------------------

CASES = [
    Case("g", "support", "claim ä", ["one", "two"], "source", 4),
    Case("g", "conflicting", "claim b", [], "source", 0),
    Case("h", "insufficient", "claim c", None, "source", None),
]


def test_cases_become_rows_in_their_order() -> None:
    """The case id is the position; the hashes are those of claim with evidence, and of the evidence as shown."""
    rows = sample.to_table(CASES, "study").to_pylist()
    assert [row["case_id"] for row in rows] == [0, 1, 2]
    assert [row["source_row"] for row in rows] == [4, 0, None]
    assert [row["evidence"] for row in rows] == [["one", "two"], [], None]
    assert rows[0]["sha256"] == sha256_text('["claim ä", ["one", "two"]]')
    assert [row["evidence_sha256"] for row in rows] == [
        sha256_text("one\n\ntwo"),
        sha256_text("(no evidence provided)"),
        None,
    ]


def test_a_gold_label_outside_the_contract_is_an_error() -> None:
    """No case without a gold label that every table knows."""
    with pytest.raises(ValueError, match="mixed"):
        sample.to_table([Case("g", "mixed", "c", None, "s", None)], "study")


def test_drawn_claims_become_cases() -> None:
    """Gold labels, strata, texts, evidence and rows are those of the drawn claims."""
    drawn = averitec.draw(DEV, TRAIN, COUNTS, 1)
    cases = averitec.cases(drawn, SOURCES)
    gold = dict(zip(LABELS, ("support", "refute", "insufficient", "conflicting"), strict=True))
    for case, item in zip(cases, drawn, strict=True):
        assert case == Case(
            item.group, gold[item.claim["label"]], item.claim["claim"], [], SOURCES[item.split], item.row
        )


def test_the_composition_counts_strata_and_total() -> None:
    """One row a stratum with its pool, exhaustive when it is the whole pool; the total has no pool."""
    table = sample.composition(averitec.strata(DEV, TRAIN, COUNTS))
    rows = {row.pop("stratum"): row for row in table.to_pylist()}
    assert rows["Supported"] == {"split": "dev", "n": 4, "pool": 9, "exhaustive": False}
    assert rows["Conflicting-dev-all"] == {"split": "dev", "n": 5, "pool": 5, "exhaustive": True}
    assert rows["Conflicting-train"] == {"split": "train", "n": 4, "pool": 8, "exhaustive": False}
    assert rows["total"] == {"split": None, "n": 18, "pool": None, "exhaustive": None}
    assert sample.composition([Stratum("x", None, 1, None)]).to_pylist()[0]["exhaustive"] is None


def test_a_sample_is_read_in_the_order_of_case_ids(tmp_path: Path) -> None:
    """The order of rows in the file plays no part."""
    table = sample.to_table(CASES, "study")
    artifact.write(table.take([2, 0, 1]), tmp_path / "sample.parquet")
    assert sample.read(tmp_path / "sample.parquet").to_pylist() == table.to_pylist()
    assert sample.gold_codes(sample.read(tmp_path / "sample.parquet")).tolist() == [0, 3, 2]


@pytest.mark.parametrize(("rows", "found"), [([0, 1, 1], "1"), ([0, 2], "2"), ([1, 2], "1")])
def test_a_sample_with_a_missing_or_repeated_case_is_refused(
    tmp_path: Path, refused: Any, rows: list[int], found: str
) -> None:
    """Case ids are 0 to n-1, once each."""
    table = sample.to_table(CASES, "study").take(pa.array(rows))
    artifact.write(table, tmp_path / "sample.parquet")
    with refused("sample.parquet", "field case_id", f"found {found},", "once each"):
        sample.read(tmp_path / "sample.parquet")


# --- the program -----------------------------------------------------------------------------------------------------


@pytest.fixture
def step_files(tmp_path: Path) -> dict[str, Any]:
    """Inputs, outputs and settings of scripts/sample_averitec.py on the small files."""
    template = tmp_path / "prompt.txt"
    template.write_text("C: <<CLAIM>>\nE: <<EVIDENCE>>\n", encoding="utf-8")
    paths = {"dev": tmp_path / "dev.json", "train": tmp_path / "train.json", "prompt": template}
    paths["dev"].write_text(json.dumps(DEV), encoding="utf-8")
    paths["train"].write_text(json.dumps(TRAIN), encoding="utf-8")
    sources = [{"role": role, "name": role, "sha256": "", "sha256_lf": "", "bytes": None} for role in paths]
    names = {"sample": "sample.parquet", "map": "sample_map.json", "composition": "tables/composition.parquet"}
    return {
        "inputs": {"sources": list(paths.values())},
        "outputs": {name: tmp_path / "out" / file for name, file in names.items()},
        "settings": {
            "study": "s",
            "sources": sources,
            "counts": COUNTS,
            "seed": 1,
            "map_sha256": sha256_text(averitec.sample_map(averitec.draw(DEV, TRAIN, COUNTS, 1))),
            "prompts": None,
        },
    }


def prompt_hash(case: Case) -> str:
    return sha256_text(f"C: {case.text}\nE: (no evidence provided)\n")


def test_the_program_writes_sample_map_and_composition(run_step: Any, step_files: dict[str, Any]) -> None:
    """With the pinned hashes of map and prompts, it writes what the library draws."""
    cases = averitec.cases(averitec.draw(DEV, TRAIN, COUNTS, 1), {"dev": "dev", "train": "train"})
    step_files["settings"]["prompts"] = {"template": "prompt", "sha256": {"1": prompt_hash(cases[1])}}
    run_step("sample_averitec", **step_files)
    out = step_files["outputs"]
    assert sample.read(out["sample"]).to_pylist() == sample.to_table(cases, "s").to_pylist()
    assert sha256_text(out["map"].read_text(encoding="utf-8")) == step_files["settings"]["map_sha256"]
    assert out["composition"].with_suffix(".csv").read_text().splitlines()[-1] == "total,,18,,"


@pytest.mark.parametrize("wrong", ["map", "prompt"])
def test_another_map_or_prompt_than_the_pinned_one_stops_the_program(
    run_step: Any, step_files: dict[str, Any], refused: Any, wrong: str
) -> None:
    """Both hashes are named and nothing is written."""
    settings = step_files["settings"]
    if wrong == "map":
        parts = ("sample map", settings["map_sha256"], "0" * 64)
        settings["map_sha256"] = "0" * 64
    else:
        case = averitec.cases(averitec.draw(DEV, TRAIN, COUNTS, 1), SOURCES)[2]
        parts = ("rendered prompt", "row 2", prompt_hash(case), "0" * 64)
        settings["prompts"] = {"template": "prompt", "sha256": {"2": "0" * 64}}
    with refused(*parts):
        run_step("sample_averitec", **step_files)
    assert not (step_files["outputs"]["sample"].parent).exists()


def test_placeholders_inside_a_claim_or_its_evidence_are_text(
    run_step: Any, step_files: dict[str, Any], tmp_path: Path
) -> None:
    """A claim that contains a placeholder is not filled a second time."""
    odd = claim("of <<EVIDENCE>>", "Supported", question("<<CLAIM>>?", {"answer": "<<EVIDENCE>>"}))
    (tmp_path / "dev.json").write_text(json.dumps([odd]), encoding="utf-8")
    expected = "C: of <<EVIDENCE>>\nE: Q: <<CLAIM>>?\nA: <<EVIDENCE>>\n"
    step_files["settings"] |= {
        "counts": {"Supported": 1},
        "map_sha256": None,
        "prompts": {"template": "prompt", "sha256": {"0": sha256_text(expected)}},
    }
    run_step("sample_averitec", **step_files)
