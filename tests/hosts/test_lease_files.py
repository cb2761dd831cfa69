"""What writers of the lease leave when they are killed, or the disk is full: swept by the next one, and nothing else is."""

from __future__ import annotations

import resource
import sys
from pathlib import Path

import pytest

from tokgate.hosts.connection import Host, connect
from tokgate.hosts.lease import lease
from tokgate.hosts.scripts.lease import save
from tokgate.rig.machine import HostSpec


@pytest.fixture
def host(tmp_path: Path) -> Host:
    return connect(HostSpec(python=sys.executable, work_dir=str(tmp_path / "work")))


def test_half_a_lease_of_a_killed_writer_is_swept_and_what_is_no_writer_s_stays(host: Host) -> None:
    folder = Path(host.spec.work_dir) / "lease"
    folder.mkdir(parents=True)
    kept = ("lease.json.bak", "lease.json.12.note", "other.34")
    for name in ("lease.json.1234", "lease.json.99", *kept):
        (folder / name).write_text('{"owner": "half')
    (folder / "lease.json.77").symlink_to(folder / "other.34")
    with lease(host, "run-1"):
        left = {path.name for path in folder.iterdir()}
    assert left == {"lock", "lease.json", "lease.json.77", *kept}


def test_a_full_disk_leaves_no_half_a_lease(tmp_path: Path) -> None:
    save(tmp_path, {"owner": "run-1"})
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
    try:
        with pytest.raises(OSError, match="File too large"):
            save(tmp_path, {"owner": "run-2"})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert [path.name for path in tmp_path.iterdir()] == ["lease.json"]
    assert "run-1" in (tmp_path / "lease.json").read_text()
