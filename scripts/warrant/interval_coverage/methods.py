"""Names of the intervals and tests, and which stands beside which."""

from __future__ import annotations

from typing import Final

WILSON, NEWCOMBE, PERCENTILE = "Wilson", "Newcombe", "percentile bootstrap"  # as published
CLOPPER_PEARSON, EXACT_GAP, SCORE = "Clopper-Pearson", "square-and-add, exact limits", "square-and-add"
BESIDE: Final = {PERCENTILE: SCORE, WILSON: CLOPPER_PEARSON, NEWCOMBE: EXACT_GAP}  # published -> what stands beside it
MCNEMAR, VETO_EXACT, VETO_DRAWN = "exact McNemar", "random veto, exact", "random veto, drawn"
