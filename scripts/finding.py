"""Print the numbers behind a finding, from built tables and published ones; docs/findings.md shows what it prints."""

from __future__ import annotations

import argparse
import csv
import json
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

import debate_tables
import yaml

from warrant import artifact
from warrant.audit import Published, read_published
from warrant.certificates import deterministic_verdict
from warrant.decimals import ONE
from warrant.errors import InputError
from warrant.intervals import wilson
from warrant.labels import CONFLICTING, Labels, Mask, directional
from warrant.printed import read_count
from warrant.sample import gold_codes
from warrant.sample import read as read_sample
from warrant.systems import Controlled, load_controlled

Row = dict[str, Any]
Lines = Iterator[str]
AVERITEC: Final = "averitec"
VITAMINC: Final = "vitaminc_mixed"
SETTINGS: Final = (AVERITEC, VITAMINC)
CONTEMPORARY: Final = {
    "GPT-5.6 Terra": "single/gpt-5.6-terra/4opt",
    "Claude Sonnet 5": "single/claude-sonnet-5/4opt",
    "gpt-oss-120b": "single/gpt-oss-120b/4opt",
    "Mistral Small 4": "single/mistral-small-4/4opt",
}
BLOCK: Final = re.compile(r"(```console\n\$ python scripts/finding\.py (\S+)\n)(.*?)(```)", re.DOTALL)


@dataclass(frozen=True)
class Material:
    """Where built tables, the configuration and this project's own studies lie. Nothing is ever written there."""

    results: Path = Path("results")
    config: Path = Path("config")
    docs: Path = Path("docs")

    def built(self, name: str, run: str = "paper") -> Path:
        """A file of a run; InputError when it is not built."""
        path = self.results / run / name
        if not path.is_file():
            raise InputError(f"{path} is not built; `snakemake --cores 8 --config runs={run}` builds what it can")
        return path

    def rows(self, study: str, table: str, run: str = "paper", **keys: object) -> list[Row]:
        """The rows of a built table that have these values."""
        listed = artifact.read(self.built(f"{study}/tables/{table}.parquet", run)).to_pylist()
        return [row for row in listed if keys.items() <= row.items()]

    def one(self, study: str, table: str, run: str = "paper", **keys: object) -> Row:
        """The one row of a built table that has these values; InputError when there are none or several."""
        found = self.rows(study, table, run, **keys)
        if len(found) != 1:
            raise InputError(f"{study}/tables/{table}: found {len(found)} rows with {keys}, expected one")
        return found[0]

    def published(self, **keys: str) -> list[Published]:
        """Published numbers of the verdict paper whose columns have these values."""
        listed = read_published(self.config / "published/verdict.tsv")
        return [row for row in listed if all(getattr(row, name) == value for name, value in keys.items())]

    def number(self, **keys: str) -> str:
        """The one published number with these columns, as printed; InputError when there are none or several."""
        found = {row.published for row in self.published(**keys)}
        if len(found) != 1:
            raise InputError(f"{self.config}/published/verdict.tsv: found {len(found)} numbers with {keys}, expected 1")
        return found.pop()

    def settings(self, study: str) -> Mapping[str, Any]:
        """A study of the run `paper`, as configured."""
        text = (self.config / "runs/paper.yaml").read_text(encoding="utf-8")
        settings: Mapping[str, Any] = yaml.safe_load(text)["studies"][study]
        return settings

    def coverage(self, **keys: str) -> list[Row]:
        """Rows of docs/interval-coverage.csv."""
        with (self.docs / "interval-coverage.csv").open(encoding="utf-8", newline="") as handle:
            return [row for row in csv.DictReader(handle) if keys.items() <= row.items()]


Finding = Callable[[Material], Lines]
FINDINGS: dict[str, Finding] = {}


def finding(name: str) -> Callable[[Finding], Finding]:
    """Register what prints a finding."""

    def register(function: Finding) -> Finding:
        FINDINGS[name] = function
        return function

    return register


def show(value: float | None, places: int = 3) -> str:
    """A number to some places; a missing one as a dash."""
    return "-" if value is None else f"{value:.{places}f}"


def span(low: float | None, high: float | None, places: int = 3) -> str:
    """An interval."""
    return f"[{show(low, places)}, {show(high, places)}]"


def percent(text: str) -> str:
    """A share of the coverage study in percent."""
    return f"{100 * float(text):.1f}"


def tally(items: Iterable[object]) -> str:
    """Counts, the most frequent first, then in order."""
    found = sorted(Counter(map(str, items)).items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{name} {count}" for name, count in found)


# --- the verdict paper -----------------------------------------------------------------------------------------------


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


@finding("V01")
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


@finding("V02")
def draw(material: Material) -> Lines:
    """The hash of the redrawn sample map."""
    wanted = material.settings(AVERITEC)["sample"][0]
    path = material.built(f"{AVERITEC}/sample_map.json")
    yield f"seed {wanted['seed']}, {len(json.loads(path.read_text(encoding='utf-8')))} cases redrawn"
    yield f"SHA-256 of the redrawn map  {artifact.file_sha256(path)}"
    yield f"SHA-256 in the release      {wanted['map_sha256']}"


@finding("V03")
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


@finding("V04")
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


@finding("V05")
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


@finding("V06")
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


@finding("V07")
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


@finding("V08")
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


@finding("V09")
def suppressed(material: Material) -> Lines:
    """Claims with two directional votes that the panel does not commit."""
    for study in SETTINGS:
        row = material.one(study, "anatomy", system="panel/4opt", group="votes_2")
        cases = material.one(study, "anatomy", system="panel/4opt", group="splits_returned")["cases"]
        yield (
            f"{study}: two directional votes {row['k']}, committed {row['committed']}, "
            f"returned as conflicting {row['conflicting']} (cases {', '.join(map(str, cases))})"
        )


@finding("V10")
def opposing(material: Material) -> Lines:
    """Medians of opposing items."""
    rows = material.published(table="Section 6.4", column="median opposing items")
    yield f"released: {', '.join(f'{row.row} {row.published}' for row in rows)}"
    text = material.published(table="Section 6.4", column="median opposing items (text)")
    yield f"text: {', '.join(f'{row.row} {row.published}' for row in text)}"


@finding("V11")
def missing_probes(material: Material) -> Lines:
    """Missing probe cases beside unparsed verdicts."""
    strata = {"cpo": "R CPO (n)", "preserved": "R Preserved (n)", "pure, correct": "R Pure, correct (n)"}
    strata |= {"pure, other": "R Pure, other (n)", "insufficient": "R Insufficient (n)"}
    for name, system in CONTEMPORARY.items():
        printed = {key: int(material.number(table="Table 8", row=name, column=text)) for key, text in strata.items()}
        unparsed = {
            row["gold"]: row["n"]
            for row in material.rows(AVERITEC, "confusion", system=system, predicted="none")
            if row["n"]
        }
        yield (
            f"{name}: printed missing {material.number(table='Release: e1_recognition', row=name, field='missing')}; "
            f"285 - {'-'.join(map(str, printed.values()))} = {285 - sum(printed.values())}; "
            f"unparsed verdicts {sum(unparsed.values())} ({tally(unparsed.keys()) or 'none'})"
        )
    sonnet = [
        row for row in material.published(row="Claude Sonnet 5", study=AVERITEC) if row.published in ("149", "150")
    ]
    yield f"Claude Sonnet 5, printed n: {', '.join(sorted({f'{row.table} {row.published}' for row in sonnet}))}"


@finding("V15")
def unknown_evidence(material: Material) -> Lines:
    """Certificates that cite evidence that does not exist."""
    for study in SETTINGS:
        flags = artifact.read(material.built(f"{study}/flags/certificate.parquet")).to_pylist()
        listed = [f"case {row['case_id']} cites {row['found']}, there is {row['expected']}" for row in flags]
        yield f"{study}: {'; '.join(listed) or 'no flags'}"


@finding("V17")
def wilson_high(material: Material) -> Lines:
    """A Wilson bound by its formula and in the table."""
    low, high = wilson(16, 28) or (None, None)
    row = material.one(
        AVERITEC, "confidence", quantity="at_least", population="cpo_commits", tau=0.9, arithmetic="published"
    )
    printed = material.number(table="Section 5", column="confidence >= 0.90 Wilson high", study=AVERITEC)
    yield f"Wilson 95% of 16/28 = {span(low, high, 4)}; table {row['k']}/{row['n']} {span(row['low'], row['high'], 4)}"
    yield f"printed upper bound {printed}"


@finding("V18")
def both_directions(material: Material) -> Lines:
    """Three-option panel: votes in both directions."""
    group = {row["group"]: row for row in material.rows(VITAMINC, "anatomy", system="panel/3opt")}
    three, two = group["votes_3"]["k"], group["votes_2"]["k"]
    same, dissent = group["commits_unanimous"]["k"], group["commits_suppressed"]["k"]
    yield f"three directional votes {three}: one direction {same}, both directions {three - same}"
    yield f"two directional votes {two}: one direction {dissent}, one each way and one insufficient {two - dissent}"
    yield f"commits with a vote in the other direction (commits_opposed): {group['commits_opposed']['k']}"


@finding("V19")
def null_size(material: Material) -> Lines:
    """How often vetoes that know nothing are rejected."""
    for setting in SETTINGS:
        for row in material.coverage(table="null", setting=setting, method="random veto, exact"):
            yield (
                f"{setting}: {row['row']}, {row['metric']}: p <= .05 in {percent(row['share'])}% of "
                f"{row['replications']} samples"
            )


@finding("V20")
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


@finding("V21")
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


@finding("V22")
def twice(material: Material) -> Lines:
    """Claims that are sampled twice."""
    for study in SETTINGS:
        rows = read_sample(material.built(f"{study}/sample.parquet")).to_pylist()
        found: defaultdict[str, list[Row]] = defaultdict(list)
        for row in rows:
            found[row["text"]].append(row)
        yield f"{study}: {len(rows)} cases, {len(found)} claim texts"
        for same in found.values():
            if len(same) > 1:
                evidence = len({row["evidence_sha256"] for row in same})
                yield (
                    f"  cases {' and '.join(str(row['case_id']) for row in same)}: "
                    f"gold {tally(row['gold'] for row in same)}, "
                    f"rows {', '.join(str(row['source_row']) for row in same)} of {same[0]['source']}, "
                    f"{evidence} evidence texts"
                )


@finding("V23")
def folds(material: Material) -> Lines:
    """How far the deal of claims into folds moves the screening contrast."""
    for row in material.rows(VITAMINC, "screening_contrast"):
        yield (
            f"{row['b']} minus {row['a']}: {show(row['delta'])} at the recorded deal; over {row['other_deals']} other "
            f"deals mean {show(row['delta_mean'])}, from {show(row['delta_min'])} to {show(row['delta_max'])}; "
            f"bootstrap of fixed scores {span(row['low'], row['high'])}, "
            f"refitted {span(row['refit_low'], row['refit_high'])}"
        )


@finding("V24")
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


@finding("V25")
def gaps(material: Material) -> Lines:
    """CPO_C - Ovc_I with an interval."""
    for study in SETTINGS:
        for name, system in CONTEMPORARY.items():
            row = material.one(study, "judges", system=system)
            yield (
                f"{study}, {name}: {row['cpo_c_k']}/{row['cpo_c_n']} - {row['ovc_i_k']}/{row['ovc_i_n']} = "
                f"{show(row['gap'])} {span(row['gap_low'], row['gap_high'])}"
            )


@finding("V26")
def repeated_keys(material: Material) -> Lines:
    """Certificates whose JSON gives a key twice."""
    for study in SETTINGS:
        rows = artifact.read(material.built(f"{study}/verdicts/certificate.parquet")).to_pylist()
        texts = {row["case_id"]: row["text"] for row in rows if row["text"] is not None}
        found = []
        for case, text in texts.items():
            repeated: list[str] = []

            def note(pairs: list[tuple[str, Any]], into: list[str] = repeated) -> dict[str, Any]:
                for key, count in Counter(key for key, _ in pairs).items():
                    if count > 1:
                        into.append(f"{key}: {', '.join(json.dumps(value) for name, value in pairs if name == key)}")
                return dict(pairs)

            json.JSONDecoder(object_pairs_hook=note).raw_decode(text[text.index("{") :])
            found += [f"case {case} gives {one}" for one in repeated]
        yield "; ".join([f"{study}: {len(texts)} of {len(rows)} certificates with their text", *found])


@finding("risk")
def risk(material: Material) -> Lines:
    """What risk calibration chooses, and how often its bound fails on the other half."""
    for row in material.rows(VITAMINC, "risk", arithmetic="exact"):
        yield (
            f"alpha {row['alpha']:.2f}: {row['chosen']} of {row['configurations']} configurations chosen over "
            f"{row['splits']} splits, {row['most_chosen']} in {row['most_chosen_k']}; "
            f"CPO_N {show(row['cpo_n_calibration'])} on the half that chose, {show(row['cpo_n'])} on the other, "
            f"above alpha in {row['violations']}"
        )


NOT_SHOWN: Final = {
    "V12": "output caps stand in the release's executed manifests and probe rows (probe_neutral, probe_reduced, "
    "probe_decomposition), which are not at hand; the field `request` of the manifests would show it",
    "V13": "request parameters and attempts stand in the executed manifests and raw rows (averitec_judges_raw, "
    "vitaminc_judges_raw, probe_*), which are not at hand; the fields `request_parameters` and `attempt` would show it",
    "V14": "the spans are in probe_recognition, which is not at hand; comparing `support_span` and `refute_span` with "
    "the evidence of the sample would show it",
    "V16": "the audit's sheets and labels are withheld by the authors; only they would show it",
}


def _not_shown(reason: str) -> Finding:
    def lines(material: Material) -> Lines:
        yield f"not shown here, because {reason}"

    return lines


FINDINGS.update({name: _not_shown(reason) for name, reason in NOT_SHOWN.items()})


# --- the debate paper ------------------------------------------------------------------------------------------------

SECTIONS: Final[dict[str, Callable[[debate_tables.Paper], debate_tables.Section]]] = {
    "D01": debate_tables.conformal_accuracy,
    "D02": debate_tables.frozen,
    "D03": debate_tables.entropy,
    "D04": debate_tables.mathematics,
    "D05": debate_tables.figure_3,
    "D06": debate_tables.misprints,
    "D07": debate_tables.escalation,
    "D08": debate_tables.trends,
    "D09": debate_tables.intervals,
}
STATIC: Final = {
    "alpha": 0.05, "round": 0, "weights": "uniform", "score": "lac", "calibration": "domain", "stopping": "static"
}  # fmt: skip
PANEL: Final = "mmlu_pro"


def options(material: Material) -> Lines:
    """Options of a question in the eight domains."""
    rows = artifact.read(material.built(f"{PANEL}/sample.parquet", "panel")).to_pylist()
    sizes = Counter(len(row["options"]) for row in rows)
    yield (
        f"MMLU-Pro: {len(rows)} questions with {min(sizes)} to {max(sizes)} options, {sizes[10]} with ten, "
        f"mean {sum(size * count for size, count in sizes.items()) / len(rows):.2f}"
    )


def undecided(material: Material) -> Lines:
    """Questions without consensus among three real models."""
    rows = material.rows(PANEL, "stopping", "panel", alpha=0.05, reading="all_rounds")
    shares = {row["domain"]: row["consensus_escalated_rate"] for row in rows}
    everywhere = shares.pop("all")
    yield (
        f"three real models, one round: no consensus on {100 * everywhere:.1f}% of the test questions, by domain "
        f"{100 * min(shares.values()):.1f} to {100 * max(shares.values()):.1f}%"
    )


def spread(material: Material) -> Lines:
    """How far splits are apart on three real models' answers."""
    for metric in ("coverage", "singleton_accuracy"):
        rows = {row["domain"]: row for row in material.rows(PANEL, "splits", "panel", metric=metric, **STATIC)}
        del rows["all"]
        name, widest = max(rows.items(), key=lambda item: item[1]["p95"] - item[1]["p05"])
        yield (
            f"three real models, alpha .05, {widest['splits']} splits, {metric}: 5 to 95% of splits is "
            f"{show(widest['p05'])} to {show(widest['p95'])} in {name}, the widest of {len(rows)} domains"
        )
    row = material.one(PANEL, "selection", "panel", alpha=0.05, domain="all")
    yield (
        f"accuracy of the {row['acted']} acts {show(row['conformal_accuracy'])}, of the majority on the same questions "
        f"{show(row['majority_accuracy_acted'])}, of the majority on all {row['n']} {show(row['majority_accuracy'])}"
    )


ON_DATA: Final[dict[str, Finding]] = {"D06": options, "D07": undecided, "D09": spread}


def _from_tables(name: str) -> Finding:
    def lines(material: Material) -> Lines:
        section = SECTIONS[name](debate_tables.Paper(material.config / "published/debate.tsv"))
        yield f"{section.title}{'' if section.title.endswith('?') else ':'} {section.answer}"
        if name in ON_DATA:
            yield from ON_DATA[name](material)

    return lines


FINDINGS.update({name: _from_tables(name) for name in SECTIONS})


# --- the command line ------------------------------------------------------------------------------------------------


def titles(config: Path) -> dict[str, str]:
    """Titles of the findings that have one."""
    with (config / "published/findings.tsv").open(encoding="utf-8", newline="") as handle:
        return {row["id"]: row["title"] for row in csv.DictReader(handle, delimiter="\t", quoting=csv.QUOTE_NONE)}


def printed(name: str, material: Material) -> str:
    """What the program prints for a finding."""
    return "".join(f"{line}\n" for line in FINDINGS[name](material))


def renewed(document: str, material: Material, only: Iterable[str] = tuple(FINDINGS)) -> str:
    """The document with the block of every finding in `only` as the program prints it now."""
    wanted = set(only)

    def block(found: re.Match[str]) -> str:
        head, name, old, tail = found.groups()
        return head + (printed(name, material) if name in wanted else old) + tail

    return BLOCK.sub(block, document)


def main() -> None:
    """Print a finding's numbers; one line and exit status 1 when something that they rest on is not built."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("finding", nargs="?", choices=sorted(FINDINGS), help="which (without: list them)", metavar="ID")
    parser.add_argument("--results", type=Path, default=Path("results"))
    parser.add_argument("--renew", action="store_true", help="put the numbers into docs/findings.md")
    given = parser.parse_args()
    material = Material(results=given.results)
    try:
        if given.renew:
            document = material.docs / "findings.md"
            artifact.write_text(document, renewed(document.read_text(encoding="utf-8"), material))
        elif given.finding is None:
            known = titles(material.config)
            for name in sorted(FINDINGS):
                print(f"{name}  {known.get(name, FINDINGS[name].__doc__)}")
        else:
            for line in FINDINGS[given.finding](material):
                print(line)
    except InputError as error:
        print(f"finding: {error}", file=sys.stderr)
        raise SystemExit(1) from None


if __name__ == "__main__":
    main()
