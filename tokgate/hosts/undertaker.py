"""A small program on a leased host that outlives this gate by as much as it takes, and then takes the lease away.

A gate that is killed leaves its lease behind. The next one takes that over when its owner is proven dead; where nobody comes,
it would lie there. This program waits on the host until the gate has gone and its servers with it, removes the lease,
and ends. The connection that holds it also tells when the host was out of reach, however shortly. And it keeps the lease alive where
the gate is stopped, and lives (vouching.py): nobody takes a host over from a process that comes back.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import time

from tokgate.errors import HostLost
from tokgate.hosts import vouching
from tokgate.hosts.connection import Host
from tokgate.hosts.lease import BEATS, Lease
from tokgate.hosts.remote_runner import bootstrap
from tokgate.hosts.scripts import source

_VOUCHING = (sys.executable, "-I", "-S", vouching.__file__)
_BEGIN_S = 30.0
_GOODBYE_S = 5.0
# After the heartbeat limit: what supervisors may take to end servers, KILL and a slow driver included.
_MARGIN_S = 300.0


class Undertaker:
    """One lease's. HostLost: it cannot be started, so the host is as good as gone."""

    def __init__(self, host: Host, lease: Lease) -> None:
        self._host = host
        self._lease = lease
        self._process = self._started()

    def broke(self) -> bool:
        """Say whether the connection has been lost since it was last made."""
        return self._process.poll() is not None

    def again(self) -> None:
        """Start another one where the connection was lost. HostLost: the host is still out of reach."""
        if self.broke():
            self._shut()
            self._process = self._started()

    def close(self) -> None:
        """Let it go; once the lease is released it ends by itself."""
        self._shut()
        try:
            self._process.wait(_GOODBYE_S)
        except subprocess.TimeoutExpired:
            _kill(self._process)

    def _started(self) -> subprocess.Popen[bytes]:
        program = source("lease") + "\nundertake_what_stdin_says()\n"
        spec = self._host.spec
        order = {
            "folder": f"{spec.work_dir}/lease",
            "token": self._lease.token,
            "most_s": spec.heartbeat_limit_s + _MARGIN_S,
        }
        process = subprocess.Popen(
            [
                *_VOUCHING,
                f"{spec.heartbeat_limit_s / BEATS:g}",
                *self._host.popen_command(bootstrap(spec.python, program)),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C in the gate's terminal is the gate's to handle
        )
        assert process.stdin is not None  # noqa: S101
        assert process.stdout is not None  # noqa: S101
        with contextlib.suppress(BrokenPipeError):
            process.stdin.write(program.encode() + json.dumps(order).encode() + b"\n")
            process.stdin.flush()
        said, limit = b"", time.monotonic() + _BEGIN_S
        while b"here\n" not in said and time.monotonic() < limit:
            if not select.select([process.stdout], [], [], max(0.0, limit - time.monotonic()))[0]:
                break
            piece = os.read(process.stdout.fileno(), 4096)
            if not piece:
                break
            said += piece
        if b"here\n" not in said:
            _kill(process)
            raise HostLost(
                tried=f"to have a program on {self._host.name} look after the lease",
                found=f"it did not begin within {_BEGIN_S:g} s",
                do="see by hand whether the host still answers",
            )
        return process

    def _shut(self) -> None:
        for pipe in (self._process.stdin, self._process.stdout):
            with contextlib.suppress(OSError):
                if pipe is not None:
                    pipe.close()


def _kill(process: subprocess.Popen[bytes]) -> None:
    """End it with the connection that it holds."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
