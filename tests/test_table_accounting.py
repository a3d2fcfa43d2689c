"""Accounting counts every answer once, and says nothing where the source says nothing."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from warrant.tables.accounting import accounting, table

STATUSES = ("ok", "refusal", "truncated", "empty", "wrong_model", "infra_error")
COUNTED = ("answered", "refusals", "truncated", "empty", "wrong_model", "infra_errors")


def row(**given: Any) -> dict[str, Any]:
    return {
        "model": "a", "status": "ok", "parse_status": "ok", "verdict": "support", "confidence": 1,
        "retries": 0, "retry_causes": None, "usage": None, **given,
    }  # fmt: skip


ROWS = st.lists(
    st.builds(
        row,
        model=st.sampled_from("ab"),
        status=st.sampled_from(STATUSES),
        parse_status=st.sampled_from(["ok", "repaired:fenced", "invalid"]),
    ),
    max_size=30,
)


@given(ROWS)
def test_every_answer_is_counted_once(rows: list[dict[str, Any]]) -> None:
    """Statuses add up to the requests of each judge; a judge without rows has no row."""
    found = accounting("4opt", rows)
    assert [item["model"] for item in found] == sorted({item["model"] for item in rows})
    for item in found:
        mine = [other for other in rows if other["model"] == item["model"]]
        assert item["requests"] == len(mine)
        assert len(mine) == sum(item[name] for name in COUNTED)
        assert item["unparsed"] == sum(r["status"] == "ok" and r["parse_status"] == "invalid" for r in mine)
        assert item["repaired"] == sum(r["parse_status"] == "repaired:fenced" for r in mine)


def test_causes_and_usage_are_summed() -> None:
    """By name; details inside a count, and what is no count, are left out."""
    rows = [
        row(retries=3, retry_causes='{"429": 2, "timeout": 1}', usage='{"input_tokens": 10, "details": {"cached": 4}}'),
        row(retries=1, retry_causes='{"429": 1}', usage='{"input_tokens": 5, "cached": true}'),
        row(),
    ]
    (found,) = accounting("4opt", rows)
    assert found["retries"] == 4
    assert json.loads(found["retry_causes"]) == {"429": 3, "timeout": 1}
    assert json.loads(found["usage"]) == {"input_tokens": 15}


def test_what_the_source_does_not_say_is_null() -> None:
    """Released outputs name no retries and no usage."""
    (found,) = accounting("4opt", [row(retries=None), row(retries=None, confidence=None)])
    assert found["retries"] is found["retry_causes"] is found["usage"] is None
    assert found["without_confidence"] == 1


def test_arms_stand_one_after_the_other() -> None:
    """The table has a row per arm and judge."""
    found = table({"x": [row(model="b"), row()], "y": [row()]}).to_pylist()
    assert [(item["arm"], item["model"]) for item in found] == [("x", "a"), ("x", "b"), ("y", "a")]
