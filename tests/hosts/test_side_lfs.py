"""Files whose content git-lfs keeps: each side has that of its own pointer."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from tests.hosts.side_sessions import made, sides_on
from tests.hosts.side_trees import checkout, commit
from tokgate.errors import SideFault
from tokgate.rig.machine import HostSpec
from tokgate.rig.sides import SidesSpec

DATA = "python/sglang/data.bin"


def pointer(content: bytes) -> str:
    oid = hashlib.sha256(content).hexdigest()
    return f"version https://git-lfs.github.com/spec/v1\noid sha256:{oid}\nsize {len(content)}\n"


def test_content_that_git_lfs_keeps_is_that_of_each_side_s_own_pointer(
    here: HostSpec, tmp_path: Path
) -> None:
    repository = checkout(tmp_path / "sglang")
    for content in (b"before", b"behind"):
        (repository / DATA).write_text(pointer(content))
        commit(repository, "a pointer")
    (repository / DATA).write_bytes(b"behind")
    spec = SidesSpec(repository=str(repository), base="HEAD~1", head="HEAD")

    with pytest.raises(SideFault, match=r"data\.bin is kept by git-lfs.*neither in the working tree nor"):
        sides_on(here, spec).open()
    oid = hashlib.sha256(b"before").hexdigest()
    store = repository / ".git/lfs/objects" / oid[:2] / oid[2:4]
    store.mkdir(parents=True)
    (store / oid).write_bytes(b"before")
    sides = sides_on(here, spec)
    sides.open()
    try:
        found = [(Path(side.root) / "sglang/data.bin").read_bytes() for side in made(sides).sides]
        assert found == [b"before", b"behind"]
        assert all("sglang/data.bin" in side.carried for side in made(sides).sides)
    finally:
        sides.close()


def test_an_edit_of_what_git_lfs_keeps_is_not_committed(here: HostSpec, tmp_path: Path) -> None:
    repository = checkout(tmp_path / "sglang")
    (repository / DATA).write_text(pointer(b"before"))
    commit(repository, "a pointer")
    (repository / DATA).write_bytes(b"before")
    with pytest.raises(SideFault, match="base and head are the same"):
        sides_on(here, SidesSpec(repository=str(repository), base="HEAD")).open()
    (repository / DATA).write_bytes(b"edited")
    oid = hashlib.sha256(b"before").hexdigest()
    store = repository / ".git/lfs/objects" / oid[:2] / oid[2:4]
    store.mkdir(parents=True)
    (store / oid).write_bytes(b"before")

    sides = sides_on(here, SidesSpec(repository=str(repository), base="HEAD"))
    sides.open()
    try:
        assert made(sides).sides[1].changed == (DATA,)
        found = [(Path(side.root) / "sglang/data.bin").read_bytes() for side in made(sides).sides]
        assert found == [b"before", b"edited"]
    finally:
        sides.close()
