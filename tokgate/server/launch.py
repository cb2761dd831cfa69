"""One server from nothing to its first tokens, under a supervisor on its host."""

from __future__ import annotations

import contextlib
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
from tokgate.records import Launch, ServerRun
from tokgate.records.redactor import Redactor
from tokgate.rig.models import ArmSpec, Rig

from .command_line import LOOPBACK, Equipment, Extra, launch_line
from .events import Event
from .hold import hold, lay_out, started
from .port import listeners_on, port_and_environment, who
from .readiness import GaveUp, HttpProbe, Ready, wait_until_ready
from .running import LOG_NAME, Held, RunningServer
from .start_failure import describe, start_fault
from .tunnel import Tunnel

__all__ = ["RunningServer", "start"]

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
        found = port_and_environment(self.host, self.rig, self.arm)
        if isinstance(found, GaveUp):
            raise self._fault(found)
        api_key = self._api_key()
        unwritable = lay_out(self.host, self.there)
        if unwritable is not None:
            raise self._fault(unwritable)
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
        for redactor in (self.redactor, self.host.redactor):
            redactor.add_named(
                launched.environment.items()
            )  # a token passed on from the host: it is in no file either
        held = hold(
            self.host,
            self.rig,
            self.there,
            mark=self.mark,
            redactor=self.redactor,
            line=launched.secret,
            environment=launched.environment,
        )
        if isinstance(held, GaveUp):
            raise self._fault(held)
        with contextlib.ExitStack() as cleanup:
            # Whatever happens from here on, Ctrl-C included: nothing of it stays.
            cleanup.callback(held.collect, self.folder)
            cleanup.callback(held.abandon)
            started_at = datetime.now(UTC).isoformat(timespec="seconds")
            process = started(held)
            if isinstance(process, GaveUp):
                raise self._failed(held, process)
            tunnel = None if self.host.local else Tunnel(self.host, found["port"])
            if tunnel is not None:
                cleanup.callback(tunnel.close)
            target = (
                Target(LOOPBACK, tunnel.port, api_key)
                if tunnel
                else Target(self._address(), found["port"], api_key)
            )
            ready = self._wait(held, process, target, tunnel, found["port"])
            run = ServerRun(
                launch=self.launch,
                host=self.host.name,
                line=launched.line,
                port=found["port"],
                base_url=_url(target),
                pid=process["pid"],
                start_ticks=process["start_ticks"],
                sid=process["sid"],
                mark=self.mark,
                started_at=started_at,
                ready_after_s=round(ready.after_s, 3),
                passed=self.redactor.clean_json(launched.environment),
                log_file=f"launches/{self.launch.id}/{LOG_NAME}",
                **self._server_info(target),
            )
            cleanup.pop_all()
        return RunningServer(held, run, target, tunnel)

    def _api_key(self) -> str | None:
        if self.rig.server.api_key == "none":
            return None
        # A first character that is never "-", or argparse takes the key for an option.
        key = f"tg{secrets.token_urlsafe(24)}"
        self.redactor.add(key)
        if self.host.redactor is not self.redactor:
            self.host.redactor.add(key)
        return key

    def _wait(self, held: Held, process: Event, target: Target, tunnel: Tunnel | None, port: int) -> Ready:
        def stranger() -> str | None:
            owners = listeners_on(self.host, port)
            if any(o["sid"] == process["sid"] or o["mark"] == self.mark for o in owners):
                return None
            return f"something answers on port {port}, but not our process: {who(owners)}"

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
