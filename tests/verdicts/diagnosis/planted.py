"""Sessions into which one cause was planted."""

from __future__ import annotations

from collections.abc import Callable

from tests.verdicts.evidence import (
    controls,
    eagle3,
    make_launch,
    make_rig,
    make_run,
    make_slate,
)
from tokgate.records import (
    ClientLoad,
    Finding,
    GenerationStatus,
    LaunchEvidence,
    Liveness,
    RunEvidence,
    StartFailure,
    VariableState,
)
from tokgate.records.server import StartCause
from tokgate.records.telemetry import GpuWindow, Spread, Stranger, Window
from tokgate.verdicts.diagnosis import names

RIG = make_rig(
    workloads=[{"name": "single", "prompts": "ids", "output_tokens": 256, "repeats": 6}],
    budgets=[{"metric": "decode_tok_s", "arm": "baseline", "workload": "single", "at_least": 44.0}],
)


def session(**changes: object) -> RunEvidence:
    """A control before and after, and the arm: faster than its twin."""
    before, after = controls()
    return make_run(before, eagle3(), after, **changes)


def changed(run: RunEvidence, number: int, **changes: object) -> RunEvidence:
    launches = list(run.launches)
    launches[number] = launches[number].model_copy(update=changes)
    return run.model_copy(update={"launches": tuple(launches)})


def each(run: RunEvidence, change: Callable[[LaunchEvidence], dict[str, object]]) -> RunEvidence:
    return run.model_copy(update={"launches": tuple(e.model_copy(update=change(e)) for e in run.launches)})


def _window(**changes: object) -> Window:
    fields = {
        "workload": "single",
        "batch": 0,
        "warmup": False,
        "failed": False,
        "start_ns": 0,
        "end_ns": 10,
        **changes,
    }
    return Window.model_validate(fields)


def _hot(launch: LaunchEvidence) -> dict[str, object]:
    gpus = (
        GpuWindow(
            index=0,
            rows=5,
            sm_mhz=Spread(minimum=1500, median=1500, maximum=1500),
            celsius_max=92,
            reasons={"sw_thermal_slowdown": 5},
        ),
    )
    return {"windows": tuple(_window(batch=b, gpus=gpus) for b in range(6))}


def _busy(launch: LaunchEvidence) -> dict[str, object]:
    load = ClientLoad(cpu_s=9.0, wall_s=10.0, events=1000, ceiling_events_per_s=110.0)
    return {"client": {"single": load}}


def _unclean() -> RunEvidence:
    finding = Finding(severity="unclean", what="GPU 3: 1894 MiB are allocated", do="find its owner")
    return session(slate_at_start=make_slate(findings=(finding,)))


def _unseen() -> RunEvidence:
    finding = Finding(severity="unknown", what="nvidia-smi does not answer", do="run it by hand")
    return session(slate_at_start=make_slate(findings=(finding,)))


def _foreign() -> RunEvidence:
    stranger = Stranger(pid=66, start_ticks=1, gpus=(5,), user="else", seen_after_s=0.1)
    return changed(session(), 0, windows=(_window(strangers=(stranger,)),))


def _cut() -> RunEvidence:
    run = session()
    cut = run.launches[0].generations[2].model_copy(update={"status": GenerationStatus.CUT, "why": "no end"})
    return changed(run, 0, generations=(*run.launches[0].generations[:2], cut))


def _timed_out() -> RunEvidence:
    run = session()
    late = (
        run.launches[0]
        .generations[2]
        .model_copy(update={"status": GenerationStatus.TIMED_OUT, "why": "no end within 10 s"})
    )
    return changed(run, 0, generations=(*run.launches[0].generations[:2], late))


def _no_start() -> RunEvidence:
    failure = StartFailure(cause=StartCause.DOES_NOT_FIT, headline="it does not fit", do="free GPU 3")
    return changed(session(), 1, server=None, failure=failure, generations=())


def _counted(**counters: object) -> RunEvidence:
    run = session()
    first, *rest = run.launches[0].generations
    assert first.counters is not None
    odd = first.model_copy(update={"counters": first.counters.model_copy(update=counters)})
    return changed(run, 0, generations=(odd, *rest))


def _variable(name: str) -> RunEvidence:
    def rows(launch: LaunchEvidence) -> dict[str, object]:
        assert launch.environment is not None
        wrong = tuple(
            r.model_copy(update={"state": VariableState.ABSENT, "found": None})
            if r.variable == name and r.process == "scheduler TP1"
            else r
            for r in launch.environment.rows
        )
        return {"environment": launch.environment.model_copy(update={"rows": wrong})}

    return each(session(), rows)


def _off() -> RunEvidence:
    run = session()
    silent = tuple(
        g.model_copy(update={"counters": g.counters.model_copy(update={"spec": None})})
        for g in run.launches[1].generations
        if g.counters is not None
    )
    return changed(run, 1, generations=silent)


def slow_base() -> RunEvidence:
    before, after = controls((40.0, 40.1, 39.9, 40.0, 40.1, 39.9), (40.0, 40.1, 39.9, 40.0, 40.1, 39.9))
    return make_run(before, eagle3(), after)


def _drifting() -> RunEvidence:
    rates = (44.0, 43.0, 42.0, 41.0, 40.0, 39.0)
    generations = tuple(
        g.model_copy(update={"sent_ns": n * 10**10}) for n, g in enumerate(make_launch().generations)
    )
    launch = make_launch(
        tuple(
            g.model_copy(
                update={
                    "counters": g.counters.model_copy(update={"decode_throughput": rate}),
                    "chunk_ns": tuple(g.sent_ns + round(i * 1e9 / rate) + 1 for i in range(256)),
                    "first_byte_ns": g.sent_ns + 1,
                    "end_ns": g.sent_ns + round(256e9 / rate),
                }
            )
            for g, rate in zip(generations, rates, strict=True)
            if g.counters is not None
        )
    )
    return make_run(launch)


CAUSES: dict[str, Callable[[], RunEvidence]] = {
    names.UNCLEAN: _unclean,
    names.UNSEEN: _unseen,
    names.FOREIGN: _foreign,
    names.FAILED: _cut,
    names.HUNG: _timed_out,
    names.DIED: lambda: changed(session(), 0, liveness=Liveness(alive=False, answered=False, why="signal 9")),
    names.NO_START: _no_start,
    names.COUNTERS: lambda: _counted(contradictions=("cached > prompt",)),
    names.CACHE: lambda: _counted(cached_tokens=4),
    names.NCCL: lambda: _variable("NCCL_ALGO"),
    names.ENVIRONMENT: lambda: _variable("SPT_NOENV"),
    names.OFF: _off,
    names.CLIENT: lambda: each(session(), _busy),
    names.HEAT: lambda: each(session(), _hot),
    names.BASE: slow_base,
    names.DRIFT: _drifting,
}
