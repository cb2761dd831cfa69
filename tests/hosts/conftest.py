from __future__ import annotations

from pathlib import Path

import pytest

from tests.sshd import sshd
from tokgate.rig.machine import HostSpec

__all__ = ["sshd"]


@pytest.fixture
def here(tmp_path: Path) -> HostSpec:
    return HostSpec(work_dir=str(tmp_path / "work"))


@pytest.fixture
def canary(tmp_path: Path) -> Path:
    """A program that leaves a file named after whoever ran it."""
    (tmp_path / "sang").mkdir()
    file = tmp_path / "canary"
    file.write_text(f'#!/bin/sh\ntouch "{tmp_path}/sang/$1"\nexit 1\n')
    file.chmod(0o755)
    return file


@pytest.fixture
def treasure(tmp_path: Path) -> Path:
    """Files outside of every tree, which must be neither read nor changed nor removed."""
    folder = tmp_path / "treasure"
    folder.mkdir()
    (folder / "secret.py").write_text("secret = 'of somebody else'\n")
    return folder
