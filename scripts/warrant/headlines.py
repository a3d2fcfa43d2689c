"""Headline findings of a run in words, computed from its tables: nothing is said that no table shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

Rows = Sequence[Mapping[str, Any]]


def headlines(tables: Mapping[str, Rows]) -> list[str]:
    """Sentences about one study, from its tables by name; a table or number that is missing is passed over."""
    found = [
        *_open(tables.get("bounds", ())),
        *_vocabulary(tables.get("judges", ())),
        *_judges(tables.get("judges", ())),
        *_controllers(tables.get("ladder", ())),
        *_veto(tables.get("veto", ())),
        *_null(tables.get("null", ())),
        *_equal_coverage(tables.get("sweep_summary", ())),
        *_screening(tables.get("screening_contrast", ())),
        *_risk(tables.get("risk", ())),
        *_arithmetic(tables.get("arithmetic")),
    ]
    return [sentence for sentence in found if sentence]


def share(value: float) -> str:
    """.416: a share to three places, as the field prints it."""
    text = f"{value:.3f}"
    return text[1:] if text.startswith("0") else text


def signed(value: float) -> str:
    """+.416 or -.416: a difference of shares."""
    text = f"{value:+.3f}"
    return text[0] + text[1:].removeprefix("0")


def probability(value: float) -> str:
    """.059, or that it is below the last place shown."""
    return "below .001" if value < 0.0005 else share(value)


def one(rows: Rows, **wanted: object) -> Mapping[str, Any] | None:
    """The only row with these values; None when there is none or several."""
    found = [row for row in rows if all(row.get(key) == value for key, value in wanted.items())]
    return found[0] if len(found) == 1 else None


def _open(rows: Rows) -> list[str]:
    """What missing answers may change, for the system that they leave most open."""
    affected = [row for row in rows if row["metric"] == "cov" and row["open"]]
    if not affected:
        return []
    most = max(affected, key=lambda row: int(row["open"]))
    override = one(rows, metric="cpo_c", system=most["system"])
    systems = f"{len(affected)} {'system' if len(affected) == 1 else 'systems'}"
    sentence = (
        f"Answers are missing. They leave {systems} open, most of all "
        f"{most['system']} on {most['open']} of {most['claims']} claims"
    )
    if override is not None and override["least"] is not None and override["greatest"] is not None:
        sentence += (
            f": whatever they would have been, its share of overrides among conflicting claims lies between "
            f"{share(override['least'])} and {share(override['greatest'])}"
        )
    return [sentence + "."]


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
            f"{probability(row['p_exact'])}."
        )
    return sentences


def _equal_coverage(rows: Rows) -> list[str]:
    row = one(rows, controller="F-E", arithmetic="exact")
    if row is None or any(row[name] is None for name in ("mean_se", "low", "high", "support_low", "support_high")):
        return []
    return [
        f"Where a threshold with and without the veto have the same coverage ({share(row['support_low'])} to "
        f"{share(row['support_high'])}), the veto changes mean selective error by {signed(row['mean_se'])} (95% "
        f"interval {signed(row['low'])} to {signed(row['high'])})."
    ]


def _screening(rows: Rows) -> list[str]:
    row = one(rows, a="confidence", b="structure")
    if row is None or any(row[name] is None for name in ("auprc_a", "auprc_b", "delta", "refit_low", "refit_high")):
        return []
    return [
        f"Telling conflicts among directional outputs has an average precision of {share(row['auprc_a'])} from stated "
        f"confidence and {share(row['auprc_b'])} from the certificate's structure: {signed(row['delta'])}, 95% "
        f"interval {signed(row['refit_low'])} to {signed(row['refit_high'])} with every model fitted again."
    ]


def _risk(rows: Rows) -> list[str]:
    exact = [row for row in rows if row["arithmetic"] == "exact"]
    if not exact:
        return []
    row = min(exact, key=lambda row: row["alpha"])
    return [
        f"A controller chosen on one half of the claims to override conflicts on at most {share(row['alpha'])} of all "
        f"claims does so more often on the other half in {row['violations']} of {row['splits']} splits."
    ]


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
