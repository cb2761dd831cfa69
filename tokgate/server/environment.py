"""What really reached every process of a server, against what was wanted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tokgate.hosts.connection import Host
from tokgate.hosts.processes import MARK_VARIABLE, environ_of, tree
from tokgate.parsers.environ import EnvironReading, read_environ
from tokgate.parsers.overwritten import read_overwritten
from tokgate.records import EnvironmentTruth, ProcessSeen, ServerRun, Unread, VariableState, VariableTruth

# What a shell puts into the environment of what it starts; dash: PWD, bash as sh: all four.
SET_BY_SH = frozenset({"PWD", "OLDPWD", "SHLVL", "_"})

SHELLS = frozenset({"sh", "dash", "bash", "ash", "busybox"})
TITLE = "sglang::"


def prove_environment(host: Host, running: ServerRun, wanted: Mapping[str, str]) -> EnvironmentTruth:
    """Compare `wanted` with /proc/PID/environ of every process of the server's tree, per variable.

    What is read there is what each process was started with: a variable that a process sets later, by
    os.environ, shows only in the children that it starts afterwards; `overwritten` names those.
    HostFault: the process table cannot be read.
    """
    members = _living(host, running)
    raw = environ_of(host, [p.pid for p in members])
    if any(environ is None for environ in raw.values()):
        # A helper that has ended since has nothing to prove; one that is still there could not be read.
        still = {(p.pid, p.start_ticks) for p in _living(host, running)}
        members = [p for p in members if raw.get(p.pid) is not None or (p.pid, p.start_ticks) in still]
    rows: list[VariableTruth] = []
    unread: list[Unread] = []
    strays: dict[str, str] = {}
    main_pid = _main_pid(members, running)
    if main_pid != running.pid:
        # A shell that did not exec hands the variables in front of its line on, and has them not itself.
        members = [p for p in members if p.pid != running.pid]
    for process in members:
        name = "main" if process.pid == main_pid else name_of(process)
        environ = raw.get(process.pid)
        reading = None if environ is None else read_environ(environ)
        rows += [
            VariableTruth(
                pid=process.pid,
                process=name,
                variable=variable,
                wanted=value,
                found=None if reading is None else _shown(host, reading.variables.get(variable)),
                state=_state(reading, variable, value, running.mark),
            )
            for variable, value in wanted.items()
        ]
        if reading is not None and reading.damaged:
            why = reading.reason or "damaged"
            unread.append(Unread(text=f"environment of {name} (pid {process.pid})", why=why))
        if process.pid == main_pid and reading is not None:
            known = {*wanted, *running.line.environment, *running.passed, *SET_BY_SH}
            strays = {k: host.redactor.clean(v) for k, v in reading.variables.items() if k not in known}
    overwritten = read_overwritten(running.sglang_version, _arguments(running))
    return EnvironmentTruth(
        processes=tuple(members),
        rows=tuple(rows),
        overwritten=overwritten.variables,
        strays=strays,
        unread=(*unread, *overwritten.unread),
    )


def name_of(process: ProcessSeen) -> str:
    """Return what it is called in reports: "scheduler TP0", "detokenizer", "resource tracker", or its comm."""
    for title in (process.cmdline, process.comm):
        if title.startswith(TITLE):
            words = title.removeprefix(TITLE).split()[0] if title.removeprefix(TITLE).split() else "?"
            # comm is cut to 15 characters, which leaves seven of the name and no rank.
            whole = {"schedul": "scheduler", "detoken": "detokenizer", "tokeniz": "tokenizer"}.get(
                words, words
            )
            return whole.replace("_", " ")
    if "multiprocessing.resource_tracker" in process.cmdline:
        return "resource tracker"
    return process.comm


def _living(host: Host, running: ServerRun) -> list[ProcessSeen]:
    members = tree(host, running.pid, running.start_ticks, running.sid, mark=running.mark)
    return [p for p in members if p.state not in {"Z", "X"}]


def _main_pid(members: Sequence[ProcessSeen], running: ServerRun) -> int:
    """Return the server's own process, behind the shell where that did not exec it."""
    first = next((p for p in members if p.pid == running.pid), None)
    children = [p for p in members if p.ppid == running.pid]
    return children[0].pid if first and first.comm in SHELLS and len(children) == 1 else running.pid


def _shown(host: Host, value: str | None) -> str | None:
    return None if value is None else host.redactor.clean(value)


def _state(reading: EnvironReading | None, variable: str, wanted: str, mark: str) -> VariableState:
    if reading is None:
        return VariableState.UNREADABLE
    found = reading.variables.get(variable)
    if found is not None:
        return VariableState.PRESENT if found == wanted else VariableState.DIFFERENT
    # Without our mark, which everything of ours was started with, it is not the whole environment.
    whole = not reading.damaged and reading.variables.get(MARK_VARIABLE) == mark
    return VariableState.ABSENT if whole else VariableState.ERASED


def _arguments(running: ServerRun) -> dict[str, object]:
    """Return the server's arguments by name: as it tells them itself, else as written on its line."""
    written: dict[str, object] = {}
    words = running.line.argv
    for word, after in zip(words, (*words[1:], "--"), strict=True):
        if word.startswith("--"):
            written[word[2:].replace("-", "_")] = True if after.startswith("--") else after
    return {**written, **running.server_info}
