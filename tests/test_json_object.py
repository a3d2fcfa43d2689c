"""One JSON object in a text: what is found, what is refused and why, and that looking takes linear time."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from contextlib import suppress
from decimal import Decimal
from typing import Any

import pytest
from fuzz_parse import SEEDS, canonical, depth, whole_object
from hypothesis import example, given
from hypothesis import strategies as st

from warrant import json_object
from warrant.json_object import MOST_DEPTH, REASONS, REPAIRS, Found, JsonObject, Reason, Repair, Unusable, find_object

FENCED, PROSE, TWICE, MENDED = Repair.FENCED, Repair.PROSE, Repair.DUPLICATE_OBJECT, Repair.SURROGATE
SAME_KEY = Repair.DUPLICATE_KEY
ANSWER = '{"verdict": "SUPPORTS", "confidence": 0.9}'
OTHER = '{"verdict": "REFUTES", "confidence": 0.9}'
VALUE = {"verdict": "SUPPORTS", "confidence": Decimal("0.9")}


def is_answer(value: JsonObject) -> bool:
    return "verdict" in value


def refusal(text: str, wanted: Callable[[JsonObject], bool] = is_answer) -> Reason:
    with pytest.raises(Unusable) as caught:
        find_object(text, wanted)
    return caught.value.reason


def test_every_code_has_its_meaning() -> None:
    assert set(REASONS) == set(Reason)
    assert set(REPAIRS) == set(Repair)


# --- what is taken ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", [ANSWER, f" \n\t{ANSWER}\r\n", f"\u00a0{ANSWER}\u2003"])
def test_the_raw_text_needs_no_repair(text: str) -> None:
    assert find_object(text, is_answer) == Found(VALUE)


@pytest.mark.parametrize(
    ("text", "repairs"),
    [
        (f"```json\n{ANSWER}\n```", [FENCED]),
        (f"```\n{ANSWER}\n```\n", [FENCED]),
        (f"``` JSON\r\n{ANSWER}\r\n```", [FENCED]),
        (f"```json {ANSWER} ```", [FENCED]),
        (f"~~~~json5\n{ANSWER}\n~~~~", [FENCED]),
        (f"```json\n{ANSWER}", [FENCED]),
        (f"{ANSWER}\n```", [FENCED]),
        (f"```json\n{ANSWER}\n```\nThat is all.", [PROSE]),
        (f"Here it is:\n```json\n{ANSWER}\n```", [PROSE]),
        (f"`{ANSWER}`", [PROSE]),
        (f"Well, {ANSWER}", [PROSE]),
        (f"{ANSWER}.", [PROSE]),
        (f"[{ANSWER}]", [PROSE]),
        (f"\ufeff{ANSWER}", [PROSE]),
        (f"Если {{x}} — это множество, то 答案是{ANSWER}です", [PROSE]),
        (f"Of {{a, b}} and \\frac{{1}}{{2}} and {{{{claim}}}}: {ANSWER}", [PROSE]),
        (f'"Quoted", it\'s 5" long \\ {ANSWER}', [PROSE]),
        (f'Format: {{"verdict": "SUPPORTS" | "REFUTES", "confidence": <0 to 1>}}\n{ANSWER}', [PROSE]),
        (f'{{}} {{"note": {{"verdict": 1}}}} {ANSWER}', [PROSE]),
        (f"{{{ANSWER}}}", [PROSE]),
        (f"{ANSWER}\n{ANSWER}", [TWICE]),
        (f'{ANSWER}{{"confidence":0.90,"verdict":"SUPPORTS"}}', [TWICE]),
        (f"```json\n{ANSWER}\n```\n```json\n{ANSWER}\n```", [FENCED, TWICE]),
        (f"First {ANSWER} and then {ANSWER}", [PROSE, TWICE]),
        ('{"verdict": "SUPPORTS", "confidence": 0.9, "verdict": "SUPPORTS"}', [SAME_KEY]),
        ('{"confidence": 9e-1, "verdict": "SUPPORTS", "confidence": 0.90, "\\u0063onfidence": 0.9}', [SAME_KEY]),
        (f'{ANSWER} {ANSWER[:-1]}, "confidence": 0.9}} {ANSWER}', [TWICE, SAME_KEY]),
        (f'{ANSWER} {{"a": 1, "a": 1}}', [PROSE]),
    ],
)
def test_one_object_is_found_and_the_repair_named(text: str, repairs: list[Repair]) -> None:
    assert find_object(text, is_answer) == Found(VALUE, tuple(repairs))


@pytest.mark.parametrize(
    "inside",
    [
        "}",
        "{",
        "{}",
        '{"verdict": 1}',
        "```",
        "```json\n{}\n```",
        '"',
        '\\"',
        "\\",
        "\\\\",
        "}\\",
        "\n",
        "\u2028",
        "مرحبا",
        "👍",
    ],
)
def test_what_a_string_holds_plays_no_part(inside: str) -> None:
    """Braces, fences, quotes and escapes inside a string, at its start, middle and end, raw and in a fence."""
    for words in (inside, f"a{inside}b", inside * 2):
        value = {"verdict": words, words: [words]}
        for said in (json.dumps(value), json.dumps(value, ensure_ascii=False)):
            assert find_object(said, is_answer) == Found(value)
            assert find_object(f"```json\n{said}\n```", is_answer) == Found(value, (FENCED,))


def test_numbers_are_exact_decimals() -> None:
    value = find_object('{"a": 1, "b": 0.1000000000000000055511151231257827, "c": -1E+2}', lambda value: True).value
    assert value == {"a": Decimal(1), "b": Decimal("0.1000000000000000055511151231257827"), "c": Decimal(-100)}
    assert {type(number) for number in value.values()} == {Decimal}


@pytest.mark.parametrize("lone", ["\\ud83d", "\\uDE00", chr(0xD83D), chr(0xDE00)])
def test_a_lone_surrogate_becomes_the_replacement_character(lone: str) -> None:
    text = f'{{"verdict": [{{"a": "x{lone}y"}}]}}'
    found = find_object(text, is_answer)
    assert found == Found({"verdict": [{"a": "x\ufffdy"}]}, (MENDED,))
    assert find_object(f"{lone} {text}", is_answer).repairs == (PROSE, MENDED)


def test_keys_and_answers_that_differ_in_a_lone_surrogate_only_are_the_same() -> None:
    """So they are once the store has put U+FFFD for them."""
    mended = {"verdict": "\ufffd"}
    assert find_object('{"verdict": "\\ud800"} {"verdict": "\\ud801"}', is_answer) == Found(mended, (TWICE, MENDED))
    same = '{"verdict": {"\\ud800": "\\udfff", "\\ud801": "\ufffd"}}'
    assert find_object(same, is_answer) == Found({"verdict": {"\ufffd": "\ufffd"}}, (SAME_KEY, MENDED))


def test_what_is_mended_in_any_of_the_same_answers_is_named() -> None:
    """Each of them was read."""
    text = '{"verdict": [["\\ud800"]]} {"verdict": [["\ufffd"]], "verdict": [["\ufffd"]]} {"verdict": [["\ufffd"]]}'
    assert find_object(text, is_answer) == Found({"verdict": [["\ufffd"]]}, (TWICE, SAME_KEY, MENDED))


def test_a_pair_of_surrogates_is_a_character() -> None:
    assert find_object('{"verdict": "\\ud83d\\ude00"}', is_answer) == Found({"verdict": "😀"})


# --- what is refused -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "empty"),
        (" \n\t\u00a0", "empty"),
        ("SUPPORTS, 0.9", "no_object"),
        ("[1, 2]", "no_object"),
        (json.dumps(ANSWER), "no_object"),
        ("{a} {{b}} }{", "truncated"),
        ("{a} {{b}} {'verdict': 'SUPPORTS'}", "no_object"),
        ('{"a": 1} {"b": 2}', "no_answer"),
        ("{}", "no_answer"),
        (f'{{"x": {ANSWER}}}', "no_answer"),
        ('{"verdict": "SUPPORTS",}', "malformed"),
        ('{"verdict": "SUPPORTS" "confidence": 0.9}', "malformed"),
        ('{"verdict": "a\nb"}', "malformed"),
        ('{"verdict": "\\x"}', "malformed"),
        ('{"verdict": 01}', "malformed"),
        ('{"verdict": ٣}', "malformed"),
        ('{"verdict": [1}', "malformed"),
        ('{"verdict": [1]]]]]}', "malformed"),
        ('{"verdict": "SUPPORTS" // sure\n}', "malformed"),
        ("{", "truncated"),
        ("```json\n{\n", "truncated"),
        (ANSWER[:-1], "truncated"),
        ('{"verdict": "SUPP', "truncated"),
        ('{"verdict": "SUPP\\', "truncated"),
        (f'{{"x": [{ANSWER}, {{"verdict"', "truncated"),
        (f'{{"x": {ANSWER}', "truncated"),
        (ANSWER + ' {"verd', "truncated"),
        ('{"verdict": "a quote" too many"}', "truncated"),
        (f"{ANSWER} or {OTHER}", "several_answers"),
        (f"{ANSWER} {ANSWER} {OTHER}", "several_answers"),
        (f"<think>{OTHER}</think>{ANSWER}", "several_answers"),
        ('{"verdict": 1} {"verdict": true}', "several_answers"),
        ('{"verdict": 1} {"verdict": "1"}', "several_answers"),
        ('{"verdict": 1} {"verdict": "Decimal(\'1\')"}', "several_answers"),
        ('{"verdict": [1]} {"verdict": [1, 1]}', "several_answers"),
        ('{"verdict": {"a": 1}} {"verdict": {"b": 1}}', "several_answers"),
        ('{"verdict": "SUPPORTS", "verdict": "REFUTES"}', "duplicate_key"),
        ('{"verdict": "SUPPORTS", "verdict": "SUPPORTS", "verdict": "REFUTES"}', "duplicate_key"),
        ('{"verdict": "SUPPORTS", "verdict": "REFUTES", "verdict": "SUPPORTS"}', "duplicate_key"),
        ('{"verdict": 1, "verdict": true}', "duplicate_key"),
        ('{"verdict": {"a": 1, "\\u0061": 2}}', "duplicate_key"),
        ('{"verdict": {"a": [{"b": 1}], "a": [{"b": 1, "c": 1}]}}', "duplicate_key"),
        ('{"verdict": {"\\ud800": 1, "\\ud801": 2}}', "duplicate_key"),
        (ANSWER + ' {"a": 1, "a": 2}', "duplicate_key"),
        ('{"verdict": NaN}', "not_a_number"),
        ('{"verdict": "SUPPORTS", "x": [Infinity]}', "not_a_number"),
        ('{"verdict": -Infinity}', "not_a_number"),
        ('{"verdict": 1e1000000000000000000}', "number"),
        ('{"verdict": 0.1e-99999999999999999999}', "number"),
    ],
)
def test_what_cannot_be_used_has_a_reason(text: str, reason: str) -> None:
    assert refusal(text) == reason


def nested(levels: int, opening: str = '{"verdict":', closing: str = "}") -> str:
    return '{"verdict":' + opening * (levels - 1) + "1" + closing * (levels - 1) + "}"


@pytest.mark.parametrize("brackets", [('{"verdict":', "}"), ("[", "]")])
def test_depth_is_bounded_exactly(brackets: tuple[str, str]) -> None:
    """64 levels are read; 65, and as many as there can be, are refused, in prose and cut off too."""
    assert find_object(nested(MOST_DEPTH, *brackets), is_answer).repairs == ()
    assert refusal(nested(MOST_DEPTH + 1, *brackets)) == "too_deep"
    text = nested(10**6, *brackets)
    for said in (text, f"So {text}", text[: len(text) // 2]):
        assert refusal(said) == "too_deep"
    beside = {"verdict": [{"a": [1]}] * 3 * MOST_DEPTH}  # what is closed again does not count
    assert find_object(json.dumps(beside), is_answer) == Found(beside)
    assert refusal("[" * 10**6) == "no_object"
    assert refusal("{" * 10**6) == "truncated"
    assert refusal("}" * 10**6) == "no_object"


# --- any text --------------------------------------------------------------------------------------------------------

scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
values = st.recursive(scalars, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=12)
objects = st.dictionaries(st.text(), values, max_size=5)
crumbs = st.sampled_from(
    [
        "{",
        "}",
        "[",
        "]",
        '"',
        "\\",
        ",",
        ":",
        " ",
        "\n",
        "`",
        "```json",
        "1",
        "-",
        "e9",
        "true",
        "NaN",
        "\\ud800",
        "\ud800",
        '"verdict":',
        *SEEDS,
    ]
)
bits = st.lists(crumbs | st.characters(), max_size=40).map("".join)
# Prose cannot open an object; everything else may stand in it.
prose = st.text(alphabet=st.characters(codec="utf-8") | st.sampled_from('{}[]"\\`~ \n'), max_size=40).filter(
    lambda words: re.search(r'\{\s*(["}]|\Z)', words) is None
)


@given(bits)
@example('{"a": "' + "\\" * 7 + '"}')
def test_any_text_is_taken_or_refused_as_json_alone_would(text: str) -> None:
    """Never another exception; a text that is a JSON object is found as it is, with every number exact."""
    whole = whole_object(text)
    try:
        found = find_object(text, lambda value: True)
    except Unusable:
        assert whole is None
    else:
        assert whole is None or (found.value, set(found.repairs)) == whole


@given(objects, st.booleans(), st.sampled_from([None, 0, 3]))
def test_json_round_trips(value: dict[str, Any], ascii_only: bool, indent: int | None) -> None:
    """Whatever json writes, of any indentation, comes back, with numbers as written."""
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent)
    assert depth(value) <= MOST_DEPTH
    expected = json.loads(text, parse_int=Decimal, parse_float=Decimal)
    assert find_object(text, lambda value: True) == Found(expected)


# --- keys that come twice --------------------------------------------------------------------------------------------


def written(value: Any, respell: Callable[[], str], again: Callable[[], int]) -> str:
    """JSON of a value, in which `again` says how often a pair is repeated; `respell` what is put behind a number."""
    if isinstance(value, dict):
        listed = [pair for pair in value.items() for _ in range(1 + again())]
        return "{" + ", ".join(f"{json.dumps(key)}: {written(item, respell, again)}" for key, item in listed) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(written(item, respell, again) for item in value) + "]"
    if isinstance(value, Decimal):
        return f"{value:f}" + respell()
    return json.dumps(value)


exact = st.none() | st.booleans() | st.text(max_size=3) | st.decimals(-9, 9, places=2)
inner_objects = st.dictionaries(
    st.text(max_size=3),
    st.recursive(exact, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner)),
    max_size=3,
)


@given(inner_objects, st.data())
def test_a_key_again_with_the_same_value_says_nothing_new(value: dict[str, Any], data: st.DataObject) -> None:
    """At any depth, any number of times, numbers in any spelling: the same object, and a code if one is repeated."""
    repeats: list[int] = []

    def again() -> int:
        repeats.append(data.draw(st.sampled_from([0, 0, 0, 1, 2])))
        return repeats[-1]

    text = written(value, lambda: data.draw(st.sampled_from(["", "0", "00", "e0"])), again)
    found = find_object(text, lambda value: True)
    assert found == Found(value, (SAME_KEY,) if any(repeats) else ())


@given(inner_objects, st.text(max_size=3), exact, exact, st.integers(0, 20), st.booleans())
def test_a_key_with_two_values_is_never_taken(
    value: dict[str, Any], key: str, one: Any, other: Any, level: int, in_list: bool
) -> None:
    """However deep, and wherever among the pairs it stands."""
    pair = [f"{json.dumps(key)}: {written(item, str, int)}" for item in (one, other)]
    rest = [f"{json.dumps(name)}: {written(item, str, int)}" for name, item in value.items() if name != key]
    text = "{" + ", ".join([pair[0], *rest, pair[1]]) + "}"
    for _ in range(level):
        text = f'{{"in": [{text}]}}' if in_list else f'{{"in": {text}}}'
    if canonical(one) == canonical(other):
        assert find_object(text, lambda value: True).repairs == (SAME_KEY,)
    else:
        assert refusal(text, lambda value: True) == "duplicate_key"


@given(objects, prose, prose, st.sampled_from(["", "```", "```json\n", "~~~\n"]), st.booleans())
def test_json_round_trips_in_any_prose_and_fence(
    value: dict[str, Any], before: str, after: str, fence: str, ascii_only: bool
) -> None:
    text = json.dumps({**value, "verdict": 1}, ensure_ascii=ascii_only)
    expected = json.loads(text, parse_int=Decimal, parse_float=Decimal)
    said = f"{before}\n{fence}{text}{fence[:3]}\n{after}"
    found = find_object(said, is_answer)
    assert found.value == expected
    words = (before + after).split()
    if not words:
        assert found.repairs == ((FENCED,) if fence else ())
    else:
        assert found.repairs in ((PROSE,), (FENCED,))
        assert found.repairs == (PROSE,) or all(set(word) & set("`~") for word in words[:1])


@given(objects, st.data())
def test_a_truncated_object_is_never_taken(value: dict[str, Any], data: st.DataObject) -> None:
    """Cut anywhere after its opening brace, also where objects inside it are whole."""
    text = json.dumps({"verdict": [value, {"verdict": 1}], **value})
    cut = text[: data.draw(st.integers(1, len(text) - 1))]
    assert refusal(cut, lambda value: True) == "truncated"
    assert refusal(f"```json\n{cut}", lambda value: True) == "truncated"


# --- linear time -----------------------------------------------------------------------------------------------------


class Counting:
    """A pattern that counts the characters its searches pass over, and one for each search."""

    def __init__(self, pattern: re.Pattern[str]) -> None:
        self.pattern, self.steps = pattern, 0

    def search(self, text: str, position: int) -> re.Match[str] | None:
        match = self.pattern.search(text, position)
        self.steps += 1 + (len(text) if match is None else match.end()) - position
        return match


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], int]:
    """Characters passed over by the scanner and the decoder on a text."""
    patterns = {name: Counting(getattr(json_object, name)) for name in ("_OPENING", "_STRUCTURE", "_IN_STRING")}
    for name, pattern in patterns.items():
        monkeypatch.setattr(json_object, name, pattern)
    loads, decoded = json_object._loads, 0

    def counted(text: str) -> Found | None:
        nonlocal decoded
        decoded += len(text)
        return loads(text)

    monkeypatch.setattr(json_object, "_loads", counted)

    def count(text: str) -> int:
        nonlocal decoded
        decoded = 0
        for pattern in patterns.values():
            pattern.steps = 0
        with suppress(Unusable):
            find_object(text, is_answer)
        return decoded + sum(pattern.steps for pattern in patterns.values())

    return count


HARD = [
    *("{", "}", "[", '"', "\\", "`", "```json\n", "{ ", "{ \n\t", '{"', '{"a', '{"a":', '{"a":[', '{"\\', '{\\"', "{}"),
    *("word ", '{}"', '{"a":1}', '{"a" b}', '{"a":1,"a":1}', '{"a": "}', ANSWER + "\n", OTHER + ANSWER, "\ud800"),
]


@pytest.mark.parametrize("unit", HARD)
@pytest.mark.parametrize("frame", [("", ""), ('{"verdict": "', '"}'), ('{"verdict": [', "]}"), ('{"verdict": "', "")])
def test_time_is_linear_in_the_length(unit: str, frame: tuple[str, str], steps: Callable[[str], int]) -> None:
    """No character is passed over more than three times, at 10^5 and at 10^6 characters alike."""
    for length in (10**5, 10**6):
        text = frame[0] + unit * (length // len(unit)) + frame[1]
        assert steps(text) <= 4 * len(text) + 100


def size(value: Any) -> int:
    """Characters of a text, digits of a number; members of an object or a list cost by themselves."""
    return len(value.as_tuple().digits) if isinstance(value, Decimal) else len(value) if isinstance(value, str) else 1


def doubled(text: str, levels: int) -> str:
    """A value under a key given twice, `levels` objects deep."""
    for _ in range(levels):
        text = f'{{"a": {text}, "a": {text}}}'
    return text


LONG_ONE = "1." + "0" * 50_000
REPEATS = {
    "many keys": "{" + '"verdict": 1, ' * 10_000 + '"verdict": 1}',
    "many keys after a long number": f'{{"verdict": {LONG_ONE}' + ', "verdict": 1' * 10_000 + "}",
    "many answers after a long number": f'{{"verdict": {LONG_ONE}}}' + '{"verdict": 1}' * 10_000,
    "long text": '{"verdict": 1' + f', "a": "{"x" * 10_000}"' * 20 + "}",
    "every level": f'{{"verdict": {doubled("[1, 2]", 12)}}}',
    "lists": '{"verdict": 1' + ', "a": [' + "[0], " * 10_000 + "0]" + ', "a": [' + "[0], " * 10_000 + "0]}",
}


@pytest.fixture
def compared(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], int]:
    """What is compared while a text is read: characters, digits, members."""
    same, cost = json_object._same, 0

    def counted(a: Any, b: Any) -> bool:
        nonlocal cost
        cost += size(a) + size(b)
        return same(a, b)

    monkeypatch.setattr(json_object, "_same", counted)

    def count(text: str) -> int:
        nonlocal cost
        cost = 0
        with suppress(Unusable):
            find_object(text, is_answer)
        return cost

    return count


@pytest.mark.parametrize("text", REPEATS.values(), ids=REPEATS)
def test_comparing_repeated_keys_and_answers_takes_linear_time(text: str, compared: Callable[[str], int]) -> None:
    """What is compared is no longer, in all, than twice the text."""
    assert 0 < compared(text) <= 2 * len(text)


def test_a_value_is_compared_at_most_once_a_level(compared: Callable[[str], int]) -> None:
    """A long number that meets a short one of the same value on every level."""
    long, short = LONG_ONE, "1"
    for _ in range(MOST_DEPTH - 2):
        long, short = f'{{"a": {short}, "a": {long}}}', f'{{"a": {short}}}'
    text = f'{{"verdict": {long}}}'
    assert find_object(text, is_answer).repairs == (SAME_KEY,)
    assert len(LONG_ONE) < compared(text) <= MOST_DEPTH * len(text)


def test_huge_numbers_and_strings_are_taken_in_their_stride() -> None:
    digits = "9" * 10**6
    found = find_object(f'{{"verdict": {digits}, "b": 0.{digits}, "c": "{digits}"}}', is_answer)
    assert found.value["c"] == digits
    assert found.value["verdict"].adjusted() == 10**6 - 1
