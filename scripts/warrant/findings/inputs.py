"""Findings on what the verdict paper's release holds, and lacks."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from typing import Any, Final

from warrant import artifact
from warrant.findings.material import AVERITEC, CONTEMPORARY, SETTINGS, Finding, Lines, Material, Row, tally
from warrant.sample import read as read_sample


def draw(material: Material) -> Lines:
    """The hash of the redrawn sample map."""
    wanted = material.settings(AVERITEC)["sample"][0]
    path = material.built(f"{AVERITEC}/sample_map.json")
    yield f"seed {wanted['seed']}, {len(json.loads(path.read_text(encoding='utf-8')))} cases redrawn"
    yield f"SHA-256 of the redrawn map  {artifact.file_sha256(path)}"
    yield f"SHA-256 in the release      {wanted['map_sha256']}"


def opposing(material: Material) -> Lines:
    """Medians of opposing items."""
    rows = material.published(table="Section 6.4", column="median opposing items")
    yield f"released: {', '.join(f'{row.row} {row.published}' for row in rows)}"
    text = material.published(table="Section 6.4", column="median opposing items (text)")
    yield f"text: {', '.join(f'{row.row} {row.published}' for row in text)}"


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


def unknown_evidence(material: Material) -> Lines:
    """Certificates that cite evidence that does not exist."""
    for study in SETTINGS:
        flags = artifact.read(material.built(f"{study}/flags/certificate.parquet")).to_pylist()
        listed = [f"case {row['case_id']} cites {row['found']}, there is {row['expected']}" for row in flags]
        yield f"{study}: {'; '.join(listed) or 'no flags'}"


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


FINDINGS: Final[dict[str, Finding]] = {
    "V02": draw,
    "V10": opposing,
    "V11": missing_probes,
    "V15": unknown_evidence,
    "V22": twice,
    "V26": repeated_keys,
    **{name: _not_shown(reason) for name, reason in NOT_SHOWN.items()},
}
