"""The document docs/debate-tables.md."""

from __future__ import annotations

from pathlib import Path

from warrant.debate_paper.conformal import conformal_accuracy, entropy, frozen, mathematics
from warrant.debate_paper.counts import integers, sums
from warrant.debate_paper.paper import Paper
from warrant.debate_paper.rounds import figure_3, misprints, trends
from warrant.debate_paper.stopping import escalation, intervals
from warrant.markdown import grid, joined, prose

COMMAND = "python scripts/debate_tables.py"
OPEN = """The tables do not say: whether the split is random or the second half (the paper says both); whether the text
counts rounds from 0 or from 1; the thresholds of Figure 4, which are not among the stored numbers; what Figure 2 calls
Borda; the seed and the number of splits; where the quotations without a recorded place stand; which sets Table 7's
change in singleton accuracy is over; whether bars 2 and 3 of Figure 3 are without stopping."""


def document(published: Path) -> str:
    """The whole document, from the file of published numbers alone."""
    paper = Paper(published)
    sections = [make(paper) for make in (integers, conformal_accuracy, frozen, entropy, mathematics, figure_3)]
    sections += [make(paper) for make in (misprints, escalation, trends, intervals, sums)]
    lines = [
        "# The debate paper's tables against one another",
        *prose(f"Written by `{COMMAND}` from `config/published/debate.tsv`; edit those, not this page."),
        *prose(
            "The paper's outputs are not public, so its numbers (arXiv 2604.07667v1, CC BY 4.0) cannot be recomputed",
            "from data. They can be set against one another: percentages are turned back into counts, and what",
            "follows from one table stands beside what another prints. Trailing zeros are those of a table's column.",
            "A value agrees when it rounds to the printed digits; where it must be rounded to one digit more first,",
            "the document says so. The findings D01 to D09 are those of `config/published/findings.tsv`.",
        ),
        *grid(["finding", "question", "answer"], ([s.finding or "–", s.title, s.answer] for s in sections), left=3),
    ]
    for section in sections:
        heading = f"## {section.finding}: {section.title}" if section.finding else f"## {section.title}"
        lines += [heading, *prose(f"**{section.answer[0].upper()}{section.answer[1:]}.**"), *section.lines]
    lines += ["## What stays open", *prose(OPEN.replace("\n", " "))]
    return joined(lines)
