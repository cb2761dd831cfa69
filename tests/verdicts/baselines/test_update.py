from __future__ import annotations

import pytest

from tests.verdicts.evidence import (
    STEADY,
    controls,
    eagle3,
    make_fingerprint,
    make_launch,
    make_rig,
    make_run,
    series,
)
from tokgate.errors import BaselineError
from tokgate.verdicts.baselines.identity import identity_of_launch

from .drafting import RIG, Shelf, drawn, faster, of_three_sessions


def test_both_controls_are_one_baseline_of_two_launches() -> None:
    (draft,) = drawn(make_run(*controls()))

    assert draft.old is None
    assert [launch.launch for launch in draft.new.launches] == ["01-baseline", "04-baseline-again"]
    assert draft.new.by_start("decode_tok_s") == tuple((v,) for v in (*STEADY, *STEADY))
    told = draft.new.provenance
    assert (told.who, told.why, told.runs) == ("ada", "new driver", ("20261129T120000-small",))
    assert told.sglang_tree == "no"
    assert draft.new.identity == identity_of_launch(RIG, controls()[0], "single", None)
    assert "decode_tok_s: 44.6 tok/s (n=12), new" in draft.changes()


def test_every_arm_and_workload_has_its_own() -> None:
    found = drawn(make_run(*controls(), eagle3()))

    assert [d.new.arm for d in found] == ["baseline", "eagle3-2step"]
    assert found[1].new.by_start("cycle_ms")
    assert not found[0].new.by_start("cycle_ms")


def test_one_arm_alone() -> None:
    (draft,) = drawn(make_run(*controls(), eagle3()), arm="eagle3-2step")

    assert draft.new.arm == "eagle3-2step"


def test_replacing_keeps_the_history_and_shows_the_change() -> None:
    first = of_three_sessions()
    run, *more = faster(1.1, "b", "c", "d")
    (second,) = drawn(run, Shelf(first.new), *more, why="faster kernels")
    (third,) = drawn(
        make_run(*controls()), Shelf(second.new), replace=True, despite_creep="back to what is sure"
    )

    assert [p.why for p in third.new.history] == ["faster kernels", "new driver"]
    assert len(second.new.launches) == 6
    assert any(
        line.startswith("decode_tok_s: 49.1 tok/s (n=36), was 44.6 tok/s (n=36), +10.0%, interval +")
        for line in second.changes()
    )


def test_several_runs_are_one_baseline_of_several_sessions() -> None:
    run, *more = faster(1.0, "a", "b", "c")
    (draft,) = drawn(run, Shelf(), *more)

    assert draft.new.provenance.runs == ("a", "b", "c")
    assert draft.new.anchor["decode_tok_s"].sessions == 3
    assert draft.thin is None
    assert drawn(run)[0].thin is not None
    with pytest.raises(BaselineError, match="given twice"):
        drawn(run, Shelf(), run)


def test_runs_of_two_trees_are_one_baseline_knowingly_or_not_at_all() -> None:
    run, other = faster(1.0, "a", "b")
    other = other.model_copy(update={"fingerprint": make_fingerprint({"sglang.dirty": "0123"})})

    with pytest.raises(BaselineError, match=r"not of one machine and tree: other edits in SGLang"):
        drawn(run, Shelf(), other)
    booted = other.model_copy(update={"fingerprint": make_fingerprint({"host.boot_id": "b2"})})
    assert drawn(run, Shelf(), booted)
    (stored,) = drawn(run)
    with pytest.raises(BaselineError, match=r"not of the machine and tree of baselines/small"):
        drawn(other, Shelf(stored.new), append=True)


def test_appending_adds_launches_of_another_run_once() -> None:
    (first,) = drawn(make_run(*controls()))
    info = make_run().info.model_copy(update={"run_id": "another-run"})
    (second,) = drawn(make_run(*controls(), info=info), Shelf(first.new), append=True)

    assert [launch.run_id for launch in second.new.launches] == [
        *["20261129T120000-small"] * 2,
        *["another-run"] * 2,
    ]
    with pytest.raises(BaselineError, match="this run is in it already"):
        drawn(make_run(*controls(), info=info), Shelf(second.new), append=True)


def test_an_arm_the_run_lacks_is_named() -> None:
    with pytest.raises(BaselineError, match="no launch of arm 'eagle3-2step'"):
        drawn(make_run(*controls()), arm="eagle3-2step")


def test_launches_of_two_versions_are_no_one_baseline() -> None:
    before, after = controls()
    assert after.server is not None
    other = after.server.model_copy(update={"sglang_version": "0.5.24"})

    with pytest.raises(BaselineError, match="different identities"):
        drawn(make_run(before, after.model_copy(update={"server": other})))


def test_every_value_of_a_start_is_kept() -> None:
    rig = make_rig(
        workloads=[{"name": "pair", "prompts": "ids", "output_tokens": 256, "repeats": 4, "concurrency": 2}]
    )
    generations = series((50.0, 51.0, 52.0, 53.0), workload="pair", concurrency=2)
    launch = controls()[0].model_copy(update={"generations": generations})
    (draft,) = drawn(make_run(launch), rig=rig, despite_doubts=True)

    assert draft.new.by_start("decode_tok_s")[0] == (50.0, 50.0)
    assert len(draft.new.by_start("total_tok_s")) == 4


def test_a_launch_with_other_variables_is_nobodys_baseline() -> None:
    """It runs the control arm's configuration in all but its NCCL block: its numbers would pull ours down."""
    slow = make_launch(series((30.0,) * 6, launch="05-nccl-off"), id="05-nccl-off", role="nccl-off")
    proof = make_launch((), id="00-nccl-proof", role="nccl-proof")
    (draft,) = drawn(make_run(proof, *controls(), slow))
    assert [launch.launch for launch in draft.new.launches] == ["01-baseline", "04-baseline-again"]
