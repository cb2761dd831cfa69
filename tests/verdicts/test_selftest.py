"""The gate's own rule on planted losses: what it calls, how often, and that trials are counted as independent only once."""

from __future__ import annotations

from functools import cache

import pytest

from tests.verdicts.evidence import make_rig
from tests.verdicts.selftest_examples import launches
from tokgate.records.selftest import Found, PlantedLaunch, Rate
from tokgate.verdicts.selftest import MOST_RESAMPLED, judge_selftest

RIG = make_rig()


def by_level(runs: tuple[PlantedLaunch, ...], baseline: int = 4, session: int = 4) -> dict[float, Found]:
    _, found = judge_selftest(RIG, runs, baseline_runs=baseline, session_runs=session)
    return {one.planted: one for one in found if one.metric == "decode_tok_s"}


@cache
def of_eight() -> dict[float, Found]:
    return by_level(launches(8))


def alarms(runs: tuple[PlantedLaunch, ...], baseline: int = 4, session: int = 4) -> Rate:
    return judge_selftest(RIG, runs, baseline_runs=baseline, session_runs=session)[0]


def test_a_loss_is_called_by_every_session_and_nothing_where_nothing_is_planted() -> None:
    runs = launches(12)
    found, alarm = by_level(runs), alarms(runs)
    assert (alarm.seen, alarm.of) == (0, 2)
    assert alarm.high == pytest.approx(0.776, abs=1e-3)
    assert (found[0.05].trials.seen, found[0.05].trials.of) == (2, 2)
    assert found[0.05].trials.low == pytest.approx(0.224, abs=1e-3)
    assert found[0.0].outcomes == ("pass", "pass")
    assert found[0.05].outcomes == ("regressed", "regressed")


def test_what_was_really_lost_is_measured_within_server_runs() -> None:
    # One run is 3 % slower as a whole: that is in planted and unplanted blocks alike.
    one = by_level(launches(8, factors={5: 0.97}))[0.05]
    assert one.really == pytest.approx(0.05, abs=2e-3)
    assert one.really_interval is not None
    assert one.really_interval[0] < 0.05 < one.really_interval[1]


def test_a_session_that_is_slow_by_itself_is_an_alarm() -> None:
    slow = alarms(launches(12, factors=dict.fromkeys(range(9, 13), 0.9)))
    assert (slow.seen, slow.of) == (1, 2)
    assert slow.low > 0


def test_one_slow_server_run_of_a_session_is_none() -> None:
    """Whatever it shows by itself: a server with two modes would show it as well."""
    runs = launches(8, factors={5: 0.5})
    assert by_level(runs)[0.0].alone.seen == 1
    assert alarms(runs).seen == 0


def test_noise_that_hides_a_loss_is_told_by_the_smallest_that_would_be_seen() -> None:
    quiet, noisy = of_eight()[0.05], by_level(launches(8, spread=0.05))[0.05]
    assert (quiet.trials.seen, noisy.trials.seen) == (1, 0)
    assert quiet.smallest is not None
    assert noisy.smallest is not None
    assert noisy.smallest > 2 * quiet.smallest


def test_other_baselines_are_told_apart_and_never_counted_as_trials() -> None:
    one = of_eight()[0.1]
    assert one.resampled == (MOST_RESAMPLED, MOST_RESAMPLED)
    assert one.trials.of == 1
    few = by_level(launches(4), 2, 2)[0.1]
    assert few.resampled[1] == 6


def test_too_few_runs_confirm_nothing() -> None:
    """Two runs against two: a server with two modes shows as much by chance."""
    one = by_level(launches(4), 2, 2)[0.1]
    assert one.outcomes == ("inconclusive",)
    assert one.trials.seen == 0


def test_a_server_run_that_broke_off_is_no_part_of_anything() -> None:
    runs = list(launches(9))
    lost = tuple(b.model_copy(update={"values": {}, "fault": "broke off"}) for b in runs[0].blocks)
    runs[0] = runs[0].model_copy(update={"blocks": lost})
    assert by_level(tuple(runs))[0.1].outcomes == ("regressed",)


def test_what_broke_off_is_judged_as_far_as_it_came() -> None:
    assert by_level(launches(7)) == {}
    assert alarms(()).of == 0
    assert by_level(launches(11))[0.05].trials.of == 1
