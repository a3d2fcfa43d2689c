"""What is said to change from round to round: Figure 3, thresholds and set sizes, quoted ranges."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from itertools import pairwise

from warrant.debate_paper.paper import ALPHAS, ROUNDS, UNPLACED, Paper, Section, of, percent, yes
from warrant.markdown import grid, prose
from warrant.printed import TWICE, prints_as, unit

FIGURE_3 = "Figure 3 (read off the vectors)"


def figure_3(paper: Paper) -> Section:
    """Which round each bar of Figure 3 shows."""
    rows, near = [], {}
    for bar in ("0", "1", "2"):  # the round that its row of the file names
        cells: list[object] = [f"bar {int(bar) + 1}, labelled round {int(bar) + 1}"]
        for t in ROUNDS:
            gaps = []
            for d, a in paper.settings:
                shown = paper.one(FIGURE_3, "coverage", domain=d, alpha=a, round=bar)
                gaps.append(abs(shown - paper.one("Table 1", "coverage", domain=d, alpha=a, round=t)))
            near[bar, t] = of(gap <= Decimal("0.001") for gap in gaps)
            cells.append(f"{near[bar, t].partition(' ')[0]} ({percent(max(gaps))})")
        rows.append(cells)
    sizes = ", ".join(map(str, paper.by_round("Table 1", "set_size", "law", "0.05")))
    lines = [
        *prose(
            f"Settings, of {len(paper.settings)}, in which a bar stands within 0.1 points of Table 1's coverage, and",
            "in brackets the largest distance:",
        ),
        *grid(["Figure 3", *(f"Table 1, round {t}" for t in ROUNDS)], rows),
        *prose(
            "Static and early sets are the same at round 0 only, so a figure without stopping must equal Table 1",
            "there and may differ later. That bars 2 and 3 are rounds 1 and 2 without stopping fits this; the tables",
            "do not prove it.",
        ),
        *prose(
            f"Mean set size of Law at alpha .05, rounds 0 to 3: {sizes}. The text quotes both the first and the last.",
        ),
    ]
    answer = f"bar 1, labelled round 1, is round 0 in {near['0', '0']} settings and round 1 in {near['0', '1']}"
    return Section("D05", "Which rounds does Figure 3 show?", answer, lines)


def misprints(paper: Paper) -> Section:
    """A threshold of zero beside large sets, and how many options questions have."""
    zeros, full, impossible, fewer = [], [], [], []
    claimed = paper.one(UNPLACED, "min_options", domain="all")
    for table, domain, alpha in paper.columns:
        thresholds = paper.by_round(table, "q_hat", domain, alpha)
        sizes = paper.by_round(table, "set_size", domain, alpha)
        for t, (q, size) in enumerate(zip(thresholds, sizes, strict=True)):
            if q == 0:
                around = " ".join(map(str, thresholds[max(t - 1, 0) : t + 2]))
                zeros.append([f"{table}: {domain}, alpha {alpha}, round {t}", around, size])
                impossible.append(size > 1)
        if thresholds[-1] == 1:
            chain, n = paper.chain(table, domain, alpha), paper.size(domain)
            coverage = paper.one(table, "coverage", domain=domain, alpha=alpha, round=ROUNDS[-1])
            kept = Fraction(sum(chain.new), n)
            most = Fraction(sizes[-1]) + unit(sizes[-1]) / 2  # what may have been rounded away
            options = [(value - kept) / (1 - kept) for value in (Fraction(sizes[-1]), most)]
            fewer.append(options[1] < claimed)
            covered = 1 - Fraction(chain.wrong, n)
            cells = [
                percent(coverage),
                percent(covered),
                yes(prints_as(covered, coverage, TWICE), prints_as(covered, coverage)),
            ]
            full.append([f"{table}: {domain}", sizes[-1], f"{sum(chain.new)}/{n}", *cells, f"{float(options[0]):.2f}"])
    lines = [
        *prose(
            "A label is in the set when 1 - P(label) <= q_hat, so at q_hat = 0 only a label of probability 1 is, and",
            "no set has more than one. Thresholds printed as 0:",
        ),
        *grid(["where", "q_hat before, there, after", "mean set size"], zeros),
        *prose(
            f"Questions are said to have {claimed} options each. At q_hat = 1.00 every set is full (to rounding)",
            "unless it is a singleton kept from an earlier round; then only kept wrong singletons cost coverage, and",
            "the mean number of options of the other questions is (mean set size - k/n)/(1 - k/n), with k singletons",
            "kept. At round 3:",
        ),
        *grid(
            [
                "q_hat = 1.00",
                "mean set size",
                "kept, k/n",
                "coverage %",
                "1 - wrong kept/n, %",
                "agrees",
                "mean options",
            ],
            full,
        ),
        *prose("That the range is 3 to 10 follows from the data set, not from these tables."),
    ]
    answer = (
        f"{of(impossible)} thresholds printed as 0 stand beside sets of more than one label; full sets hold fewer than "
        f"{claimed} options in {of(fewer)} domains"
    )
    return Section("D06", "A threshold of zero, and ten options", answer, lines)


def trends(paper: Paper) -> Section:
    """Set sizes over rounds, and the quoted ranges of accuracy."""
    grown: dict[str, list[bool]] = {table: [] for table in ALPHAS}
    steps: dict[str, list[bool]] = {table: [] for table in ALPHAS}
    rows = []
    for table, domain, alpha in paper.columns:
        sizes = paper.by_round(table, "set_size", domain, alpha)
        grown[table].append(sizes[-1] > sizes[0])
        steps[table] += [a < b for a, b in pairwise(sizes)]
        if grown[table][-1]:
            rows.append([f"{table}: {domain}, alpha {alpha}", *sizes])
    quotes, left_out = [], []
    for t in (ROUNDS[0], ROUNDS[-1]):
        found = {d: paper.one("Table 4", "accuracy", method="majority_vote", domain=d, round=t) for d in paper.domains}
        for field, end in (("min_accuracy", min), ("max_accuracy", max)):
            stated = paper.one(UNPLACED, field, round=t)
            domain = end(found, key=found.__getitem__)
            without = end(value for name, value in found.items() if name != domain)
            left_out += [domain] if stated == without != found[domain] else []
            cells = [percent(found[domain]), domain, yes(stated == found[domain]), percent(without)]
            quotes.append([f"round {t}, {field.partition('_')[0]}", percent(stated), *cells])
    lines = [
        *prose("Mean set size, as printed:"),
        *grid(
            ["table", "rises from one round to the next", "larger at round 3 than at round 0"],
            ([table, f"{of(steps[table])} steps", f"{of(grown[table])} columns"] for table in ALPHAS),
        ),
        *grid(["larger at the end", *(f"round {t}" for t in ROUNDS)], rows),
        *prose("Ends of the quoted accuracy of the debate's majority vote over domains, against Table 4:"),
        *grid(["end", "quoted %", "Table 4 %", "domain", "agrees", "without that domain %"], quotes),
    ]
    larger = ", ".join(f"{of(grown[table])} columns of {table}" for table in ALPHAS)
    names = ", ".join(sorted(set(left_out))) or "no domain"
    answer = f"set size ends larger in {larger}; {len(left_out)} of {len(quotes)} quoted ends hold only without {names}"
    return Section("D08", "Do sets shrink, and is every domain in the range?", answer, lines)
