"""GPUs of any host through nvidia-smi."""

from __future__ import annotations

import re

from tokgate.hosts.connection import Host
from tokgate.hosts.gpu_readout import GpuReadout
from tokgate.parsers.nvidia_smi import read_gpus, read_holders
from tokgate.parsers.nvidia_smi_failure import SmiFailure, SmiFailureKind, read_failure
from tokgate.records import CommandResult, Finding
from tokgate.records.record import Unread

# memory.reserved came with driver 510, mig.mode.current with 450: what a driver does not know is left out.
_GPU_FIELDS = (
    "index",
    "uuid",
    "name",
    "pci.bus_id",
    "driver_version",
    "memory.total",
    "memory.reserved",
    "memory.used",
    "memory.free",
    "mig.mode.current",
)
# The name last: it may hold commas.
_HOLDER_FIELDS = ("gpu_uuid", "pid", "used_memory", "process_name")
_UNKNOWN_FIELD = re.compile(r'Field "([^"]+)" is not a valid field')

_ADVICE = {
    SmiFailureKind.GPU_LOST: "see dmesg for Xid lines; a lost GPU comes back with a reset or a reboot only",
    SmiFailureKind.DRIVER_MISMATCH: "the driver was updated under a running kernel: reload its module or reboot",
    SmiFailureKind.NO_DRIVER: "load the NVIDIA kernel module; in a container, start it with the GPUs passed in",
    SmiFailureKind.NO_GPUS: "check that the GPUs are passed into this container and not hidden",
    SmiFailureKind.NO_PERMISSION: "log in as a user that may ask the driver",
    SmiFailureKind.FIELD_UNKNOWN: "the driver is too old to tell what a clean slate needs",
    SmiFailureKind.OTHER: "run nvidia-smi on the host by hand",
}


def ask_nvidia_smi(host: Host) -> GpuReadout:
    """Ask for all GPUs and for who computes on them. HostFault: the host could not be asked at all."""
    fields = list(_GPU_FIELDS)
    while True:
        asked = host.run("nvidia-smi --query-gpu=%s --format=csv,noheader,nounits", ",".join(fields))
        failure = read_failure(asked.stdout + asked.stderr, asked.rc)
        unknown = _UNKNOWN_FIELD.search(asked.stdout + asked.stderr)
        if failure is None or unknown is None or unknown[1] not in fields:
            break
        fields.remove(unknown[1])
    reading = read_gpus(asked.stdout, fields)
    if asked.timed_out or (failure is not None and not reading.gpus):
        return GpuReadout(problems=(_problem(asked, failure),))
    problems = [_problem(asked, failure)] if failure else [_odd(note) for note in reading.unread]
    index_of = {gpu.uuid: gpu.index for gpu in reading.gpus if gpu.uuid}
    asked = host.run(
        "nvidia-smi --query-compute-apps=%s --format=csv,noheader,nounits", ",".join(_HOLDER_FIELDS)
    )
    failure = read_failure(asked.stdout + asked.stderr, asked.rc)
    holders = read_holders(asked.stdout, _HOLDER_FIELDS, index_of=index_of)
    if asked.timed_out or failure is not None:
        problems.append(_problem(asked, failure))
    else:
        problems += [_odd(note) for note in holders.unread]
    return GpuReadout(
        gpus=reading.gpus, holders=holders.holders, drivers=reading.drivers, problems=tuple(problems)
    )


def _problem(asked: CommandResult, failure: SmiFailure | None) -> Finding:
    if asked.timed_out:
        return Finding(
            severity="unknown",
            what=f"nvidia-smi did not answer within {asked.seconds:.0f} s",
            do="the GPU driver hangs: see dmesg for Xid lines, reboot",
        )
    if asked.rc in {126, 127}:
        return Finding(
            severity="unknown",
            what="nothing tells about the GPUs: there is no nvidia-smi on the path",
            do="install the driver's tools, or set gpus.count = 0 in the rig if this is a CPU machine",
        )
    if failure is None:
        raise AssertionError("neither a limit nor a failure")
    severity = "unclean" if failure.kind is SmiFailureKind.GPU_LOST else "unknown"
    return Finding(
        severity=severity,
        what=f"nvidia-smi failed ({failure.kind}, exit status {asked.rc}): {failure.text}",
        do=_ADVICE[failure.kind],
    )


def _odd(note: Unread) -> Finding:
    return Finding(
        severity="unknown",
        what=f"nvidia-smi wrote a line that could not be read ({note.why}): {note.text}",
        do="report this line: nothing may be overlooked here",
    )
