"""testinfra's local and ssh backends, with a time limit around every command.

testinfra itself waits forever: for a hung nvidia-smi, for a host that is gone. Everything testinfra
does, its own modules (`host.file`, `host.process`, …) included, ends in `backend.run`, which these two
replace. They are entered into testinfra's table of backends, so `testinfra.get_host` finds them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import testinfra.backend
from testinfra.backend.base import CommandResult as TestinfraResult
from testinfra.backend.local import LocalBackend
from testinfra.backend.ssh import SshBackend

from tokgate.hosts.remote_runner import Ask, RemoteRunner
from tokgate.hosts.ssh import SshEndpoint

# For what testinfra's own modules run; the gate's own commands bring their limits.
MODULE_LIMIT_S = 20.0
# testinfra wants a number where there is none: ended at its limit.
NO_STATUS = -1


@dataclass
class BoundedResult(TestinfraResult):  # type: ignore[misc]  # testinfra is untyped
    seconds: float = 0.0
    timed_out: bool = False


@dataclass(frozen=True)
class Way:
    """How every command on a host is run, whatever the backend."""

    python: str
    grace_s: float
    path: tuple[str, ...] = ()
    environment: tuple[tuple[str, str], ...] = ()

    def runner(self, *, name: str, endpoint: SshEndpoint | None) -> RemoteRunner:
        return RemoteRunner(
            name=name,
            python=self.python,
            endpoint=endpoint,
            grace_s=self.grace_s,
            path=self.path,
            environment=self.environment,
        )


class _Bounded:
    """What both backends do instead of testinfra's `run`."""

    runner: RemoteRunner

    def run(
        self,
        command: str,
        *args: str,
        limit_s: float = MODULE_LIMIT_S,
        stdin: bytes = b"",
        **_kwargs: object,
    ) -> BoundedResult:
        line: str = self.get_command(command, *args)  # type: ignore[attr-defined]
        answer = self.runner.ask(Ask(argv=("/bin/sh", "-c", line), limit_s=limit_s, stdin=stdin))
        # Not through testinfra's own `result`: that logs command and output, secrets included.
        return BoundedResult(
            backend=self,
            exit_status=NO_STATUS if answer.rc is None else answer.rc,
            command=line.encode("utf-8", "surrogateescape"),
            _stdout=answer.stdout,
            _stderr=answer.stderr,
            seconds=answer.seconds,
            timed_out=answer.timed_out,
        )


class BoundedLocalBackend(_Bounded, LocalBackend):  # type: ignore[misc]
    NAME = "tokgate-local"

    def __init__(self, _hostspec: str, *, way: Way, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._encoding = "utf-8"
        self.runner = way.runner(name="local", endpoint=None)


class BoundedSshBackend(_Bounded, SshBackend):  # type: ignore[misc]
    NAME = "tokgate-ssh"

    def __init__(self, hostspec: str, *, way: Way, **kwargs: Any) -> None:
        super().__init__(hostspec, **kwargs)
        self._encoding = "utf-8"
        self.endpoint = SshEndpoint(
            hostname=self.host.name,
            user=self.host.user,
            port=self.host.port,
            config=self.ssh_config,
            identity=self.ssh_identity_file,
            connect_timeout_s=self.timeout,
        )
        self.runner = way.runner(name=str(self.endpoint), endpoint=self.endpoint)


testinfra.backend.BACKENDS.update(
    {kind.NAME: f"{__name__}.{kind.__name__}" for kind in (BoundedLocalBackend, BoundedSshBackend)}
)
