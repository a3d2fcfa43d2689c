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
    "set_sizes": "Mean number of options left per domain and alpha, mean over splits with the 5-95% range.",
}
