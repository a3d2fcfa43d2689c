"""What every test shares: who needs the public inputs, programs as they are really run, refusals as one line."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from warrant.errors import InputError
from warrant.sources import MIRROR_VARIABLE, at_hand, mirror_folder, obtain, read_sources, verify
from warrant.step import Step

ROOT = Path(__file__).resolve().parents[1]
NOWHERE = Path(os.devnull)  # no file can lie below it
LOCAL_MODEL = "WARRANT_LOCAL_MODEL"
MIRROR = pytest.StashKey[Path | None]()
SCRIPTS = ROOT / "scripts"

settings.register_profile("warrant", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("warrant")


# --- real inputs -----------------------------------------------------------------------------------------------------


def pytest_configure(config: pytest.Config) -> None:
    """Find the mirror once; what the tests' own environment says afterwards plays no part."""
    try:
        mirror = mirror_folder()
    except InputError as error:
        raise pytest.UsageError(str(error)) from None
    config.stash[MIRROR] = None if mirror is None else mirror.resolve()


@cache
def _lacking(name: str, mirror: Path | None) -> bool:
    """Whether a source (with a slash in its name: a file of the mirror) is neither in data/raw nor in the mirror."""
    if "/" in name:
        return mirror is None or not (mirror / name).is_file()
    return not at_hand(read_sources(ROOT / "config/sources.tsv")[name], ROOT / "data/raw", NOWHERE, mirror)


def _needed(item: pytest.Item) -> list[str]:
    """Inputs of a test: those that `real_inputs("averitec_dev", ...)` names; every required source if it names none."""
    found: list[str] = []
    for marker in item.iter_markers("real_inputs"):
        sources = read_sources(ROOT / "config/sources.tsv")
        found += marker.args or [source.name for source in sources.values() if not source.optional]
    return found


def pytest_report_header(config: pytest.Config) -> str:
    """Say whether the tests on real inputs run."""
    mirror = config.stash[MIRROR]
    required = [source for source in read_sources(ROOT / "config/sources.tsv").values() if not source.optional]
    lacking = [source.name for source in required if _lacking(source.name, mirror)]
    if not lacking:
        return f"real inputs: at hand{'' if mirror else f'; no {MIRROR_VARIABLE}, tests that need more are deselected'}"
    return (
        f"real inputs: the tests that need {', '.join(lacking)} are deselected; "
        f"`make fetch` or {MIRROR_VARIABLE} brings them"
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect the tests whose real inputs are not at hand, and those that ask a model where none is named."""
    mirror, model = config.stash[MIRROR], os.environ.get(LOCAL_MODEL)
    left_out = [
        item
        for item in items
        if any(_lacking(name, mirror) for name in _needed(item))
        or (not model and item.get_closest_marker("local_model") is not None)
    ]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]


@pytest.fixture(scope="session")
def real_input(pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """A verified public input by its name in config/sources.tsv, or a file of the mirror by its path there."""
    folder, mirror = tmp_path_factory.mktemp("inputs"), pytestconfig.stash[MIRROR]

    @cache
    def path(name: str) -> Path:
        if "/" in name:
            assert mirror is not None
            return mirror / name
        source = read_sources(ROOT / "config/sources.tsv")[name]
        fetched = ROOT / "data/raw" / source.file
        if fetched.is_file():
            verify(fetched, source)
            return fetched
        obtain(source, folder / "raw", folder / "cache", mirror, say=lambda line: None)
        return folder / "raw" / source.file

    return path


# --- the project and its programs ------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def project() -> Path:
    """The root of the checkout."""
    return ROOT


@pytest.fixture
def run_program(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run scripts/{name}.py as the workflow does: another process, in a folder of its own, with no mirror set."""

    def run(name: str, *arguments: object, cwd: Path = tmp_path, **environment: str) -> Any:
        kept = {key: value for key, value in os.environ.items() if key != MIRROR_VARIABLE}
        return subprocess.run(
            [sys.executable, str(SCRIPTS / f"{name}.py"), *map(str, arguments)],
            cwd=cwd,
            env={**kept, "PYTHONDONTWRITEBYTECODE": "1", "NO_PROXY": "127.0.0.1", **environment},
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=60,
        )

    return run


@cache
def _program(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(f"program_{name}", SCRIPTS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def run_step() -> Callable[..., None]:
    """Run the `main` of scripts/{name}.py in this process on a step."""

    def run(
        name: str, inputs: Mapping[str, list[Path]], outputs: Mapping[str, Path], settings: Mapping[str, Any]
    ) -> None:
        _program(name).main(Step(name, dict(inputs), dict(outputs), dict(settings), "code"))

    return run


@pytest.fixture(scope="session")
def refused() -> Callable[..., AbstractContextManager[None]]:
    """A block that must be refused by an InputError of one line in which every given part occurs."""

    @contextmanager
    def check(*parts: str) -> Iterator[None]:
        with pytest.raises(InputError) as caught:
            yield
        line = str(caught.value)
        assert "\n" not in line
        for part in parts:
            assert part in line

    return check
