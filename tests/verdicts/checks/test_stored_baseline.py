from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import pytest

from tests.verdicts.evidence import (
    STEADY,
    eagle3,
    make_fingerprint,
    make_launch,
    make_rig,
    make_slate,
    series,
)
from tests.verdicts.test_baseline_update import drawn
from tests.verdicts.test_split import RATES, run
from tokgate.records import Difference, Fingerprint, Launch, LaunchEvidence, Liveness, Outcome, Verdict
from tokgate.rig.models import Rig
from tokgate.verdicts.baseline_file import Absence, BaselineFile, BaselineLaunch, Provenance
from tokgate.verdicts.checks.stored_baseline import stored_baseline
from tokgate.verdicts.control_part import Control
from tokgate.verdicts.identity import identity_hash, identity_of_launch
from tokgate.verdicts.ledger import Accepted, anchors_of, levels_of

RIG = make_rig()
# Losses are called on the server runs there are: for tests about what is said of one.
UNSAMPLED = make_rig(sampling={"gpu_time_s": 0})


OFF = (-0.9, 0.1, 0.7, -0.4, 0.95, -0.6, 0.3, -0.1, -0.75, 0.5, 0.85, -0.25)


def stored(
    rates: Sequence[float] = STEADY,
    *,
    rig: Rig = RIG,
    launches: int = 2,
    sessions: int = 6,
    apart: float = 0.0,
    **changes: Any,
) -> BaselineFile:
    """As many server runs in each session; one lies off the others by up to `apart` (relative), in no order."""
    identity = {**identity_of_launch(rig, make_launch(), "single", None), **changes.pop("settings", {})}
    runs = tuple(
        BaselineLaunch(
            run_id=f"r{session}",
            launch=f"0{run}",
            samples={
                "decode_tok_s": tuple(
                    (rate * (1 + apart * OFF[(session * launches + run) % len(OFF)]),) for rate in rates
                )
            },
        )
        for session in range(sessions)
        for run in range(launches)
    )
    fields: dict[str, Any] = {
        "rig": rig.name,
        "arm": "baseline",
        "workload": "single",
        "simulated": identity["simulated"] == "true",
        "identity": identity,
        "identity_hash": identity_hash(identity),
        "fingerprint": make_fingerprint(),
        "provenance": Provenance(who="ada", when="2026-11-20T12:00:00+00:00", why="first", runs=("r1",)),
        "launches": runs,
    }
    return BaselineFile(**{**fields, **changes})


def restarted(first: LaunchEvidence, *rates: Sequence[float], at: int = 1) -> tuple[LaunchEvidence, ...]:
    """A launch and restarts of it, one for each series of rates; all of one decision of the stop rule."""
    arm = first.launch.arm
    found = [first]
    for number, series_of_run in enumerate(rates, start=1):
        name = f"{9 + number:02d}-{arm}-restart-{number}"
        launch = Launch(id=name, arm=arm, role="restart", round=at)
        assert first.server is not None
        found.append(
            first.model_copy(
                update={
                    "launch": launch,
                    "server": first.server.model_copy(update={"launch": launch}),
                    "slate": make_slate(f"before {name}"),
                    "generations": series(series_of_run, launch=name),
                }
            )
        )
    return tuple(found)


def judged(
    rates: Sequence[float],
    baseline: BaselineFile | Absence,
    *,
    rig: Rig = UNSAMPLED,
    fingerprint: Fingerprint | None = None,
    restarts: Sequence[Sequence[float]] = (),
) -> Verdict:
    launches = restarted(make_launch(series(rates)), *restarts)
    (verdict,) = stored_baseline(rig, launches, "single", baseline, fingerprint)
    return verdict


def by(factor: float) -> tuple[float, ...]:
    return tuple(v * factor for v in STEADY)


@pytest.mark.parametrize(
    ("factor", "outcome", "words"),
    [
        (0.90, Outcome.REGRESSED, "-10.0%, worse than baseline 44.6, interval -1"),
        (0.95, Outcome.REGRESSED, "-5.0%, worse than baseline 44.6"),
        (0.985, Outcome.PASS, "-1.5%, a loss below the floor of 2.0% against baseline 44.6, interval -2."),
        (1.0, Outcome.PASS, "0.0%, no loss against baseline 44.6"),
        (1.10, Outcome.IMPROVED, "+10.0%, better than baseline 44.6"),
    ],
)
def test_creep_is_told_with_its_interval(factor: float, outcome: Outcome, words: str) -> None:
    verdict = judged(by(factor), stored())

    assert verdict.outcome is outcome
    assert words in verdict.headline
    assert verdict.reference is not None
    assert verdict.reference.value == pytest.approx(44.6, rel=1e-3)
    assert verdict.reference.n == 72
    assert verdict.change == pytest.approx(factor - 1, abs=0.001)
    assert (verdict.do is None) is (outcome in (Outcome.PASS, Outcome.IMPROVED))


def test_no_change_is_told_with_what_could_have_been_seen() -> None:
    """Of a pass that a reader may believe: the loss that is excluded, and the one that would have been called."""
    verdict = judged(STEADY, stored())

    (excluded,) = re.findall(r"; a loss of ([0-9.]+)% would have been seen$", verdict.headline)
    assert 0.5 < float(excluded) < 3
    assert verdict.smallest is not None
    assert float(excluded) < verdict.smallest * 100 < 10
    assert any(f"called from {verdict.smallest:.1%} on" in line for line in verdict.evidence)


def test_without_the_power_to_see_a_loss_nothing_passes() -> None:
    """One stored session whose runs lie 2 % apart: no loss is measured, and none is excluded."""
    verdict = judged(by(0.992), stored(sessions=1, apart=0.02))

    assert abs(verdict.change or 0) < 0.001
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert "a loss of 3.0% is not excluded" in verdict.headline
    assert verdict.needs is not None
    assert verdict.needs in (verdict.do or "")


def test_noise_of_restarts_hides_what_quiet_restarts_show() -> None:
    """A loss of 6 %, against runs that are alike and against runs that lie up to 6 % apart."""
    assert judged(by(0.94), stored()).outcome is Outcome.REGRESSED
    noisy = judged(by(0.94), stored(apart=0.03))

    assert noisy.outcome is Outcome.INCONCLUSIVE
    assert "the loss is not established" in noisy.headline


def test_the_starts_of_one_run_are_no_evidence_of_another() -> None:
    """Sixty starts of a run that are alike say nothing about the next run: the interval hardly moves."""
    (few, many) = (judged(by(0.97) * n, stored()).interval for n in (1, 10))

    assert few is not None
    assert many is not None
    assert many[1] - many[0] == pytest.approx(few[1] - few[0], rel=0.1)


def test_what_it_rests_on_is_told() -> None:
    told = " | ".join(judged(by(0.95), stored(sessions=1)).evidence)

    assert re.search(r"p=0\.\d+ of no loss, 1 run of 6 starts against 2 runs of 1 session", told)
    assert "the baseline is of 1 session, so a prior of 0.50% between sessions weighs more" in told
    assert (
        "restarts: 1 seen beyond the first, so a prior of 0.50% with 4 degrees of freedom weighs more" in told
    )
    assert "of the session's 1% (one of" in told
    assert re.search(r"one run differs from the next by 0\.\d+%, sessions beyond that by 0\.\d+%", told)


def test_a_loss_waits_for_restarts_to_confirm_it() -> None:
    """One run of a server with two modes may well be in the other: not until as many runs show it is it called.

    Against six stored runs that takes three: 3^3 6^6 / 9^9 is 0.3 %, 2^2 6^6 / 8^8 is 1.1 %.
    """
    kept, slow = stored(sessions=3), by(0.8)
    once = judged(slow, kept, rig=RIG)

    assert once.outcome is Outcome.INCONCLUSIVE
    assert "not confirmed by restarts, needs 2 more restarts of baseline" in once.headline
    assert once.wanted == {"baseline": 2}
    twice = judged(slow, kept, rig=RIG, restarts=[slow])
    assert (twice.outcome, twice.wanted) == (Outcome.INCONCLUSIVE, {"baseline": 1})
    thrice = judged(slow, kept, rig=RIG, restarts=[slow, slow])
    assert thrice.outcome is Outcome.REGRESSED
    assert thrice.warnings == ()


def test_a_loss_that_restarts_do_not_show_is_not_called() -> None:
    verdict = judged(by(0.9), stored(), rig=RIG, restarts=[STEADY, STEADY])

    assert verdict.outcome not in (Outcome.REGRESSED, Outcome.PASS)


def test_where_restarts_are_switched_off_a_loss_is_called_and_says_so() -> None:
    verdict = judged(by(0.9), stored())

    assert verdict.outcome is Outcome.REGRESSED
    assert any("not confirmed by restarts" in text for text in verdict.warnings)


def test_all_runs_of_the_arm_are_one_number() -> None:
    verdict = judged(by(0.95), stored(), rig=RIG, restarts=[by(0.95), by(0.97)])

    assert verdict.launch == "01-baseline"
    assert verdict.launches == ("01-baseline", "10-baseline-restart-1", "11-baseline-restart-2")
    assert verdict.n == 18
    assert verdict.value == pytest.approx(44.6 * (0.95 * 0.95 * 0.97) ** (1 / 3), rel=1e-3)
    assert any("10-baseline-restart-1 42.4, 11-baseline-restart-2 43.3 tok/s" in e for e in verdict.evidence)
    assert "launches/11-baseline-restart-2/generations.jsonl" in verdict.raw


def test_a_second_look_has_less_to_spend() -> None:
    first = judged(STEADY, stored(), rig=RIG)
    second = judged(STEADY, stored(), rig=RIG, restarts=[STEADY])

    assert any(line.startswith("level of look 1") for line in first.evidence)
    assert any(line.startswith("level of look 2") for line in second.evidence)
    assert first.level == second.level  # what the comparison has over all its looks


def test_a_restart_that_is_another_server_is_none() -> None:
    first, again = restarted(make_launch(), STEADY)
    assert again.server is not None
    other = again.server.model_copy(update={"sglang_version": "0.5.24"})
    (verdict,) = stored_baseline(
        RIG, (first, again.model_copy(update={"server": other})), "single", stored(), None
    )

    assert verdict.outcome is Outcome.INVALID
    assert "10-baseline-restart-1 is another server than 01-baseline: sglang.version" in verdict.headline


def test_one_bad_run_of_the_arm_makes_all_of_it_invalid() -> None:
    first, again = restarted(make_launch(), STEADY)
    dead = again.model_copy(update={"liveness": Liveness(alive=False, answered=False)})
    (verdict,) = stored_baseline(RIG, (first, dead), "single", stored(), None)

    assert verdict.outcome is Outcome.INVALID
    assert "dead after the last generation" in verdict.headline


def test_the_floors_of_the_rig_count() -> None:
    wide = make_rig(floors={"decode_tok_s": {"relative": 0.2, "absolute": 2.0}}, sampling={"gpu_time_s": 0})
    verdict = judged(by(0.9), stored(), rig=wide)

    assert verdict.outcome is Outcome.PASS
    assert verdict.floor == "20.0% and 2 tok/s, both exceeded"


def test_both_floors_must_be_exceeded() -> None:
    """10 % of 44.6 tok/s are 4.5: a floor of 5 tok/s is the larger one, and the loss lies below it."""
    rig = make_rig(floors={"decode_tok_s": {"relative": 0.02, "absolute": 5.0}}, sampling={"gpu_time_s": 0})

    assert "a loss below the floor of 11.2%" in judged(by(0.9), stored(), rig=rig).headline


def test_only_metrics_that_both_have_are_compared() -> None:
    baseline = stored()
    samples = {"decode_tok_s": ((44.6,),) * 6, "ttft_ms": ((20.0,),) * 6, "cycle_ms": ((9.0,),) * 6}
    both = baseline.model_copy(
        update={"launches": (BaselineLaunch(run_id="r", launch="01", samples=samples),)}
    )
    verdicts = stored_baseline(RIG, (make_launch(),), "single", both, None)

    assert [v.metric for v in verdicts] == ["decode_tok_s", "ttft_ms"]


def test_no_metric_in_common_is_invalid_not_a_pass() -> None:
    baseline = stored().model_copy(
        update={"launches": (BaselineLaunch(run_id="r", launch="01", samples={"cycle_ms": ((9.0,),)}),)}
    )
    verdict = judged(STEADY, baseline)

    assert verdict.outcome is Outcome.INVALID
    assert "no metric in common" in verdict.headline


def test_a_missing_baseline_tells_the_command_that_stores_one() -> None:
    absence = Absence(path="baselines/small/0.json", identity={})
    verdict = judged(STEADY, absence)

    assert verdict.outcome is Outcome.NO_BASELINE
    assert verdict.headline == "no baseline for single on baseline"
    assert verdict.do is not None
    assert 'tokgate baseline update RUN --arm baseline --why "…"' in verdict.do


def test_the_nearest_baseline_is_named_with_what_differs() -> None:
    absence = Absence(
        path="baselines/small/0.json",
        identity={},
        nearest="baselines/small/1f.json",
        differs=(Difference(key="args.tp_size", before="4", now=None),),
        unreadable=("2f.json: no JSON",),
    )
    verdict = judged(STEADY, absence)

    assert verdict.headline.endswith("nearest is baselines/small/1f.json, 1 setting differs")
    assert verdict.evidence == ("args.tp_size: 4 there, not set here",)
    assert verdict.warnings == ("unreadable neighbour 2f.json: no JSON",)


@pytest.mark.parametrize(
    ("settings", "key"),
    [
        ({"args.tp_size": "8"}, "args.tp_size"),
        ({"simulated": "true"}, "simulated"),
        ({"workload.output_tokens": "64"}, "workload.output_tokens"),
    ],
)
def test_a_baseline_of_another_identity_is_none(settings: dict[str, str], key: str) -> None:
    """Whoever hands over the wrong file, or one of a simulated machine, gets no comparison."""
    verdict = judged(STEADY, stored(settings=settings))

    assert verdict.outcome is Outcome.NO_BASELINE
    assert [d.key for d in verdict.differs] == [key]


def test_a_server_without_a_version_has_no_baseline_to_choose() -> None:
    launch = make_launch()
    assert launch.server is not None
    mute = launch.model_copy(update={"server": launch.server.model_copy(update={"sglang_version": None})})
    (verdict,) = stored_baseline(RIG, (mute,), "single", stored(), None)

    assert verdict.outcome is Outcome.INVALID
    assert "did not tell its SGLang version" in verdict.headline


def test_what_makes_a_baseline_stale_comes_first() -> None:
    now = make_fingerprint(
        {"host.boot_id": "b2", "gpu.driver": "595.2", "host.kernel": "6.2", "sglang.dirty": "1f0c"}
    )
    verdict = judged(STEADY, stored(), fingerprint=now)

    assert verdict.outcome is Outcome.PASS
    assert [d.key for d in verdict.differs] == ["host.boot_id", "gpu.driver", "sglang.dirty", "host.kernel"]
    assert verdict.warnings[:3] == (
        "stale baseline: the machine was booted since (host.boot_id: b1 then, b2 now)",
        "stale baseline: another driver (gpu.driver: 580.1 then, 595.2 now)",
        "stale baseline: other edits in SGLang (sglang.dirty: no then, 1f0c now)",
    )


def test_an_expired_baseline_names_itself_first() -> None:
    """Where the rig asks for it nothing passes against numbers that nobody has confirmed for months."""
    old = stored().model_copy(
        update={"provenance": stored().provenance.model_copy(update={"when": "2026-01-01T00:00:00+00:00"})}
    )
    verdict = judged(STEADY, old)
    assert verdict.outcome is Outcome.PASS
    assert verdict.warnings[0].startswith("stale baseline: it has expired, 332 days old")
    strict = make_rig(baselines={"expired": "inconclusive"}, sampling={"gpu_time_s": 0})
    verdict = judged(STEADY, old, rig=strict)
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert verdict.headline.startswith("it has expired, 332 days old and good for 30: decode 44.6 tok/s")
    assert "store anew" in (verdict.do or "")
    assert verdict.wanted == {}
    assert judged(by(0.9), old, rig=strict).outcome is Outcome.REGRESSED


def test_accepted_losses_are_told_with_their_budget() -> None:
    """The anchor was 5.9 % faster: each step down was small, and was accepted."""
    anchor, now = (levels_of(stored(rates).launches) for rates in (by(1.0625), STEADY))
    step = Accepted(when="2026-11-20T12:00:00+00:00", who="ada", why="new driver", levels=now)
    crept = stored(
        anchor=anchors_of(anchor, when="2026-03-01T12:00:00+00:00", why="first", sessions=("r0",)),
        accepted=(step,),
    )
    verdict = judged(STEADY, crept)

    assert verdict.outcome is Outcome.PASS
    assert any(line.startswith("crept 5.9% of 5.0% since 2026-03-01") for line in verdict.evidence)
    assert any("accepted beyond the budget" in text for text in verdict.warnings)
    assert not any("crept" in line for line in judged(STEADY, stored()).evidence)


PATCHED: dict[str, str | None] = {
    "sglang.install": "wheel",
    "sglang.dirty": "1f0c",
    "sglang.changed": "1: sglang/srt/managers/scheduler.py",
}
THEN, NOW = (88.8, 88.7, 88.9, 88.8, 88.6, 88.9), (82.2, 82.1, 82.3, 82.2, 82.0, 82.3)


def test_a_loss_with_another_tree_leads_to_the_tree() -> None:
    baseline = stored(THEN, fingerprint=make_fingerprint({"sglang.install": "wheel"}))
    verdict = judged(NOW, baseline, fingerprint=make_fingerprint(PATCHED))

    assert verdict.outcome is Outcome.REGRESSED  # a changed tree is what is to be judged
    assert verdict.headline == (
        "baseline moved by -7.4 % (decode 82.2 against 88.8 tok/s on baseline): "
        "the tree has changed since it was stored: confirm with a clean tree"
    )
    assert "sglang/srt/managers/scheduler.py" in verdict.evidence[0]
    assert "patched in place, it does not match its RECORD" in verdict.evidence[0]
    assert any(line.startswith("worse than the baseline: interval -") for line in verdict.evidence)
    assert verdict.do is not None
    assert "clean tree" in verdict.do
    assert "NCCL" not in verdict.model_dump_json()


def test_every_metric_of_a_stale_baseline_asks_for_the_same_step() -> None:
    samples = {"decode_tok_s": tuple((v,) for v in THEN), "tpot_ms": ((9.5,),) * 6}
    baseline = stored(THEN).model_copy(
        update={
            "launches": tuple(
                BaselineLaunch(run_id=f"r{n // 2}", launch=f"0{n % 2}", samples=samples) for n in range(12)
            )
        }
    )
    verdicts = stored_baseline(
        UNSAMPLED, (make_launch(series(NOW)),), "single", baseline, make_fingerprint({"sglang.dirty": "1f"})
    )

    assert [v.outcome for v in verdicts] == [Outcome.REGRESSED] * 2
    assert len({v.do for v in verdicts}) == 1


def test_a_loss_on_a_rebooted_machine_names_the_boot() -> None:
    verdict = judged(NOW, stored(THEN), fingerprint=make_fingerprint({"host.boot_id": "b2"}))

    assert verdict.headline.endswith("the machine was booted since it was stored")


def test_a_loss_that_is_not_confirmed_leads_to_the_tree_as_well() -> None:
    verdict = judged(NOW, stored(THEN, sessions=3), rig=RIG, fingerprint=make_fingerprint(PATCHED))

    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert verdict.headline == (
        "baseline seems to have moved by -7.4 % (decode 82.2 against 88.8 tok/s on baseline): the tree has changed "
        "since it was stored: confirm with a clean tree; needs 2 more restarts of baseline"
    )
    assert any("not confirmed by restarts, needs 2 more restarts" in line for line in verdict.evidence)
    assert verdict.needs == "2 more restarts of baseline"


@pytest.mark.parametrize("factor", [1.0, 0.985, 1.1])
def test_without_a_loss_the_number_leads(factor: float) -> None:
    verdict = judged([v * factor for v in THEN], stored(THEN), fingerprint=make_fingerprint(PATCHED))

    assert verdict.headline.startswith("decode ")
    assert any("other edits in SGLang" in warning for warning in verdict.warnings)


def test_a_gain_over_a_patched_tree_says_what_it_is_a_gain_over() -> None:
    """Back on the clean tree everything is faster than what the patched one left in store: that is no merit."""
    verdict = judged(THEN, stored(NOW, fingerprint=make_fingerprint(PATCHED)), fingerprint=make_fingerprint())

    assert verdict.outcome is Outcome.IMPROVED
    assert verdict.headline.startswith("decode 88.8 tok/s on baseline: +8.0%, better than baseline 82.2")
    assert verdict.headline.endswith("; it was stored from a patched tree")


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


# ------------------------------------------------------------------ where a loss leads that no fact explains
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
    assert slow.do.endswith(
        "nothing on record differs from the baseline: look at clocks, heat and what else ran"
    )
    assert (lost(1.0, 166).do or "").startswith(
        "acceptance has moved, not the cycle: look at the draft model"
    )
    assert (lost(1.2, 166).do or "").startswith("acceptance and the cycle have moved")


def test_of_a_control_what_differs_is_where_to_look() -> None:
    verdict = judged(NOW, stored(THEN), fingerprint=make_fingerprint({"host.cpus": "7"}))
    assert verdict.do == "see what differs from the baseline, listed with this verdict"
