"""What is said before a session: of the launches that this selection makes, and of no other."""

from __future__ import annotations

from tests.rig.test_sweep import sweep_rig
from tests.session.rigs import small_rig
from tests.session.test_plan import instrumented_rig, nccl_rig
from tokgate.session.plan import batches_of, plan_launches, workloads_of
from tokgate.session.preamble import describe, possible_launches


def test_what_will_really_be_done_is_counted() -> None:
    rig = small_rig()
    batches = [
        batch
        for launch in plan_launches(rig)
        for workload in workloads_of(rig, launch)
        for batch in batches_of(workload)
    ]
    told = list(describe(rig, [launch.id for launch in plan_launches(rig)]))
    assert told[0] == (
        "rig small: 4 server launches: 01-baseline, 02-eagle3-2step, 03-eagle3-pinned, 04-baseline-again"
    )
    assert told[1].startswith(f"{sum(len(b.indexes) for b in batches)} generations, ")
    assert told[1].endswith("single, conc4, lossless")
    assert len(told) == 2


def test_one_launch_with_instruments_is_all_that_is_told_where_it_is_all_there_is() -> None:
    rig = instrumented_rig(cost_pairs=8, workloads=["single"])
    told = list(describe(rig, ["05-eagle3-2step-phases"]))
    assert told[0] == "rig small: 1 server launch: 05-eagle3-2step-phases"
    # One warm-up, eight starts with the probe on and eight with it off.
    assert told[1].startswith("17 generations, ")
    assert told[2].startswith("phases: single; 8 pairs of starts")
    assert len(told) == 3


def test_of_nccl_and_the_sweep_nothing_is_said_unless_they_run() -> None:
    rig = nccl_rig()
    assert "nccl" not in " ".join(describe(rig, ["01-baseline"]))
    assert "00-nccl-proof" in " ".join(describe(rig, ["00-nccl-proof"]))
    swept = sweep_rig()
    assert "sweep" not in " ".join(describe(swept, ["01-baseline"]))
    told = list(describe(swept, [e.id for e in possible_launches(swept) if "sweep" in e.id]))
    assert told[0].endswith("07-sweep-control to 11-sweep-control-again"), told[0]
    assert any(line.startswith("sweep of eagle3-2step") for line in told)


def test_a_session_without_a_server_says_so() -> None:
    assert list(describe(small_rig(), ())) == ["rig small: no server launch"]
