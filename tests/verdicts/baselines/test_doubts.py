"""What may not be stored at all, and what has to be overruled in words."""

from __future__ import annotations

from typing import Any

import pytest

from tests.verdicts.evidence import (
    STEADY,
    controls,
    eagle3,
    make_run,
    make_slate,
)
from tests.verdicts.side_evidence import sides_made
from tokgate.errors import BaselineError
from tokgate.records import Finding, Liveness, Outcome, RunEvidence, Verdict
from tokgate.rig.sides import SidesSpec

from .drafting import RIG, drawn

DIRTY = make_slate(findings=(Finding(severity="unclean", what="GPU 0 holds 9 MiB", do="stop pid 9"),))


@pytest.mark.parametrize(
    ("run", "found"),
    [
        (make_run(), "has no launches"),
        (make_run(controls()[0].model_copy(update={"generations": ()})), "0 good generations"),
        (
            make_run(
                controls()[0],
                controls()[1].model_copy(update={"liveness": Liveness(alive=False, answered=False)}),
            ),
            "dead after the last generation",
        ),
        (make_run(*controls(), slate_at_start=DIRTY), "GPU 0 holds 9 MiB"),
        (make_run(*controls(), slate_at_start=None), "nobody looked"),
        (make_run(*controls(), slate_at_end=DIRTY), "GPU 0 holds 9 MiB"),
        (make_run(controls()[0].model_copy(update={"environment": None})), "nobody read the environment"),
        (make_run(controls()[0].model_copy(update={"client": {}})), "client's own load"),
        (make_run(eagle3(server_info={"speculative_algorithm": None})), "does no speculation"),
    ],
)
def test_an_invalid_run_is_refused_with_the_reason(run: RunEvidence, found: str) -> None:
    with pytest.raises(BaselineError) as caught:
        drawn(run)

    assert found in caught.value.found
    assert caught.value.do


def test_a_fault_of_another_arm_does_not_matter() -> None:
    broken = eagle3().model_copy(update={"generations": ()})

    assert len(drawn(make_run(*controls(), broken), arm="baseline")) == 1
    with pytest.raises(BaselineError):
        drawn(make_run(*controls(), broken))


def test_an_unsteady_run_is_not_stored() -> None:
    falling = (100.0, 98.0, 96.0, 94.0, 92.0, 90.0)

    with pytest.raises(BaselineError, match="still moving"):
        drawn(make_run(controls(falling)[0]), despite_doubts=True)


def test_controls_that_drifted_are_not_stored() -> None:
    slower = tuple(value * 0.6 for value in STEADY)

    with pytest.raises(BaselineError, match=r"the run is invalid"):
        drawn(make_run(*controls(STEADY, slower)))


def concluded(outcome: Outcome = Outcome.REGRESSED, **changes: Any) -> Verdict:
    fields: dict[str, Any] = {
        "check": "speculation_beats_its_twin",
        "headline": "decode 51.2 tok/s on eagle3-2step: 0.62x its twin",
        "arm": "eagle3-2step",
        "launch": "02-eagle3-2step",
    }
    return Verdict(outcome=outcome, **{**fields, **changes})


@pytest.mark.parametrize("outcome", [Outcome.REGRESSED, Outcome.INVALID])
def test_a_run_that_ended_badly_is_stored_knowingly_or_not_at_all(outcome: Outcome) -> None:
    run, judged = make_run(*controls(), eagle3()), (concluded(outcome), concluded(outcome, headline="again"))

    with pytest.raises(BaselineError) as caught:
        drawn(run, judged=judged)
    told = f"speculation_beats_its_twin {outcome.value}: decode 51.2 tok/s on eagle3-2step: 0.62x its twin"
    assert caught.value.found == f"1 doubt about it: {told} (and 1 more)"
    assert caught.value.do == "explain what it ended with, or store it knowingly: --despite-doubts"
    assert drawn(run, judged=judged, despite_doubts=True)[0].doubts == (f"{told} (and 1 more)",)


def test_what_was_found_of_the_machine_is_a_doubt_about_all() -> None:
    run = make_run(*controls())
    machine = concluded(Outcome.INVALID, check="report", headline="no space left", arm=None, launch=None)

    with pytest.raises(BaselineError, match="report invalid: no space left"):
        drawn(run, judged=(machine,))


@pytest.mark.parametrize(
    "verdict",
    [
        concluded(),  # of an arm that is not stored
        concluded(Outcome.INCONCLUSIVE, arm="baseline", launch="01-baseline"),
        concluded(Outcome.IMPROVED, arm="baseline", launch="01-baseline"),
        concluded(arm="baseline", launch="05-nccl-off"),  # of a launch that stands for no arm
    ],
)
def test_what_does_not_speak_against_the_stored_is_no_doubt(verdict: Verdict) -> None:
    (draft,) = drawn(make_run(*controls(), eagle3()), arm="baseline", judged=(verdict,))

    assert draft.doubts == ()


def test_a_window_that_is_invalid_is_not_stored_however_asked() -> None:
    dead = controls()[0].model_copy(update={"liveness": Liveness(alive=False, answered=False)})

    with pytest.raises(BaselineError, match="dead after the last generation"):
        drawn(make_run(dead), judged=(), despite_doubts=True)


def test_a_run_that_nobody_judged_is_a_doubt() -> None:
    with pytest.raises(BaselineError, match="nobody has judged it"):
        drawn(make_run(*controls()), judged=None)


@pytest.mark.parametrize("dirty", [None, "d" * 40])
def test_a_change_is_no_baseline_unless_somebody_says_so(dirty: str | None) -> None:
    changed = RIG.model_copy(update={"sides": SidesSpec(repository="/src/sglang", base="main")})
    run = make_run(*controls()).model_copy(update={"sides": sides_made(dirty=dirty)})
    with pytest.raises(BaselineError) as caught:
        drawn(run, rig=changed)

    assert "measured a change, head 2222222222" in caught.value.found
    assert ("holds what no commit has" in caught.value.found) is (dirty is not None)
    assert "measure the merged tree by itself" in caught.value.do
    (stored,) = drawn(run, rig=changed, despite_doubts=True)
    assert any("measured a change" in doubt for doubt in stored.new.provenance.despite)
