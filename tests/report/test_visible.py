from __future__ import annotations

import pytest

from tests.report import hostile
from tokgate.report.visible import columns, fit, one_line, shorten, visible, without_ansi, wrapped


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b[2J\x1b[1;1Hhome", "home"),
        ("\x1b]0;title\x07after", "after"),
        ("\x1b]8;;http://example.invalid\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x9b31mred", "red"),
        ("\x1b(Bcharset", "charset"),
        ("\x1bcreset", "reset"),
        ("\x1b]never ended\nnext line", "\nnext line"),
        ("no [31m escape", "no [31m escape"),
    ],
)
def test_ansi_sequences_are_removed_whole(text: str, plain: str) -> None:
    assert without_ansi(text) == plain


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("plain", "plain"),
        ("a\x00b", "a\\x00b"),
        ("\x1b[0m", "\\x1b[0m"),
        ("\x7f\x85", "\\x7f\\x85"),
        ("safe \u202egnp.exe", "safe \\u202egnp.exe"),
        ("\u2066\u200b\ufeff\u2028", "\\u2066\\u200b\\ufeff\\u2028"),
        ("\U000e0041", "\\U000e0041"),
        ("lone \udc80", "lone \\udc80"),
        ("שלום ist kein Steuerzeichen, 推測 auch nicht", "שלום ist kein Steuerzeichen, 推測 auch nicht"),
        ("two\nlines\tand a tab", "two\nlines\tand a tab"),
    ],
)
def test_what_hides_or_reorders_is_shown_by_its_code_point(text: str, seen: str) -> None:
    assert visible(text) == seen


@pytest.mark.parametrize("text", hostile.HOSTILE)
def test_one_line_is_one_printable_line(text: str) -> None:
    line = one_line(text, 100)
    assert line.isprintable()
    assert 0 < len(line) <= 100


def test_what_is_cut_says_so() -> None:
    assert shorten("abcdef", 4) == "abc…"
    assert shorten("abcd", 4) == "abcd"


def test_wide_characters_take_two_columns() -> None:
    assert columns("推測ab") == 6
    assert fit("推測ab", 6) == "推測ab"
    assert fit("推測ab", 5) == "推測…"
    assert columns(fit("推" * 100, 80)) <= 80


def test_what_is_wrapped_keeps_its_head_and_hangs() -> None:
    assert wrapped("one two three four", 14, first="gate  ", indent="      ") == [
        "gate  one two",
        "      three",
        "      four",
    ]
    assert wrapped("short", 80, first="gate  ", indent="      ") == ["gate  short"]


def test_of_too_many_lines_the_last_one_says_that_there_is_more() -> None:
    assert wrapped("one two three four", 5, most=2) == ["one", "two …"]
