"""One server run in simulated time: simbox's own model, noise, heat and acceptance, without a server and without waiting."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from simbox.acceptance import Acceptance
from simbox.allreduce import understand
from simbox.heat import heat
from simbox.knobs import Knobs
from simbox.model import Rates, Shape, Step, decode_step, every_rank, prefill_step, speculative_step
from simbox.noise import Noise
from tests.verdicts.evidence import make_generation
from tokgate.records import Generation, ServerCounters, SpecCounters

MS = 1_000_000
GAP_MS = 70.0  # between generations: the client flushes the cache
READY_AGE_S = 1.5
WATCH_NS = 200 * MS
RANKS = 8
DRAFT_STEPS, DRAFT_TOKENS = 2, 3


@dataclass
class SimulatedLaunch:
    """What one server run made: generations, what the probe saw in every rank, and what telemetry saw."""

    knobs: Knobs
    name: str
    seed: int
    start: int  # number of the server start: what is drawn follows from it
    speculative: bool
    environments: Sequence[dict[str, str]]  # of each rank, as it was started
    began_ns: int
    stranger_at: int | None = None  # batch in which somebody else's process appears
    generations: list[Generation] = field(default_factory=list)
    calls: list[list[str]] = field(default_factory=lambda: [[] for _ in range(RANKS)])
    telemetry: list[str] = field(default_factory=list)
    in_graph: list[bool] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._noise = Noise(self.knobs, seed=self.seed, start=self.start)
        self._now = float(self.began_ns)
        self._loaded_s = 0.0
        self._extra = [understand(env).extra_us for env in self.environments]

    @property
    def slow_mode(self) -> bool:
        return self._noise.slow_mode

    @property
    def pids(self) -> tuple[int, ...]:
        return tuple(1000 * self.start + 20 + rank for rank in range(RANKS))

    def run(self, *, repeats: int, tokens: int, prompt_tokens: int, probe: bool) -> None:
        """Send one warm-up and `repeats` prompts, one after the other."""
        self._now += 300 * MS
        for batch in range(repeats + 1):
            self.generations.append(self._generation(batch, tokens, prompt_tokens, probe=probe))
            self._now += GAP_MS * MS
        self.telemetry += self._watched()

    def _generation(self, batch: int, tokens: int, prompt_tokens: int, *, probe: bool) -> Generation:
        self._noise.next_request()
        sent = self._now
        accepts = Acceptance(self.knobs, prompt_seed=batch, steps=DRAFT_STEPS)
        shape = Shape(
            DRAFT_STEPS if self.speculative else 0,
            DRAFT_TOKENS if self.speculative else 0,
            graph_max_batch=64,
            verify_graph=self.knobs.verify_graph,
        )
        self._pass_time(self.knobs.handover_ms + prefill_step(self.knobs, self._rates(), prompt_tokens).ms)
        stamps, told = [self._now], [1]
        model = speculative_step if self.speculative else decode_step
        while told[-1] < tokens:
            steps = every_rank(model, self.knobs, shape, self._rates(), 1)
            if probe:
                self._probe(steps)
            self.in_graph.append(steps[0].graph)
            self._pass_time(steps[0].ms)
            more = accepts.accepted() + 1 if self.speculative else 1
            stamps.append(self._now)
            told.append(min(tokens, told[-1] + more))
        first, end = stamps[0], stamps[-1]
        calls = len(stamps) - 1
        return make_generation(
            index=batch,
            launch=self.name,
            tokens=tokens,
            warmup=batch == 0,
            sent_ns=round(sent),
            first_byte_ns=round(sent + MS),
            end_ns=round(end + MS),
            chunk_ns=tuple(round(s) for s in stamps),
            chunk_tokens=tuple(told),
            output_ids=None,
            counters=ServerCounters(
                dialect="0.5.13",
                prompt_tokens=prompt_tokens,
                completion_tokens=tokens,
                cached_tokens=0,
                e2e_latency_s=(end - sent) / 1e9,
                first_token_latency_s=(first - sent) / 1e9,
                decode_throughput=(tokens - 1) / ((end - first) / 1e9),
                finish_reason="length",
                spec=SpecCounters(verify_ct=calls, accept_length=tokens / calls)
                if self.speculative
                else None,
            ),
        )

    def _pass_time(self, ms: float) -> None:
        self._now += ms * MS
        self._loaded_s += ms / 1e3

    def _rates(self) -> Rates:
        slow = self.knobs.slow_rank
        age_s = READY_AGE_S + (self._now - self.began_ns) / 1e9
        hot = heat(self.knobs, busy=True, hanging=False, loaded_s=self._loaded_s).factor
        ranks = [
            (self.knobs.slow_rank_factor if rank == slow else 1.0, extra)
            for rank, extra in enumerate(self._extra)
        ]
        return Rates(kernels=self._noise.step(age_s) * hot, ranks=ranks, mode=self._noise.mode_factor)

    def _probe(self, steps: Sequence[Step]) -> None:
        for rank, step in enumerate(steps):
            at = self._now + rank * 1000
            for phase in ("draft", "verify", "draft_extend"):
                graph = int(step.graph) if phase == "verify" else None
                self.calls[rank].append(
                    json.dumps([phase, round(step.phases[phase], 4), 1, graph, round(at)])
                )
                at += step.phases[phase] * MS
            whole = step.ms - step.phases["host"] * 0.8
            self.calls[rank].append(
                json.dumps(["step", round(whole, 4), 1, int(step.graph), round(self._now)])
            )

    def _watched(self) -> Iterator[str]:
        """Yield rows of telemetry, five a second, from before the first request to after the last."""
        busy = [(g.sent_ns, g.end_ns or 0, g.batch) for g in self.generations]
        loaded_s, seq, last = 0.0, 0, busy[-1][1] + 400 * MS
        at = self.began_ns
        for pid, rank in zip(self.pids, range(RANKS), strict=True):
            yield _line("process", at, pid=pid, start_ticks=pid, user="root", command=_rank(rank), ours=True)
        while at < last:
            seq += 1
            now = next((b for b in busy if b[0] <= at <= b[1]), None)
            loaded_s += WATCH_NS / 1e9 if now else 0.0
            gpus = []
            for gpu in range(RANKS):
                one = heat(self.knobs, busy=now is not None, hanging=False, loaded_s=loaded_s, gpu=gpu)
                reasons = (0x20 if one.throttled else 0) | (0x4 if one.capped else 0)
                gpus.append([gpu, one.sm_mhz, 12481.0, one.celsius, one.watts, one.utilization, reasons])
            yield _line("gpus", at, seq=seq, host_s=at / 1e9, gpus=gpus)
            yield _line(
                "host", at, seq=seq, host_s=at / 1e9, load1=0.5, busy=seq * 10, steal=0, total=seq * 160
            )
            holders = [[r, pid, pid, 85598.0, _rank(r)] for r, pid in enumerate(self.pids)]
            if self.stranger_at is not None and now is not None and now[2] >= self.stranger_at:
                holders.append([5, 66, 66, 1894.0, "python3"])
                yield _line(
                    "process", at, pid=66, start_ticks=66, user="else", command="python3 train.py", ours=False
                )
            yield _line("holders", at, seq=seq, host_s=at / 1e9, holders=holders)
            at += WATCH_NS


def _rank(rank: int) -> str:
    return f"sglang::scheduler_TP{rank}"


def _line(kind: str, at: int, **fields: object) -> str:
    return json.dumps({"kind": kind, "at_ns": at, **fields})
