"""Recorded halves: sizes, what they depend on, and that they can be had again."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from warrant.splits import calibration_half, calibration_halves

questions = st.lists(
    st.tuples(st.integers(0, 10**6), st.sampled_from("abc")), min_size=1, max_size=30, unique_by=lambda item: item[0]
)
seeds, numbers = st.integers(0, 2**63), st.integers(0, 500)


@given(questions, seeds, numbers)
def test_the_test_half_of_every_domain_has_the_odd_question(
    listed: list[tuple[int, str]], seed: int, number: int
) -> None:
    """In every domain floor(n/2) questions calibrate and ceil(n/2) test."""
    ids, domains = [i for i, _ in listed], [d for _, d in listed]
    half = calibration_half(ids, domains, seed, number)
    for domain in set(domains):
        inside = [bool(half[i]) for i, other in enumerate(domains) if other == domain]
        assert sum(inside) == len(inside) // 2


@given(questions, seeds, numbers, st.data())
def test_halves_depend_on_ids_and_seed_alone(
    listed: list[tuple[int, str]], seed: int, number: int, data: st.DataObject
) -> None:
    """Listing questions in another order moves no question to the other side, and asking again changes nothing."""
    order = data.draw(st.permutations(listed))
    before, after = (
        dict(
            zip(
                [i for i, _ in rows],
                calibration_half([i for i, _ in rows], [d for _, d in rows], seed, number).tolist(),
                strict=True,
            )
        )
        for rows in (listed, order)
    )
    assert before == after


@given(questions, seeds, st.integers(1, 5))
def test_split_number_i_is_the_same_whatever_the_count(listed: list[tuple[int, str]], seed: int, count: int) -> None:
    """Splits 0 to count - 1 are those that are drawn one by one."""
    ids, domains = [i for i, _ in listed], [d for _, d in listed]
    halves = calibration_halves(ids, domains, seed, count)
    assert halves.shape == (count, len(ids))
    for number in range(count):
        assert (halves[number] == calibration_half(ids, domains, seed, number)).all()


def test_recorded_splits_and_domains_differ() -> None:
    """Two hundred recorded splits are all different, another seed gives others, and domains are split apart."""
    ids, domains = list(range(80)), ["a"] * 40 + ["b"] * 40
    halves = calibration_halves(ids, domains, 20260407, 200)
    assert len({half.tobytes() for half in halves}) == 200
    assert not (halves == calibration_halves(ids, domains, 20260408, 200)).all(axis=1).any()
    assert not (halves[:, :40] == halves[:, 40:]).all(axis=1).any()


def test_every_question_calibrates_about_half_the_time() -> None:
    """Over 2,000 splits each of 40 questions is in the calibration half a thousand times, within 5 standard errors."""
    halves = calibration_halves(list(range(40)), ["a"] * 40, 20260407, 2000)
    assert np.abs(halves.sum(axis=0) - 1000).max() < 5 * np.sqrt(2000) / 2


def test_a_pinned_split_stays_what_it_is() -> None:
    """Split 0 of ten questions with the seed of config/runs/panel.yaml, written down."""
    assert np.flatnonzero(calibration_half(list(range(10)), ["a"] * 10, 20260407, 0)).tolist() == [0, 1, 4, 6, 7]
