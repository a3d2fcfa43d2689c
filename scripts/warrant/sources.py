"""Public inputs, pinned by SHA-256: the table of sources, where each is found, and how it is verified.

A source is looked for at its place in data/raw, in the cache by hash, in a mirror by hash, and at its URL.
Wherever it comes from, its hash is checked before it gets its name; nothing half-written is ever visible.
"""

from __future__ import annotations

import csv
import hashlib
import io
import os
import shutil
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Final

from warrant.errors import InputError, bad_input

MIRROR_VARIABLE: Final = "WARRANT_MIRROR"
REDISTRIBUTABLE: Final = frozenset(("MIT", "Apache-2.0", "CC0-1.0", "CC BY 4.0", "CC BY-SA 3.0", "CC BY-SA 4.0"))
Say = Callable[[str], None]


@dataclass(frozen=True)
class Source:
    """One row of config/sources.tsv.

    file: its name in data/raw. sha256: of the bytes. sha256_lf: of the text with LF line ends, where only that
    is known. bytes: size, when known. optional: nothing fails without it.
    """

    name: str
    file: str
    url: str
    sha256: str
    sha256_lf: str
    bytes: int | None
    licence: str
    needed_by: str
    optional: bool
    about: str

    @property
    def redistributable(self) -> bool:
        """Whether its licence lets anybody pass its text on; one that is not known does not."""
        return self.licence in REDISTRIBUTABLE

    @property
    def pin(self) -> str:
        """The hash that identifies it, or the empty string."""
        return self.sha256 or self.sha256_lf

    @property
    def cache_name(self) -> str:
        """Its file name in the cache: by hash when pinned, by name otherwise."""
        return self.pin or f"unpinned-{self.name}"

    def settings(self) -> dict[str, Any]:
        """What a step needs to verify the file: this row and no other."""
        return {"name": self.name, "sha256": self.sha256, "sha256_lf": self.sha256_lf, "bytes": self.bytes}

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any]) -> Source:
        """The inverse of `settings` (fields that play no part in verification are empty, other keys ignored)."""
        return cls(
            name=settings["name"],
            file="",
            url="",
            sha256=settings["sha256"],
            sha256_lf=settings["sha256_lf"],
            bytes=settings["bytes"],
            licence="",
            needed_by="",
            optional=False,
            about="",
        )


@dataclass(frozen=True)
class Observed:
    """What was found: the SHA-256 of the bytes, their number, and whether a known hash vouches for them."""

    sha256: str
    bytes: int
    pinned: bool


def read_sources(path: Path) -> dict[str, Source]:
    """Read the table of sources; InputError names the row and field of anything wrong in it."""
    try:
        content = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise bad_input(path, found=str(error), expected="a table in UTF-8") from error
    with io.StringIO(content, newline="") as handle:
        reader = csv.DictReader(handle, delimiter="\t", quoting=csv.QUOTE_NONE)
        expected = [item.name for item in fields(Source)]
        if reader.fieldnames != expected:
            raise bad_input(path, row=1, found=reader.fieldnames, expected=f"the columns {expected}")
        sources: dict[str, Source] = {}
        for number, row in enumerate(reader, start=2):
            source = _source(path, number, row)
            if source.name in sources:
                raise bad_input(path, row=number, field="name", found=source.name, expected="a name used once")
            if source.file in {other.file for other in sources.values()}:
                raise bad_input(path, row=number, field="file", found=source.file, expected="a file used once")
            sources[source.name] = source
    return sources


def _source(path: Path, number: int, row: Mapping[str, str]) -> Source:
    def wrong(field: str, expected: str) -> InputError:
        return bad_input(path, row=number, field=field, found=row[field], expected=expected)

    if None in row.values() or None in row:
        raise bad_input(path, row=number, found="another number of fields", expected=f"{len(fields(Source))} fields")
    for field in ("sha256", "sha256_lf"):
        if row[field] and (len(row[field]) != 64 or set(row[field]) - set("0123456789abcdef")):
            raise wrong(field, "64 lower-case hexadecimal digits or nothing")
    if row["bytes"] and not (row["bytes"].isascii() and row["bytes"].isdigit()):
        raise wrong("bytes", "a number of bytes or nothing")
    if row["optional"] not in ("yes", "no"):
        raise wrong("optional", "yes or no")
    if row["optional"] == "no" and not row["url"]:
        raise wrong("url", "an address for a source that is not optional")
    if row["optional"] == "no" and not (row["sha256"] or row["sha256_lf"]):
        raise wrong("sha256", "a hash for a source that is not optional")
    for field in ("name", "file"):
        if not row[field].strip(".") or "/" in row[field]:
            raise wrong(field, "a name without slashes")
    return Source(
        **{
            **row,
            "bytes": int(row["bytes"]) if row["bytes"] else None,
            "optional": row["optional"] == "yes",
        }  # type: ignore[arg-type]
    )


def verify(path: Path, source: Source) -> Observed:
    """Check a file against its pin; InputError in one line when its size or hash is another.

    A source without a known hash is accepted; the observed hash is returned and marked unpinned.
    """
    size = path.stat().st_size
    data = path.read_bytes()
    digest = hashlib.sha256(data).hexdigest()
    if source.sha256:
        if digest != source.sha256:
            raise _mismatch(path, source, size, digest)
    elif source.sha256_lf:
        folded = hashlib.sha256(data.replace(b"\r\n", b"\n")).hexdigest()
        if folded != source.sha256_lf:
            raise _mismatch(path, source, size, folded)
    return Observed(digest, size, bool(source.pin))


def _mismatch(path: Path, source: Source, size: int, digest: str) -> InputError:
    if source.bytes is not None and size < source.bytes:
        return bad_input(path, field=source.name, found=f"{size} bytes", expected=f"{source.bytes} bytes (cut short?)")
    kind = "SHA-256" if source.sha256 else "SHA-256 with LF line ends"
    return bad_input(path, field=source.name, found=f"{kind} {digest}", expected=source.pin)


def read_verified(path: Path, settings: Mapping[str, Any]) -> bytes:
    """The bytes of a source, once they are known to be the pinned ones."""
    if not path.exists():
        raise bad_input(path, field=str(settings["name"]), found="no such file", expected="run `make fetch`")
    verify(path, Source.from_settings(settings))
    return path.read_bytes()


def at_hand(source: Source, raw: Path, cache: Path, mirror: Path | None) -> bool:
    """Whether the source can be had without a network. Cheap: nothing pinned by a listed hash is read."""
    places = (raw / source.file, cache / source.cache_name)
    return any(place.is_file() for place in places) or _in_mirror(source, mirror) is not None


def mirror_folder() -> Path | None:
    """The mirror that the environment names, if any; InputError when it names no folder."""
    named = os.environ.get(MIRROR_VARIABLE, "")
    if not named:
        return None
    if not Path(named).is_dir():
        raise bad_input(MIRROR_VARIABLE, found=named, expected="an existing folder")
    return Path(named)


def _in_mirror(source: Source, mirror: Path | None) -> Path | None:
    if mirror is None:
        return None
    if not source.pin:
        named = mirror / source.file
        return named if named.is_file() else None
    listing = mirror / "MANIFEST.tsv"
    if listing.is_file():
        with listing.open(encoding="utf-8", newline="") as handle:
            for row in csv.DictReader(handle, delimiter="\t", quoting=csv.QUOTE_NONE):
                if row.get("sha256") == source.pin and (mirror / row["path"]).is_file():
                    return mirror / row["path"]
    for path in sorted(mirror.rglob("*")):
        if path.is_file() and _could_be(path, source):
            return path
    return None


def _could_be(path: Path, source: Source) -> bool:
    if path.name != source.file and (source.bytes is None or path.stat().st_size != source.bytes):
        return False
    try:
        verify(path, source)
    except InputError:
        return False
    return True


def obtain(source: Source, raw: Path, cache: Path, mirror: Path | None, say: Say = print) -> Observed:
    """Put a verified source at raw/file (and into the cache); InputError in one line when it cannot be had.

    raw: folder of linked files. cache: folder of files by hash, kept so that nothing is downloaded twice.
    """
    target, kept = raw / source.file, cache / source.cache_name
    cache.mkdir(parents=True, exist_ok=True)
    if target.is_file():
        observed = verify(target, source)
        if not kept.exists():
            _copy(target, kept)
        return observed
    if kept.is_file():
        try:
            verify(kept, source)
        except InputError as error:
            aside = kept.with_name(kept.name + ".damaged")
            kept.replace(aside)
            say(f"{error}; kept as {aside.name}, looked for elsewhere")
    if not kept.is_file():
        found = _in_mirror(source, mirror)
        if found is not None:
            verify(found, source)
            _copy(found, kept)
            say(f"{source.name}: from the mirror")
        else:
            _download(source, kept, say)
    raw.mkdir(parents=True, exist_ok=True)
    _link(kept, target)
    return verify(target, source)


def _copy(origin: Path, target: Path) -> None:
    handle, name = tempfile.mkstemp(prefix=".copy-", dir=target.parent)
    os.close(handle)
    try:
        shutil.copyfile(origin, name)
        Path(name).chmod(0o644)
        Path(name).replace(target)
    finally:
        Path(name).unlink(missing_ok=True)


def _link(kept: Path, target: Path) -> None:
    """A hard link (a copy of data/raw stays complete), a copy where the file system has none."""
    try:
        os.link(kept, target)
    except OSError:
        _copy(kept, target)


def _download(source: Source, kept: Path, say: Say) -> None:
    if not source.url:
        raise InputError(f"{source.name}: no address is known; put the file at data/raw/{source.file} ({source.about})")
    import logging

    import pooch

    pooch.get_logger().setLevel(logging.WARNING)
    size = "" if source.bytes is None else f", {source.bytes / 1e6:.1f} MB"
    say(f"{source.name}: downloading {source.url}{size}")
    with tempfile.TemporaryDirectory(prefix=".download-", dir=kept.parent) as folder:
        try:
            bar = pooch.HTTPDownloader(progressbar=_progress_wanted(), timeout=60)
            path = Path(pooch.retrieve(source.url, known_hash=None, fname="file", path=folder, downloader=bar))
        except Exception as error:  # requests' and urllib3's many ways to fail all mean: not downloaded
            reason = " ".join(str(error).split())
            raise InputError(f"{source.name}: {source.url} could not be downloaded: {reason[:200]}") from error
        try:
            verify(path, source)
        except InputError as error:
            raise InputError(str(error).replace(str(path), source.url)) from None
        path.replace(kept)


def _progress_wanted() -> bool:
    import importlib.util
    import sys

    return sys.stderr.isatty() and importlib.util.find_spec("tqdm") is not None
