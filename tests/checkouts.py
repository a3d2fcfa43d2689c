"""A copy of the checkout in a folder of its own, and the real Snakemake in it."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Mapping
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
NOTHING = "Nothing to be done"


@cache
def project_files() -> list[str]:
    """Files of the checkout that git knows or would add, listed once: the checkout may change while tests run."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return [name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()]


def copy_project(target: Path) -> Path:
    for name in project_files():
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, target / name)
    return target


def snakemake(
    folder: Path, *arguments: str, mirror: Path | None = None, variables: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run Snakemake by its interpreter, with nothing activated, no mirror but the given one, no other variables."""
    environment = {"PATH": os.defpath, "HOME": str(folder), "LC_ALL": "C", **(variables or {})}
    if mirror is not None:
        environment["WARRANT_MIRROR"] = str(mirror)
    command = [sys.executable, "-m", "snakemake", "--cores", "2", *arguments]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def planned(folder: Path, *arguments: str, mirror: Path | None = None) -> Counter[str]:
    """Jobs by rule that a dry run announces."""
    done = snakemake(folder, "--dry-run", *arguments, mirror=mirror)
    assert done.returncode == 0, done.stdout + done.stderr
    output = done.stdout + done.stderr
    if NOTHING in output:
        return Counter()
    stats = output.split("Job stats:")[1]
    rows = re.findall(r"^(\w+)\s+(\d+)$", stats.split("total")[0], re.MULTILINE)
    return Counter({name: int(count) for name, count in rows if name not in ("all", "default")})


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.count(old) >= 1, f"{old!r} is not in {path}"
    path.write_text(text.replace(old, new), encoding="utf-8")


def killed(command: list[str], folder: Path, seconds: float, group: bool, after: str = "", **variables: str) -> str:
    """Start a command, kill -9 it (or it and its children) some time after it says `after`; what it had said."""
    environment = {"PATH": os.defpath, "HOME": str(folder), "LC_ALL": "C", **variables}
    with (folder / "said.txt").open("w+", encoding="utf-8") as said:
        process = subprocess.Popen(
            command, cwd=folder, env=environment, stdout=said, stderr=subprocess.STDOUT, start_new_session=True
        )
        while after not in (folder / "said.txt").read_text(encoding="utf-8") and process.poll() is None:
            time.sleep(0.01)  # how long starting takes depends on the machine
        time.sleep(seconds)
        with contextlib.suppress(ProcessLookupError):  # it was done
            (os.killpg if group else os.kill)(process.pid, signal.SIGKILL)
        process.wait()
        said.seek(0)
        return said.read()
