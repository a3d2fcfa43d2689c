"""The debate paper's published numbers, the document made from them, and counts read back from printed shares."""

from __future__ import annotations

import csv
import sys
from decimal import ROUND_HALF_DOWN, ROUND_HALF_EVEN, ROUND_HALF_UP, Context, Decimal
from fractions import Fraction
from itertools import pairwise, product
from pathlib import Path

import debate_tables
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from warrant.audit import Published, read_published
from warrant.debate_paper.document import COMMAND, document
from warrant.errors import InputError
from warrant.printed import ONCE, TWICE, UNIT, Chain, chains, counts, fit, nearest, prints_as, read_count

ROOT = Path(__file__).parent.parent
PUBLISHED = ROOT / "config/published/debate.tsv"
FINDINGS = ROOT / "config/published/findings.tsv"
DOCUMENT = ROOT / "docs/debate-tables.md"
PRECISE = Context(prec=60)
ROUNDINGS = (ROUND_HALF_UP, ROUND_HALF_DOWN, ROUND_HALF_EVEN)

trials = st.one_of(st.integers(1, 40), st.integers(1, 5000)).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))
digits = st.integers(0, 5)
roundings = st.sampled_from(ROUNDINGS)
shares = st.tuples(digits, st.integers(0, 10**5)).map(lambda x: Decimal(x[1] % (10 ** x[0] + 1)).scaleb(-x[0]))
small = st.integers(1, 12)


def printed(k: int, n: int, places: int, rounding: str = ROUND_HALF_EVEN) -> Decimal:
    """k/n to some decimals, as a program would print it."""
    return PRECISE.divide(Decimal(k), Decimal(n)).quantize(Decimal(1).scaleb(-places), rounding)


def brute_force(share: Decimal, n: int) -> list[int]:
    """Every k of n that rounds to the share, up or down at a tie: in integers, by trying them all."""
    scale = 10 ** -int(share.as_tuple().exponent)
    wanted = int(share * scale)
    return [k for k in range(n + 1) if wanted in ((2 * k * scale + n) // (2 * n), -((n - 2 * k * scale) // (2 * n)))]


@pytest.fixture(scope="module")
def numbers() -> list[Published]:
    return read_published(PUBLISHED)


def test_the_document_is_what_the_program_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """docs/debate-tables.md is the program's output for the committed numbers, byte for byte."""
    output = tmp_path / "document.md"
    monkeypatch.setattr(sys, "argv", ["debate_tables", "--published", str(PUBLISHED), "--output", str(output)])
    debate_tables.main()
    assert DOCUMENT.read_bytes() == output.read_bytes(), f"{DOCUMENT.name} is stale; run `{COMMAND}`"


def test_the_document_changes_with_the_numbers(tmp_path: Path) -> None:
    """Nothing is held in the program: another printed number gives another result."""
    text = PUBLISHED.read_text(encoding="utf-8")
    cell = "\t0.114\tpaper\t"
    assert text.count(cell) == 1
    changed = tmp_path / "debate.tsv"
    changed.write_text(text.replace(cell, "\t0.200\tpaper\t"), encoding="utf-8", newline="\n")
    written = document(changed)
    assert "the total 480 does not follow from Table 3 and does not follow with Appendix G.2" in written


@pytest.mark.parametrize("remove", ["Table 2\t\tLaw\taccuracy, conformal", "Appendix G.2\t", "Domain sizes\t\tMath\t"])
def test_a_number_that_is_lacking_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], remove: str
) -> None:
    """A missing number ends the program with status 1 and one line that names the file and the number."""
    lines = PUBLISHED.read_text(encoding="utf-8").splitlines(keepends=True)
    kept = [line for line in lines if not line.startswith(f"debate\t{remove}")]
    assert len(kept) < len(lines)
    path, output = tmp_path / "debate.tsv", tmp_path / "document.md"
    path.write_text("".join(kept), encoding="utf-8", newline="\n")
    monkeypatch.setattr(sys, "argv", ["debate_tables", "--published", str(path), "--output", str(output)])
    with pytest.raises(SystemExit) as stopped:
        debate_tables.main()
    message = capsys.readouterr().err
    assert stopped.value.code == 1
    assert message.count("\n") == 1
    assert str(path) in message
    assert not output.exists()


def test_a_number_that_stands_twice_is_refused(tmp_path: Path) -> None:
    """Two rows for one cell are an error, not a choice."""
    lines = PUBLISHED.read_text(encoding="utf-8").splitlines(keepends=True)
    path = tmp_path / "debate.tsv"
    path.write_text("".join([*lines, lines[-1]]), encoding="utf-8", newline="\n")
    with pytest.raises(InputError, match="found 2 numbers of"):
        document(path)


def test_published_numbers_are_of_the_debate_and_pick_distinct_cells(numbers: list[Published]) -> None:
    """Every row is of this paper, waits for its outputs, and no table prints one cell twice."""
    assert {(row.paper, row.study, row.needs, row.expect) for row in numbers} == {
        ("debate", "mmlu_debate", "debate_outputs", "not-computable")
    }
    cells = [(row.table, row.artifact, row.select, row.field) for row in numbers]
    assert len(set(cells)) == len(cells)
    assert len({(row.table, row.row, row.column) for row in numbers}) == len(numbers)
    assert {row.status for row in numbers} == {"paper", "derived", "inferred"}


def test_published_shares_are_shares(numbers: list[Published]) -> None:
    """What the column calls a share lies in [0, 1], a difference in [-1, 1], and a count is whole and exact."""
    for row in numbers:
        value = Decimal(row.published)
        if row.column.endswith("(% as share)"):
            assert (-1 if "minus" in row.column else 0) <= value <= 1, row
        if row.tolerance == "exact":
            assert value == int(value) >= 0, row


def test_published_file_is_plain(numbers: list[Published]) -> None:
    """UTF-8 with LF ends and a final newline, no quotes, and every selection is key=value pairs."""
    data = PUBLISHED.read_bytes()
    assert b"\r" not in data
    assert b'"' not in data
    assert data.endswith(b"\n")
    for row in numbers:
        pairs = [item.partition("=") for item in row.select.split(";")]
        assert all(key and sign for key, sign, _ in pairs), row
        assert len(row.keys) == len(pairs), row


def test_findings_exist(numbers: list[Published]) -> None:
    """Every finding that a number names is a finding of the debate paper, and finding ids are unique."""
    with FINDINGS.open(encoding="utf-8", newline="") as handle:
        rows = list(csv.DictReader(handle, delimiter="\t", quoting=csv.QUOTE_NONE))
    assert len({row["id"] for row in rows}) == len(rows)
    known = {row["id"] for row in rows if row["paper"] == "debate"}
    assert {row.finding for row in numbers} - {""} <= known
    assert all(row.finding for row in numbers if row.alternative)


@given(trials, digits, roundings)
@example((30, 551), 3, ROUND_HALF_UP)
@example((1, 8), 2, ROUND_HALF_EVEN)
@example((0, 1), 0, ROUND_HALF_UP)
def test_a_count_is_among_those_that_its_print_allows(trial: tuple[int, int], places: int, rounding: str) -> None:
    """Whatever the rounding at a tie, the count behind a printed share is found, and alone if n is small enough."""
    k, n = trial
    share = printed(k, n, places, rounding)
    found = counts(share, n)
    assert k in found
    assert prints_as(Fraction(k, n), share)
    if n < 10**places:
        assert list(found) == [k]
        assert (read_count(share, n).k, read_count(share, n).candidates) == (k, 1)


@given(shares, st.integers(1, 400))
@example(Decimal("0.055"), 551)
@example(Decimal("0.5"), 1)
@example(Decimal("0.950"), 485)
def test_counts_are_exactly_those_that_round_to_the_share(share: Decimal, n: int) -> None:
    """The counts are those that brute force finds, in order; none exist where none is found."""
    assert list(counts(share, n)) == brute_force(share, n)


@given(trials, st.integers(0, 4), roundings, roundings)
@example((461, 485), 3, ROUND_HALF_UP, ROUND_HALF_DOWN)
def test_a_count_survives_two_roundings(trial: tuple[int, int], places: int, first: str, second: str) -> None:
    """Rounded to one digit more and then again, the count is still within the wider slack."""
    k, n = trial
    share = printed(k, n, places + 1, first).quantize(Decimal(1).scaleb(-places), second)
    assert k in counts(share, n, TWICE)
    assert set(counts(share, n)) <= set(counts(share, n, TWICE)) <= set(counts(share, n, UNIT))


@given(shares, st.integers(1, 400))
def test_the_nearest_count_is_nearest(share: Decimal, n: int) -> None:
    """No count of n has a share closer to the printed one, and a share with counts has the nearest among them."""
    k = nearest(share, n)
    gaps = [abs(Fraction(j, n) - Fraction(share)) for j in range(n + 1)]
    assert gaps[k] == min(gaps)
    assert not counts(share, n) or k in counts(share, n)


def test_no_questions_allow_no_count() -> None:
    """With n = 0 there is no share to print; a negative n or a number that is not finite is refused."""
    assert list(counts(Decimal("0.000"), 0)) == []
    with pytest.raises(ValueError, match="negative"):
        counts(Decimal("0.5"), -1)
    for text in ("NaN", "Infinity"):
        with pytest.raises(ValueError, match="not a finite number"):
            counts(Decimal(text), 3)


@st.composite
def acted(draw: st.DrawFn, n: st.SearchStrategy[int] = small) -> tuple[int, Chain]:
    """Questions, and singleton sets new and right in up to four rounds."""
    size = draw(n)
    upto = sorted(draw(st.lists(st.integers(0, size), min_size=1, max_size=4)))
    new = tuple(b - a for a, b in pairwise([0, *upto]))
    return size, Chain(new, tuple(draw(st.integers(0, k)) for k in new))


def columns(n: int, chain: Chain, places: int) -> tuple[list[Decimal], list[Decimal | None]]:
    """The two columns that a paper would print of a chain."""
    upto = [sum(chain.new[: t + 1]) for t in range(len(chain.new))]
    rates = [printed(k, new, places) if new else None for k, new in zip(chain.right, chain.new, strict=True)]
    return [printed(k, n, places) for k in upto], rates


@given(acted(st.one_of(small, st.integers(1, 900))))
def test_a_printed_chain_is_the_only_one(case: tuple[int, Chain]) -> None:
    """Below 1,000 questions, shares and accuracies to a tenth of a percent lead back to the counts alone."""
    n, chain = case
    fitted = fit(*columns(n, chain, 3), n)
    assert fitted.chains == [chain]
    assert (fitted.share_slack, fitted.accuracy_slack) == (ONCE, ONCE)
    assert chain.wrong == sum(new - right for new, right in zip(chain.new, chain.right, strict=True))


@given(acted(st.integers(1, 6)), st.integers(0, 1))
def test_chains_are_exactly_those_that_print_so(case: tuple[int, Chain], places: int) -> None:
    """With coarse prints several chains fit: all that brute force finds, and no other."""
    n, chain = case
    assume(len(chain.new) <= 3)
    shares, accuracies = columns(n, chain, places)
    expected = set()
    for upto in product(*(brute_force(share, n) for share in shares)):
        new = [b - a for a, b in pairwise([0, *upto])]
        if min(new) < 0 or any((k == 0) != (rate is None) for k, rate in zip(new, accuracies, strict=True)):
            continue
        rights = [[0] if rate is None else brute_force(rate, k) for k, rate in zip(new, accuracies, strict=True)]
        expected |= {Chain(tuple(new), right) for right in product(*rights)}
    found = chains(shares, accuracies, n)
    assert set(found) == expected
    assert len(found) == len(expected)
    assert chain in expected


def test_slack_is_given_only_where_nothing_fits() -> None:
    """A column is solved with the least slack, which is reported; what no slack explains has no solution."""
    assert fit([Decimal("0.951")], [Decimal("1.000")], 485).share_slack == ONCE  # 461/485 = 0.95052
    assert fit([Decimal("0.950")], [Decimal("1.000")], 485).share_slack == TWICE
    assert fit([Decimal("0.055")], [Decimal("1.000")], 551).share_slack == UNIT  # 30/551 = 0.05445
    assert fit([Decimal("0.400")], [Decimal("1.000")], 3).chains == []
    assert read_count(Decimal("0.055"), 551).slack == UNIT
    with pytest.raises(ValueError, match="no count of 3"):
        _ = read_count(Decimal("0.400"), 3).slack
    assert read_count(Decimal("0.333"), 3).rate == Fraction(1, 3)
