"""Consensus stopping beside conformal stopping: what is left over, and how sure the accuracies are."""

from __future__ import annotations

from fractions import Fraction

from warrant.debate_paper.paper import Paper, Section, of, percent
from warrant.intervals import wilson
from warrant.markdown import grid, prose
from warrant.printed import read_count


def escalation(paper: Paper) -> Section:
    """Questions on which consensus stopping has nothing to act on."""
    rows: list[list[object]] = []
    early, totals = [], [0, 0, 0]
    for domain in paper.domains:
        count, n = paper.agreed(domain), paper.size(domain)
        early.append(1 - count.rate)
        rest, last = paper.one("Table 5", "share_with_never", domain=domain), n - paper.held(domain)
        cells = [
            n - count.k,
            percent(early[-1], 1),
            count.candidates,
            percent(rest),
            last,
            percent(Fraction(last, n), 1),
        ]
        rows.append([domain, n, *cells])
        totals = [a + b for a, b in zip(totals, (n, n - count.k, last), strict=True)]
    shares = [percent(Fraction(k, totals[0]), 1) for k in totals[1:]]
    rows.append(["all", totals[0], totals[1], shares[0], "", "", totals[2], shares[1]])
    drawn = paper.one("Figure (place not recorded)", "consensus_escalated_rate")
    lines = [
        *prose(
            "Test questions without consensus in rounds 0 to 2 are what Table 2's consensus share leaves to 100 %.",
            "Table 5's last column is the same for all questions. Not unanimous at round 3 itself is what Tables 3",
            "and 9 leave:",
        ),
        *grid(
            [
                "domain",
                "n",
                "none in rounds 0–2",
                "%",
                "counts that fit",
                "Table 5, R3 %",
                "not unanimous at round 3",
                "%",
            ],
            rows,
        ),
    ]
    low, high = (percent(end(early), 1) for end in (min, max))
    answer = f"drawn as {percent(drawn)} %; {low} to {high} % of a domain have no consensus before round 3"
    return Section("D07", "Does consensus stopping never escalate?", answer, lines)


def intervals(paper: Paper) -> Section:
    """How wide the missing intervals are, on Table 2's accuracies."""
    rows, apart = [], []
    for domain in paper.domains:
        chain, voted = paper.chain("Table 1", domain, "0.05"), paper.agreed(domain).k
        right = read_count(paper.one("Table 2", "consensus_accuracy", domain=domain), voted)
        cells: list[object] = [domain]
        ends = []
        for k, n in ((sum(chain.right), sum(chain.new)), (right.k, right.n)):
            low, high = wilson(k, n) or (0.0, 1.0)
            ends.append((low, high))
            cells += [f"{k}/{n}", f"{100 * low:.1f}–{100 * high:.1f}"]
        rows.append([*cells, right.candidates])
        apart.append(ends[0][0] > ends[1][1] or ends[1][0] > ends[0][1])
    lines = [
        *prose(
            "Wilson 95 % intervals of Table 2's two accuracies, from counts (conformal over rounds 0–3), for the one",
            "split that is printed. The two rest on different questions: the comparison is of what is acted on, not",
            "of reasoning.",
        ),
        *grid(["domain", "conformal", "interval %", "consensus", "interval %", "consensus counts that fit"], rows),
    ]
    return Section(
        "D09", "How wide are the intervals that are not printed?", f"{of(apart)} pairs of intervals are apart", lines
    )
