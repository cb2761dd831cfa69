"""Sides opened on this machine, of a small checkout, and closed at the end: nothing of them may be left."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.hosts.side_trees import FILE, change, checkout, git, patch_of
from tests.session.rigs import small_rig
from tokgate.hosts.connection import connect
from tokgate.records.side import SideState
from tokgate.rig.machine import HostSpec
from tokgate.rig.models import Rig
from tokgate.rig.sides import PatchText, SidesSpec
from tokgate.session.sides import Sides

OTHER = "python/sglang/srt/other.py"
Open = Callable[..., Sides]


def rig_on(host: HostSpec, *, path: str = "", required: tuple[PatchText, ...] = (), **spec: Any) -> Rig:
    """Return a rig whose server's Python is this one, with `path` in its PYTHONPATH."""
    rig = small_rig()
    server = rig.server.model_copy(
        update={"python": sys.executable, "required": required, "environment": {"PYTHONPATH": path}}
    )
    sides = SidesSpec(**spec) if spec else None
    return rig.model_copy(update={"host": host, "server": server, "sides": sides})


@pytest.fixture
def opened(tmp_path: Path) -> Any:
    """Opens sides on this machine and closes them at the end."""
    held: list[Sides] = []
    said: list[str] = []

    def open_(**spec: Any) -> Sides:
        host = HostSpec(work_dir=str(tmp_path / "work"))
        rig = rig_on(host, **spec)
        sides = Sides(connect(host), rig, run_id="run", keep=lambda _: None, say=said.append)
        held.append(sides)
        sides.open()
        return sides

    yield open_
    for one in held:
        one.close()
    assert sorted((tmp_path / "work" / "sides").glob("*")) == [], said


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return checkout(tmp_path / "sglang")


def side(sides: Sides, name: str) -> SideState:
    made = sides.made
    assert made is not None
    found = made.side(name)
    assert found is not None
    return found


def text(sides: Sides, name: str, file: str = "srt/worker.py") -> str:
    return (Path(side(sides, name).root) / "sglang" / file).read_text()


def patch(folder: Path, name: str, *arguments: str) -> PatchText:
    return PatchText(name=name, text=patch_of(folder, *arguments))


def uncommitted_patch(folder: Path, name: str, file: str = FILE, *, line: int = 3) -> PatchText:
    """Return a patch of one changed line, the tree left as it was."""
    change(folder, file, line=line, text=f"patched_{line} = True")
    made = patch(folder, name)
    git(folder, "checkout", "-q", "--", file)
    return made


@pytest.fixture
def installed(repository: Path, tmp_path: Path) -> Path:
    """A package as a wheel installs it, and caches of an interpreter in it."""
    site = tmp_path / "site"
    shutil.copytree(repository / "python/sglang", site / "sglang")
    (site / "sglang/__pycache__").mkdir()
    (site / "sglang/__pycache__/x.cpython-311.pyc").write_bytes(b"x")
    return site
