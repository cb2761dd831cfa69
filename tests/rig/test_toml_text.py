"""What a host calls its folders is read back as it was, and adds nothing to the file."""

from __future__ import annotations

import math
import tomllib

import pytest

from tokgate.rig.toml_text import toml_comment, toml_key, toml_value

HOSTILE = [
    'quote " here',
    "back\\slash",
    "new\nline",
    "return\rhere",
    "tab\there",
    'x"\n[server.environment]\nLD_PRELOAD = "/evil.so',
    '"""',
    "# no comment",
    "bell\x07 escape\x1b[31m del\x7f nul\x00",
    "bidi \u202e marks \u2066 and \u2028 lines \x85",
    "beyond \U000e0001 the basic plane \U0001f9d9",
    "Größe 模型",
    "",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_a_text_is_read_back_as_it_was(text: str) -> None:
    assert tomllib.loads(f"v = {toml_value(text)}\n") == {"v": text}
    assert tomllib.loads(f"{toml_key(text)} = 1\n") == {text: 1}
    line = toml_value(text)
    assert line.isprintable()  # nothing in it moves a cursor or reorders the line


@pytest.mark.parametrize("text", HOSTILE)
def test_a_comment_is_one_line_and_sets_nothing(text: str) -> None:
    comment = toml_comment(text)
    assert "\n" not in comment
    assert tomllib.loads(f"a = 1 {comment}\nb = 2\n") == {"a": 1, "b": 2}


@pytest.mark.parametrize(
    "value", [True, False, 0, -3, 1.5, 1e300, [1, "a", [2]], {"a b": {"c": 1}}, [], ["x" * 60] * 4, {}]
)
def test_values_of_every_kind_are_read_back(value: object) -> None:
    assert tomllib.loads(f"v = {toml_value(value)}\n") == {"v": value}


def test_what_no_toml_can_hold_is_refused() -> None:
    for value in (math.inf, math.nan, "half \ud800"):
        with pytest.raises(ValueError, match=r"finite|half"):
            toml_value(value)
    with pytest.raises(TypeError):
        toml_value(None)
