"""An arm against its baseline, with the control beside it."""

from __future__ import annotations

from collections.abc import Sequence

from tests.verdicts.baselines.stored_runs import (
    NOW,
    PATCHED,
    THEN,
    stored,
)
from tests.verdicts.evidence import (
    eagle3,
    make_fingerprint,
    make_launch,
    make_rig,
    series,
)
from tokgate.records import Outcome, Verdict
from tokgate.verdicts.baselines.file import Absence
from tokgate.verdicts.baselines.identity import identity_hash, identity_of_launch
from tokgate.verdicts.checks.stored_baseline import stored_baseline
from tokgate.verdicts.control_part import Control

# ------------------------------------------------------------------ an arm, and the control beside it
SPECULATING = (132.0, 131.8, 132.3, 132.1, 131.9, 132.0)  # on the day of THEN
TWINS = make_rig(twins=[{"at_least": 1.0}], sampling={"gpu_time_s": 0})


def beside(
    rates: Sequence[float], *, control: Sequence[float] = NOW, tree: dict[str, str | None] | None = None
) -> Verdict:
    """An arm at `rates` and its control in one session on `tree`, against what the clean day left in store."""
    arm, plain = eagle3(tuple(rates)), make_launch(series(control))
    identity = identity_of_launch(TWINS, arm, "single", None)
    kept = stored(SPECULATING, rig=TWINS).model_copy(
        update={"arm": "eagle3-2step", "identity": identity, "identity_hash": identity_hash(identity)}
    )
    (verdict,) = stored_baseline(
        TWINS,
        (arm,),
        "single",
        kept,
        make_fingerprint(PATCHED if tree is None else tree),
        control=Control(launches=(plain,), stored=stored(THEN, rig=TWINS)),
    )
    return verdict


def scaled(factor: float) -> tuple[float, ...]:
    return tuple(rate * factor for rate in SPECULATING)


def test_the_tree_is_blamed_for_no_more_than_the_control_lost_on_it() -> None:
    verdict = beside(scaled(0.62))

    assert verdict.outcome is Outcome.REGRESSED
    assert verdict.headline.startswith(
        "baseline moved by -38.0 % (decode 81.8 against 132.0 tok/s on eagle3-2step): "
        "the tree has changed since it was stored: confirm with a clean tree; "
        "the control on the same tree moved by -7.4 %: the tree is at most that part, unless"
    )
    assert verdict.do is not None
    assert "clean tree" in verdict.do
    assert "baseline update" not in verdict.do


def test_a_loss_that_the_control_shares_is_the_trees() -> None:
    verdict = beside(scaled(0.926))

    assert verdict.outcome is Outcome.REGRESSED
    assert verdict.headline.endswith("the tree has changed since it was stored: confirm with a clean tree")
    assert verdict.do is not None
    assert "baseline update" in verdict.do


def test_a_control_that_held_leaves_the_whole_loss_to_the_arm() -> None:
    verdict = beside(scaled(0.8), control=THEN)

    assert "the control on the same tree held (+0.0 %): the tree is no part of it, unless" in verdict.headline


def test_another_driver_is_blamed_for_no_more_either() -> None:
    verdict = beside(scaled(0.62), tree={"gpu.driver": "595.2"})

    assert "the control on the same machine moved by -7.4 %: the rest is this arm's own" in verdict.headline
    assert verdict.do is not None
    assert "baseline update" not in verdict.do


def test_what_loses_to_its_twin_is_not_offered_for_storing() -> None:
    """Without any baseline, too: its numbers are a finding, and nothing to be measured against."""
    slow = eagle3(tuple(v * 0.7 for v in NOW))
    absent = Absence(path="baselines/small/0.json", identity={})
    control = Control(launches=(make_launch(series(THEN)),), stored=absent)
    (verdict,) = stored_baseline(TWINS, (slow,), "single", absent, None, control=control)

    assert verdict.outcome is Outcome.NO_BASELINE
    assert verdict.do is not None
    assert "baseline update" not in verdict.do
    assert "slower than its twin" in verdict.do


def test_a_control_changes_no_outcome() -> None:
    arm = eagle3(SPECULATING)
    absent = Absence(path="baselines/small/0.json", identity={})
    for kept in (stored(), absent):
        alone = stored_baseline(TWINS, (arm,), "single", kept, None)
        control = Control(launches=(make_launch(series(NOW)),), stored=absent)
        assert stored_baseline(TWINS, (arm,), "single", kept, None, control=control) == alone
