"""The page docs/interval-coverage.md, from the rows of the CSV alone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from warrant.interval_coverage.methods import BESIDE, EXACT_GAP, NEWCOMBE, PERCENTILE
from warrant.interval_coverage.page_tables import (
    exact,
    missed,
    overview,
    published,
    recovery,
    short_of,
    single,
    sizes,
    under,
    verdicts,
)
from warrant.interval_coverage.rows import (
    ERRORS,
    PER_LABEL,
    RESAMPLES,
    SEED,
    Measured,
    Row,
    least,
    moved,
    number,
    percent,
    short,
)
from warrant.interval_coverage.settings import COMPARED, SETTINGS
from warrant.intervals import clopper_pearson, wilson
from warrant.markdown import grid, joined, prose

COMMAND: Final = "OMP_NUM_THREADS=1 python scripts/interval_coverage.py"
WHAT: Final = {
    "averitec": "rates near the paper's",
    "averitec_drawn": "the same, gold labels drawn instead of fixed",
    "vitaminc_mixed": "rates near the paper's",
    "demo": "the same on the demo's small sample",
    "near_0_and_1": "CPO_C .03 typed and .97 untyped, Acc_SR .97, Ovc_I .03",
    "few_commits": "Acc_SR .12, CPO_C .03, Ovc_I .03: some 20 commits",
}


def page(rows: Sequence[Row]) -> str:
    """The page, from the rows of the CSV alone."""
    data = Measured(rows)
    replications = max(int(row["replications"] or 0) for row in rows)
    counts = {
        method: data.all(lambda row: row["setting"] in data.settings, method=method)
        for pair in BESIDE.items()
        for method in pair
    }
    below = {method: len([row for row in found if short(row)]) for method, found in counts.items()}
    far, compared = moved(data)
    errors = max(number(row, "truth_error") for row in counts[PERCENTILE] if row["metric"] != "se")
    floor = 95 - 100 * ERRORS * math.sqrt(0.95 * 0.05 / replications)
    wilsons, exacts = (limits(1, 100) or (0.0, 1.0) for limits in (wilson, clopper_pearson))
    corner = {method: least(data.all(setting="exact", method=method)) for method in (NEWCOMBE, EXACT_GAP)}
    lines = [
        "# Do the verdict study's intervals cover?",
        *prose(
            f"Written by `{COMMAND}` (six to seven minutes on one core; seed {SEED}, the same numbers every",
            "time); every",
            "number is a row of `interval-coverage.csv` beside this page or follows from it. Edit the program,",
            "not this page.",
        ),
        *prose(
            f"Judges are simulated with known parameters, {replications} samples a setting, and every sample",
            "goes through the",
            "functions that make the workflow's tables. Where a published method under-covers, it stays for the audit",
            "and a method that covers stands beside it:",
        ),
        *verdicts(counts, below),
        *prose(
            f"Under-covering means below {floor:.1f} %, {ERRORS} Monte Carlo standard errors under 95 %. At that limit",
            "about one interval in a thousand with exact coverage is named by chance.",
        ),
        "## Setting",
        *prose(
            "A judge errs on a claim when a normal draw, correlated between judges, falls below the quantile of",
            "its error",
            "rate (`scripts/warrant/simulation.py`): Gaussian copula, correlation .4 (validator .2), confidences in",
            "hundredths with standard deviation .07. Judges a, b and c are the panel under both contracts; d has a's",
            "parameters; e and f nearly always agree (correlation .999); the validator's flags are its",
            "verdict's. Parameters are",
            "in `scripts/warrant/interval_coverage/settings.py`, near the paper's rates. Claims by gold label",
            "(support, refute, insufficient, conflicting):",
        ),
        *grid(
            ["setting", "claims", "what"],
            ([s.name, "/".join(map(str, s.composition)), WHAT[s.name]] for s in SETTINGS if s.name in data.settings),
            left=3,
        ),
        *prose(
            "Composition is fixed by design, as the samples' is. The bootstrap over all claims and Wilson",
            "intervals over all",
            "claims (Cov, SE, accuracy, CPO_N) take it as random, which costs width and gives coverage above",
            "nominal;",
            "`averitec_drawn` draws it. True values are parameters for single judges and the validator. For",
            "panels and",
            f"controllers they come from {PER_LABEL} cases for each gold label (standard errors of rates",
            f"up to {errors:.4f}; every one is in the CSV).",
            f"The bootstrap takes {RESAMPLES} resamples (the tables take 5000).",
        ),
        *prose(
            "Contrasts, b against a, each on all nine metrics: "
            + "; ".join(f"{n}: {b} against {a}" for n, a, b in COMPARED)
            + "."
        ),
        "## Coverage by method",
        *overview(data),
        "## Where the published bootstrap under-covers",
        *prose(
            "Where few claims differ between two systems, resampling finds only the differences that it saw: no",
            "discordant claim gives [x, x], and one or two give an interval that ends at 0. Small samples (20",
            "claims a label)",
            "add the percentile interval's own shortness. By metric, with the lowest contrast:",
        ),
        *under(data),
        "## What stands beside it",
        *prose(
            "Wilson limits of two proportions and the correlation of their estimates, squared and added (Zou and",
            "Donner 2008, Statistics in Medicine 27:1693). For rates over the same claims the two proportions are the",
            "discordant shares, b alone and a alone, whose difference it is. (Method 10 of Newcombe 1998, Statistics",
            "in Medicine 17:2635, takes the rates themselves: where nearly all claims are concordant and the others",
            "lie on one side, its coverage falls to 93%.) For SE, whose denominators differ and overlap, they are the",
            "ratios, with their first-order correlation, corrected for continuity.",
            "Where a system commits to nothing, SE, its difference and both intervals are null.",
        ),
        *prose(*missed(data)),
        "## The paper's contrasts",
        *prose("`above` and `below`: the interval lies wholly above or below the truth."),
        *published(data),
        "## Single rates and gaps",
        *prose(
            "Published: Wilson intervals, and Newcombe's (1998, Statistics in Medicine 17:873) for the gap CPO_C -",
            "Ovc_I, which squares and adds Wilson limits. Beside them in table `rates`: the exact limits of Clopper",
            "and Pearson (1934, Biometrika 26:404), and for the gap these limits squared and added. The published ones",
            "under-cover at rates of a few claims and among few commits (`cpo_commits`: the flags' hits among the",
            "panel's commits on conflicting claims):",
        ),
        *short_of(data),
        *prose("Least coverage over systems, by metric:"),
        *single(data),
        *prose(
            "Exact binomial coverage, least over true rates in steps of .001 (for the gap, pairs of rates in steps of",
            ".01), and the rate or gap at which it is least:",
        ),
        *exact(data),
        *prose(
            "Wilson's coverage oscillates with the rate. In its dips the limit towards 0 or 1 is what fails: at 1 of",
            f"100 the lower one is {wilsons[0]:.4f}, the exact one {exacts[0]:.4f}. Clopper and Pearson's interval",
            "covers at every rate.",
            "The gap's is not exact: square-and-add is an approximation, whatever the limits. Its least coverage is",
            f"{percent(corner[EXACT_GAP])} %, at a gap of {number(corner[EXACT_GAP], 'truth'):+.2f} between",
            f"{corner[EXACT_GAP]['row'].removeprefix('n=').replace(', ', ' and ')} claims (Newcombe's:",
            f"{percent(corner[NEWCOMBE])} %).",
        ),
        "## Recovery of parameters",
        *prose(
            f"Of {compared} estimates in all settings, the mean over samples is more than {ERRORS} standard",
            f"errors from the truth in {far}",
            "(about one in four hundred is expected by chance; ratios such as SE have a small bias besides).",
            "Single judges",
            "and validator on `averitec`:",
        ),
        *recovery(data),
        "## Size of tests",
        *prose(
            "Share of p <= .05 in percent where the hypothesis holds: McNemar between two judges with the same",
            "parameters;",
            "random vetoes by a validator whose flags are drawn without looking. An exact test of a discrete count",
            "stays below 5. The published form of the null compares F at one threshold with random vetoes",
            "within E at another,",
            "and counts F's vetoes outside E's commits: it rejects vetoes that know nothing, and so tests",
            "something else.",
        ),
        *sizes(data),
    ]
    return joined(lines)
