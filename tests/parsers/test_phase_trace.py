from __future__ import annotations

import json
from typing import Any

import pytest

from tests.parsers.traces import ALL_REDUCE, MATMUL, event, kernel, trace
from tokgate.parsers.phase_names import phase_names
from tokgate.parsers.phase_trace import PhaseTrace, read_phase_trace
from tokgate.parsers.trace_work import GpuWork, TraceEvents
from tokgate.records.phases import Phase, PhaseReading

GRAPH, PLAIN = 7000, 8000  # correlations


def mark(name: str, at: float, length: float, *, host: bool = False) -> dict[str, Any]:
    return event(name, "user_annotation" if host else "gpu_user_annotation", at, length)


def launched(name: str, at: float, length: float, correlation: int) -> dict[str, Any]:
    return event(name, "kernel", at, length, args={"stream": 7, "correlation": correlation})


def cycle(at: float, *, verify: str = "step[TARGET_VERIFY bs=1]", graph: bool = True) -> list[dict[str, Any]]:
    """One cycle of 6 ms: draft 250 us, verify 5.3 ms with 4.5 ms at work, draft_extend 300 us, then the host."""
    by = GRAPH if graph else PLAIN
    return [
        event(
            "cudaGraphLaunch" if graph else "cudaLaunchKernel",
            "cuda_runtime",
            at,
            5.0,
            args={"correlation": by},
        ),
        mark("draft", at, 250.0),
        launched(MATMUL, at, 250.0, PLAIN),
        mark(verify, at + 300, 5300.0),
        launched(MATMUL, at + 300, 4000.0, by),
        launched(ALL_REDUCE, at + 5000, 500.0, by),
        launched(MATMUL, at + 5600, 0.0, PLAIN),
        mark("draft_extend", at + 5600, 300.0),
        launched(MATMUL, at + 5600, 300.0, PLAIN),
    ]


def prefill(at: float) -> list[dict[str, Any]]:
    return [
        mark("step[EXTEND bs=1 toks=2]", at, 400.0),
        launched(MATMUL, at, 400.0, PLAIN),
        mark("draft_extend", at + 400, 100.0),
        mark("step[EXTEND bs=1 toks=2]", at + 410, 80.0),
    ]


def read(events: list[dict[str, Any]], **more: Any) -> PhaseTrace:
    return read_phase_trace([trace(events, **more)], file="t.json.gz", concurrency=1, workload="short")


def of(found: PhaseTrace, phase: Phase) -> PhaseReading:
    return next(r for r in found.readings if r.phase is phase)


def test_phases_by_their_marks() -> None:
    found = read([*prefill(0), *cycle(1000), *cycle(7000), *cycle(13_000)])
    verify, draft, extend = (of(found, p) for p in (Phase.VERIFY, Phase.DRAFT, Phase.DRAFT_EXTEND))
    assert (verify.n, verify.mean_ms, verify.busy_ms) == (3, 5.3, 4.5)
    assert (draft.n, draft.mean_ms, draft.warnings) == (3, 0.25, ())
    assert (extend.n, extend.mean_ms) == (3, 0.3)
    assert (verify.rank, verify.clock, verify.workload, verify.concurrency) == (3, "gpu", "short", 1)
    assert (of(found, Phase.STEP).n, of(found, Phase.STEP).mean_ms) == (2, 6.0)


def test_a_prefill_has_a_draft_extend_that_is_no_cycles() -> None:
    found = read([*prefill(0), *cycle(1000), *prefill(8000), *cycle(9000)])
    assert of(found, Phase.DRAFT_EXTEND).n == 2
    assert all(r.phase is not Phase.STEP for r in found.readings), "a prefill lay between the two cycles"


@pytest.mark.parametrize("name", ["step[TARGET_VERIFY bs=1]", "step[VERIFY bs=1]", "verify"])
def test_a_verify_goes_by_several_names(name: str) -> None:
    assert of(read(cycle(0, verify=name)), Phase.VERIFY).n == 1


def test_a_mark_inside_a_verify_is_the_same_verify() -> None:
    events = [*cycle(0, verify="verify"), mark("step[VERIFY bs=1]", 400, 5000.0)]
    assert (of(read(events), Phase.VERIFY).n, of(read(events), Phase.VERIFY).mean_ms) == (1, 5.3)


def test_a_draft_models_own_passes_are_no_decode() -> None:
    events = [*cycle(0), mark("step[DECODE bs=1]", 10, 100.0)]
    assert all(r.phase is not Phase.DECODE for r in read(events).readings)


def test_plain_decode_steps() -> None:
    events = [mark("step[DECODE bs=1]", at * 1000.0, 900.0) for at in range(4)]
    events += [launched(MATMUL, at * 1000.0, 800.0, GRAPH) for at in range(4)]
    found = read([event("cudaGraphLaunch", "cuda_runtime", 0, 1.0, args={"correlation": GRAPH}), *events])
    assert (of(found, Phase.DECODE).n, of(found, Phase.DECODE).mean_ms, of(found, Phase.DECODE).busy_ms) == (
        4,
        0.9,
        0.8,
    )
    assert found.graphs.share == 1.0


def test_a_phase_in_which_the_gpu_waited_says_so() -> None:
    events = [*cycle(0), mark("draft", 6000, 1000.0), launched(MATMUL, 6000, 250.0, PLAIN)]
    assert "waited for the profiled host" in of(read(events), Phase.DRAFT).warnings[0]


@pytest.mark.parametrize(("graph", "share"), [(True, 1.0), (False, 0.0)])
def test_whether_a_verify_ran_in_a_graph_is_told_by_what_launched_its_kernels(
    *, graph: bool, share: float
) -> None:
    found = read([*cycle(0, graph=graph), *cycle(6000, graph=graph)])
    assert (found.graphs.share, found.graphs.n) == (share, 2)
    assert of(found, Phase.VERIFY).graph_share == share


def test_kernels_that_do_not_say_what_launched_them_leave_graphs_unknown() -> None:
    found = read([mark("step[TARGET_VERIFY bs=1]", 0, 100.0), kernel(MATMUL, 10)])
    assert found.graphs.share is None
    assert "tells what launched it" in (found.graphs.why or "")


def test_what_the_gpu_did_meanwhile() -> None:
    facts = read([*prefill(0), *cycle(1000), *cycle(7000)]).facts
    assert facts is not None
    assert (facts.steps, facts.graph_launches, facts.complete) == (2, 1, True)
    assert facts.span_ms == 11.9
    assert (facts.kernel_ms, facts.busy_ms) == pytest.approx((10.1, 10.1))
    assert facts.idle_share == pytest.approx(1 - 10.1 / 11.9)
    assert facts.nccl_share == pytest.approx(1.0 / 10.1)
    assert [(k.name, k.calls) for k in facts.nccl] == [(ALL_REDUCE, 2)]


def test_kernels_side_by_side_are_busy_once() -> None:
    events = [mark("step[DECODE bs=1]", 0, 100.0), kernel("a", 0, 60.0), kernel("b", 30, 60.0, stream=9)]
    facts = read(events).facts
    assert facts is not None
    assert (facts.kernel_ms, facts.busy_ms) == pytest.approx((0.12, 0.09))


def test_without_a_gpu_the_marks_of_the_host_are_the_phases() -> None:
    events = [mark("draft", 0, 100.0, host=True), mark("step[VERIFY bs=1]", 100, 500.0, host=True)]
    found = read(events)
    assert (of(found, Phase.VERIFY).clock, of(found, Phase.VERIFY).mean_ms) == ("host", 0.5)
    assert found.facts is None


def test_on_a_gpu_the_hosts_marks_are_only_launches_and_do_not_count() -> None:
    found = read([mark("step[VERIFY bs=1]", 0, 500.0, host=True), kernel(MATMUL, 10)])
    assert found.readings == ()
    assert "no phase is marked" in (found.why or "")


def test_a_trace_without_marks_names_what_was_looked_for() -> None:
    why = read([kernel(MATMUL, 1.0)]).why or ""
    assert why.startswith("t.json.gz: no phase is marked: looked for draft (SGLang 0.5.16 and later)")
    assert "step[TARGET_VERIFY …] (SGLang up to 0.5.16)" in why


def test_half_a_trace_tells_what_it_has() -> None:
    events = [e for n in range(20) for e in cycle(n * 6000.0)]
    whole = trace(events, packed=False)
    found = read_phase_trace([whole[: len(whole) // 2]], file="t", concurrency=1)
    assert 0 < of(found, Phase.VERIFY).n < 20
    assert found.facts is not None
    assert not found.facts.complete
    assert "torn" in found.unread[0].why


def test_odd_events_are_passed_over() -> None:
    odd: list[Any] = [
        {"cat": "gpu_user_annotation", "name": "draft", "ts": "soon", "dur": 1},
        {"cat": "gpu_user_annotation", "name": ["draft"], "ts": 1, "dur": 1},
        {"cat": "kernel", "name": "k", "ts": 1, "dur": 1, "args": {"correlation": -5}},
        {"cat": ["kernel"], "name": "k", "ts": 1, "dur": 1},
        {"cat": "cuda_runtime", "name": "cudaGraphLaunch", "ts": 1, "dur": 1, "args": None},
        3,
    ]
    text = json.dumps({"traceEvents": [*odd, *cycle(0)]}).encode()
    found = read_phase_trace([text], file="t", concurrency=1)
    assert of(found, Phase.VERIFY).n == 1


def test_no_name_stands_for_two_phases() -> None:
    for source in ("device-timer", "trace"):
        texts = [n.text for n in phase_names(source)]
        assert len(texts) == len(set(texts))
        assert texts


def test_marks_that_overlap_cost_no_more_than_marks_that_do_not() -> None:
    events = [mark("step[VERIFY bs=1]", number * 2.0, 1e6) for number in range(2000)]
    events += [launched(MATMUL, 4000 + number * 0.01, 0.005, GRAPH) for number in range(20_000)]
    looked_at = 0

    class Counted(list[int]):
        def __getitem__(self, key: Any) -> Any:
            nonlocal looked_at
            found = super().__getitem__(key)
            looked_at += len(found) if isinstance(key, slice) else 0
            return found

    original = GpuWork.__init__

    def counting(self: GpuWork, taken: TraceEvents) -> None:
        original(self, taken)
        self.order = Counted(self.order)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(GpuWork, "__init__", counting)
        found = read(events)
    assert found.graphs.n == 2000
    assert looked_at <= 20_000


@pytest.mark.parametrize("at", [-1.7e308, 1.7e308])
def test_a_moment_beyond_all_measure_is_no_event(at: float) -> None:
    found = read([*cycle(0), *cycle(7000), mark("draft", at, 10.0), launched(MATMUL, at, 5.0, GRAPH)])
    assert all(r.mean_ms < 100 for r in found.readings)
    assert found.facts is not None
    assert found.facts.span_ms < 100
