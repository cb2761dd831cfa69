from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from tests.verdicts.evidence import STEADY, eagle3, make_fingerprint, make_launch, make_rig, series
from tests.verdicts.test_baseline_update import drawn
from tests.verdicts.test_split import RATES, run
from tokgate.records import Difference, Fingerprint, Outcome, Verdict
from tokgate.rig.models import Rig
from tokgate.verdicts.baseline_file import Absence, BaselineFile, BaselineLaunch, Provenance
from tokgate.verdicts.checks.stored_baseline import stored_baseline
from tokgate.verdicts.control_part import Control
from tokgate.verdicts.identity import identity_hash, identity_of_launch

RIG = make_rig()


def stored(
    rates: Sequence[float] = STEADY, *, rig: Rig = RIG, launches: int = 2, **changes: Any
) -> BaselineFile:
    identity = {**identity_of_launch(rig, make_launch(), "single", None), **changes.pop("settings", {})}
    one = tuple((rate,) for rate in rates)
    fields: dict[str, Any] = {
        "rig": rig.name,
        "arm": "baseline",
        "workload": "single",
        "simulated": identity["simulated"] == "true",
        "identity": identity,
        "identity_hash": identity_hash(identity),
        "fingerprint": make_fingerprint(),
        "provenance": Provenance(who="ada", when="2026-11-01T12:00:00+00:00", why="first", runs=("r1",)),
        "launches": tuple(
            BaselineLaunch(run_id="r1", launch=f"0{i}", samples={"decode_tok_s": one})
            for i in range(launches)
        ),
    }
    return BaselineFile(**{**fields, **changes})


def judged(
    rates: Sequence[float],
    baseline: BaselineFile | Absence,
    *,
    rig: Rig = RIG,
    fingerprint: Fingerprint | None = None,
) -> Verdict:
    (verdict,) = stored_baseline(rig, make_launch(series(rates)), "single", baseline, fingerprint)
    return verdict


@pytest.mark.parametrize(
    ("factor", "outcome", "words"),
    [
        (0.90, Outcome.REGRESSED, "-10.0%, worse than baseline 44.6, interval -10."),
        (0.985, Outcome.PASS, "-1.5%, no loss against baseline 44.6"),
        (1.0, Outcome.PASS, "+0.0%, no loss against"),
        (1.10, Outcome.IMPROVED, "+10.0%, better than baseline 44.6"),
    ],
)
def test_creep_is_told_with_its_interval(factor: float, outcome: Outcome, words: str) -> None:
    verdict = judged(tuple(v * factor for v in STEADY), stored())

    assert verdict.outcome is outcome
    assert words in verdict.headline
    assert verdict.reference is not None
    assert (verdict.reference.value, verdict.reference.n) == (44.6, 12)
    assert verdict.change == pytest.approx(factor - 1, abs=0.001)
    assert (verdict.do is None) is (outcome in (Outcome.PASS, Outcome.IMPROVED))


def test_the_floors_of_the_rig_count() -> None:
    wide = make_rig(floors={"decode_tok_s": {"relative": 0.2, "absolute": 2.0}})

    assert judged(tuple(v * 0.9 for v in STEADY), stored(), rig=wide).outcome is Outcome.PASS


def test_a_baseline_too_short_decides_nothing() -> None:
    verdict = judged(STEADY, stored(STEADY[:3], launches=1))

    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert "n=6+3, 4 a side needed" in verdict.headline


def test_only_metrics_that_both_have_are_compared() -> None:
    baseline = stored()
    samples = {"decode_tok_s": ((44.6,),) * 6, "ttft_ms": ((20.0,),) * 6, "cycle_ms": ((9.0,),) * 6}
    both = baseline.model_copy(
        update={"launches": (BaselineLaunch(run_id="r", launch="01", samples=samples),)}
    )
    verdicts = stored_baseline(RIG, make_launch(), "single", both, None)

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
    (verdict,) = stored_baseline(RIG, mute, "single", stored(), None)

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


def test_one_server_run_does_not_hold_the_spread_between_restarts() -> None:
    assert any("one server run" in w for w in judged(STEADY, stored(launches=1)).warnings)
    assert not any("one server run" in w for w in judged(STEADY, stored()).warnings)


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
    samples = {"decode_tok_s": tuple((v,) for v in THEN), "tpot_ms": ((11.2,),) * 6}
    baseline = stored(THEN).model_copy(
        update={"launches": (BaselineLaunch(run_id="r", launch="01", samples=samples),)}
    )
    verdicts = stored_baseline(
        RIG, make_launch(series(NOW)), "single", baseline, make_fingerprint({"sglang.dirty": "1f"})
    )

    assert [v.outcome for v in verdicts] == [Outcome.REGRESSED] * 2
    assert len({v.do for v in verdicts}) == 1


def test_a_loss_on_a_rebooted_machine_names_the_boot() -> None:
    verdict = judged(NOW, stored(THEN), fingerprint=make_fingerprint({"host.boot_id": "b2"}))

    assert verdict.headline.endswith("the machine was booted since it was stored")


def test_too_few_values_leave_a_loss_open_and_still_lead_to_the_tree() -> None:
    verdict = judged(NOW, stored(THEN[:3], launches=1), fingerprint=make_fingerprint(PATCHED))

    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert "the tree has changed since it was stored" in verdict.headline
    assert any("n=6+3, 4 a side needed" in line for line in verdict.evidence)


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
TWINS = make_rig(twins=[{"at_least": 1.0}])


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
        arm,
        "single",
        kept,
        make_fingerprint(PATCHED if tree is None else tree),
        control=Control(launch=plain, stored=stored(THEN, rig=TWINS)),
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
    slow = eagle3(NOW)
    absent = Absence(path="baselines/small/0.json", identity={})
    control = Control(launch=make_launch(series(THEN)), stored=absent)
    (verdict,) = stored_baseline(TWINS, slow, "single", absent, None, control=control)

    assert verdict.outcome is Outcome.NO_BASELINE
    assert verdict.do is not None
    assert "baseline update" not in verdict.do
    assert "slower than its twin" in verdict.do


def test_a_control_changes_no_outcome() -> None:
    arm = eagle3(SPECULATING)
    absent = Absence(path="baselines/small/0.json", identity={})
    for kept in (stored(), absent):
        alone = stored_baseline(TWINS, arm, "single", kept, None)
        control = Control(launch=make_launch(series(NOW)), stored=absent)
        assert stored_baseline(TWINS, arm, "single", kept, None, control=control) == alone


# ------------------------------------------------------------------ where a loss leads that no fact explains
def lost(cycle: float, accepted: int = 138, *, phases: bool = True) -> Verdict:
    """An arm of which speed, accept length and cycle are stored, against the same with a longer cycle or less accepted."""
    then = run(phases=phases)
    (kept,) = (d.new for d in drawn(then) if d.new.arm == "eagle3-2step")
    rates = tuple(v / cycle * 138 / accepted for v in RATES)
    arm = eagle3().model_copy(
        update={"generations": series(rates, launch="02-eagle3-2step", verify_ct=accepted)}
    )
    found = stored_baseline(make_rig(), arm, "single", kept)
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
