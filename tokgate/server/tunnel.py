"""A way to the loopback port of a host behind ssh, for as long as the gate lives."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from typing import Protocol

from tokgate.errors import HostFault

# Between choosing a local port and ssh taking it somebody else may; that is seldom twice.
ATTEMPTS = 3
GOODBYE_S = 5.0
# ssh -N reads no stdin, so that it would outlive a gate that was killed: the kernel ends it instead.
_TIED = (
    "import ctypes,os,signal,sys;ctypes.CDLL(None).prctl(1,signal.SIGTERM);"
    "os.getppid()==int(sys.argv[1]) or sys.exit(1);os.execvp(sys.argv[2],sys.argv[2:])"
)


class Forwarding(Protocol):
    """What a tunnel needs of a host."""

    @property
    def name(self) -> str: ...
    def ssh_forward_command(self, local_port: int, remote_port: int) -> list[str]: ...


class Tunnel:
    """Open once built. HostFault: ssh could not make it within `timeout_s`."""

    def __init__(self, host: Forwarding, remote_port: int, *, timeout_s: float = 30.0) -> None:
        self._host = host
        self._said = tempfile.TemporaryFile()  # noqa: SIM115 - closed in close()
        limit = time.monotonic() + timeout_s
        for attempt in range(1, ATTEMPTS + 1):
            self.port = _free_port()
            self._process = self._start(host.ssh_forward_command(self.port, remote_port))
            if self._opens(limit):
                return
            problem = self.problem() or f"nothing listens on 127.0.0.1:{self.port} after {timeout_s:g} s"
            self._end()
            if attempt == ATTEMPTS or time.monotonic() > limit or "in use" not in problem:
                break
        self._said.close()
        raise HostFault(
            tried=f"to open an ssh tunnel to port {remote_port} of {host.name}",
            found=problem,
            do="see that sshd there allows TCP forwarding (AllowTcpForwarding)",
        )

    def problem(self) -> str | None:
        """Return why it does not carry any more; None while ssh runs."""
        rc = self._process.poll()
        if rc is None:
            return None
        self._said.seek(0)
        text = self._said.read().decode("utf-8", "backslashreplace").strip()
        return f"the ssh tunnel ended with {rc}: {text[-1000:] or 'it said nothing'}"

    def close(self) -> None:
        self._end()
        self._said.close()

    def _start(self, argv: Sequence[str]) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", _TIED, str(os.getpid()), *argv],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=self._said,
            start_new_session=True,
        )

    def _opens(self, limit: float) -> bool:
        while self._process.poll() is None and time.monotonic() < limit:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1.0):
                return True
            time.sleep(0.05)
        return False

    def _end(self) -> None:
        self._process.terminate()
        try:
            self._process.wait(GOODBYE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def _free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])
