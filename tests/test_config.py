"""Configuration: a mistake is refused by its place with the nearest valid name; the schemas are those of the models."""

from __future__ import annotations

import copy
import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from warrant.blocks import Run, is_controller
from warrant.config import read_models, read_run, read_workflow, schemas
from warrant.errors import InputError

REGENERATE = "PYTHONPATH=scripts .venv/bin/python -m warrant.config"
HASH = "0" * 64
CALLS: dict[str, Any] = {"prompt": "p/p.txt", "judges": ["a"], "replicates": 1}
BASE: dict[str, Any] = {
    "title": "A run",
    "responses": {"store": "cache/x.sqlite"},
    "studies": {
        "one": {
            "title": "A study with every block",
            "sample": [
                {
                    "format": "averitec",
                    "dev": "dev",
                    "train": "train",
                    "counts": {"Supported": 1},
                    "seed": 1,
                    "prompts": {"template": "prompt", "sha256": {0: HASH}},
                },
                {"format": "vitaminc", "split": "split", "mixed": 1, "controls": {"SUPPORTS": 1}, "seed": 1},
                {"format": "panel", "rows": "panel"},
            ],
            "arms": {
                "4opt": {
                    "contract": "4opt",
                    "imports": [
                        {"format": "panel", "rows": "panel", "systems": ["s"], "models": {"m": "a"}},
                        {"format": "certificates", "rows": "c", "models": {"m": "a"}},
                        {"format": "predictions", "rows": "p", "dataset": "d", "models": {"m": "a"}},
                        {"format": "taxonomy", "rows": "t", "dataset": "d", "models": {"m": "a"}},
                    ],
                },
                "asked": {"contract": "4opt", "calls": CALLS},
            },
            "systems": {
                "single/a/4opt": {"arm": "4opt", "judges": ["a"]},
                "panel/4opt": {"arm": "4opt", "judges": ["a"]},
            },
            "typed_panel": "panel/4opt",
            "validator": "4opt",
            "taus": ["0.90"],
            "vote_margins": ["0.5"],
            "contrasts": [{"name": "c", "a": "E@0.90", "b": "panel/4opt", "metrics": ["se"]}],
            "pairwise": [{"name": "p", "systems": ["single/a/4opt", "panel/4opt"], "metrics": ["cov"]}],
            "bootstrap": {"resamples": 100, "seed": 1},
            "null": {"tau_e": "0.90", "tau_f": "0.85", "matched": ["0.90"]},
        }
    },
}
ONE = ("studies", "one")


def edited(*place: Any, value: Any = None, remove: bool = False) -> dict[str, Any]:
    """BASE with one value set or removed."""
    content = copy.deepcopy(BASE)
    holder: Any = content
    for key in place[:-1]:
        holder = holder[key]
    if remove:
        del holder[place[-1]]
    else:
        holder[place[-1]] = value
    return content


Read = Callable[..., Run]


@pytest.fixture
def read(tmp_path: Path) -> Read:
    """Write run files by name and read the first."""

    def run(**files: Any) -> Run:
        for name, content in files.items():
            text = content if isinstance(content, str) else yaml.safe_dump(content, sort_keys=False)
            (tmp_path / f"{name}.yaml").write_text(text, encoding="utf-8")
        return read_run(tmp_path, next(iter(files)))

    return run


# --- blocks ----------------------------------------------------------------------------------------------------------


def test_a_run_with_every_block_is_read_and_cannot_be_changed(read: Read) -> None:
    """Decimals are exact, defaults are filled in, and the result is frozen."""
    run = read(x=BASE)
    study = run.studies["one"]
    assert study.taus == [Decimal("0.90")]
    assert study.null is not None
    assert (study.null.draws, study.bootstrap.resamples) == (2000, 100)
    with pytest.raises(ValueError, match="frozen"):
        run.title = "another"


@pytest.mark.parametrize(
    ("place", "nearest"),
    [
        (("titel",), "title"),
        (("study",), "studies"),
        ((*ONE, "contrast"), "contrasts"),
        ((*ONE, "vote_margin"), "vote_margins"),
        ((*ONE, "sample", 0, "map_sha25"), "map_sha256"),
        ((*ONE, "sample", 0, "prompts", "templat"), "template"),
        ((*ONE, "sample", 1, "membr"), "member"),
        ((*ONE, "sample", 2, "row"), "rows"),
        ((*ONE, "arms", "4opt", "contracts"), "contract"),
        ((*ONE, "arms", "4opt", "imports", 0, "system"), "systems"),
        ((*ONE, "arms", "4opt", "imports", 1, "model"), "models"),
        ((*ONE, "arms", "4opt", "imports", 2, "data_set"), "dataset"),
        ((*ONE, "arms", "4opt", "imports", 3, "datasets"), "dataset"),
        ((*ONE, "arms", "asked", "calls", "replicate"), "replicates"),
        (("responses", "stor"), "store"),
        ((*ONE, "systems", "panel/4opt", "judge"), "judges"),
        ((*ONE, "contrasts", 0, "metric"), "metrics"),
        ((*ONE, "pairwise", 0, "system"), "systems"),
        ((*ONE, "bootstrap", "resample"), "resamples"),
        ((*ONE, "null", "draw"), "draws"),
    ],
    ids=lambda value: ".".join(map(str, value)) if isinstance(value, tuple) else None,
)
def test_an_unknown_key_is_refused_with_the_nearest_valid_one(
    read: Read, refused: Any, place: tuple[Any, ...], nearest: str
) -> None:
    """In every block: the file, the place and the key that was probably meant."""
    with refused("x.yaml", str(place[-1]), "unknown key", f"did you mean {nearest!r}?"):
        read(x=edited(*place, value=1))


def test_an_unknown_key_that_is_like_none_lists_the_valid_ones(read: Read, refused: Any) -> None:
    """Only the keys of its own block are offered."""
    with refused("studies.one.bootstrap.zzz", "valid keys are ['resamples', 'seed']"):
        read(x=edited(*ONE, "bootstrap", "zzz", value=1))


@pytest.mark.parametrize(
    "place",
    [
        ("title",),
        ("studies",),
        (*ONE, "title"),
        (*ONE, "sample"),
        (*ONE, "sample", 0, "seed"),
        (*ONE, "sample", 0, "prompts", "sha256"),
        (*ONE, "sample", 1, "controls"),
        (*ONE, "sample", 2, "rows"),
        (*ONE, "arms", "4opt", "contract"),
        (*ONE, "arms", "asked", "calls", "prompt"),
        (*ONE, "arms", "4opt", "imports", 0, "systems"),
        (*ONE, "arms", "4opt", "imports", 3, "dataset"),
        (*ONE, "systems", "panel/4opt", "judges"),
        (*ONE, "contrasts", 0, "b"),
        (*ONE, "null", "tau_f"),
    ],
    ids=lambda place: ".".join(map(str, place)),
)
def test_a_missing_key_is_named(read: Read, refused: Any, place: tuple[Any, ...]) -> None:
    """The file and the place of what is lacking."""
    with refused("x.yaml", f"{place[-1]}: found nothing, expected a value"):
        read(x=edited(*place, remove=True))


@pytest.mark.parametrize(
    ("place", "value", "parts"),
    [
        ((*ONE, "sample"), [], ("studies.one.sample", "at least 1")),
        ((*ONE, "sample", 0, "format"), "averitek", ("studies.one.sample.0", "'averitek'", "'averitec'")),
        ((*ONE, "sample", 0, "counts"), {"Suported": 1}, ("counts.Suported", "'Supported'")),
        ((*ONE, "sample", 0, "counts"), {"Supported": -1}, ("counts.Supported", "found -1", "greater than or equal")),
        ((*ONE, "sample", 0, "map_sha256"), "abc", ("map_sha256", "'abc'", "[0-9a-f]{64}")),
        ((*ONE, "sample", 0, "prompts", "sha256"), {"x": HASH}, ("prompts.sha256.x", "'x'", "integer")),
        ((*ONE, "arms", "4opt", "contract"), "5opt", ("contract", "'5opt'", "'4opt'")),
        ((*ONE, "arms", "4opt", "imports"), [], ("arms.4opt", "either imports or calls")),
        ((*ONE, "arms", "4opt", "calls"), CALLS, ("arms.4opt", "either imports or calls")),
        ((*ONE, "arms", "asked", "calls", "judges"), [], ("arms.asked.calls.judges", "at least 1")),
        ((*ONE, "arms", "asked", "calls", "replicates"), 0, ("arms.asked.calls.replicates", "found 0")),
        (("responses",), {"in_flight": 0}, ("responses.in_flight", "found 0")),
        ((*ONE, "arms", "4opt", "imports", 0, "models"), {}, ("models", "at least 1")),
        ((*ONE, "taus"), ["0.9", "1.1"], ("taus.1", "'1.1'", "less than or equal to 1")),
        ((*ONE, "null", "tau_e"), float("nan"), ("null.tau_e", "nan", "finite")),
        ((*ONE, "bootstrap", "resamples"), 5, ("bootstrap.resamples", "found 5", "100")),
        ((*ONE, "bootstrap", "seed"), 1.5, ("bootstrap.seed", "1.5", "integer")),
        ((*ONE, "contrasts", 0, "metrics"), ["sensitivity"], ("metrics.0", "'sensitivity'", "'cpo_c'")),
        ((*ONE, "pairwise", 0, "systems"), ["panel/4opt"], ("pairwise.0.systems", "at least 2")),
        (("studies",), {}, ("studies", "at least 1")),
        (("studies", "a b"), BASE["studies"]["one"], ("studies.a b", "'a b'")),
        ((*ONE, "typed_panel"), "panel/5opt", ("studies.one", "typed_panel 'panel/5opt' is not a system")),
        (
            (*ONE, "validator"),
            "certificate",
            ("studies.one", "validator 'certificate' is not an arm", "['4opt', 'asked']"),
        ),
        (
            (*ONE, "systems", "panel/4opt", "arm"),
            "x",
            ("studies.one", "panel/4opt names the arm 'x'", "['4opt', 'asked']"),
        ),
        ((*ONE, "contrasts", 0, "a"), "E@high", ("studies.one", "contrast c: 'E@high' is neither")),
        ((*ONE, "pairwise", 0, "systems", 0), "validator", ("studies.one", "pairwise p: 'validator' is not a system")),
    ],
    ids=lambda value: ".".join(map(str, value)) if isinstance(value, tuple) and "one" in value[:2] else None,
)
def test_a_wrong_value_is_refused(
    read: Read, refused: Any, place: tuple[Any, ...], value: Any, parts: tuple[str, ...]
) -> None:
    """The file, the place, what was found and what was expected."""
    with refused("x.yaml", *parts):
        read(x=edited(*place, value=value))


def test_every_mistake_has_its_own_line(read: Read) -> None:
    """Two mistakes are two lines, each with its place."""
    content = edited("titel", value=1)
    content["studies"]["one"]["nul"] = {}
    with pytest.raises(InputError) as caught:
        read(x=content)
    lines = str(caught.value).splitlines()
    assert len(lines) == 2
    assert all(line.count("x.yaml") == 1 for line in lines)
    assert ["titel" in line for line in lines] != ["studies.one.nul" in line for line in lines]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("E@0.90", True),
        ("F@1", True),
        ("vote_margin@0.33", True),
        ("D/conflict_only", True),
        ("D/insufficient_only", True),
        ("D/any", True),
        ("conflict_if_any", True),
        ("validator", True),
        ("E", False),
        ("E@", False),
        ("E@.", False),
        ("E@-0.9", False),
        ("G@0.9", False),
        ("D/none", False),
        ("panel/4opt", False),
        ("conflict_if_any@1", False),
    ],
)
def test_controllers_are_known_by_their_table_names(name: str, expected: bool) -> None:
    """A contrast may name these and no others."""
    assert is_controller(name) is expected


# --- files -----------------------------------------------------------------------------------------------------------


def test_a_run_overlays_what_it_extends(read: Read) -> None:
    """Mappings merge key by key, lists and scalars are replaced, null removes, and what is not named stays."""
    over = {
        "extends": "base",
        "title": "Another",
        "studies": {"one": {"bootstrap": {"seed": 9}, "taus": ["0.5"], "null": None, "pairwise": None}},
    }
    run = read(x=over, base=BASE)
    study, base = run.studies["one"], read(base=BASE).studies["one"]
    assert run.title == "Another"
    assert (study.bootstrap.seed, study.bootstrap.resamples) == (9, 100)
    assert study.taus == [Decimal("0.5")]
    assert (study.null, study.pairwise) == (None, [])
    unchanged = {"bootstrap", "taus", "null", "pairwise"}
    assert study.model_dump(exclude=unchanged) == base.model_dump(exclude=unchanged)


def test_runs_extend_over_several_files(read: Read) -> None:
    """The nearest file has the last word."""
    run = read(x={"extends": "y", "notice": "x"}, y={"extends": "base", "notice": "y", "title": "y"}, base=BASE)
    assert (run.notice, run.title) == ("x", "y")


def test_an_overlay_can_add_and_remove_a_study(read: Read) -> None:
    """Studies are a mapping like any other."""
    two = {"title": "Two", "sample": [{"format": "panel", "rows": "r"}]}
    run = read(x={"extends": "base", "studies": {"one": None, "two": two}}, base=BASE)
    assert list(run.studies) == ["two"]


def test_extending_does_not_change_what_is_extended(read: Read) -> None:
    """A file reads the same before and after another extended it."""
    before = read(base=BASE)
    read(x={"extends": "base", "studies": {"one": {"null": None}}}, base=BASE)
    assert read(base=BASE) == before


@pytest.mark.parametrize("chain", [("a",), ("a", "b"), ("a", "b", "c")])
def test_a_circle_is_refused(read: Read, refused: Any, chain: tuple[str, ...]) -> None:
    """The whole circle is shown."""
    files = {name: {"extends": chain[(i + 1) % len(chain)]} for i, name in enumerate(chain)}
    with refused("a.yaml", "field extends", " -> ".join((*chain, "a")), "no circle"):
        read(**files)


def test_a_run_that_does_not_exist_is_refused_with_the_nearest(read: Read, tmp_path: Path, refused: Any) -> None:
    """A typo names the run that was probably meant, anything else lists them; so does `extends`."""
    read(paper=BASE, demo=BASE)
    with refused("papr.yaml", "no such run", "did you mean 'paper'?"):
        read_run(tmp_path, "papr")
    with refused("zzz.yaml", "no such run", "['demo', 'paper']"):
        read_run(tmp_path, "zzz")
    with refused("papre.yaml", "no such run", "did you mean 'paper'?"):
        read(x={"extends": "papre"})


@pytest.mark.parametrize("text", ["", "- a", "title", "a: [1", "a: b: c", "\t- x: [", "!!python/object:os.x {}"])
def test_a_file_that_is_no_mapping_is_refused_in_one_line(read: Read, refused: Any, text: str) -> None:
    """An empty file, a list, a scalar, text that is no YAML, and tags that would run code."""
    with refused("x.yaml", "found", "expected"):
        read(x=text)


# --- config.yaml and the command line --------------------------------------------------------------------------------


@pytest.mark.parametrize("runs", ["a,b", "a, b", "[a,b]", "[a, b]", ["a", "b"], " a ,b,"])
def test_runs_may_be_a_list_or_a_string(runs: object) -> None:
    """`--config runs=a,b` is the same as a list of two."""
    assert read_workflow({"runs": runs}).runs == ["a", "b"]


def test_one_run_is_a_list_of_one() -> None:
    """`--config runs=smoke` builds smoke."""
    assert read_workflow({"runs": "smoke"}).runs == ["smoke"]


@pytest.mark.parametrize(
    ("config", "parts"),
    [
        ({"run": "a"}, ("field run", "did you mean 'runs'?")),
        ({"strict_audits": True}, ("field strict_audits", "did you mean 'strict_audit'?")),
        ({"runs": []}, ("field runs", "at least 1")),
        ({"runs": ""}, ("field runs", "at least 1")),
        ({"runs": None}, ("field runs", "None")),
        ({"runs": 3}, ("field runs", "found 3")),
        ({"runs": "a,../b"}, ("field runs.1", "'../b'")),
        ({"strict_audit": "perhaps"}, ("field strict_audit", "'perhaps'", "boolean")),
    ],
)
def test_a_mistake_in_the_workflow_configuration_is_refused(
    refused: Any, config: dict[str, Any], parts: tuple[str, ...]
) -> None:
    """One line with the place."""
    with refused("config/config.yaml", *parts):
        read_workflow(config)


# --- what is committed -----------------------------------------------------------------------------------------------


def test_the_committed_configuration_is_valid_and_its_runs_exist(project: Path) -> None:
    """config.yaml names run files, and every run file can be read."""
    config = read_workflow(yaml.safe_load((project / "config/config.yaml").read_text(encoding="utf-8")))
    names = {path.stem for path in (project / "config/runs").glob("*.yaml")}
    assert set(config.runs) <= names
    assert {"demo", "smoke", "paper"} <= names
    for name in names:
        assert read_run(project / "config/runs", name).studies


@pytest.mark.parametrize("name", ["config.schema.json", "models.schema.json", "run.schema.json"])
def test_the_committed_schemas_are_those_of_the_models(project: Path, name: str) -> None:
    """workflow/schemas follows from the models."""
    committed = project / "workflow/schemas" / name
    expected = json.dumps(schemas()[name], indent=2, sort_keys=True) + "\n"
    found = committed.read_bytes().decode("utf-8") if committed.is_file() else ""
    assert found == expected, f"{name} is not that of the models; write it anew: {REGENERATE}"
    assert {path.name for path in committed.parent.iterdir()} == set(schemas())


def test_the_schemas_are_written_by_the_command_that_the_failure_names(project: Path, tmp_path: Path) -> None:
    """In a copy of the package, the command writes the committed files."""
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(project / "scripts/warrant", tmp_path / "scripts/warrant", ignore=ignored)
    (tmp_path / "workflow").mkdir()
    command = [sys.executable, *REGENERATE.split()[2:]]
    subprocess.run(command, cwd=tmp_path, env={"PYTHONPATH": "scripts"}, check=True, timeout=60)
    for name in schemas():
        written = (tmp_path / "workflow/schemas" / name).read_bytes()
        assert written == (project / "workflow/schemas" / name).read_bytes()


def plain(content: Any) -> Any:
    """As JSON has it: keys are texts."""
    return json.loads(json.dumps(content))


def overlaid(folder: Path, name: str) -> dict[str, Any]:
    """A run file with what it extends, as the docstring of config.py says, written a second time."""
    content: dict[str, Any] = yaml.safe_load((folder / f"{name}.yaml").read_text(encoding="utf-8"))
    parent = content.pop("extends", None)
    if parent is None:
        return content

    def merge(base: Any, over: Any) -> Any:
        if not isinstance(base, dict) or not isinstance(over, dict):
            return over
        kept = {key: merge(base.get(key), value) for key, value in over.items() if value is not None}
        return {**{key: value for key, value in base.items() if key not in over}, **kept}

    merged: dict[str, Any] = merge(overlaid(folder, parent), content)
    return merged


def test_the_committed_files_satisfy_the_committed_schemas(project: Path) -> None:
    """An editor that knows the schemas accepts config.yaml and every run, with what it extends."""
    known = {name: json.loads((project / "workflow/schemas" / name).read_text()) for name in schemas()}
    for schema in known.values():
        jsonschema.validators.validator_for(schema).check_schema(schema)
    config = yaml.safe_load((project / "config/config.yaml").read_text(encoding="utf-8"))
    jsonschema.validate(plain(config), known["config.schema.json"])
    for path in (project / "config/runs").glob("*.yaml"):
        content = overlaid(path.parent, path.stem)
        jsonschema.validate(plain(content), known["run.schema.json"])
        assert read_run(path.parent, path.stem) == Run.model_validate(content)


def test_the_schemas_refuse_what_the_models_refuse() -> None:
    """An unknown key and a value out of range; what is missing is only known once a file is merged with its base."""
    schema = schemas()["run.schema.json"]
    jsonschema.validate(plain(BASE), schema)
    for content in (
        edited("titel", value=1),
        edited(*ONE, "bootstrap", "resamples", value=5),
        edited(*ONE, "sample", 0, "format", value="averitek"),
    ):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(plain(content), schema)


# --- judges ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def models(project: Path, tmp_path: Path) -> Callable[[str, str], Any]:
    """Read the project's config/models.yaml with one text in it replaced."""

    def read(old: str, new: str) -> Any:
        text = (project / "config/models.yaml").read_text(encoding="utf-8")
        assert old in text
        (tmp_path / "models.yaml").write_text(text.replace(old, new, 1), encoding="utf-8")
        return read_models(tmp_path / "models.yaml")

    return read


def test_a_judge_sends_its_block_without_what_says_how_it_is_reached(models: Any) -> None:
    """Decimals go as their texts; latency is not sent."""
    judge = models("seed: 7", 'seed: 7\n  latency: "0.5"')["judge-a"]
    assert judge.sent()["sensitivity"] == "0.84"
    assert "latency" not in judge.sent()
    assert judge.transport() == {"provider": "simulated", "latency": "0.5"}


@pytest.mark.parametrize(
    ("old", "new", "parts"),
    [
        ("fenced:", "fence:", ("judge-a.fence", "did you mean 'fenced'?")),
        ("  seed: 7\n", "", ("judge-a.seed", "found nothing")),
        ('"0.84"', '"1.84"', ("judge-a.sensitivity", "'1.84'", "less than or equal to 1")),
        ('"0.03"', '"0.30"', ("judge-a", "exceed 1 together")),
        ("provider: simulated", "provider: simulate", ("judge-a.provider", "'simulate'", "'simulated'")),
        ("judge-b:", "judge-a:", ("judge-a", "twice")),
        ("judge-b:", "judge b:", ("judge b",)),
    ],
)
def test_a_mistake_in_a_judge_is_refused(models: Any, refused: Any, old: str, new: str, parts: tuple[str, ...]) -> None:
    """File, judge and key, with the nearest valid key."""
    with refused("models.yaml", *parts):
        models(old, new)
