"""Public inputs: whatever goes wrong is one line about one source, and a name is given to verified bytes only."""

from __future__ import annotations

import hashlib
import re
import socket
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from warrant.config import read_run
from warrant.sources import Source, at_hand, mirror_folder, obtain, read_sources, read_verified, verify

COLUMNS = ("name", "file", "url", "sha256", "sha256_lf", "bytes", "licence", "needed_by", "optional", "about")
DATA = b"one line\nanother line\n"


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


PINNED = Source("a", "a.txt", "", sha256(DATA), "", len(DATA), "CC0-1.0", "", False, "two lines")


def quiet(line: str) -> None:
    """Say nothing."""


def files_below(folder: Path) -> dict[str, bytes]:
    """Every file below a folder, hidden ones too."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


class Server:
    """A loopback server: `pages` maps a path to a body, or to (status, body, bytes that are really sent)."""

    def __init__(self) -> None:
        self.pages: dict[str, bytes | tuple[int, bytes, int]] = {}
        self.requests: Counter[str] = Counter()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                outer.requests[self.path] += 1
                page = outer.pages.get(self.path, (404, b"no such page", 12))
                status, body, sent = (200, page, len(page)) if isinstance(page, bytes) else page
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body[:sent])
                self.close_connection = True

            def log_message(self, *arguments: object) -> None:
                """Say nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.address = f"http://127.0.0.1:{self.server.server_address[1]}"
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.01,))
        self.thread.start()

    def serves(self, body: bytes, path: str = "/a.txt") -> str:
        self.pages[path] = body
        return self.address + path

    def close(self) -> None:
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    running = Server()
    yield running
    running.close()


@pytest.fixture
def closed_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path, Path]:
    """Empty folders for data/raw, the cache and a mirror."""
    made = tmp_path / "raw", tmp_path / "cache", tmp_path / "mirror"
    for folder in made:
        folder.mkdir()
    return made


Table = Callable[..., Path]


@pytest.fixture
def table(tmp_path: Path) -> Table:
    """Write a table of sources from rows given as mappings."""

    def written(*rows: dict[str, str]) -> Path:
        defaults = {**dict.fromkeys(COLUMNS, ""), "licence": "CC0-1.0", "optional": "no"}
        lines = ["\t".join(COLUMNS), *("\t".join({**defaults, **row}[name] for name in COLUMNS) for row in rows)]
        (tmp_path / "sources.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
        return tmp_path / "sources.tsv"

    return written


def pinned(name: str, url: str, data: bytes = DATA, **more: str) -> dict[str, str]:
    return {"name": name, "file": f"{name}.txt", "url": url, "sha256": sha256(data), "bytes": str(len(data)), **more}


# --- downloading, as the program does it -----------------------------------------------------------------------------


def test_every_failure_is_one_line_about_its_source_and_the_others_arrive(
    server: Server, closed_port: int, table: Table, tmp_path: Path, run_program: Any
) -> None:
    """Wrong bytes, a short file, 404, a refused connection and a broken one leave nothing behind and stop no other."""
    data = {
        name: f"{name}: {'.' * 20}\n".encode() for name in ("wrong", "short", "absent", "refused", "cut", "perhaps")
    }
    server.pages["/cut"] = (200, data["cut"], 5)
    addresses = {
        "wrong": server.serves(data["wrong"][::-1], "/wrong"),
        "short": server.serves(data["short"][:5], "/short"),
        "refused": f"http://127.0.0.1:{closed_port}/refused",
    }
    listing = table(
        pinned("good", server.serves(DATA, "/good")),
        *(
            pinned(name, addresses.get(name, f"{server.address}/{name}"), data[name], optional=optional)
            for name, optional in zip(data, ["no"] * 5 + ["yes"], strict=True)
        ),
        {"name": "unpinned", "file": "unpinned.txt", "url": server.serves(b"anything", "/any"), "optional": "yes"},
    )
    done = run_program("fetch_source", "--table", listing, "--raw", "raw", "--cache", "cache")
    lines = done.stderr.splitlines()
    expected = {
        "wrong": ("fetch_source:", sha256(data["wrong"][::-1]), sha256(data["wrong"])),
        "short": ("fetch_source:", "found '5 bytes'", f"expected {len(data['short'])} bytes"),
        "absent": ("fetch_source:", "404"),
        "refused": ("fetch_source:", "refused"),
        "cut": ("fetch_source:", "could not be downloaded"),
        "perhaps": ("not at hand (optional):", "404"),
    }
    assert len(lines) == len(expected)
    for line, (name, parts) in zip(lines, expected.items(), strict=True):
        assert all(part in line for part in (name, "http://127.0.0.1", f"/{name}", *parts)), line
    assert done.returncode == 1
    assert files_below(tmp_path / "raw") == {"good.txt": DATA, "unpinned.txt": b"anything"}
    assert files_below(tmp_path / "cache") == {sha256(DATA): DATA, "unpinned-unpinned": b"anything"}
    assert [path for path in (tmp_path / "cache").iterdir() if path.is_dir()] == []
    assert f"good: {len(DATA)} bytes, SHA-256 {sha256(DATA)}, verified" in done.stdout.splitlines()
    assert f"unpinned: 8 bytes, SHA-256 {sha256(b'anything')}, UNPINNED, no known hash" in done.stdout.splitlines()


def test_a_source_asked_for_by_name_is_the_only_one_brought(
    server: Server, table: Table, tmp_path: Path, run_program: Any
) -> None:
    """Names on the command line choose sources; an optional one that was asked for and cannot be had is a failure."""
    listing = table(
        pinned("a", server.serves(DATA)),
        pinned("b", server.address + "/b"),
        pinned("c", server.address + "/c", b"not served", optional="yes"),
    )
    places = ("--table", listing, "--raw", "raw", "--cache", "cache")
    assert run_program("fetch_source", *places, "a").returncode == 0
    assert files_below(tmp_path / "raw") == {"a.txt": DATA}
    assert server.requests == {"/a.txt": 1}
    assert run_program("fetch_source", *places, "c").returncode == 1


@pytest.mark.parametrize(
    ("arguments", "mirror", "parts"),
    [
        (["b"], "", ("sources.tsv", "'b'", "['a']")),
        ([], "no/such/folder", ("WARRANT_MIRROR", "no/such/folder", "an existing folder")),
    ],
    ids=["unknown name", "mirror that is no folder"],
)
def test_a_mistaken_invocation_is_one_line(
    table: Table, run_program: Any, arguments: list[str], mirror: str, parts: tuple[str, ...]
) -> None:
    """Nothing is fetched, and one line says what was found and what was expected."""
    listing = table(pinned("a", "http://127.0.0.1:9/a"))
    done = run_program("fetch_source", "--table", listing, *arguments, WARRANT_MIRROR=mirror)
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert line.startswith("fetch_source: ")
    assert all(part in line for part in parts)
    assert done.stdout == ""


# --- places: raw, cache, mirror, address -----------------------------------------------------------------------------


def test_what_was_downloaded_once_is_not_downloaded_again(server: Server, tmp_path: Path) -> None:
    """The cache by hash outlives data/raw, a change of the file's name and of its address."""
    source = replace(PINNED, url=server.serves(DATA))
    obtain(source, tmp_path / "one", tmp_path / "cache", None, quiet)
    moved = replace(source, name="b", file="b.txt", url="http://127.0.0.1:9/gone")
    observed = obtain(moved, tmp_path / "two", tmp_path / "cache", None, quiet)
    assert (tmp_path / "two/b.txt").read_bytes() == DATA
    assert (observed.sha256, observed.bytes, observed.pinned) == (sha256(DATA), len(DATA), True)
    assert sum(server.requests.values()) == 1


@pytest.mark.parametrize("listed", [True, False], ids=["listed by hash", "named alike"])
def test_a_mirror_is_asked_before_the_address(server: Server, folders: tuple[Path, Path, Path], listed: bool) -> None:
    """MANIFEST.tsv finds a file under any name; without one, its name or its size does, its hash decides."""
    raw, cache, mirror = folders
    (mirror / "deep").mkdir()
    (mirror / "deep/other.txt").write_bytes(DATA)
    (mirror / "deep/a.txt").write_bytes(DATA if not listed else b"not it")
    if listed:
        (mirror / "MANIFEST.tsv").write_text(
            f"path\tbytes\tsha256\ngone.txt\t1\t{'0' * 64}\ndeep/other.txt\t{len(DATA)}\t{sha256(DATA)}\n"
        )
    obtain(replace(PINNED, url=server.address + "/a.txt"), raw, cache, mirror, quiet)
    assert files_below(raw) == {"a.txt": DATA}
    assert files_below(cache) == {sha256(DATA): DATA}
    assert not server.requests
    assert (mirror / "deep/other.txt").read_bytes() == DATA


def test_a_mirror_without_a_listing_is_searched_by_size_too(folders: tuple[Path, Path, Path]) -> None:
    """A file of another name with the right size and hash is found; one with the right name or size alone is not."""
    raw, cache, mirror = folders
    (mirror / "a.txt").write_bytes(b"right name")
    (mirror / "b.txt").write_bytes(DATA[::-1])
    (mirror / "c.txt").write_bytes(DATA)
    obtain(PINNED, raw, cache, mirror, quiet)
    assert files_below(raw) == {"a.txt": DATA}


def test_a_file_of_the_mirror_that_is_not_what_its_listing_says_is_refused(
    server: Server, folders: tuple[Path, Path, Path], refused: Any
) -> None:
    """The mirror's file and the expected hash are named, and nothing gets a name."""
    raw, cache, mirror = folders
    (mirror / "a.txt").write_bytes(b"damaged, yet as long!\n")
    (mirror / "MANIFEST.tsv").write_text(f"path\tbytes\tsha256\na.txt\t{len(DATA)}\t{sha256(DATA)}\n")
    with refused(str(mirror / "a.txt"), "field a", sha256(DATA)):
        obtain(replace(PINNED, url=server.serves(DATA)), raw, cache, mirror, quiet)
    assert files_below(raw) == files_below(cache) == {}


def test_a_mirror_with_an_unlisted_damaged_file_is_passed_over(
    server: Server, folders: tuple[Path, Path, Path]
) -> None:
    """A file that merely has the name is not the source: the address is asked."""
    raw, cache, mirror = folders
    (mirror / "a.txt").write_bytes(b"damaged")
    obtain(replace(PINNED, url=server.serves(DATA)), raw, cache, mirror, quiet)
    assert files_below(raw) == {"a.txt": DATA}


def test_a_damaged_cache_entry_is_kept_aside_and_replaced(server: Server, folders: tuple[Path, Path, Path]) -> None:
    """Nothing that was downloaded is deleted: the damaged file gets another name, and it is said."""
    raw, cache, _ = folders
    (cache / sha256(DATA)).write_bytes(b"damaged")
    said: list[str] = []
    obtain(replace(PINNED, url=server.serves(DATA)), raw, cache, None, said.append)
    assert files_below(raw) == {"a.txt": DATA}
    assert files_below(cache) == {sha256(DATA): DATA, f"{sha256(DATA)}.damaged": b"damaged"}
    assert any(f"{sha256(DATA)}.damaged" in line for line in said)


def test_a_file_put_into_raw_by_hand_is_verified_and_adopted(folders: tuple[Path, Path, Path]) -> None:
    """It is used as it is, kept in the cache, and no other place is asked."""
    raw, cache, _ = folders
    (raw / "a.txt").write_bytes(DATA)
    observed = obtain(PINNED, raw, cache, None, quiet)
    assert observed.pinned
    assert files_below(raw) == {"a.txt": DATA}
    assert files_below(cache) == {sha256(DATA): DATA}


def test_a_wrong_file_in_raw_is_refused_and_not_deleted(
    server: Server, folders: tuple[Path, Path, Path], refused: Any
) -> None:
    """What a user put there stays as it was, even when the right file could be had elsewhere."""
    raw, cache, mirror = folders
    (raw / "a.txt").write_bytes(b"a user's own file")
    (mirror / "a.txt").write_bytes(DATA)
    with refused(str(raw / "a.txt"), "field a", "17 bytes", f"{len(DATA)} bytes"):
        obtain(replace(PINNED, url=server.serves(DATA)), raw, cache, mirror, quiet)
    assert files_below(raw) == {"a.txt": b"a user's own file"}
    assert files_below(cache) == {}


def test_a_source_without_an_address_says_where_to_put_it(folders: tuple[Path, Path, Path], refused: Any) -> None:
    """The line names the source, the place of the file and what it is."""
    with refused("a: ", "data/raw/a.txt", "two lines"):
        obtain(PINNED, folders[0], folders[1], None, quiet)
    assert files_below(folders[0]) == files_below(folders[1]) == {}


def test_being_at_hand_means_raw_cache_or_mirror(folders: tuple[Path, Path, Path]) -> None:
    """Each of the three places is enough, and none of them is not."""
    raw, cache, mirror = folders
    assert not at_hand(PINNED, raw, cache, mirror)
    for place in (raw / "a.txt", cache / sha256(DATA), mirror / "a.txt"):
        place.write_bytes(DATA)
        assert at_hand(PINNED, raw, cache, mirror), place
        assert at_hand(PINNED, raw, cache, None) == (place.parent != mirror)
        place.unlink()


def test_the_mirror_is_what_the_environment_names(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, refused: Any
) -> None:
    """Unset and empty mean none; something that is no folder is refused."""
    monkeypatch.delenv("WARRANT_MIRROR", raising=False)
    assert mirror_folder() is None
    monkeypatch.setenv("WARRANT_MIRROR", "")
    assert mirror_folder() is None
    monkeypatch.setenv("WARRANT_MIRROR", str(tmp_path))
    assert mirror_folder() == tmp_path
    monkeypatch.setenv("WARRANT_MIRROR", str(tmp_path / "no"))
    with refused("WARRANT_MIRROR", str(tmp_path / "no")):
        mirror_folder()


# --- verifying -------------------------------------------------------------------------------------------------------

LF = replace(PINNED, sha256="", sha256_lf=sha256(DATA), bytes=None)
UNPINNED = replace(PINNED, sha256="", bytes=None, optional=True)


def test_a_hash_with_lf_line_ends_accepts_the_same_text_with_crlf(tmp_path: Path, refused: Any) -> None:
    """Line ends play no part, anything else does; what is reported is the hash of the bytes."""
    path = tmp_path / "a.txt"
    for data in (DATA, DATA.replace(b"\n", b"\r\n")):
        path.write_bytes(data)
        observed = verify(path, LF)
        assert (observed.sha256, observed.bytes, observed.pinned) == (sha256(data), len(data), True)
    for data in (DATA.replace(b"\n", b"\r"), DATA + b"\n", b""):
        path.write_bytes(data)
        with refused("a.txt", "field a", "LF line ends", sha256(DATA)):
            verify(path, LF)


def test_a_hash_of_the_bytes_does_not_accept_other_line_ends(tmp_path: Path, refused: Any) -> None:
    """A byte-exact source is byte-exact."""
    (tmp_path / "a.txt").write_bytes(DATA.replace(b"\n", b"\r\n"))
    with refused("a.txt", sha256(DATA)):
        verify(tmp_path / "a.txt", PINNED)


def test_a_crlf_copy_is_found_in_the_cache_by_its_lf_hash(folders: tuple[Path, Path, Path]) -> None:
    """The file in the cache is named by the known hash and holds the bytes that came."""
    raw, cache, mirror = folders
    (mirror / "a.txt").write_bytes(DATA.replace(b"\n", b"\r\n"))
    obtain(LF, raw, cache, mirror, quiet)
    assert files_below(raw) == {"a.txt": DATA.replace(b"\n", b"\r\n")}
    assert files_below(cache) == {sha256(DATA): DATA.replace(b"\n", b"\r\n")}


def test_a_source_without_a_known_hash_is_accepted_and_marked(folders: tuple[Path, Path, Path]) -> None:
    """It counts as unpinned, is kept by its name, and its hash is reported."""
    raw, cache, mirror = folders
    (mirror / "a.txt").write_bytes(b"whatever")
    observed = obtain(UNPINNED, raw, cache, mirror, quiet)
    assert (observed.sha256, observed.pinned) == (sha256(b"whatever"), False)
    assert files_below(cache) == {"unpinned-a": b"whatever"}


def test_the_settings_of_a_step_verify_as_the_table_does(tmp_path: Path, refused: Any) -> None:
    """One row's settings are enough to verify a file; other keys beside them are ignored."""
    path = tmp_path / "a.txt"
    for source in (PINNED, LF, UNPINNED):
        settings = {"role": "rows", **source.settings()}
        path.write_bytes(DATA)
        assert verify(path, Source.from_settings(settings)) == verify(path, source)
        assert read_verified(path, settings) == DATA
        path.write_bytes(b"changed since")
        if source.pin:
            with refused("a.txt", "field a", source.pin if source is LF else "13 bytes"):
                read_verified(path, settings)
        else:
            assert read_verified(path, settings) == b"changed since"
    path.unlink()
    with refused("a.txt", "field a", "no such file", "make fetch"):
        read_verified(path, PINNED.settings())


# --- the table of sources --------------------------------------------------------------------------------------------

GOOD = pinned("a", "https://example.org/a")


def test_a_table_of_sources_is_read_as_it_stands(table: Table) -> None:
    """Sizes are numbers, yes and no booleans, empty hashes empty, and the order of rows is kept."""
    found = read_sources(table(GOOD, {"name": "b", "file": "b", "optional": "yes", "about": 'a "quoted" word'}))
    assert list(found) == ["a", "b"]
    assert found["a"] == replace(PINNED, url="https://example.org/a", about="")
    assert found["b"].bytes is None
    assert found["b"].optional
    assert found["b"].pin == ""
    assert found["b"].about == 'a "quoted" word'


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("sha256", "0" * 63),
        ("sha256", "A" * 64),
        ("sha256", "g" * 64),
        ("sha256_lf", "0" * 65),
        ("bytes", "-1"),
        ("bytes", "1.5"),
        ("bytes", "many"),
        ("optional", ""),
        ("optional", "true"),
        ("url", ""),
        ("file", ""),
        ("file", "folder/a.txt"),
    ],
)
def test_a_malformed_row_is_refused_by_row_and_field(table: Table, refused: Any, field: str, value: str) -> None:
    """The row is counted with the header as the first; the field and what was found are named."""
    with refused("sources.tsv", "row 3", f"field {field}", repr(value)[:50]):
        read_sources(table({**GOOD, "name": "z"}, {**GOOD, field: value}))


def test_a_required_source_needs_a_hash(table: Table, refused: Any) -> None:
    """Without a hash a source can only be optional."""
    with refused("sources.tsv", "row 2", "a hash"):
        read_sources(table({**GOOD, "sha256": ""}))
    assert read_sources(table({**GOOD, "sha256": "", "optional": "yes"}))["a"].optional
    assert read_sources(table({**GOOD, "sha256": "", "sha256_lf": sha256(DATA)}))["a"].pin == sha256(DATA)


def test_a_name_used_twice_is_refused(table: Table, refused: Any) -> None:
    """A source is known by its name."""
    with refused("sources.tsv", "row 3", "field name", "'a'"):
        read_sources(table(GOOD, {**GOOD, "file": "b.txt"}))


@pytest.mark.parametrize("change", [lambda line: line + "\tmore", lambda line: line.rpartition("\t")[0]])
def test_another_number_of_fields_is_refused(table: Table, refused: Any, change: Callable[[str], str]) -> None:
    """A row has exactly the header's fields."""
    path = table(GOOD)
    header, row = path.read_text().splitlines()
    path.write_text(f"{header}\n{change(row)}\n")
    with refused("sources.tsv", "row 2", "10 fields"):
        read_sources(path)


@pytest.mark.parametrize("header", ["", "name\tfile", "\t".join(reversed(COLUMNS))])
def test_another_header_is_refused(tmp_path: Path, refused: Any, header: str) -> None:
    """The columns are fixed, in their order."""
    (tmp_path / "sources.tsv").write_text(header)
    with refused("sources.tsv", "row 1", "sha256_lf"):
        read_sources(tmp_path / "sources.tsv")


# --- config/sources.tsv ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def committed(project: Path) -> dict[str, Source]:
    return read_sources(project / "config/sources.tsv")


def test_every_address_is_that_of_a_commit(committed: dict[str, Source]) -> None:
    """A branch moves, a commit does not: each URL is https and has a 40-digit hash as one of its steps."""
    for source in committed.values():
        if source.url:
            assert source.url.startswith("https://")
            steps = source.url.removeprefix("https://").split("/")
            assert any(re.fullmatch("[0-9a-f]{40}", step) for step in steps), source.name
            assert not {"main", "master", "HEAD", "refs", "latest"} & set(steps), source.name


def test_every_required_source_is_pinned_and_every_file_has_a_licence(committed: dict[str, Source]) -> None:
    """What a default run rests on is known by hash; of what can be had, it is said where it may be used."""
    for source in committed.values():
        assert source.optional or (source.pin and source.url), source.name
        assert source.licence or not (source.pin or source.url), source.name
        assert source.about, source.name


def test_no_two_sources_share_a_file_or_a_hash(committed: dict[str, Source]) -> None:
    """A file in data/raw belongs to one source, and so does an entry of the cache."""
    files = [source.file for source in committed.values()]
    kept = [source.cache_name for source in committed.values()]
    assert len(set(files)) == len(set(kept)) == len(committed)


def texts(value: Any) -> list[str]:
    """Every text in a block of configuration, however deep."""
    if isinstance(value, dict):
        return [text for inner in value.values() for text in texts(inner)]
    if isinstance(value, list):
        return [text for inner in value for text in texts(inner)]
    return [value] if isinstance(value, str) else []


def test_needed_by_says_which_studies_use_a_source(project: Path, committed: dict[str, Source]) -> None:
    """`needed_by` lists run/study of every run file that names the source, and of no other; files named are there."""
    used: dict[str, set[str]] = {name: set() for name in committed}
    for path in (project / "config/runs").glob("*.yaml"):
        for study, block in read_run(path.parent, path.stem).studies.items():
            content = block.model_dump(mode="json")
            for name in texts([content["sample"], content["arms"]]):
                if name.startswith("data/"):
                    assert (project / name).is_file(), name
                elif name in used:
                    used[name].add(f"{path.stem}/{study}")
    assert {name: set(source.needed_by.split()) for name, source in committed.items()} == used


@pytest.mark.parametrize(
    ("licence", "may"),
    [
        ("MIT", True),
        ("CC BY-SA 3.0", True),
        ("CC BY-NC 4.0", False),
        ("MIT; benchmark text under its own licence", False),
        ("", False),
    ],
)
def test_only_a_licence_that_is_known_to_allow_it_lets_text_be_passed_on(licence: str, may: bool) -> None:
    """What is not known to be free is not shown: non-commercial, mixed and missing licences."""
    assert replace(PINNED, licence=licence).redistributable is may
