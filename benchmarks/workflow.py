"""What the workflow costs beside what its jobs cannot do without: interpreters and imports, and Snakemake itself.

The last commit is cloned into a temporary folder, where Snakemake builds the run `paper` from nothing. Beside it: the
seconds of its jobs' own benchmarks; as many fresh interpreters that only import what each job's program imports, as
many at a time as the run has cores; and a dry run of the built project beside one of a workflow of one rule.

    WARRANT_MIRROR=folder .venv/bin/python benchmarks/workflow.py [--run NAME] [--cores N] [--repeats N]

The mirror keeps the network out of the figures.
"""

from __future__ import annotations

import argparse
import csv
import os
import platform
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from pathlib import Path
from statistics import fmean, median
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
MIRROR: Final = "WARRANT_MIRROR"
JOB: Final = re.compile(  # a job as Snakemake announces it: where its benchmark goes, then what it runs
    r"^ +benchmark: (\S+)$(?:(?!^ +benchmark:).)*?^Shell command: python3 scripts/(\w+)\.py", re.MULTILINE | re.DOTALL
)
IMPORT: Final = """
import runpy, sys
sys.path.insert(0, "scripts")
runpy.run_path(f"scripts/{sys.argv[1]}.py", run_name="imported")
"""
NOTHING: Final = "Nothing to be done"
ONE_RULE: Final = """
rule one:
    output:
        "one.txt",
    shell:
        "touch {output}"
"""


def jobs_environment() -> dict[str, str]:
    """What workflow/common.smk gives its jobs: this interpreter first, no bytecode written."""
    return {
        **os.environ,
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), *os.get_exec_path()]),
        "PYTHONUTF8": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONNOUSERSITE": "1",
        "PYTHONHASHSEED": "0",
    }


def timed(command: Sequence[str], folder: Path, environment: Mapping[str, str] | None = None) -> tuple[float, str]:
    """Seconds and output of a command; its output and an exit when it fails."""
    start = time.perf_counter()
    done = subprocess.run(
        command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    taken = time.perf_counter() - start
    if done.returncode != 0:
        sys.exit(f"{done.stdout}\nfailed with status {done.returncode}: {' '.join(command)}")
    return taken, done.stdout


def snakemake(folder: Path, *arguments: str) -> tuple[float, str]:
    return timed([sys.executable, "-m", "snakemake", *arguments], folder)


def own_seconds(path: Path) -> float:
    """Wall seconds of one job, as Snakemake measured them around its shell command."""
    with path.open(encoding="utf-8", newline="") as handle:
        (row,) = csv.DictReader(handle, delimiter="\t")
    return float(row["s"])


def imported(program: str, folder: Path) -> float:
    return timed([sys.executable, "-c", IMPORT, program], folder, jobs_environment())[0]


def together(programs: Sequence[str], folder: Path, cores: int) -> tuple[float, list[float]]:
    """Wall seconds, and each one's, of importing every job's program, `cores` at a time."""
    start = time.perf_counter()
    with ThreadPoolExecutor(cores) as pool:
        each = list(pool.map(lambda program: imported(program, folder), programs))
    return time.perf_counter() - start, each


def load() -> str:
    return f"1-minute load {os.getloadavg()[0]:.1f}"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", default="paper", help="run that is built (default paper)")
    parser.add_argument("--cores", type=int, default=2, help="cores that Snakemake may use (default 2)")
    parser.add_argument("--repeats", type=int, default=5, help="dry runs of each kind (default 5)")
    parser.add_argument("--folder", type=Path, help="where to clone (default: a temporary folder)")
    arguments = parser.parse_args()
    if not os.environ.get(MIRROR):
        parser.error(f"{MIRROR} names no folder: the network would be timed")
    os.environ[MIRROR] = str(Path(os.environ[MIRROR]).resolve())
    cores, repeats = int(arguments.cores), int(arguments.repeats)
    if min(cores, repeats) < 1:
        parser.error("a number is less than 1")
    chosen = ["--config", f"runs={arguments.run}"]
    print(f"Python {platform.python_version()}, Snakemake {version('snakemake')}; {os.cpu_count()} cores, {load()}")
    with tempfile.TemporaryDirectory(dir=arguments.folder) as name:
        clone, empty = Path(name) / "clone", Path(name) / "empty"
        timed(["git", "clone", "--quiet", "--no-hardlinks", str(ROOT), str(clone)], Path(name))
        empty.mkdir()
        (empty / "Snakefile").write_text(ONE_RULE, encoding="utf-8")

        wall, output = snakemake(clone, "--cores", str(cores), "--printshellcmds", *chosen)
        jobs = dict(JOB.findall(output))
        written = {str(path.relative_to(clone)) for path in (clone / "logs").rglob("*.benchmark.tsv")}
        if set(jobs) != written:
            sys.exit(f"announced jobs and benchmarks differ: {sorted(set(jobs) ^ written)}")
        programs, own = list(jobs.values()), [own_seconds(clone / path) for path in jobs]
        print(f"\n{arguments.run} from nothing: {len(programs)} jobs of {len(set(programs))} programs, {load()}")
        for program in set(programs):  # once, so that the first does not read the disk for all
            imported(program, clone)
        bare, each = together(programs, clone, cores)
        start, _ = timed([sys.executable, "-c", "pass"], clone, jobs_environment())
        print(f"{'':<58} {'s':>7} {'beside bare':>12}")
        rows = [
            (f"wall time of the run, {cores} cores", wall, wall / bare),
            (f"the jobs' bare imports, {cores} at a time, wall time", bare, 1.0),
            ("the jobs' own seconds, summed", sum(own), sum(own) / sum(each)),
            ("the jobs' bare imports, summed", sum(each), 1.0),
            ("an interpreter that imports nothing", start, len(programs) * start / sum(each)),
        ]
        for what, seconds, beside in rows:
            print(f"{what:<58} {seconds:>7.2f} {beside:>12.2f}")
        print("the last ratio is of as many such interpreters as there are jobs")
        print(f"\n{'program':<24} {'jobs':>5} {'own s':>7} {'bare s':>7} {'ratio':>6}   (means of its jobs)")
        for program in sorted(set(programs)):
            at = [i for i, item in enumerate(programs) if item == program]
            mine, alone = fmean(own[i] for i in at), fmean(each[i] for i in at)
            print(f"{program:<24} {len(at):>5} {mine:>7.2f} {alone:>7.2f} {mine / alone:>6.1f}")

        snakemake(empty, "--cores", "1")
        dry: dict[str, list[float]] = {"built project": [], "one rule": [], "snakemake --version": []}
        for _ in range(repeats):  # in turns: what else the machine does hits all alike
            for what, folder, given in (
                ("built project", clone, ["--dry-run", *chosen]),
                ("one rule", empty, ["--dry-run"]),
                ("snakemake --version", empty, ["--version"]),
            ):
                seconds, output = snakemake(folder, *given)
                if "--dry-run" in given and NOTHING not in output:
                    sys.exit(f"{output}\na dry run of what is built has something to do")
                dry[what].append(seconds)
        print(f"\ndry run of what is built, {repeats} of each in turns, {load()}")
        print(f"{'':<34} {'least s':>8} {'median s':>9} {'least beside one rule':>22}")
        least = min(dry["one rule"])
        for what, seconds_each in dry.items():
            fastest = min(seconds_each)
            print(f"{what:<34} {fastest:>8.2f} {median(seconds_each):>9.2f} {fastest / least:>22.2f}")


if __name__ == "__main__":
    main()
