"""What NCCL said, sorted by rank: messages carry a pid, and a communicator says which rank that is."""

from __future__ import annotations

from tokgate.records.nccl import NcclRank, NcclTaken

from .nccl_records import NcclChannels, NcclCommunicator, NcclReading

# A tensor-parallel decode step is all-reduces; the matrix has a row for every function.
FUNCTION = "AllReduce"


def nccl_ranks(reading: NcclReading) -> tuple[NcclRank, ...]:
    """Return one record a process, by rank, of the largest communicators in the log.

    Empty: no communicator of more than one rank was seen. A process is taken for the rank that it has in its
    largest communicator. Two processes may claim one rank (two servers in one log, or somebody else's lines among
    ours): the log alone cannot tell who lies, so that both are told, in their order in the log.
    """
    of_pid: dict[int, NcclCommunicator] = {}
    for comm in reading.communicators:
        known = of_pid.get(comm.process.pid)
        if comm.ranks > 1 and (known is None or comm.ranks > known.ranks):
            of_pid[comm.process.pid] = comm
    return tuple(
        _rank(reading, pid, comm) for pid, comm in sorted(of_pid.items(), key=lambda item: item[1].rank)
    )


def _rank(reading: NcclReading, pid: int, comm: NcclCommunicator) -> NcclRank:
    spoken = [s for s in reading.speakers if s.process.pid == pid]
    links: dict[str, int] = {}
    for speaker in spoken:
        for kind, count in speaker.links.items():
            links[kind] = links.get(kind, 0) + count
    channels = _widest([c for c in reading.channels if c.process.pid == pid])
    matrix = next((m for m in reading.matrices if m.process.pid == pid), None)
    allowed = matrix.allowed(FUNCTION) if matrix is not None else None
    threads = next((t for t in reading.threads if t.process.pid == pid), None)
    return NcclRank(
        rank=comm.rank,
        pid=pid,
        messages=sum(s.messages for s in spoken),
        complete=any(c.complete for c in reading.communicators if c.process.pid == pid),
        accepted=_accepted(reading, pid),
        refused={
            r.variable: NcclTaken(value=r.value, line=r.line, text=r.why)
            for r in reading.refusals
            if r.process.pid == pid
        },
        channels=channels.collective if channels else None,
        channels_line=channels.line if channels else None,
        links=links,
        algorithms=allowed[0] if allowed else None,
        protocols=allowed[1] if allowed else None,
        matrix_line=matrix.line if matrix is not None and allowed else None,
        threads=threads.most if threads else {},
        threads_line=threads.line if threads else None,
    )


def _accepted(reading: NcclReading, pid: int) -> dict[str, tuple[NcclTaken, ...]]:
    """Every communicator confirms text values anew; the same value twice is one."""
    found: dict[str, dict[str, NcclTaken]] = {}
    for setting in reading.settings:
        if setting.process.pid == pid:
            taken = NcclTaken(value=setting.value, line=setting.line)
            found.setdefault(setting.variable, {}).setdefault(setting.value, taken)
    return {variable: tuple(values.values()) for variable, values in found.items()}


def _widest(channels: list[NcclChannels]) -> NcclChannels | None:
    return max(channels, key=lambda c: c.collective, default=None)
