"""Where a session's seconds went, as its line of the history keeps it for the next plan."""

from __future__ import annotations

import math
from typing import Any

from tests.verdicts.evidence import controls, make_launch, make_run
from tokgate.records import GenerationStatus, RunEvidence
from tokgate.verdicts.baselines.spent import spent_of


def run(
    *, started: str = "2026-11-29T10:00:00+00:00", finished: str | None = None, **changes: Any
) -> RunEvidence:
    launch = controls()[0].model_copy(update={"wall_s": 1000.0, **changes})
    evidence = make_run(launch)
    info = evidence.info.model_copy(update={"started_at": started, "finished_at": finished})
    return evidence.model_copy(update={"info": info})


def test_a_launch_is_its_starts_and_the_rest() -> None:
    told = run(finished="2026-11-29T10:17:00+00:00")
    spent = spent_of(told)
    assert spent is not None
    ((name, one),) = spent.launches.items()
    assert name == told.launches[0].launch.id
    batches: dict[tuple[str, int], list[int]] = {}
    for g in told.launches[0].generations:
        batches.setdefault((g.workload, g.batch), []).extend((g.sent_ns, g.end_ns or 0))
    taking = math.fsum((max(t) - min(t)) / 1e9 for t in batches.values())
    assert abs(one.wall_s - one.rest_s - taking) < 0.02
    assert set(one.starts) == {workload for workload, _ in batches}
    assert spent.besides_s == 20.0


def test_a_launch_that_broke_off_or_failed_a_generation_tells_no_pace() -> None:
    assert spent_of(run(wall_s=None)) is None
    assert spent_of(run(faults=("the server went away",))) is None
    assert spent_of(run(server=None, generations=())) is None  # not started: the machine was not clean
    broken = run()
    first, *others = broken.launches[0].generations
    failed = first.model_copy(update={"status": GenerationStatus.CUT, "why": "reset"})
    assert spent_of(run(generations=(failed, *others))) is None


def test_a_session_without_an_end_or_with_times_that_are_none_says_nothing_of_the_whole() -> None:
    for finished in (None, "yesterday", "2026-11-29T10:17:00"):
        spent = spent_of(run(finished=finished))
        assert spent is not None
        assert spent.besides_s is None


def test_a_launch_without_generations_is_all_rest() -> None:
    evidence = run()
    proof = make_launch((), id="00-nccl-proof", role="nccl-proof", wall_s=7.0)
    spent = spent_of(evidence.model_copy(update={"launches": (proof,)}))
    assert spent is not None
    assert spent.launches["00-nccl-proof"].rest_s == 7.0
