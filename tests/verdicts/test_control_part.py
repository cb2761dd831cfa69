from __future__ import annotations

import pytest

from tests.verdicts.checks.test_stored_baseline import NOW, PATCHED, RIG, THEN, stored
from tests.verdicts.evidence import eagle3, make_fingerprint, make_launch, series
from tokgate.records import Fingerprint, LaunchEvidence
from tokgate.verdicts.baseline_file import Absence, BaselineFile
from tokgate.verdicts.control_part import Control, ControlPart, control_before, control_part
from tokgate.verdicts.metrics import METRICS, floor_of

CLEAN = make_fingerprint()
DECODE, CYCLE = METRICS["decode_tok_s"], METRICS["cycle_ms"]
FLOOR = floor_of(RIG, DECODE)


def moves(
    kept: BaselineFile | Absence, launch: LaunchEvidence | None = None, arm_stored: Fingerprint | None = CLEAN
) -> dict[str, float]:
    control = Control(launch=launch or make_launch(series(NOW)), stored=kept)
    now = make_fingerprint(PATCHED)
    return control_part(RIG, eagle3(), "single", control, stored=arm_stored, now=now).moves


def test_the_control_is_compared_with_its_own_baseline() -> None:
    assert moves(stored(THEN)) == {"decode_tok_s": pytest.approx(-0.0743, abs=0.001)}


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
    assert moves(kept, launch, arm_stored) == {}


@pytest.mark.parametrize(
    ("change", "beyond"), [(-0.38, True), (-0.11, True), (-0.09, False), (-0.074, False), (0.1, False)]
)
def test_what_goes_beyond_the_control_is_beyond_the_floor_as_well(change: float, beyond: bool) -> None:
    part = ControlPart(moves={"decode_tok_s": -0.074}, speed=DECODE)

    assert part.beyond(DECODE, change, FLOOR) is beyond


def test_a_metric_that_the_control_lacks_is_told_beside_its_throughput() -> None:
    part = ControlPart(moves={"decode_tok_s": -0.074}, speed=DECODE)

    assert not part.beyond(CYCLE, 0.9, FLOOR)
    assert (part.sentence(RIG, CYCLE, tree=True) or "").startswith(
        "the control's decode on the same tree moved by -7.4 %"
    )
    assert ControlPart(speed=DECODE).sentence(RIG, CYCLE, tree=True) is None


def at(launch: LaunchEvidence, second: int) -> LaunchEvidence:
    assert launch.server is not None
    started = launch.server.model_copy(update={"started_at": f"2026-11-29T12:00:{second:02d}+00:00"})
    return launch.model_copy(update={"server": started})


def test_a_control_counts_once_it_has_run() -> None:
    """Else a run that is judged again would tell more than the session did."""
    control, arm = at(make_launch(), 10), at(eagle3(), 40)
    again = at(make_launch(id="04-baseline-again", role="control-again"), 20)

    assert control_before((again, control), arm) == control
    assert control_before((again,), arm) is None
    assert control_before((at(make_launch(), 50),), arm) is None
    assert control_before((control,), again) is None
    assert control_before((make_launch(server=None),), arm) is None
