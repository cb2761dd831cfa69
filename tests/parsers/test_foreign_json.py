from __future__ import annotations

import json
import math

import pytest

from tokgate.parsers.foreign_json import count, ids, load_json, number, shown, unread, why_not_kept


@pytest.mark.parametrize("text", ["", "{", "[" * 100_000, "9" * 5000, "nul", '{"a":}', "\x00"])
def test_what_cannot_be_read_has_a_reason(text: str) -> None:
    value, why = load_json(text)
    assert value is None
    assert why


@pytest.mark.parametrize(
    ("text", "cut"),
    [
        ('{"a": {"b": 1}', True),
        ('{"a": "it ends in here\n', True),
        ('[1, "]", 2', True),
        ('{"a": 1]', False),
        ('{"a": "}"} x', False),
        ("nul", False),
    ],
)
def test_a_body_that_is_cut_off_is_told_from_one_that_is_wrong(text: str, cut: bool) -> None:
    value, why = load_json(text)
    assert value is None
    assert why is not None
    assert ("incomplete" in why) is cut


def test_null_is_a_value() -> None:
    assert load_json("null") == (None, None)


@pytest.mark.parametrize("value", [True, -1, 1.0, "3", None, 2**53, [], math.nan])
def test_no_count(value: object) -> None:
    assert count(value) is None


def test_counts() -> None:
    assert (count(0), count(2**53 - 1)) == (0, 2**53 - 1)


@pytest.mark.parametrize("value", [True, "1.0", None, math.nan, math.inf, 10**400])
def test_no_number(value: object) -> None:
    assert number(value) is None


def test_numbers() -> None:
    assert (number(3), number(-0.5)) == (3.0, -0.5)


def test_ids_are_ids_through_and_through() -> None:
    assert ids([1, 2]) == (1, 2)
    assert ids([]) == ()
    assert ids([1, None]) is None
    assert ids([1, 2.0]) is None
    assert ids("12") is None


def test_a_lone_surrogate_becomes_text_that_every_file_can_hold() -> None:
    text = shown(json.loads('"\\ud800<b>"'))
    assert text.encode() == b"?<b>"
    assert unread("\udfff", "why").model_dump_json()


def test_long_and_odd_values_are_shown_short() -> None:
    assert len(shown("x" * 10_000)) == 500
    assert shown({"a": [1]}) == '{"a": [1]}'
    assert shown(object()) == "object"


def test_what_a_record_can_hold() -> None:
    assert why_not_kept({"a": [{"b": None}], "c": "é"}) is None
    assert why_not_kept(3) is None


def test_what_a_record_cannot_hold() -> None:
    deep: object = 1
    for _ in range(900):
        deep = [deep]
    assert "deep" in (why_not_kept({"a": deep}) or "")
    assert "half a character" in (why_not_kept([{"\ud800": 1}]) or "")
