"""A process table of one test's own, so that the servers of other tests are no neighbours to its gate.

A gate finds any marked process on its machine unclean, rightly; a pid namespace is a machine of its own in
that respect, and takes everything in it along when it ends. Where namespaces are forbidden (some
containers) all tests share the machine, and a lock lets one gate at a time work on it.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

# Its pid 1: it buries what is orphaned, as an init does, and nothing else.
INIT = """
import os, signal
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
print("up", flush=True)
while True:
    signal.sigwait({signal.SIGCHLD})
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass
"""


def wait_for(what: Callable[[], Any], *, limit_s: float = 30.0) -> Any:
    """Ask until the answer is true and return it; fail when the limit passes."""
    limit = time.monotonic() + limit_s
    while not (answer := what()):
        assert time.monotonic() < limit, f"not within {limit_s:g} s"
        time.sleep(0.02)
    return answer


class Machine:
    def __init__(self, enter: Sequence[str]) -> None:
        self._enter = enter
        self._started: list[Program] = []

    def start(self, argv: Sequence[str], *, cwd: Path, **options: Any) -> Program:
        # Entering a mount namespace makes its root the working folder.
        enter = [*self._enter, f"--wd={cwd}"] if self._enter else []
        program = Program(subprocess.Popen([*enter, *argv], cwd=cwd, **options), entered=bool(enter))
        self._started.append(program)
        return program

    def close(self) -> None:
        for program in self._started:
            program.end()


class Program:
    def __init__(self, process: subprocess.Popen[str], *, entered: bool) -> None:
        self._process = process
        self._entered = entered

    @property
    def pid(self) -> int:
        """Of the program itself, not of the one that led it into the namespace."""
        return self._process.pid if not self._entered else wait_for(self._child)

    @property
    def lives(self) -> bool:
        return self._process.poll() is None

    def signal(self, number: signal.Signals) -> None:
        os.kill(self.pid, number)

    def hear(self) -> str:
        """Return its next line."""
        assert self._process.stdout is not None
        return self._process.stdout.readline()

    def finish(self, limit_s: float = 120.0) -> tuple[int, str]:
        """Return exit code and everything it said."""
        try:
            said, _ = self._process.communicate(timeout=limit_s)
        except subprocess.TimeoutExpired:
            self.signal(signal.SIGKILL)
            said, _ = self._process.communicate()
            raise AssertionError(f"not ended after {limit_s:g} s; it said:\n{said}") from None
        return self._process.returncode, said

    def end(self) -> None:
        with self._process:  # which closes its pipes and waits
            if self.lives:
                with contextlib.suppress(AssertionError, ProcessLookupError):
                    self.signal(signal.SIGKILL)

    def _child(self) -> int | None:
        assert self.lives, "the program has ended already"
        told = Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children").read_text()
        return int(told.split()[0]) if told.strip() else None


@contextlib.contextmanager
def machine() -> Iterator[Machine]:
    """A namespace while the block runs, or the lock on the machine itself."""
    unshare = ["unshare", *([] if os.geteuid() == 0 else ["-U", "-r"]), "--pid", "--mount-proc", "--fork"]
    try:
        holder = subprocess.Popen(
            [*unshare, "--kill-child", sys.executable, "-I", "-S", "-c", INIT],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
    except FileNotFoundError:
        yield from _shared_machine()
        return
    assert holder.stdout is not None
    with holder:
        if holder.stdout.readline() != "up\n":
            yield from _shared_machine()
            return
        init = Program(holder, entered=True).pid
        enter = ["nsenter", "-t", str(init), *([] if os.geteuid() == 0 else ["-U", "--preserve-credentials"])]
        with contextlib.closing(Machine([*enter, "-p", "-m"])) as own:
            try:
                yield own
            finally:
                os.kill(init, signal.SIGKILL)


def _shared_machine() -> Iterator[Machine]:
    with (Path(tempfile.gettempdir()) / "tokgate-tests.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with contextlib.closing(Machine([])) as shared:
            yield shared


def marked(mark: str) -> dict[int, str]:
    """Every living process, in any namespace, that carries the mark: pid -> command name."""
    found = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        with contextlib.suppress(OSError):
            variables = (entry / "environ").read_bytes().split(b"\0")
            if f"TOKGATE_MARK={mark}".encode() in variables:
                found[int(entry.name)] = (entry / "comm").read_text().strip()
    return found
