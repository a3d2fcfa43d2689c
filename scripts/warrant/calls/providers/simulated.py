"""Simulated judges: each request carries the gold label and the judge's parameters, and chance does the rest.

Every draw is a hash of the request (what judges share: of seed and case), so an answer is a function of its
request alone: the same on every machine, in any order, after any interruption.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import fields
from statistics import NormalDist
from typing import Any, Final

import numpy as np

from warrant.calls.providers import Case, Completion
from warrant.calls.request_key import Request
from warrant.labels import ASKED, CODES, NAMES, NONE
from warrant.simulation import HUNDREDTHS, OWN, SHARED, Draws, Judge, answer, judge_of

NAME: Final = "simulated"
VERSION: Final = 1  # of the law: part of every request, so that a changed law asks anew
BASE_URL: Final = "simulated:"
LAW: Final = [item.name for item in fields(Judge)]
SAID: Final = {meaning: label for label, meaning in ASKED.items()}
REASONING: Final = "SIMULATED: no model read this claim."


def request(
    judge: str, settings: Mapping[str, Any], messages: Sequence[Mapping[str, Any]], case: Case, replicate: int
) -> Request:
    """The request to a simulated judge."""
    parameters = {
        **{name: settings[name] for name in LAW},
        "law": VERSION,
        "seed": settings["seed"],
        "case": case.sha256,
        "gold": case.gold,
        "contract": case.contract,
    }
    return Request(NAME, BASE_URL, judge, messages, parameters, None, replicate)


class Simulated:
    """The provider of simulated judges; `latency` seconds pass before each answer."""

    def __init__(self, latency: float = 0.0) -> None:
        """How long an answer takes."""
        self.latency = latency

    async def complete(self, request: Request) -> Completion:
        """The answer that the request determines."""
        if self.latency:
            await asyncio.sleep(self.latency)
        return simulate(request)


def simulate(request: Request) -> Completion:
    """A verdict or a certificate with a confidence, in a fence at times; or one of three kinds of unusable answer."""
    given = request.parameters
    contract = str(given["contract"])
    shared = normals(f"{given['seed']} {given['case']}".encode(), SHARED)
    own = normals(request.canonical(), OWN + 1)
    law = judge_of({name: given[name] for name in LAW})
    gold = np.array([CODES[given["gold"]]], dtype=np.int8)
    answers = answer(gold, law, contract, shared[None, :], own[None, :OWN])
    label, confidence = int(answers.label[0]), int(answers.confidence[0])
    usage = {
        "input_words": sum(len(str(message["content"]).split()) for message in request.messages),
        "output_words": 0,
    }
    if label == NONE:
        return _unusable(float(own[OWN]), usage, request.model)
    body = (_certificate if contract == "certificate" else _verdict)(
        NAMES[label], f"{confidence / HUNDREDTHS:.2f}", own
    )
    text = f"```json\n{body}\n```" if answers.fenced[0] else body
    usage["output_words"] = len(text.split())
    return Completion("ok", text.encode(), "stop", usage, request.model)


def normals(seed: bytes, count: int) -> Draws:
    """Standard normal draws from a hash: the inverse normal distribution of 53 bits each."""
    standard = NormalDist()
    draws = []
    for number in range(count):
        digest = hashlib.sha256(seed + b"\0" + str(number).encode()).digest()
        draws.append(standard.inv_cdf(((int.from_bytes(digest[:8], "big") >> 11) + 0.5) / 2**53))
    return np.array(draws)


def _verdict(verdict: str, confidence: str, own: Draws) -> str:
    reasoning = json.dumps(REASONING)
    return f'{{"verdict": "{SAID[verdict]}", "confidence": {confidence}, "reasoning": {reasoning}}}'


def _certificate(verdict: str, confidence: str, own: Draws) -> str:
    """Subclaims from which the verdict follows; a conflict is one mixed subclaim or two opposite ones."""
    states = {
        "support": ["supports"],
        "refute": ["refutes"],
        "insufficient": ["insufficient"],
        "conflicting": ["mixed"] if own[OWN] > 0 else ["supports", "refutes"],
    }[verdict]
    stated = f'"confidence": {confidence}, "reasoning": {json.dumps(REASONING)}}}'
    subclaims = [
        {
            "text": f"SIMULATED subclaim {number}.",
            "material": True,
            "evidence_state": state,
            "evidence_ids": ["E1"],
            "rationale": REASONING,
        }
        for number, state in enumerate(states, start=1)
    ]
    return f'{{"subclaims": {json.dumps(subclaims)}, "final_verdict": "{SAID[verdict]}", {stated}'


def _unusable(draw: float, usage: Mapping[str, int], model: str) -> Completion:
    """Cut off, refused, or prose without an object: a third each."""
    if draw < NormalDist().inv_cdf(1 / 3):
        return Completion("truncated", b'{"verdict": "SUPP', "length", usage, model)
    if draw < NormalDist().inv_cdf(2 / 3):
        return Completion("refusal", b"", "refusal", usage, model)
    return Completion("ok", b"SIMULATED: an answer without a verdict.", "stop", usage, model)
