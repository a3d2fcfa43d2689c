"""Table `rates`: the numbers of `judges` and `veto`, with exact limits that hold their law."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest
from strategies import Study, rows, studies

from warrant.systems import Decisions
from warrant.tables.judges import WITH_INTERVAL, judges
from warrant.tables.rates import rates
from warrant.tables.veto import veto


def systems(study: Study) -> dict[str, Decisions]:
    return {"panel": study.panel.proposal}


@settings(max_examples=60)
@given(studies(claims=st.integers(0, 30), judges=st.integers(1, 3)))
def test_every_rate_of_judges_and_veto_is_there_once_with_its_numbers(study: Study) -> None:
    """Counts, rate and Wilson limits are those of the wide tables; nothing is added or left out."""
    lines = rows(rates(study.gold, systems(study), study.panel))
    (judge,) = rows(judges(study.gold, systems(study)))
    by_metric = {line["metric"]: line for line in lines if line["system"] == "panel"}
    assert set(by_metric) == {*WITH_INTERVAL, "gap"}
    for metric in WITH_INTERVAL:
        line = by_metric[metric]
        wide = [judge[name] for name in (f"{metric}_k", f"{metric}_n", metric, f"{metric}_low", f"{metric}_high")]
        assert [line[name] for name in ("k", "n", "rate", "low", "high")] == wide
    gap = by_metric["gap"]
    assert [gap[name] for name in ("rate", "low", "high")] == [judge[f"gap{end}"] for end in ("", "_low", "_high")]
    flags = [line for line in lines if line["system"] != "panel"]
    expected = [] if study.panel.mixed is None else rows(veto(study.gold, study.panel))
    assert [(line["system"], line["metric"], line["k"], line["n"]) for line in flags] == [
        (f"veto/{row['flag']}", row["population"], row["k"], row["n"]) for row in expected
    ]


@settings(max_examples=60)
@given(studies(claims=st.integers(0, 30), judges=st.integers(1, 3)))
def test_exact_limits_are_scipys_and_stand_outside_nothing(study: Study) -> None:
    """Clopper and Pearson's limits; null without a denominator; those of the gap hold the gap."""
    for line in rows(rates(study.gold, systems(study), study.panel)):
        if line["metric"] == "gap":
            assert (line["exact_low"] is None) == (line["rate"] is None)
            assert line["rate"] is None or line["exact_low"] <= line["rate"] <= line["exact_high"]
        elif not line["n"]:
            assert line["exact_low"] is line["exact_high"] is None
        else:
            interval = binomtest(line["k"], line["n"]).proportion_ci(method="exact")
            assert abs(line["exact_low"] - interval.low) < 1e-10
            assert abs(line["exact_high"] - interval.high) < 1e-10
