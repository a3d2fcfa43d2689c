"""Write a run's manifest: inputs and their hashes, configuration, versions, commit, and what is missing and why."""

from __future__ import annotations

import json
import subprocess

from warrant import artifact
from warrant.artifact import write_text
from warrant.sources import Source, verify
from warrant.step import Step, run


def git_state() -> dict[str, object]:
    """The commit that ran and whether the checkout had changes; null where there is no repository."""
    try:
        commit = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, check=True)
        status = subprocess.run(["git", "status", "--porcelain"], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return {"commit": None, "changed": None}
    return {"commit": commit.stdout.strip(), "changed": bool(status.stdout.strip())}


def main(step: Step) -> None:
    """Write the manifest as JSON with sorted keys."""
    listed = step.settings["sources"]
    sources = []
    for path, row in zip(step.inputs["sources"], listed, strict=True):
        settings = {name: row[name] for name in ("name", "sha256", "sha256_lf", "bytes")}
        observed = verify(path, Source.from_settings(settings))
        sources.append(
            {
                **row,
                "file": str(path),
                "observed_sha256": observed.sha256,
                "observed_bytes": observed.bytes,
                "pinned": observed.pinned,
            }
        )
    flags = [row for path in step.inputs["flags"] for row in artifact.read(path).to_pylist()]
    content = {
        "run": {name: value for name, value in step.settings.items() if name not in ("sources", "missing")},
        "sources": sources,
        "artifacts": {
            str(path): {"content_sha256": artifact.file_identity(path), **artifact.provenance_of(path)}
            for path in [*step.inputs["artifacts"], *step.inputs["tables"]]
        },
        "missing": step.settings["missing"],
        "flags": flags,
        "versions": artifact.versions(),
        "git": git_state(),
    }
    write_text(step.outputs["manifest"], json.dumps(content, indent=1, sort_keys=True, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    run(main, inputs=["sources", "artifacts", "tables", "flags"], outputs=["manifest"])
