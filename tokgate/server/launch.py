"""One server from nothing to its first tokens, under a supervisor on its host."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tokgate.client.control import Control
from tokgate.client.exchange import Target
from tokgate.errors import BenchFault, HostFault, StartFault
from tokgate.hosts.connection import Host
from tokgate.hosts.ssh import explain
from tokgate.records import Launch, ServerRun, StartCause
from tokgate.records.redactor import Redactor
from tokgate.rig.models import ArmSpec, Rig

from . import host_probe, supervisor
from .command_line import LOOPBACK, Equipment, Extra, launch_line
from .link import Event, FolderComeback, Link
from .readiness import GaveUp, HttpProbe, Ready, wait_until_ready
from .running import LOG_NAME, Held, RunningServer, supervisor_argv
from .start_failure import describe, start_fault
from .tunnel import Tunnel

__all__ = ["RunningServer", "start"]

DEFAULT_PORT = 30000  # SGLang's own, where a rig with port = "as-written" writes none
SUPERVISOR_START_S = 30.0
SSH_FAILED = 255
# dash replaces itself by the last command of its line, bash does not where output is redirected: the process
# that we start, stop and name would then be a shell with the server behind it.
EXEC = "exec /usr/bin/env "
# What a server may be told to bind to -> where it is reached from its own machine.
REACHED_AT = {"0.0.0.0": LOOPBACK, "": LOOPBACK, "localhost": LOOPBACK, "::": "::1"}  # noqa: S104 - nothing is bound


def start(
    host: Host,
    rig: Rig,
    launch: Launch,
    *,
    mark: str,
    redactor: Redactor,
    folder: Path,
    extra: tuple[Extra, ...] = (),
    equip: Callable[[str], Equipment] | None = None,
) -> RunningServer:
    """Start the launch's arm on `host` and return once it has generated tokens.

    `equip` is given the launch's folder on the host, before the start, and returns what the launch carries.

    The machine has been found clean before. `mark` must be new. On failure everything is stopped again, the
    log lies in `folder`, and StartFault.failure says which known cause it was. HostFault: the host itself
    cannot be used.
    """
    # One more word, so that a mark used twice by mistake does not meet the first one's files.
    name = f"{re.sub(r'[^A-Za-z0-9_.-]+', '-', mark)}-{secrets.token_hex(3)}"
    there = f"{host.spec.work_dir.rstrip('/')}/launches/{name}"
    return _Start(
        host=host,
        rig=rig,
        launch=launch,
        mark=mark,
        redactor=redactor,
        folder=folder,
        there=there,
        extra=extra,
        equip=equip,
    ).run()


@dataclass(frozen=True, kw_only=True)
class _Start:
    host: Host
    rig: Rig
    launch: Launch
    mark: str
    redactor: Redactor
    folder: Path  # here
    there: str  # on the host
    extra: tuple[Extra, ...] = ()
    equip: Callable[[str], Equipment] | None = None

    @property
    def arm(self) -> ArmSpec:
        return self.rig.arm(self.launch.arm)

    def run(self) -> RunningServer:
        found = self._ask_host()
        api_key = self._api_key()
        self._lay_out()
        equipment = self.equip(self.there) if self.equip is not None else Equipment()
        launched = launch_line(
            self.rig,
            self.arm,
            port=found["port"],
            api_key=api_key,
            mark=self.mark,
            log=f"{self.there}/{LOG_NAME}",
            pass_environment=found["environment"],
            extra_python_path=equipment.python_path,
            extra=(*self.extra, *equipment.variables),
        )
        held = self._hold(launched.secret, launched.environment)
        with contextlib.ExitStack() as cleanup:
            # Whatever happens from here on, Ctrl-C included: nothing of it stays.
            cleanup.callback(held.collect, self.folder)
            cleanup.callback(held.abandon)
            started_at = datetime.now(UTC).isoformat(timespec="seconds")
            started = self._started(held)
            tunnel = None if self.host.local else Tunnel(self.host, found["port"])
            if tunnel is not None:
                cleanup.callback(tunnel.close)
            target = (
                Target(LOOPBACK, tunnel.port, api_key)
                if tunnel
                else Target(self._address(), found["port"], api_key)
            )
            ready = self._wait(held, started, target, tunnel, found["port"])
            run = ServerRun(
                launch=self.launch,
                host=self.host.name,
                line=launched.line,
                port=found["port"],
                base_url=_url(target),
                pid=started["pid"],
                start_ticks=started["start_ticks"],
                sid=started["sid"],
                mark=self.mark,
                started_at=started_at,
                ready_after_s=round(ready.after_s, 3),
                passed=self.redactor.clean_json(launched.environment),
                log_file=f"launches/{self.launch.id}/{LOG_NAME}",
                **self._server_info(target),
            )
            cleanup.pop_all()
        return RunningServer(held, run, target, tunnel)

    def _ask_host(self) -> dict[str, Any]:
        """Return the host's environment and the port to use: a free one, or the rig's, which must be free."""
        server = self.rig.server
        written = {**server.args, **self.arm.args}.get("port", DEFAULT_PORT)
        argument = {
            "names": server.pass_environment,
            "port": None if server.port == "free" else int(str(written)),
        }
        found: dict[str, Any] = self._probe_host(argument)
        if found["listeners"]:
            raise self._fault(
                GaveUp(StartCause.PORT_TAKEN, f"port {found['port']} is taken: {_who(found['listeners'])}")
            )
        return found

    def _probe_host(self, argument: dict[str, Any]) -> dict[str, Any]:
        source = Path(host_probe.__file__).read_text(encoding="utf-8")
        answer: dict[str, Any] = self.host.run_python(source, argument, name="launch probe")
        return answer

    def _api_key(self) -> str | None:
        if self.rig.server.api_key == "none":
            return None
        # A first character that is never "-", or argparse takes the key for an option.
        key = f"tg{secrets.token_urlsafe(24)}"
        self.redactor.add(key)
        if self.host.redactor is not self.redactor:
            self.host.redactor.add(key)
        return key

    def _lay_out(self) -> None:
        try:
            source = Path(supervisor.__file__).read_text(encoding="utf-8")
            self.host.write_file(f"{self.there}/supervisor.py", source)
            # `python -m` puts its working directory first on the module path: an empty one shadows nothing.
            made = self.host.run("mkdir -p -m 700 -- %s", f"{self.there}/cwd")
        except HostFault as fault:
            raise self._fault(
                GaveUp(StartCause.LOG_NOT_WRITABLE, f"{self.there} cannot be written: {fault.found}")
            ) from None
        if made.rc != 0:
            raise self._fault(
                GaveUp(StartCause.LOG_NOT_WRITABLE, f"{self.there} cannot be made: {made.stderr}")
            )

    def _hold(self, line: str, environment: dict[str, str]) -> Held:
        spec = self.host.spec
        me = supervisor.read_row(os.getpid())
        log = f"{self.there}/{LOG_NAME}"
        order = {
            # env would take a program with "=" in its name for a variable.
            "line": line if "=" in self.rig.server.python else EXEC + line,
            "environment": environment,
            "log": log,
            "cwd": f"{self.there}/cwd",
            "mark": self.mark,
            "folder": self.there,
            "stop_timeout_s": self.rig.server.stop_timeout_s,
            "time_limit_s": self.rig.server.time_limit_s,
            "gate": {"pid": me.pid, "start_ticks": me.start_ticks} if me and self.host.local else None,
            "heartbeat_limit_s": None if self.host.local else spec.heartbeat_limit_s,
        }
        try:
            link = Link(
                self.host.popen_command(supervisor_argv(self.host, self.there)),
                order,
                heartbeat_limit_s=None if self.host.local else spec.heartbeat_limit_s,
                comeback=None if self.host.local else FolderComeback(self.host, self.there, log),
            )
        except OSError as error:
            raise self._fault(GaveUp(StartCause.NO_SUPERVISOR, f"it cannot be started: {error}")) from error
        return Held(self.host, self.there, self.mark, link, self.redactor, self.rig.server.stop_timeout_s)

    def _started(self, held: Held) -> Event:
        answer = held.link.first_answer(timeout_s=SUPERVISOR_START_S)
        if answer is None:
            said = held.link.said()
            why = f"{explain(said)[0]}: {said}" if held.link.returncode() == SSH_FAILED else said
            gave_up = GaveUp(StartCause.NO_SUPERVISOR, f"the supervisor did not start: {why or 'no answer'}")
        elif answer["event"] == "refused":
            unwritable = answer["why"] == "log-not-writable"
            cause = StartCause.LOG_NOT_WRITABLE if unwritable else StartCause.NO_SUPERVISOR
            gave_up = GaveUp(cause, f"{answer['why']}: {answer['detail']}")
        else:
            return answer
        raise self._failed(held, gave_up)

    def _wait(self, held: Held, started: Event, target: Target, tunnel: Tunnel | None, port: int) -> Ready:
        def stranger() -> str | None:
            owners = self._probe_host({"port": port})["listeners"]
            if any(o["sid"] == started["sid"] or o["mark"] == self.mark for o in owners):
                return None
            return f"something answers on port {port}, but not our process: {_who(owners)}"

        probe = HttpProbe(_url(target), target.api_key)
        try:
            outcome = wait_until_ready(
                held.link,
                probe,
                listener=stranger,
                way=tunnel.problem if tunnel else lambda: None,
                start_timeout_s=self.rig.server.start_timeout_s,
                silence_timeout_s=self.rig.server.silence_timeout_s,
            )
        finally:
            probe.close()
        if isinstance(outcome, GaveUp):
            raise self._failed(held, outcome)
        return outcome

    def _server_info(self, target: Target) -> dict[str, Any]:
        try:
            with Control(_url(target), target.api_key) as control:
                info = self.redactor.clean_json(control.server_info())
        except BenchFault as fault:
            return {"warnings": (self.redactor.clean(f"no /server_info: {fault.found}"),)}
        version = info.get("version")
        return {"server_info": info, "sglang_version": version if isinstance(version, str) else None}

    def _address(self) -> str:
        if self.rig.server.bind == "loopback":
            return LOOPBACK
        written = str({**self.rig.server.args, **self.arm.args}.get("host", LOOPBACK))
        return REACHED_AT.get(written, written)

    def _failed(self, held: Held, gave_up: GaveUp) -> StartFault:
        held.abandon()  # first, so that its last words are in the log
        try:
            log = held.log_text()
        except (HostFault, OSError):
            log = ""
        return self._fault(gave_up, log)

    def _fault(self, gave_up: GaveUp, log: str = "") -> StartFault:
        cleaned = gave_up._replace(detail=self.redactor.clean(gave_up.detail))
        return start_fault(describe(cleaned, log), tried=f"to start {self.launch.id} on {self.host.name}")


def _url(target: Target) -> str:
    host = f"[{target.host}]" if ":" in target.host else target.host
    return f"http://{host}:{target.port}"


def _who(listeners: list[dict[str, Any]]) -> str:
    if not listeners:
        return "no process on the host listens there"
    words = []
    for owner in listeners:
        if owner["pid"] is None:
            words.append("a process of another user")
        else:
            of_a_gate = f", started by the gate as {owner['mark']}" if owner["mark"] else ""
            words.append(f"{owner['comm']} (pid {owner['pid']}{of_a_gate})")
    return ", ".join(words)
