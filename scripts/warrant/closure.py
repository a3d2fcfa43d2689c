"""The code a program runs: its file and every project module that it imports, found without running it."""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

PACKAGE: Final = "warrant"


def closure(program: Path) -> list[Path]:
    """The program, then its import closure inside the package, sorted; paths as given, relative stays relative.

    The package lies beside the program (scripts/warrant) or is the folder the program is in.
    """
    root = next(folder for folder in (program.parent, *program.parents) if (folder / PACKAGE).is_dir())
    found: dict[Path, None] = {}
    waiting = [program]
    while waiting:
        path = waiting.pop()
        if path not in found:
            found[path] = None
            waiting.extend(_imported(path, root))
    found.pop(program)
    return [program, *sorted(found)]


def code_hash(program: Path) -> str:
    """SHA-256 over names and bytes of the closure: it changes when any of its files does, whatever their dates."""
    digest = hashlib.sha256()
    for path in closure(program):
        digest.update(f"{path.name}\0".encode() + hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def _imported(path: Path, root: Path) -> list[Path]:
    return [file for module in _modules(path, path.stat().st_mtime_ns) for file in _files(root, module)]


@cache
def _modules(path: Path, _modified: int) -> tuple[str, ...]:
    tree = ast.parse(path.read_text(encoding="utf-8"), filename=str(path))
    return tuple(dict.fromkeys(_names(tree)))


def _names(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _files(root: Path, module: str) -> Iterator[Path]:
    """Files that importing the module runs: every package on the way, and the module itself."""
    parts = module.split(".")
    if parts[0] != PACKAGE:
        return
    for depth in range(1, len(parts) + 1):
        base = root.joinpath(*parts[:depth])
        for path in (base / "__init__.py", base.with_suffix(".py")):
            if path.is_file():
                yield path
