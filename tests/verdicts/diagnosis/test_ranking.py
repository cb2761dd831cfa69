"""From evidence to ranked causes: what voids the numbers comes first, what is not it is said, and nothing is made up."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests.verdicts.evidence import (
    controls,
    eagle3,
    make_fingerprint,
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
    Outcome,
    RunEvidence,
    StartFailure,
    VariableState,
    Verdict,
)
from tokgate.records.server import StartCause
from tokgate.records.telemetry import GpuWindow, Spread, Stranger, Window
from tokgate.verdicts.diagnosis import names
from tokgate.verdicts.diagnosis.cause import Cause, Diagnosis, Explained, Strength
from tokgate.verdicts.diagnosis.ranking import NOTHING, diagnose, in_order

RIG = make_rig(
    workloads=[{"name": "single", "prompts": "ids", "output_tokens": 256, "repeats": 6}],
    budgets=[{"metric": "decode_tok_s", "arm": "baseline", "workload": "single", "at_least": 44.0}],
)
BAD = Verdict(check="decode_throughput", outcome=Outcome.INVALID, headline="it cannot be judged")


def session(**changes: object) -> RunEvidence:
    """A control before and after, and the arm: faster than its twin."""
    before, after = controls()
    return make_run(before, eagle3(), after, **changes)


def found(run: RunEvidence, *verdicts: Verdict) -> Diagnosis:
    return diagnose(RIG, run, verdicts or (BAD,), {})


def ranked(run: RunEvidence, *verdicts: Verdict) -> list[str]:
    return [cause.name for cause in found(run, *verdicts).causes]


def one(causes: tuple[Cause, ...], name: str) -> Cause:
    (cause,) = (c for c in causes if c.name == name)
    return cause


def changed(run: RunEvidence, number: int, **changes: object) -> RunEvidence:
    launches = list(run.launches)
    launches[number] = launches[number].model_copy(update=changes)
    return run.model_copy(update={"launches": tuple(launches)})


def each(run: RunEvidence, change: Callable[[LaunchEvidence], dict[str, object]]) -> RunEvidence:
    return run.model_copy(update={"launches": tuple(e.model_copy(update=change(e)) for e in run.launches)})


def test_a_session_that_passes_has_no_causes() -> None:
    passes = Verdict(check="decode_throughput", outcome=Outcome.PASS, headline="fine")
    assert found(session(), passes) == Diagnosis()
    dirty = make_fingerprint({"sglang.dirty": "yes"})
    assert found(session(fingerprint=dirty), passes).causes == ()


def test_where_nothing_stands_out_that_is_said_and_what_was_looked_at() -> None:
    told = found(session())
    assert told.causes == ()
    assert told.note == NOTHING
    not_it = {c.name: c.words for c in told.excluded}
    assert not_it[names.NCCL] == "the whole block is proven in all 2 ranks"
    assert names.UNCLEAN in not_it
    assert names.TREE in not_it
    assert "the plain arm is within the limits of the rig" in not_it[names.BASE]


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


def _slow() -> RunEvidence:
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
    names.BASE: _slow,
    names.DRIFT: _drifting,
}


@pytest.mark.parametrize("name", CAUSES)
def test_what_is_planted_is_ranked_first(name: str) -> None:
    told = found(CAUSES[name]())
    assert told.causes[0].name == name, [c.words for c in told.causes]
    assert told.causes[0].do
    assert told.causes[0].strength in (Strength.PROVEN, Strength.CONSISTENT)
    assert name not in [c.name for c in told.excluded]


def _verdicts() -> Iterator[tuple[str, Verdict]]:
    yield names.LOSSY, Verdict(check="lossless", outcome=Outcome.REGRESSED, headline="changes the output")
    yield names.PROBE, Verdict(check="probe_cost", outcome=Outcome.INVALID, headline="the probe costs 2 %")
    yield (
        names.NCCL_COSTS,
        Verdict(check="nccl_tuning", outcome=Outcome.REGRESSED, headline="the block costs 4 %", change=-0.04),
    )


@pytest.mark.parametrize(("name", "verdict"), list(_verdicts()))
def test_what_a_check_has_found_is_ranked_first(name: str, verdict: Verdict) -> None:
    assert ranked(session(), verdict)[0] == name


def test_an_ab_of_this_session_isolates() -> None:
    told = found(session(), *(v for _, v in _verdicts()))
    isolated = {c.name: c.isolated_by for c in told.causes if c.strength is Strength.ISOLATED}
    assert set(isolated) == {names.PROBE, names.NCCL_COSTS}
    assert all(isolated.values())
    assert all(c.isolated_by is None for c in told.causes if c.strength is Strength.CONSISTENT)


def test_an_ab_that_found_nothing_excludes_and_is_named() -> None:
    bought = Verdict(check="nccl_tuning", outcome=Outcome.PASS, headline="the block buys 40 %", change=0.4)
    cause = one(found(session(), BAD, bought).excluded, names.NCCL)
    assert cause.isolated_by is not None
    assert cause.evidence_against == ("the block buys 40 %",)


def test_what_voids_the_numbers_comes_before_every_loss_whose_size_is_known() -> None:
    run = _slow()
    finding = Finding(severity="unclean", what="GPU 3: 1894 MiB are allocated", do="find its owner")
    run = run.model_copy(update={"slate_at_start": make_slate(findings=(finding,))})
    assert ranked(run) == [names.UNCLEAN, names.BASE]


def test_a_patched_tree_that_cost_the_plain_arm_nothing_is_excluded() -> None:
    run = session(fingerprint=make_fingerprint({"sglang.dirty": "yes"}))
    cause = one(found(run).excluded, names.TREE)
    assert "the plain arm lost nothing with it" in cause.words
    assert cause.evidence_against


def test_a_patched_tree_beside_a_loss_of_the_plain_arm_takes_it() -> None:
    run = _slow().model_copy(
        update={"fingerprint": make_fingerprint({"sglang.dirty": "yes", "sglang.changed": "1: scheduler.py"})}
    )
    (cause,) = found(run).causes
    assert (cause.name, cause.strength) == (names.TREE, Strength.CONSISTENT)
    assert cause.share == pytest.approx(1 - 40.0 / 44.0, abs=0.002)
    assert "scheduler.py" in cause.evidence_for[0]


def test_a_variable_that_cannot_be_read_leaves_nccl_open_and_last() -> None:
    def erased(launch: LaunchEvidence) -> dict[str, object]:
        assert launch.environment is not None
        rows = tuple(
            r.model_copy(update={"state": VariableState.ERASED, "found": None})
            if r.process.startswith("scheduler")
            else r
            for r in launch.environment.rows
        )
        return {"environment": launch.environment.model_copy(update={"rows": rows})}

    told = found(each(_slow(), erased))
    assert [c.name for c in told.causes] == [names.BASE, names.NCCL]
    assert told.causes[-1].strength is Strength.WEAK
    assert "SPT_NOENV=1" in told.causes[-1].do


def test_it_is_a_function_of_the_evidence_alone() -> None:
    assert found(_slow()) == found(_slow())


def test_an_empty_session_is_told_as_one() -> None:
    assert found(make_run()).causes == ()


def test_a_client_that_nobody_could_judge_is_no_cause() -> None:
    """The launch was invalid for another reason; the check on the client says so too."""
    verdict = Verdict(check="client_headroom", outcome=Outcome.INVALID, headline="GPU 5 ran at 1944 MHz")
    assert names.CLIENT not in ranked(session(), verdict)


def cause(name: str, share: float, workload: str, arm: str = "eagle3-2step") -> Cause:
    explained = Explained(
        arm=arm, workload=workload, against="baseline", loss=share, share=share, by="phases"
    )
    return Cause(name=name, strength=Strength.CONSISTENT, words=name, explains=(explained,), do="look")


@pytest.mark.parametrize(
    ("verify", "arm", "first"),
    [
        (
            0.194,
            "eagle3-2step",
            "verify slower",
        ),  # the same loss under two loads, named by the one that was looked into
        (0.05, "eagle3-2step", names.CYCLE),  # most of it has no name yet
        (0.194, "eagle3-3step", names.CYCLE),  # another arm's verify says nothing of this one's cycle
    ],
)
def test_a_cycle_without_phases_follows_the_load_that_names_what_is_longer(
    verify: float, arm: str, first: str
) -> None:
    unnamed, named = cause(names.CYCLE, 0.196, "conc8"), cause("verify slower", verify, "single", arm)
    assert in_order([unnamed, named])[0].name == first
