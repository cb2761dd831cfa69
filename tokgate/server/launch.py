"""One server from nothing to its first tokens, under a supervisor on its host."""

from __future__ import annotations

import contextlib
import re
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from tokgate.client.exchange import Target
from tokgate.errors import HostFault, StartFault
from tokgate.hosts.connection import Host
from tokgate.hosts.rendezvous import meeting_point
from tokgate.records import Launch, ServerRun
from tokgate.records.redactor import Redactor
from tokgate.rig.models import ArmSpec, Rig
from tokgate.rig.nodes import NodeRig

from .address import address_of, server_info, url_of
from .api_key import fresh_key
from .command_line import LOOPBACK, Equipment, Extra, launch_line
from .events import Event
from .followers import Followers, Further, Recruiting, called, words_of
from .hold import hold, lay_out, started
from .joined import JoinedNodes
from .port import listeners_on, port_and_environment, who
from .readiness import GaveUp, HttpProbe, Ready, wait_until_ready
from .running import LOG_NAME, Held, RunningServer
from .start_failure import describe, start_fault
from .tunnel import Tunnel

__all__ = ["RunningServer", "start"]


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
    further: Sequence[Further] = (),
) -> RunningServer:
    """Start the launch's arm on `host` and return once it has generated tokens.

    `equip` is given the launch's folder on the host, before the start, and returns what the launch carries.
    `further`: where the rig's server runs over several hosts, its other nodes in order of rank; `host` is node 0.

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
        further=tuple(further),
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
    further: tuple[Further, ...] = ()

    @property
    def arm(self) -> ArmSpec:
        return self.rig.arm(self.launch.arm)

    def run(self) -> RunningServer:
        found = port_and_environment(self.host, self.rig, self.arm)
        if isinstance(found, GaveUp):
            raise self._fault(found)
        address = self._address_of_node_0()  # before anything of ours lies anywhere
        api_key = fresh_key(self.rig, self.redactor, self.host.redactor)
        unwritable = lay_out(self.host, self.there)
        if unwritable is not None:
            raise self._fault(unwritable)
        equipment = self.equip(self.there) if self.equip is not None else Equipment()
        launched = launch_line(
            NodeRig(0, self.rig).launched(address) if address is not None else self.rig,
            self.arm,
            port=found["port"],
            api_key=api_key,
            mark=self.mark,
            log=f"{self.there}/{LOG_NAME}",
            pass_environment=found["environment"],
            extra_python_path=equipment.python_path,
            extra=(*self.extra, *equipment.variables),
            why_path=equipment.why,
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
            followers = self._joined(held, address, api_key, cleanup)
            tunnel = None if self.host.local else Tunnel(self.host, found["port"])
            if tunnel is not None:
                cleanup.callback(tunnel.close)
            target = (
                Target(LOOPBACK, tunnel.port, api_key)
                if tunnel
                else Target(address_of(self.rig, self.arm), found["port"], api_key)
            )
            ready = self._wait(JoinedNodes(held, followers), process, target, tunnel, found["port"])
            run = ServerRun(
                launch=self.launch,
                host=self.host.name,
                line=launched.line,
                port=found["port"],
                base_url=url_of(target),
                pid=process["pid"],
                start_ticks=process["start_ticks"],
                sid=process["sid"],
                mark=self.mark,
                started_at=started_at,
                ready_after_s=round(ready.after_s, 3),
                passed=self.redactor.clean_json(launched.environment),
                log_file=f"launches/{self.launch.id}/{LOG_NAME}",
                nodes=tuple(one.run(self.launch) for one in followers),
                **server_info(target, self.redactor),
            )
            cleanup.pop_all()
        return RunningServer(held, run, target, tunnel, followers if self.further else None)

    def _address_of_node_0(self) -> str | None:
        """Return where the further nodes meet node 0; None: there are none. HostFault: they cannot."""
        if not self.further:
            return None
        return meeting_point(self.host, [one.host for one in self.further], self.rig.server.dist_init_addr)

    def _joined(
        self, held: Held, address: str | None, api_key: str | None, cleanup: contextlib.ExitStack
    ) -> Followers:
        """Start the further nodes. StartFault: one cannot be started."""
        followers = Followers()
        if address is None:
            return followers
        cleanup.callback(followers.collect, self.folder)
        cleanup.callback(followers.abandon)
        missing = Recruiting(
            further=self.further,
            arm=self.arm,
            address=address,
            there=self.there,
            folder_name=self.there.rpartition("/")[2],
            mark=self.mark,
            api_key=api_key,
            redactor=self.redactor,
            extra=self.extra,
        ).start(followers)
        if missing is not None:
            one, why = missing
            held.abandon()
            raise self._fault(words_of(why, called(one.node.rank, one.host), ""))
        return followers

    def _wait(
        self, nodes: JoinedNodes, process: Event, target: Target, tunnel: Tunnel | None, port: int
    ) -> Ready:
        def stranger() -> str | None:
            owners = listeners_on(self.host, port)
            if any(o["sid"] == process["sid"] or o["mark"] == self.mark for o in owners):
                return None
            return f"something answers on port {port}, but not our process: {who(owners)}"

        probe = HttpProbe(url_of(target), target.api_key)
        try:
            outcome = wait_until_ready(
                nodes if self.further else nodes.first.link,
                probe,
                listener=stranger,
                way=tunnel.problem if tunnel else lambda: None,
                start_timeout_s=self.rig.server.start_timeout_s,
                silence_timeout_s=self.rig.server.silence_timeout_s,
            )
        finally:
            probe.close()
        if isinstance(outcome, GaveUp):
            raise self._failed(nodes.first, outcome, nodes if self.further else None)
        return outcome

    def _failed(self, held: Held, gave_up: GaveUp, nodes: JoinedNodes | None = None) -> StartFault:
        held.abandon()  # first, so that its last words are in the log
        told_by = nodes.dead.held if nodes is not None and nodes.dead is not None else held
        if told_by is not held:
            told_by.abandon()
        try:
            log = told_by.log_text()
        except (HostFault, OSError):
            log = ""
        fault = self._fault(gave_up, log)
        return fault if nodes is None else nodes.named(fault)

    def _fault(self, gave_up: GaveUp, log: str = "") -> StartFault:
        cleaned = gave_up._replace(detail=self.redactor.clean(gave_up.detail))
        hosts = ", ".join([self.host.name, *(one.host.name for one in self.further)])
        return start_fault(describe(cleaned, log), tried=f"to start {self.launch.id} on {hosts}")
