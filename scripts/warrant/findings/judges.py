"""Findings on judges, panels and certificates: rates, their intervals, their populations."""

from __future__ import annotations

from collections import Counter
from typing import Final

from warrant import artifact
from warrant.certificates import deterministic_verdict
from warrant.findings.material import (
    AVERITEC,
    CONTEMPORARY,
    SETTINGS,
    VITAMINC,
    Finding,
    Lines,
    Material,
    percent,
    show,
    span,
    tally,
)
from warrant.intervals import wilson


def two_steps(material: Material) -> Lines:
    """Vocabulary, panel, and both."""
    for name in ("vocabulary_and_panel", "vocabulary_alone", "panel_alone"):
        row = material.one(VITAMINC, "contrasts", contrast=name, metric="cpo_c")
        yield (
            f"VitaminC-Mixed {name}: CPO_C {show(row['value_a'])} to {show(row['value_b'])}, "
            f"{show(row['delta'])} {span(row['low'], row['high'])}"
        )
    released = {
        name: int(material.number(table="Release: cached_landscape", study=AVERITEC, field="cpo_c_k", select=select))
        for name, select in (
            ("Haiku, 3 options", "system=single/haiku-4.5/3opt"),
            ("Haiku, 4 options", "system=single/haiku-4.5/4opt"),
            ("panel, 4 options", "system=panel/4opt"),
        )
    }
    yield f"AVeriTeC, released counts: {', '.join(f'{name} {k}/150' for name, k in released.items())}"


def preserved(material: Material) -> Lines:
    """What the preserved stratum is made of."""
    for name, system in CONTEMPORARY.items():
        said = {
            row["predicted"]: row["n"]
            for row in material.rows(AVERITEC, "confusion", system=system, gold="conflicting")
        }
        printed = material.number(table="Table 8", row=name, column="R Preserved (n)")
        yield (
            f"{name}: preserved n {printed}; gold conflicting answered conflicting {said['conflicting']}, "
            f"insufficient {said['insufficient']}, unparsed {said['none']}"
        )


def material_boolean(material: Material) -> Lines:
    """What changes if material is read as 'state is not insufficient'."""
    for study in SETTINGS:
        path = material.built(f"{study}/verdicts/certificate.parquet")
        listed = [row["subclaims"] for row in artifact.read(path).to_pylist() if row["subclaims"]]
        stated = [item for subclaims in listed for item in subclaims]
        both = sum(item["material"] and item["evidence_state"] == "insufficient" for item in stated)
        neither = sum(not item["material"] and item["evidence_state"] != "insufficient" for item in stated)
        changed = []
        for subclaims in listed:
            other = [{**item, "material": item["evidence_state"] != "insufficient"} for item in subclaims]
            before, after = deterministic_verdict(subclaims), deterministic_verdict(other)
            if before != after:
                changed.append(f"{before} to {after or 'none'}")
        yield (
            f"{study}: {len(stated)} subclaims, {both} material and insufficient, {neither} neither; the other reading "
            f"changes {len(changed)} of {len(listed)} verdicts ({tally(changed)})"
        )


def calibration(material: Material) -> Lines:
    """The population of the calibration error."""
    cells = [
        row
        for row in material.published(table="Release: cached_landscape", study=AVERITEC, artifact="confusion")
        if row.keys["system"] == "panel/4opt" and row.keys["predicted"] in ("support", "refute")
    ]
    commits: Counter[str] = Counter()
    for cell in cells:
        commits[cell.keys["gold"]] += int(cell.published)
    decided = commits["support"] + commits["refute"]
    yield (
        f"AVeriTeC, released confusion matrix of the panel: {decided} commits on gold support/refute and "
        f"{commits['insufficient']} on gold insufficient are {decided + commits['insufficient']} commits that are not "
        f"CPO; the printed n is {material.number(table='Section 5', column='ECE population (n)')}"
    )
    row = material.one(VITAMINC, "confidence", quantity="ece", population="commits_not_cpo")
    parts = {
        name: material.one(VITAMINC, "confidence", quantity="mean", population=name)["n"]
        for name in ("correct_commits", "wrong_direction", "overcommits_on_insufficient")
    }
    yield (
        f"VitaminC-Mixed: ECE {show(row['value'])} over {row['n']} commits: "
        f"{', '.join(f'{name} {n}' for name, n in parts.items())}"
    )


def suppressed(material: Material) -> Lines:
    """Claims with two directional votes that the panel does not commit."""
    for study in SETTINGS:
        row = material.one(study, "anatomy", system="panel/4opt", group="votes_2")
        cases = material.one(study, "anatomy", system="panel/4opt", group="splits_returned")["cases"]
        yield (
            f"{study}: two directional votes {row['k']}, committed {row['committed']}, "
            f"returned as conflicting {row['conflicting']} (cases {', '.join(map(str, cases))})"
        )


def wilson_high(material: Material) -> Lines:
    """A Wilson bound by its formula and in the table."""
    low, high = wilson(16, 28) or (None, None)
    row = material.one(
        AVERITEC, "confidence", quantity="at_least", population="cpo_commits", tau=0.9, arithmetic="published"
    )
    printed = material.number(table="Section 5", column="confidence >= 0.90 Wilson high", study=AVERITEC)
    yield f"Wilson 95% of 16/28 = {span(low, high, 4)}; table {row['k']}/{row['n']} {span(row['low'], row['high'], 4)}"
    yield f"printed upper bound {printed}"


def both_directions(material: Material) -> Lines:
    """Three-option panel: votes in both directions."""
    group = {row["group"]: row for row in material.rows(VITAMINC, "anatomy", system="panel/3opt")}
    three, two = group["votes_3"]["k"], group["votes_2"]["k"]
    same, dissent = group["commits_unanimous"]["k"], group["commits_suppressed"]["k"]
    yield f"three directional votes {three}: one direction {same}, both directions {three - same}"
    yield f"two directional votes {two}: one direction {dissent}, one each way and one insufficient {two - dissent}"
    yield f"commits with a vote in the other direction (commits_opposed): {group['commits_opposed']['k']}"


def under_coverage(material: Material) -> Lines:
    """Coverage of the published bootstrap."""
    for method in ("percentile bootstrap", "square-and-add"):
        rows = material.coverage(table="contrasts", method=method)
        low = [row for row in rows if float(row["share"]) < 0.95 - 3 * (0.95 * 0.05 / int(row["replications"])) ** 0.5]
        yield f"{method}: more than 3 Monte Carlo standard errors below 95% in {len(low)} of {len(rows)}"
    for setting, contrast in (
        (AVERITEC, "veto_beside_lower_threshold"),
        (AVERITEC, "veto_beside_threshold"),
        (VITAMINC, "veto_beside_threshold"),
    ):
        for metric in ("se", "cpo_n"):
            rows = material.coverage(table="contrasts", setting=setting, row=contrast, metric=metric)
            share = {row["method"]: f"{row['method']} {percent(row['share'])}%" for row in rows}
            yield f"{setting}, {contrast}, {metric}: {', '.join(share.values())}"


def multiplicity(material: Material) -> Lines:
    """Pairs of judges whose interval excludes 0, one at a time and jointly."""
    for study in SETTINGS:
        rows = [row for row in material.rows(study, "contrasts", contrast="judges") if row["delta"] is not None]
        alone = [row for row in rows if row["low"] > 0 or row["high"] < 0]
        joint = [row for row in rows if row["joint_low"] > 0 or row["joint_high"] < 0]
        holm = [row for row in rows if row["p_holm"] <= 0.05]
        yield (
            f"{study}: of {len(rows)} intervals {len(alone)} exclude 0 one at a time, {len(joint)} jointly; "
            f"Holm p <= .05 in {len(holm)}"
        )
        for row in alone:
            if row not in joint:
                yield (
                    f"  {row['b']} minus {row['a']}, {row['metric']}: {show(row['delta'])} "
                    f"{span(row['low'], row['high'])}, jointly {span(row['joint_low'], row['joint_high'])}, "
                    f"Holm p {show(row['p_holm'])}"
                )


def gaps(material: Material) -> Lines:
    """CPO_C - Ovc_I with an interval."""
    for study in SETTINGS:
        for name, system in CONTEMPORARY.items():
            row = material.one(study, "judges", system=system)
            yield (
                f"{study}, {name}: {row['cpo_c_k']}/{row['cpo_c_n']} - {row['ovc_i_k']}/{row['ovc_i_n']} = "
                f"{show(row['gap'])} {span(row['gap_low'], row['gap_high'])}"
            )


FINDINGS: Final[dict[str, Finding]] = {
    "V04": two_steps,
    "V05": preserved,
    "V06": material_boolean,
    "V07": calibration,
    "V09": suppressed,
    "V17": wilson_high,
    "V18": both_directions,
    "V21": under_coverage,
    "V24": multiplicity,
    "V25": gaps,
}
