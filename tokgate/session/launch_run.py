"""One server run from clean slate to stop, written down stage by stage."""

from __future__ import annotations

import secrets
import time
from pathlib import Path

from tokgate.errors import BenchFault, LeaseFault, StartFault
from tokgate.records import Launch, LeftOut, Liveness
from tokgate.records.progress import LaunchEnded, Stage, StageBegan
from tokgate.rig.instruments import cost_pairs
from tokgate.rig.shipped import shipped_root
from tokgate.server.launch import RunningServer, start
from tokgate.server.running import LOG_NAME

from .bench import Bench
from .decode_log import graph_steps
from .instruments import TimerScrapes
from .launch_notes import LaunchNotes
from .measure import Measurement
from .node_instruments import instruments_of
from .plan import rig_for
from .proof import DEBUG, Profiled
from .refused import named
from .rounds import Rounds
from .watched import watched


class LaunchRun:
    """Each stage is noted before the next one begins."""

    def __init__(self, bench: Bench, launch: Launch, *, starts_alone: LeftOut | None = None) -> None:
        """`starts_alone`: why nothing is measured once the server is ready."""
        self._starts_alone = starts_alone
        self._bench = bench
        self._launch = launch
        self._rig = rig_for(bench.rig, launch)
        self._proves = launch.role == "nccl-proof"
        self._instruments = (
            instruments_of(
                bench.watched(self._rig),
                folder=bench.folder,
                launch_id=launch.id,
                rig=self._rig,
                root=shipped_root(),
            )
            if launch.carries
            else None
        )
        self._profiled = Profiled((), "the launch broke off before")
        self._notes = LaunchNotes(bench.folder, launch)
        self._started = False

    def run(self, rounds: Rounds) -> None:
        begun = time.monotonic()
        took: float | None = None
        try:
            self._run(rounds)
            took = time.monotonic() - begun
            self._notes.note(wall_s=took)
        finally:
            self._ended(took)

    def _run(self, rounds: Rounds) -> None:
        self._notes.note()
        try:
            self._bench.lease.check()
        except LeaseFault as fault:
            self._notes.note(faults=(str(fault),))
            self._tell(f"not started: {fault.found}")
            return
        self._stage(Stage.CLEAN_SLATE)
        slate = self._bench.slates.look(f"before {self._launch.id}")
        self._notes.note(slate=slate)
        if not slate.clean:
            if self._bench.slates.is_news():
                self._tell("not started: the machine is not clean")
            return
        server = self._start()
        if server is None:
            if self._proves:
                self._notes.note(
                    nccl=self._bench.proof(self._launch, self._rig).proof(
                        self._log, Profiled((), "the server did not start")
                    )
                )
            return
        self._tell(f"ready after {server.run.ready_after_s:.1f} s")
        try:
            self._notes.note(server=server.run)
            self._keep("server_info.json", server.run.server_info)
            self._stage(Stage.ENVIRONMENT)
            self._prove_environment(server)
            if self._proves:
                self._stage(Stage.PROFILES)
                self._profile(server)
            elif self._starts_alone is not None:
                self._notes.note(left_out=self._starts_alone)
                self._tell(self._starts_alone.why)
            else:
                self._measure(server, rounds)
            if self._instruments is not None:
                self._instruments.turn_off()
                self._stage(Stage.TRACES)
                self._tell(
                    self._bench.traces(self._launch, self._rig).take(server, self._notes.evidence.liveness)
                )
            self._bench.lease.check()
        except BenchFault as fault:
            self._notes.add_fault(fault)
            self._tell(f"broke off: {fault.found}")
        finally:
            self._stage(Stage.STOPPING)
            stop = server.stop()
            self._notes.note(stop=stop)
            if (ran_from := self._notes.evidence.ran_from) is not None:
                self._notes.note(ran_from=self._bench.sides.at_the_end(ran_from))
            if self._instruments is not None:
                self._instruments.collect()
            server.collect(self._bench.folder.launch_folder(self._launch.id))
            self._notes.note(graph=graph_steps(self._log))
            if self._proves:
                self._notes.note(
                    nccl=self._bench.proof(self._launch, self._rig).proof(self._log, self._profiled)
                )
            self._tell(f"stopped after {stop.seconds:.1f} s")

    def _start(self) -> RunningServer | None:
        self._stage(Stage.STARTING)
        bench = self._bench
        carried = self._instruments.members if self._instruments is not None else ()
        bench.slates.server_starts()
        self._started = True
        try:
            return start(
                bench.host,
                self._rig,
                self._launch,
                # Run ids are times: on a shared host two gates may have the same one.
                mark=f"{bench.run_id}/{self._launch.id}/{secrets.token_hex(4)}",
                redactor=bench.redactor,
                folder=bench.folder.launch_folder(self._launch.id),
                extra=DEBUG if self._proves else (),
                equip=bench.sides.equip(self._launch, carried[0].equip if carried else None),
                further=bench.further(self._rig, self._launch, carried),
            )
        except StartFault as fault:
            bench.sides.did_not_start(self._launch)
            failure = fault.failure and named(bench.rig, self._launch.arm, fault.failure)
            self._notes.note(failure=failure)
            self._tell(f"did not start: {failure.headline if failure is not None else fault.found}")
        except BenchFault as fault:
            self._notes.note(faults=(str(fault),))
            self._tell(f"did not start: {fault.found}")
        return None

    def _prove_environment(self, server: RunningServer) -> None:
        truth = server.prove_environment(dict(server.run.line.environment))
        self._notes.note(environment=truth)
        self._keep("environment.json", truth.model_dump(mode="json"))
        self._notes.note(ran_from=self._bench.sides.proof(self._launch, truth))
        if self._launch.role == "nccl-off":
            without = server.prove_environment(dict(self._bench.rig.server.nccl))
            self._notes.note(without=without)
            self._keep("without.json", without.model_dump(mode="json"))

    def _profile(self, server: RunningServer) -> None:
        self._profiled = self._bench.proof(self._launch, self._rig).profile(server)
        self._tell(f"{len(self._profiled.profiles)} profiles{f', {w}' if (w := self._profiled.why) else ''}")
        liveness = Liveness(alive=True, answered=True)
        try:
            server.control.generate_once()
        except BenchFault as fault:
            gone = server.why_gone()
            liveness = Liveness(alive=gone is None, answered=False, why=gone or fault.found)
        self._notes.note(liveness=liveness)

    @property
    def _log(self) -> Path:
        return self._bench.folder.launch_folder(self._launch.id) / LOG_NAME

    def _measure(self, server: RunningServer, rounds: Rounds) -> None:
        bench = self._bench
        self._keep_metrics(server, "metrics-before.prom")
        measurement = Measurement(
            rig=self._rig,
            launch=self._launch,
            server=server,
            folder=bench.folder,
            root=bench.root,
            say=bench.say,
            progress=bench.progress,
            scrapes=self._scrapes(server),
            switch=self._instruments,
            pairs=cost_pairs(self._rig) if self._instruments is not None else 0,
        )
        with watched(
            measurement,
            server.run,
            nodes=bench.watched(self._rig),
            notes=self._notes,
            client_ceiling=bench.client_ceiling,
        ):
            measurement.take_all(rounds)
            liveness = measurement.liveness()
            self._notes.note(liveness=liveness)
            if liveness.answered:
                self._keep_metrics(server, "metrics-after.prom")
            else:
                self._notes.add_note("metrics-after.prom: the server did not answer any more")

    def _scrapes(self, server: RunningServer) -> TimerScrapes | None:
        if self._instruments is None or self._rig.gpus.count == 0:
            return None
        return TimerScrapes(
            metrics_text=server.control.metrics_text,
            keep=lambda name, text: self._bench.folder.write_text(f"launches/{self._launch.id}/{name}", text),
            note=self._notes.add_note,
        )

    def _keep_metrics(self, server: RunningServer, name: str) -> None:
        try:
            text = server.control.metrics_text()
        except BenchFault as fault:
            # Metrics are a second source; their absence is told, the measurement stands.
            self._notes.add_note(f"{name}: {fault.found}")
            return
        self._bench.folder.write_text(f"launches/{self._launch.id}/{name}", text)

    def _keep(self, name: str, value: object) -> None:
        self._bench.folder.write_json(f"launches/{self._launch.id}/{name}", value)

    def _stage(self, stage: Stage) -> None:
        self._bench.progress(StageBegan(stage=stage, launch=self._launch.id))

    def _ended(self, took: float | None) -> None:
        self._bench.progress(LaunchEnded(launch=self._launch.id, seconds=took, started=self._started))

    def _tell(self, words: str) -> None:
        self._bench.say(f"{self._launch.id}  {words}")
