"""Captions of the figures: what is drawn, on which data, and how to read it."""

from __future__ import annotations

from typing import Final

CAPTIONS: Final = {
    "escalation_error": (
        "Escalation against error, one arrow per domain at alpha = .05 and the recorded split: from acting on every "
        "unanimous answer (circle) to acting on conformal singletons (triangle). Horizontal: share of test questions "
        "not acted on. Vertical: error among the questions acted on."
    ),
    "coverage": (
        "Coverage per domain, mean over the recorded splits, with the 5-95% range over splits (bar) and the exact "
        "beta-binomial 5-95% band of split conformal prediction for continuous scores (grey). Means above the band's "
        "centre line are ties at the threshold."
    ),
    "acted_accuracy": (
        "Share of questions acted on against the accuracy of what is acted on, over alpha; means over splits, with "
        "the 5-95% range in both directions."
    ),
    "split_distribution": (
        "What one split can show: 5-95% range and mean of coverage, share acted on, accuracy of what is acted on and "
        "interception of wrong unanimous answers over the recorded splits, all domains, by alpha."
    ),
    "forest": (
        "Directional verdicts where none is due: on gold-conflicting claims (circles) and on gold-insufficient ones "
        "(squares), with Wilson 95% intervals. A judge that keeps its contract is at 0."
    ),
    "confusion": (
        "Gold label (rows) against verdict (columns), every system; numbers are claims, shades are shares of the gold "
        "label. An override of conflicting evidence is in the last row, first two columns."
    ),
    "null": (
        "What the same number of random vetoes would have done: exact distribution (grey), the validator's vetoes "
        "(solid line), no veto (dashed). Upper row: as published, thresholds of E and F as the paper pairs them and in "
        "its arithmetic. Lower rows: like for like, the same threshold, only the commits of E that F removes."
    ),
    "risk_coverage": (
        "Selective error against coverage over all thresholds, for the threshold alone (E) and with the veto before it "
        "(F). Solid: exact decimals; dotted: compensated floats, as published. Shaded: the coverage that both reach."
    ),
    "confidence": (
        "How sure the panel says it is: cumulative shares of its mean stated confidence, for commits that override a "
        "conflict and for correct directional commits. Ticks below are the values that occur."
    ),
    "anatomy": (
        "Gold-conflicting claims by the number of directional votes, and what the panel returns on them. Incomplete: "
        "some vote is not usable."
    ),
    "set_sizes": "Mean number of options left per domain and alpha, mean over splits with the 5-95% range.",
}

# Figures of the verdict study, and the tables that each is drawn from.
DRAWN_FROM: Final = {
    "forest": ("judges",),
    "confusion": ("confusion",),
    "null": ("null", "null_distribution"),
    "risk_coverage": ("sweep",),
    "confidence": ("confidence_values",),
    "anatomy": ("anatomy",),
}
