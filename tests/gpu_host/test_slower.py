"""What slows verify lies in the server's site for its session and no longer, and the server itself reads the order."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from host_install import Installed
from slower import name_of, planted_in_site, write_python

FILES = {"tokgate_plant.py", "tokgate_plant-1.dist-info"}


@pytest.fixture
def place(tmp_path: Path) -> Installed:
    place = Installed(tmp_path)
    for folder in (place.serving / "bin", place.serving / "site" / "sglang", place.checkout / "plant"):
        folder.mkdir(parents=True)
    (place.checkout / "plant" / "tokgate_plant.py").touch()
    (place.checkout / "plant" / "tokgate_plant-1.dist-info").mkdir()
    (place.checkout / "plant" / "tokgate_plant-1.dist-info" / "entry_points.txt").write_text(
        "[sglang.srt.plugins]\n"
    )
    return place


def site(place: Installed) -> set[str]:
    return {path.name for path in (place.serving / "site").iterdir()}


def test_it_is_there_for_the_session_alone(place: Installed) -> None:
    with planted_in_site(place, wanted=True):
        assert site(place) == {"sglang", *FILES}
    assert site(place) == {"sglang"}


def test_a_session_that_broke_off_leaves_nothing_to_the_next_one(place: Installed) -> None:
    with pytest.raises(KeyboardInterrupt), planted_in_site(place, wanted=True):
        raise KeyboardInterrupt
    assert site(place) == {"sglang"}
    (place.serving / "site" / "tokgate_plant.py").touch()  # of a call that was killed
    with planted_in_site(place, wanted=False):
        assert site(place) == {"sglang"}


@pytest.mark.parametrize(
    ("longer", "name"), [("5%", "python3-verify-5"), ("20%@3", "python3-verify-20-rank-3")]
)
def test_the_server_reads_the_order_and_is_else_started_as_ever(
    place: Installed, longer: str, name: str
) -> None:
    place.server_python.write_text('#!/bin/sh\necho "$TOKGATE_PLANT $*"\n')
    place.server_python.chmod(0o755)
    write_python(place, longer)
    python = place.server_python.with_name(name_of(longer))
    assert python.name == name
    said = subprocess.run([python, "-m", "sglang.launch_server"], capture_output=True, text=True, check=True)
    assert said.stdout == f"verify:+{longer} -m sglang.launch_server\n"
