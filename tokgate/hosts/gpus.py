"""The GPUs of a host: what is there, who holds memory, and whether that is as the rig says."""

from __future__ import annotations

from typing import Any

from tokgate.errors import HostFault
from tokgate.hosts.connection import Host
from tokgate.hosts.gpu_judgement import Owner, judge, name_holders, unowned
from tokgate.hosts.gpu_readout import GpuReadout
from tokgate.hosts.nvidia_smi import ask_nvidia_smi
from tokgate.hosts.nvml import NvmlUnusable, load_nvml, read_nvml
from tokgate.hosts.processes import processes
from tokgate.records import Finding, GpuHolder, GpuSeen, ProcessSeen
from tokgate.rig.models import GpuSpec

Look = tuple[tuple[GpuSeen, ...], tuple[GpuHolder, ...], tuple[Finding, ...]]


def look_at_gpus(
    host: Host, spec: GpuSpec, nvml: Any | None = None, *, ours: frozenset[Owner] = frozenset()
) -> Look:
    """Look once, without waiting. A rig without GPUs looks at nothing.

    NVML is asked inside this process when the host is this machine (`nvml`: the library, otherwise the
    installed one), else nvidia-smi on the host. `ours`: (pid, start_ticks) of processes whose memory is
    expected. A host that cannot be asked is a finding, too: what cannot be seen is not clean.
    """
    if spec.count == 0:
        return (), (), ()
    try:
        readout = _read(host, spec, nvml)
        table: tuple[ProcessSeen, ...] = processes(host) if readout.holders else ()
    except HostFault as fault:
        return (), (), (Finding(severity="unknown", what=f"{fault.tried}: {fault.found}", do=fault.do),)
    holders = name_holders(readout.holders, table)
    holders += unowned(readout.gpus, holders, spec)
    return readout.gpus, holders, judge(readout, holders, spec, ours)


def _read(host: Host, spec: GpuSpec, nvml: Any | None) -> GpuReadout:
    library = (nvml or load_nvml()) if host.local and spec.reader == "auto" else None
    if library is not None:
        try:
            return read_nvml(library, limit_s=host.spec.command_timeout_s)
        except NvmlUnusable:
            # nvidia-smi brings the driver's own words for what is wrong.
            pass
    return ask_nvidia_smi(host)
