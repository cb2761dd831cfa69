"""What answers NCCL's questions besides the environment, read on this machine."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.session.rigs import small_rig
from tokgate.hosts.connection import connect
from tokgate.hosts.nccl_sources import nccl_sources
from tokgate.records.nccl import NcclSources
from tokgate.rig.machine import HostSpec


def look(
    *, python: str = sys.executable, nccl: dict[str, str] | None = None, **environment: str
) -> NcclSources:
    rig = small_rig()
    server = rig.server.model_copy(update={"python": python, "nccl": nccl or {}, "environment": environment})
    return nccl_sources(connect(HostSpec(python=sys.executable)), rig.model_copy(update={"server": server}))


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / ".nccl.conf").write_text("NCCL_ALGO=Tree\n export NCCL_PROTO=LL\n")
    return tmp_path


def test_the_file_at_home_is_read_as_the_server_would_meet_it(home: Path) -> None:
    found = look(HOME=str(home))
    (file,) = [f for f in found.files if f.path.startswith(str(home))]
    assert file.variables == {"NCCL_ALGO": "Tree"}
    assert [u.line for u in file.unread] == [2]


def test_conf_file_stands_in_for_it(home: Path) -> None:
    other = home / "other.conf"
    other.write_text("NCCL_PROTO=Simple\n")
    found = look(HOME=str(home), nccl={"NCCL_CONF_FILE": str(other)})
    assert [(f.path, f.variables) for f in found.files if f.path.startswith(str(home))] == [
        (str(other), {"NCCL_PROTO": "Simple"})
    ]


def test_a_conf_file_that_is_not_there_is_told(home: Path) -> None:
    found = look(nccl={"NCCL_CONF_FILE": str(home / "none.conf")})
    assert [(u.text, u.why) for u in found.unread if "none.conf" in u.text] == [
        (str(home / "none.conf"), "no such file, and NCCL does not say so")
    ]


def test_plugins_on_the_library_path_are_found(home: Path) -> None:
    for name in ("libnccl-env.so", "libnccl-tuner.so", "libnccl-other.so", "libnccl-env.so.bak"):
        (home / name).write_text("")
    found = look(LD_LIBRARY_PATH=f"/nowhere:{home}")
    assert [p for p in found.plugins if p.startswith(str(home))] == [
        f"{home}/libnccl-env.so",
        f"{home}/libnccl-tuner.so",
    ]


def test_odd_bytes_and_a_folder_in_place_of_a_file(home: Path) -> None:
    (home / ".nccl.conf").write_bytes(b"NCCL_ALGO=\xff\xfe\n\x00=1\n")
    (file,) = [f for f in look(HOME=str(home)).files if f.path.startswith(str(home))]
    assert file.variables == {"NCCL_ALGO": "\\xff\\xfe"}
    (home / "folder").mkdir()
    found = look(nccl={"NCCL_CONF_FILE": str(home / "folder")})
    assert any(str(home / "folder") in u.text for u in found.unread)


def test_a_python_that_is_not_there_is_unread_and_nothing_else() -> None:
    found = look(python="/nowhere/python")
    assert found.files == ()
    assert [u.text for u in found.unread] == ["NCCL's files and plugins"]
