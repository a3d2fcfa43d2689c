"""The code of a step is its program and everything of the package that it imports, by content."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from warrant.closure import closure, code_hash

FILES = {
    "program.py": "import json\nimport numpy as np\nfrom warrant import a\n",
    "other.py": "import warrant.lonely\n",
    "warrant/__init__.py": "",
    "warrant/a.py": "from warrant.sub.b import thing\n",
    "warrant/sub/__init__.py": "from warrant.base import x\n",
    "warrant/sub/b.py": "def late():\n    import warrant.c as c\n    return c\n",
    "warrant/sub/unused.py": "",
    "warrant/base.py": "",
    "warrant/c.py": "from warrant import a  # a circle\nfrom warrant.a import thing\n",
    "warrant/lonely.py": "",
}
REACHED = ["__init__.py", "a.py", "base.py", "c.py", "sub/__init__.py", "sub/b.py"]


@pytest.fixture
def scripts(tmp_path: Path) -> Path:
    """A project of programs beside a package."""
    for name, text in FILES.items():
        (tmp_path / "scripts" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "scripts" / name).write_text(text)
    return tmp_path / "scripts"


def test_the_closure_is_transitive_and_has_the_packages_on_the_way(scripts: Path) -> None:
    """The program comes first; modules imported late, by name or by alias, and every __init__ follow, sorted."""
    assert closure(scripts / "program.py") == [
        scripts / "program.py",
        *(scripts / "warrant" / name for name in REACHED),
    ]
    assert [path.name for path in closure(scripts / "other.py")] == ["other.py", "__init__.py", "lonely.py"]


def test_a_module_of_the_package_has_a_closure_too(scripts: Path) -> None:
    """A program that is a module of the package is looked up beside its own package."""
    found = closure(scripts / "warrant/base.py")
    assert found == [scripts / "warrant/base.py"]
    assert closure(scripts / "warrant/sub/b.py")[0] == scripts / "warrant/sub/b.py"


def test_relative_paths_stay_relative(scripts: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No absolute path reaches an input of a rule: a moved checkout reruns nothing."""
    absolute = closure(scripts / "program.py")
    monkeypatch.chdir(scripts.parent)
    relative = closure(Path("scripts/program.py"))
    assert not any(path.is_absolute() for path in relative)
    assert [scripts.parent / path for path in relative] == absolute
    assert code_hash(Path("scripts/program.py")) == code_hash(scripts / "program.py")


@pytest.mark.parametrize("name", ["program.py", *(f"warrant/{name}" for name in REACHED)])
def test_the_code_hash_changes_with_every_file_of_the_closure(scripts: Path, name: str) -> None:
    """A comment in any of them is another code; the old text is the old code again."""
    before, path = code_hash(scripts / "program.py"), scripts / name
    text = path.read_text()
    path.write_text(f"{text}# edited\n")
    assert code_hash(scripts / "program.py") != before
    path.write_text(text)
    assert code_hash(scripts / "program.py") == before


def test_files_outside_the_closure_play_no_part(scripts: Path) -> None:
    """Editing what a program does not import changes nothing."""
    before = code_hash(scripts / "program.py")
    for name in ("other.py", "warrant/lonely.py", "warrant/sub/unused.py"):
        (scripts / name).write_text("x = 1\n")
    assert code_hash(scripts / "program.py") == before


def test_dates_play_no_part(scripts: Path) -> None:
    """A touch changes nothing; an edit that keeps the old date changes the hash."""
    before, path = code_hash(scripts / "program.py"), scripts / "warrant/base.py"
    os.utime(path, (1, 1))
    assert code_hash(scripts / "program.py") == before
    path.write_text("x = 1\n")
    os.utime(path, (1, 1))
    assert code_hash(scripts / "program.py") != before


def test_a_new_import_is_found(scripts: Path) -> None:
    """The closure follows the files as they are, not as they were."""
    closure(scripts / "program.py")
    (scripts / "warrant/base.py").write_text("import warrant.lonely\n")
    assert scripts / "warrant/lonely.py" in closure(scripts / "program.py")


def test_nothing_is_run(scripts: Path) -> None:
    """A module that would fail when imported is found all the same."""
    (scripts / "warrant/base.py").write_text("raise SystemExit('run')\n")
    assert scripts / "warrant/base.py" in closure(scripts / "program.py")


# --- this project ----------------------------------------------------------------------------------------------------


def programs(project: Path) -> list[Path]:
    return sorted((project / "scripts").glob("*.py"))


def test_no_module_imports_in_a_way_that_the_closure_cannot_see(project: Path) -> None:
    """No relative import, no import by a computed name: what runs can be read from the text."""
    for path in [*programs(project), *(project / "scripts/warrant").rglob("*.py")]:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            assert not (isinstance(node, ast.ImportFrom) and node.level), path
            assert not (
                isinstance(node, ast.Attribute | ast.Name) and _name(node) in ("import_module", "__import__")
            ), path


def _name(node: ast.Attribute | ast.Name) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id


def test_what_a_program_imports_is_in_its_closure(project: Path) -> None:
    """Python's own account of the modules that importing every program loads has nothing that its closure lacks."""
    listing = (
        "import importlib, json, sys\n"
        "found = {}\n"
        "for program in sys.argv[1:]:\n"
        "    for name in [n for n in sys.modules if n.partition('.')[0] == 'warrant']:\n"
        "        del sys.modules[name]\n"
        "    importlib.import_module(program)\n"
        "    found[program] = [m.__file__ for n, m in sys.modules.items() if n.partition('.')[0] == 'warrant']\n"
        "print(json.dumps(found))\n"
    )
    done = subprocess.run(
        [sys.executable, "-B", "-c", listing, *(path.stem for path in programs(project))],
        env={**os.environ, "PYTHONPATH": str(project / "scripts")},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    loaded = json.loads(done.stdout)
    assert len(loaded) == len(programs(project))
    for name, files in loaded.items():
        assert files
        assert set(map(Path, files)) <= set(closure(project / f"scripts/{name}.py")), name
