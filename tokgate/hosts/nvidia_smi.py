"""GPUs of any host through nvidia-smi."""

from __future__ import annotations

import re
import secrets

from tokgate.hosts.connection import Host
from tokgate.hosts.gpu_readout import GpuReadout
from tokgate.parsers.nvidia_smi import read_gpus, read_holders
from tokgate.parsers.nvidia_smi_failure import SmiFailure, SmiFailureKind, read_failure
from tokgate.parsers.nvidia_smi_table import SmiTable, read_smi_table
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
    # Kept with the look, nothing is decided by them.
    "temperature.gpu",
    "power.draw",
    "clocks.current.sm",
    "pcie.link.gen.current",
    "pcie.link.width.current",
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
    """Ask for all GPUs and for who computes on them, in one command.

    HostFault: the host could not be asked at all.
    """
    fields = list(_GPU_FIELDS)
    while True:
        gpus, apps = _ask_both(host, fields)
        failure = read_failure(gpus.stdout + gpus.stderr, gpus.rc)
        unknown = _UNKNOWN_FIELD.search(gpus.stdout + gpus.stderr)
        if failure is None or unknown is None or unknown[1] not in fields:
            break
        fields.remove(unknown[1])
    rows, warnings = _without_warnings(gpus.stdout)
    reading = read_gpus(rows, fields)
    if gpus.timed_out or (failure is not None and not reading.gpus):
        return GpuReadout(problems=(_problem(gpus, failure),))
    problems = [_problem(gpus, failure)] if failure else [_odd(note) for note in reading.unread]
    index_of = {gpu.uuid: gpu.index for gpu in reading.gpus if gpu.uuid}
    failure = read_failure(apps.stdout + apps.stderr, apps.rc)
    rows, more_warnings = _without_warnings(apps.stdout)
    holders = read_holders(rows, _HOLDER_FIELDS, index_of=index_of)
    if apps.timed_out or failure is not None:
        problems.append(_problem(apps, failure))
    else:
        problems += [_odd(note) for note in holders.unread]
    problems += [_warning(line) for line in dict.fromkeys((*warnings, *more_warnings))]
    return GpuReadout(
        gpus=reading.gpus, holders=holders.holders, drivers=reading.drivers, problems=tuple(problems)
    )


def ask_table(host: Host) -> SmiTable:
    """Ask for the table, which knows graphics clients and versions that no query does; empty: no answer."""
    asked = host.run("nvidia-smi")
    return SmiTable() if asked.timed_out or asked.rc != 0 else read_smi_table(asked.stdout)


def _ask_both(host: Host, fields: list[str]) -> tuple[CommandResult, CommandResult]:
    """Return the answers to both questions as if they had been asked by a command each."""
    # What the answers hold is other people's text: the mark must not be guessed.
    mark = secrets.token_hex(8)
    question = f'nvidia-smi --query-%s=%s --format=csv,noheader,nounits; printf "\\n{mark} $?\\n"'
    asked = host.run(
        f"{question}; {question}", "gpu", ",".join(fields), "compute-apps", ",".join(_HOLDER_FIELDS)
    )
    answers = []
    rest = asked.stdout
    for _ in range(2):
        said, ended, rest = rest.partition(f"\n{mark} ")
        status, _, rest = rest.partition("\n")
        rc = int(status) if ended and status.isdecimal() else None
        # Both write to one stderr: it belongs to whichever failed.
        answers.append(
            asked.model_copy(
                update={
                    "stdout": said,
                    "stderr": "" if rc == 0 else asked.stderr,
                    "rc": rc,
                    "timed_out": asked.timed_out and not ended,
                }
            )
        )
    return answers[0], answers[1]


def _without_warnings(text: str) -> tuple[str, list[str]]:
    lines = text.split("\n")
    warnings = [line.strip() for line in lines if line.lstrip().startswith("WARNING:")]
    return "\n".join(line for line in lines if line.strip() not in warnings), warnings


def _warning(line: str) -> Finding:
    return Finding(
        severity="note",
        what=f"nvidia-smi warns: {line.removeprefix('WARNING:').strip()[:300]}",
        do="see what the driver's manual says about it; the numbers beside it are still told",
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
    if asked.rc is None:
        return Finding(
            severity="unknown",
            what=f"nvidia-smi broke off: {failure.text}",
            do=_ADVICE[SmiFailureKind.OTHER],
        )
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
