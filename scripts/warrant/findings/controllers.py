"""Findings on thresholds, vetoes and what they are worth."""

from __future__ import annotations

from decimal import Decimal
from typing import Final

from warrant.decimals import ONE
from warrant.findings.material import AVERITEC, SETTINGS, VITAMINC, Finding, Lines, Material, percent, show, span, tally
from warrant.labels import CONFLICTING, Labels, Mask, directional
from warrant.printed import read_count
from warrant.sample import gold_codes
from warrant.sample import read as read_sample
from warrant.systems import Controlled, load_controlled


def plain_threshold(decision: Labels, panel: Controlled, tau: float) -> Mask:
    """Commits that a threshold leaves when confidences are added as floats, one after the other, uncompensated."""
    usable = panel.votes.has_confidence & panel.votes.usable
    kept = directional(decision)
    for case, (row, present) in enumerate(zip(panel.votes.confidence.tolist(), usable.tolist(), strict=True)):
        total, votes = 0.0, 0
        for unit, here in zip(row, present, strict=True):
            if here:
                total, votes = total + unit / ONE, votes + 1
        kept[case] &= votes > 0 and total / votes >= tau
    return kept


def arithmetic(material: Material) -> Lines:
    """E and F under three ways to add."""
    study = material.settings(VITAMINC)
    panel = study["systems"][study["typed_panel"]]
    files = {arm: material.built(f"{VITAMINC}/verdicts/{arm}.parquet") for arm in (panel["arm"], study["validator"])}
    gold = gold_codes(read_sample(material.built(f"{VITAMINC}/sample.parquet")))
    controlled = load_controlled({"typed_panel": panel, "validator": study["validator"]}, files, len(gold))
    yield "VitaminC-Mixed, Cov SE CPO_N (commits)"
    for kind, proposal in (("E", controlled.proposal.decision), ("F", controlled.d("conflict_only").decision)):
        for tau in study["taus"]:
            values = []
            for name in ("exact", "published"):
                row = material.one(VITAMINC, "ladder", system=f"{kind}@{tau}", arithmetic=name)
                values.append(f"{show(row['cov'])} {show(row['se'])} {show(row['cpo_n'])} ({row['commits']})")
            kept = plain_threshold(proposal, controlled, float(tau))
            commits, n = int(kept.sum()), len(gold)
            wrong, cpo = int((kept & (proposal != gold)).sum()), int((kept & (gold == CONFLICTING)).sum())
            values.append(f"{show(commits / n)} {show(wrong / commits)} {show(cpo / n)} ({commits})")
            yield f"{kind}@{tau}  exact {values[0]}  compensated {values[1]}  plain {values[2]}"
    for study_name in SETTINGS:
        rows = material.rows(study_name, "arithmetic")
        yield f"{study_name}: exact and compensated differ on {tally(row['controller'] for row in rows)} claims"


def null(material: Material) -> Lines:
    """Random-veto p values as published and like for like."""
    places = {"Section 7": "section 7", "Section 5.6, 8.3, Appendix D": "sections 5.6, 8.3, appendix D"}
    for table, place in places.items():
        rows = material.published(table=table, study=VITAMINC)
        said = [f"{row.row}{row.column.removeprefix('one-sided p')} {row.published}" for row in rows]
        yield f"printed p, {place}: {'; '.join(sorted(said))}"
    for form, name in (("published", "published"), ("matched", "exact")):
        for row in material.rows(VITAMINC, "null", form=form, arithmetic=name):
            yield (
                f"{form:9} E@{row['tau_e']:.2f} F@{row['tau_f']:.2f} k {row['k']} of {row['commits']}  "
                f"{row['metric']:6} F {show(row['observed'], 4)} vetoes at random {show(row['null_mean'], 4)}  "
                f"p exact {show(row['p_exact'], 4)} drawn {show(row['p_monte_carlo'], 4)}"
            )
    yield f"1/2001 = {1 / 2001:.6f}"
    e, f = (
        read_count(Decimal(material.number(table="Table 9", row=row, column="Cov")), 285).k
        for row in ("Stage 2 only, E tau=0.90", "F tau=0.85")
    )
    k = int(material.number(table="Figure 1", study=AVERITEC, column="k (vetoes drawn)"))
    yield f"AVeriTeC, printed: E@0.90 {e} commits, F@0.85 {f}, k {k}: {f - (e - k)} commits of F are none of E's"


def tie(material: Material) -> Lines:
    """E and F at .95."""
    for study in SETTINGS:
        e, f = (material.one(study, "ladder", system=f"{kind}@0.95", arithmetic="published") for kind in "EF")
        names = ("commits", "se", "cpo_n", "cpo_c", "acc_sr", "rec_c", "ovc_i", "false_conflict")
        known = [name for name in names if e[name] is not None]
        values = [f"{name} {show(e[name], 4)}/{show(f[name], 4)}" for name in known]
        if known[0] == "commits":
            values[0] = f"commits {e['commits']}/{f['commits']}"
        yield f"{study}, E@0.95/F@0.95: {', '.join(values)}"


def null_size(material: Material) -> Lines:
    """How often vetoes that know nothing are rejected."""
    for setting in SETTINGS:
        for row in material.coverage(table="null", setting=setting, method="random veto, exact"):
            yield (
                f"{setting}: {row['row']}, {row['metric']}: p <= .05 in {percent(row['share'])}% of "
                f"{row['replications']} samples"
            )


def utility(material: Material) -> Lines:
    """F@0.90 beside conflict-if-any, outcome by outcome."""
    systems = ("F@0.90", "conflict_if_any", "D/any")
    counts = {
        name: {
            row["category"]: row["k"]
            for row in material.rows(VITAMINC, "utility_outcomes", system=name, arithmetic="exact")
        }
        for name in systems
    }
    yield f"VitaminC-Mixed, claims: {', '.join(systems)}"
    for category in counts["F@0.90"]:
        if any(counts[name][category] for name in systems):
            yield f"  {category}: {', '.join(str(counts[name][category]) for name in systems)}"
    row = material.one(
        VITAMINC, "break_even", a="conflict_if_any", b="F@0.90", arithmetic="exact", reading="every_non_commit"
    )
    yield (
        f"wrong commits {row['wrong_a']} (conflict_if_any) and {row['wrong_b']} (F@0.90), "
        f"non-commits {row['abstentions_a']} and {row['abstentions_b']}: {row['relation']}"
    )
    profiles = sorted({row["profile"] for row in material.rows(VITAMINC, "utility")})
    for profile in profiles:
        ranked = material.rows(VITAMINC, "utility", profile=profile, arithmetic="exact")
        place = {row["system"]: row["rank"] for row in ranked}
        yield f"rank of {len(place)} under {profile}: {', '.join(f'{name} {place[name]}' for name in systems)}"


def folds(material: Material) -> Lines:
    """How far the deal of claims into folds moves the screening contrast."""
    for row in material.rows(VITAMINC, "screening_contrast"):
        yield (
            f"{row['b']} minus {row['a']}: {show(row['delta'])} at the recorded deal; over {row['other_deals']} other "
            f"deals mean {show(row['delta_mean'])}, from {show(row['delta_min'])} to {show(row['delta_max'])}; "
            f"bootstrap of fixed scores {span(row['low'], row['high'])}, "
            f"refitted {span(row['refit_low'], row['refit_high'])}"
        )


def risk(material: Material) -> Lines:
    """What risk calibration chooses, and how often its bound fails on the other half."""
    for row in material.rows(VITAMINC, "risk", arithmetic="exact"):
        yield (
            f"alpha {row['alpha']:.2f}: {row['chosen']} of {row['configurations']} configurations chosen over "
            f"{row['splits']} splits, {row['most_chosen']} in {row['most_chosen_k']}; "
            f"CPO_N {show(row['cpo_n_calibration'])} on the half that chose, {show(row['cpo_n'])} on the other, "
            f"above alpha in {row['violations']}"
        )


FINDINGS: Final[dict[str, Finding]] = {
    "V01": arithmetic,
    "V03": null,
    "V08": tie,
    "V19": null_size,
    "V20": utility,
    "V23": folds,
    "risk": risk,
}
