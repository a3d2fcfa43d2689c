"""The tables of the page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from warrant.interval_coverage.methods import (
    BESIDE,
    MCNEMAR,
    NEWCOMBE,
    PERCENTILE,
    SCORE,
    VETO_DRAWN,
    VETO_EXACT,
    WILSON,
)
from warrant.interval_coverage.rows import Measured, Row, least, mean, number, percent, short, where
from warrant.markdown import Lines, grid

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
