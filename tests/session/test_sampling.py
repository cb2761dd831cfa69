"""A session obeys the stop rule: what it measures, in which order, what it writes down, and when it ends."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.session.rigs import small_rig
from tests.session.test_run_folder import written
from tokgate.records import Launch, LaunchEvidence, Outcome, SamplingStep, Verdict
from tokgate.rig.models import Rig
from tokgate.session.plan import plan_launches
from tokgate.session.run_folder import load_run
from tokgate.session.sampling import Sampling

ARM = "eagle3-2step"
SECONDS = 20.0


def rig(**sampling: float) -> Rig:
    plain = small_rig()
    return plain.model_copy(update={"sampling": plain.sampling.model_copy(update=sampling)})


class Session:
    """Makes a launch at once; `faults` are of those that end badly."""

    def __init__(self, *, faults: dict[str, str] | None = None, seconds: float = SECONDS) -> None:
        self.made: list[LaunchEvidence] = []
        self.faults = faults or {}
        self.seconds = seconds

    def restarts(self) -> tuple[LaunchEvidence, ...]:
        return tuple(self.made)

    def measured(self, launch: Launch) -> LaunchEvidence:
        fault = self.faults.get(launch.id)
        self.made.append(LaunchEvidence(launch=launch, wall_s=self.seconds, faults=(fault,) if fault else ()))
        return self.made[-1]

    @property
    def ids(self) -> list[str]:
        return [e.launch.id for e in self.made]


def planned() -> list[LaunchEvidence]:
    return [LaunchEvidence(launch=launch, wall_s=SECONDS) for launch in plan_launches(small_rig())]


def arms(session: Session) -> list[str]:
    return [e.launch.arm for e in session.made]


def verdict(outcome: Outcome, wanted: dict[str, int] | None = None) -> Verdict:
    return Verdict(
        check="stored_baseline",
        outcome=outcome,
        headline="decode 3.1 % slower than its baseline, not yet confirmed",
        arm=ARM,
        workload="single",
        metric="decode_tok_s",
        wanted=wanted or {},
    )


class Played:
    def __init__(
        self, session: Session, ask: Callable[[], list[Verdict]], *, obeys: bool = True, **sampling: float
    ) -> None:
        self.steps: list[SamplingStep] = []
        self.said: list[str] = []
        self.sampling = Sampling(
            rig=rig(**sampling),
            session=session,
            planned=planned,
            ask=ask,
            say=self.said.append,
            keep=self.steps.append if obeys else None,
        )
        self.sampling.settle()


def until(session: Session, runs: int, *, wanted: int = 1) -> Callable[[], list[Verdict]]:
    """Ask for `wanted` more until there are so many restarts, then call the loss."""

    def ask() -> list[Verdict]:
        if arms(session).count(ARM) < runs:
            return [verdict(Outcome.INCONCLUSIVE, {ARM: wanted})]
        return [verdict(Outcome.REGRESSED)]

    return ask


def test_it_measures_until_the_question_is_settled_and_keeps_every_run() -> None:
    session = Session()
    played = Played(session, until(session, 2))
    assert session.ids == [
        f"07-{ARM}-restart-1", "08-baseline-restart-1", f"09-{ARM}-restart-2", "10-baseline-restart-2",
    ]  # fmt: skip
    assert [step.stop for step in played.steps] == [False, False, True]
    assert [step.launches for step in played.steps] == [tuple(session.ids[:2]), tuple(session.ids[2:]), ()]
    assert [step.left_s for step in played.steps] == [600.0, 560.0, 520.0]
    assert played.steps[-1].reason == "every question is settled"


def test_the_terminal_tells_why_and_what_is_left() -> None:
    session = Session()
    played = Played(session, until(session, 1), gpu_time_s=180.0)
    assert played.said == [
        f"restart 1 of {ARM}: decode 3.1 % slower than its baseline, not yet confirmed; 180 s of 180 s left",
        "restart 1 of baseline: it closes the round, so that a drift shows; 160 s of 180 s left",
        "no further restart: every question is settled",
    ]


def test_it_is_written_down_before_it_is_obeyed() -> None:
    session = Session()
    seen: list[int] = []
    played = Played.__new__(Played)
    played.steps, played.said = [], []

    def keep(step: SamplingStep) -> None:
        seen.append(len(session.made))
        played.steps.append(step)

    Sampling(
        rig=rig(),
        session=session,
        planned=planned,
        ask=until(session, 2, wanted=2),
        say=lambda _: None,
        keep=keep,
    ).settle()
    assert seen == [0, 3]
    assert played.steps[0].launches == tuple(session.ids)
    assert {e.launch.round for e in session.made} == {1}


def test_the_budget_is_not_overdrawn_and_what_is_left_open_is_named() -> None:
    session = Session()
    played = Played(session, lambda: [verdict(Outcome.INCONCLUSIVE, {ARM: 2})], gpu_time_s=90.0)
    assert arms(session) == [ARM, ARM, "baseline"]
    assert played.steps[-1].stop
    assert "some 60 s; 30 s are left (sampling.gpu_time_s)" in played.steps[-1].reason
    assert played.steps[-1].unsettled == (f"decode_tok_s of {ARM}, single",)


def test_where_a_run_takes_longer_than_reckoned_only_the_control_behind_it_is_made() -> None:
    session = Session(seconds=60.0)
    played = Played(session, lambda: [verdict(Outcome.INCONCLUSIVE, {ARM: 2})], gpu_time_s=100.0)
    assert arms(session) == [ARM, "baseline"]
    assert any("is left out: 40 s of 100 s left" in words for words in played.said)


def test_no_more_restarts_of_an_arm_than_the_rig_allows() -> None:
    session = Session()
    played = Played(session, lambda: [verdict(Outcome.INCONCLUSIVE, {ARM: 1})], most_restarts=3)
    assert arms(session) == [ARM, "baseline"] * 3
    assert "0 of eagle3-2step are left (sampling.most_restarts)" in played.steps[-1].reason


@pytest.mark.parametrize("outcome", [Outcome.PASS, Outcome.REGRESSED, Outcome.INVALID, Outcome.NO_BASELINE])
def test_a_clear_case_is_not_measured_again(outcome: Outcome) -> None:
    session = Session()
    played = Played(session, lambda: [verdict(outcome, {ARM: 3})])
    assert not session.made
    assert [step.stop for step in played.steps] == [True]


def test_a_restart_that_ends_badly_is_kept_ends_its_round_and_the_rule_is_asked_again() -> None:
    bad = f"07-{ARM}-restart-1"
    session = Session(faults={bad: "the server died"})

    def ask() -> list[Verdict]:
        if session.made:
            return [verdict(Outcome.INVALID)]
        return [verdict(Outcome.INCONCLUSIVE, {ARM: 2})]

    played = Played(session, ask)
    assert session.ids == [bad]
    assert len(played.steps[0].launches) == 3
    assert played.steps[1].stop


def test_ctrl_c_inside_a_restart_ends_the_sampling_and_leaves_what_was_decided_and_measured() -> None:
    class Interrupted(Session):
        def measured(self, launch: Launch) -> LaunchEvidence:
            found = super().measured(launch)
            if launch.arm == "baseline":
                raise KeyboardInterrupt
            return found

    session, steps = Interrupted(), list[SamplingStep]()
    sampling = Sampling(
        rig=rig(),
        session=session,
        planned=planned,
        ask=lambda: [verdict(Outcome.INCONCLUSIVE, {ARM: 1})],
        say=lambda _: None,
        keep=steps.append,
    )
    with pytest.raises(KeyboardInterrupt):
        sampling.settle()
    sampling.settle()

    assert session.ids == [f"07-{ARM}-restart-1", "08-baseline-restart-1"]
    assert [step.launches for step in steps] == [tuple(session.ids)]


def test_switched_off_it_starts_nothing_and_says_so() -> None:
    session = Session()
    played = Played(session, lambda: [verdict(Outcome.INCONCLUSIVE, {ARM: 1})], gpu_time_s=0.0)
    assert not session.made
    assert played.steps[0].reason == "sampling.gpu_time_s is 0 in the rig"


def test_a_stored_session_asks_the_rule_and_starts_nothing() -> None:
    session = Session()
    played = Played(session, lambda: [verdict(Outcome.INCONCLUSIVE, {ARM: 1})], obeys=False)
    assert not session.made
    assert not played.steps
    assert played.said[0].startswith(f"the stop rule would go on with 1 more of {ARM} and 1 more of baseline")
    assert Played(session, lambda: [verdict(Outcome.PASS)], obeys=False).said == []


def test_it_is_done_once_even_where_asking_fails() -> None:
    asked = 0

    def ask() -> list[Verdict]:
        nonlocal asked
        asked += 1
        raise RuntimeError("a defect")

    sampling = Sampling(
        rig=rig(),
        session=Session(),
        planned=planned,
        ask=ask,
        say=lambda _: None,
        keep=lambda _: None,
    )
    with pytest.raises(RuntimeError):
        sampling.settle()
    sampling.settle()
    assert asked == 1


def test_decisions_are_read_back_in_order_and_half_a_line_of_a_killed_session_is_none(tmp_path: Path) -> None:
    folder = written(tmp_path)
    steps = [
        SamplingStep(round=n, stop=n == 2, reason=f"reason {n}", left_s=10.0, budget_s=180.0) for n in (1, 2)
    ]
    for step in steps:
        folder.append_sampling(step)
    with (tmp_path / "sampling.jsonl").open("a", encoding="utf-8") as file:
        file.write('{"round": 3, "st')
    assert load_run(tmp_path)[0].sampling == tuple(steps)


def test_a_rig_may_want_a_second_server_run_of_every_arm_whatever_is_open() -> None:
    """A clear session is one too: it is to be a baseline, and says how far its restarts differ."""
    session = Session()
    played = Played(session, lambda: [verdict(Outcome.PASS)], least_restarts=1)
    again = [launch.arm for launch in plan_launches(small_rig()) if launch.role == "arm"]

    assert arms(session) == [*again, "baseline"]
    assert all(e.launch.workloads == tuple(w.name for w in small_rig().workloads) for e in session.made)
    assert played.steps[0].reason == "sampling.least_restarts = 1"
    assert played.steps[-1].reason == "every question is settled"


def test_the_restarts_that_a_rig_wants_anyhow_keep_to_the_budget() -> None:
    session = Session()
    Played(session, lambda: [verdict(Outcome.PASS)], least_restarts=1, gpu_time_s=SECONDS)
    assert session.made == []


def test_no_restart_is_wanted_of_a_session_that_cannot_be_judged() -> None:
    session = Session()
    Played(session, lambda: [verdict(Outcome.INVALID)], least_restarts=1)
    assert session.made == []


def test_a_restart_that_ended_badly_is_not_made_up_for() -> None:
    session = Session(faults={f"07-{ARM}-restart-1": "the server died"})
    Played(session, lambda: [verdict(Outcome.PASS)], least_restarts=3)
    assert arms(session).count(ARM) == 1
