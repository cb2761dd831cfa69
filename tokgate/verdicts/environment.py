"""What the server's processes have against the environment that the rig wrote down."""

from __future__ import annotations

from collections.abc import Iterable

from tokgate.records import EnvironmentTruth, LaunchEvidence, VariableState, VariableTruth

from .shortfall import Shortfall

_KEEP = "put SPT_NOENV=1 in front of the command: without it setproctitle overwrites the workers' environment"


def unproven(launch: LaunchEvidence) -> Iterable[Shortfall]:
    """Yield what contradicts, or leaves unproven, that every wanted variable reached every process.

    A variable that SGLang itself overwrites at run time is no shortfall (see `overwritten`). Erased
    memory is never reported as an absent variable: nothing can be said of it.
    """
    truth = launch.environment
    if truth is None or not truth.processes:
        yield Shortfall(
            what="nobody read the environment of the server's processes",
            do="measure again; the proof is taken right after the server is ready",
        )
        return
    yield from _contradictions(truth)
    yield from _gaps(truth, launch.server.line.environment if launch.server is not None else {})


def overwritten(truth: EnvironmentTruth) -> tuple[str, ...]:
    """Return one sentence per wanted variable whose value SGLang sets itself at run time."""
    told = []
    for variable, where in sorted(truth.overwritten.items()):
        rows = [r for r in truth.rows if r.variable == variable]
        if not rows:
            continue
        other = sorted({r.found for r in rows if r.state is VariableState.DIFFERENT and r.found is not None})
        seen = f", seen there: {', '.join(other)}" if other else ""
        told.append(f"{variable}={rows[0].wanted} is overwritten by SGLang itself: {where}{seen}")
    return tuple(told)


def _contradictions(truth: EnvironmentTruth) -> Iterable[Shortfall]:
    for row in truth.rows:
        where = f"{row.process} (pid {row.pid})"
        if row.state is VariableState.PRESENT:
            continue
        if row.state is VariableState.ERASED:
            yield Shortfall(
                what=f"{row.variable} cannot be proven in {where}: put SPT_NOENV=1, its memory is overwritten",
                do=_KEEP,
            )
        elif row.state is VariableState.UNREADABLE:
            yield Shortfall(
                what=f"{row.variable} cannot be proven in {where}: /proc/{row.pid}/environ is unreadable",
                do="run the gate as the user that owns the server, and look whether the process still lives",
            )
        elif row.variable in truth.overwritten:
            continue
        else:
            yield _refuted(row, where)


def _refuted(row: VariableTruth, where: str) -> Shortfall:
    if row.state is VariableState.ABSENT:
        what = f"{row.variable} absent from {where}"
    else:
        what = f"{row.variable} is {row.found!r} in {where}, wanted {row.wanted!r}"
    return Shortfall(
        what=what,
        do="compare the line as launched (environment.json) with the rig; look for a wrapper that changes it",
    )


def _gaps(truth: EnvironmentTruth, wanted: dict[str, str]) -> Iterable[Shortfall]:
    """Yield the pairs of variable and process that no row speaks of: a short list proves nothing."""
    variables = {r.variable for r in truth.rows} | set(wanted)
    looked_at = {(r.node, r.pid, r.variable) for r in truth.rows}
    unseen = [
        (variable, process.pid)
        for variable in sorted(variables)
        for process in truth.processes
        if (process.node, process.pid, variable) not in looked_at
    ]
    if not variables:
        yield Shortfall(
            what="not one variable was checked",
            do="write the server's environment into the rig: nothing else reaches the server",
        )
    elif unseen:
        variable, pid = unseen[0]
        yield Shortfall(
            what=f"{variable} was never looked for in pid {pid} ({len(unseen)} such gaps)",
            do="measure again; if it stays, report it: the proof is incomplete",
        )
