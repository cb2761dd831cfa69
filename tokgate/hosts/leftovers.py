"""Processes on the host that should not be there: of earlier gates, of other gates, of others."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from tokgate.hosts.gpu_judgement import Owner, one_line
from tokgate.hosts.lease import LeaseHolder
from tokgate.records import Finding, ProcessSeen

# A server, not merely a command line in which the word occurs.
_SGLANG = re.compile(r"^sglang::|(?:^|[\s/])sglang(?:\.launch_server|\s+serve)\b|-m\s+sglang[.\s]")

# A server of eight ranks is a dozen processes; all pids stand in the advice.
_NAMED = 4
WAITING = "--wait-for-lease SECONDS"
# Who takes in what has lost its parent, where that is not pid 1: a user's or a container's init.
_INITS = frozenset({"systemd", "init", "tini", "dumb-init", "docker-init", "catatonit"})
_UNKNOWN = ProcessSeen(
    pid=0, start_ticks=0, ppid=0, pgid=0, sid=0, state="?", comm="", cmdline=""
)  # stands for a parent that cannot be seen


def leftovers_in(
    table: Iterable[ProcessSeen], holder: LeaseHolder | None, ours: frozenset[Owner]
) -> tuple[ProcessSeen, ...]:
    """Return the marked processes that neither are expected nor belong to another gate at work."""
    at_work = holder.owner if holder is not None and not holder.ours else None
    return tuple(
        p
        for p in table
        if p.mark is not None and (p.pid, p.start_ticks) not in ours and _run_of(p.mark) != at_work
    )


def judge_processes(
    table: Iterable[ProcessSeen],
    leftovers: tuple[ProcessSeen, ...],
    holder: LeaseHolder | None,
    ours: frozenset[Owner],
    *,
    cpu_rig: bool,
) -> tuple[Finding, ...]:
    """Say what was found. Nothing here is ever signalled."""
    table = tuple(table)
    findings = []
    for mark in sorted({p.mark for p in leftovers if p.mark is not None}):
        members = [p for p in leftovers if p.mark == mark]
        findings.append(
            Finding(
                severity="unclean",
                what=f"{len(members)} processes of the run {mark} are still there: {_list(members)}",
                do=_ending(table, members),
            )
        )
    if holder is not None and not holder.ours:
        findings.append(
            Finding(
                severity="unclean",
                what=f"another gate is at work here: {holder.owner}, pid {holder.pid} of {holder.where}",
                do=f"wait until it is done, which {WAITING} does",
            )
        )
    if cpu_rig:
        # On a GPU rig such a process matters once it holds GPU memory, and is named there.
        others = [
            p
            for p in table
            if p.mark is None and (p.pid, p.start_ticks) not in ours and _SGLANG.search(p.cmdline)
        ]
        if others:
            findings.append(
                Finding(
                    severity="note",
                    what=f"other SGLang processes compete for the CPU: {_list(others)}",
                    do="let them finish first if the numbers are to be quiet; the gate does not touch them",
                )
            )
    return tuple(findings)


def _ending(table: Iterable[ProcessSeen], members: Sequence[ProcessSeen]) -> str:
    """Return what to do about the processes of one run: to end them is advised only where surely nobody holds them."""
    pids = " ".join(str(p.pid) for p in members)
    owner = _owner(table, members)
    if owner is None:
        return f"nobody holds them any more (init is their parent): end them by hand: kill -KILL {pids}"
    if owner is _UNKNOWN:
        return (
            f"wait until they are gone: nothing shows that their gate is; ps -o pid,ppid,user,lstart,cmd -p "
            f"{pids.replace(' ', ',')} says whose they are"
        )
    return (
        f"wait until that run is over, then measure again: pid {owner.pid} of {owner.user or 'an unknown user'} still "
        f"holds them; {WAITING} waits for a gate with the same host.work_dir"
    )


def _owner(table: Iterable[ProcessSeen], members: Sequence[ProcessSeen]) -> ProcessSeen | None:
    """Return the living process outside a server that it hangs from: its supervisor, or the gate itself.

    None: all of them hang from init, as what lost its supervisor does. _UNKNOWN: a parent cannot be seen.
    """
    by_pid = {p.pid: p for p in table}
    # Sessions of servers, by their leader: a scheduler may have overwritten its own mark.
    server = {p.sid for p in members if (leader := by_pid.get(p.sid)) is not None and leader.mark == p.mark}
    # Of a session that has lost its leader only the name tells: it may as well be the gate's own, sent to the background.
    leaderless = {p.sid for p in members} - by_pid.keys()
    for one in members:
        child = one
        while child.ppid != 1:
            parent = by_pid.get(child.ppid)
            if parent is None or parent.start_ticks > child.start_ticks or parent is child:
                return _UNKNOWN
            if parent.comm in _INITS and parent.mark is None:
                break
            of_server = parent.sid in server or (parent.sid in leaderless and _SGLANG.search(parent.cmdline))
            if parent.mark != one.mark and not of_server:
                return parent
            child = parent
    return None


def _run_of(mark: str) -> str:
    return mark.partition("/")[0]


def _list(members: list[ProcessSeen]) -> str:
    named = [
        f"pid {p.pid} of {p.user or 'an unknown user'} ({one_line(p.cmdline or p.comm)})"
        for p in members[:_NAMED]
    ]
    more = f"; and {len(members) - _NAMED} more" if len(members) > _NAMED else ""
    return "; ".join(named) + more
