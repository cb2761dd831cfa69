"""Limits that are numbers: what decides, of one server run and of several, and what is said of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from tests.verdicts.evidence import ONE_RUN, STEADY, eagle3, make_launch, make_rig, restarted, series
from tokgate.records import LaunchEvidence, Outcome, Verdict
from tokgate.stats.levels import RunValues
from tokgate.verdicts.budgets import judge_metric
from tokgate.verdicts.checks.decode_throughput import decode_throughput
from tokgate.verdicts.checks.time_to_first_token import time_to_first_token
from tokgate.verdicts.establish import Established, establish_workload

SLOW = tuple(v * 0.8 for v in STEADY)


def run(rates: Sequence[float] = STEADY) -> LaunchEvidence:
    return make_launch(series(rates))


def of_runs(*launches: LaunchEvidence, sampling: dict[str, Any] | None = None, **budget: Any) -> Verdict:
    """Of server runs of one arm, each of six starts: the verdict on one budget."""
    rig = make_rig(budgets=[{"metric": "decode_tok_s", **budget}] if budget else [], sampling=sampling or {})
    (verdict,) = decode_throughput(rig, launches, "single")
    return verdict


def judged(rates: Sequence[float] = STEADY, **budget: Any) -> Verdict:
    """Of one server run, where no restart has to confirm a loss."""
    return of_runs(run(rates), sampling=ONE_RUN, **budget)


@pytest.mark.parametrize(
    ("budget", "outcome", "words"),
    [
        ({"at_least": 40.0}, Outcome.PASS, "above the floor 40, interval 44.0–45.3"),  # noqa: RUF001
        ({"at_least": 44.6}, Outcome.INCONCLUSIVE, "the floor 44.6 lies inside the interval"),
        ({"at_least": 48.0}, Outcome.REGRESSED, "below the floor 48, interval"),
        ({"at_most": 50.0}, Outcome.PASS, "below the ceiling 50"),
        ({"at_most": 44.6}, Outcome.INCONCLUSIVE, "the ceiling 44.6 lies inside"),
        ({"at_most": 41.0}, Outcome.REGRESSED, "above the ceiling 41"),
    ],
)
def test_a_limit_is_judged_by_what_restarts_differ_by(
    budget: dict[str, Any], outcome: Outcome, words: str
) -> None:
    """Six starts agree to half a per cent; the next server run need not, so the interval is wider than they are."""
    verdict = judged(**budget)

    assert verdict.outcome is outcome
    assert verdict.headline.startswith("decode 44.6 tok/s on baseline: ")
    assert words in verdict.headline
    assert (verdict.do is None) is (outcome is Outcome.PASS)
    assert verdict.interval is not None
    assert verdict.interval[0] < min(STEADY) < max(STEADY) < verdict.interval[1]


def test_a_loss_in_a_single_run_wants_restarts_first() -> None:
    """7 % below the floor: a slow mode of its restarts may lie as far away."""
    verdict = of_runs(run(), at_least=48.0)

    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert "below the floor 48, not confirmed by restarts" in verdict.headline
    assert verdict.needs == "4 more restarts of baseline"
    assert verdict.headline.endswith("; needs 4 more restarts of baseline")
    assert verdict.wanted == {"baseline": 4}
    assert (verdict.do or "").startswith("4 more restarts of baseline would settle it")


def test_where_the_number_of_restarts_was_the_limit_the_step_raises_that_and_their_time() -> None:
    few = of_runs(run(), sampling={"most_restarts": 3, "gpu_time_s": 900}, at_least=48.0).do or ""
    assert "it takes 4 restarts of one arm in all, and the rig allows 3 (sampling.most_restarts)" in few
    assert "--rig-set sampling.most_restarts=4 --rig-set sampling.gpu_time_s=1200" in few
    enough = of_runs(run(), sampling={"most_restarts": 4, "gpu_time_s": 900}, at_least=48.0).do or ""
    assert "ran out of its 900 s" in enough
    assert "most_restarts" not in enough


def test_a_loss_farther_than_two_modes_were_ever_seen_apart_wants_one() -> None:
    verdict = of_runs(run(), at_least=50.0)

    assert (verdict.outcome, verdict.wanted) == (Outcome.INCONCLUSIVE, {"baseline": 1})
    assert of_runs(run(), restarted(run()), at_least=50.0).outcome is Outcome.REGRESSED


def test_a_loss_that_restarts_confirm_is_regressed() -> None:
    again = [restarted(run(), n, round=1) for n in range(1, 5)]
    verdict = of_runs(run(), *again, at_least=48.0)

    assert of_runs(run(), *again[:3], at_least=48.0).outcome is Outcome.INCONCLUSIVE
    assert verdict.outcome is Outcome.REGRESSED
    assert verdict.launch == "01-baseline"
    assert verdict.launches[:2] == ("01-baseline", "07-baseline-restart-1")
    assert verdict.n == 30
    assert (verdict.needs, verdict.wanted, verdict.warnings) == (None, {}, ())
    assert "launches/07-baseline-restart-1/generations.jsonl" in verdict.raw
    assert (
        "a server whose restarts fall into two modes shows this with a chance of at most 0.4%"
        in verdict.evidence
    )


def test_without_sampling_a_loss_is_called_on_the_run_there_is_and_says_so() -> None:
    assert any("not confirmed by restarts" in w for w in judged(at_least=48.0).warnings)


@pytest.mark.parametrize("slow_first", [True, False])
@pytest.mark.parametrize("sampling", [{}, ONE_RUN])
def test_one_slow_restart_of_two_is_no_regression(slow_first: bool, sampling: dict[str, Any]) -> None:
    """The mean of both lies 10 % below the floor; that is what a server with two modes looks like."""
    first, second = (SLOW, STEADY) if slow_first else (STEADY, SLOW)
    verdict = of_runs(run(first), restarted(run(second)), at_least=44.0, sampling=sampling)

    assert verdict.outcome is not Outcome.REGRESSED
    assert verdict.outcome is not Outcome.PASS


def test_a_value_near_its_limit_is_no_pass_and_says_how_many_runs_would_settle_it() -> None:
    """1 % above the floor, where one run differs from the next by half a per cent: it may as well lie below."""
    near = STEADY[0] * 0.99
    alone = of_runs(run(), at_least=near)

    assert alone.outcome is Outcome.INCONCLUSIVE
    assert alone.needs is not None
    more = alone.wanted["baseline"]
    assert alone.needs.startswith(f"{more} more restart")
    enough = [run(), *(restarted(run(), n + 1, round=1) for n in range(more))]
    assert of_runs(*enough, at_least=near).outcome is Outcome.PASS


def test_a_value_that_is_as_good_as_its_limit_is_not_worth_any_restart() -> None:
    verdict = of_runs(run(), at_least=44.6)

    assert (verdict.outcome, verdict.needs, verdict.wanted) == (Outcome.INCONCLUSIVE, None, {})
    assert (verdict.do or "").startswith("it is as good as its limit")


def test_more_limits_leave_each_a_smaller_chance_of_a_false_alarm() -> None:
    """The session's chance is one, however many budgets share it; what one would have called grows with them."""
    rates = [{"metric": "decode_tok_s", "at_least": 40.0 - n} for n in range(8)]
    (alone,) = decode_throughput(make_rig(budgets=rates[:1]), run(), "single")
    first, *_ = decode_throughput(make_rig(budgets=rates), run(), "single")

    assert alone.level is not None
    assert first.level == pytest.approx(alone.level / 8)
    assert (first.smallest or 0) > (alone.smallest or 0) > 0


def test_a_second_look_is_paid_for() -> None:
    """The same runs, as planned ones and as restarts that were asked for after a look."""
    planned = make_launch(series(launch="04-baseline-again"), id="04-baseline-again", role="control-again")
    asked_for = of_runs(run(), restarted(run()), at_least=40.0)

    assert (asked_for.smallest or 0) > (of_runs(run(), planned, at_least=40.0).smallest or 0)
    assert any("level of look 2" in line for line in asked_for.evidence)


def test_runs_that_differ_widen_the_interval_and_stand_beside_it() -> None:
    apart = of_runs(run(), restarted(run(tuple(v * 1.03 for v in STEADY))), at_least=40.0)
    alike = of_runs(run(), restarted(run()), at_least=40.0)

    assert apart.interval is not None
    assert alike.interval is not None
    assert apart.interval[1] - apart.interval[0] > 2 * (alike.interval[1] - alike.interval[0])
    assert "server run by server run: 01-baseline 44.6, 07-baseline-restart-1 45.9 tok/s" in apart.evidence


def test_stored_runs_tell_how_much_a_server_differs() -> None:
    """Stored sessions whose runs lie 5 % apart: a single run 4 % above its floor is no pass any more."""
    stored = [
        RunValues(session=f"s{n}", launch=str(k), values=tuple(v * k for v in STEADY))
        for n in range(3)
        for k in (0.975, 1.025)
    ]
    rig = make_rig(budgets=[{"metric": "decode_tok_s", "at_least": 42.8}])

    assert decode_throughput(rig, run(), "single")[0].outcome is Outcome.PASS
    (verdict,) = decode_throughput(rig, run(), "single", history={"decode_tok_s": stored})
    assert verdict.outcome is Outcome.INCONCLUSIVE


def test_where_a_prior_weighs_more_than_what_was_seen_it_is_said() -> None:
    assert any("prior of 0.50%" in line for line in of_runs(run(), at_least=40.0).evidence)
    many = [run(), *(restarted(run(), n + 1) for n in range(5))]
    assert not any("prior" in line for line in of_runs(*many, at_least=40.0).evidence)


def test_without_a_limit_the_value_itself_is_told() -> None:
    verdict = judged()

    assert verdict.outcome is Outcome.PASS
    assert verdict.reference is None
    assert verdict.headline == "decode 44.6 tok/s on baseline: no budget set, interval 44.0–45.3"  # noqa: RUF001


@pytest.mark.parametrize("elsewhere", [{"arm": "eagle3-2step"}, {"workload": "other"}, {"metric": "ttft_ms"}])
def test_limits_of_others_are_not_ours(elsewhere: dict[str, Any]) -> None:
    assert judged(at_least=1000.0, **elsewhere).outcome is Outcome.PASS


def test_every_limit_has_its_own_verdict() -> None:
    rig = make_rig(
        budgets=[
            {"metric": "ttft_ms", "at_most": 10.0, "at_least": 1.0},
            {"metric": "ttft_ms", "arm": "baseline", "workload": "single", "at_most": 30.0},
        ],
        sampling=ONE_RUN,
    )
    verdicts = time_to_first_token(rig, run(), "single")

    assert [v.outcome for v in verdicts] == [Outcome.PASS, Outcome.REGRESSED, Outcome.PASS]


def test_the_second_control_alone_goes_by_its_own_name() -> None:
    again = "04-baseline-again"
    launch = make_launch(series(launch=again), id=again, role="control-again")
    (verdict,) = decode_throughput(make_rig(), launch, "single")
    (both,) = decode_throughput(make_rig(), (run(), launch), "single")

    assert "on 04-baseline-again" in verdict.headline
    assert "on baseline:" in both.headline


def test_a_run_that_cannot_be_judged_is_not_left_out() -> None:
    broken = restarted(run()).model_copy(update={"faults": ("the lease was lost",)})
    verdict = of_runs(run(), broken, at_least=40.0)

    assert verdict.outcome is Outcome.INVALID
    assert "the lease was lost" in verdict.headline


def test_no_run_at_all_is_no_pass() -> None:
    assert [v.outcome for v in decode_throughput(make_rig(), (), "single")] == [Outcome.INVALID]


def test_many_streams_are_judged_one_by_one_and_together() -> None:
    launch = make_launch(series((50.0, 51.0, 52.0, 53.0), workload="pair", concurrency=2))

    assert [v.metric for v in decode_throughput(make_rig(), launch, "pair")] == [
        "decode_tok_s",
        "total_tok_s",
    ]


def test_a_headline_fits_a_terminal() -> None:
    assert len(judged(at_least=40.0).headline) <= 80


@pytest.mark.parametrize(
    ("metric", "budget", "words"),
    [
        ("decode_tok_s", {"at_least": 100.0}, "accept length, or the cycle and its phases"),
        ("cycle_ms", {"at_most": 10.0}, "which phase of the cycle it is"),
        ("accept_length", {"at_least": 3.0}, "look at the draft model"),
    ],
)
def test_beyond_a_limit_it_says_where_this_session_tells_more(
    metric: str, budget: dict[str, float], words: str
) -> None:
    rig = make_rig(budgets=[{"metric": metric, **budget}], sampling=ONE_RUN)
    established = establish_workload(rig, eagle3(), "single", check="c")
    assert isinstance(established, Established)
    (verdict,) = judge_metric(rig, (established,), metric, check="c")
    assert verdict.outcome is Outcome.REGRESSED
    assert words in (verdict.do or "")


def test_a_plain_arm_beyond_its_limit_is_not_sent_to_acceptance() -> None:
    assert (judged(at_least=48.0).do or "").startswith("it does no speculation: see stored_baseline")


def test_the_limit_is_kept_on_its_good_side() -> None:
    assert judged(at_least=40.0).floor == "floor 40 tok/s, surely above it"
    assert judged(at_most=50.0).floor == "ceiling 50 tok/s, surely below it"
