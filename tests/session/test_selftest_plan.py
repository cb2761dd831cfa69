"""What a self-test will do, before it does it."""

from __future__ import annotations

import pytest

from tests.verdicts.evidence import make_rig
from tokgate.errors import UsageError
from tokgate.session.selftest_plan import (
    Asked,
    cells_of,
    check,
    describe,
    launches_of,
    order_of,
    rig_of,
    too_little,
)

RIG = make_rig()
ARM = next(a.name for a in RIG.arms if a.kind == "eagle3")
WORKLOAD = RIG.workloads[0]


def asked(**other: object) -> Asked:
    told = {
        "arm": ARM,
        "workloads": (WORKLOAD.name,),
        "levels": (0.05, 0.1),
        "restarts": 6,
        "session_runs": 3,
        "baseline_runs": 3,
    }
    return Asked(**told | other)  # type: ignore[arg-type]


def test_every_server_run_has_nothing_planted_at_both_ends_and_turns_the_order_round() -> None:
    forth, back = cells_of(asked(), 0), cells_of(asked(), 1)
    assert [cell.planted for cell in forth] == [0.0, 0.05, 0.1, 0.0]
    assert [cell.planted for cell in back] == [0.0, 0.1, 0.05, 0.0]
    # A drift linear in time adds the same to each loss over two runs.
    for level in (0.05, 0.1):
        places = [cells.index(c) for cells in (forth, back) for c in cells if c.planted == level]
        assert sum(places) == 3


def test_blocks_are_workloads_of_the_same_prompts_and_nothing_is_compared_but_speed() -> None:
    own = rig_of(RIG, asked(repeats=4), cells_of(asked(), 0))
    assert [w.name for w in own.workloads] == [f"{WORKLOAD.name}.{i}" for i in range(1, 5)]
    assert {(w.prompts, w.repeats, w.output_tokens, w.cache) for w in own.workloads} == {
        (WORKLOAD.prompts, 4, WORKLOAD.output_tokens, "flush")
    }
    assert own.lossless is None
    assert own.sampling.most_starts == 1
    assert own.server == RIG.server


def test_a_loss_of_a_twentieth_makes_every_phase_a_nineteenth_longer() -> None:
    assert order_of(RIG.arm(ARM), 0.05) == "draft:+5.263%,verify:+5.263%,draft_extend:+5.263%"
    assert order_of(RIG.control, 0.2) == "decode:+25.000%"
    assert order_of(RIG.control, 0.0) == ""


def test_launches_stand_for_the_arm() -> None:
    launches = launches_of(asked())
    assert len({launch.id for launch in launches}) == 6
    assert all(launch.arm == ARM and launch.stands_for_arm for launch in launches)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"arm": "nobody"}, "no arm 'nobody'"),
        ({"workloads": ("nothing",)}, "no workload 'nothing'"),
        ({"levels": ()}, "no loss to plant"),
        ({"levels": (0.05, 1.5)}, "a loss of 1.5 to plant"),
        ({"levels": (0.0,)}, "a loss of 0 to plant"),
        ({"restarts": 4, "baseline_runs": 4}, "4 of 4 server runs as the baseline"),
        ({"session_runs": 4}, "3 of 6 server runs as the baseline, 4 as a session"),
        ({"baseline_runs": 0}, "0 of 6 server runs as the baseline"),
        ({"repeats": 0}, "0 starts a block"),
        ({"workloads": (WORKLOAD.name, WORKLOAD.name)}, f"workload {WORKLOAD.name} is named twice"),
        ({"budget_s": float("nan")}, "a budget of nan s"),
        ({"budget_s": float("inf")}, "a budget of inf s"),
        ({"budget_s": -5.0}, "a budget of -5 s"),
        ({"budget_s": 0.0}, "a budget of 0 s"),
    ],
)
def test_what_could_find_out_nothing_is_refused(wrong: dict[str, object], said: str) -> None:
    with pytest.raises(UsageError) as refused:
        check(RIG, asked(**wrong))
    assert said in refused.value.found


def test_how_long_it_takes_is_told_where_it_is_known() -> None:
    lines = list(describe(RIG, asked(), 90.0))
    assert "6 server runs of about 90 s: 9 min" in lines
    assert "how long a server run takes is known after the first one" in list(describe(RIG, asked(), None))


def test_a_budget_that_ends_before_anything_is_compared_is_known_by_the_first_run() -> None:
    eight = {"restarts": 12, "baseline_runs": 4, "session_runs": 4}
    found = too_little(asked(budget_s=150.0, **eight), done=1, seconds_a_run=66.0, left_s=84.0)

    assert found is not None
    assert "7 server runs of about 66 s: 8 min" in found.found
    assert "the budget of 150 s leaves 84 s" in found.found
    assert found.do.startswith("--budget 590,")  # 66 + 7 * 66 s, and a tenth
    assert too_little(asked(budget_s=590.0, **eight), done=1, seconds_a_run=66.0, left_s=524.0) is None
    assert too_little(asked(budget_s=590.0, **eight), done=8, seconds_a_run=66.0, left_s=62.0) is None
    assert too_little(asked(**eight), done=1, seconds_a_run=66.0, left_s=float("inf")) is None
