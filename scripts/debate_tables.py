"""Set the debate paper's printed tables against one another: what follows from them, and what contradicts."""

from __future__ import annotations

import argparse
import sys
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import partial
from itertools import pairwise
from pathlib import Path

from warrant.artifact import write_text
from warrant.audit import Published, read_published
from warrant.errors import InputError
from warrant.intervals import wilson
from warrant.printed import ONCE, TWICE, UNIT, Chain, Count, Fit, counts, fit, prints_as, read_count, unit

COMMAND = "python scripts/debate_tables.py"
ROUNDS = ("0", "1", "2", "3")
ALPHAS = {"Table 1": ("0.05", "0.10"), "Table 6": ("0.05", "0.10"), "Table 8": ("0.01",)}
FIGURE_3 = "Figure 3 (read off the vectors)"
UNPLACED = "Text (place not recorded)"
SLACK = {ONCE: "once", TWICE: "twice", UNIT: "off by up to one unit"}
Lines = list[str]


class Paper:
    """The published numbers, found by table, field and any keys that pick exactly one of them."""

    def __init__(self, path: Path) -> None:
        """Read and index the file."""
        self.path = path
        self._index: dict[tuple[str, str], list[tuple[dict[str, str], Published]]] = {}
        for row in read_published(path):
            self._index.setdefault((row.table, row.field), []).append((row.keys, row))
        self.domains = [keys["domain"] for keys, _ in self._index.get(("Domain sizes", "n"), [])]
        self.settings = [(domain, alpha) for domain in self.domains for alpha in ALPHAS["Table 1"]]
        self.columns = [
            (t, domain, alpha) for t, alphas in ALPHAS.items() for domain in self.domains for alpha in alphas
        ]

    def all(self, table: str, field: str, **keys: str) -> list[Decimal]:
        """Every number of a table and field with these keys, in the order of the file."""
        found = self._index.get((table, field), [])
        return [Decimal(row.published) for have, row in found if keys.items() <= have.items()]

    def one(self, table: str, field: str, **keys: str) -> Decimal:
        """The one number with these keys; InputError when there are none or several."""
        found = self.all(table, field, **keys)
        if len(found) != 1:
            raise InputError(f"{self.path}: found {len(found)} numbers of {table}, {field}, {keys}, expected one")
        return found[0]

    def whole(self, table: str, field: str, **keys: str) -> int:
        """The one number with these keys, a count."""
        return int(self.one(table, field, **keys))

    def size(self, domain: str, field: str = "n_test") -> int:
        """Questions of a domain: `n`, `n_test` or `n_cal`."""
        return self.whole("Domain sizes", field, domain=domain)

    def by_round(self, table: str, field: str, domain: str, alpha: str) -> list[Decimal]:
        """A field of Table 1, 6 or 8 at rounds 0 to 3."""
        return [self.one(table, field, domain=domain, alpha=alpha, round=t) for t in ROUNDS]

    def acts(self, table: str, domain: str, alpha: str) -> Fit:
        """What the table's singleton shares and accuracies say about new and right singleton sets by round."""
        find = partial(self.all, table, "new_singleton_accuracy", domain=domain, alpha=alpha)
        accuracies = [next(iter(find(round=t)), None) for t in ROUNDS]  # none is printed where no set is new
        return fit(self.by_round(table, "singleton_rate", domain, alpha), accuracies, self.size(domain))

    def chain(self, table: str, domain: str, alpha: str) -> Chain:
        """The counts of new and right singleton sets by round; InputError unless only one solution exists."""
        found = self.acts(table, domain, alpha).chains
        if len(found) != 1:
            raise InputError(f"{self.path}: found {len(found)} solutions for {table}, {domain}, {alpha}, expected one")
        return found[0]

    def held(self, domain: str) -> int:
        """Test questions on which the agents are unanimous at round 3, right or wrong."""
        wrong = self.whole("Table 3", "wrong", domain=domain, round="3")
        return wrong + self.whole("Table 9", "right", domain=domain, round="3")

    def rejected(self, domain: str) -> Count:
        """Wrong consensus at round 3 that is rejected at alpha .05."""
        wrong = self.whole("Table 3", "wrong", domain=domain, round="3")
        return read_count(self.one("Table 3", "interception", domain=domain), wrong)

    def agreed(self, domain: str) -> Count:
        """Test questions that consensus decides, by Table 2."""
        return read_count(self.one("Table 2", "consensus_rate", domain=domain), self.size(domain))


@dataclass(frozen=True)
class Section:
    """One part of the document: its finding, what it asks, the answer in a line, and the evidence."""

    finding: str
    title: str
    answer: str
    lines: Lines


def percent(value: Fraction | Decimal, places: int = 2) -> str:
    """A share in percent: exact ones to `places` decimals, printed ones with the digits they have."""
    if isinstance(value, Decimal):
        return f"{value.scaleb(2):f}"
    return f"{Decimal(value.numerator * 100) / value.denominator:.{places}f}"


def yes(holds: bool, once: bool = True) -> str:
    """How an agreement is shown, also one that needs two roundings."""
    return ("yes" if once else "rounded twice") if holds else "**no**"


def of(holds: Iterable[bool]) -> str:
    """How many hold, of how many."""
    listed = list(holds)
    return f"{sum(listed)} of {len(listed)}"


def prose(*sentences: str) -> Lines:
    """A paragraph."""
    text = " ".join(sentences)
    return ["", *textwrap.wrap(text, 118, break_long_words=False, break_on_hyphens=False), ""]


def grid(header: Sequence[str], rows: Iterable[Sequence[object]], left: int = 1) -> Lines:
    """A Markdown table; the first `left` columns are text, the others stand to the right."""
    rule = "".join(["---|"] * left + ["---:|"] * (len(header) - left))
    return ["", f"| {' | '.join(header)} |", f"|{rule}", *(f"| {' | '.join(map(str, row))} |" for row in rows), ""]


def printed_shares(paper: Paper) -> Iterable[tuple[str, str, Count]]:
    """Every printed share with a known denominator: its table, where in it, and its nearest count."""
    for table, domain, alpha in paper.columns:
        for t in ROUNDS:
            for field, name in (
                ("coverage", "coverage"),
                ("singleton_rate", "singletons so far"),
                ("majority_accuracy", "accuracy"),
            ):
                for share in paper.all(table, field, domain=domain, alpha=alpha, round=t):
                    yield table, f"{domain}, alpha {alpha}, round {t}, {name}", read_count(share, paper.size(domain))
    for domain in paper.domains:
        for field, name in (("consensus_rate", "by consensus"), ("conformal_rate", "by singleton sets")):
            share = paper.one("Table 2", field, domain=domain)
            yield "Table 2", f"{domain}, decided {name}", read_count(share, paper.size(domain))
        disputed = paper.whole("Table 3", "disputed", domain=domain)
        share = paper.one("Table 3", "to_wrong_rate", domain=domain)
        yield "Table 3", f"{domain}, to wrong consensus", read_count(share, disputed)
        yield "Table 3", f"{domain}, wrong consensus rejected", paper.rejected(domain)
        right = paper.whole("Table 9", "right", domain=domain)
        share = paper.one("Table 9", "over_rejection", domain=domain)
        yield "Table 9", f"{domain}, correct consensus rejected", read_count(share, right)
        for table, field in (("Table 4", "accuracy"), ("Table 5", "share"), ("Table 5", "share_with_never")):
            for share in paper.all(table, field, domain=domain):
                yield table, f"{domain}, {field.partition('_')[0]}", read_count(share, paper.size(domain, "n"))


def integers(paper: Paper) -> Section:
    """Whether the printed percentages come from counts, and from how many."""
    shares = list(printed_shares(paper))
    summary = []
    for table in dict.fromkeys(table for table, *_ in shares):
        fitting = [(count.candidates, count.n) for name, _, count in shares if name == table]
        low, high = min(n for _, n in fitting), max(n for _, n in fitting)
        one, none = (sum(k == wanted for k, _ in fitting) for wanted in (1, 0))
        summary.append([table, len(fitting), f"{low}–{high}", one, len(fitting) - one - none, none])
    odd = [(table, place, count) for table, place, count in shares if count.candidates == 0]
    fits = [paper.acts(*column) for column in paper.columns]
    single = of(len(fitted.chains) == 1 for fitted in fits)
    levels = []
    for slack in dict.fromkeys((fitted.share_slack, fitted.accuracy_slack) for fitted in fits):
        some = [len(fitted.chains) for fitted in fits if (fitted.share_slack, fitted.accuracy_slack) == slack]
        levels.append([*(SLACK[part] for part in slack), len(some), max(some)])
    over_all = [(domain, count) for table, place, count in shares if table in ("Table 4", "Table 5")
                for domain in [place.partition(",")[0]]]  # fmt: skip
    over_test = [not counts(count.share, paper.size(domain)) for domain, count in over_all]
    lines = [
        *prose(
            "A share of n questions printed to a tenth of a percent comes from at most one count when n is below",
            "1,000. For every share with a known denominator, the counts that round to it:",
        ),
        *grid(["table", "shares", "n", "one count", "several", "none"], summary),
        *prose(
            f"{len(odd)} shares come from no count. {sum(count.slack == TWICE for *_, count in odd)} of them do when",
            "the share was rounded to a hundredth of a percent first and to a tenth then:",
        ),
        *grid(
            ["share without a count", "printed %", "nearest", "which is %", "rounded"],
            ([f"{t}: {at}", percent(c.share), f"{c.k}/{c.n}", percent(c.rate, 3), SLACK[c.slack]] for t, at, c in odd),
        ),
        *prose(
            "The accuracy of the new singleton sets of a round restricts their number further. All combinations of",
            "counts over the four rounds were tried, with slack only where none fits without it. Columns (table,",
            f"domain, alpha) with exactly one solution: {single}.",
        ),
        *grid(["shares rounded", "accuracies rounded", "columns", "most solutions"], levels, left=2),
        *prose(
            "The whole domain, not its test half, is the denominator of Tables 4 and 5: of their shares,",
            f"{of(not count.candidates for _, count in over_all)} come from no count of the domain and {of(over_test)}",
            "from no count of its test half.",
        ),
    ]
    return Section(
        "", "From percentages back to counts", f"{single} columns of singleton sets have one solution", lines
    )


def conformal_accuracy(paper: Paper) -> Section:
    """Table 2 from Table 1's counts, over rounds 0 to 2 and over 0 to 3."""
    detail, rows = [], []
    fields = {
        "conformal_accuracy": "accuracy",
        "conformal_rate": "share decided",
        "conformal_round": "mean round, from 1",
    }
    agree: dict[tuple[str, int], list[bool]] = {(field, stop): [] for field in fields for stop in (3, 4)}
    recomputed: list[Fraction] = []
    for domain in paper.domains:
        fitted, n = paper.acts("Table 1", domain, "0.05"), paper.size(domain)
        chain = paper.chain("Table 1", domain, "0.05")
        new, right = (" ".join(map(str, part)) for part in (chain.new, chain.right))
        detail.append(
            [domain, n, new, right, len(fitted.chains), SLACK[fitted.share_slack], SLACK[fitted.accuracy_slack]]
        )
        accuracy = paper.one("Table 2", "conformal_accuracy", domain=domain)
        cells: list[object] = [domain, percent(accuracy)]
        for stop in (3, 4):
            acts, correct = sum(chain.new[:stop]), sum(chain.right[:stop])
            values = {
                "conformal_accuracy": Fraction(correct, acts),
                "conformal_rate": Fraction(acts, n),
                "conformal_round": Fraction(sum(t * k for t, k in enumerate(chain.new[:stop], start=1)), acts),
            }
            for field, value in values.items():
                agree[field, stop].append(prints_as(value, paper.one("Table 2", field, domain=domain), TWICE))
            cells += [
                f"{correct}/{acts} = {percent(values['conformal_accuracy'])}",
                yes(agree["conformal_accuracy", stop][-1], prints_as(values["conformal_accuracy"], accuracy)),
            ]
        recomputed.append(values["conformal_accuracy"])
        rows.append(cells)
    printed = paper.all("Table 2", "conformal_accuracy")
    lines = [
        *prose("Counts of Table 1 at alpha .05 by round (0 1 2 3), with the number of solutions:"),
        *grid(["domain", "n", "new singleton sets", "right", "solutions", "shares", "accuracies"], detail),
        *prose("Table 2's conformal accuracy against them:"),
        *grid(["domain", "printed %", "rounds 0–2", "agrees", "rounds 0–3", "agrees"], rows),
        *prose("The conformal columns of Table 2, domains that agree (rounded once or twice):"),
        *grid(
            ["Table 2", "rounds 0–2", "rounds 0–3"],
            ([name, *(of(agree[field, stop]) for stop in (3, 4))] for field, name in fields.items()),
        ),
        *prose(
            f"The accuracies range from {percent(min(printed))} to {percent(max(printed))} % as printed, from",
            f"{percent(min(recomputed), 1)} to {percent(max(recomputed), 1)} % over rounds 0–3.",
        ),
    ]
    early, late = (of(agree["conformal_accuracy", stop]) for stop in (3, 4))
    answer = (
        f"the accuracy agrees with rounds 0–2 in {early} domains and with 0–3 in {late}; share and mean round agree "
        f"with 0–3 in {of(agree['conformal_rate', 4])} and {of(agree['conformal_round', 4])}"
    )
    return Section("D01", "Which rounds does Table 2's conformal accuracy cover?", answer, lines)


def frozen(paper: Paper) -> Section:
    """Wrong singleton sets at alpha .05 when first sets are kept, and when they are not."""
    rows: list[list[int]] = []
    for domain in paper.domains:
        rejected = paper.rejected(domain)
        introduced = paper.whole("Table 10", "count", domain=domain, alpha="0.05", round="3")
        early = paper.chain("Table 1", domain, "0.05").wrong
        rows.append([rejected.n, rejected.k, introduced, rejected.n - rejected.k + introduced, early])
    totals = [sum(column) for column in zip(*rows, strict=True)]
    entropy_weights, strict = (
        sum(paper.chain(table, domain, alpha).wrong for domain in paper.domains)
        for table, alpha in (("Table 6", "0.05"), ("Table 8", "0.01"))
    )
    rising = of(
        all(a <= b for a, b in pairwise(paper.by_round(t, "singleton_rate", d, a))) for t, d, a in paper.columns
    )
    named = [[domain, *cells] for domain, cells in zip([*paper.domains, "all"], [*rows, totals], strict=True)]
    lines = [
        *prose(
            "*Static*: the sets of round 3 of every test question. A wrong singleton is then a wrong consensus that",
            "is not rejected (Table 3), or a wrong set of one where there is no wrong consensus (Table 10). *Early*:",
            "a question's first singleton set is kept; the wrong ones of Table 1, all rounds. Same questions, same",
            "alpha .05:",
        ),
        *grid(["domain", "wrong consensus", "rejected", "introduced", "wrong, static", "wrong, early"], named),
        *prose(
            f"The early count is {entropy_weights} with entropy weights (Table 6) and {strict} at alpha .01 (Table 8).",
            "The static count is exact if an empty set counts as a rejection, else an upper bound. That Tables 1, 6",
            f"and 8 keep sets shows in the singleton share, which never falls in {rising} columns. A kept set was",
            "chosen over several rounds, so the guarantee of one calibration does not reach beyond round 0.",
        ),
    ]
    answer = f"{totals[-2]} wrong singleton sets static, {totals[-1]} early"
    return Section("D02", "Two kinds of singleton sets", answer, lines)


def entropy(paper: Paper) -> Section:
    """The mean change in coverage under entropy weights, from three sources and in two senses."""
    tables = ("Table 1", "Table 6")
    pairs = [
        [read_count(paper.one(t, "coverage", domain=d, alpha=a, round="3"), paper.size(d)) for t in tables]
        for d, a in paper.settings
    ]
    printed = [paper.one("Table 7", "d_coverage", domain=d, alpha=a) for d, a in paper.settings]
    exact = [new.rate - old.rate for old, new in pairs]
    sources = {
        "Table 7, as printed": [Fraction(change) for change in printed],
        "Table 6 minus Table 1, as printed": [Fraction(new.share - old.share) for old, new in pairs],
        "Table 6 minus Table 1, from counts": exact,
    }
    quoted = {
        place: paper.one(place, "mean_abs_d_coverage") for place in ("Section 3.3", "Appendix (section not recorded)")
    }
    means = {
        (source, sense): value / len(changes)
        for source, changes in sources.items()
        for sense, value in (
            ("mean of sizes", sum(map(abs, changes), Fraction())),
            ("size of the mean", abs(sum(changes, Fraction()))),
        )
    }
    sizes = []
    for d, a in paper.settings:
        small, large = (paper.one(table, "set_size", domain=d, alpha=a, round="3") for table in tables)
        sizes.append(large - small == paper.one("Table 7", "d_set_size", domain=d, alpha=a))
    readings = {"of round 3": slice(3, 4), "of rounds 0–2": slice(0, 3), "of rounds 0–3": slice(0, 4)}
    found: dict[str, list[bool]] = {name: [] for name in readings}
    for d, a in paper.settings:
        change = paper.one("Table 7", "d_singleton_accuracy", domain=d, alpha=a)
        before, after = (paper.chain(table, d, a) for table in tables)
        for name, rounds in readings.items():
            old, new = (Fraction(sum(chain.right[rounds]), sum(chain.new[rounds])) for chain in (before, after))
            found[name].append(prints_as(new - old, change, TWICE))
    singletons = ", ".join(f"{name} in {of(holds)}" for name, holds in found.items())
    header = [
        "mean change in coverage",
        "points",
        *(f"prints as {percent(q)} ({place})" for place, q in quoted.items()),
    ]
    lines = [
        *prose(f"Round 3, {len(paper.settings)} settings (domain and alpha), percentage points:"),
        *grid(
            header,
            (
                [f"{source}: {sense}", percent(mean, 3), *(yes(prints_as(mean, q)) for q in quoted.values())]
                for (source, sense), mean in means.items()
            ),
        ),
        *prose(
            "Table 7 against Tables 1 and 6, rounded once or twice: the change in coverage follows from their counts",
            f"in {of(prints_as(value, change, TWICE) for value, change in zip(exact, printed, strict=True))} settings",
            f"({sum(not count.candidates for pair in pairs for count in pair)} of {2 * len(pairs)} coverages have no",
            f"count and are taken at the nearest), the change in set size from their set sizes in {of(sizes)}. The",
            f"change in singleton accuracy follows from the singleton sets {singletons}.",
        ),
    ]
    sense = {name: percent(means["Table 7, as printed", name]) for name in ("mean of sizes", "size of the mean")}
    answer = (
        f"quoted {' and '.join(map(percent, quoted.values()))} points; Table 7 gives {sense['mean of sizes']} as a "
        f"mean of sizes and {sense['size of the mean']} as the size of the mean"
    )
    return Section("D03", "How far do entropy weights move coverage?", answer, lines)


def mathematics(paper: Paper) -> Section:
    """Rejections of wrong consensus that add up, and the consensus share of Math."""
    counted = [paper.rejected(domain) for domain in paper.domains]
    other = paper.one("Appendix G.2", "interception", domain="math")
    varied = [read_count(other, c.n) if d == "math" else c for d, c in zip(paper.domains, counted, strict=True)]
    total = paper.whole(UNPLACED, "wrong_intercepted", domain="all")
    wrong = paper.whole("Table 3", "wrong", domain="all", round="3")
    share = paper.one("Table 3", "interception", domain="all")
    sums = [sum(count.k for count in column) for column in (counted, varied)]
    n, held = paper.size("math"), paper.held("math")
    stated = {
        "Table 2": paper.one("Table 2", "consensus_rate", domain="math"),
        "text, one place": paper.one(UNPLACED, "consensus_rate", domain="math", reading="all_rounds"),
        "text, another place": paper.one(UNPLACED, "consensus_rate", domain="math", round="3"),
    }
    lines = [
        *prose(
            "Wrong consensus at round 3 that is rejected at alpha .05, from Table 3, and with the rate of Math from",
            f"Appendix G.2 ({percent(other)} %) in its place. Each rate comes from the number of counts in brackets.",
        ),
        *grid(
            ["domain", "wrong consensus", "rejected %", "count", "with Appendix G.2"],
            [
                [d, c.n, percent(c.share), f"{c.k} ({c.candidates})", f"{v.k} ({v.candidates})"]
                for d, c, v in zip(paper.domains, counted, varied, strict=True)
            ],
        ),
        *grid(
            ["total", "printed", "Table 3", "agrees", "with Appendix G.2", "agrees"],
            [
                ["rejected", total, *(cell for k in sums for cell in (k, yes(k == total)))],
                [
                    f"of {wrong}, %",
                    percent(share),
                    *(
                        cell
                        for k in sums
                        for cell in (percent(Fraction(k, wrong)), yes(prints_as(Fraction(k, wrong), share)))
                    ),
                ],
            ],
        ),
        *prose(
            f"Consensus share of Math against {held}/{n}, the unanimous test questions at round 3 (Tables 3 and 9):",
        ),
        *grid(
            ["stated in", "%", "count", "counts that fit", f"is {held}/{n}"],
            (
                [place, percent(value), f"{count.k}/{n}", count.candidates, yes(count.k == held)]
                for place, value in stated.items()
                for count in [read_count(value, n)]
            ),
        ),
    ]
    follows = [f"{'follows' if k == total else 'does not follow'} {source}"
               for k, source in zip(sums, ("from Table 3", "with Appendix G.2"), strict=True)]  # fmt: skip
    answer = f"the total {total} {' and '.join(follows)}; {len(set(stated.values()))} different consensus shares"
    return Section("D04", "Math: how much is rejected, how often do agents agree?", answer, lines)


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


def sums(paper: Paper) -> Section:
    """Totals and differences within and between tables."""
    domains, everywhere = paper.domains, [*paper.domains, "all"]
    one, whole, size = paper.one, paper.whole, paper.size
    total = partial(whole, domain="all")
    counted = [("Table 3", field, "3") for field in ("n", "disputed", "wrong")]
    counted += [("Table 3", "to_wrong", t) for t in ROUNDS[1:]] + [("Table 9", "right", "3")]
    over = [
        read_count(one("Table 9", "over_rejection", domain=d), whole("Table 9", "right", domain=d)) for d in domains
    ]
    to_wrong = {
        d: Fraction(whole("Table 3", "to_wrong", domain=d, round="3"), whole("Table 3", "disputed", domain=d))
        for d in everywhere
    }
    checks: dict[str, Iterable[bool]] = {
        "Domain sizes: the halves add up": (size(d) + size(d, "n_cal") == size(d, "n") for d in domains),
        "Domain sizes: the test half is the rounded-up one": (size(d) == -(-size(d, "n") // 2) for d in domains),
        "Tables 2 and 3: test questions as in the domain sizes": (
            whole(table, "n", domain=d) == size(d) for table in ("Table 2", "Table 3") for d in domains
        ),
        "Table 2: conformal minus consensus accuracy": (
            one("Table 2", "conformal_accuracy", domain=d) - one("Table 2", "consensus_accuracy", domain=d)
            == one("Table 2", "accuracy_difference", domain=d)
            for d in domains
        ),
        "Tables 3 and 9: domains add up to the total": (
            sum(whole(table, field, domain=d, round=t) for d in domains) == total(table, field, round=t)
            for table, field, t in counted
        ),
        "Table 3: share of the disputed that ends in wrong consensus": (
            prints_as(rate, one("Table 3", "to_wrong_rate", domain=d)) for d, rate in to_wrong.items()
        ),
        "Table 9: counts rejected by domain give the total share": [
            prints_as(
                Fraction(sum(count.k for count in over), total("Table 9", "right")),
                one("Table 9", "over_rejection", domain="all"),
            )
        ],
        "Table 5: rounds add up to 100 %, to 0.1": (
            abs(one("Table 5", "share_with_never", domain=d) + sum(paper.all("Table 5", "share", domain=d)) - 1)
            <= Decimal("0.001")
            for d in domains
        ),
        "Table 10: domains add up to the total": (
            sum(whole("Table 10", "count", domain=d, alpha=a, round=t) for d in domains)
            == total("Table 10", "count", alpha=a, round=t)
            for a in ALPHAS["Table 1"]
            for t in ROUNDS
        ),
        "Table 11: responses are four rounds of questions": (
            responses == len(ROUNDS) * size(d, "n")
            for d in domains
            for responses in paper.all("Table 11", "n", domain=d)
        ),
    }
    results = {name: list(holds) for name, holds in checks.items()}
    lines = grid(["what must hold", "holds in"], ([name, of(holds)] for name, holds in results.items()))
    return Section(
        "", "Sums and differences", f"{of(h for holds in results.values() for h in holds)} checks hold", lines
    )


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
    kept = [line for line, before in zip(lines, ["", *lines], strict=False) if line or before]
    return "\n".join(kept).strip("\n") + "\n"


def main() -> None:
    """Write the document; one line and exit status 1 when the file of published numbers lacks something."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--published", type=Path, default=Path("config/published/debate.tsv"))
    parser.add_argument("--output", type=Path, default=Path("docs/debate-tables.md"))
    given = parser.parse_args()
    try:
        text = document(given.published)
    except InputError as error:
        print(f"debate_tables: {error}", file=sys.stderr)
        raise SystemExit(1) from None
    write_text(given.output, text)


if __name__ == "__main__":
    main()
