"""Verdicts and certificates from the text of a model's answer: what it says, or why it cannot be used.

Nothing a model writes raises here: every text becomes a frozen result whose `parse_status` is `ok`,
`repaired:<codes>` (joined by + in the order of `json_object.Repair`) or `invalid`, the last with a `reason`
(`json_object.REASONS`). An invalid answer has no verdict, no confidence and no reasoning: nothing is rescaled and
there is no default. An answer without a confidence (missing or null) is usable; its confidence is None.
Reasoning and rationale decide nothing: they are read where they are texts and are None otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from decimal import Decimal
from typing import Any, Final

from warrant.certificates import deterministic_verdict, material_states
from warrant.decimals import ONE, from_units, to_units
from warrant.json_object import JsonObject, Reason, Repair, Unusable, find_object
from warrant.labels import ASKED, CONTRACTS, STATES

MOST_DIGITS: Final = 1000  # of a stated confidence, trailing zeros included
LONGEST_LABEL: Final = 100

# Variants by their folded form (see `_folded`).
ALIASES: Final = {
    "supports": "support",
    "supported": "support",
    "support": "support",
    "refutes": "refute",
    "refuted": "refute",
    "refute": "refute",
    "notenoughinfo": "insufficient",
    "notenoughinformation": "insufficient",
    "notenoughevidence": "insufficient",
    "nei": "insufficient",
    "insufficient": "insufficient",
    "insufficientevidence": "insufficient",
    "conflicting": "conflicting",
    "conflictingevidence": "conflicting",
    "conflictingevidencecherrypicking": "conflicting",
}
STATES_ASKED: Final = {state: state for state in STATES}
STATE_ALIASES: Final = {**STATES_ASKED, "support": "supports", "refute": "refutes"}
_AROUND: Final = " \t\r\n.*'\"`"
_BETWEEN: Final = dict.fromkeys(map(ord, " \t\r\n_-/"))


@dataclass(frozen=True)
class ParsedVerdict:
    """A verdict as parsed: `reason` is None, and `verdict` is not, exactly if it is usable."""

    verdict: str | None = None
    confidence: Decimal | None = None
    reasoning: str | None = None
    repairs: tuple[Repair, ...] = ()
    reason: Reason | None = None

    @property
    def parse_status(self) -> str:
        """`ok`, `repaired:<codes>` or `invalid`, as the verdicts artifact has it."""
        if self.reason is not None:
            return "invalid"
        return f"repaired:{'+'.join(self.repairs)}" if self.repairs else "ok"

    @property
    def status(self) -> str:
        """Status of a response that came without error and has this text: `empty` or `ok`."""
        return "empty" if self.reason is Reason.EMPTY else "ok"


@dataclass(frozen=True)
class Subclaim:
    """One subclaim, with the fields of `certificates.SUBCLAIM`."""

    text: str
    material: bool
    evidence_state: str
    evidence_ids: tuple[str, ...]
    rationale: str | None


@dataclass(frozen=True)
class ParsedCertificate(ParsedVerdict):
    """A certificate as parsed. `verdict` follows from the subclaims; `stated_verdict` is the model's own.

    The last three are None if the certificate is not usable.
    """

    stated_verdict: str | None = None
    subclaims: tuple[Subclaim, ...] | None = None
    material_mixed: bool | None = None
    material_insufficient: bool | None = None


def parse_verdict(text: str | None, contract: str) -> ParsedVerdict:
    """The verdict of an answer to an arm with this contract (a key of `labels.CONTRACTS`)."""
    offered = CONTRACTS[contract]
    try:
        found = find_object(text or "", lambda value: "verdict" in value)
        verdict, alias = _label(found.value["verdict"], offered)
        return ParsedVerdict(
            verdict=verdict,
            confidence=_confidence(found.value.get("confidence")),
            reasoning=_text(found.value.get("reasoning")),
            repairs=_with_alias(found.repairs, alias),
        )
    except Unusable as unusable:
        return ParsedVerdict(reason=unusable.reason)


def parse_certificate(text: str | None) -> ParsedCertificate:
    """The certificate of an answer; its verdict is `certificates.deterministic_verdict` of its subclaims.

    A certificate without a material subclaim is invalid, as no verdict follows from it.
    """
    try:
        found = find_object(text or "", lambda value: "subclaims" in value or "final_verdict" in value)
        stated, alias = _label(found.value.get("final_verdict"), CONTRACTS["certificate"])
        confidence = _confidence(found.value.get("confidence"))
        listed = found.value.get("subclaims")
        if not isinstance(listed, list) or not listed:
            raise Unusable(Reason.SUBCLAIMS)
        read = [_subclaim(item) for item in listed]
        rows = [asdict(subclaim) for subclaim, _ in read]
        verdict = deterministic_verdict(rows)
        if verdict is None:
            raise Unusable(Reason.NO_MATERIAL_SUBCLAIM)
        states = material_states(rows)
        return ParsedCertificate(
            verdict=verdict,
            confidence=confidence,
            reasoning=_text(found.value.get("reasoning")),
            repairs=_with_alias(found.repairs, alias or any(aliased for _, aliased in read)),
            stated_verdict=stated,
            subclaims=tuple(subclaim for subclaim, _ in read),
            material_mixed="mixed" in states,
            material_insufficient="insufficient" in states,
        )
    except Unusable as unusable:
        return ParsedCertificate(reason=unusable.reason)


def _with_alias(repairs: tuple[Repair, ...], alias: bool) -> tuple[Repair, ...]:
    return (*repairs, Repair.LABEL_ALIAS) if alias else repairs


def _folded(label: str) -> str:
    """A label without case, spaces, underscores, hyphens and slashes, and without quotes or stops around it."""
    return label.strip(_AROUND).casefold().translate(_BETWEEN)


def _known(said: Any, asked: Mapping[str, str], aliases: Mapping[str, str], reason: Reason) -> tuple[str, bool]:
    """What a label stands for, and whether it is a variant of the one asked for; Unusable with the reason."""
    if isinstance(said, str) and len(said) <= LONGEST_LABEL:
        if said in asked:
            return asked[said], False
        if (meant := aliases.get(_folded(said))) is not None:
            return meant, True
    raise Unusable(reason)


def _label(said: Any, offered: frozenset[str]) -> tuple[str, bool]:
    verdict, alias = _known(said, ASKED, ALIASES, Reason.UNKNOWN_LABEL)
    if verdict not in offered:
        raise Unusable(Reason.LABEL_OUTSIDE_CONTRACT)
    return verdict, alias


def _confidence(stated: Any) -> Decimal | None:
    """A stated confidence, exact; None where it is null; Unusable unless it is a number that the artifact holds."""
    if stated is None:
        return None
    if isinstance(stated, Decimal) and len(stated.as_tuple().digits) <= MOST_DIGITS:
        try:
            units = to_units(stated)
        except ValueError:
            raise Unusable(Reason.CONFIDENCE) from None
        if 0 <= units <= ONE:
            return from_units(units)
    raise Unusable(Reason.CONFIDENCE)


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _subclaim(item: JsonObject | Any) -> tuple[Subclaim, bool]:
    """A subclaim, and whether its evidence state is a variant of the one asked for."""
    if not isinstance(item, dict):
        raise Unusable(Reason.SUBCLAIMS)
    text, material, ids = item.get("text"), item.get("material"), item.get("evidence_ids")
    if not isinstance(text, str) or not text.strip():
        raise Unusable(Reason.SUBCLAIM_TEXT)
    if not isinstance(material, bool):
        raise Unusable(Reason.MATERIAL)
    state, alias = _known(item.get("evidence_state"), STATES_ASKED, STATE_ALIASES, Reason.EVIDENCE_STATE)
    if not isinstance(ids, list) or not all(isinstance(one, str) for one in ids):
        raise Unusable(Reason.EVIDENCE_IDS)
    return Subclaim(text, material, state, tuple(ids), _text(item.get("rationale"))), alias
