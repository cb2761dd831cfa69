"""The GPUs of a host: what is there, who holds memory, and whether that is as the rig says."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tokgate.errors import HostFault
from tokgate.hosts.connection import Host
from tokgate.hosts.gpu_clues import Clues, look_for_clues
from tokgate.hosts.gpu_judgement import Owner, judge, name_holders, unowned
from tokgate.hosts.gpu_readout import GpuReadout
from tokgate.hosts.nvidia_smi import ask_nvidia_smi, ask_table
from tokgate.hosts.nvml import NvmlUnusable, load_nvml, read_nvml
from tokgate.hosts.processes import processes
from tokgate.parsers.nvidia_smi import MOST_ROWS
from tokgate.records import Finding, GpuHolder, GpuSeen, ProcessSeen
from tokgate.rig.machine import GpuSpec

Look = tuple[tuple[GpuSeen, ...], tuple[GpuHolder, ...], tuple[Finding, ...]]
ReadTable = Callable[[Host], tuple[ProcessSeen, ...]]


def look_at_gpus(
    host: Host,
    spec: GpuSpec,
    nvml: Any | None = None,
    *,
    ours: frozenset[Owner] = frozenset(),
    read_table: ReadTable = processes,
    clues: bool = False,
) -> Look:
    """Look once, without waiting. A rig without GPUs looks at nothing.

    NVML is asked inside this process when the host is this machine (`nvml`: the library, otherwise the
    installed one), else nvidia-smi on the host. `ours`: (pid, start_ticks) of processes whose memory is
    expected. `clues`: where a GPU is missing or memory has no owner, also ask the kernel, which takes
    longer. A host that cannot be asked is a finding, too: what cannot be seen is not clean.
    """
    if spec.count == 0:
        return (), (), ()
    try:
        readout = _read(host, spec, nvml)
        # After the GPUs: who holds memory now is in it, unless it has just ended.
        table: tuple[ProcessSeen, ...] = read_table(host) if readout.holders else ()
        holders = name_holders(readout.holders, table)
        found = Clues()
        if clues:
            table = table or read_table(host)
            if unowned(readout.gpus, holders, spec):
                holders = name_holders((*readout.holders, *_drawing(host, readout, holders)), table)
            if unowned(readout.gpus, holders, spec) or len(readout.gpus) != spec.count:
                found = look_for_clues(host, readout.gpus, table, count=spec.count)
    except HostFault as fault:
        return (), (), (Finding(severity="unknown", what=f"{fault.tried}: {fault.found}", do=fault.do),)
    holders += unowned(readout.gpus, holders, spec)
    return readout.gpus, holders, judge(readout, holders, spec, ours, found)


def needs_clues(spec: GpuSpec, gpus: tuple[GpuSeen, ...], holders: tuple[GpuHolder, ...]) -> bool:
    """Say whether a look has left open which GPU is missing, or who holds memory."""
    return bool(gpus) and (len(gpus) < spec.count or any(h.pid is None for h in holders))


def _drawing(host: Host, readout: GpuReadout, holders: tuple[GpuHolder, ...]) -> list[GpuHolder]:
    """Return the graphics clients on GPUs without a known holder; only nvidia-smi's table lists them."""
    if any(g.source == "nvml" for g in readout.gpus):
        return []
    known = {h.gpu_index for h in holders}
    return [
        GpuHolder(gpu_index=p.gpu_index, pid=p.pid, command=p.name, used_mib=p.used_mib)
        for p in ask_table(host).processes[:MOST_ROWS]
        if p.gpu_index not in known
    ]


def _read(host: Host, spec: GpuSpec, nvml: Any | None) -> GpuReadout:
    library = (nvml or load_nvml()) if host.local and spec.reader == "auto" else None
    if library is not None:
        try:
            return read_nvml(library, limit_s=host.spec.command_timeout_s)
        except NvmlUnusable:
            # nvidia-smi brings the driver's own words for what is wrong.
            pass
    return ask_nvidia_smi(host)
