from __future__ import annotations

import pytest

from tokgate.rig.spelling import dotted, spell


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (True, "true"),
        (3, "3"),
        (0.5, "0.5"),
        ('say "a"\n', r'"say \"a\"\n"'),
        ("naïve 東", '"naïve 東"'),
        ("\x1b[31m\x9b\u202e", r'"\u001b[31m\u009b\u202e"'),
        ([1, "a"], '[1, "a"]'),
        ((), "[]"),
        ({"a b": 1, "c": {"d": []}}, '{"a b" = 1, c = {d = []}}'),
        (None, "nothing"),
        ("x" * 500, '"' + "x" * 98 + "…"),
    ],
)
def test_values_are_spelled_as_in_toml(value: object, text: str) -> None:
    assert spell(value) == text


def test_paths_carry_the_names_of_items() -> None:
    data = {"arms": [{"name": "plain"}, {"kind": "x"}]}
    assert dotted(("arms", 0, "args", "a.b"), data) == 'arms[0 "plain"].args."a.b"'
    assert dotted(("arms", 1, "kind"), data) == "arms[1].kind"
    assert dotted(("arms", 9), data) == "arms[9]"
    assert dotted((), data) == ""
