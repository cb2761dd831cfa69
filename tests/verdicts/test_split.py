from __future__ import annotations

import math
from typing import Any

import pytest

from tests.verdicts.baselines.drafting import drawn
from tests.verdicts.evidence import controls, eagle3, make_rig, make_run, series
from tests.verdicts.phase_evidence import NAME, carrying, phase, table
from tests.verdicts.test_launch_phases import timer, whole
from tokgate.records import Launch, LaunchEvidence, RunEvidence
from tokgate.records.phases import Phase
from tokgate.rig.limits import Floor
from tokgate.verdicts.cycle_side import NONE_STORED, WITHOUT, Side, side_of_baseline, side_of_run
from tokgate.verdicts.split import Split, split_change

RATES = (59.8, 59.6, 60.0, 59.7, 59.9, 59.8)
ARM = "eagle3-2step"


def run(slower: float = 1.0, *, verify: float = 25.0, phases: bool = True, **info: Any) -> RunEvidence:
    """A run whose arm decodes slower by a factor, and whose phases are of a launch of its own speed."""
    launches = [*controls(), eagle3(tuple(v / slower for v in RATES))]
    if phases:
        launches.append(carrying(table(*whole(verify=verify))))
    made = make_run(*launches)
    return made.model_copy(update={"info": made.info.model_copy(update=info)})


def side(evidence: RunEvidence, arm: str = ARM) -> Side:
    found = side_of_run(make_rig(), evidence, arm, "single")
    assert isinstance(found, Side), found
    return found


def split(before: Side, after: Side) -> Split:
    found = split_change(ARM, "single", before, after)
    assert isinstance(found, Split), found
    assert found.split is not None
    assert found.split.whole is not None
    return found


def shares(found: Split) -> dict[str, float]:
    assert found.split is not None
    return {s.name: s.log for s in found.split.shares}


def test_shares_sum_to_the_change_of_the_timed_launches() -> None:
    """The instrumented launches ran at one speed; what is slower is told by the timed ones alone."""
    found = split(side(run(run_id="then")), side(run(1.08, run_id="now")))
    assert (found.before, found.after, found.n) == ("then", "now", (6, 6))
    assert found.change == pytest.approx(1 / 1.08 - 1)
    assert math.fsum(shares(found).values()) == pytest.approx(math.log(1 / 1.08))
    assert shares(found)["acceptance"] == pytest.approx(0.0)
    assert shares(found)["verify"] == pytest.approx(math.log(1 / 1.08) * 25.0625 / 30.9, rel=0.01)
    assert (found.source, found.clock, found.spread) == ("probe", "gpu", "probe")


def test_what_the_instruments_see_of_the_cycle_decides_which_phase_it_was() -> None:
    """Verify grew by 2.47 of 30.9 ms, and the timed cycle by 8 %: nothing else has a share."""
    before = side(run())
    cycle = 255 / 59.8 / 138 * 1e3
    after = run(1.08, phases=False)
    slow = carrying(table(*whole(verify=25.0 + 0.08 * cycle))).model_copy(
        update={"generations": series((59.8 / 1.08,) * 6, launch=NAME, verify_ct=138)}
    )
    found = split(before, side(after.model_copy(update={"launches": (*after.launches, slow)})))
    assert shares(found)["verify"] == pytest.approx(math.log(1 / 1.08), rel=0.01)
    assert shares(found)["draft"] == pytest.approx(0.0, abs=1e-4)
    assert shares(found)["rest"] == pytest.approx(0.0, abs=1e-3)
    assert found.split is not None
    assert next(s for s in found.split.shares if s.name == "verify").established


def test_prompts_that_differ_are_no_spread_of_the_change() -> None:
    """The same prompts on both sides: each start is compared with its own, and acceptance has not changed."""
    found = split(side(run()), side(run(1.02)))
    assert found.split is not None
    whole_share = found.split.whole
    assert whole_share is not None
    assert whole_share.established
    assert whole_share.interval == pytest.approx((math.log(1 / 1.02),) * 2, abs=1e-9)


def test_a_baseline_keeps_the_phases_and_splits_as_the_run_does() -> None:
    (_, draft) = drawn(run())
    assert draft.phases == "phases: 05-eagle3-2step-phases, 6 starts, by probe"
    by_run, by_baseline = (
        split(side(run()), side(run(1.08))),
        split(side_of_baseline(draft.new), side(run(1.08))),
    )
    assert shares(by_baseline) == pytest.approx(shares(by_run))
    assert by_baseline.before == draft.new.name


def test_without_stored_phases_acceptance_and_cycle_are_told_apart_and_no_more() -> None:
    (_, draft) = drawn(run(phases=False))
    assert draft.phases == f"phases: none stored: {WITHOUT}"
    found = split(side_of_baseline(draft.new), side(run(1.08)))
    assert list(shares(found)) == ["acceptance", "cycle"]
    assert found.why_no_phases is not None
    assert NONE_STORED in found.why_no_phases
    assert found.source is None


def test_a_gpus_clock_comes_before_a_hosts_and_the_other_stands_beside() -> None:
    hosts = tuple(r.model_copy(update={"clock": "host"}) for r in whole())
    timers = (timer(Phase.DRAFT, 0.4), timer(Phase.VERIFY, 24.0), timer(Phase.DRAFT_EXTEND, 0.9))
    both = make_run(*controls(), eagle3(), carrying(table(*hosts, *timers)))
    found = split(side(both), side(both))
    assert (found.source, found.clock, found.spread) == ("device-timer", "gpu", "probe")
    assert [(o.source, o.clock) for o in found.others] == [("probe", "host")]


def test_two_clocks_are_never_mixed() -> None:
    hosts = tuple(r.model_copy(update={"clock": "host"}) for r in whole())
    other = make_run(*controls(), eagle3(), carrying(table(*hosts)))
    found = split(side(run()), side(other))
    assert found.source is None
    assert found.why_no_phases is not None
    assert "the gpu clock" in found.why_no_phases
    assert list(shares(found)) == ["acceptance", "cycle"]


def test_a_cycle_with_instruments_that_is_not_the_timed_one_is_told() -> None:
    found = split(side(run()), side(run(1.08)))
    assert any("what its phases are parts of is another cycle" in w for w in found.warnings)
    assert not any("another cycle" in w for w in split(side(run()), side(run())).warnings)


def test_a_plain_arm_has_a_change_and_no_shares() -> None:
    found = split_change("baseline", "single", side(run(), "baseline"), side(run(), "baseline"))
    assert isinstance(found, Split)
    assert (found.split, found.why_no_phases, found.n) == (None, None, (12, 12))
    assert found.change == pytest.approx(0.0)


def test_answers_of_another_length_are_told() -> None:
    shorter = side(run()).model_copy(update={"tokens": 32})
    told = split(shorter, side(run())).warnings
    assert any("answers of 32 and of 256 tokens" in w and "+2.8%" in w for w in told)


def test_the_wholes_rates_are_those_that_were_measured() -> None:
    whole_share = split(side(run()), side(run())).split
    assert whole_share is not None
    assert whole_share.whole is not None
    assert whole_share.whole.before == pytest.approx(59.8, rel=1e-3)


def test_sides_that_cannot_be_compared_say_why() -> None:
    plain, spec = side(run(), "baseline"), side(run())
    told = split_change(ARM, "single", plain, spec)
    assert isinstance(told, str)
    assert "does no speculation" in told
    silent = split_change(ARM, "single", spec.model_copy(update={"decode_tok_s": ()}), spec)
    assert isinstance(silent, str)


def test_a_run_that_may_not_be_judged_gives_its_reason() -> None:
    broken = run()
    launches = tuple(e.model_copy(update={"liveness": None}) for e in broken.launches)
    found = side_of_run(make_rig(), broken.model_copy(update={"launches": launches}), ARM, "single")
    assert isinstance(found, str)
    assert "never finished" in found
    absent = side_of_run(make_rig(), make_run(*controls()), ARM, "single")
    assert absent == f"no launch of {ARM}"


def test_an_instrumented_launch_that_is_unfit_costs_the_phases_alone() -> None:
    made = run(phases=False)
    lost = carrying(table(phase()), liveness=None)
    found = side(made.model_copy(update={"launches": (*made.launches, lost)}))
    assert found.phases == ()
    assert found.why_no_phases is not None
    assert "never finished" in found.why_no_phases


def restart(factor: float, *, workloads: tuple[str, ...] = ()) -> LaunchEvidence:
    arm = eagle3(tuple(v * factor for v in RATES))
    name = "10-eagle3-2step-restart-1"
    again = Launch(id=name, arm=ARM, role="restart", round=1, workloads=workloads)
    assert arm.server is not None
    generations = tuple(g.model_copy(update={"launch": name}) for g in arm.generations)
    server = arm.server.model_copy(update={"launch": again})
    return arm.model_copy(update={"launch": again, "server": server, "generations": generations})


def test_a_change_is_by_server_runs_and_not_by_starts() -> None:
    """Two runs of today that lie 4 % apart leave a change open that each of them, by its starts, would have shown."""
    quiet = split(side(run()), side(run(1.05)))
    made = run(1.03)
    both = split(side(run()), side(made.model_copy(update={"launches": (*made.launches, restart(0.93))})))

    assert quiet.decision is not None
    assert both.decision is not None
    assert (quiet.decision.runs_now, both.decision.runs_now) == (1, 2)
    assert both.change == pytest.approx(math.sqrt(0.93 / 1.03) - 1)
    assert quiet.interval is not None
    assert both.interval is not None
    assert both.interval[1] - both.interval[0] > quiet.interval[1] - quiet.interval[0]


def test_the_floor_of_the_rig_says_how_far_runs_may_differ() -> None:
    """A busy machine with a floor of 20 %: the prior of what restarts differ by is as wide."""
    before, after = side(run()), side(run(1.05))
    (narrow, wide) = (
        split_change(ARM, "single", before, after, floor=floor)
        for floor in (None, Floor(relative=0.2, absolute=2.0))
    )
    assert isinstance(narrow, Split)
    assert isinstance(wide, Split)
    assert narrow.interval is not None
    assert wide.interval is not None
    assert wide.interval[0] < narrow.interval[0] < narrow.interval[1] < 0 < wide.interval[1]


def test_a_restart_that_took_another_workload_is_left_out() -> None:
    made = run()
    other = restart(0.9, workloads=("pair",))
    found = side(made.model_copy(update={"launches": (*made.launches, other)}))
    assert found.launches == 1
