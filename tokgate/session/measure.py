"""Take every generation of one server run, in the order of the plan, and keep all of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path

from tokgate.client.interpret import interpret
from tokgate.client.stream import RawResponse, run_batch
from tokgate.errors import BenchFault
from tokgate.records import ClientLoad, Generation, Launch, Liveness
from tokgate.records.progress import Stage, StageBegan, StartTaken
from tokgate.rig.instruments import PROBE_OFF, PROBE_ON
from tokgate.rig.models import Rig
from tokgate.rig.workload import WorkloadSpec

from .cost_plan import paired_batches
from .extra_starts import extra_batches, has_enough
from .plan import Batch, batches_of, workloads_of
from .progress import Progress, accept_length_of, rate_of, unheard
from .requests import request_of, response_limit
from .rounds import MeasuredServer, Rounds, Scrapes, Switch, plain_rounds
from .run_folder import RunFolder

NEWS_S = 1.0


class Measurement:
    """The generations of one launch.

    A server that dies, hangs or refuses ends the measuring: what came before is kept, and `faults`
    says what happened. Nothing is tried again.
    """

    def __init__(
        self,
        *,
        rig: Rig,
        launch: Launch,
        server: MeasuredServer,
        folder: RunFolder,
        root: Path,
        say: Callable[[str], None],
        progress: Progress = unheard,
        scrapes: Scrapes | None = None,
        switch: Switch | None = None,
        pairs: int = 0,
    ) -> None:
        """`pairs`: of starts with `switch` on and off, in the first workload."""
        self._scrapes = scrapes
        self._switch = switch
        self._pairs = pairs if switch is not None else 0
        self._rig = rig
        self._launch = launch
        self._server = server
        self._folder = folder
        self._root = root
        self._say = say
        self._progress = progress
        self._stage: tuple[str, Stage] | None = None  # as told last, with its workload
        self._planned = 0  # generations of the workload that is being taken
        self._bodies = 0
        self._end: Liveness | None = None
        self.generations: list[Generation] = []
        self.client: dict[str, ClientLoad] = {}
        self.faults: list[str] = []

    def take_all(self, rounds: Rounds) -> None:
        """Take every workload; `rounds` drives the first one, so that a clock may watch it."""
        for number, workload in enumerate(workloads_of(self._rig, self._launch)):
            paired = number == 0 and self._pairs > 0
            batches = paired_batches(workload, self._pairs) if paired else batches_of(workload)
            self._take_workload(workload, batches, rounds if number == 0 else plain_rounds)
            if paired and self._switch is not None:
                self._switch.turn(True)
            self._say(f"{self._launch.id}  {workload.name}: {self._told(workload)}")
            if self.faults:
                return

    def liveness(self) -> Liveness:
        """Return whether the process lives and still generates; the answer is evidence, not a guess.

        Where a failure has ended the measuring it was asked then, and once is enough.
        """
        if self._end is None:
            self._end = self._ask()
        return self._end

    def _ask(self) -> Liveness:
        if (gone := self._server.why_gone()) is not None:
            return Liveness(alive=False, answered=False, why=gone)
        try:
            self._server.control.generate_once(timeout_s=self._patience())
        except BenchFault as fault:
            gone = self._news_of_its_end()
            return Liveness(alive=gone is None, answered=False, why=gone or fault.found)
        return Liveness(alive=True, answered=True)

    def _news_of_its_end(self) -> str | None:
        """A refused connection may be known a moment before the supervisor's word that the process ended."""
        limit = time.monotonic() + NEWS_S
        while (gone := self._server.why_gone()) is None and time.monotonic() < limit:
            time.sleep(0.02)
        return gone

    def _take_workload(self, workload: WorkloadSpec, batches: Sequence[Batch], rounds: Rounds) -> None:
        waiting = iter(batches)
        self._planned = sum(len(batch.indexes) for batch in batches)

        def take() -> None:
            batch = next(waiting, None)
            # A clock may call more often than planned; a fault ends the measuring.
            if batch is not None and not self.faults:
                self._take_batch(workload, batch)

        rounds(take, rounds=len(batches) - workload.warmup, warmup_rounds=workload.warmup)
        # A clock that is switched off (xdist, --benchmark-disable) calls once: the rest is ours to take.
        for batch in waiting:
            if self.faults:
                return
            self._take_batch(workload, batch)
        self._take_extra(workload)
        if self._scrapes is not None and not self.faults:
            self._scrapes.after(workload.name)

    def _take_extra(self, workload: WorkloadSpec) -> None:
        """Add starts while those there are spread too far; how many is seen in generations.jsonl."""
        for batch in extra_batches(self._rig, self._launch, workload):
            if self.faults or has_enough(self._rig, self._launch, workload, self.generations):
                return
            self._take_batch(workload, batch)

    def _take_batch(self, workload: WorkloadSpec, batch: Batch) -> None:
        stage = self._begin(workload, batch)
        if self._scrapes is not None and batch.number == workload.warmup and batch.workload == workload.name:
            self._scrapes.before(workload.name)
        if batch.switch is not None and self._switch is not None:
            turned = self._switch.turn(batch.switch)
            if not turned and not batch.switch:
                return  # what was to run without the probe is left out; what runs with it tells whether it did
        try:
            # The twin of a start asks the same prompts, whatever the workload says of repeating itself.
            if workload.cache == "flush" or batch.switch is not None:
                self._server.control.flush_cache()
            requests = tuple(
                request_of(self._rig, self._launch, workload, index, root=self._root)
                for index in batch.indexes
            )
        except BenchFault as fault:
            self.faults.append(f"before {workload.name} batch {batch.number}: {fault.found}")
            return
        outcome = run_batch(
            self._server.target,
            requests,
            timeout_s=workload.timeout_s,
            response_limit=response_limit(workload.output_tokens),
            should_stop=self._server.why_gone,
        )
        generations = tuple(
            self._keep(raw, batch, index, slot)
            for slot, (index, raw) in enumerate(zip(batch.indexes, outcome.responses, strict=True))
        )
        self.generations.extend(generations)
        self._folder.append_generations(self._launch.id, generations)
        if not batch.warmup and batch.workload == workload.name:
            self._account(workload.name, outcome.load)
        failed = [g for g in generations if not g.good]
        self._progress(
            StartTaken(
                stage=stage,
                launch=self._launch.id,
                workload=workload.name,
                generations=self._taken_of(workload),
                of=self._planned,
                streams=len(batch.indexes),
                failed=len(failed),
                tok_s=rate_of(generations),
                accept_length=accept_length_of(generations),
            )
        )
        if failed:
            self._after_failure(failed)

    def _begin(self, workload: WorkloadSpec, batch: Batch) -> Stage:
        """Tell the stage that a start belongs to, where it is another one than that of the start before."""
        stage = Stage.WARM_UP if batch.warmup else Stage.MEASURING
        if batch.switch is not None:
            stage = Stage.PROBE_COST
        elif batch.number >= workload.warmup + workload.repeats:
            stage = Stage.EXTRA
        if self._stage != (workload.name, stage):
            self._stage = workload.name, stage
            self._progress(
                StageBegan(
                    stage=stage, launch=self._launch.id, workload=workload.name, generations=self._planned
                )
            )
        return stage

    def _taken_of(self, workload: WorkloadSpec) -> int:
        """Return how many generations there are, with those that tell what the probe costs."""
        names = {workload.name, PROBE_OFF, PROBE_ON} if self._switch is not None else {workload.name}
        return sum(g.workload in names for g in self.generations)

    def _keep(self, raw: RawResponse, batch: Batch, index: int, slot: int) -> Generation:
        name = f"launches/{self._launch.id}/bodies/{self._bodies:04d}.sse"
        self._bodies += 1
        self._folder.write_body(name, b"".join(piece for _, piece in raw.pieces))
        return interpret(
            raw,
            launch=self._launch.id,
            workload=batch.workload,
            index=index,
            slot=slot,
            batch=batch.number,
            warmup=batch.warmup,
            body_file=name,
        )

    def _account(self, workload: str, load: ClientLoad) -> None:
        before = self.client.get(workload)
        if before is not None:
            load = load.model_copy(
                update={
                    "cpu_s": before.cpu_s + load.cpu_s,
                    "wall_s": before.wall_s + load.wall_s,
                    "events": before.events + load.events,
                }
            )
        self.client[workload] = load

    def _after_failure(self, failed: list[Generation]) -> None:
        """One failed generation makes the workload invalid; a dead server makes the rest pointless."""
        liveness = self._ask()
        if not (liveness.alive and liveness.answered):
            self._end = liveness
            first = failed[0]
            self.faults.append(
                f"{first.workload} generation {first.index} ended as {first.status.value} ({first.why}); "
                f"then: {liveness.why}"
            )

    def _patience(self) -> float:
        # A hung server is asked once more, but not for as long as a whole generation may take.
        return min(30.0, max(w.timeout_s for w in self._rig.workloads))

    def _told(self, workload: WorkloadSpec) -> str:
        mine = [g for g in self.generations if g.workload == workload.name]
        rates = [
            g.counters.decode_throughput
            for g in mine
            if g.good and not g.warmup and g.counters and g.counters.decode_throughput
        ]
        failed = sum(not g.good for g in mine)
        words = f"{len(mine) - failed} generations"
        extra = len({g.batch for g in mine}) - workload.warmup - workload.repeats
        if extra > 0 and self._launch.stands_for_arm:
            words += f" ({extra} start{'s' if extra > 1 else ''} more, for their spread)"
        if rates:
            words += f", {sorted(rates)[len(rates) // 2]:.1f} tok/s{' a stream' if workload.concurrency > 1 else ''}"
        return words + (f", {failed} FAILED" if failed else "")
