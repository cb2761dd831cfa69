from __future__ import annotations

import pytest

from tokgate.rig.nearest import known_names, nearest


@pytest.mark.parametrize(
    ("name", "known", "expected"),
    [
        ("tp-size", ["tp_size", "dp_size"], "tp_size"),
        ("TP_SIZE", ["tp_size"], "tp_size"),
        ("modell", ["mode", "model"], "model"),
        ("zzz", ["model"], None),
        ("", ["model"], None),
        ("x", [], None),
    ],
)
def test_nearest(name: str, known: list[str], expected: str | None) -> None:
    assert nearest(name, known) == expected


def test_all_names_are_told_when_none_is_near() -> None:
    assert known_names("zzz", ["alpha", "beta"]) == "known names: alpha, beta"
    assert known_names("zzz", []) == "there are none"
