"""One server run of a self-test, from clean slate to stop: blocks of barrier starts with something planted or nothing."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tokgate.errors import BenchFault, StartFault
from tokgate.hosts.clean_slate import look
from tokgate.records import Launch, LaunchEvidence, Verdict
from tokgate.records.selftest import Block, PlantedLaunch
from tokgate.rig.nodes import NodeRig
from tokgate.rig.shipped import shipped_root
from tokgate.server.launch import RunningServer, start
from tokgate.server.port import written_port
from tokgate.verdicts.establish import establish

from .launch_notes import LaunchNotes
from .measure import Measurement
from .nodes import Node
from .plant import Plant, too_old
from .rounds import plain_rounds
from .run_folder import load_launch
from .selftest_plan import Asked, Cell, order_of, rig_of
from .sides import Sides
from .site import Site
from .watched import watched


class BudgetSpentError(BenchFault):
    """No further block is begun."""


class CannotPlantError(BenchFault):
    """Nothing can be planted into this server, nor into the next one."""


@dataclass(frozen=True, kw_only=True)
class Stand(Site):
    """What every server run of a self-test shares."""

    is_over: Callable[[], bool]  # the budget is spent
    sides: Sides  # of a rig whose SGLang has to have patches


class PlantedRun:
    def __init__(self, stand: Stand, asked: Asked, launch: Launch, cells: Sequence[Cell]) -> None:
        self._stand, self._asked, self._launch, self._cells = stand, asked, launch, cells
        self._rig = rig_of(stand.rig, asked, cells)
        self._notes = LaunchNotes(stand.folder, launch)
        self._plant = Plant(stand.host, shipped_root())
        self._not_planted: dict[str, str] = {}  # block -> why

    def run(self) -> None:
        """Measure; whatever happens the server is stopped and launch.json says how far it came.

        CannotPlantError: that is so of every server of this rig. StartFault: the server did not start.
        BudgetSpentError: it ended before its last block.
        """
        stand = self._stand
        stand.lease.check()
        slate = look(
            stand.host,
            stand.rig,
            when=f"before {self._launch.id}",
            port=written_port(stand.rig),
            ours=frozenset(),
        )
        self._notes.note(slate=slate)
        if not slate.clean:
            first = next(f for f in slate.findings if f.severity != "note")
            raise BenchFault(tried=f"to start {self._launch.id}", found=first.what, do=first.do)
        stand.say(f"{self._launch.id}  starting")
        try:
            server = start(
                stand.host,
                self._rig,
                self._launch,
                mark=f"{stand.run_id}/{self._launch.id}/{secrets.token_hex(4)}",
                redactor=stand.redactor,
                folder=stand.folder.launch_folder(self._launch.id),
                equip=stand.sides.equip(self._launch, self._plant.equip),
            )
        except StartFault as fault:
            self._notes.note(failure=fault.failure)
            raise
        try:
            self._notes.note(
                server=server.run, environment=server.prove_environment(dict(server.run.line.environment))
            )
            self._can_plant(server)
            self._measure(server)
            stand.lease.check()
        except BudgetSpentError:
            raise
        except BenchFault as fault:
            self._notes.add_fault(fault)
            raise
        finally:
            self._notes.note(stop=server.stop())
            server.collect(stand.folder.launch_folder(self._launch.id))

    def result(self, seconds: float) -> PlantedLaunch:
        """Read back what lies on the disk, and judge each block by itself. UsageError: it cannot be read."""
        evidence = load_launch(self._stand.folder.launch_folder(self._launch.id))
        blocks = tuple(self._block(evidence, cell) for cell in self._cells)
        return PlantedLaunch(
            launch=self._launch.id, seconds=round(seconds, 1), blocks=blocks, faults=evidence.faults
        )

    # --- what Measurement asks for around the judged starts of each block

    def before(self, workload: str) -> None:
        if self._stand.is_over():
            raise BudgetSpentError(
                tried=f"to begin block {workload} of {self._launch.id}",
                found="the budget is spent",
                do="see what was measured until then, or give it more: --budget",
            )
        self._plant.order(self._order(workload))

    def after(self, workload: str) -> None:
        order = self._order(workload)
        if order and (why := self._plant.why_not(order)) is not None:
            self._not_planted[workload] = why
        self._plant.order("")  # the warm-up of the next block runs without it

    def _order(self, workload: str) -> str:
        cell = next(c for c in self._cells if c.name == workload)
        return order_of(self._rig.arm(self._launch.arm), cell.planted)

    def _can_plant(self, server: RunningServer) -> None:
        if self._plant.patched():
            return
        plugins = server.run.line.environment.get("SGLANG_PLUGINS")
        why = too_old(server.run.sglang_version) or (
            f"SGLANG_PLUGINS = {plugins!r} lets it load no other plugin"
            if plugins
            else "its scheduler did not load the plant: see server.log for `tokgate_plant`"
        )
        raise CannotPlantError(
            tried=f"to plant a slowdown into {self._launch.id}",
            found=why,
            do="without planting no self-test is possible on this rig; benchmarks/decisions.py shows what the rule sees by arithmetic",
        )

    def _measure(self, server: RunningServer) -> None:
        stand = self._stand
        measurement = Measurement(
            rig=self._rig,
            launch=self._launch,
            server=server,
            folder=stand.folder,
            root=stand.root,
            say=stand.say,
            scrapes=self,
        )
        try:
            nodes = (Node(NodeRig(0, self._rig), stand.host),)
            with watched(measurement, server.run, nodes=nodes, notes=self._notes):
                measurement.take_all(plain_rounds)
        finally:
            self._notes.note(liveness=measurement.liveness())

    def _block(self, evidence: LaunchEvidence, cell: Cell) -> Block:
        own = self._rig.workload(cell.name)
        block = Block(
            workload=cell.workload,
            planted=cell.planted,
            order=order_of(self._rig.arm(self._launch.arm), cell.planted),
        )
        if cell.name in self._not_planted:
            return block.model_copy(update={"fault": f"not planted: {self._not_planted[cell.name]}"})
        found = establish(evidence, cell.name, at_least=own.repeats * own.concurrency, check="selftest")
        if isinstance(found, Verdict):
            return block.model_copy(update={"fault": found.headline})
        return block.model_copy(update={"values": {n: s.values for n, s in found.series.items()}})


def timed(run: PlantedRun, clock: Callable[[], float] = time.monotonic) -> tuple[float, BaseException | None]:
    """Run it; return the seconds that it took, and how it broke off."""
    began = clock()
    try:
        run.run()
    except (BenchFault, KeyboardInterrupt) as broken:
        return clock() - began, broken
    return clock() - began, None
