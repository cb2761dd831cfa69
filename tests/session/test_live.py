"""A launch is made once, however it ends and whatever it leaves behind."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest

from tests.session.rigs import small_rig
from tests.session.test_run_folder import INFO, LAUNCH
from tokgate.errors import LeaseFault
from tokgate.hosts.connection import connect
from tokgate.hosts.lease import Lease
from tokgate.records import LaunchEvidence, StartCause, StartFailure
from tokgate.records.redactor import Redactor
from tokgate.rig.machine import HostSpec
from tokgate.session.bench import Bench
from tokgate.session.live import LiveSession
from tokgate.session.progress import unheard
from tokgate.session.run_folder import RunFolder
from tokgate.session.sides import Sides
from tokgate.session.slates import Slates

GENERATIONS = "launches/01-baseline/generations.jsonl"


class LostLease:
    """Ends a launch before any server, and counts how often one was begun."""

    def __init__(self) -> None:
        self.asked = 0

    def check(self) -> None:
        self.asked += 1
        raise LeaseFault(tried="to keep the lease", found="another gate holds it", do="wait")


def session(folder: Path, meanwhile: Callable[[], None]) -> tuple[LiveSession, LostLease]:
    """Return a session whose launches end at once; `meanwhile` happens while one is under way."""

    def say(_: str) -> None:
        meanwhile()

    lease, redactor = LostLease(), Redactor()
    found = LiveSession(rig=small_rig(), info=INFO, folder=folder, root=folder, say=say)
    bench: dict[str, Any] = {"rig": small_rig(), "run_id": INFO.run_id, "root": folder, "say": say}
    host = connect(HostSpec(), redactor=redactor)
    found._bench = Bench(
        **bench,
        host=host,
        lease=cast("Lease", lease),
        folder=RunFolder(folder, redactor),
        redactor=redactor,
        client_ceiling=1.0,
        slates=Slates(host, small_rig(), unheard),
        sides=Sides(host, small_rig(), run_id=INFO.run_id, keep=lambda _: None, say=say),
    )
    return found, lease


def test_what_cannot_be_read_back_is_a_fault_that_names_the_file_and_is_not_tried_again(
    tmp_path: Path,
) -> None:
    def meanwhile() -> None:
        (tmp_path / GENERATIONS).write_bytes(b'{"cut\n')

    live, lease = session(tmp_path, meanwhile)

    for _ in range(2):
        faults = live.measured(LAUNCH).faults
        assert "01-baseline/generations.jsonl, line 1 cannot be read" in faults[-1], faults
        assert len(faults) == 2, faults  # the session's own comes first
    assert lease.asked == 1
    assert live.is_measured(LAUNCH)


def test_an_interruption_is_not_replaced_by_what_it_left_unreadable(tmp_path: Path) -> None:
    def meanwhile() -> None:
        (tmp_path / GENERATIONS).mkdir()
        raise KeyboardInterrupt

    live, lease = session(tmp_path, meanwhile)

    with pytest.raises(KeyboardInterrupt):
        live.measured(LAUNCH)
    assert "no regular file" in live.measured(LAUNCH).faults[0]
    assert lease.asked == 1


def test_an_interruption_before_anything_was_written_ends_the_launch_too(tmp_path: Path) -> None:
    def meanwhile() -> None:
        (tmp_path / "launches/01-baseline/launch.json").unlink()
        raise KeyboardInterrupt

    live, lease = session(tmp_path, meanwhile)

    with pytest.raises(KeyboardInterrupt):
        live.measured(LAUNCH)
    assert "launch.json" in live.measured(LAUNCH).faults[0]
    assert lease.asked == 1


def test_an_argument_that_no_server_of_the_rig_takes_is_tried_once(tmp_path: Path) -> None:
    live, lease = session(tmp_path, lambda: None)
    server = live.rig.server.model_copy(update={"args": {"tp_sise": 4}})
    live.rig = live.rig.model_copy(update={"server": server})
    failure = StartFailure(
        cause=StartCause.BAD_ARGUMENT,
        headline="SGLang refuses server.args.tp_sise (--tp-sise)",
        do="write tp_size",
    )
    live._measured[LAUNCH.id] = LaunchEvidence(launch=LAUNCH, failure=failure)

    other = live.measured(LAUNCH.model_copy(update={"id": "02-again", "role": "control-again"}))

    assert other.failure == failure
    assert other.notes == ("not tried: 01-baseline failed for a shared cause",)
    assert lease.asked == 0
