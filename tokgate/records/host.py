"""What was seen on a host."""

from __future__ import annotations

from typing import Literal

from .record import Record, Unread, Whole


class CommandResult(Record):
    command: str  # secrets already replaced
    rc: int | None  # None: it was killed at its time limit
    stdout: str
    stderr: str
    seconds: float
    timed_out: bool = False


class ProcessSeen(Record):
    """One row of the process table; a pid is trusted only together with its start time."""

    pid: int
    start_ticks: int  # field 22 of /proc/PID/stat, clock ticks since boot
    ppid: int
    pgid: int
    sid: int
    state: str  # R S D Z T ...
    user: str | None = None
    comm: str  # at most 15 characters, may have been overwritten
    cmdline: str  # may have been overwritten by setproctitle; secrets replaced
    mark: str | None = (
        None  # value of TOKGATE_MARK in its exec environment; None: absent, erased or unreadable
    )
    node: Whole = 0  # of a server over several hosts: whose process table it stands in
    started_at: str | None = None  # start_ticks for people: ISO 8601, UTC, to the second
    within: str | None = None  # "docker container 3f2a…", "slurm job 71", "systemd unit x.service", ...


class GpuHolder(Record):
    gpu_index: int | None
    pid: int | None  # None: memory without any living owner
    start_ticks: int | None = None
    started_at: str | None = None  # as in ProcessSeen, and so is `within`
    within: str | None = None
    user: str | None = None
    command: str | None = None
    used_mib: float | None = None
    note: str | None = None  # "zombie", "other pid namespace", "no living owner", ...


class GpuSeen(Record):
    """MiB; allocated = used - reserved. None means the card or driver does not say."""

    index: int
    uuid: str | None = None
    name: str | None = None
    total_mib: float | None = None
    used_mib: float | None = None
    reserved_mib: float | None = None
    allocated_mib: float | None = None
    mig: bool | None = None
    bus_id: str | None = None  # as the driver writes it, e.g. 00000000:83:00.0
    # What changes by itself, at the moment of the look: worth keeping, never compared between runs.
    temperature_c: float | None = None
    power_w: float | None = None
    sm_mhz: float | None = None
    pcie_gen: float | None = None  # an idle GPU lowers it
    pcie_width: float | None = None  # lanes
    source: Literal["nvml", "nvidia-smi"]
    unread: tuple[Unread, ...] = ()


class Finding(Record):
    """One thing that a clean machine would not have, or that is worth knowing."""

    severity: Literal["unclean", "unknown", "note"]  # unclean and unknown both stop the measurement
    what: str
    do: str


class CleanSlate(Record):
    when: str  # "before 01-baseline", "session end", ...
    host: str
    gpus: tuple[GpuSeen, ...] = ()
    holders: tuple[GpuHolder, ...] = ()
    leftovers: tuple[ProcessSeen, ...] = ()  # processes of this or an earlier gate run
    port: int | None = None
    waited_s: float = 0.0
    look_s: float | None = None  # what the last look alone took
    findings: tuple[Finding, ...] = ()

    @property
    def clean(self) -> bool:
        return all(f.severity == "note" for f in self.findings)


class Fingerprint(Record):
    """Everything known of machine and software that is not part of the identity.

    Flat: dotted key to text, so that two of them can be compared line by line.
    A key whose value could not be had maps to None, and `unread` says why.
    """

    facts: dict[str, str | None]
    notes: tuple[Finding, ...] = ()  # what earlier debugging may have left behind
    unread: tuple[Unread, ...] = ()


class Difference(Record):
    key: str
    before: str | None
    now: str | None
