from __future__ import annotations

from typing import Any

import pytest

from tests.verdicts.baselines.stored_runs import NOW, PATCHED, RIG, THEN, restarted, stored
from tests.verdicts.evidence import STEADY, eagle3, make_fingerprint, make_launch, series
from tokgate.records import Fingerprint, LaunchEvidence
from tokgate.verdicts.baselines.file import Absence, BaselineFile
from tokgate.verdicts.control_part import Control, ControlPart, control_part, controls_of
from tokgate.verdicts.metrics import METRICS, floor_of

CLEAN = make_fingerprint()
DECODE, CYCLE = METRICS["decode_tok_s"], METRICS["cycle_ms"]
FLOOR = floor_of(RIG, DECODE)


def part_of(
    kept: BaselineFile | Absence,
    *launches: LaunchEvidence,
    arm_stored: Fingerprint | None = CLEAN,
) -> ControlPart:
    control = Control(launches=launches or (make_launch(series(NOW)),), stored=kept)
    return control_part(RIG, (eagle3(),), "single", control, stored=arm_stored, now=make_fingerprint(PATCHED))


def moved(factor: float, **baseline: Any) -> ControlPart:
    """A control that is this many times as fast as on the day it was stored."""
    return part_of(stored(THEN, **baseline), make_launch(series([v * factor for v in THEN])))


def test_the_control_is_compared_with_its_own_baseline() -> None:
    (decision,) = part_of(stored(THEN)).moves.values()

    assert decision.change == pytest.approx(-0.0743, abs=0.001)
    assert decision.runs_before == 12


def test_all_runs_of_the_control_count() -> None:
    first, again = restarted(make_launch(series(NOW)), [v * 0.94 for v in THEN])
    (decision,) = part_of(stored(THEN), first, again).moves.values()

    assert decision.runs_now == 2
    assert decision.change == pytest.approx(-0.067, abs=0.001)


@pytest.mark.parametrize(
    ("part", "words"),
    [
        (moved(0.926), "the control on the same tree moved by -7.4 %: the tree is at most that part"),
        (moved(1.0), "the control on the same tree held (0.0 %): the tree is no part of it"),
        (
            moved(0.978, sessions=1, launches=1),
            "the control on the same tree seems to have moved by -2.2 %: the tree is at most that part",
        ),
        (
            moved(0.985, sessions=1, launches=1),
            "the control on the same tree is not seen to have moved (-1.5 %, ",
        ),
    ],
)
def test_it_is_told_as_surely_as_its_runs_show_it(part: ControlPart, words: str) -> None:
    told = (
        (part.sentence(DECODE, tree=True) or "").replace("(+0.0 %)", "(0.0 %)").replace("(-0.0 %)", "(0.0 %)")
    )

    assert told.startswith(words)


@pytest.mark.parametrize(
    ("kept", "launch", "arm_stored"),
    [
        (Absence(path="x", identity={}), None, CLEAN),
        (stored(THEN, settings={"args.tp_size": "9"}), None, CLEAN),  # another identity
        (stored(THEN), make_launch(()), CLEAN),  # the control cannot be judged
        (stored(THEN), None, make_fingerprint(PATCHED)),  # stored from another tree than the arm's
        (stored(THEN, fingerprint=None), None, CLEAN),
        (stored(THEN), None, None),
    ],
)
def test_nothing_is_claimed_of_a_control_that_tells_nothing(
    kept: BaselineFile | Absence, launch: LaunchEvidence | None, arm_stored: Fingerprint | None
) -> None:
    launches = (launch,) if launch is not None else ()
    assert part_of(kept, *launches, arm_stored=arm_stored).moves == {}


@pytest.mark.parametrize(
    ("change", "beyond"), [(-0.38, True), (-0.11, True), (-0.09, False), (-0.074, False), (0.1, False)]
)
def test_what_goes_beyond_the_control_is_beyond_the_floor_as_well(change: float, beyond: bool) -> None:
    assert moved(0.926).beyond(DECODE, change, FLOOR) is beyond


def test_a_metric_that_the_control_lacks_is_told_beside_its_throughput() -> None:
    part = moved(0.926)

    assert not part.beyond(CYCLE, 0.9, FLOOR)
    assert (part.sentence(CYCLE, tree=True) or "").startswith(
        "the control's decode on the same tree moved by -7.4 %"
    )
    assert ControlPart(speed=DECODE).sentence(CYCLE, tree=True) is None


def test_the_control_stands_beside_every_arm_but_itself() -> None:
    first, restart = restarted(make_launch(), STEADY)
    again = make_launch(id="04-baseline-again", role="control-again")
    off = make_launch(id="05-nccl-off", role="nccl-off")
    arm = eagle3()
    session = (first, arm, again, off, restart)

    assert controls_of(session, (arm,)) == (first, again, restart)
    assert controls_of(session, (first, again)) == ()
    assert controls_of((arm,), (arm,)) == ()
