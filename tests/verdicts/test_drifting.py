"""The control runs of a session in order of time: what is a drift, what a restart, and what nobody knows yet."""

from __future__ import annotations

import random
import statistics
from collections.abc import Sequence

import pytest

from tests.verdicts.evidence import STEADY, controls, make_launch, make_rig, series
from tokgate.records import LaunchEvidence, Outcome, Verdict
from tokgate.report.commands import commands
from tokgate.rig.limits import Floor
from tokgate.stats.levels import RunValues
from tokgate.verdicts.checks.steadiness import drift
from tokgate.verdicts.controls_drift import _apart
from tokgate.verdicts.drifting import LEVEL, drift_among, known_restarts
from tokgate.verdicts.questions import questions_of
from tokgate.verdicts.validity import invalidities

RIG = make_rig()
FLOOR = Floor(relative=0.02, absolute=0.5)


def times(factor: float) -> tuple[float, ...]:
    return tuple(v * factor for v in STEADY)


def session(*factors: float) -> tuple[LaunchEvidence, ...]:
    """Controls in order of time: before, after, and as many restarts."""
    before, after, *later = factors
    return (
        *controls(times(before), times(after)),
        *(
            make_launch(series(times(one), launch=name), id=name, role="restart")
            for n, one in enumerate(later, start=1)
            for name in (f"{4 + n:02d}-baseline-restart-{n}",)
        ),
    )


def judged(*factors: float) -> Verdict:
    (verdict,) = drift(RIG, session(*factors), "single")
    return verdict


def test_a_drift_that_goes_on_during_restarts_is_seen() -> None:
    """No more than a floor within the bracket, and 9 % when the last restart is made: nothing of it stands."""
    assert judged(1.0, 0.985).outcome is Outcome.PASS
    found = judged(1.0, 0.985, 0.96, 0.935, 0.91)

    assert found.outcome is Outcome.INVALID
    assert found.headline.startswith("the machine drifted by -9.0%: control 44.6 before, 40.6 tok/s after")
    assert "(07-baseline-restart-3)" in found.headline
    assert found.launches[-1] == "07-baseline-restart-3"
    assert any(
        line.startswith("controls in order of time: 01-baseline 44.6, 04-baseline-again 43.9,")
        for line in found.evidence
    )
    (objection,) = (
        f for f in invalidities(RIG, session(1.0, 0.985, 0.96, 0.935, 0.91), "single") if "drift" in f.what
    )
    assert "controls in order of time" in objection.evidence[1]


def test_one_restart_far_from_the_bracket_is_enough() -> None:
    assert judged(1.0, 1.001, 0.9).outcome is Outcome.INVALID
    assert judged(1.0, 1.001, 0.995).outcome is Outcome.PASS


@pytest.mark.parametrize(
    ("restarts", "outcome", "words"),
    [
        ((0.941, 0.942, 0.943), Outcome.INVALID, "more than restarts of this arm differ by"),
        ((0.97, 1.01, 0.96, 1.0, 0.95), Outcome.PASS, "no more than restarts of this arm differ by"),
    ],
)
def test_a_drift_that_is_unsure_after_the_bracket_is_settled_by_restarts(
    restarts: Sequence[float], outcome: Outcome, words: str
) -> None:
    """6 % between the controls: a drift or two restarts, nobody knows. What restarts differ by tells."""
    unknown = judged(1.0, 0.94)
    assert unknown.outcome is Outcome.INCONCLUSIVE
    assert "more than the 2.0% that is allowed, and two server starts may differ by 7.6%" in unknown.headline
    assert (unknown.needs, unknown.wanted) == ("3 more restarts of baseline", {"baseline": 3})
    assert (unknown.do or "").startswith("have the control started 3 more times")
    assert commands(unknown.do, "RUN") == (
        f"pytest perf_tests -m eagle3 --rig small --rig-set sampling.gpu_time_s={max(600, 2 * RIG.sampling.gpu_time_s):g}",
    )
    assert judged(1.0, 0.94, 0.941).wanted == {"baseline": 2}

    known = judged(1.0, 0.94, *restarts)
    assert known.outcome is outcome
    assert words in known.headline


def test_a_drift_nobody_is_sure_of_is_a_question_of_the_session() -> None:
    (asked,) = questions_of([judged(1.0, 0.94)])
    assert (asked.settled, asked.wants) == (False, {"baseline": 3})
    assert [q.settled for q in questions_of([judged(1.0, 1.0), judged(1.0, 0.9)])] == [True, True]


def test_too_few_starts_for_an_interval_want_starts_and_no_restarts() -> None:
    few = tuple(
        make_launch(series(STEADY[:3], launch=c.launch.id), id=c.launch.id, role=c.launch.role)
        for c in controls()
    )
    (found,) = drift(make_rig(workloads=[w | {"repeats": 3} for w in _workloads()]), few, "single")

    assert found.outcome is Outcome.INCONCLUSIVE
    assert found.needs == "1 more generation of single in every run"
    assert not found.wanted


def test_starts_that_spread_too_wide_want_more_of_them() -> None:
    """3 % of spread from start to start: the change itself lies within the floor, its interval does not."""
    noisy = tuple(v * (1 + 0.012 * sign) for v, sign in zip(STEADY, (1, -1, 1, -1, 1, -1), strict=True))
    before, after = controls(noisy, tuple(v * 1.003 for v in noisy[::-1]))
    (found,) = drift(RIG, (before, after), "single")

    assert found.outcome is Outcome.INCONCLUSIVE
    assert "+0.3%, and by the spread of its values up to 2.5%: 2.0% either way is allowed" in found.headline
    (again,) = commands(found.do, "RUN")
    assert again.startswith("pytest perf_tests -m eagle3 --rig small --rig-set workloads.single.repeats=")
    assert (found.needs or "").endswith(" more generations of single in every run")


def test_a_change_that_exceeds_what_is_allowed_reads_as_larger() -> None:
    assert _apart(0.0064, 0.00612, 0.013) == ("+0.64%", "0.61%", "1.30%")
    assert _apart(-0.06, 0.02, 0.076) == ("-6.0%", "2.0%", "7.6%")


def _workloads() -> list[dict[str, object]]:
    return [w.model_dump() for w in RIG.workloads]


def test_a_slope_widens_nothing_that_restarts_are_granted() -> None:
    """1 % from each run to the next: the spread about their mean would grant it all."""
    sloping = [RunValues(session="now", launch=str(n), values=(100 * 0.99**n,) * 6) for n in range(8)]

    assert drift_among(sloping, FLOOR).state == "drifted"
    assert known_restarts((), sloping[1:], floor=0.02).sd == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("runs", [2, 3, 5, 9])
def test_what_restarts_differ_by_is_estimated_without_bias(runs: int) -> None:
    random.seed(runs)
    found = [
        known_restarts(
            (),
            [RunValues(session="now", launch=str(n), values=(random.gauss(1, 0.01),)) for n in range(runs)],
            floor=0.02,
        )
        for _ in range(2000)
    ]
    assert statistics.fmean((known.sd or 0.0) ** 2 for known in found) == pytest.approx(0.01**2, rel=0.12)
    assert {known.seen for known in found} == {runs - 1}


def test_few_restarts_are_shrunk_to_the_prior() -> None:
    told = [RunValues(session="a", launch=str(n), values=(v,)) for n, v in enumerate((100.0, 104.0))]
    known = known_restarts(told, (), floor=0.02)

    assert (known.seen, float(known.spread.df) > 1) == (1, True)
    assert 0.005**2 < float(known.spread.variance) < 0.04**2 / 2


@pytest.mark.parametrize("later", [1, 5])
@pytest.mark.parametrize("known", [True, False])
def test_restarts_that_differ_by_two_per_cent_are_no_drift(later: int, known: bool) -> None:
    """EAGLE-3 at sixteen streams: 1.9 % between restarts. However many are held against the first, one in 50 at most."""
    random.seed(19)

    def run(name: str = "now", launch: int = 0) -> RunValues:
        level = random.gauss(1, 0.019)
        values = tuple(level * random.gauss(1, 0.0007) for _ in range(6))
        return RunValues(session=name, launch=str(launch), values=values)

    drifted = 0
    for _ in range(300):
        history = [run(name, launch) for name in "abc" for launch in range(3)] if known else []
        drifted += drift_among([run() for _ in range(1 + later)], FLOOR, history).state == "drifted"

    most = 300 * 2 * LEVEL
    assert drifted <= most + 3 * most**0.5


def test_one_control_brackets_nothing() -> None:
    with pytest.raises(ValueError, match="takes two"):
        drift_among([RunValues(session="now", launch="1", values=STEADY)], FLOOR)
