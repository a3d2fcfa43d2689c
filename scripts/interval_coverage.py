"""Write docs/interval-coverage.csv and the page made from it: how often the verdict study's intervals cover."""

from __future__ import annotations

import argparse
import csv
import io
import math
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from warrant.artifact import write_text
from warrant.coverage_study import (
    BESIDE,
    CLOPPER_PEARSON,
    COMPARED,
    EXACT_GAP,
    MCNEMAR,
    NEWCOMBE,
    PERCENTILE,
    SCORE,
    SETTINGS,
    VETO_DRAWN,
    VETO_EXACT,
    WILSON,
    gap_coverage,
    rate_coverage,
    study,
)
from warrant.intervals import clopper_pearson, wilson

COMMAND: Final = "OMP_NUM_THREADS=1 python scripts/interval_coverage.py"
REPLICATIONS, RESAMPLES, DRAWS, PER_LABEL, SEED = 1000, 2000, 200, 500_000, 20260522
TESTED: Final = ("averitec", "vitaminc_mixed", "demo")  # settings in which the random-veto null is run too
EXACT_N: Final = (20, 35, 50, 100, 150, 285)
EXACT_RANGES: Final = ((0.01, 0.99), (0.05, 0.95), (0.10, 0.90), (0.20, 0.80))
GAP_N: Final = ((150, 35), (100, 50), (20, 20))  # conflicting and insufficient claims of the settings
STEPS, GAP_STEPS = 1000, 100
ERRORS: Final = 3  # Monte Carlo standard errors below nominal that count as under-covering
COLUMNS: Final = (
    "setting", "table", "row", "metric", "method", "nominal", "replications", "defined", "share", "share_error",
    "truth", "truth_error", "bias", "bias_error", "above", "below", "width", "empty",
)  # fmt: skip
Row = Mapping[str, str]
Lines = list[str]


def measured() -> list[dict[str, str]]:
    """Every row of the CSV."""
    rows: list[dict[str, object]] = []
    for position, setting in enumerate(SETTINGS):
        draws = DRAWS if setting.name in TESTED else 0
        rows += study(setting, REPLICATIONS, RESAMPLES, draws, PER_LABEL, SEED + position * 10 * REPLICATIONS)
    return [{name: _cell(row.get(name, "")) for name in COLUMNS} for row in (*rows, *exact_rates(), *exact_gaps())]


def exact_rates() -> Iterator[dict[str, object]]:
    """Exact least coverage of a rate's intervals over ranges of true rates."""
    for method, limits in ((WILSON, wilson), (CLOPPER_PEARSON, clopper_pearson)):
        for n in EXACT_N:
            found = [(step / STEPS, rate_coverage(n, step / STEPS, limits)) for step in range(10, 991)]
            for low, high in EXACT_RANGES:
                rate, share = min(((p, c) for p, c in found if low <= p <= high), key=lambda one: one[1])
                about = {"table": "binomial", "row": f"n={n}", "metric": f"rate in [{low:.2f}, {high:.2f}]"}
                yield {"setting": "exact", **about, "method": method, "nominal": 0.95, "share": share, "truth": rate}


def exact_gaps() -> Iterator[dict[str, object]]:
    """Exact least coverage of a gap's intervals over ranges of two true rates."""
    steps = [step / GAP_STEPS for step in range(1, GAP_STEPS)]
    for method, limits in ((NEWCOMBE, wilson), (EXACT_GAP, clopper_pearson)):
        for n, m in GAP_N:
            found = gap_coverage(n, m, steps, limits)
            for low, high in EXACT_RANGES:
                inside = [i for i, rate in enumerate(steps) if low <= rate <= high]
                share, gap = min((float(found[i, j]), steps[i] - steps[j]) for i in inside for j in inside)
                about = {"table": "binomial", "row": f"n={n}, {m}", "metric": f"rate in [{low:.2f}, {high:.2f}]"}
                yield {"setting": "exact", **about, "method": method, "nominal": 0.95, "share": share, "truth": gap}


def _cell(value: object) -> str:
    if isinstance(value, float):
        return "" if math.isnan(value) else f"{value:.6f}"
    return str(value)


def as_csv(rows: Iterable[Row]) -> str:
    """The CSV's text."""
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def read_csv(text: str) -> list[dict[str, str]]:
    """The rows of the CSV's text."""
    return list(csv.DictReader(io.StringIO(text)))


def prose(*sentences: str) -> Lines:
    """A paragraph."""
    return ["", *textwrap.wrap(" ".join(sentences), 118, break_long_words=False, break_on_hyphens=False), ""]


def grid(header: Sequence[str], rows: Iterable[Sequence[object]], left: int = 1) -> Lines:
    """A Markdown table; the first `left` columns are text, the others stand to the right."""
    rule = "".join(["---|"] * left + ["---:|"] * (len(header) - left))
    return ["", f"| {' | '.join(header)} |", f"|{rule}", *(f"| {' | '.join(map(str, row))} |" for row in rows), ""]


def number(row: Row, name: str) -> float:
    """A cell as a number."""
    return float(row[name])


def percent(row: Row, name: str = "share") -> str:
    """A share in percent."""
    return f"{100 * number(row, name):.1f}"


def short(row: Row) -> bool:
    """Whether an interval's coverage is below nominal by more than ERRORS Monte Carlo standard errors."""
    nominal = number(row, "nominal")
    return number(row, "share") < nominal - ERRORS * math.sqrt(nominal * (1 - nominal) / number(row, "defined"))


def mean(rows: Sequence[Row], name: str) -> float:
    """Mean of a column."""
    return math.fsum(number(row, name) for row in rows) / len(rows)


def least(rows: Sequence[Row]) -> Row:
    """The row of least coverage."""
    return min(rows, key=lambda row: number(row, "share"))


def where(row: Row) -> str:
    """What an interval is about."""
    return f"{row['row']}, {row['metric']}"


class Measured:
    """The rows of the CSV, found by the values of columns."""

    def __init__(self, rows: Sequence[Row]) -> None:
        """Keep the rows; settings in their order."""
        self.rows = rows
        self.settings = [s for s in dict.fromkeys(row["setting"] for row in rows) if s != "exact"]

    def all(self, keep: Callable[[Row], bool] = lambda row: True, **values: str) -> list[Row]:
        """Rows with these values."""
        return [row for row in self.rows if values.items() <= row.items() and keep(row)]

    def beside(self, row: Row) -> Row:
        """The row of what stands beside a published interval."""
        values = {name: row[name] for name in ("setting", "table", "row", "metric")}
        values["method"] = BESIDE[row["method"]]
        (found,) = [one for one in self.rows if values.items() <= one.items()]
        return found


def overview(data: Measured) -> Lines:
    """Each method in each setting."""
    rows = []
    for method in (method for pair in BESIDE.items() for method in pair):
        for setting in data.settings:
            found = data.all(setting=setting, method=method)
            low = least(found)
            below = len([row for row in found if short(row)])
            cells = [f"{below} of {len(found)}", percent(low), where(low)]
            rows.append([method, setting, *cells, f"{100 * mean(found, 'share'):.1f}", f"{mean(found, 'width'):.3f}"])
    header = ["method", "setting", "under-covering", "least %", "of", "mean %", "mean width"]
    return grid(header, rows, left=2)


def under(data: Measured) -> Lines:
    """Bootstrap intervals that under-cover, and what stands beside them, by setting and metric."""
    rows = []
    for setting in data.settings:
        for metric in dict.fromkeys(row["metric"] for row in data.all(setting=setting, method=PERCENTILE)):
            found = data.all(short, setting=setting, method=PERCENTILE, metric=metric)
            if not found:
                continue
            everything = data.all(setting=setting, method=PERCENTILE, metric=metric)
            low = least(found)
            beside = [data.beside(row) for row in found]
            cells = [f"{len(found)} of {len(everything)}", low["row"], percent(low), percent(low, "empty")]
            cells += [
                f"{number(low, 'width'):.3f}",
                percent(data.beside(low)),
                f"{number(data.beside(low), 'width'):.3f}",
            ]
            rows.append([setting, metric, *cells, percent(least(beside))])
    header = ["setting", "metric", "under-covering", "the lowest", "coverage %", "[x, x] %", "width"]
    return grid([*header, "beside it %", "width", "least beside any %"], rows, left=2)


def short_of(data: Measured) -> Lines:
    """Rates and gaps whose published interval under-covers, and what stands beside it."""
    cells = []
    for row in data.all(lambda row: row["setting"] in data.settings and row["method"] in (WILSON, NEWCOMBE)):
        if short(row):
            line: list[object] = [row["method"], row["setting"], where(row), f"{number(row, 'truth'):.3f}"]
            line += [percent(row, name) for name in ("share", "above", "below")]
            line.append(f"{number(row, 'width'):.3f}")
            beside = data.beside(row)
            cells.append([*line, percent(beside), f"{number(beside, 'width'):.3f}"])
    header = ["method", "setting", "of", "truth", "coverage %", "above %", "below %", "width", "beside it %", "width"]
    return grid(header, cells, left=3)


def missed(data: Measured) -> list[str]:
    """The contrasts in which what stands beside the bootstrap under-covers, as a sentence."""
    found = data.all(lambda row: row["setting"] in data.settings and short(row), method=SCORE)
    if not found:
        return ["It under-covers nowhere."]
    named = [f"{where(row)} of {row['setting']} ({percent(row)} %, truth {number(row, 'truth'):+.3f})" for row in found]
    return [f"It under-covers in {'; '.join(named)}."]


def published(data: Measured) -> Lines:
    """The comparisons and metrics that the paper prints."""
    wanted = [(name, "cpo_c") for name in ("panel_amplification", "vocabulary_and_panel", "vocabulary_alone")]
    wanted += [("panel_alone", "cpo_c"), ("validator_against_panel", "acc_sr")]
    wanted += [(name, m) for name in ("veto_beside_threshold", "veto_beside_lower_threshold") for m in ("se", "cpo_n")]
    rows = []
    for setting in ("averitec", "averitec_drawn", "vitaminc_mixed"):
        for name, metric in wanted:
            (row,) = data.all(setting=setting, method=PERCENTILE, row=name, metric=metric)
            cells: list[object] = [
                setting,
                f"{name}, {metric}",
                f"{number(row, 'truth'):+.3f}",
                f"{number(row, 'bias'):+.4f}",
            ]
            for one in (row, data.beside(row)):
                cells += [percent(one), percent(one, "above"), percent(one, "below"), f"{number(one, 'width'):.3f}"]
            rows.append(cells)
    header = ["setting", "contrast", "truth", "bias"]
    columns = ["coverage %", "above %", "below %", "width"]
    return grid([*header, *(f"{m} {c}" for m in ("bootstrap", "score") for c in columns)], rows, left=2)


def single(data: Measured) -> Lines:
    """Least coverage of a rate's published interval and of what stands beside it, by metric."""
    rows = []
    tables = [row for row in data.rows if row["table"] in ("judges", "veto")]
    for table, metric in dict.fromkeys((row["table"], row["metric"]) for row in tables):
        cells: list[object] = []
        for setting in data.settings:
            found = data.all(lambda row: row["method"] in BESIDE, setting=setting, table=table, metric=metric)
            beside = [data.beside(row) for row in found]
            cells.append(f"{percent(least(found))} / {percent(least(beside))}" if found else "")
        rows.append([f"{table}: {metric}", *cells])
    return grid(["least coverage %: published / beside it", *data.settings], rows)


def exact(data: Measured) -> Lines:
    """Exact least coverage of the intervals of rates and gaps."""
    ranges = list(dict.fromkeys(row["metric"] for row in data.all(setting="exact")))
    rows = []
    for method, n in dict.fromkeys((row["method"], row["row"]) for row in data.all(setting="exact")):
        found = [data.all(setting="exact", method=method, row=n, metric=metric)[0] for metric in ranges]
        rows.append([method, n, *(f"{percent(row)} at {number(row, 'truth'):.3f}" for row in found)])
    return grid(["method", "claims", *ranges], rows, left=2)


def recovery(data: Measured) -> Lines:
    """Parameters and mean estimates of single judges."""
    rows = []
    for row in data.all(
        lambda row: row["row"].startswith("single/") or row["row"] == "validator", setting="averitec", table="judges"
    ):
        if number(row, "truth_error") or row["metric"] not in ("cpo_c", "ovc_i", "acc_sr", "rec_c", "false_conflict"):
            continue
        estimate = number(row, "truth") + number(row, "bias")
        cells = [f"{number(row, 'truth'):.4f}", f"{estimate:.4f}", f"{number(row, 'bias_error'):.4f}"]
        rows.append(
            [row["row"], row["metric"], *cells, f"{number(row, 'bias') / max(number(row, 'bias_error'), 1e-6):+.1f}"]
        )
    return grid(["system", "metric", "parameter", "mean estimate", "error", "bias/error"], rows, left=2)


def sizes(data: Measured) -> Lines:
    """Share of p <= .05 where the hypothesis holds."""
    rows = []
    for method in (MCNEMAR, VETO_EXACT, VETO_DRAWN):
        for row in dict.fromkeys(row["row"] for row in data.all(method=method)):
            for metric in dict.fromkeys(one["metric"] for one in data.all(method=method, row=row)):
                cells = []
                for setting in data.settings:
                    found = data.all(method=method, row=row, metric=metric, setting=setting)
                    cells.append(percent(found[0]) if found else "")
                rows.append([method, row, metric, *cells])
    return grid(["test", "on", "metric", *data.settings], rows, left=3)


def moved(data: Measured) -> tuple[int, int]:
    """Rows whose mean estimate is more than ERRORS standard errors from the truth, of how many."""
    found = data.all(lambda row: row["bias"] != "" and row["method"] in BESIDE and number(row, "bias_error") > 0)
    return len([row for row in found if abs(number(row, "bias")) > ERRORS * number(row, "bias_error")]), len(found)


PLACES: Final = {
    PERCENTILE: ("contrasts", "`low`, `high`", "`score_low`, `score_high`"),
    WILSON: ("rates", "`low`, `high`, as in `judges` and `veto`", "`exact_low`, `exact_high`"),
    NEWCOMBE: ("rates", "the gap's `low`, `high`, as in `judges`", "its `exact_low`, `exact_high`"),
}


def verdicts(counts: Mapping[str, Sequence[Row]], below: Mapping[str, int]) -> Lines:
    """What is published, what stands beside it, in which table, and how many of each under-cover."""
    rows = []
    for one, (table, columns, beside) in PLACES.items():
        cells = [table]
        for method, names in ((one, columns), (BESIDE[one], beside)):
            cells += [f"{method}: {names}", f"{below[method]} of {len(counts[method])}"]
        rows.append(cells)
    return grid(["table", "published", "under-covering", "beside it", "under-covering"], rows, left=5)


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
            "in `scripts/warrant/coverage_study.py`, near the paper's rates. Claims by gold label (support, refute,",
            "insufficient, conflicting):",
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
    kept = [line for line, before in zip(lines, ["", *lines], strict=False) if line or before]
    return "\n".join(kept).strip("\n") + "\n"


WHAT: Final = {
    "averitec": "rates near the paper's",
    "averitec_drawn": "the same, gold labels drawn instead of fixed",
    "vitaminc_mixed": "rates near the paper's",
    "demo": "the same on the demo's small sample",
    "near_0_and_1": "CPO_C .03 typed and .97 untyped, Acc_SR .97, Ovc_I .03",
    "few_commits": "Acc_SR .12, CPO_C .03, Ovc_I .03: some 20 commits",
}


def main() -> None:
    """Measure and write, or write the page again from the CSV."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--csv", type=Path, default=Path("docs/interval-coverage.csv"))
    parser.add_argument("--output", type=Path, default=Path("docs/interval-coverage.md"))
    parser.add_argument("--page-only", action="store_true", help="take the numbers from the CSV as it is")
    given = parser.parse_args()
    if not given.page_only:
        write_text(given.csv, as_csv(measured()))
    write_text(given.output, page(read_csv(given.csv.read_text(encoding="utf-8"))))


if __name__ == "__main__":
    main()
