"""The debate study's configuration: mistakes are named, and a plan says what cannot be built and why."""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import yaml

from warrant.blocks import Run
from warrant.config import read_run
from warrant.debate_blocks import DebateStudy
from warrant.errors import InputError
from warrant.plan import Missing, RunPlan, missing_settings, plan_run
from warrant.sources import Source, read_sources

TABLES = {
    "rounds",
    "groups",
    "stopping",
    "wrong_consensus",
    "introduced",
    "selection",
    "baselines",
    "consensus_rounds",
    "weights",
    "parse_failures",
    "splits",
}
REQUIRED = [
    "calibration_study_Qwen3-32B",
    "calibration_study_claude-3-5-haiku-20241022",
    "calibration_study_deepseek-reasoner",
    "mmlu_pro_test",
]
OPTIONAL = "calibration_study_phi-4"
STUDY = ("studies", "mmlu_pro")
IMPORT = (*STUDY, "arms", "single_turn", "imports", 0)
Edit = Callable[[dict[str, Any]], None]


@pytest.fixture(scope="module")
def content(project: Path) -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((project / "config/runs/panel.yaml").read_text(encoding="utf-8"))
    return loaded


@pytest.fixture(scope="module")
def sources(project: Path) -> dict[str, Source]:
    return read_sources(project / "config/sources.tsv")


@pytest.fixture
def read(tmp_path: Path, content: dict[str, Any]) -> Callable[..., Run]:
    """Read config/runs/panel.yaml with one value put at a place."""

    def run(*place: Any, value: Any = None) -> Run:
        changed = copy.deepcopy(content)
        holder: Any = changed
        for key in place[:-1]:
            holder = holder[key]
        if place:
            holder[place[-1]] = value
        (tmp_path / "panel.yaml").write_text(yaml.safe_dump(changed), encoding="utf-8")
        return read_run(tmp_path, "panel")

    return run


def planned(run: Run, sources: dict[str, Source], absent: Collection[str] = ()) -> RunPlan:
    return plan_run("panel", run, sources, lambda source: source.name not in absent)


def with_optional(read: Callable[..., Run], content: dict[str, Any], agents: bool = True) -> Run:
    """The run with an optional model among the arm's outputs, and among the agents."""
    changed = copy.deepcopy(content["studies"]["mmlu_pro"])
    changed["arms"]["single_turn"]["imports"][0]["models"]["phi-4"] = OPTIONAL
    if agents:
        changed["agents"].append("phi-4")
    return read(*STUDY, value=changed)


def test_the_committed_run_is_read_exactly(read: Callable[..., Run]) -> None:
    """Alphas and constants are exact decimals, and agents keep their order."""
    study = read().studies["mmlu_pro"]
    assert isinstance(study, DebateStudy)
    assert study.alphas == list(map(Decimal, ("0.01", "0.05", "0.10", "0.20")))
    assert (study.pool.entropy_scale, study.pool.log_floor) == (1, Decimal("0.000001"))
    assert study.agents == ["claude-3-5-haiku", "deepseek-reasoner", "qwen3-32b"]


@pytest.mark.parametrize(
    ("place", "nearest"),
    [
        ((*STUDY, "alpha"), "alphas"),
        ((*STUDY, "agent"), "agents"),
        ((*STUDY, "pools"), "pool"),
        ((*STUDY, "pool", "entropy_scal"), "entropy_scale"),
        ((*STUDY, "splits", "counts"), "count"),
        ((*STUDY, "bootstrap", "resample"), "resamples"),
        ((*STUDY, "sample", 0, "domain"), "domains"),
        ((*STUDY, "arms", "single_turn", "import"), "imports"),
        ((*IMPORT, "model"), "models"),
    ],
)
def test_an_unknown_key_is_named_with_the_nearest(
    read: Callable[..., Run], place: tuple[Any, ...], nearest: str
) -> None:
    """Wherever it stands in a debate study, a key that does not exist is refused by its place with the nearest one."""
    with pytest.raises(InputError) as caught:
        read(*place, value="x")
    (line,) = [line for line in str(caught.value).splitlines() if "unknown key" in line]
    assert f"did you mean {nearest!r}?" in line
    assert line.split(":")[0].endswith(str(place[-1]))


@pytest.mark.parametrize(
    ("place", "value", "said"),
    [
        ((*STUDY, "agents"), ["claude-3-5-haiku", "gpt-5"], "agents ['gpt-5'] have no output in the arm single_turn"),
        ((*STUDY, "agents"), ["qwen3-32b", "qwen3-32b"], "an agent is listed twice"),
        ((*STUDY, "agents"), [], "at least 1 item"),
        ((*STUDY, "arm"), "debate", "arm 'debate' is not one of ['single_turn']"),
        ((*STUDY, "alphas"), ["0"], "greater than 0"),
        ((*STUDY, "alphas"), ["1"], "less than 1"),
        ((*STUDY, "alphas"), [], "at least 1 item"),
        ((*STUDY, "splits", "count"), 1, "greater than or equal to 2"),
        ((*STUDY, "splits", "fixed"), -1, "greater than or equal to 0"),
        ((*STUDY, "pool", "log_floor"), "0", "greater than 0"),
        ((*STUDY, "sample", 0, "subset"), {"per_domain": 0, "seed": 1, "sha256": "0" * 64}, "greater than or equal"),
        ((*STUDY, "sample", 0, "subset"), {"per_domain": 1, "seed": 1}, "found nothing"),
    ],
)
def test_a_value_that_does_not_fit_is_refused(
    read: Callable[..., Run], place: tuple[Any, ...], value: Any, said: str
) -> None:
    """Agents without output, a repeated agent, an arm that is not there and numbers out of range are one line."""
    with pytest.raises(InputError) as caught:
        read(*place, value=value)
    (line,) = str(caught.value).splitlines()
    assert said in line
    assert "mmlu_pro" in line


def test_with_every_source_every_table_is_built(read: Callable[..., Run], sources: dict[str, Source]) -> None:
    """Nothing is missing or absent; alphas reach the tables as text, agents in order."""
    plan = planned(read(), sources)
    assert plan.missing == plan.absent == []
    study = plan.studies["mmlu_pro"]
    assert set(study.tables) == TABLES
    assert study.outputs == "beliefs"
    assert {tuple(table.arms) for table in study.tables.values()} == {("single_turn",)}
    assert study.tables["rounds"].settings["alphas"] == ["0.01", "0.05", "0.10", "0.20"]
    assert study.tables["splits"].settings["splits"] == 200
    assert study.tables["parse_failures"].settings == {"agents": study.tables["rounds"].settings["agents"]}
    roles = [source["role"] for source in study.arms["single_turn"].settings["sources"]]
    assert roles == ["claude-3-5-haiku", "deepseek-reasoner", "qwen3-32b"]
    assert len(study.arms["single_turn"].files) == 3


def test_absent_required_sources_are_named_and_nothing_is_left_out(
    read: Callable[..., Run], sources: dict[str, Source]
) -> None:
    """With nothing at hand the plan is the same, and names exactly the four sources that have to be fetched."""
    plan = planned(read(), sources, absent=set(sources))
    assert plan.absent == REQUIRED
    assert plan.missing == []
    assert plan.studies == planned(read(), sources).studies


def test_an_optional_model_that_is_not_at_hand_leaves_every_table_unbuilt_by_name(
    read: Callable[..., Run], content: dict[str, Any], sources: dict[str, Source]
) -> None:
    """The panel is not narrowed silently: no table is built, each is named, and so is the source that is lacking."""
    run = with_optional(read, content)
    assert set(planned(run, sources).studies["mmlu_pro"].tables) == TABLES
    plan = planned(run, sources, {OPTIONAL})
    study = plan.studies["mmlu_pro"]
    assert study.tables == study.arms == {}
    (item,) = plan.missing
    assert isinstance(item, Missing)
    assert (item.study, item.what, item.sources) == ("mmlu_pro", "arm single_turn", [OPTIONAL])
    assert set(item.unbuilt) == set(item.tables) == TABLES
    assert missing_settings(plan)[0]["unbuilt"] == item.unbuilt


def test_a_second_choice_takes_the_place_of_the_first(
    read: Callable[..., Run], content: dict[str, Any], sources: dict[str, Source]
) -> None:
    """With a choice behind it that is at hand every table is built, and what the first lacks is still named."""
    changed = copy.deepcopy(content["studies"]["mmlu_pro"])
    first = copy.deepcopy(changed["arms"]["single_turn"]["imports"][0])
    first["models"]["phi-4"] = OPTIONAL
    changed["arms"]["single_turn"]["imports"].insert(0, first)
    plan = planned(read(*STUDY, value=changed), sources, {OPTIONAL})
    assert set(plan.studies["mmlu_pro"].tables) == TABLES
    (item,) = plan.missing
    assert (item.unbuilt, item.sources) == ([], [OPTIONAL])


@pytest.mark.parametrize("place", [(*IMPORT, "models", "qwen3-32b"), (*STUDY, "sample", 0, "questions")])
def test_a_source_that_does_not_exist_is_refused(
    read: Callable[..., Run], sources: dict[str, Source], place: tuple[Any, ...]
) -> None:
    """A name that is no source is an error of the plan, not a file that will never come."""
    with pytest.raises(InputError, match="found no source 'nothing'"):
        planned(read(*place, value="nothing"), sources)
