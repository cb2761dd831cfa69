"""Put the hooks in: SGLang's own hook registry around every target that this version has."""

from __future__ import annotations

import atexit
import os
import sys
import time
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

from tokgate_probe.clocks import Clock, CudaClock, HostClock
from tokgate_probe.hooks import Hooks
from tokgate_probe.line_file import LIMIT_BYTES, LineFile
from tokgate_probe.place import Place
from tokgate_probe.recorder import Recorder
from tokgate_probe.switch import Switch
from tokgate_probe.targets import PLAIN, SPECULATIVE, Target


class Found(NamedTuple):
    hooked: tuple[Target, ...]
    missing: tuple[Target, ...]
    broken: dict[str, str]  # path -> what went wrong when it was imported


def install(folder: str, place: Place) -> None:
    """Hook the targets that are there, and write down which are not. Raises OSError, ValueError before any hook."""
    limit = int(os.environ.get("TOKGATE_PROBE_LIMIT_BYTES") or LIMIT_BYTES)
    switch = Switch(os.environ.get("TOKGATE_PROBE_SWITCH"))
    clock: Clock | None = None
    found, failed = Found((), (), {}), None
    try:
        from sglang.srt.plugins.hook_registry import HookRegistry, HookType  # noqa: PLC0415

        clock = clock_for(place.device)
        found = find(PLAIN if place.speculative is False else SPECULATIVE + PLAIN)
        if not found.hooked:
            failed = "this SGLang has none of the names looked for"
    except Exception as error:  # noqa: BLE001 - told in the file
        failed = f"{type(error).__name__}: {error}"
    header: dict[str, Any] = {
        "probe": 1,
        "pid": os.getpid(),
        "rank": place.ranks.get("tp"),
        "ranks": place.ranks,
        "mark": os.environ.get("TOKGATE_MARK"),
        "sglang": _version(),
        "clock": clock.name if clock else HostClock.name,
        "hooked": [f"{t.phase} {t.path}" for t in found.hooked],
        "missing": [t.path for t in found.missing],
        "broken": found.broken,
        "failed": failed,
        "switch": switch.there,
        "monotonic_ns": time.monotonic_ns(),
        "epoch_ns": time.time_ns(),
    }
    recorder = Recorder(LineFile(Path(folder), os.getpid(), limit_bytes=limit))
    recorder.start()  # before any hook: without its thread nobody would empty the queues
    if clock is not None:
        hooks = Hooks(clock, switch, recorder)
        for target in found.hooked:
            try:
                HookRegistry.register(target.path, hooks.around(target.phase), HookType.AROUND)
            except Exception as error:  # noqa: BLE001 - told in the file; the others may do
                header["hooked"].remove(f"{target.phase} {target.path}")
                header["broken"][target.path] = f"{type(error).__name__}: {error}"
        if found.hooked and not header["hooked"]:
            header["failed"] = "none of the hooks could be put in"
    recorder.begin(header)
    atexit.register(recorder.end)


def clock_for(device: str | None) -> Clock:
    """Return the clock for what --device says. Raises ValueError for one whose work no clock here can see."""
    if device == "cpu":
        return HostClock()
    try:
        import torch  # noqa: PLC0415 - SGLang has it loaded by now
    except ImportError:
        return HostClock()
    if torch.cuda.is_available():
        return CudaClock(torch.cuda)
    if device is None:
        return HostClock()
    # It works on while the host has returned: the host's clock would measure launching only.
    raise ValueError(f"no clock for device {device!r}: neither a CPU, nor events of torch.cuda")


def find(targets: tuple[Target, ...]) -> Found:
    """Look every target up, importing its module."""
    hooked, missing, broken = [], [], {}
    for target in targets:
        try:
            attrgetter(target.name)(import_module(target.module))
        except Exception as error:  # noqa: BLE001 - foreign code at import
            missing.append(target)
            if not _is_absent(target, error):
                broken[target.path] = f"{type(error).__name__}: {error}"
        else:
            hooked.append(target)
    return Found(tuple(hooked), tuple(missing), broken)


def _is_absent(target: Target, error: Exception) -> bool:
    """Say whether it is the target that does not exist, rather than something that its module wants."""
    if isinstance(error, ModuleNotFoundError):
        return error.name is not None and f"{target.module}.".startswith(f"{error.name}.")
    return isinstance(error, AttributeError) and target.module in sys.modules


def _version() -> Any:
    try:
        return version("sglang")
    except PackageNotFoundError:
        return None
