"""docs/findings.md shows what scripts/finding.py prints, and the program counts what it says it counts."""

from __future__ import annotations

import csv
import re
import shutil
import subprocess
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from checkouts import copy_project, snakemake

from warrant import artifact
from warrant.decimals import ONE
from warrant.errors import InputError
from warrant.findings.controllers import plain_threshold
from warrant.findings.document import BLOCK, FINDINGS, printed, renewed
from warrant.findings.material import SETTINGS, Material
from warrant.labels import CONFLICTING, SUPPORT, directional
from warrant.panel import Votes
from warrant.sources import read_sources
from warrant.systems import Controlled, decide

ROOT = Path(__file__).resolve().parents[1]
DOCUMENT = ROOT / "docs/findings.md"
FROM_TEXT = {"V10", "V12", "V13", "V14", "V16", "V19", "V21", "D01", "D02", "D03", "D04", "D05", "D08"}
FROM_PANEL = {"D06", "D07", "D09"}
FROM_PAPER = set(FINDINGS) - FROM_TEXT - FROM_PANEL


@pytest.fixture
def material(tmp_path: Path) -> Material:
    """The real configuration and no results."""
    return Material(tmp_path / "results", ROOT / "config", ROOT / "docs")


@pytest.fixture
def build(material: Material) -> Callable[..., None]:
    """Write an artifact of the run `paper`."""

    def write(name: str, *rows: dict[str, object]) -> None:
        artifact.write(pa.Table.from_pylist(list(rows)), material.results / "paper" / name)

    return write


def document() -> str:
    return DOCUMENT.read_text(encoding="utf-8")


# --- the document ----------------------------------------------------------------------------------------------------


def test_every_finding_has_its_section_and_its_command() -> None:
    """The ids of findings.tsv are the headings in order, each with one block of its own; nothing else is a block."""
    with (ROOT / "config/published/findings.tsv").open(encoding="utf-8", newline="") as handle:
        ids = [row["id"] for row in csv.DictReader(handle, delimiter="\t", quoting=csv.QUOTE_NONE)]
    sections = re.split(r"^###? ", document(), flags=re.MULTILINE)[1:]
    numbered = [section for section in sections if re.match(r"[VD]\d\d: ", section)]
    assert [section[:3] for section in numbered] == ids
    for section in numbered:
        assert [found[1] for found in BLOCK.findall(section)] == [section[:3]]
    assert {found[1] for found in BLOCK.findall(document())} == set(FINDINGS) == {*ids, "risk"}


def test_blocks_that_rest_on_committed_files_are_current(material: Material) -> None:
    """Findings that need no built run print, without one, what the document shows."""
    assert renewed(document(), material, FROM_TEXT) == document(), "run `python scripts/finding.py --renew`"


@pytest.mark.slow
@pytest.mark.real_inputs
def test_blocks_that_rest_on_the_paper_run_are_current(tmp_path: Path, real_input: Callable[[str], Path]) -> None:
    """A fresh run `paper` gives every block that rests on it."""
    folder = copy_project(tmp_path / "project")
    raw = folder / "data/raw"
    raw.mkdir(parents=True, exist_ok=True)
    for source in read_sources(ROOT / "config/sources.tsv").values():
        if "paper/" in source.needed_by and not source.optional:
            shutil.copyfile(real_input(source.name), raw / source.file)
    done = snakemake(folder, "--config", "runs=paper")
    assert done.returncode == 0, done.stdout + done.stderr
    material = Material(folder / "results", folder / "config", folder / "docs")
    assert renewed(document(), material, FROM_PAPER) == document()


# --- the program -----------------------------------------------------------------------------------------------------


def test_what_is_not_built_is_one_line(run_program: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    """A finding without its table names the file and the command that builds it, and ends with 1."""
    done = run_program("finding", "V09", "--results", "nowhere", cwd=ROOT)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        "finding: nowhere/paper/averitec/tables/anatomy.parquet is not built; "
        "`snakemake --cores 8 --config runs=paper` builds what it can\n"
    )


def test_the_list_names_every_finding(run_program: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    """Without an id every finding is listed, once, with a title."""
    done = run_program("finding", cwd=ROOT)
    assert done.returncode == 0, done.stderr
    assert [line.split("  ")[0] for line in done.stdout.splitlines()] == sorted(FINDINGS)
    assert all(len(line.split("  ", 1)[1]) > 10 for line in done.stdout.splitlines())


def test_only_named_blocks_are_renewed(material: Material) -> None:
    """A block that is not named keeps its text, and what stands outside blocks is never touched."""
    text = "a\n" + "".join(f"```console\n$ python scripts/finding.py {name}\nold\n```\nb\n" for name in ("V10", "V16"))
    new = renewed(text, material, ["V16"])
    assert new == text[::-1].replace("old"[::-1], printed("V16", material).rstrip("\n")[::-1], 1)[::-1]


def test_plain_sums_can_fall_short_of_an_exact_mean() -> None:
    """Three times .95 is .95 exactly and less as plain floats; nothing but a direction is ever a commit."""
    hundredths = np.array([[95, 95, 95], [96, 96, 96], [99, 99, 99]]) * (ONE // 100)
    label = np.array([[SUPPORT] * 3, [SUPPORT] * 3, [CONFLICTING] * 3], dtype=np.int8)
    votes = Votes(label, hundredths, np.ones((3, 3), dtype=np.bool_), np.ones(3, dtype=np.bool_))
    panel = Controlled(votes, decide(votes))
    assert (0.95 + 0.95 + 0.95) / 3 < 0.95
    assert plain_threshold(panel.proposal.decision, panel, 0.95).tolist() == [False, True, False]
    assert directional(panel.e(Decimal("0.95")).decision).tolist() == [True, True, False]


def test_votes_in_both_directions_are_the_rest(material: Material, build: Callable[..., None]) -> None:
    """V18: what is not of one direction among three and among two directional votes."""
    groups = {"votes_3": 8, "votes_2": 5, "commits_unanimous": 6, "commits_suppressed": 4, "commits_opposed": 3}
    build(
        "vitaminc_mixed/tables/anatomy.parquet",
        *({"system": "panel/3opt", "group": group, "k": k} for group, k in groups.items()),
        {"system": "panel/4opt", "group": "votes_3", "k": 99},
    )
    assert printed("V18", material).splitlines() == [
        "three directional votes 8: one direction 6, both directions 2",
        "two directional votes 5: one direction 4, one each way and one insufficient 1",
        "commits with a vote in the other direction (commits_opposed): 3",
    ]


def test_intervals_that_exclude_0_only_alone_are_listed(material: Material, build: Callable[..., None]) -> None:
    """V24: an interval that touches 0 does not exclude it; a missing one is not counted."""
    pair = {"contrast": "judges", "a": "a", "b": "b", "metric": "cpo_c", "p_holm": 0.2}
    alone = {"delta": 0.2, "low": 0.1, "high": 0.3, "joint_low": -0.1, "joint_high": 0.5}
    joint = {"delta": -0.2, "low": -0.3, "high": -0.1, "joint_low": -0.35, "joint_high": -0.05, "p_holm": 0.01}
    touching = {"delta": 0.1, "low": 0.0, "high": 0.2, "joint_low": -0.1, "joint_high": 0.3}
    missing = dict.fromkeys(alone)
    for study in SETTINGS:
        build(f"{study}/tables/contrasts.parquet", *({**pair, **row} for row in (alone, joint, touching, missing)))
    first, second, *_ = printed("V24", material).splitlines()
    assert first == "averitec: of 3 intervals 2 exclude 0 one at a time, 1 jointly; Holm p <= .05 in 1"
    assert second == "  b minus a, cpo_c: 0.200 [0.100, 0.300], jointly [-0.100, 0.500], Holm p 0.200"


def test_repeated_keys_are_found_wherever_they_stand(material: Material, build: Callable[..., None]) -> None:
    """V26: a key given twice in one object counts, the same key in two objects does not."""
    once = '```json\n{"a": [{"s": 1}, {"s": 2}]}\n```'
    twice = 'Here: {"a": [{"s": "x", "t": 0, "s": "x"}]} and more'
    rows = [{"case_id": 0, "text": once}, {"case_id": 1, "text": twice}, {"case_id": 2, "text": None}]
    for study in SETTINGS:
        build(f"{study}/verdicts/certificate.parquet", *rows)
    (first, _) = printed("V26", material).splitlines()
    assert first == 'averitec: 2 of 3 certificates with their text; case 1 gives s: "x", "x"'


def test_the_other_reading_of_material(material: Material, build: Callable[..., None]) -> None:
    """V06: insufficient subclaims stop counting, refuting ones that are stated immaterial start to."""
    claims = [[(True, "insufficient")], [(True, "supports"), (False, "refutes")], [(True, "mixed")]]
    rows = [{"subclaims": [{"material": m, "evidence_state": s} for m, s in claim]} for claim in claims]
    for study in SETTINGS:
        build(f"{study}/verdicts/certificate.parquet", *rows)
    assert printed("V06", material).splitlines()[0] == (
        "averitec: 4 subclaims, 1 material and insufficient, 1 neither; the other reading changes 2 of 3 verdicts "
        "(insufficient to none 1, support to conflicting 1)"
    )


def test_a_choice_of_rows_must_be_unique(material: Material, build: Callable[..., None]) -> None:
    """No row and two rows are refused, never the first one taken."""
    build("s/tables/t.parquet", {"a": 1, "b": 1}, {"a": 1, "b": 2})
    assert material.one("s", "t", b=2) == {"a": 1, "b": 2}
    for keys in ({"a": 1}, {"a": 2}):
        with pytest.raises(InputError, match="expected one"):
            material.one("s", "t", **keys)
