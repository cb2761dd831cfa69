"""The further nodes of one server: each started on its host, watched, stopped and collected with node 0.

They serve no requests: SGLang 0.5.23 gives them a /health that says 200 whatever happens (launch_dummy_health_check_server),
so their process and its log are what is watched. Told to end, they wait for node 0's word (engine.py, sigterm_handler).
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from tokgate.errors import HostFault
from tokgate.hosts.connection import Host
from tokgate.records import CommandLine, EnvironmentTruth, Launch, NodeRun, ServerRun, StopRecord
from tokgate.records.redactor import Redactor
from tokgate.rig.models import ArmSpec
from tokgate.rig.nodes import NodeRig

from .command_line import Equipment, Extra, launch_line
from .events import Event
from .hold import hold, lay_out, started
from .node_truth import prove_on
from .port import port_and_environment
from .readiness import GaveUp
from .running import LOG_NAME, Held
from .start_failure import describe
from .stop import WHY_STOPPED, ended_before

NEWS_S = 1.0
# What gloo and NCCL's sockets say of a rank that has gone.
PEER_GONE = ("connection closed by peer", "connection reset by peer", "broken pipe")


class Further(NamedTuple):
    """A further node, and what equips its part of a launch."""

    node: NodeRig
    host: Host
    equip: Callable[[str], Equipment] | None = None


def log_name(rank: int) -> str:
    """Return what a node's log is called in the run folder."""
    return LOG_NAME if rank == 0 else f"server-node{rank}.log"


def called(rank: int, host: Host) -> str:
    return f"node {rank} ({host.name})"


@dataclass(frozen=True)
class Follower:
    rank: int
    held: Held
    line: CommandLine
    passed: dict[str, str]
    began: Event  # "pid", "start_ticks", "sid"
    shared: str  # node 0's folder: what its schedulers are told to write, every node's write at the same path

    @property
    def name(self) -> str:
        return called(self.rank, self.held.host)

    def run(self, launch: Launch) -> NodeRun:
        return NodeRun(
            node=self.rank,
            host=self.held.host.name,
            line=self.line,
            pid=self.began["pid"],
            start_ticks=self.began["start_ticks"],
            sid=self.began["sid"],
            mark=self.held.mark,
            passed=self.held.redactor.clean_json(self.passed),
            log_file=f"launches/{launch.id}/{log_name(self.rank)}",
        )

    def why_gone(self) -> str | None:
        link = self.held.link
        if (reason := link.stopped_because) is not None:
            return f"{self.name}: {WHY_STOPPED.get(reason, 'it was stopped')}"
        if (how := link.ended_alone) is not None:
            return f"{self.name}: its server process {how}"
        return f"{self.name}: its supervisor is gone" if link.lost else None

    def collect(self, folder: Path) -> None:
        self.held.collect(folder, log_name(self.rank))
        with contextlib.suppress(HostFault):
            self.held.host.run("rm -rf -- %s", self.shared)


@dataclass(frozen=True)
class Followers:
    """All of them; none for a server on one host."""

    members: list[Follower] = field(default_factory=list)

    def __iter__(self) -> Iterator[Follower]:
        return iter(self.members)

    def why_gone(self) -> str | None:
        return next((why for one in self.members if (why := one.why_gone()) is not None), None)

    def took_along(self) -> str | None:
        """Node 0 has ended: return which node took it along, if one did; its news may be a moment behind."""
        limit = time.monotonic() + NEWS_S
        while self.why_gone() is None and time.monotonic() < limit:
            time.sleep(0.02)
        blamed = (one for one in self.members if one.why_gone() is not None and not lost_its_peer(one.held))
        return next((one.why_gone() for one in blamed), None)

    def prove(self, run: ServerRun, wanted: dict[str, str]) -> tuple[tuple[NodeRun, EnvironmentTruth], ...]:
        """Return each node's own environment truth. HostFault: a process table cannot be read."""
        hosts = {one.rank: one.held.host for one in self.members}
        return tuple((node, prove_on(hosts[node.node], run, node, wanted)) for node in run.nodes)

    def each(self, do: Callable[[Follower], object]) -> None:
        """Do it on all nodes at once: one that cannot be reached does not keep the others waiting."""
        if self.members:
            with ThreadPoolExecutor(len(self.members)) as pool:
                list(pool.map(do, self.members))

    def abandon(self) -> None:
        self.each(lambda one: one.held.abandon())

    def stop(self, first: StopRecord) -> StopRecord:
        """Stop them, node 0 having stopped, and return one record for all."""
        found: dict[int, StopRecord] = {}
        self.each(lambda one: found.update({one.rank: _stopped(one)}))
        self.each(lambda one: one.held.link.close())
        records = [(one, found[one.rank]) for one in self.members]
        notes = [first.note, *(f"{one.name}: {stop.note}" for one, stop in records if stop.note)]
        return first.model_copy(
            update={
                "killed": first.killed or any(stop.killed for _, stop in records),
                "seconds": round(first.seconds + max((stop.seconds for _, stop in records), default=0.0), 3),
                "survivors": (
                    *first.survivors,
                    *(
                        p.model_copy(update={"node": one.rank})
                        for one, stop in records
                        for p in stop.survivors
                    ),
                ),
                "note": "; ".join(note for note in notes if note) or None,
            }
        )

    def collect(self, folder: Path) -> None:
        self.each(lambda one: one.collect(folder))


def _stopped(one: Follower) -> StopRecord:
    how = one.held.link.ended_alone
    stop = one.held.stop()
    if how is not None and how.rc == 0 and stop.note is not None:
        # It ended because node 0 told it to, which is how it should be.
        stop = stop.model_copy(
            update={"note": stop.note.removeprefix(ended_before(how)).lstrip("; ") or None}
        )
    return stop


def lost_its_peer(held: Held) -> bool:
    """Say whether a node's log tells that it ended because the one it talked to was gone."""
    try:
        log = held.log_text().lower()
    except (HostFault, OSError):
        return False
    return any(words in log for words in PEER_GONE)


@dataclass(frozen=True, kw_only=True)
class Recruiting:
    """What starts the further nodes of one launch, node 0 having started."""

    further: Sequence[Further]
    arm: ArmSpec
    address: str  # where node 0 is met
    there: str  # node 0's folder
    folder_name: str  # of a launch, below each host's own work_dir
    mark: str
    api_key: str | None
    redactor: Redactor
    extra: tuple[Extra, ...]

    def start(self, joined: Followers) -> tuple[Further, GaveUp] | None:
        """Start them one by one; each that may run stands in `joined`. Return the one that could not, and why."""
        for one in self.further:
            why = self._start(one, joined)
            if why is not None:
                return one, why
        return None

    def _start(self, one: Further, joined: Followers) -> GaveUp | None:
        rig, rank = one.node.launched(self.address), one.node.rank
        # Of the same launch, and its own: where two nodes share a process table, stopping one must leave the other.
        mark = f"{self.mark}/node{rank}"
        # Of its own: two nodes may see one file system.
        there = f"{one.host.spec.work_dir.rstrip('/')}/launches/{self.folder_name}-node{rank}"
        found = port_and_environment(one.host, rig, self.arm)
        if isinstance(found, GaveUp):
            return found
        unwritable = lay_out(one.host, there)
        if unwritable is not None:
            return unwritable
        equipment = one.equip(there) if one.equip is not None else Equipment()
        launched = launch_line(
            rig,
            self.arm,
            port=found["port"],
            api_key=self.api_key,
            mark=mark,
            log=f"{there}/{LOG_NAME}",
            pass_environment=found["environment"],
            extra_python_path=equipment.python_path,
            extra=(*self.extra, *equipment.variables),
            why_path=equipment.why,
        )
        for redactor in (self.redactor, one.host.redactor):
            redactor.add_named(launched.environment.items())
        held = hold(
            one.host,
            rig,
            there,
            mark=mark,
            redactor=self.redactor,
            line=launched.secret,
            environment=launched.environment,
        )
        if isinstance(held, GaveUp):
            return held
        answer = started(held)
        began = {"pid": 0, "start_ticks": 0, "sid": 0} if isinstance(answer, GaveUp) else answer
        joined.members.append(Follower(rank, held, launched.line, launched.environment, began, self.there))
        return answer if isinstance(answer, GaveUp) else None


def words_of(gave_up: GaveUp, name: str, log: str) -> GaveUp:
    """Return why a node ended the start, with its name in front, where a person looks for it."""
    failure = describe(gave_up, log)
    return GaveUp(failure.cause, f"{name}: {failure.headline}", gave_up.exit)
