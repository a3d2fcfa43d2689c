"""What Table 1's counts of singleton sets say about Tables 2, 3, 7 and 10."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

from warrant.debate_paper.paper import SLACK, UNPLACED, Paper, Section, of, percent, yes
from warrant.markdown import grid, prose
from warrant.printed import TWICE, prints_as, read_count


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
