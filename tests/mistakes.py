"""Any mistake in a file of JSON lines: one field of one row replaced by any JSON value, or removed."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Sequence
from typing import Any

from hypothesis import strategies as st

from warrant.errors import InputError
from warrant.imported import Imported

PLAIN = st.none() | st.booleans() | st.integers() | st.floats() | st.text()
JSON = st.recursive(
    PLAIN,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


def paths(value: Any, here: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Where something stands in a JSON value: every key and index, inner ones too."""
    keys: list[Any] = []
    if isinstance(value, dict | list):
        keys = list(value) if isinstance(value, dict) else list(range(len(value)))
    return [path for key in keys for path in ((*here, key), *paths(value[key], (*here, key)))]


def mutated(data: st.DataObject, rows: Sequence[Any]) -> list[dict[str, Any]]:
    """The rows with one field replaced by any JSON value."""
    changed: Any = copy.deepcopy(list(rows))
    path = data.draw(st.sampled_from(paths(changed)), label="path")
    holder = changed
    for key in path[:-1]:
        holder = holder[key]
    if data.draw(st.integers(0, 9), label="removed at 0") == 0:
        del holder[path[-1]]
    else:
        holder[path[-1]] = data.draw(JSON, label="value")
    return list(changed)


def json_lines(rows: Sequence[Any]) -> bytes:
    """Rows as a file of JSON lines."""
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def unless_refused(importer: Callable[[], Imported], file: str) -> Imported | None:
    """What an importer returns, or None when it refuses with an InputError of one line that names the file."""
    try:
        return importer()
    except InputError as error:
        line = str(error)
    assert "\n" not in line
    assert file in line
    return None
