"""The environment is locked by hash, said once, and nothing that is committed knows where it was written."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement

PINNED = re.compile(r"(?P<name>[a-z0-9][a-z0-9-]*)(\[[a-z0-9,-]+\])?==(?P<version>[0-9][^ ;]*)( ; (?P<marker>.+))?")
HERE = re.compile(r"(?<![\w.])/(?:work|home|root|Users)/|[A-Z]:\\Users\\")
INDEX = re.compile(r"pypi\.org|python[h]osted|(?<!emit-)index[-]url|find[-]links|/simpl[e]/")


def requirements(text: str) -> list[str]:
    """Requirements with their options, comments left out, continued lines joined."""
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    return [line for line in "\n".join(lines).replace("\\\n", "").splitlines() if line.strip()]


@pytest.fixture(scope="module")
def lock(project: Path) -> list[str]:
    return requirements((project / "requirements.txt").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def locked(lock: list[str]) -> dict[str, str]:
    """Version by name."""
    found = {}
    for line in lock:
        match = PINNED.fullmatch(line.partition(" --hash")[0].strip())
        assert match is not None, line
        found[match["name"]] = match["version"]
    return found


@pytest.fixture(scope="module")
def declared(project: Path) -> dict[str, Any]:
    content: dict[str, Any] = tomllib.loads((project / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return content


def test_every_requirement_is_pinned_with_its_hashes(lock: list[str], locked: dict[str, str]) -> None:
    """One version and at least one SHA-256 each, each name once: no file is installed that nobody vouched for."""
    assert len(lock) == len(locked) > 20
    for line in lock:
        _, *options = line.split(" --")
        assert options, line
        for option in options:
            assert re.fullmatch(r"hash=sha256:[0-9a-f]{64}", option.strip()), line


def test_the_lock_names_no_place(project: Path, lock: list[str]) -> None:
    """No address, no file, no index: where packages come from is the installer's business."""
    text = (project / "requirements.txt").read_text(encoding="utf-8")
    assert "://" not in text
    assert " @ " not in text
    assert not [line for line in lock if line.startswith("-")]


def test_the_lock_satisfies_what_is_declared(declared: dict[str, Any], locked: dict[str, str]) -> None:
    """Every dependency, those of the tests too, is locked at a version that its bounds allow."""
    for text in [*declared["dependencies"], *declared["optional-dependencies"]["test"]]:
        wanted = Requirement(text)
        assert wanted.specifier.contains(locked[wanted.name.lower()]), text


def test_what_the_tests_and_the_library_import_is_declared(declared: dict[str, Any], locked: dict[str, str]) -> None:
    """Tools that tests need are part of the lock."""
    assert {"pytest", "hypothesis", "jsonschema", "packaging"} <= set(locked)


@pytest.fixture(scope="module")
def conda(project: Path) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((project / "envs/warrant.yaml").read_text(encoding="utf-8"))
    return found


def test_the_conda_environment_has_the_versions_of_the_lock(conda: dict[str, Any], locked: dict[str, str]) -> None:
    """The same steps with the same versions, however the environment was made."""
    for text in conda["dependencies"]:
        name, constraint = text.split(" ", 1)
        if name != "python":
            assert constraint == f"=={locked[name]}", text


def test_the_conda_environment_has_what_a_step_imports(conda: dict[str, Any], declared: dict[str, Any]) -> None:
    """Python within the declared bound, and every dependency but Snakemake, which stays outside."""
    dependencies = dict(text.split(" ", 1) for text in conda["dependencies"])
    assert dependencies.pop("python") == declared["requires-python"]
    assert set(dependencies) == {Requirement(text).name for text in declared["dependencies"]} - {"snakemake"}


def test_every_environment_of_a_rule_is_there(project: Path) -> None:
    """Each `conda:` of a rule names a file of envs/."""
    named = {
        name
        for path in (project / "workflow/rules").glob("*.smk")
        for name in re.findall(r'conda:\s+"([^"]+)"', path.read_text(encoding="utf-8"))
    }
    assert named
    for name in named:
        assert (project / "workflow/rules" / name).resolve().parent == project / "envs"
        assert (project / "workflow/rules" / name).is_file()


def test_an_environment_behind_a_link_is_not_emptied(project: Path, tmp_path: Path) -> None:
    """`venv --clear` would follow the link into an environment that another checkout may use."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "kept").touch()
    for name in ("Makefile", "requirements.txt"):
        (tmp_path / name).write_bytes((project / name).read_bytes())
    (tmp_path / ".venv").symlink_to(elsewhere)
    made = subprocess.run(
        ["make", "environment", f"PYTHON={sys.executable}"], cwd=tmp_path, capture_output=True, text=True
    )
    assert made.returncode != 0
    assert f".venv is a link to {elsewhere}" in made.stderr
    assert [path.name for path in elsewhere.iterdir()] == ["kept"]


@pytest.fixture(scope="module")
def committed(project: Path) -> dict[str, bytes]:
    """Every tracked file."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=project, capture_output=True, text=True, check=True)
    names = [name for name in listed.stdout.split("\0") if name and (project / name).is_file()]
    return {name: (project / name).read_bytes() for name in names}


def test_no_committed_file_knows_where_it_was_written(committed: dict[str, bytes]) -> None:
    """No path below a home or work folder, and no address of a package index."""
    assert {"requirements.txt", "pyproject.toml", "Snakefile"} <= set(committed)
    for name, data in committed.items():
        text = data.decode("utf-8", "replace")
        for pattern in (HERE, INDEX):
            found = pattern.search(text)
            assert found is None, f"{name}: {found and text[max(0, found.start() - 30) : found.end() + 30]!r}"


def test_downloads_results_and_caches_are_not_committed(committed: dict[str, bytes]) -> None:
    """Of the folders that a build fills, at most a README is tracked."""
    for name in committed:
        top, _, rest = name.partition("/")
        if top in ("results", "cache", "logs") or name.startswith("data/raw/"):
            assert rest.removeprefix("raw/") == "README.md", name


def test_the_patterns_find_what_they_are_meant_to_find() -> None:
    """A path, a drive and an index are found; a URL's steps and an option that leaves the index out are not."""
    home, work = "/".join(["", "home", "me", "x"]), "/".join(["", "work", "x"])
    for text in (home, f"open('{work}')", f"PATH={home}", "C:\\" + "Users\\me"):
        assert HERE.search(text), text
    for text in ("https://example.org/home/x", "the workflow/rules", "a/work/b"):
        assert not HERE.search(text), text
    for text in (
        "https://" + "pypi" + ".org/simple",
        "--extra-" + "index" + "-url x",
        "files." + "python" + "hosted.org",
    ):
        assert INDEX.search(text), text
    assert not INDEX.search("--no-emit-" + "index" + "-url")
