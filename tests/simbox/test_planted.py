"""What a plugin would slow in the box's ranks, its schedule has."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest

from simbox.knobs import Knobs
from simbox.planted import Planted, planted

ROOT = Path(__file__).parents[2]


def order(file: Path, text: str) -> None:
    file.write_text(text, encoding="utf-8")
    os.utime(file, ns=(0, time.monotonic_ns()))


def test_phases_take_as_much_longer_as_ordered_for_as_long_as_it_is_ordered(tmp_path: Path) -> None:
    file = tmp_path / "order"
    found, knobs = Planted(file), Knobs(verify_factor=1.5)
    assert found.of(knobs) == knobs
    order(file, "draft:+10%,verify:+10%\n")
    longer = found.of(knobs)
    assert (longer.draft_factor, longer.verify_factor, longer.decode_factor) == pytest.approx(
        (1.1, 1.65, 1.0)
    )
    order(file, "")
    assert found.of(knobs) == knobs


def test_what_it_does_not_play_is_refused_and_nothing_is_slowed(tmp_path: Path) -> None:
    file = tmp_path / "order"
    found = Planted(file)
    order(file, "verify:+10%,rest:+2ms")
    assert found.of(Knobs()) == Knobs()
    told = [json.loads(line) for line in (tmp_path / "order.read").read_text().splitlines()]
    assert set(told[0]["patched"]) == {"draft", "verify", "draft_extend", "decode"}
    assert "rest:+2ms" in told[1]["refused"]


@pytest.mark.parametrize(
    ("path", "version", "plugins", "loaded"),
    [
        ("plant", "0.5.23", "", True),
        ("plant", "0.5.23", "tokgate_plant,other", True),
        ("plant", "0.5.23", "other", False),
        ("plant", "0.5.9", "", False),
        ("probe", "0.5.23", "", False),
    ],
)
def test_only_where_sglang_would_load_the_plugin(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str, version: str, plugins: str, *, loaded: bool
) -> None:
    monkeypatch.setattr("sys.path", [str(ROOT / path)])
    planted({"TOKGATE_PLANT": f"@{tmp_path}/order", "SGLANG_PLUGINS": plugins}, version)
    assert (tmp_path / "order.read").exists() == loaded
