"""What an instrumented launch carries, and what it brings home: the probe's files and scrapes of the device timer.

Such a launch is one of its own: nothing that is timed for throughput carries an instrument.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from tokgate.errors import BenchFault
from tokgate.hosts.connection import Host
from tokgate.hosts.scripts import source
from tokgate.parsers.device_timer import SECONDS
from tokgate.parsers.foreign_json import shown
from tokgate.rig.models import Rig
from tokgate.server.command_line import Equipment, Extra

from .carried import carried
from .instrument_files import CLOCK, LEFT, PROBE, TIMER, HostClock, Left, scrape_name
from .probe_switch import ProbeSwitch
from .run_folder import RunFolder

OUT = "probe-out"
SWITCH = "probe-switch"
MOST_FILES = 256  # one a scheduler
MOST_BYTES = 32 << 20  # of one file; the probe itself stops at 64 MiB
QUIET_S = 3.0  # for the last passes to be counted
POLL_S = 0.2
LIMIT_S = 60.0  # for all files together
CLOCK_READINGS = 5  # the one whose answer came quickest counts
SHOWN = 5  # names of files that are none of the probe's
_OURS = re.compile(r"phases-[0-9]{1,10}(?:-[0-9]{1,4})?\.jsonl")
_WHY_OUT = "the probe in each scheduler writes its calls there; without it the probe does nothing"
_WHY_SWITCH = "the gate switches the probe off and on while the server runs, and so measures what it costs"
_WHY_TIMER = "SGLang then counts the GPU's seconds by phase in /metrics"


@dataclass
class Instruments:
    """Of one launch: `equip` before it starts, `collect` when it has stopped and its folder is still there."""

    host: Host
    folder: RunFolder
    launch_id: str
    rig: Rig
    root: Path  # the folder that has the probe
    kept_in: str = PROBE  # the folder of the launch that its files are brought to
    there: str | None = field(default=None, init=False)
    switch: ProbeSwitch | None = field(default=None, init=False)

    def equip(self, there: str) -> Equipment:
        """Lay the probe and the folder for its files out on the host. BenchFault: it cannot be laid out."""
        self.there = there
        out = f"{there}/{OUT}"
        made = self.host.run("mkdir -p -m 700 -- %s", out)
        if made.rc != 0:
            raise BenchFault(
                tried=f"to make {out} on {self.host.name}",
                found=made.stderr.strip() or "no end",
                do="make host.work_dir writable",
            )
        self.switch = ProbeSwitch(self.host, f"{there}/{SWITCH}")
        self.switch.lay()
        variables = [
            Extra("TOKGATE_PROBE_OUT", out, _WHY_OUT),
            Extra("TOKGATE_PROBE_SWITCH", self.switch.path, _WHY_SWITCH),
        ]
        if self.rig.gpus.count > 0:
            # On a CPU the timer takes the scheduler down: it asks for events of a GPU.
            variables.append(Extra(TIMER, "1", _WHY_TIMER))
        probe = carried(
            self.host,
            self.root,
            PROBE,
            there,
            tried="to equip a launch with the probe",
            do="run the gate from a whole checkout, install tokgate anew, or set instruments.skip in the rig, with the reason",
        )
        return Equipment(python_path=(probe,), variables=tuple(variables))

    def turn_off(self) -> None:
        """Let the probe rest: what it does would stand in a trace."""
        if self.switch is not None:
            self.switch.turn(False)

    def collect(self) -> None:
        """Bring the probe's files home, as many and as much as is bounded. Never raises BenchFault or OSError."""
        if self.there is None:
            return
        try:
            self.folder.write_record(self._name(CLOCK), self._clock())
            left = self._fetch(f"{self.there}/{OUT}")
        except BenchFault as fault:
            left = Left(why=f"the probe's files could not be read: {fault.found}")
        except OSError as error:
            left = Left(why=f"the probe's files could not be kept: {error.strerror or error}")
        if self.switch is not None:
            left = left.model_copy(update={"switch": self.switch.why})
        # A disk that is full ends the session where launch.json is written, which says so.
        with suppress(OSError):
            self.folder.write_record(self._name(LEFT), left)

    def _fetch(self, out: str) -> Left:
        listed = self.host.run_python(source("list_files"), out, name="list of the probe's files")
        # The server may write there whatever it likes: what the probe does not call its files stays.
        named = [(path, path.removeprefix(f"{out}/"), size) for path, size in listed]
        ours = [(path, size) for path, name, size in named if _OURS.fullmatch(name)]
        odd = [name for _, name, _ in named if not _OURS.fullmatch(name)]
        left = {shown(name, 100): "no name of a probe's file" for name in odd[:SHOWN]}
        if len(odd) > SHOWN:
            left[f"{len(odd) - SHOWN} more files"] = "no names of a probe's files"
        end = time.monotonic() + LIMIT_S
        for number, (path, size) in enumerate(ours):
            if number >= MOST_FILES:
                left[f"{len(ours) - MOST_FILES} files of the probe"] = f"more than {MOST_FILES} files"
                break
            if (why := self._take(path, size, end - time.monotonic())) is not None:
                left[Path(path).name] = why
        return Left(files=left)

    def _take(self, path: str, size: int, left_s: float) -> str | None:
        """Keep one file; return why it stays. HostFault: the host is gone, or the file is not what was listed."""
        if size > MOST_BYTES:
            return f"{size} bytes, more than the {MOST_BYTES >> 20} MiB that are read"
        if left_s <= 0:
            return f"not read within {LIMIT_S:g} s"
        content = self.host.read_file(path, most=MOST_BYTES, timeout_s=left_s) if size else b""
        if content is None:
            return "it, or its folder, was taken away"
        self.folder.write_body(self._name(Path(path).name), content)
        return None

    def _clock(self) -> HostClock:
        if self.host.local:
            return HostClock()
        return min((self._clock_once() for _ in range(CLOCK_READINGS)), key=lambda read: read.within_ns)

    def _clock_once(self) -> HostClock:
        before = time.monotonic_ns()
        told = self.host.run_python(source("monotonic"), None, name="host's clock")
        after = time.monotonic_ns()
        return HostClock(offset_ns=int(told) - (before + after) // 2, within_ns=(after - before) // 2)

    def _name(self, name: str) -> str:
        return f"launches/{self.launch_id}/{self.kept_in}/{name}"


@dataclass(frozen=True)
class TimerScrapes:
    """Two scrapes of /metrics around a workload's judged starts; the second once the last passes are counted."""

    metrics_text: Callable[[], str]
    keep: Callable[[str, str], None]  # name, text
    note: Callable[[str], None]
    pause: Callable[[float], None] = time.sleep
    clock: Callable[[], float] = time.monotonic

    def before(self, workload: str) -> None:
        self._take(workload, "before")

    def after(self, workload: str) -> None:
        self._take(workload, "after")

    def _take(self, workload: str, when: str) -> None:
        name = scrape_name(workload, when)
        try:
            self.keep(name, self._quiet())
        except BenchFault as fault:
            self.note(f"{name}: {fault.found}")

    def _quiet(self) -> str:
        """Scrape until the timer stands still: SGLang reads its events when the next pass is over, or idle."""
        end = self.clock() + QUIET_S
        text = self.metrics_text()
        while True:
            self.pause(POLL_S)
            again = self.metrics_text()
            if _seconds(again) == _seconds(text) or self.clock() > end:
                return again
            text = again


def _seconds(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith(SECONDS)]
