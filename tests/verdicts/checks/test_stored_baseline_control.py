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
    STEADY,
    controls,
    eagle3,
    make_fingerprint,
    make_generation,
    make_launch,
    make_rig,
    series,
)
from tokgate.records import LaunchEvidence, Liveness, Outcome, Verdict
from tokgate.verdicts.baselines.file import Absence, BaselineLaunch
from tokgate.verdicts.baselines.identity import identity_hash, identity_of_launch
from tokgate.verdicts.checks.stored_baseline import stored_baseline
from tokgate.verdicts.control_part import Control

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


QUIET = (50.0, 50.4, 49.8, 50.1, 49.9, 50.2)  # first tokens, ms
# Two server runs of a control on a host whose CPUs somebody else used: they are alike in the middle alone.
LOADED = ((53.2, 58.5, 75.7, 45.4, 48.2, 46.1), (73.6, 48.0, 73.1, 61.4, 44.0, 47.8))


def first_tokens(launch: LaunchEvidence, ttft_ms: Sequence[float]) -> LaunchEvidence:
    """The same decode rates, and these times to the first token."""
    name = launch.launch.id
    starts = len(ttft_ms)
    generations = tuple(
        make_generation(
            index=g.index, launch=name, tok_s=rate, ttft_ms=ms, verify_ct=138 if "eagle3" in name else None
        )
        for g, rate, ms in zip(launch.generations[:starts], STEADY[:starts], ttft_ms, strict=True)
    )
    return launch.model_copy(update={"generations": generations})


def told_of_first_tokens(
    arm: Sequence[float], before: Sequence[float], after: Sequence[float], *, dead: bool = False
) -> dict[str, Verdict]:
    """Verdicts by metric on an arm whose stored runs had 50 ms, beside its controls."""
    single = {"name": "single", "prompts": "ids", "output_tokens": 256, "repeats": len(before)}
    rig = make_rig(workloads=[single], sampling={"gpu_time_s": 0})
    control, again = controls()
    if dead:
        again = again.model_copy(update={"liveness": Liveness(alive=False, answered=False)})
    beside = (first_tokens(control, before), first_tokens(again, after))
    launch = first_tokens(eagle3(STEADY), arm)
    identity = identity_of_launch(rig, launch, "single", None)
    samples = {"decode_tok_s": tuple((v,) for v in STEADY), "ttft_ms": tuple((v,) for v in QUIET)}
    kept = stored(
        rig=rig,
        launches=2,
        arm="eagle3-2step",
        identity=identity,
        identity_hash=identity_hash(identity),
    ).model_copy(
        update={
            "launches": tuple(
                BaselineLaunch(run_id=f"r{session}", launch=f"0{run}", samples=samples)
                for session in range(6)
                for run in range(2)
            )
        }
    )
    absent = Absence(path="baselines/small/0.json", identity={})
    verdicts = stored_baseline(
        rig, (launch,), "single", kept, None, control=Control(launches=beside, stored=absent)
    )
    return {v.metric or "": v for v in verdicts}


SLOWER = tuple(v * 1.3 for v in QUIET)


def test_first_tokens_are_held_against_what_those_of_the_controls_moved_by() -> None:
    """Decode of the controls is the same to the last digit: what moved first tokens is not seen in it."""
    quiet = told_of_first_tokens(SLOWER, QUIET, QUIET)
    loaded = told_of_first_tokens(SLOWER, *LOADED)

    assert quiet["ttft_ms"].outcome is Outcome.REGRESSED
    assert loaded["ttft_ms"].outcome is Outcome.INCONCLUSIVE
    assert loaded["ttft_ms"].change == quiet["ttft_ms"].change
    assert "the controls lie up to " in loaded["ttft_ms"].headline
    assert "find what else runs on the machine" in (loaded["ttft_ms"].do or "")
    assert any("the controls of this session lie up to" in line for line in loaded["ttft_ms"].evidence)
    assert loaded["decode_tok_s"].outcome is Outcome.PASS
    assert not any("the controls" in line for line in loaded["decode_tok_s"].evidence)


def test_a_loss_beyond_what_the_controls_moved_by_is_called_all_the_same() -> None:
    far = told_of_first_tokens(tuple(v * 3 for v in QUIET), *LOADED)

    assert far["ttft_ms"].outcome is Outcome.REGRESSED


def test_with_too_few_starts_to_tell_how_far_the_controls_moved_no_first_token_is_called() -> None:
    few = told_of_first_tokens(SLOWER, QUIET[:3], QUIET[:3])["ttft_ms"]

    assert few.outcome is Outcome.INCONCLUSIVE
    assert "how far the controls lie apart is not known" in few.headline
    assert any("no loss of it is called" in line for line in few.evidence)


def test_beside_a_control_that_cannot_be_judged_no_first_token_is_called() -> None:
    found = told_of_first_tokens(SLOWER, QUIET, QUIET, dead=True)

    assert found["ttft_ms"].outcome is Outcome.INCONCLUSIVE
    assert "how far the controls lie apart is not known" in found["ttft_ms"].headline
