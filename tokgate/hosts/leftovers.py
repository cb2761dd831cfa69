"""Processes on the host that should not be there: of earlier gates, of other gates, of others."""

from __future__ import annotations

import re
from collections.abc import Iterable

from tokgate.hosts.gpu_judgement import Owner, one_line
from tokgate.hosts.lease import LeaseHolder
from tokgate.records import Finding, ProcessSeen

# A server, not merely a command line in which the word occurs.
_SGLANG = re.compile(r"^sglang::|(?:^|[\s/])sglang(?:\.launch_server|\s+serve)\b|-m\s+sglang[.\s]")

# A server of eight ranks is a dozen processes; all pids stand in the advice.
_NAMED = 4


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
    findings = []
    for mark in sorted({p.mark for p in leftovers if p.mark is not None}):
        members = [p for p in leftovers if p.mark == mark]
        findings.append(
            Finding(
                severity="unclean",
                what=f"{len(members)} processes of the run {mark} are still there: {_list(members)}",
                do="if that run is still going on, wait for it; if it is over, end them by hand: "
                f"kill -KILL {' '.join(str(p.pid) for p in members)}",
            )
        )
    if holder is not None and not holder.ours:
        findings.append(
            Finding(
                severity="unclean",
                what=f"another gate is at work here: {holder.owner}, pid {holder.pid} of {holder.where}",
                do="wait until it is done",
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


def _run_of(mark: str) -> str:
    return mark.partition("/")[0]


def _list(members: list[ProcessSeen]) -> str:
    named = [
        f"pid {p.pid} of {p.user or 'an unknown user'} ({one_line(p.cmdline or p.comm)})"
        for p in members[:_NAMED]
    ]
    more = f"; and {len(members) - _NAMED} more" if len(members) > _NAMED else ""
    return "; ".join(named) + more
