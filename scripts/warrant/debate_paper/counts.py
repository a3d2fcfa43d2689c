"""Percentages turned back into counts, and the sums that counts must have."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from fractions import Fraction
from functools import partial

from warrant.debate_paper.paper import ALPHAS, ROUNDS, SLACK, Paper, Section, of, percent
from warrant.markdown import grid, prose
from warrant.printed import TWICE, Count, counts, prints_as, read_count


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
