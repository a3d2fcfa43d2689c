"""Table `profiles`: how long claims, evidence and prompts are, by gold label.

Release of the verdict paper, dataset_profiles/dataset_profiles.csv; token counts are added. Characters are Unicode
code points, tokens are separated by white space, units are evidence blocks; evidence is measured as a judge reads it.
Percentiles interpolate linearly between order statistics. Every number is an exact quotient, rounded once.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Final

import pyarrow as pa

from warrant import artifact
from warrant.artifact import field
from warrant.labels import GOLD
from warrant.sample import evidence_text

QUANTITIES: Final = {
    "claim_chars": "characters of the claim",
    "claim_tokens": "white-space tokens of the claim",
    "evidence_chars": "characters of the evidence text",
    "evidence_tokens": "white-space tokens of the evidence text",
    "evidence_units": "evidence blocks",
    "prompt_chars": "characters of the rendered prompt",
}
_PERCENTILES: Final = {"median": Fraction(1, 2), "p25": Fraction(1, 4), "p75": Fraction(3, 4)}
_MISSING: Final = "null when some claim of the row has none"
ALL: Final = "all"


def _statistics(name: str, meaning: str) -> list[pa.Field[Any]]:
    return [
        field(f"{name}_mean", pa.float64(), f"{meaning}, mean; {_MISSING}"),
        *(field(f"{name}_{at}", pa.float64(), f"{meaning}, {at}; {_MISSING}") for at in _PERCENTILES),
        *(field(f"{name}_{end}", pa.int64(), f"{meaning}, {end}; {_MISSING}") for end in ("min", "max")),
    ]


SCHEMA: Final = pa.schema(
    [
        field("label", pa.string(), "gold label; 'all' for the whole sample", nullable=False),
        field("n", pa.int64(), "claims", nullable=False),
        *(item for name, meaning in QUANTITIES.items() for item in _statistics(name, meaning)),
    ]
)


def case_profile(text: str, evidence: Sequence[str] | None, prompt_chars: int | None = None) -> dict[str, int | None]:
    """Every quantity of one claim; None for what the sample does not carry."""
    shown = None if evidence is None else evidence_text(evidence)
    return {
        "claim_chars": len(text),
        "claim_tokens": len(text.split()),
        "evidence_chars": None if shown is None else len(shown),
        "evidence_tokens": None if shown is None else len(shown.split()),
        "evidence_units": None if evidence is None else len(evidence),
        "prompt_chars": prompt_chars,
    }


def profiles(sample: pa.Table, prompt_chars: Sequence[int | None] | None = None) -> pa.Table:
    """One row for the whole sample and one per gold label.

    sample: in the order of case_id. prompt_chars: characters of each claim's rendered prompt in that order, None where
    the study renders none. ValueError when their number is not the number of claims.
    """
    names = ("gold", "text", "evidence")
    claims = artifact.columns(sample, names)
    lengths = [None] * len(claims) if prompt_chars is None else list(prompt_chars)
    measured = [
        (gold, case_profile(text, evidence, length))
        for (gold, text, evidence), length in zip(claims, lengths, strict=True)
    ]
    rows = []
    for label in (ALL, *GOLD):
        members = [profile for gold, profile in measured if label in (ALL, gold)]
        row: dict[str, Any] = {"label": label, "n": len(members)}
        for name in QUANTITIES:
            row |= _describe(name, [profile[name] for profile in members])
        rows.append(row)
    return artifact.from_rows(rows, SCHEMA)


def _describe(name: str, values: Sequence[int | None]) -> dict[str, float | int]:
    """Statistics of a quantity; none of them when there is no claim or a value is missing."""
    listed = sorted(value for value in values if value is not None)
    if not listed or len(listed) < len(values):
        return {}
    return {
        f"{name}_mean": float(Fraction(sum(listed), len(listed))),
        **{f"{name}_{at}": float(percentile(listed, share)) for at, share in _PERCENTILES.items()},
        f"{name}_min": listed[0],
        f"{name}_max": listed[-1],
    }


def percentile(ordered: Sequence[int], share: Fraction) -> Fraction:
    """Value at a share of the way along the ordered values, linear between neighbours (numpy's default rule)."""
    place = share * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (place - below) * (ordered[above] - ordered[below])
