"""Where a loss leads that no fact of machine or tree explains."""

from __future__ import annotations

from tests.verdicts.baselines.drafting import drawn
from tests.verdicts.baselines.stored_runs import (
    NOW,
    THEN,
    UNSAMPLED,
    judged,
    stored,
)
from tests.verdicts.evidence import (
    eagle3,
    make_fingerprint,
    series,
)
from tests.verdicts.test_split import RATES, run
from tokgate.records import Outcome, Verdict
from tokgate.verdicts.checks.stored_baseline import stored_baseline


def lost(cycle: float, accepted: int = 138, *, phases: bool = True) -> Verdict:
    """An arm of which speed, accept length and cycle are stored, against the same with a longer cycle or less accepted."""
    then = run(phases=phases)
    (kept,) = (d.new for d in drawn(then) if d.new.arm == "eagle3-2step")
    days = tuple(
        one.model_copy(update={"run_id": f"r{day}", "launch": f"0{run}"})
        for day in range(6)
        for run in range(2)
        for one in kept.launches
    )
    kept = kept.model_copy(update={"launches": days})
    rates = tuple(v / cycle * 138 / accepted for v in RATES)
    arm = eagle3().model_copy(
        update={"generations": series(rates, launch="02-eagle3-2step", verify_ct=accepted)}
    )
    found = stored_baseline(UNSAMPLED, (arm,), "single", kept)
    return next(v for v in found if v.metric == "decode_tok_s")


def test_what_the_split_knows_leads_and_nothing_is_below_where_nothing_differs() -> None:
    slow = lost(1.2)
    assert slow.outcome is Outcome.REGRESSED
    assert slow.do is not None
    assert slow.do.startswith(
        "the cycle has moved, not acceptance: which phase, tells 'Since the stored baseline'"
    )
    # Whether it was the clocks, heat or other load, the diagnosis knows: a step that sends there what it excludes misleads.
    assert "nothing on record differs from the baseline" in slow.do
    assert "look at clocks" not in slow.do
    assert (lost(1.0, 166).do or "").startswith(
        "acceptance has moved, not the cycle: look at the draft model"
    )
    assert (lost(1.2, 166).do or "").startswith("acceptance and the cycle have moved")


def test_of_a_control_what_differs_is_where_to_look() -> None:
    verdict = judged(NOW, stored(THEN), fingerprint=make_fingerprint({"host.cpus": "7"}))
    assert verdict.do == "see what differs from the baseline, listed with this verdict"
