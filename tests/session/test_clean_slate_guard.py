"""The one look at the machine stands before every start and at the session's end."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.hosts.fake_gpus import row, write_nvidia_smi
from tests.session.rigs import small_rig
from tokgate.records import LaunchEvidence, RunInfo
from tokgate.rig.models import Rig
from tokgate.session.live import LiveSession
from tokgate.session.plan import plan_launches


class Box:
    """A rig of two GPUs, whose nvidia-smi says what the test wants, and a server that leaves a trace."""

    def __init__(self, folder: Path) -> None:
        self.bin = folder / "bin"
        self.started = folder / "started"
        python = folder / "python"
        # The fingerprint asks this Python as well; only a server is a start.
        python.write_text(f'#!/bin/sh\ncase "$*" in *launch_server*) touch {self.started};; esac\nexit 3\n')
        python.chmod(0o755)
        self.holds(0)
        rig = small_rig()
        self.rig: Rig = rig.model_copy(
            update={
                "host": rig.host.model_copy(
                    update={
                        "python": sys.executable,
                        "work_dir": str(folder / "work"),
                        "path": (str(self.bin),),
                    }
                ),
                "gpus": rig.gpus.model_copy(update={"count": 2, "reader": "nvidia-smi", "wait_s": 1.0}),
                "server": rig.server.model_copy(update={"python": str(python)}),
            }
        )
        self.folder = folder / "run"
        info = RunInfo(
            run_id=f"guard-{folder.name}",
            rig="small",
            simulated=False,
            started_at="2026-11-29T20:00:00+00:00",
            command="pytest",
            selection="",
            tokgate_version="0",
        )
        self.session = LiveSession(
            rig=self.rig, info=info, folder=self.folder, root=folder, say=lambda words: None
        )

    def holds(self, mib: int, rows: int = 2) -> None:
        """Let GPU 1 hold that much, as nobody's."""
        write_nvidia_smi(self.bin, gpus="".join(row(i, mib if i == 1 else 0) for i in range(rows)))

    def launch(self) -> LaunchEvidence:
        return self.session.measured(plan_launches(self.rig)[0])


@pytest.fixture
def box(tmp_path: Path) -> Box:
    return Box(tmp_path)


@pytest.mark.parametrize(("mib", "rows", "words"), [(400, 2, "400 MiB"), (0, 1, "the rig says 2 (missing)")])
def test_no_server_starts_on_a_machine_that_is_not_clean(box: Box, mib: int, rows: int, words: str) -> None:
    box.session.open()
    try:
        box.holds(mib, rows)
        evidence = box.launch()
    finally:
        box.session.close()
    assert evidence.slate is not None
    assert evidence.slate.when == "before 01-baseline"
    assert any(f.severity == "unclean" and words in f.what for f in evidence.slate.findings)
    assert not box.started.exists()
    assert (evidence.server, evidence.failure) == (None, None)


def test_a_clean_machine_lets_it_start(box: Box) -> None:
    box.session.open()
    try:
        evidence = box.launch()
    finally:
        box.session.close()
    assert evidence.slate is not None
    assert not [f for f in evidence.slate.findings if "GPU" in f.what and f.severity != "note"]
    if not evidence.slate.clean:
        pytest.skip("the processes of another gate on this machine keep it from starting")
    assert box.started.exists()
    assert evidence.failure is not None


def test_the_session_ends_with_the_same_look(box: Box) -> None:
    box.session.open()
    try:
        assert box.session.slate_at_start is not None
        assert not [f for f in box.session.slate_at_start.findings if "MiB are allocated" in f.what]
        box.holds(122_000)
        slate = box.session.slate_at_end
    finally:
        box.session.close()
    assert slate is not None
    assert slate.when == "session end"
    assert any("GPU 1 (NVIDIA H200): 122000 MiB are allocated" in f.what for f in slate.findings)
    assert (box.folder / "slate-end.json").exists()
