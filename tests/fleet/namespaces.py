"""Networks and process tables of their own on this machine. A namespace ends with the process that holds it, and that with the test.

Needs root, unshare, nsenter and ip (Debian: util-linux, iproute2); hosts made of them need sshd too. `why_not` says what is missing.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tests.gate.machine import INIT

LIMIT_S = 20.0
PR_SET_PDEATHSIG = 1  # linux/prctl.h
_HOLD = "import signal; print('up', flush=True); signal.pause()"


class Namespace:
    """Held by one process; `pid` is the one that others enter by."""

    def __init__(self, *, processes: bool) -> None:
        own = ["--pid", "--mount-proc", "--fork", "--kill-child"] if processes else []
        program = INIT if processes else _HOLD
        self._holder = subprocess.Popen(
            ["unshare", "--net", *own, sys.executable, "-I", "-S", "-c", program],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            preexec_fn=end_with_us,  # noqa: PLW1509 - it makes one call of the kernel
        )
        assert self._holder.stdout is not None
        assert self._holder.stderr is not None
        if self._holder.stdout.readline() != "up\n":
            said = self._holder.stderr.read().strip()
            self._holder.wait()
            raise OSError(said or "unshare said nothing")
        self.pid = self._child() if processes else self._holder.pid
        self._flags = ["-n", "-p", "-m"] if processes else ["-n"]

    def enter(self, argv: Sequence[str], *, cwd: Path) -> list[str]:
        # Entering a mount namespace makes its root the working folder.
        return ["nsenter", "-t", str(self.pid), *self._flags, f"--wd={cwd}", *argv]

    def ip(self, *arguments: str) -> None:
        subprocess.run(
            ["nsenter", "-t", str(self.pid), "-n", "ip", *arguments], check=True, capture_output=True
        )

    def end(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        self._holder.wait()
        for pipe in (self._holder.stdout, self._holder.stderr):
            if pipe is not None:
                pipe.close()

    def _child(self) -> int:
        told = Path(f"/proc/{self._holder.pid}/task/{self._holder.pid}/children").read_text()
        return int(told.split()[0])


def why_not() -> str | None:
    """Return why no host can be made here; None: they can."""
    if os.geteuid() != 0:
        return "network namespaces with process tables of their own need root"
    missing = [name for name in ("unshare", "nsenter", "ip", "sshd", "ssh", "ssh-keygen") if not found(name)]
    if missing:
        return f"not installed: {', '.join(missing)}"
    try:
        one, other = Namespace(processes=False), Namespace(processes=True)
    except OSError as error:
        return f"namespaces cannot be made here: {error}"
    try:
        subprocess.run(
            ["nsenter", "-t", str(one.pid), "-n", "ip", "link", "add", "try0", "type", "veth", "peer", "name", "try1",
             "netns", str(other.pid)],
            check=True, capture_output=True,
        )  # fmt: skip
    except (OSError, subprocess.CalledProcessError) as error:
        return f"virtual interfaces cannot be made here: {getattr(error, 'stderr', b'') or error}"
    finally:
        one.end()
        other.end()
    return None


def wait_for(asked: Callable[[], Any], *, limit_s: float = LIMIT_S, what: str = "it") -> Any:
    """Ask until the answer is true and return it; fail when the limit passes."""
    limit = time.monotonic() + limit_s
    while not (answer := asked()):
        assert time.monotonic() < limit, f"{what}: not within {limit_s:g} s"
        time.sleep(0.1)
    return answer


def end_with_us() -> None:
    """Have the kernel end what is started when this process ends, however that does."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def found(name: str) -> str | None:
    # sbin is not on every user's path; sshd insists on being started by its full name.
    return shutil.which(name, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin:/usr/local/sbin")


def program(name: str) -> str:
    path = found(name)
    assert path is not None, f"{name} is not installed"
    if name == "sshd":
        Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
    return path


def keygen(path: Path) -> Path:
    subprocess.run([program("ssh-keygen"), "-q", "-t", "ed25519", "-N", "", "-f", str(path)], check=True)
    return path
