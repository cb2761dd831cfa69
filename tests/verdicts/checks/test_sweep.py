from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from tests.verdicts.evidence import make_launch
from tests.verdicts.sweep_evidence import around, chains, run, sweep_rig
from tokgate.records import LaunchEvidence, Outcome, StartCause, StartFailure, Verdict
from tokgate.rig.sweep import Setting
from tokgate.stats.compare import compare, needed_a_side
from tokgate.verdicts.checks.sweep import sweep, sweep_setting
from tokgate.verdicts.sweep_best import best_of, confidence_of, sweep_table
from tokgate.verdicts.sweep_settings import Measured, SweepRow, refused


def judged(launches: tuple[LaunchEvidence, ...], **keys: Any) -> Verdict:
    (verdict,) = sweep(sweep_rig(**keys), launches, "single")
    return verdict


def swept(one: float, two: float, three: float, *, spread: float = 1.0, **changes: Any) -> Verdict:
    return judged(run(sweep_rig(), chains(one, two, three, spread=spread), **changes))


def text(verdict: Verdict) -> str:
    return "\n".join((verdict.headline, *verdict.evidence))


def test_the_own_setting_is_the_best() -> None:
    verdict = swept(54.0, 60.0, 57.0)
    assert verdict.outcome is Outcome.PASS
    assert verdict.headline.startswith("single: 2 steps best, by 5.3 % [")
    assert verdict.headline.endswith("] over 3 steps; the rig's 2 steps it is")
    assert verdict.launch is not None
    assert verdict.launch.endswith("-sweep-s2-k1-t3")
    assert verdict.change == pytest.approx(60 / 57 - 1, abs=1e-3)
    assert verdict.interval is not None
    assert verdict.interval[0] < 60 / 57 - 1 < verdict.interval[1]


def test_a_setting_surely_faster_breaks_the_promise() -> None:
    verdict = swept(54.0, 57.0, 60.0)
    assert verdict.outcome is Outcome.REGRESSED
    assert verdict.headline.startswith("single: 3 steps faster than the rig's 2 steps by 5.3 % [")
    assert verdict.headline.endswith("60.0 against 57.0 tok/s")
    assert "num_steps = 3, topk = 1, num_draft_tokens = 4" in (verdict.do or "")
    assert verdict.reference is not None
    assert verdict.reference.value == pytest.approx(60.0, abs=0.1)
    assert verdict.change == pytest.approx(57 / 60 - 1, abs=1e-3)


def test_a_lead_below_the_floor_breaks_nothing_and_is_told() -> None:
    verdict = swept(54.0, 59.4, 60.0)
    assert verdict.outcome is Outcome.PASS
    assert verdict.headline.startswith("single: 3 steps best, by 1.0 % [")
    assert "less than the smallest change worth calling (2 % and 0.5 tok/s)" in verdict.headline
    assert verdict.headline.endswith("none is faster than the rig's 2 steps by more than the floor")


def test_noise_that_could_hide_a_better_setting_is_no_pass() -> None:
    verdict = swept(54.0, 59.5, 60.0, spread=12)
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert "2 and 3 steps not told apart" in verdict.headline
    assert "more starts a setting" in verdict.headline
    assert "repeats a side would settle it" in (verdict.do or "")


def test_settings_alike_within_the_floor_pass() -> None:
    verdict = swept(54.0, 60.02, 60.0)
    assert verdict.outcome is Outcome.PASS
    assert "2 and 3 steps not told apart" in verdict.headline
    assert "alike within 2 % and 0.5 tok/s" in verdict.headline


def test_too_few_starts_for_so_many_settings_decide_nothing() -> None:
    rig = sweep_rig(repeats=4)
    four = {name: rates[:4] for name, rates in chains(54.0, 57.0, 60.0).items()}
    (verdict,) = sweep(rig, run(rig, four, before=(44.6,) * 4, after=(44.6,) * 4), "single")
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert "n=4 a setting, 5 needed" in verdict.headline
    assert verdict.do is not None
    assert verdict.do.startswith("raise sweep.repeats to 5")


def test_a_gain_smaller_than_the_drift_decides_nothing() -> None:
    verdict = swept(54.0, 57.0, 60.0, after=around(49.0))
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert verdict.headline.endswith("but the controls drift by 9.9%")


@pytest.mark.parametrize(
    "cause", [StartCause.DOES_NOT_FIT, StartCause.BAD_ARGUMENT, StartCause.KERNEL_MISSING]
)
def test_a_setting_that_cannot_be_had_voids_no_other(cause: StartCause) -> None:
    rates = chains(54.0, 60.0, 57.0)
    del rates["s3-k1-t4"]
    verdict = judged(run(sweep_rig(), rates, failed={"s3-k1-t4": cause}))
    assert verdict.outcome is Outcome.PASS
    assert f"3 steps: cannot be had: out of GPU memory ({cause.value})" in verdict.evidence


def test_a_setting_without_numbers_may_have_been_the_best() -> None:
    rates = chains(54.0, 60.0, 57.0)
    del rates["s3-k1-t4"]
    for launches in (
        run(sweep_rig(), rates, failed={"s3-k1-t4": StartCause.SILENT}),
        run(sweep_rig(), rates),
    ):
        verdict = judged(launches)
        assert verdict.outcome is Outcome.INCONCLUSIVE
        assert "2 steps best, by" in verdict.headline
        assert "of those with numbers; 3 steps has none" in verdict.headline


def test_a_loss_stands_whatever_else_failed() -> None:
    rates = chains(54.0, 57.0, 60.0)
    del rates["s1-k1-t2"]
    verdict = judged(run(sweep_rig(), rates, failed={"s1-k1-t2": StartCause.CRASHED}))
    assert verdict.outcome is Outcome.REGRESSED


def test_without_the_own_setting_nothing_is_judged_and_the_best_still_named() -> None:
    rates = chains(54.0, 60.0, 57.0)
    del rates["s2-k1-t3"]
    verdict = judged(run(sweep_rig(), rates, failed={"s2-k1-t3": StartCause.DOES_NOT_FIT}))
    assert verdict.outcome is Outcome.INVALID
    assert "the arm's own setting has no numbers" in verdict.headline
    assert any(line.startswith("3 steps best, by") for line in verdict.evidence)


@pytest.mark.parametrize("missing", ["-sweep-control", "-sweep-control-again"])
def test_without_both_twins_nothing_is_judged(missing: str) -> None:
    launches = tuple(
        e for e in run(sweep_rig(), chains(54.0, 60.0, 57.0)) if not e.launch.id.endswith(missing)
    )
    verdict = judged(launches)
    assert verdict.outcome is Outcome.INVALID
    assert "1 of 2 control launches" in verdict.headline


def test_an_empty_run_is_no_sweep() -> None:
    assert judged(()).outcome is Outcome.INVALID
    assert sweep_table(sweep_rig(), ()) is None


def test_a_setting_is_told_with_all_that_decides_it() -> None:
    table = sweep_table(sweep_rig(), run(sweep_rig(), chains(54.0, 60.0, 40.0)))
    assert table is not None
    one, two, three = table.rows
    assert [r.configured for r in table.rows] == [False, True, False]
    assert two.tok_s == pytest.approx(60.0, abs=0.1)
    assert two.accept_length == pytest.approx(256 / 138)
    # 255 decoded tokens at 60 tok/s in 138 cycles.
    assert two.cycle_ms == pytest.approx(255 / 60 / 138 * 1e3, rel=0.01)
    assert two.speed_up == pytest.approx(60 / 44.6, rel=0.01)
    assert two.speed_up_interval is not None
    assert two.speed_up_interval[0] < 60 / 44.6 < two.speed_up_interval[1]
    # As long as 256 / 138 plain tokens, but for the first.
    assert two.break_even_cycle_ms == pytest.approx(255 / 138 / 44.6 * 1e3, rel=0.01)
    assert two.headroom_ms == pytest.approx((two.break_even_cycle_ms or 0) - (two.cycle_ms or 0))
    assert one.headroom_ms is not None
    assert one.headroom_ms > 0
    assert three.headroom_ms is not None
    assert three.headroom_ms < 0  # 40 tok/s lose to the plain 44.6
    assert "ms too long" in three.text()


def test_more_tokens_a_cycle_than_steps_allow_is_no_measurement() -> None:
    rig = sweep_rig()
    launches = list(run(rig, chains(54.0, 60.0, 57.0)))
    (place,) = (n for n, e in enumerate(launches) if e.launch.id.endswith("s1-k1-t2"))
    short = tuple(
        g.model_copy(
            update={
                "counters": g.counters.model_copy(
                    update={
                        "spec": g.counters.spec.model_copy(update={"verify_ct": 100, "accept_length": 2.56})
                    }
                )
            }
        )
        for g in launches[place].generations
        if g.counters is not None and g.counters.spec is not None
    )
    launches[place] = launches[place].model_copy(update={"generations": short})
    (verdict,) = sweep_setting(rig, launches[place], "single")
    assert verdict.outcome is Outcome.INVALID
    assert "1 step gives at most 2 tokens a verify call" in verdict.headline
    assert judged(tuple(launches)).outcome is Outcome.INCONCLUSIVE


def test_the_best_may_differ_by_workload_and_that_is_said() -> None:
    rig = sweep_rig(workloads=("single", "pair"))
    single = run(rig, chains(54.0, 60.0, 66.0))
    pair = run(
        rig,
        {n: (*r[:4], *r[:4]) for n, r in chains(66.0, 60.0, 54.0).items()},
        workload="pair",
        concurrency=2,
    )
    both = tuple(
        a.model_copy(update={"generations": (*a.generations, *b.generations)})
        for a, b in zip(single, pair, strict=True)
    )
    table = sweep_table(rig, both)
    assert table is not None
    assert table.over_all == (
        "no setting is best under every workload: 3 steps under single, 1 step under pair"
    )


def test_each_launch_is_established_by_the_setting_it_had() -> None:
    rig = sweep_rig()
    for launch in run(rig, chains(54.0, 60.0, 57.0)):
        (verdict,) = sweep_setting(rig, launch, "single")
        assert verdict.outcome is Outcome.PASS, verdict.headline
        assert verdict.floor is None  # nothing is demanded of it
    as_written = run(rig, chains(54.0, 60.0, 57.0))[1]
    other = make_launch(as_written.generations, id=as_written.launch.id, arm="eagle3-2step", role="sweep")
    (verdict,) = sweep_setting(rig, other, "single")  # its server says 2 steps
    assert verdict.outcome is Outcome.INVALID
    assert "speculative_num_steps is 2 in the server, 1 in the rig" in verdict.headline


@pytest.mark.parametrize(
    ("cause", "outcome"),
    [(StartCause.DOES_NOT_FIT, Outcome.INCONCLUSIVE), (StartCause.SILENT, Outcome.INVALID)],
)
def test_a_launch_that_did_not_start_is_never_a_pass(cause: StartCause, outcome: Outcome) -> None:
    rig = sweep_rig()
    launch = run(rig, {}, failed={"s3-k1-t4": cause})[1]
    (verdict,) = sweep_setting(rig, launch, "single")
    assert verdict.outcome is outcome
    assert verdict.do


def test_a_refusal_in_sglangs_own_words_is_one_and_a_crash_is_none() -> None:
    def failure(headline: str) -> StartFailure:
        return StartFailure(cause=StartCause.CRASHED, headline=headline, do="read the traceback")

    # As the real 0.5.23 ends with --page-size 64 --speculative-eagle-topk 4.
    told = "ValueError: speculative_eagle_topk > 1 with page_size > 1 is only supported on ('flashinfer', 'fa3', 'triton')"
    assert refused(failure(f"{told} (exit code 1)"))
    assert not refused(failure("it was killed by signal 9; suspect the host's out-of-memory killer"))
    assert not refused(failure("RuntimeError: CUDA error: an illegal memory access was encountered"))


def test_so_many_comparisons_hold_together() -> None:
    """Of equal settings one is called the best, or the own one beaten, in no more than 5 of 100 sweeps."""
    rig = sweep_rig()
    settings = [Setting(num_steps=n, topk=1, num_draft_tokens=n + 1) for n in range(1, 7)]
    draw, sweeps, named, beaten = random.Random(5), 400, 0, 0
    for _ in range(sweeps):
        found = [
            Measured(
                row=SweepRow(workload="single", launch=None, setting=s, words=s.words, configured=False),
                values=tuple(draw.gauss(60, 1.5) for _ in range(6)),
            )
            for s in settings
        ]
        named += best_of(rig, found, "single").told_apart
        own, others = found[1], [*found[:1], *found[2:]]
        level = confidence_of(len(found))
        against = [compare(own.values, m.values, confidence=level) for m in others]
        beaten += any(c.established and c.ratio < 1 for c in against)
    assert named / sweeps <= 0.05
    assert 0 < beaten / sweeps <= 0.05  # at 95 % for each of the five it would be 8 of 100


def test_the_confidence_of_one_comparison() -> None:
    assert confidence_of(2) == 0.95
    assert confidence_of(3) == pytest.approx(0.975)
    assert confidence_of(1) == 0.95


def test_the_starts_that_the_documentation_asks_for() -> None:
    needed = {m: needed_a_side(confidence_of(m)) for m in range(2, 13)}
    changes = [m for m in needed if needed.get(m - 1) != needed[m]]
    assert [(m, needed[m]) for m in changes] == [(2, 4), (3, 5), (8, 6)]
    text = " ".join((Path(__file__).parents[3] / "docs/sweep.md").read_text(encoding="utf-8").split())
    assert "4 with two settings, 5 from three, 6 from eight" in text


def test_the_words_stand_in_the_evidence() -> None:
    assert "2 settings compared with the arm's own, each at 97.50%, together at 95 %" in text(
        swept(54.0, 60.0, 57.0)
    )
