"""Hints about what the driver's own answers leave open: which GPU is missing, who may hold memory.

Asked only when a look has found something, since walking through the open files of all processes takes
time. Nothing here makes a machine clean or unclean; it makes the finding more useful.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError

from tokgate.errors import HostFault
from tokgate.hosts.connection import Host
from tokgate.hosts.scripts import source
from tokgate.records import GpuSeen, ProcessSeen, Record

_FILE = "gpus.json"
_SHOWN = 200  # of what another user may have written there


class KnownGpu(Record):
    """A GPU as it was when all were there."""

    index: int
    uuid: str | None = None
    bus_id: str | None = None


class KnownGpus(Record):
    at: str  # ISO 8601
    gpus: tuple[KnownGpu, ...]


@dataclass(frozen=True)
class Clues:
    """`missing`: GPUs that were expected, each in words. `openers`: index -> processes with the device open."""

    missing: tuple[str, ...] = ()
    openers: dict[int, tuple[str, ...]] = field(default_factory=dict)
    hidden: int = 0  # processes whose open files could not be seen


def remember(host: Host, gpus: Sequence[GpuSeen], at: str) -> None:
    """Keep on the host which GPUs it has, so that a later look can say which one has gone."""
    known = KnownGpus(at=at, gpus=tuple(KnownGpu(index=g.index, uuid=g.uuid, bus_id=g.bus_id) for g in gpus))
    with contextlib.suppress(HostFault):
        # Any user's gate may take the next look.
        host.write_file(_path(host), known.model_dump_json(), mode=0o666)


def look_for_clues(
    host: Host, gpus: Sequence[GpuSeen], table: Iterable[ProcessSeen], *, count: int, root: str = "/"
) -> Clues:
    """Ask the host's kernel (/sys and /proc below `root`), and what was remembered.

    Never raises: a clue may be missing.
    """
    unowned = any(g.allocated_mib for g in gpus)
    argument = {"opened": unowned, "root": root}
    try:
        answer = host.run_python(source("gpu_devices"), argument, name="device reader")
    except HostFault:
        return Clues()
    openers = _openers(answer, gpus, {p.pid: p for p in table})
    missing = (*_unlisted(answer, gpus), *_gone(recall(host), gpus)) if len(gpus) < count else ()
    return Clues(missing=missing, openers=openers, hidden=answer["hidden"])


def recall(host: Host) -> KnownGpus | None:
    """Return what `remember` kept, None where there is nothing or nonsense."""
    try:
        raw = host.read_file(_path(host))
        return KnownGpus.model_validate_json(raw) if raw else None
    except (HostFault, ValidationError):
        return None


def short_bus_id(text: str) -> str:
    """Return the kernel's spelling: the driver writes the domain with eight digits and capitals."""
    found = re.fullmatch(r"(?:0x)?([0-9a-f]+):([0-9a-f]{2}:[0-9a-f]{2}\.[0-9a-f])", text.strip().lower())
    return f"{int(found[1], 16):04x}:{found[2]}" if found else text


def _unlisted(answer: dict[str, Any], gpus: Sequence[GpuSeen]) -> tuple[str, ...]:
    bus = {short_bus_id(b): driver for b, driver in answer["bus"].items()}
    here = {short_bus_id(g.bus_id) for g in gpus if g.bus_id}
    # Only a bus on which the listed GPUs are is the bus of those that are missing.
    if not here or not here <= bus.keys():
        return ()
    return tuple(
        f"{b} is on the PCI bus, but not listed ({f'kernel driver {driver}' if driver else 'no kernel driver'})"
        for b, driver in bus.items()
        if b not in here
    )


def _openers(
    answer: dict[str, Any], gpus: Sequence[GpuSeen], by_pid: dict[int, ProcessSeen]
) -> dict[int, tuple[str, ...]]:
    """Return who has which GPU's device open, by index: the device's number need not be the index."""
    index_of = {short_bus_id(g.bus_id): g.index for g in gpus if g.bus_id}
    minors = {short_bus_id(b): minor for b, minor in answer["minors"].items()}
    gpu_of = {minor: index_of[b] for b, minor in minors.items() if b in index_of}
    openers: dict[int, tuple[str, ...]] = {}
    for pid, devices in answer["open"].items():
        for index in (gpu_of[minor] for minor in devices if minor in gpu_of):
            openers[index] = (*openers.get(index, ()), _named(int(pid), by_pid.get(int(pid))))
    return openers


def _gone(known: KnownGpus | None, gpus: Sequence[GpuSeen]) -> tuple[str, ...]:
    here = {g.uuid for g in gpus if g.uuid}
    # Of another machine or another set of cards nothing can be concluded.
    if known is None or not here or not here <= {g.uuid for g in known.gpus}:
        return ()
    return tuple(
        f"GPU {g.index} of {known.at} ({g.uuid}, {g.bus_id or 'bus id unknown'}) is gone"[:_SHOWN]
        for g in known.gpus
        if g.uuid not in here
    )


def _path(host: Host) -> str:
    return f"{host.spec.work_dir.rstrip('/')}/{_FILE}"


def _named(pid: int, process: ProcessSeen | None) -> str:
    if process is None:
        return f"pid {pid}"
    command = " ".join((process.cmdline or process.comm).split())[:80]
    return f"pid {pid} of {process.user or 'an unknown user'} ({command})"
