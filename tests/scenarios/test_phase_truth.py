"""Each source of phases tells within 1 % what the box really did, in every rank, for one request and for eight."""

from __future__ import annotations

import gzip
import statistics
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from simbox.truth_phases import Cycle, cycles, means
from simbox.truth_reader import Run, read
from tests.simbox.serving import EAGLE3, TUNED, Serving, serving
from tokgate.parsers.phase_trace import PhaseTrace, read_phase_trace
from tokgate.parsers.probe_file import read_probe_file
from tokgate.parsers.probe_records import Call
from tokgate.records.phases import Phase, PhaseReading

from .gate_run import GateRun
from .phase_stories import LONG, Instrumented

WITHIN = 0.01
RANKS = 8
AFTER_NS = 100_000_000  # the ranks follow main by some milliseconds
PHASES = (Phase.DRAFT, Phase.VERIFY, Phase.DRAFT_EXTEND)
WORKLOADS = pytest.mark.parametrize(("workload", "together"), [("single", 1), ("conc8", 8)])


@pytest.fixture
def told(phases: GateRun) -> Instrumented:
    return Instrumented.of(phases)


def reading(told: Instrumented, phase: Phase, source: str, workload: str, rank: int | None) -> PhaseReading:
    assert told.evidence.phases is not None
    found = [
        r
        for r in told.evidence.phases.find(phase, source, workload=workload)  # type: ignore[arg-type]
        if r.requests is None and (rank is None or r.rank == rank)
    ]
    assert len(found) == 1, f"{len(found)} readings of {phase} by {source}"
    return found[0]


def test_no_source_is_silent(told: Instrumented, phases: GateRun) -> None:
    assert told.evidence.phases is not None
    assert told.evidence.phases.unknown == {}
    assert phases.outcome(check="phases_agree") == "pass", phases.told()


@WORKLOADS
def test_the_cycle_of_the_answers_is_the_boxs(told: Instrumented, workload: str, together: int) -> None:
    cycle = reading(told, Phase.STEP, "cycle", workload, None)
    windows = told.windows(workload)
    really = [
        request["cycle_ms"]
        for request in told.truth.requests
        if any(w.start_ns <= request["end_ns"] <= w.end_ns for w in windows)
    ]
    assert (cycle.n, cycle.concurrency) == (len(really), together)
    assert cycle.mean_ms == pytest.approx(statistics.fmean(really), rel=WITHIN)
    planned = means(told.really(workload))["cycle"].gpu_ms
    assert cycle.mean_ms == pytest.approx(planned, rel=WITHIN)


@WORKLOADS
@pytest.mark.parametrize("phase", PHASES)
def test_the_device_timer_tells_what_the_gpu_did(
    told: Instrumented, phase: Phase, workload: str, together: int
) -> None:
    timer = reading(told, phase, "device-timer", workload, None)
    real = told.really(workload)
    outside = statistics.fmean(c.sample_ms for c in real) if phase is Phase.VERIFY else 0.0
    assert (timer.n, timer.rank, timer.concurrency) == (len(real), 0, together)
    assert timer.mean_ms == pytest.approx(means(real)[phase.value].gpu_ms - outside, rel=WITHIN)


def test_what_is_left_of_the_cycle_is_the_schedulers_and_the_sampling(told: Instrumented) -> None:
    """One stream only: of several the cycle is a mean over answers, and the timer's over passes of any batch."""
    real = told.really("single")
    left = means(real)["rest"].gpu_ms + statistics.fmean(c.sample_ms for c in real)
    rest = reading(told, Phase.REST, "device-timer", "single", None)
    cycle = reading(told, Phase.STEP, "cycle", "single", None)
    # A difference of two clocks: a hundredth of what was subtracted from.
    assert rest.mean_ms == pytest.approx(left, abs=WITHIN * cycle.mean_ms)


@WORKLOADS
@pytest.mark.parametrize("phase", PHASES)
def test_the_probe_tells_of_every_rank_what_its_process_spent(
    told: Instrumented, phase: Phase, workload: str, together: int
) -> None:
    for rank in range(RANKS):
        probe = reading(told, phase, "probe", workload, rank)
        real = means(told.really(workload, rank=rank))[phase.value]
        assert probe.concurrency == together
        assert probe.p50_ms == pytest.approx(real.host_p50_ms, rel=WITHIN), f"rank {rank}"


@WORKLOADS
@pytest.mark.parametrize("rank", range(RANKS))
def test_the_probe_misses_no_call_and_no_graph(
    told: Instrumented, phases: GateRun, workload: str, together: int, rank: int
) -> None:
    """Counted from one start to the next: the last draft_extend of a rank may begin behind the client's last token."""
    calls = calls_of(phases, told, rank)
    for since, until in spans(told, workload):
        mine = [c for c in calls if since <= c.began_ns < until]
        real = cycles(told.truth, rank=rank, kind="verify", between_ns=(since, until))
        assert real
        for phase in (*PHASES, Phase.STEP):
            assert sum(c.phase is phase for c in mine) == len(real)
        verifies = [c for c in mine if c.phase is Phase.VERIFY]
        assert [c.requests for c in verifies] == [c.batch for c in real]
        assert [c.graph for c in verifies] == [c.graph for c in real]


@WORKLOADS
def test_every_source_of_graphs_tells_the_boxs_share(
    told: Instrumented, workload: str, together: int
) -> None:
    assert told.evidence.phases is not None
    assert told.evidence.phases.graphs is not None
    real = told.really(workload)
    share = sum(c.graph for c in real) / len(real)
    shares = {
        r.source: r.share for r in told.evidence.phases.graphs.readings if r.concurrency == together and r.n
    }
    assert {"probe", "pass-counter"} <= set(shares)
    assert set(shares.values()) == {share}


def calls_of(run: GateRun, told: Instrumented, rank: int) -> tuple[Call, ...]:
    files = [
        read_probe_file([path.read_bytes()], name=path.name)
        for path in run.files(f"launches/{told.evidence.launch.id}/probe/*.jsonl")
    ]
    (mine,) = (f for f in files if f.header is not None and f.header.rank == rank)
    return tuple(sorted(mine.calls, key=lambda call: call.began_ns))


def spans(told: Instrumented, workload: str) -> Iterator[tuple[int, int]]:
    """Yield each judged start, until whatever comes next begins."""
    everything = sorted(told.evidence.windows, key=lambda w: w.start_ns)
    nexts = [w.start_ns for w in everything[1:]] + [everything[-1].end_ns + AFTER_NS]
    for window, following in zip(everything, nexts, strict=True):
        if window.workload == workload and not window.warmup:
            yield window.start_ns, min(following, window.end_ns + AFTER_NS)


def test_the_sessions_own_trace_tells_what_the_gpu_did(told: Instrumented) -> None:
    """Of a few steps behind all that is timed: the box's steps differ by 0.3 % among themselves."""
    assert told.evidence.phases is not None
    by_trace = [r for r in told.evidence.phases.readings if r.source == "trace" and r.phase in PHASES]
    assert {r.phase for r in by_trace} == set(PHASES)
    real = told.really("single")
    for mine in by_trace:
        assert mine.concurrency == 1
        assert mine.mean_ms == pytest.approx(told_ms(real, mine.phase), rel=WITHIN), mine


# ---------------------------------------------------------------- traces, of a server of their own: nothing timed runs profiled
TOKENS = 32


@pytest.fixture(scope="module", params=[1, 8])
def traced(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[int, Path, Run]:
    """Return how many ran together, the folder of the traces of both ranks, and the truth."""
    folder = tmp_path_factory.mktemp("traced")
    together: int = request.param
    knobs = "".join(f"{name} = {value}\n" for name, value in LONG.items())
    with serving(folder / "box", "--tp-size", "2", *EAGLE3, knobs=knobs, **TUNED) as server:
        server.generate(tokens=4)
        server.ask("POST", "/start_profile", {"output_dir": str(folder / "trace")})
        with ThreadPoolExecutor(together) as pool:
            list(pool.map(lambda n: server.generate(f"prompt {n}", tokens=TOKENS), range(together)))
        assert server.ask("POST", "/stop_profile")[0] == 200
        return together, folder / "trace", whole(server, together + 1)


def whole(server: Serving, requests: int) -> Run:
    """Read the truth once every step stands in the record of both ranks."""
    server.truth("request", expected=requests)
    until = time.monotonic() + 10
    while True:
        (run,) = read(server.state)
        steps = sum(step["done_ns"] > run.warm_ns for step in run.steps)
        if all(len(cycles(run, rank=rank)) == steps for rank in (0, 1)):
            return run
        assert time.monotonic() < until
        threading.Event().wait(0.02)


def test_a_trace_of_each_rank_tells_its_phases(traced: tuple[int, Path, Run]) -> None:
    together, folder, run = traced
    assert run.late is None, run.late
    first = min(r["received_ns"] for r in run.requests[1:])
    found = [trace_of(path, together) for path in sorted(folder.glob("*.gz"))]
    assert {r.rank for trace in found for r in trace.readings} == {0, 1}
    for trace in found:
        rank = trace.readings[0].rank or 0
        real = cycles(run, rank=rank, kind="verify", between_ns=(first, time.monotonic_ns()))
        assert trace.graphs.share == 1.0
        for phase in PHASES:
            (mine,) = (r for r in trace.readings if r.phase is phase)
            gpu_ms = told_ms(real, phase)
            assert mine.n == len(real)
            assert mine.mean_ms == pytest.approx(gpu_ms, rel=WITHIN), f"{phase} of rank {rank}"
            assert mine.busy_ms == pytest.approx(gpu_ms, rel=WITHIN), f"{phase} of rank {rank}, at work"


def trace_of(path: Path, together: int) -> PhaseTrace:
    trace = read_phase_trace([gzip.decompress(path.read_bytes())], file=path.name, concurrency=together)
    assert trace.why is None, trace.why
    return trace


def told_ms(real: tuple[Cycle, ...], phase: Phase) -> float:
    """Sampling is part of a verify, and no forward pass: no mark and no kernel of it."""
    outside = sum(c.sample_ms for c in real) if phase is Phase.VERIFY else 0.0
    return (sum(c.gpu_ms[phase.value] for c in real) - outside) / len(real)
