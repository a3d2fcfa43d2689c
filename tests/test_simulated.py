"""Simulated judges as a provider: answers follow from the request alone, at the rates of the law."""

from __future__ import annotations

import asyncio
from typing import Any

import numpy as np
import pytest

from warrant.calls.providers import Case, Completion, provider_for, request_for
from warrant.calls.providers.simulated import LAW, normals, simulate
from warrant.calls.request_key import Request, parse
from warrant.parse_verdict import parse_certificate, parse_verdict
from warrant.simulation import judge_of, rates

SETTINGS: dict[str, Any] = {
    "provider": "simulated",
    "seed": 1,
    "sensitivity": "0.80",
    "reversal": "0.05",
    "false_conflict": "0.08",
    "conflict_blindness": "0.30",
    "untyped_blindness": "0.65",
    "overcommitment": "0.40",
    "correlation": "0.50",
    "confidence_right": "0.90",
    "confidence_wrong": "0.82",
    "confidence_noise": "0.05",
    "unusable": "0.10",
    "fenced": "0.20",
}
GOLD = ("support", "refute", "insufficient", "conflicting")
N = 1200  # cases per gold label


def ask(case: int, gold: str, contract: str = "4opt", judge: str = "a", replicate: int = 0, **changed: str) -> Request:
    messages = [{"role": "user", "content": f"claim {case}"}]
    return request_for(judge, {**SETTINGS, **changed}, messages, Case(f"{case:064x}", gold, contract), replicate)


def said(completion: Completion, contract: str) -> str | None:
    if completion.status != "ok":
        return None
    text = completion.body.decode()
    return (parse_certificate(text) if contract == "certificate" else parse_verdict(text, contract)).verdict


@pytest.mark.parametrize("contract", ["3opt", "4opt", "certificate"])
def test_parsed_answers_have_the_rates_of_the_law(contract: str) -> None:
    """Body, parser and law together: each rate within 4 binomial standard errors."""
    answers = {
        gold: [said(simulate(ask(case, gold, contract)), contract) for case in range(i * N, (i + 1) * N)]
        for i, gold in enumerate(GOLD)
    }
    directional = ("support", "refute")
    right = sum(verdict == gold for gold in directional for verdict in answers[gold])
    false = sum(verdict == "conflicting" for gold in directional for verdict in answers[gold])
    observed = {
        "cpo_c": (sum(verdict in directional for verdict in answers["conflicting"]), N),
        "rec_c": (answers["conflicting"].count("conflicting"), N),
        "ovc_i": (sum(verdict in directional for verdict in answers["insufficient"]), N),
        "acc_sr": (right, 2 * N),
        "false_conflict": (false, 2 * N),
    }
    expected = rates(judge_of({name: SETTINGS[name] for name in LAW}), contract)
    for name, (k, n) in observed.items():
        error = (expected[name] * (1 - expected[name]) / n) ** 0.5
        assert abs(k / n - expected[name]) <= 4 * error, name


def test_an_answer_is_a_function_of_its_request() -> None:
    """The same request, also one that was stored and read back, gets the same bytes; any other part changes draws."""
    request = ask(5, "conflicting")
    assert simulate(request) == simulate(ask(5, "conflicting")) == simulate(parse(request.canonical()))
    several = [ask(case, "conflicting", replicate=replicate) for case in range(40) for replicate in (0, 1)]
    first, second = ([simulate(request).body for request in several[start::2]] for start in (0, 1))
    assert first != second


def test_judges_of_one_seed_err_together() -> None:
    """With correlation 1 two judges of the same rates never differ in kind; with 0 they agree as chance has it."""

    def both(correlation: str, seed: int = 1) -> list[tuple[bool, bool]]:
        changed = {"correlation": correlation, "unusable": "0", "seed": seed}
        pairs = [
            [said(simulate(ask(case, "conflicting", judge=judge, **changed)), "4opt") for judge in "ab"]  # type: ignore[arg-type]
            for case in range(600)
        ]
        return [(a != "conflicting", b != "conflicting") for a, b in pairs]

    assert all(a == b for a, b in both("1"))
    blind = sum(a and b for a, b in both("0"))
    assert abs(blind - 600 * 0.3**2) <= 4 * (600 * 0.09 * 0.91) ** 0.5


def test_every_kind_of_unusable_answer_occurs() -> None:
    """Cut off, refused and prose: each is stored with its own status, and none has a verdict."""
    made = [simulate(ask(case, "support", unusable="1")) for case in range(60)]
    assert {item.status for item in made} == {"ok", "truncated", "refusal"}
    assert {said(item, "4opt") for item in made} == {None}


def test_forms_and_confidences() -> None:
    """A fifth stands in fences; confidences have two decimals around the stated means."""
    made = [simulate(ask(case, "support", unusable="0")).body.decode() for case in range(N)]
    fenced = sum(text.startswith("```") for text in made)
    assert abs(fenced - 0.2 * N) <= 4 * (N * 0.2 * 0.8) ** 0.5
    parsed = [parse_verdict(text, "4opt") for text in made]
    right = [float(item.confidence) for item in parsed if item.verdict == "support" and item.confidence is not None]
    assert abs(np.mean(right) - 0.90) < 0.01
    assert all(item.confidence is not None and item.confidence.as_tuple().exponent >= -2 for item in parsed)  # type: ignore[operator]


def test_draws_are_standard_normal() -> None:
    """Mean, variance and independence of the hash's draws (4 standard errors)."""
    draws = np.array([normals(str(i).encode(), 3) for i in range(4000)])
    assert np.all(np.abs(draws.mean(axis=0)) < 4 / 4000**0.5)
    assert np.all(np.abs(draws.var(axis=0) - 1) < 4 * (2 / 4000) ** 0.5)
    assert np.all(np.abs(np.corrcoef(draws.T)[np.triu_indices(3, 1)]) < 4 / 4000**0.5)


def test_latency_is_not_part_of_the_request() -> None:
    """How long an answer takes is the provider's, not the request's."""
    provider = provider_for({"provider": "simulated", "latency": "0.001"})
    assert asyncio.run(provider.complete(ask(1, "support"))) == simulate(ask(1, "support"))
