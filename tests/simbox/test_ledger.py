"""The ledger believes pids only with their start times, and memory comes back as it was told to."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

from simbox import ledger
from simbox.heat import heat
from simbox.knobs import Knobs


def hold(state: Path, pid: int, *, gpu: int = 3, ticks: int | None = None, return_s: float = 0.2) -> Path:
    started = ledger.start_ticks(pid) if ticks is None else ticks
    ledger.claim(state, ledger.Holder(gpu, pid, started, 1000, "python3", return_s))
    return state / "holders" / f"{gpu}-{pid}.json"


def aged(file: Path, seconds: float) -> None:
    os.utime(file, (time.time() - seconds,) * 2)


def test_a_living_owner_holds_its_memory(tmp_path: Path) -> None:
    aged(hold(tmp_path, os.getpid()), 1000)
    (held,) = ledger.held(tmp_path)
    assert (held.holder.gpu, held.mib, held.state) == (3, 1000, "running")


def test_another_process_with_the_same_pid_is_not_the_owner(tmp_path: Path) -> None:
    file = hold(tmp_path, os.getpid(), ticks=1)
    assert ledger.held(tmp_path)[0].state == "gone"
    aged(file, 0.3)
    assert ledger.held(tmp_path) == ()
    assert not file.exists()


def test_slow_memory_returns_gradually_and_some_never(tmp_path: Path) -> None:
    aged(hold(tmp_path, 0, gpu=1, return_s=10.0), 4.0)
    aged(hold(tmp_path, 0, gpu=2, return_s=ledger.NEVER), 1e6)
    slow, never = ledger.held(tmp_path)
    assert 560 <= slow.mib <= 610
    assert (never.mib, never.state) == (1000, "gone")


def test_a_zombie_is_told_from_the_living(tmp_path: Path) -> None:
    child = subprocess.Popen(["/bin/true"])
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    hold(tmp_path, child.pid, return_s=ledger.NEVER)
    assert ledger.held(tmp_path)[0].state == "zombie"
    child.wait()
    assert ledger.held(tmp_path)[0].state == "gone"


def test_broken_files_are_passed_over(tmp_path: Path) -> None:
    hold(tmp_path, os.getpid())
    (tmp_path / "holders" / "1-2.json").write_text("{")
    assert len(ledger.held(tmp_path)) == 1


def test_what_nobody_tells_any_more_is_forgotten(tmp_path: Path) -> None:
    busy = heat(Knobs(), busy=True, hanging=False, loaded_s=1.0)
    ledger.tell_heat(tmp_path, 0, busy)
    assert ledger.told_heat(tmp_path, 0) == busy
    aged(tmp_path / "telemetry" / "0.json", 5)
    assert ledger.told_heat(tmp_path, 0) is None
