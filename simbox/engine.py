"""The engine: queue, prefill, decode or speculative cycles, each lasting what the model says."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from simbox import heat as heats
from simbox.counters import Counters
from simbox.decode_log import DecodeLog
from simbox.faults import Faults
from simbox.knobs import Knobs
from simbox.model import Rates, Shape, Step, decode_step, every_rank, prefill_step, speculative_step
from simbox.noise import Noise
from simbox.pacing import Pacer
from simbox.planted import Planted
from simbox.prefix_cache import PrefixCache
from simbox.profiler import Profiler
from simbox.request import Request
from simbox.server_log import ServerLog
from simbox.source_cost import SourceCost
from simbox.step_feed import Feed, pack
from simbox.text import PINNED_TOKEN
from simbox.truth import Truth


@dataclass(frozen=True)
class EngineSettings:
    """What the server arguments and the ranks' answers make of the engine."""

    knobs: Knobs
    shape: Shape
    ranks: tuple[tuple[float, float], ...]  # kernel factor, extra microseconds per all-reduce
    max_running: int
    max_tokens: int  # room in the KV cache
    log_interval: int
    pinned_token: bool  # SGLANG_SIMULATE_ACC_LEN puts one token in place of all
    prefix_cache: bool
    kernels: tuple[str, ...]  # of each rank's all-reduce
    pids: tuple[int, ...]  # of the ranks
    source: SourceCost  # what the tree's own code costs


class Engine:
    """Runs until cancelled. `load`: the array shared with the ranks."""

    def __init__(
        self,
        settings: EngineSettings,
        *,
        noise: Noise,
        truth: Truth,
        log: ServerLog,
        faults: Faults,
        load: Any,
        feed: Feed,
        planted: Planted,
    ) -> None:
        self.settings = settings
        self._planted = planted
        self.counters = Counters()
        self.cache = PrefixCache(enabled=settings.prefix_cache)
        kernels = tuple(k for k in settings.kernels if k)
        self.profiler = Profiler(
            pids=settings.pids,
            kernels=kernels,
            all_reduces=settings.knobs.all_reduces,
            gpu=settings.knobs.gpu_name,
        )
        self.running: list[Request] = []
        self.waiting: deque[Request] = deque()
        self.entering: list[Request] = []  # being prefilled
        self._noise, self._truth, self._log, self._faults, self._load = noise, truth, log, faults, load
        self._feed = feed
        self._wake = asyncio.Event()
        self._born_ns = time.monotonic_ns()
        self._prefilled_ns = self._born_ns
        self._lines = DecodeLog(
            log, self.counters, interval=settings.log_interval, draft_tokens=settings.shape.draft_tokens, lie=settings.knobs.gauge_factor
        )  # fmt: skip

    @property
    def busy(self) -> bool:
        return bool(self.running or self.waiting or self.entering)

    @property
    def all_of_them(self) -> tuple[Request, ...]:
        """Every request that is not finished."""
        return (*self.running, *self.entering, *self.waiting)

    def submit(self, request: Request) -> None:
        """Queue a request."""
        request.number = self._faults.arrived()
        self.waiting.append(request)
        self._wake.set()

    async def run(self) -> None:
        """Step for as long as there is work; the schedule restarts after every pause."""
        pacer = Pacer()
        while True:
            self._wake.clear()
            if not self.busy:
                self._load[0] = 0.0
                self.counters.last_throughput = 0.0
                await self._wake.wait()
            self._load[0] = 1.0
            due = time.monotonic_ns() + round(self.settings.knobs.handover_ms * 1e6)
            await pacer.until(due)
            while self.busy:
                self._sweep()
                if self.waiting and len(self.running) < self.settings.max_running:
                    due = await self._prefill(pacer, due)
                elif self.running:
                    due = await self._decode(pacer, due)

    def _sweep(self) -> None:
        """Forget requests whose client went away."""
        for request in [r for r in (*self.running, *self.waiting) if r.sink.closed]:
            (self.running if request in self.running else self.waiting).remove(request)
            self.counters.aborted += 1
            self._truth.request(request, "aborted")

    def _rates(self) -> tuple[Rates, float]:
        age_s = (time.monotonic_ns() - self._born_ns) / 1e9
        warm = heats.heat(self.settings.knobs, busy=True, hanging=False, loaded_s=self._load[2])
        kernels = self._noise.step(age_s) * warm.factor
        return Rates(kernels, self.settings.ranks, self._noise.mode_factor), warm.factor

    async def _prefill(self, pacer: Pacer, due: int) -> int:
        room = self.settings.max_running - len(self.running)
        batch = self.entering = [self.waiting.popleft() for _ in range(min(room, len(self.waiting)))]
        if len(batch) == 1:
            self._noise.next_request()
        for request in batch:
            request.cached = self.cache.match(request.prompt)
            request.entry_ns = time.monotonic_ns()
        new = sum(len(r.prompt) - r.cached for r in batch)
        cached = sum(r.cached for r in batch)
        rates, warm = self._rates()
        step = prefill_step(self.settings.knobs, rates, new)
        step = self.settings.source.added(step, "prefill", len(batch))
        every = [step] * len(self.settings.ranks)
        self._tell(every, "prefill", due=due, batch=len(batch))
        due += round(step.ms * 1e6)
        late = await pacer.until(due)
        now = time.monotonic_ns()
        self._log.prefill(
            seqs=len(batch), new=new, cached=cached, usage=self._usage(), running=len(self.running),
            queued=len(self.waiting), tok_s=new / ((now - self._prefilled_ns) / 1e9),
        )  # fmt: skip
        self._prefilled_ns = now
        self.counters.prompt_tokens += new + cached
        self.counters.cached_tokens += cached
        self.counters.passes["prefill_none"] += 1
        self.running += batch
        self.entering = []
        self._account(
            every, "prefill", due=due, late=late, batch=len(batch), tokens=new, accepted={}, warm=warm
        )
        for request in batch:
            self.cache.insert(request.prompt)
            self._emit(request, 0, due)
        return due

    async def _decode(self, pacer: Pacer, due: int) -> int:
        batch, knobs, source = len(self.running), self._planted.of(self.settings.knobs), self.settings.source
        shape = source.shaped(self.settings.shape)
        rates, warm = self._rates()
        speculative = shape.draft_tokens > 0
        what = "verify" if speculative else "decode"
        model = speculative_step if speculative else decode_step
        every = source.on_all(every_rank(model, knobs, shape, rates, batch), what, batch)
        step = every[0]  # the rank that reports
        self._tell(every, what, due=due, batch=batch)
        due += round(step.ms * 1e6)
        late = await pacer.until(due)
        if self._faults.hanging:
            self._load[1] = 1.0
            await asyncio.Event().wait()  # for ever: only a signal ends it
        drafts = {r.rid: r.acceptance.accepted() for r in self.running if r.acceptance is not None}
        self.counters.passes["decode_cuda_graph" if step.graph else "decode_none"] += 1
        self.counters.graph_now = step.graph
        # The step's line goes in front of those of the requests that end with it.
        self._account(every, what, due=due, late=late, batch=batch, tokens=batch, accepted=drafts, warm=warm)
        for request in list(self.running):
            if request.rid in drafts:
                request.accepted.append(drafts[request.rid])
            self._emit(request, drafts.get(request.rid, 0), due)
        self._lines.step(
            batch=batch, drafts=drafts, graph=step.graph, used=self._used(), usage=self._usage(), queued=len(self.waiting)
        )  # fmt: skip
        return due

    def _emit(self, request: Request, drafts: int, due: int) -> None:
        pinned = self.settings.pinned_token and bool(request.output)
        corrupt = self.settings.knobs.corrupt_at_token if request.acceptance is not None else 0
        new = request.advance(drafts, pinned_token=PINNED_TOKEN if pinned else None, corrupt_at=corrupt)
        now = time.monotonic_ns()
        if request.first_ns is None:
            request.first_ns = now
            self.counters.ttft.add((now - request.received_ns) / 1e9)
        elif request.chunk_ns:
            self.counters.itl.add((now - request.chunk_ns[-1]) / 1e9 / len(new), len(new))
        if request.done:
            request.end_ns = now
            self.running.remove(request)
        sent = request.sink.tokens(request, new)
        if sent or not request.stream:
            # Taken before the write: nobody can have received it earlier.
            request.chunk_ns.append(now)
            request.late_us.append((now - due) // 1000)
        self.counters.generated_tokens += len(new)
        if request.done:
            self.counters.requests += 1
            self.counters.verify_calls += len(request.accepted)
            self.counters.e2e.add((now - request.received_ns) / 1e9)
            self._truth.request(request, "length")
        elif self._faults.passing(request) == "cut":
            self.running.remove(request)
            request.sink.cut()
            self._truth.request(request, "cut")

    def _tell(self, every: Sequence[Step], what: str, *, due: int, batch: int) -> None:
        """Tell each rank of the step that begins at `due`."""
        number = self._truth.next_step
        same = pack(every[0], kind=what, number=number, batch=batch, began_ns=due)
        self._feed.tell(
            [
                same if step is every[0] else pack(step, kind=what, number=number, batch=batch, began_ns=due)
                for step in every
            ]
        )

    def _account(
        self, every: Sequence[Step], what: str, *, due: int, late: int, batch: int, tokens: int, accepted: dict[str, int], warm: float,
    ) -> None:  # fmt: skip
        step = every[0]  # the rank that reports
        self._load[2] += step.ms / 1000
        if self.profiler.step(every, due_ns=due, batch=batch, tokens=tokens):
            self._log.line("Profiling done.")
        self.counters.timed(step)
        self._truth.step(
            what=what, phases=step.phases, began_ns=due - round(step.ms * 1e6), due_ns=due, late_ns=late, done_ns=due + late, batch=batch,
            graph=step.graph, sample_ms=step.sample_ms, accepted=accepted, heat=warm,
        )  # fmt: skip

    def _usage(self) -> float:
        return self._used() / max(1, self.settings.max_tokens)

    def _used(self) -> int:
        return sum(len(r.prompt) + len(r.output) for r in self.running)
