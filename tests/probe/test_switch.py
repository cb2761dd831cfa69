"""The switch is looked at while somebody writes it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tokgate_probe.switch import Switch


def test_it_is_on_unless_the_file_says_0(tmp_path: Path) -> None:
    file = tmp_path / "switch"
    file.write_bytes(b"1")
    switch = Switch(str(file))
    assert switch.there
    seen = [switch.on()]
    for byte in (b"0", b"1"):
        handle = os.open(file, os.O_WRONLY)
        os.pwrite(handle, byte, 0)
        os.close(handle)
        seen.append(switch.on())
    assert seen == [True, False, True]


def test_a_look_while_the_file_is_cut_to_nothing_is_survived(tmp_path: Path) -> None:
    file = tmp_path / "switch"
    file.write_bytes(b"0")
    switch = Switch(str(file))
    os.truncate(file, 0)
    assert switch.on()
    file.write_text("0")
    assert not switch.on()


@pytest.mark.parametrize("path", [None, "", "/nowhere/switch"])
def test_without_a_file_it_is_on(path: str | None) -> None:
    switch = Switch(path)
    assert switch.on()
    assert not switch.there
