"""The stop rule by hand-made questions: what it takes up, in what portions, and why it stops."""

from __future__ import annotations

import pytest

from tokgate.records import Outcome, Reference, Verdict
from tokgate.verdicts.questions import Question, questions_of
from tokgate.verdicts.stop_rule import More, Stop, what_next

ARM, OTHER, CONTROL = "eagle3-2step", "eagle3-3step", "baseline"
COSTS = {ARM: 15.0, OTHER: 15.0, CONTROL: 10.0}
LEFT = dict.fromkeys(COSTS, 6)


def question(arm: str = ARM, *, metric: str = "decode_tok_s", workload: str = "single") -> Question:
    return Question(
        kind="stored",
        check="stored_baseline",
        arm=arm,
        workload=workload,
        metric=metric,
        settled=False,
        hopeless=True,
        why=f"{metric} of {arm} is 3.1 % below its baseline, not yet confirmed",
    )


def settled() -> Question:
    return question().model_copy(update={"settled": True, "hopeless": False})


def wanting(arm: str, n: int, *, metric: str = "decode_tok_s", workload: str = "single") -> Question:
    return question(arm, metric=metric, workload=workload).model_copy(
        update={"hopeless": False, "wants": {arm: n}}
    )


def next_of(*questions: Question, left_s: float = 180.0, left: dict[str, int] | None = None) -> Stop | More:
    """Decide in a session whose control cannot be started again: nothing closes a round."""
    return what_next(questions, COSTS, left_s, left_runs=LEFT if left is None else left, control="none")


def closed(*questions: Question, left_s: float = 180.0, left: dict[str, int] | None = None) -> Stop | More:
    return what_next(questions, COSTS, left_s, left_runs=LEFT if left is None else left, control=CONTROL)


def test_a_clear_case_costs_nothing_beyond_the_plan() -> None:
    found = next_of(settled(), settled())
    assert isinstance(found, Stop)
    assert found.reason == "every question is settled"
    assert isinstance(next_of(), Stop)


def test_what_is_open_is_taken_up_with_its_reason_and_its_price() -> None:
    found = next_of(settled(), wanting(ARM, 2))
    assert isinstance(found, More)
    assert found.runs == {ARM: 2}
    assert found.cost_s == 30.0
    assert found.reason.endswith("is 3.1 % below its baseline, not yet confirmed")
    assert found.unsettled == ("decode_tok_s of eagle3-2step, single",)


def test_many_runs_are_asked_for_by_halves_few_at_once() -> None:
    for wanted, at_once in ((1, 1), (2, 2), (3, 2), (5, 3), (6, 3)):
        found = next_of(wanting(ARM, wanted))
        assert isinstance(found, More)
        assert found.runs == {ARM: at_once}, wanted


def test_of_several_the_arm_that_settles_most_per_second_comes_first() -> None:
    three = [wanting(OTHER, 2, metric=m) for m in ("decode_tok_s", "cycle_ms", "e2e_ms")]
    found = next_of(wanting(ARM, 2), *three)
    assert isinstance(found, More)
    assert found.runs == {OTHER: 2}
    assert found.reason.endswith(" (and 2 more questions)")
    # One question of a cheap arm against one of a dear one.
    found = next_of(wanting(ARM, 2), wanting(CONTROL, 2))
    assert isinstance(found, More)
    assert found.runs == {CONTROL: 2}


def test_a_restart_takes_only_the_workloads_in_question() -> None:
    found = next_of(
        wanting(ARM, 2, workload="single"),
        wanting(ARM, 1, workload="conc8"),
        wanting(OTHER, 2, workload="conc16"),
    )
    assert isinstance(found, More)
    assert set(found.workloads) <= {"single", "conc8"}
    assert found.runs.keys() == {ARM}


def test_what_nothing_can_settle_stops_at_once_and_says_so() -> None:
    found = next_of(settled(), question())
    assert isinstance(found, Stop)
    assert found.reason == (
        "the open question: not to be settled here; decode_tok_s of eagle3-2step, single: no number of restarts in "
        "this session would settle it"
    )
    assert found.hopeless


@pytest.mark.parametrize(
    ("wanted", "left_s", "left", "words"),
    [
        (20, 180.0, None, "6 of eagle3-2step are left (sampling.most_restarts)"),
        (5, 60.0, None, "some 75 s; 60 s are left (sampling.gpu_time_s)"),
        (2, 180.0, {OTHER: 6}, "and eagle3-2step cannot be started here"),
    ],
)
def test_what_all_that_is_left_could_not_settle_is_given_up_without_a_single_run(
    wanted: int, left_s: float, left: dict[str, int] | None, words: str
) -> None:
    found = next_of(wanting(ARM, wanted), left_s=left_s, left=left)
    assert isinstance(found, Stop)
    assert words in found.reason


def test_the_hopeless_are_left_aside_while_others_are_in_reach() -> None:
    found = next_of(wanting(ARM, 20), wanting(OTHER, 1))
    assert isinstance(found, More)
    assert found.runs == {OTHER: 1}
    assert len(found.hopeless) == 1
    assert "wants 20 more of eagle3-2step" in found.hopeless[0]


def test_both_sides_of_a_twin_are_started_in_one_round() -> None:
    both = question().model_copy(update={"hopeless": False, "wants": {ARM: 2, CONTROL: 1}})
    found = next_of(both)
    assert isinstance(found, More)
    assert found.runs == {ARM: 2, CONTROL: 1}
    assert found.cost_s == 40.0


def test_restarts_of_an_arm_bring_the_control_that_shows_what_the_machine_did_meanwhile() -> None:
    found = closed(wanting(ARM, 2))
    assert isinstance(found, More)
    assert found.runs == {ARM: 2, CONTROL: 1}
    assert found.cost_s == 40.0
    # One that is started anyway closes the round, and with instruments nothing lies within a bracket.
    for wants in ({ARM: 1, CONTROL: 2}, {CONTROL: 1}, {f"{ARM}+phases": 1}):
        asked = question().model_copy(update={"hopeless": False, "wants": wants})
        costs, left = COSTS | {f"{ARM}+phases": 15.0}, LEFT | {f"{ARM}+phases": 6}
        found = what_next([asked], costs, 180.0, left_runs=left, control=CONTROL)
        assert isinstance(found, More)
        assert found.runs == wants


def test_no_restart_is_made_whose_control_would_not_fit() -> None:
    found = closed(wanting(ARM, 2), left_s=39.0)
    assert isinstance(found, Stop)
    assert "wants 2 more of eagle3-2step and baseline behind them, some 40 s; 39 s are left" in found.reason
    # None is left of the control: better unbracketed than not at all.
    found = closed(wanting(ARM, 2), left_s=39.0, left=LEFT | {CONTROL: 0})
    assert isinstance(found, More)
    assert found.runs == {ARM: 2}


def test_it_comes_to_an_end_whatever_the_questions_say() -> None:
    """Questions that never settle: each decision takes from what is left, so there are only so many."""
    left, rounds, open_ones = dict(LEFT), 0, [wanting(ARM, 1), wanting(CONTROL, 1)]
    while isinstance(found := what_next(open_ones, COSTS, 1000.0, left_runs=left, control=CONTROL), More):
        rounds += 1
        left = {arm: n - found.runs.get(arm, 0) for arm, n in left.items()}
    assert rounds <= 12
    assert min(left.values()) == 0


def verdict(outcome: Outcome, **more: object) -> Verdict:
    told: dict[str, object] = {
        "check": "stored_baseline",
        "outcome": outcome,
        "headline": "decode 59.8 tok/s on eagle3-2step, single: undecided",
        "arm": ARM,
        "workload": "single",
        "metric": "decode_tok_s",
        "reference": Reference(kind="baseline", label="baselines/x.json"),
    }
    return Verdict.model_validate(told | more)


def test_only_inconclusive_is_open() -> None:
    for outcome in Outcome:
        (found,) = questions_of([verdict(outcome, wanted={ARM: 2})])
        assert found.settled is (outcome is not Outcome.INCONCLUSIVE)
        assert found.wants == ({} if found.settled else {ARM: 2})
        assert not found.hopeless


def test_beside_a_loss_that_is_called_nothing_more_is_measured() -> None:
    open_too = verdict(Outcome.INCONCLUSIVE, metric="ttft_ms", wanted={ARM: 2})
    elsewhere = open_too.model_copy(update={"workload": "conc8"})
    lost = verdict(Outcome.REGRESSED)
    assert isinstance(next_of(*questions_of([open_too])), More)
    found = next_of(*questions_of([lost, open_too]))
    assert found == Stop(reason="every question is settled but 1 beside a loss that is called")
    went_on = next_of(*questions_of([lost, open_too, elsewhere]))
    assert isinstance(went_on, More)
    assert went_on.workloads == ("conc8",)


def test_what_is_invalid_is_not_called_settled() -> None:
    # What was measured in such a window has no number of its own.
    hot = verdict(Outcome.INVALID, headline="8 GPUs slowed down by heat", metric=None)
    assert next_of(*questions_of([hot])) == Stop(
        reason="nothing can be judged, and restarts mend nothing: 8 GPUs slowed down by heat"
    )
    assert next_of(*questions_of([verdict(Outcome.PASS), hot])) == Stop(
        reason="every question is settled but 1 that cannot be judged (8 GPUs slowed down by heat)"
    )


def test_whether_it_is_slower_is_settled_whatever_else_is_called() -> None:
    """That verify is too long says where the time goes, not whether the arm still beats its twin."""
    verify = verdict(Outcome.REGRESSED, check="verify_latency", metric="verify_ms")
    speed = verdict(Outcome.INCONCLUSIVE, check="speculation_beats_its_twin", wanted={ARM: 1})
    assert isinstance(next_of(*questions_of([verify, speed])), More)
    assert isinstance(next_of(*questions_of([verdict(Outcome.REGRESSED), speed])), More)


def test_inconclusive_without_a_wish_is_hopeless_and_no_number_is_no_question() -> None:
    (found,) = questions_of([verdict(Outcome.INCONCLUSIVE)])
    assert found.hopeless
    assert questions_of([verdict(Outcome.INCONCLUSIVE, metric=None, wanted={ARM: 2})]) == ()


def test_a_question_says_what_it_is_compared_with() -> None:
    (stored,) = questions_of([verdict(Outcome.PASS)])
    (limit,) = questions_of([verdict(Outcome.PASS, reference=Reference(kind="budget", label="floor"))])
    (alone,) = questions_of([verdict(Outcome.PASS, reference=None)])
    assert (stored.kind, limit.kind, alone.kind) == ("stored", "limit", "value")
