"""Laws of the answer parsers on any text, and a coverage-guided search for a text that breaks one.

pytest checks the laws on drawn texts (test_parse_verdict.py). With atheris in an environment of its own:

    PYTHONPATH=scripts:tests python tests/fuzz_parse.py -max_total_time=120 -max_len=4096
"""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from decimal import Decimal
from typing import Any

SEEDS = (
    '{"verdict": "SUPPORTS", "confidence": 0.9, "reasoning": "a } in a \\" string ```"}',
    '```json\n{"verdict": "nei", "confidence": null}\n```',
    'So: {"verdict": "REFUTES", "confidence": 1e-2} and again {"confidence": 1e-2, "verdict": "REFUTES"}',
    '{"subclaims": [{"text": "t", "material": true, "evidence_state": "mixed", "evidence_ids": ["E1"], '
    '"rationale": "\\ud800"}], "final_verdict": "CONFLICTING", "confidence": 0.5}',
    '{"verdict": "SUPPORTS", "verdict": NaN, "confidence": -Infinity, "a": [{}, {"b": "\\\\"}]',
    '{"verdict": "NEI", "a": {"b": 1.0, "c": [null], "b": 1}, "verdict": "NEI", "a": {"c": [null], "b": 1}}',
    '{"verdict": "NEI", "\\ud800": {"\ud801": "\ud802"}, "\ud803": {"\ufffd": "\\udfff"}}',
)


def check_laws(text: str) -> None:
    """No text raises; what is usable is whole and in range; what is not says why; text that is JSON needs no scan."""
    from warrant.certificates import deterministic_verdict
    from warrant.decimals import from_units, to_units
    from warrant.json_object import Repair, Unusable, find_object
    from warrant.labels import CONTRACTS, STATES
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
    # against json alone: a whole JSON object is found as it stands, mended where keys repeat or surrogates are lone
    whole = whole_object(text)
    try:
        found = find_object(text, lambda value: True)
    except Unusable:
        assert whole is None
    else:
        json.dumps(found.value, ensure_ascii=False, default=str).encode("utf-8")
        if whole is not None:
            assert (canonical(found.value), set(found.repairs)) == (canonical(whole[0]), whole[1])
    # the store's text, with U+FFFD for surrogates, says what the answer said
    stored = parse_verdict(mended(text), "4opt")
    said = parse_verdict(text, "4opt")
    assert replace(stored, repairs=()) == replace(said, repairs=())
    assert {*said.repairs} - {Repair.SURROGATE} == {*stored.repairs} - {Repair.SURROGATE}
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


class Pairs(list[tuple[str, Any]]):
    """A JSON object as the pairs that were written."""


def whole_object(text: str) -> tuple[dict[str, Any], set[str]] | None:
    """The object that a text is, as json reads it, and the codes of what is mended in it; None if it is not fit to use.

    Unlike the parser, it first reads everything and then compares the canonical texts of values.
    """
    from warrant.json_object import MOST_DEPTH

    def refuse(_: object) -> Any:
        raise ValueError

    codes: set[str] = set()
    try:
        read = json.loads(
            text.strip(), parse_int=Decimal, parse_float=Decimal, parse_constant=refuse, object_pairs_hook=Pairs
        )
        if not isinstance(read, Pairs) or depth(read) > MOST_DEPTH:
            return None
        return reduced(read, codes), codes
    except (ValueError, ArithmeticError, RecursionError):
        return None


def reduced(value: Any, codes: set[str]) -> Any:
    """A value with every key once and no lone surrogates, and the codes noted; ValueError for a key with two values."""
    if isinstance(value, Pairs):
        given: dict[str, list[Any]] = {}
        for key, item in value:
            given.setdefault(reduced(key, codes), []).append(reduced(item, codes))
        if any(len(items) > 1 for items in given.values()):
            codes.add("duplicate_key")
        if any(len(set(map(canonical, items))) > 1 for items in given.values()):
            raise ValueError
        return {key: items[0] for key, items in given.items()}
    if isinstance(value, list):
        return [reduced(item, codes) for item in value]
    if isinstance(value, str) and mended(value) != value:
        codes.add("surrogate")
        return mended(value)
    return value


def mended(text: str) -> str:
    """U+FFFD for every surrogate."""
    return "".join("\ufffd" if 0xD800 <= ord(character) < 0xE000 else character for character in text)


def canonical(value: Any) -> str:
    """One text for all JSON texts of a value: keys sorted, numbers without leading and trailing zeros."""
    if isinstance(value, dict):
        return "{" + ",".join(sorted(f"{json.dumps(key)}:{canonical(item)}" for key, item in value.items())) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(canonical, value)) + "]"
    if isinstance(value, Decimal):
        sign, digits, exponent = value.as_tuple()
        written = "".join(map(str, digits)).lstrip("0")
        bare = written.rstrip("0")
        return f"{'-' * sign}{bare}e{int(exponent) + len(written) - len(bare)}" if bare else "0"
    return json.dumps(value)


def depth(value: Any) -> int:
    """How many objects and lists are inside each other."""
    level, deepest = [value], 0
    while any(isinstance(item, dict | list) for item in level):
        deepest += 1
        level = [one for item in level if isinstance(item, dict | list) for one in inside(item)]
    return deepest


def inside(value: dict[str, Any] | list[Any]) -> list[Any]:
    """Values of an object, items of a list."""
    if isinstance(value, Pairs):
        return [item for _, item in value]
    return list(value.values()) if isinstance(value, dict) else value


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
