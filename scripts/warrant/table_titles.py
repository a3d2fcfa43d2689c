"""What each table and figure of the report answers, in one line: its contents list, and the heading of each table."""

from __future__ import annotations

from typing import Final

TITLES: Final = {
    # verdict study
    "bounds": "Between which values each rate lies, whatever the missing answers would have been",
    "composition": "What was sampled, from which pools",
    "judges": "Rates of every judge, panel and validator, with Wilson intervals",
    "confusion": "Gold label by verdict, every system",
    "rates": "The same rates in one long table, with exact limits beside Wilson's",
    "ladder": "The ladder of interventions, L0 to L5, in exact and in published arithmetic",
    "arithmetic": "Cases on which exact decimals and floats decide differently",
    "contrasts": "Paired differences between systems, with intervals and tests",
    "null": "Random-veto null: do the vetoes pick better than chance?",
    "null_distribution": "The distributions behind the random-veto null",
    "veto": "How often the validator's flags hit overrides, and raise false alarms",
    "residual": "Which overrides each rung leaves, resolves or adds",
    "utility": "What the systems are worth under cost profiles",
    "utility_outcomes": "Outcomes of every system, each claim in one category",
    "break_even": "The cost ratio at which two systems are worth the same",
    "confidence": "Stated confidence of overrides and of correct commits",
    "confidence_bins": "Calibration bins of stated confidence",
    "confidence_values": "Single values of stated confidence, by group",
    "sweep": "Threshold controllers E and F over all thresholds",
    "frontier": "E and F where their coverages are equal",
    "sweep_summary": "Mean selective error of E and F over the coverage both reach",
    "risk": "Choosing a controller on half of the claims: does its risk hold on the other half?",
    "risk_choices": "How often each configuration was chosen",
    "anatomy": "How many judges vote for a direction where the evidence conflicts",
    "taxonomy": "What certificates show about claims on which judges commit",
    "screening": "Screening models: can confidence or structure tell conflicts?",
    "screening_contrast": "Differences between screening models",
    "screening_scores": "Out-of-fold scores of the screening models",
    "profiles": "Lengths of claims, evidence and prompts",
    "accounting": "What each judge was asked, and what came back",
    # debate study
    "rounds": "Coverage, set sizes and actions at one recorded split",
    "groups": "Every calibration group with its size and threshold",
    "stopping": "Consensus stopping beside conformal stopping",
    "wrong_consensus": "Unanimous answers intercepted and rejected",
    "introduced": "Errors that the conformal layer introduces",
    "selection": "The majority on the very questions that are acted on",
    "baselines": "Accuracy of single agents and of votes",
    "consensus_rounds": "In which round agents agree",
    "weights": "Weights of the pools",
    "parse_failures": "Statuses of the outputs",
    "splits": "Every rate over the recorded splits, beside the exact law",
}
FIGURES: Final = {
    # verdict study
    "forest": "Directional verdicts where none is due, every system",
    "confusion": "Gold label by verdict, every system",
    "null": "What random vetoes would have done",
    "risk_coverage": "Selective error against coverage",
    "confidence": "Stated confidence of overrides and of correct commits",
    "anatomy": "Votes on claims whose evidence conflicts",
    # debate study
    "escalation_error": "Escalation against error, by domain",
    "coverage": "Coverage by domain, over the recorded splits",
    "acted_accuracy": "Share acted on against accuracy",
    "split_distribution": "What one split can show",
    "set_sizes": "Options left, by domain and alpha",
}
