"""A host: commands, files and scripts on one machine, here or behind ssh, by the same code."""

from __future__ import annotations

import json
import secrets
import shlex
from typing import Any

import testinfra

from tokgate.errors import HostFault, RigError
from tokgate.hosts.backends import Way  # the import enters our two backends into testinfra's table
from tokgate.hosts.remote_runner import GRACE_S, Ask, RemoteRunner, bootstrap
from tokgate.hosts.scripts import parts_of
from tokgate.hosts.scripts import source as script
from tokgate.hosts.ssh import ALONE, SshEndpoint
from tokgate.records import CommandResult
from tokgate.records.redactor import Redactor
from tokgate.rig.machine import HostSpec

# Exit status of scripts/cat.py.
NO_SUCH_FILE = 44


def connect(spec: HostSpec, *, redactor: Redactor | None = None, grace_s: float = GRACE_S) -> Host:
    """Return the host that `spec` names. Nothing is sent before the first command.

    `grace_s`: how much longer than a command's own limit this side waits for the host's answer.
    RigError: not a local:// or ssh:// address, or one with a password in it.
    """
    kind, separator, address = spec.testinfra.partition("://")
    if not separator or kind not in {"local", "ssh"} or (kind == "ssh" and not address):
        raise RigError(
            tried="to read host.testinfra",
            found=repr(redactor.clean(spec.testinfra) if redactor else spec.testinfra),
            do="write local:// or ssh://user@host:port",
        )
    if ":" in address.rpartition("@")[0]:
        raise RigError(
            tried="to read host.testinfra",
            found="an address with a password in it",
            do="use a key: host.ssh_identity, an ssh_config, or the agent",
        )
    way = Way(spec.python, grace_s, path=spec.path, environment=tuple(spec.environment.items()))
    options: dict[str, Any] = {"way": way}
    if kind == "ssh":
        options |= {"ssh_config": spec.ssh_config, "ssh_identity_file": spec.ssh_identity}
    machine = testinfra.get_host(f"tokgate-{kind}://{address}", **options)
    return Host(spec, machine, redactor or Redactor())


class Host:
    """One machine. Everything it returns or raises as text is cleaned of known secrets.

    `testinfra` is the testinfra host behind it, for that library's own modules; its commands are
    bounded in time as well, but what it returns is not cleaned.
    """

    def __init__(self, spec: HostSpec, machine: Any, redactor: Redactor) -> None:
        self.spec = spec
        self.testinfra = machine
        self.redactor = redactor
        self._runner: RemoteRunner = machine.backend.runner

    def __repr__(self) -> str:
        return f"<Host {self.name}>"

    @property
    def name(self) -> str:
        """The address, "local" or "ssh://user@host:port"."""
        return self._runner.name

    @property
    def local(self) -> bool:
        return self._runner.endpoint is None

    def run(
        self,
        command: str,
        *args: str,
        timeout_s: float | None = None,
        stdin: str | bytes | None = None,
    ) -> CommandResult:
        """Run a line of sh. Each %s in it is replaced by one of `args`, quoted; %% is then a per cent.

        `timeout_s` holds on the host and defaults to the rig's host.command_timeout_s. Reaching it is a
        result (rc None, timed_out), not an error; whatever the command started is killed with it, and
        also when it ends by itself: nothing can be left running in the background.
        HostFault: the host could not be reached or did not answer.
        """
        limit_s = timeout_s or self.spec.command_timeout_s
        data = stdin.encode() if isinstance(stdin, str) else stdin or b""
        try:
            result = self.testinfra.run(command, *args, limit_s=limit_s, stdin=data)
        except HostFault as fault:
            raise self._cleaned(fault) from None
        return CommandResult(
            command=self._text(result.command),
            rc=None if result.timed_out else result.rc,
            stdout=self._text(result.stdout_bytes),
            stderr=self._text(result.stderr_bytes),
            seconds=result.seconds,
            timed_out=result.timed_out,
        )

    def run_python(
        self,
        source: str,
        argument: object = None,
        *,
        timeout_s: float | None = None,
        python: str | None = None,
        environment: dict[str, str] | None = None,
        isolated: bool = True,
        name: str = "host script",
    ) -> Any:
        """Run `main(argument)` of a script's text on the host and return its JSON result, cleaned.

        `python`: the interpreter, otherwise the rig's host.python. `environment`: variables on top of
        the login's. `isolated` False lets site-packages, sitecustomize and PYTHONPATH work as they
        would for a server. What the script prints goes to stderr and is quoted when it fails.
        HostFault: it raised, ran into its limit, or gave back something that is not JSON.
        """
        limit_s = timeout_s or self.spec.command_timeout_s
        nonce = secrets.token_hex(16)
        caller = script("call")
        request = {"source": source, "name": name, "argument": argument, "nonce": nonce}
        if parts := parts_of(source):
            request["parts"] = parts
        ask = Ask(
            argv=tuple(bootstrap(python or self.spec.python, caller, flags=("-I", "-S") if isolated else ())),
            limit_s=limit_s,
            stdin=caller.encode() + json.dumps(request).encode() + b"\n",
            environment=tuple((environment or {}).items()),
        )
        try:
            answer = self._runner.ask(ask)
        except HostFault as fault:
            raise self._cleaned(fault) from None
        _, mark, rest = answer.stdout.partition(f"\n{nonce} ".encode())
        if answer.timed_out or answer.rc != 0 or not mark:
            said = self._text(answer.stderr or answer.stdout).strip()[-2000:]
            ended = f"not done after {limit_s:g} s" if answer.timed_out else f"it ended with {answer.rc}"
            raise HostFault(
                tried=f"to run the {name} on {self.name}",
                found=f"{ended}: {said or 'it said nothing'}",
                # 127, a shell's: the interpreter did not start. Why, and what mends it, is what it said last.
                do=f"{said.splitlines()[-1]}; then run the same again"
                if answer.rc == 127 and said
                else "run the same again; when it stays, the host's Python or its /proc is unusual: report it",
            )
        return self.redactor.clean_json(json.loads(rest.partition(b"\n")[0]))

    def read_file(
        self, path: str, *, most: int | None = None, timeout_s: float | None = None
    ) -> bytes | None:
        """Return the file as it is, secrets included; None when there is no such file.

        `most` bytes of it, for a file that others may put anything in place of: neither it nor its folder may then
        be a link, and only a regular file is read. HostFault: it is there and cannot be read.
        """
        reader = script("cat")
        limit_s = timeout_s or self.spec.command_timeout_s
        argv = (*bootstrap(self.spec.python, reader), path, *([] if most is None else [str(most)]))
        try:
            answer = self._runner.ask(Ask(argv=argv, limit_s=limit_s, stdin=reader.encode()))
        except HostFault as fault:
            raise self._cleaned(fault) from None
        if answer.rc == NO_SUCH_FILE:
            return None
        if answer.rc != 0:
            raise HostFault(
                tried=f"to read {path} on {self.name}",
                found=self._text(answer.stderr).strip() or f"no end after {limit_s:g} s",
                do="make it readable for the user that the gate logs in as",
            )
        return answer.stdout

    def write_file(
        self, path: str, content: str | bytes, *, mode: int = 0o600, timeout_s: float | None = None
    ) -> None:
        """Write the file in one step (a reader sees the old or the new one), folders made as needed.

        HostFault: it could not be written.
        """
        # What cannot take the old one's place, another user's in a sticky folder say, does not stay beside it.
        line = (
            'mkdir -p -- "$(dirname -- %s)" && umask 077 && { cat > %s && chmod %s %s && mv -f -- %s %s || '
            "{ rm -f -- %s; false; }; }"
        )
        new = f"{path}.{secrets.token_hex(4)}.new"
        result = self.run(
            line, path, new, f"{mode:o}", new, new, path, new, timeout_s=timeout_s, stdin=content
        )
        if result.rc != 0:
            raise HostFault(
                tried=f"to write {path} on {self.name}",
                found=result.stderr.strip() or f"no end after {result.seconds:.0f} s",
                do="make the folder writable, or set host.work_dir in the rig to one that is",
            )

    def popen_command(self, argv: list[str]) -> list[str]:
        """Return the local argv that runs `argv` on the host with live stdin, stdout and stderr.

        Not bounded in time: whoever starts it watches it. Behind ssh a broken connection ends the
        local command with 255, not the one on the host.
        """
        argv = [*_settings(self.spec), *argv]
        if self._runner.endpoint is None:
            return argv
        return [*self._runner.endpoint.argv(*ALONE), "exec " + shlex.join(argv)]

    def ssh_forward_command(self, local_port: int, remote_port: int) -> list[str]:
        """Return the local argv of a tunnel from 127.0.0.1:local_port to the host's own 127.0.0.1.

        It runs until it is ended; it ends by itself with 255 when the port is taken or the network dies.
        HostFault: the host is this machine.
        """
        endpoint: SshEndpoint | None = self._runner.endpoint
        if endpoint is None:
            raise HostFault(
                tried="to build a tunnel", found="the host is this machine", do="use its port directly"
            )
        forward = f"127.0.0.1:{local_port}:127.0.0.1:{remote_port}"
        return endpoint.argv(*ALONE, "-o", "ExitOnForwardFailure=yes", "-N", "-L", forward)

    def _text(self, raw: bytes) -> str:
        return self.redactor.clean(raw.decode("utf-8", "backslashreplace"))

    def _cleaned(self, fault: HostFault) -> HostFault:
        clean = self.redactor.clean
        return type(fault)(tried=clean(fault.tried), found=clean(fault.found), do=clean(fault.do))


def _settings(spec: HostSpec) -> list[str]:
    """Return what to put before an argv so that it runs with the rig's host.path and host.environment."""
    lines = [f"{name}={shlex.quote(value)}; export {name}" for name, value in spec.environment.items()]
    if spec.path:
        lines.append(f'PATH={shlex.quote(":".join(spec.path))}:"$PATH"; export PATH')
    return ["/bin/sh", "-c", "; ".join([*lines, 'exec "$@"']), "sh"] if lines else []
