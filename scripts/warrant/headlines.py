"""Headline findings of a run in words, computed from its tables: nothing is said that no table shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

Rows = Sequence[Mapping[str, Any]]


def headlines(tables: Mapping[str, Rows]) -> list[str]:
    """Sentences about one study, from its tables by name; a table or number that is missing is passed over."""
    found = [
        *_vocabulary(tables.get("judges", ())),
        *_judges(tables.get("judges", ())),
        *_controllers(tables.get("ladder", ())),
        *_veto(tables.get("veto", ())),
        *_null(tables.get("null", ())),
        *_arithmetic(tables.get("arithmetic")),
    ]
    return [sentence for sentence in found if sentence]


def share(value: float) -> str:
    """.416: a share to three places, as the field prints it."""
    text = f"{value:.3f}"
    return text[1:] if text.startswith("0") else text


def one(rows: Rows, **wanted: object) -> Mapping[str, Any] | None:
    """The only row with these values; None when there is none or several."""
    found = [row for row in rows if all(row.get(key) == value for key, value in wanted.items())]
    return found[0] if len(found) == 1 else None


def _vocabulary(rows: Rows) -> list[str]:
    three, four = one(rows, system="panel/3opt"), one(rows, system="panel/4opt")
    if four is None or four["cpo_c"] is None:
        return []
    sentence = (
        f"With four options to choose from, the panel still commits to a direction on {four['cpo_c_k']} of "
        f"{four['cpo_c_n']} claims whose evidence conflicts ({share(four['cpo_c'])}, 95% interval "
        f"{share(four['cpo_c_low'])} to {share(four['cpo_c_high'])})"
    )
    if three is not None and three["cpo_c"] is not None:
        sentence += f"; with three options it does on {three['cpo_c_k']} ({share(three['cpo_c'])})"
    return [sentence + "."]


def _judges(rows: Rows) -> list[str]:
    typed = [row for row in rows if row["system"].startswith("single/") and row["system"].endswith("/4opt")]
    rates = sorted((row["cpo_c"], row["system"]) for row in typed if row["cpo_c"] is not None)
    if len(rates) < 2:
        return []
    (low, lowest), (high, highest) = rates[0], rates[-1]
    return [
        f"Single judges under the four-option contract override conflicting evidence at rates from {share(low)} "
        f"({lowest}) to {share(high)} ({highest})."
    ]


def _controllers(rows: Rows) -> list[str]:
    exact = [row for row in rows if row["arithmetic"] == "exact"]
    base = one(exact, system="panel/4opt")
    e, f = one(exact, system="E@0.90"), one(exact, system="F@0.90")
    if base is None or e is None or f is None or any(row["se"] is None for row in (base, e, f)):
        return []
    return [
        f"Selective error is {share(base['se'])} without a controller (coverage {share(base['cov'])}), "
        f"{share(e['se'])} with a confidence threshold of .90 (coverage {share(e['cov'])}) and {share(f['se'])} "
        f"with the validator's veto before it (coverage {share(f['cov'])}), in exact arithmetic."
    ]


def _veto(rows: Rows) -> list[str]:
    hit = one(rows, flag="material_mixed", population="cpo_commits")
    alarm = one(rows, flag="material_mixed", population="gold_support_refute")
    if hit is None or alarm is None or hit["rate"] is None or alarm["rate"] is None:
        return []
    return [
        f"The validator flags {hit['k']} of the {hit['n']} commits on conflicting evidence ({share(hit['rate'])}), and "
        f"{alarm['k']} of {alarm['n']} claims with a clear direction ({share(alarm['rate'])})."
    ]


def _null(rows: Rows) -> list[str]:
    sentences = []
    for row in rows:
        if row["form"] != "matched" or row["arithmetic"] != "exact" or row["metric"] != "se":
            continue
        if row["p_exact"] is None or not row["k"]:
            continue
        sentences.append(
            f"Against {_count(row['k'], 'random veto', 'random vetoes')} at the same threshold ({row['tau_e']:.2f}), "
            f"the validator's selective error of {share(row['observed'])} has a one-sided exact p of "
            f"{share(row['p_exact'])}."
        )
    return sentences


def _arithmetic(rows: Rows | None) -> list[str]:
    if rows is None:
        return []
    if not rows:
        return ["No decision depends on whether means are compared exactly or in floats."]
    claims = _count(len({row["case_id"] for row in rows}), "claim is", "claims are")
    return [
        f"{claims} decided differently when means are compared in compensated floats instead of exact decimals "
        f"({_count(len(rows), 'decision', 'decisions')} over all thresholds)."
    ]


def _count(n: int, one: str, many: str) -> str:
    return f"{n} {one if n == 1 else many}"
