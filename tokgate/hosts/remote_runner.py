"""Commands reach a host through scripts/runner.py, local and remote by the same way.

Two limits hold: the command's own, kept on the host, and a little later one on this side, for a host
that does not get that far (dead network, hung disk, login that never ends).
"""

from __future__ import annotations

import json
import secrets
import shlex
from dataclasses import dataclass

from tokgate.errors import HostFault, HostLost
from tokgate.hosts.exchange import exchange
from tokgate.hosts.scripts import source
from tokgate.hosts.ssh import SshEndpoint, explain

# More than any log or metrics page; a command that writes more is out of hand.
KEEP_BYTES = 64 * 1024 * 1024
# What the host may need on top of a command's limit: to start Python, to kill, to answer.
GRACE_S = 8.0
OLDEST_PYTHON = (3, 9)


@dataclass(frozen=True)
class Ask:
    """One command. `argv` is as on the host, `limit_s` counts there."""

    argv: tuple[str, ...]
    limit_s: float
    stdin: bytes = b""
    environment: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Answer:
    rc: int | None  # None: ended at its limit
    stdout: bytes
    stderr: bytes
    seconds: float
    timed_out: bool


def bootstrap(python: str, program: str, *, flags: tuple[str, ...] = ("-I", "-S")) -> list[str]:
    """Return an argv that runs the first `len(program)` bytes of its stdin as its program.

    So nothing of the program or its input shows in the process table or has to pass a shell.
    """
    oldest = ".".join(map(str, OLDEST_PYTHON))
    code = (
        f"import sys;sys.version_info>={OLDEST_PYTHON} or sys.exit('needs Python {oldest}, is '+sys.version);"
        f"exec(sys.stdin.buffer.read({len(program.encode())}))"
    )
    return [python, *flags, "-c", code]


@dataclass(frozen=True)
class RemoteRunner:
    """The way to one host; `endpoint` None is this machine."""

    name: str
    python: str
    endpoint: SshEndpoint | None
    grace_s: float = GRACE_S
    path: tuple[str, ...] = ()  # folders in front of the host's own PATH
    environment: tuple[tuple[str, str], ...] = ()  # of every command; a command's own come on top

    def ask(self, ask: Ask) -> Answer:
        """HostLost: the host cannot be reached, has no usable Python, or does not answer in time. HostFault: it refused."""
        nonce = secrets.token_hex(16)
        program = source("runner")
        request = {
            "argv": ask.argv,
            "limit_s": ask.limit_s,
            "stdin_bytes": len(ask.stdin),
            "keep_bytes": KEEP_BYTES,
            "environment": dict((*self.environment, *ask.environment)),
            "path": self.path,
            "nonce": nonce,
        }
        payload = program.encode() + json.dumps(request).encode() + b"\n" + ask.stdin
        line = "exec " + shlex.join(bootstrap(self.python, program))
        argv = [*self.endpoint.argv(), line] if self.endpoint else ["/bin/sh", "-c", line]
        limit_s = ask.limit_s + self.grace_s + (self.endpoint.connect_timeout_s if self.endpoint else 0)
        try:
            rc, out, err = exchange(argv, payload, limit_s)
        except OSError as error:
            raise HostLost(
                tried=f"to start {argv[0]} on this machine", found=str(error), do=f"install {argv[0]}"
            ) from error
        # A login script may have written before it.
        _, mark, rest = out.partition(b"\n" + nonce.encode() + b" ")
        if not mark:
            raise self._silence(rc, out, err, limit_s)
        head_line, _, body = rest.partition(b"\n")
        head = json.loads(head_line)
        if "refused" in head:
            raise HostFault(
                tried=f"to run {ask.argv[0]} on {self.name}",
                found=head["refused"],
                do="correct the path in the rig, or install the program on the host",
            )
        if head["dropped"]:
            raise HostFault(
                tried=f"to run a command on {self.name}",
                found=f"it wrote {head['dropped']} bytes more than the {KEEP_BYTES} that are read",
                do="ask for a part of it",
            )
        stderr = body[head["out_bytes"] :][: head["err_bytes"]]
        if head["stuck"]:
            stderr += b"\n[it could not be killed: uninterruptible sleep]"
        return Answer(
            rc=None if head["timed_out"] else head["rc"],
            stdout=body[: head["out_bytes"]],
            stderr=stderr,
            seconds=head["seconds"],
            timed_out=head["timed_out"],
        )

    def _silence(self, rc: int | None, out: bytes, err: bytes, limit_s: float) -> HostLost:
        # ssh ends its own lines with CR LF.
        whole = (err + b"\n" + out).decode("utf-8", "backslashreplace").replace("\r", "")
        text = whole.strip()[-1000:]
        quoted = f": {text}" if text else ""
        tried = f"to run a command on {self.name}"
        if rc is None:
            return HostLost(
                tried=tried,
                found=f"no answer within {limit_s:g} s, longer than the command itself may take{quoted}",
                do="see by hand whether the host still answers: network, disk or GPU driver hangs",
            )
        if self.endpoint is not None and rc == 255:
            found, do = explain(text)
            return HostLost(tried=f"to reach {self.name} with ssh", found=found + quoted, do=do)
        # Python 2 does not know -I.
        if "needs Python" in text or "Unknown option: -I" in text:
            found = f"{self.python} is too old{quoted}"
        elif rc in {126, 127} or "not found" in text:
            found = f"no usable Python called {self.python!r} there{quoted}"
        else:
            return HostLost(
                tried=tried,
                found=f"the shell ended with {rc} before anything ran{quoted}",
                do="log in by hand: a login script may end the shell early",
            )
        oldest = ".".join(map(str, OLDEST_PYTHON))
        return HostLost(
            tried=tried,
            found=found,
            do=f"install Python >= {oldest} on the host, or name one in the rig as host.python",
        )
