"""Verdicts and certificates from text: what is usable, what is mended under a code, what is invalid and why."""

from __future__ import annotations

import dataclasses
import json
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from fuzz_parse import SEEDS, check_laws
from hypothesis import example, given
from hypothesis import strategies as st

from warrant import artifact, certificates, strict_json, verdicts
from warrant.decimals import from_units
from warrant.imported import verdict_defaults
from warrant.json_object import Reason, Repair
from warrant.labels import CONTRACTS
from warrant.parse_verdict import (
    ALIASES,
    ASKED,
    MOST_DIGITS,
    ParsedCertificate,
    ParsedVerdict,
    Subclaim,
    parse_certificate,
    parse_verdict,
)

ABSENT = object()


def answer(label: object = "SUPPORTS", confidence: object = 0.9, **more: object) -> str:
    fields = {"reasoning": "because", "verdict": label, "confidence": confidence, **more}
    return json.dumps({name: value for name, value in fields.items() if value is not ABSENT})


def stated(confidence: str) -> str:
    """An answer with this text where the confidence stands."""
    return f'{{"verdict": "SUPPORTS", "confidence": {confidence}}}'


def invalid(reason: str) -> ParsedVerdict:
    return ParsedVerdict(reason=Reason(reason))


# --- status ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "status"),
    [
        (answer(), "ok"),
        (f"```json\n{answer()}\n```", "repaired:fenced"),
        (f"I think: {answer()}", "repaired:prose"),
        (answer() * 2, "repaired:duplicate_object"),
        (answer("support"), "repaired:label_alias"),
        (answer(reasoning="\ud800"), "repaired:surrogate"),
        (answer()[:-1] + ', "confidence": 9e-1}', "repaired:duplicate_key"),
        (
            f'```\n{answer("nei", reasoning=chr(0xDFFF))[:-1]}, "verdict": "nei"}}\n```\n' * 2,
            "repaired:fenced+duplicate_object+duplicate_key+surrogate+label_alias",
        ),
        (f"{answer()} {answer('REFUTES')}", "invalid"),
        ("", "invalid"),
    ],
)
def test_the_status_names_every_repair_in_one_order(text: str, status: str) -> None:
    assert parse_verdict(text, "4opt").parse_status == status


@pytest.mark.parametrize("text", [None, "", "  \n", "\u00a0\u3000"])
def test_an_empty_text_is_an_empty_answer(text: str | None) -> None:
    assert parse_verdict(text, "4opt") == invalid("empty")
    assert parse_certificate(text) == ParsedCertificate(reason=Reason.EMPTY)
    assert parse_verdict(text, "4opt").status == parse_certificate(text).status == "empty"
    assert parse_verdict("x", "4opt").status == "ok"


def test_results_are_frozen() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        parse_verdict(answer(), "4opt").verdict = "refute"  # type: ignore[misc]


# --- labels ----------------------------------------------------------------------------------------------------------

VARIANTS = {
    "support": 'SUPPORTED|support|Supports|supports.| SUPPORTS|**Supported**|"SUPPORTS"|`supports`',
    "refute": "REFUTED|refute|Refutes|REFUTES\n|refuted.",
    "insufficient": "NOT ENOUGH INFO|not-enough-info|NotEnoughInfo|NEI|nei|INSUFFICIENT|Not Enough Evidence"
    "|NOT_ENOUGH_EVIDENCE|Not enough information|insufficient evidence|NOT  ENOUGH\tINFO",
    "conflicting": "conflicting|CONFLICTING_EVIDENCE|Conflicting Evidence/Cherrypicking"
    "|Conflicting Evidence / Cherry-picking",
}


@pytest.mark.parametrize("label", ASKED)
def test_the_labels_asked_for_need_no_repair(label: str) -> None:
    expected = ParsedVerdict(ASKED[label], Decimal("0.9"), "because")
    assert parse_verdict(answer(label), "4opt") == expected


@pytest.mark.parametrize(("verdict", "label"), [(v, label) for v in VARIANTS for label in VARIANTS[v].split("|")])
def test_variants_of_a_label_are_taken_under_a_code(verdict: str, label: str) -> None:
    expected = ParsedVerdict(verdict, Decimal("0.9"), "because", (Repair.LABEL_ALIAS,))
    assert parse_verdict(answer(label), "4opt") == expected


@pytest.mark.parametrize(
    "label",
    [
        *("", "-", "NOT SUPPORTS", "not supported", "!SUPPORTS", "SUPPORTS?", "un-supported", "partially supports"),
        *(
            "SUPPORTS | REFUTES",
            "SUPPORTS, REFUTES",
            "SUPPORTS/REFUTES",
            "true",
            "none",
            "no_commit",
            "ＳＵＰＰＯＲＴＳ",
        ),
        *("supports" + " " * 100, None, True, 1, 0.5, [], ["SUPPORTS"], {}, {"verdict": "SUPPORTS"}),
    ],
)
def test_other_labels_are_invalid(label: object) -> None:
    """In particular negations and several labels at once, which hold a known label."""
    assert parse_verdict(answer(label), "4opt") == invalid("unknown_label")


def test_a_label_that_was_not_offered_is_invalid() -> None:
    """Every alias in every contract: taken if it is offered, and never turned into a label that is."""
    for contract, offered in CONTRACTS.items():
        for label, verdict in [*ALIASES.items(), *ASKED.items()]:
            parsed = parse_verdict(answer(label), contract)
            if verdict in offered:
                assert (parsed.verdict, parsed.reason) == (verdict, None)
            else:
                assert parsed == invalid("label_outside_contract")
    assert parse_verdict(answer("CONFLICTING"), "3opt") == invalid("label_outside_contract")


def test_an_object_without_a_verdict_is_no_answer() -> None:
    assert parse_verdict(answer(ABSENT), "4opt") == invalid("no_answer")
    assert parse_verdict('{"Verdict": "SUPPORTS"}', "4opt") == invalid("no_answer")


# --- confidences -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "confidence"),
    [
        *(("0", "0"), ("1", "1"), ("0.0", "0"), ("-0", "0"), ("-0.0", "0"), ("1.000", "1"), ("0e-99999", "0")),
        *(("0.90", "0.9"), ("1e0", "1"), ("9e-1", "0.9"), ("95E-2", "0.95"), ("0.1", "0.1")),
        *(("1e-18", "0.000000000000000001"), ("0.999999999999999999", "0.999999999999999999")),
        ("0." + "5" * 18 + "0" * (MOST_DIGITS - 18), "0." + "5" * 18),
    ],
)
def test_a_confidence_is_the_decimal_that_was_written(written: str, confidence: str) -> None:
    parsed = parse_verdict(stated(written), "4opt")
    assert (parsed.parse_status, parsed.confidence) == ("ok", Decimal(confidence))
    artifact.from_rows([row(parsed)], verdicts.SCHEMA)


@given(st.integers(0, 10**18))
def test_every_confidence_that_the_artifact_holds_is_exact(units: int) -> None:
    assert parse_verdict(stated(f"{from_units(units):f}"), "4opt").confidence == from_units(units)
    assert parse_verdict(stated(f"{units}e-18"), "4opt").confidence == from_units(units)


@pytest.mark.parametrize(
    "written",
    [
        *("65", "95.0", "-0.95", "2.5", "1.000000000000000001", "-1e-18", "1.01", "1e1", "1e400", "1e999999999", "-1"),
        *("0.1000000000000000001", "1e-19", "1e-999999999", "0." + "3" * 30),
        *('"0.9"', '"high"', '"90%"', '""', "true", "false", "[0.9]", "[]", "{}", '{"value": 0.9}'),
        *(pytest.param(sign + "5" * 10**6, id=f"{sign}555...") for sign in ("", "-", "0.")),
        pytest.param("0." + "0" * MOST_DIGITS + "5", id="0.000...5"),
        pytest.param("0.5" + "0" * MOST_DIGITS, id="0.5000..."),
    ],
)
def test_any_other_confidence_makes_the_answer_invalid(written: str) -> None:
    """Never rescaled, never a default: the verdict beside it is not used either."""
    assert parse_verdict(stated(written), "4opt") == invalid("confidence")
    assert (
        parse_certificate(certificate(confidence=ABSENT)[:-1] + f', "confidence": {written}}}').reason == "confidence"
    )


@pytest.mark.parametrize("confidence", [None, ABSENT])
def test_an_answer_without_confidence_is_usable(confidence: object) -> None:
    assert parse_verdict(answer(confidence=confidence), "4opt") == ParsedVerdict("support", None, "because")


@pytest.mark.parametrize("reasoning", [None, ABSENT, 1, ["a"], {"a": "b"}, True])
def test_reasoning_that_is_no_text_decides_nothing(reasoning: object) -> None:
    assert parse_verdict(answer(reasoning=reasoning), "4opt") == ParsedVerdict("support", Decimal("0.9"), None)


def test_an_unusable_answer_beside_a_usable_one_is_not_passed_over() -> None:
    """A model that gives 65 and then 0.65, or a label not offered and then one that is, said two things."""
    assert parse_verdict(f"{stated('65')} {stated('0.65')}", "4opt") == invalid("several_answers")
    assert parse_verdict(f"{answer('CONFLICTING')} {answer('REFUTES')}", "3opt") == invalid("several_answers")


# --- certificates ----------------------------------------------------------------------------------------------------


def subclaim(state: object = "supports", **more: object) -> dict[str, object]:
    fields = {"text": "t", "material": True, "evidence_state": state, "evidence_ids": ["E1"], "rationale": "r", **more}
    return {name: value for name, value in fields.items() if value is not ABSENT}


def certificate(*listed: object, **more: object) -> str:
    fields = {
        "subclaims": list(listed) or [subclaim()],
        "reasoning": "because",
        "final_verdict": "SUPPORTS",
        "confidence": 0.9,
        **more,
    }
    return json.dumps({name: value for name, value in fields.items() if value is not ABSENT})


def row(parsed: ParsedVerdict) -> dict[str, Any]:
    """A row of the artifact from what was parsed."""
    fields = {name: value for name, value in asdict(parsed).items() if name != "repairs"}
    return verdict_defaults({"case_id": 0, "model": "m", **fields, "parse_status": parsed.parse_status})


def test_a_certificate_is_read_whole_and_fits_its_artifact() -> None:
    parsed = parse_certificate(
        certificate(subclaim(), subclaim("refutes", material=False, evidence_ids=[], rationale=None))
    )
    assert parsed == ParsedCertificate(
        verdict="support",
        confidence=Decimal("0.9"),
        reasoning="because",
        stated_verdict="support",
        subclaims=(Subclaim("t", True, "supports", ("E1",), "r"), Subclaim("t", False, "refutes", (), None)),
        material_mixed=False,
        material_insufficient=False,
    )
    (written,) = artifact.from_rows([row(parsed)], certificates.SCHEMA).to_pylist()
    assert written["subclaims"][0] == subclaim()
    artifact.from_rows([row(parse_certificate(""))], certificates.SCHEMA)


@pytest.mark.parametrize(
    ("states", "verdict", "mixed", "insufficient"),
    [
        (["supports"], "support", False, False),
        (["refutes", "refutes"], "refute", False, False),
        (["supports", "refutes"], "conflicting", False, False),
        (["supports", "insufficient"], "insufficient", False, True),
        (["insufficient", "mixed"], "conflicting", True, True),
    ],
)
def test_the_verdict_follows_from_the_material_subclaims(
    states: list[str], verdict: str, mixed: bool, insufficient: bool
) -> None:
    """Whatever the model itself concludes, and whatever immaterial subclaims say."""
    aside = subclaim("mixed", material=False)
    parsed = parse_certificate(certificate(aside, *map(subclaim, states), final_verdict="REFUTES"))
    assert (parsed.verdict, parsed.stated_verdict) == (verdict, "refute")
    assert (parsed.material_mixed, parsed.material_insufficient) == (mixed, insufficient)


@pytest.mark.parametrize(
    ("said", "state"),
    [
        *(("support", "supports"), ("refute", "refutes"), ("Supports", "supports")),
        *((" MIXED.", "mixed"), ("INSUFFICIENT", "insufficient")),
    ],
)
def test_variants_of_an_evidence_state_are_taken_under_a_code(said: str, state: str) -> None:
    parsed = parse_certificate(certificate(subclaim(said)))
    assert parsed.subclaims is not None
    assert (parsed.subclaims[0].evidence_state, parsed.parse_status) == (state, "repaired:label_alias")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (certificate(subclaims=[]), "subclaims"),
        (certificate(subclaims=None), "subclaims"),
        (certificate(subclaims={"text": "t"}), "subclaims"),
        (certificate(subclaims=ABSENT), "subclaims"),
        (certificate(subclaim(), "t"), "subclaims"),
        (certificate(subclaim(text=ABSENT)), "subclaim_text"),
        (certificate(subclaim(text=" ")), "subclaim_text"),
        (certificate(subclaim(text=1)), "subclaim_text"),
        (certificate(subclaim(material="true")), "material"),
        (certificate(subclaim(material=1)), "material"),
        (certificate(subclaim(material=ABSENT)), "material"),
        (certificate(subclaim("conflicting")), "evidence_state"),
        (certificate(subclaim(None)), "evidence_state"),
        (certificate(subclaim(ABSENT)), "evidence_state"),
        (certificate(subclaim(evidence_ids="E1")), "evidence_ids"),
        (certificate(subclaim(evidence_ids=[1])), "evidence_ids"),
        (certificate(subclaim(evidence_ids=ABSENT)), "evidence_ids"),
        (certificate(subclaim(material=False)), "no_material_subclaim"),
        (certificate(final_verdict=ABSENT), "unknown_label"),
        (certificate(final_verdict="MIXED"), "unknown_label"),
        (certificate(confidence="0.9"), "confidence"),
        (certificate(subclaim(), subclaim())[:-40], "truncated"),
        (certificate() + certificate(subclaim("refutes")), "several_answers"),
        (json.dumps([subclaim()]), "no_answer"),
        (answer(), "no_answer"),
        ("No certificate", "no_object"),
    ],
)
def test_what_cannot_be_used_of_a_certificate_has_a_reason(text: str, reason: str) -> None:
    assert parse_certificate(text) == ParsedCertificate(reason=Reason(reason))


def test_a_variant_of_the_final_verdict_is_named_too() -> None:
    parsed = parse_certificate(certificate(final_verdict="conflicting evidence"))
    assert (parsed.verdict, parsed.stated_verdict) == ("support", "conflicting")
    assert parsed.parse_status == "repaired:label_alias"


def test_surrogates_in_a_certificate_are_mended_everywhere() -> None:
    """What was read can be written, and the status says that it was mended."""
    lone = "a\udc00"
    parsed = parse_certificate(certificate(subclaim(text=lone, evidence_ids=[lone], rationale=lone), reasoning=lone))
    assert parsed.parse_status == "repaired:surrogate"
    (written,) = artifact.from_rows([row(parsed)], certificates.SCHEMA).to_pylist()
    mended = "a\ufffd"
    assert written["subclaims"] == [subclaim(text=mended, evidence_ids=[mended], rationale=mended)]
    assert written["reasoning"] == mended


# --- any text --------------------------------------------------------------------------------------------------------

odd = st.sampled_from(
    [None, True, "", "0.9", 0.5, 1, 65, [], ["E1"], {}, "SUPPORTS", "supports", "NEI", "mixed", "\ud800"]
)
odd_subclaims = st.dictionaries(st.sampled_from(list(subclaim())), odd) | st.builds(subclaim, odd) | odd
answers = st.fixed_dictionaries(
    {},
    optional={
        "verdict": odd | st.sampled_from(sorted(ALIASES)),
        "final_verdict": odd | st.sampled_from(sorted(ASKED)),
        "confidence": odd | st.decimals(0, 1, places=3).map(float),
        "reasoning": st.text() | odd,
        "subclaims": st.lists(odd_subclaims | st.just(subclaim()), max_size=3) | odd,
    },
)
pieces = (
    answers.map(json.dumps)
    | st.sampled_from([*SEEDS, "```json\n", "\n```", "{", "}", '"', "\\", " and "])
    | st.text(max_size=5)
)


@given(st.lists(pieces, max_size=4).map("".join))
@example("".join(SEEDS))
@example('{"verdict": "SUPPORTS", "confidence": 0.5, "reasoning": "\ud800"}')
def test_any_text_becomes_a_result_that_keeps_the_laws(text: str) -> None:
    check_laws(text)


@given(st.text(max_size=50), st.sampled_from(sorted(ASKED)), st.integers(0, 100), st.text(max_size=30))
def test_an_answer_round_trips_in_prose(reasoning: str, label: str, percent: int, words: str) -> None:
    confidence = Decimal(percent).scaleb(-2)
    text = json.dumps({"reasoning": reasoning, "verdict": label, "confidence": float(confidence)})
    quiet = words.replace("{", "(")
    for said in (text, f"{quiet}\n```json\n{text}\n```\n{quiet}", f"{quiet}{text}{quiet}"):
        parsed = parse_verdict(said, "4opt")
        assert (parsed.verdict, parsed.confidence, parsed.reasoning) == (ASKED[label], confidence, reasoning)


# --- the releases' own answers ---------------------------------------------------------------------------------------


@pytest.mark.real_inputs("vitaminc_panel")
def test_the_panel_answers_parse_to_what_the_release_has(real_input: Callable[[str], Path]) -> None:
    """Verdict, confidence and reasoning of all 2,250 answers, none of them differently."""
    statuses: Counter[str] = Counter()
    for _, released in strict_json.lines(real_input("vitaminc_panel").read_bytes(), "vitaminc_panel"):
        for output in released["judge_outputs"]:
            parsed = parse_verdict(output["raw_response"], "3opt" if released["system"].endswith("3opt") else "4opt")
            theirs = output["parsed"]
            expected = (theirs["verdict_normal"], theirs["confidence"], theirs["reasoning"])
            assert (parsed.verdict, parsed.confidence, parsed.reasoning) == expected
            statuses[parsed.parse_status] += 1
    assert statuses == {"repaired:fenced": 1598, "ok": 652}


@pytest.mark.real_inputs("averitec_certificates")
def test_the_certificates_parse_to_what_the_release_has(real_input: Callable[[str], Path]) -> None:
    """All fields of all 285 certificates; two of them give an evidence state twice, the same each time."""
    statuses: Counter[str] = Counter()
    repeated = []
    data = real_input("averitec_certificates").read_bytes()
    for _, released in strict_json.lines(data, "averitec_certificates"):
        parsed = parse_certificate(released["raw_response"])
        theirs = released["certificate"]
        statuses[parsed.parse_status] += 1
        if Repair.DUPLICATE_KEY in parsed.repairs:
            repeated.append(released["case_id"])
        assert (parsed.verdict, parsed.stated_verdict) == (
            released["validator_verdict"],
            released["prompt_final_verdict"],
        )
        assert (parsed.confidence, parsed.reasoning) == (theirs["confidence"], theirs["reasoning"])
        assert parsed.subclaims is not None
        assert [{**asdict(one), "evidence_ids": [*one.evidence_ids]} for one in parsed.subclaims] == theirs["subclaims"]
    assert statuses == {"repaired:fenced": 283, "repaired:fenced+duplicate_key": 2}
    assert repeated == [6, 25]
