"""Coverage over ten thousand random halves against its exact law: without ties, with ties, on the real panel."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from debates import slow_rank, study_of
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import betabinom

from warrant import calibration_study, mmlu_pro
from warrant.beliefs import LETTERS
from warrant.grid import INFINITE, ONE, Grid, to_grid
from warrant.outcomes import STATIC, rounds, tie_excess
from warrant.panel_study import Study
from warrant.splits import calibration_halves

SPLITS = 10_000
ERRORS = 4  # Monte Carlo standard errors
DOMAINS = ("economics", "psychology")
MODELS = {
    "claude-3-5-haiku": "calibration_study_claude-3-5-haiku-20241022",
    "deepseek-reasoner": "calibration_study_deepseek-reasoner",
    "qwen3-32b": "calibration_study_Qwen3-32B",
}


@dataclass(frozen=True)
class Simulated:
    """Coverage of every split, its yardstick k/(n + 1), and the thresholds."""

    coverage: np.ndarray
    yardstick: float
    thresholds: Grid
    calibration: np.ndarray

    @property
    def error(self) -> float:
        return float(self.coverage.std(ddof=1) / np.sqrt(len(self.coverage)))


def random_halves(n: int, seed: int) -> np.ndarray:
    order = np.random.default_rng(seed).random((SPLITS, n)).argsort(axis=1)
    return order < n // 2


def simulated(true_scores: Grid, calibration: np.ndarray, alpha: Decimal) -> Simulated:
    """Static coverage of the test halves by the engine, one group."""
    n = len(true_scores)
    scores = np.full((n, 1, 1), INFINITE, dtype=np.int64)
    scores[:, 0, 0] = true_scores
    groups = np.zeros(n, dtype=np.int64)
    ((q, outcome),) = rounds(scores, true_scores[:, None], groups, calibration, alpha, STATIC)
    covered = (outcome.covered & ~calibration).sum(axis=1) / (~calibration).sum(axis=1)
    size = int(calibration[0].sum())
    return Simulated(covered, slow_rank(size, alpha) / (size + 1), q, calibration)


def tie_term(true_scores: Grid, n: int, alpha: Decimal, seed: int) -> tuple[float, float]:
    """E[(number of n + 1 random scores at or below their k-th smallest) - k]/(n + 1), and its Monte Carlo error."""
    chosen = np.random.default_rng(seed).random((SPLITS, len(true_scores))).argpartition(n, axis=1)[:, : n + 1]
    drawn = np.sort(true_scores[chosen], axis=1)
    k = slow_rank(n, alpha)
    excess = ((drawn <= drawn[:, [k - 1]]).sum(axis=1) - k) / (n + 1)
    return float(excess.mean()), float(excess.std(ddof=1) / np.sqrt(SPLITS))


@pytest.mark.parametrize("alpha", ["0.05", "0.10", "0.20"])
def test_without_ties_coverage_follows_the_beta_binomial_law(alpha: str) -> None:
    """Mean static coverage is k/(n + 1), and its 5% and 95% quantiles are the law's, within 4 Monte Carlo errors."""
    true_scores = continuous(201)
    found = simulated(true_scores, random_halves(201, 4), Decimal(alpha))
    n_cal, n_test = 100, 101
    k = slow_rank(n_cal, Decimal(alpha))
    law = betabinom(n_test, k, n_cal + 1 - k)
    assert abs(found.coverage.mean() - found.yardstick) < ERRORS * law.std() / n_test / np.sqrt(SPLITS)
    assert found.coverage.std() == pytest.approx(law.std() / n_test, rel=ERRORS / np.sqrt(SPLITS))
    covered = np.rint(found.coverage * n_test)
    for p in (0.05, 0.95):
        # a sample quantile lies between the law's quantiles at p -+ 4 standard errors of a share of 10,000
        slack = ERRORS * np.sqrt(p * (1 - p) / SPLITS)
        assert law.ppf(p - slack) <= np.quantile(covered, p, method="inverted_cdf") <= law.ppf(p + slack)


def continuous(n: int) -> Grid:
    """One population of random scores, all different."""
    drawn = to_grid(np.random.default_rng(3).random(n))
    assert len(np.unique(drawn)) == n
    return drawn


@pytest.mark.parametrize("alpha", ["0.05", "0.10", "0.20"])
def test_ties_only_add_coverage_and_exactly_their_term(alpha: str) -> None:
    """With scores rounded to .05 coverage exceeds k/(n + 1) by the expected share of ties beyond rank k."""
    true_scores = to_grid(np.rint(continuous(201) / ONE * 20) / 20)
    found = simulated(true_scores, random_halves(201, 5), Decimal(alpha))
    check_excess(true_scores, found, Decimal(alpha))


def check_excess(true_scores: Grid, found: Simulated, alpha: Decimal) -> None:
    n = int(found.calibration[0].sum())
    mean, yardstick = float(found.coverage.mean()), found.yardstick
    assert mean >= yardstick - ERRORS * found.error
    term, error = tie_term(true_scores, n, alpha, 6)
    assert abs(mean - yardstick - term) < ERRORS * np.hypot(found.error, error)
    reported = tie_excess(true_scores, found.calibration, alpha)
    assert abs(reported - term) < ERRORS * error  # its own error is smaller: every split averages its test questions


@settings(max_examples=200)
@given(st.lists(st.integers(0, 4), min_size=2, max_size=9), st.integers(1, 8), st.sampled_from(["0.05", "0.2", "0.5"]))
def test_the_tie_term_is_its_definition(values: list[int], size: int, alpha: str) -> None:
    """For one split: over its test questions, scores among the n + 1 at or below their k-th smallest, less k."""
    n = min(size, len(values) - 1)
    inside = np.arange(len(values)) < n
    k = slow_rank(n, Decimal(alpha))
    expected = []
    for one in values[n:]:
        union = sorted([*values[:n], one])
        expected.append(0 if k > n else (sum(score <= union[k - 1] for score in union) - k) / (n + 1))
    found = tie_excess(np.array(values, dtype=np.int64), inside[None], Decimal(alpha))
    assert found == pytest.approx(np.mean(expected))


def test_the_recorded_splits_are_exchangeable() -> None:
    """Over recorded halves too, mean coverage without ties is k/(n + 1) within 4 Monte Carlo errors."""
    true_scores = continuous(61)
    found = simulated(true_scores, calibration_halves(range(61), ["d"] * 61, 20260407, 2000), Decimal("0.10"))
    assert abs(found.coverage.mean() - found.yardstick) < ERRORS * found.error


@pytest.fixture(scope="module")
def panel(real_input: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory) -> Study:
    """The panel of config/runs/panel.yaml on two domains, read as its tables read it."""
    questions = mmlu_pro.read_questions(real_input("mmlu_pro_test").read_bytes(), "mmlu_pro_test")
    sample = mmlu_pro.to_table(mmlu_pro.choose(questions, DOMAINS, None, 0, "mmlu_pro_test"), "s", "mmlu_pro_test")
    files = {model: (real_input(source).read_bytes(), source) for model, source in MODELS.items()}
    return real_study(calibration_study.beliefs(files, sample).rows, sample)


def real_study(rows: list[dict[str, object]], sample: pa.Table) -> Study:
    """A study from imported rows, without the artifact's files."""
    agents = list(MODELS)
    cases = sample.to_pylist()
    by_key = {(row["case_id"], row["model"]): row for row in rows}
    lines = [[by_key[case["case_id"], agent] for agent in agents] for case in cases]
    return study_of(
        [[[row["probability"] for row in line]] for line in lines],  # type: ignore[misc]
        [LETTERS.index(str(line[0]["gold"])) for line in lines],
        [case["stratum"] for case in cases],
    )


@pytest.mark.real_inputs("mmlu_pro_test", *MODELS.values())
@pytest.mark.parametrize("domain", DOMAINS)
def test_on_the_real_panel_coverage_exceeds_its_yardstick_by_its_ties(panel: Study, domain: str) -> None:
    """On real, heavily tied beliefs mean coverage is k/(n + 1) plus the exact tie term, at alpha .05 and .10."""
    rows = np.flatnonzero(np.asarray(panel.domain) == domain)
    true_scores = panel.scores(panel.uniform, "lac")[1][rows, 0]
    calibration = random_halves(len(rows), 7)
    for alpha in ("0.05", "0.10"):
        found = simulated(true_scores, calibration, Decimal(alpha))
        check_excess(true_scores, found, Decimal(alpha))
