"""Laws of the answer parsers on any text, and a coverage-guided search for a text that breaks one.

pytest checks the laws on drawn texts (test_parse_verdict.py). With atheris in an environment of its own:

    PYTHONPATH=scripts:tests python tests/fuzz_parse.py -max_total_time=120 -max_len=4096
"""

from __future__ import annotations

import json
import sys
from typing import Any

SEEDS = (
    '{"verdict": "SUPPORTS", "confidence": 0.9, "reasoning": "a } in a \\" string ```"}',
    '```json\n{"verdict": "nei", "confidence": null}\n```',
    'So: {"verdict": "REFUTES", "confidence": 1e-2} and again {"confidence": 1e-2, "verdict": "REFUTES"}',
    '{"subclaims": [{"text": "t", "material": true, "evidence_state": "mixed", "evidence_ids": ["E1"], '
    '"rationale": "\\ud800"}], "final_verdict": "CONFLICTING", "confidence": 0.5}',
    '{"verdict": "SUPPORTS", "verdict": NaN, "confidence": -Infinity, "a": [{}, {"b": "\\\\"}]',
)


def check_laws(text: str) -> None:
    """No text raises; what is usable is whole and in range; what is not says why; text that is JSON needs no scan."""
    from warrant.certificates import STATES, deterministic_verdict
    from warrant.decimals import from_units, to_units
    from warrant.json_object import Repair, Unusable, find_object
    from warrant.labels import CONTRACTS
    from warrant.parse_verdict import parse_certificate, parse_verdict

    for contract in CONTRACTS:
        parsed = parse_verdict(text, contract)
        check_shared(parsed, CONTRACTS[contract])
    certificate = parse_certificate(text)
    check_shared(certificate, CONTRACTS["certificate"])
    usable = certificate.reason is None
    for one in (certificate.subclaims, certificate.material_mixed, certificate.material_insufficient):
        assert (one is not None) == usable
    assert (certificate.stated_verdict in CONTRACTS["certificate"]) == usable
    if certificate.subclaims is not None:
        rows = [vars(item) for item in certificate.subclaims]
        assert certificate.verdict == deterministic_verdict(rows)
        for item in certificate.subclaims:
            assert item.evidence_state in STATES
            for words in (item.text, item.rationale or "", *item.evidence_ids):
                words.encode("utf-8")
    # against json alone: a whole JSON object needs no repair but of surrogates, and is found as it stands
    plain = whole_object(text)
    try:
        found = find_object(text, lambda value: True)
    except Unusable:
        assert plain is None
    else:
        assert plain is None or set(found.repairs) <= {Repair.SURROGATE}
        json.dumps(found.value, ensure_ascii=False, default=str).encode("utf-8")
        if plain is not None and not found.repairs:
            assert json.dumps(found.value, default=str) == json.dumps(plain, default=str)
    confidence = parse_verdict(text, "4opt").confidence
    assert confidence is None or from_units(to_units(confidence)) == confidence


def check_shared(parsed: Any, offered: frozenset[str]) -> None:
    """What verdicts and certificates have in common."""
    from warrant.json_object import REASONS, Reason, Repair

    if parsed.reason is not None:
        assert parsed == type(parsed)(reason=parsed.reason)
        assert parsed.reason in REASONS
        assert parsed.parse_status == "invalid"
    else:
        assert parsed.verdict in offered
        assert parsed.confidence is None or 0 <= parsed.confidence <= 1
        assert list(parsed.repairs) == [code for code in Repair if code in parsed.repairs]
        assert parsed.parse_status == ("repaired:" + "+".join(parsed.repairs) if parsed.repairs else "ok")
        (parsed.reasoning or "").encode("utf-8")
    assert parsed.status == ("empty" if parsed.reason is Reason.EMPTY else "ok")


def whole_object(text: str) -> dict[str, Any] | None:
    """The object that a text is, as json reads it, if its numbers and keys are fit to use."""
    from decimal import Decimal

    from warrant.json_object import MOST_DEPTH

    def refuse(_: object) -> Any:
        raise ValueError

    def pairs(found: list[tuple[str, Any]]) -> dict[str, Any]:
        # two keys that differ in a lone surrogate only become one
        keys = {key.encode("utf-16", "surrogatepass").decode("utf-16", "replace") for key, _ in found}
        return dict(found) if len(keys) == len(found) else refuse(found)

    try:
        value = json.loads(
            text.strip(), parse_int=Decimal, parse_float=Decimal, parse_constant=refuse, object_pairs_hook=pairs
        )
    except (ValueError, ArithmeticError, RecursionError):
        return None
    return value if isinstance(value, dict) and depth(value) <= MOST_DEPTH else None


def depth(value: Any) -> int:
    """How many objects and lists are inside each other."""
    level, deepest = [value], 0
    while any(isinstance(item, dict | list) for item in level):
        deepest += 1
        inside = [item for item in level if isinstance(item, dict | list)]
        level = [one for item in inside for one in (item.values() if isinstance(item, dict) else item)]
    return deepest


def main() -> None:
    """Run atheris; bytes are read as UTF-8 with surrogates passed, or, where they are not, byte by byte."""
    import atheris

    with atheris.instrument_imports(include=["warrant.json_object", "warrant.parse_verdict", "json"]):
        import warrant.parse_verdict

    assert warrant.parse_verdict

    def one(data: bytes) -> None:
        try:
            text = data.decode("utf-8", "surrogatepass")
        except UnicodeDecodeError:
            text = data.decode("latin-1")
        check_laws(text)

    atheris.Setup(sys.argv, one)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
