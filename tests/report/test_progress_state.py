"""Where a session stands, and when it is likely to be over."""

from __future__ import annotations

from tests.report.progressing import RESTARTS, Clock, decided, ended, launch, made, stage, taken
from tokgate.records.progress import SessionOpened, Span, Stage
from tokgate.report.progress_state import Standing
from tokgate.report.progress_words import left


def test_a_launch_is_counted_by_the_plan_and_carries_its_last_start() -> None:
    clock = Clock()
    standing = Standing(clock)
    standing.hear(made())
    clock.now += 5
    standing.hear(stage(Stage.MEASURING, "02-eagle3-2step", "single", 9))
    clock.now += 3
    view = standing.hear(taken(4, launch="02-eagle3-2step", accept_length=1.86))
    assert (view.launch, view.number, view.planned) == ("02-eagle3-2step", 2, 2)
    assert (view.stage, view.workload, view.done, view.of) == ("measuring", "single", 4, 9)
    assert (view.tok_s, view.accept_length) == (88.9, 1.86)
    assert (clock.now - view.began, clock.now - (view.launch_began or 0)) == (8, 3)


def test_a_number_does_not_outlive_what_it_was_measured_under() -> None:
    standing = Standing(Clock())
    standing.hear(made())
    standing.hear(stage(Stage.WARM_UP, workload="single", of=9))
    standing.hear(taken(1, accept_length=1.9))
    kept = standing.hear(stage(Stage.MEASURING, workload="single", of=9))
    assert (kept.tok_s, kept.accept_length, kept.done) == (88.9, 1.9, 1)
    other = standing.hear(stage(Stage.WARM_UP, workload="conc8", of=56))
    assert (other.tok_s, other.accept_length, other.done) == (None, None, 0)
    stopping = standing.hear(stage(Stage.STOPPING))
    assert (stopping.tok_s, stopping.of) == (None, 0)


def test_what_is_left_is_what_the_plan_says_less_what_is_behind() -> None:
    clock = Clock()
    standing = Standing(clock)
    assert standing.hear(made()).ends_at == clock.now + 70
    standing.hear(stage(Stage.CLEAN_SLATE))
    clock.now += 10
    view = standing.hear(taken(1))
    assert view.ends_at == clock.now + 60
    assert view.share is not None
    assert abs(view.share - 10 / 70) < 1e-9
    # A launch that takes longer than it should has nothing left, and not less.
    clock.now += 90
    assert standing.hear(taken(2)).ends_at == clock.now + 40
    assert standing.hear(ended()).ends_at == clock.now + 40


def test_where_nothing_was_known_the_first_launch_tells_the_others() -> None:
    clock = Clock()
    standing = Standing(clock)
    view = standing.hear(
        made(launch("01-baseline", None, taking=20.0), launch("02-eagle3-2step", None, taking=25.0))
    )
    assert (view.ends_at, view.share) == (None, None)
    standing.hear(stage(Stage.STARTING))
    # Twelve of 32 seconds were no barrier start.
    assert standing.hear(ended(seconds=32.0)).ends_at == clock.now + 25 + 12


def test_restarts_are_numbered_behind_the_plan_and_those_in_any_case_are_reckoned_in() -> None:
    clock = Clock()
    standing = Standing(clock)
    sure = RESTARTS.model_copy(update={"least": 2, "least_s": 50.0})
    assert standing.hear(made(restarts=sure)).ends_at == clock.now + 120
    for name in ("01-baseline", "02-eagle3-2step"):
        standing.hear(stage(Stage.STARTING, name))
        standing.hear(ended(name))
    assert standing.all_done
    view = standing.hear(stage(Stage.STARTING, "06-baseline-restart-1"))
    assert (view.restart, view.number) == (True, 1)
    standing.hear(ended("06-baseline-restart-1"))
    assert standing.counted == "2 of 2 launches and 1 restart done"


def test_what_is_left_is_true_while_restarts_may_follow_are_decided_and_are_made() -> None:
    clock = Clock()
    standing = Standing(clock)

    def told() -> str:
        return left(standing.view, clock.now)

    standing.hear(made(restarts=RESTARTS))
    assert told() == "about 1 min 10 s left, restarts aside"
    standing.hear(stage(Stage.STARTING))
    standing.hear(ended())
    standing.hear(stage(Stage.STARTING, "02-eagle3-2step"))
    clock.now += 300
    standing.hear(stage(Stage.STOPPING, "02-eagle3-2step"))
    assert told() == "longer than reckoned, restarts aside"
    standing.hear(ended("02-eagle3-2step"))
    assert told() == "restarts are being decided"
    standing.hear(decided(**{"06-eagle3-2step-restart-1": 31.0, "07-baseline-restart-1": 29.0}))
    assert told() == "about 1 min 00 s left, 2 restarts, more may follow"
    standing.hear(stage(Stage.STARTING, "06-eagle3-2step-restart-1"))
    clock.now += 21
    assert told() == "about 39 s left, 2 restarts, more may follow"
    standing.hear(ended("06-eagle3-2step-restart-1"))
    # The other did not fit any more: what the next decision asks for takes its place.
    standing.hear(decided(**{"08-baseline-restart-1": 29.0}))
    assert told() == "about 29 s left, 1 restart, more may follow"
    standing.hear(ended("08-baseline-restart-1"))
    assert told() == "restarts are being decided"
    standing.hear(decided())
    assert told() == "no launch is left"


def test_where_nothing_restarts_nothing_is_left_behind_the_plan() -> None:
    clock = Clock()
    standing = Standing(clock)
    standing.hear(made())
    assert left(standing.view, clock.now) == "about 1 min 10 s left"
    standing.hear(ended())
    standing.hear(ended("02-eagle3-2step"))
    assert left(standing.view, clock.now) == "no launch is left"


def test_a_first_session_shows_the_range_of_its_plan_until_a_launch_has_told() -> None:
    clock = Clock()
    standing = Standing(clock)
    usual = Span(low=30.0, likely=None, high=90.0, limit=600.0)
    standing.hear(
        made(*(launch(n, None, taking=20.0).model_copy(update={"seconds": usual}) for n in ("01", "02")))
    )
    assert left(standing.view, clock.now) == "about 1 min 00 s to 3 min 00 s left"
    standing.hear(stage(Stage.STARTING, "01"))
    standing.hear(ended("01", 45.0))
    assert left(standing.view, clock.now) == "about 45 s left"


def test_a_launch_that_was_not_started_tells_nothing_of_the_others() -> None:
    clock = Clock()
    standing = Standing(clock)
    standing.hear(made())
    standing.hear(stage(Stage.CLEAN_SLATE))
    standing.hear(ended(seconds=0.3, started=False))
    assert left(standing.view, clock.now) == "time left unknown"
    assert standing.counted == "0 of 2 launches done, 1 not started"
    standing.hear(ended("02-eagle3-2step", 44.0))
    assert standing.counted == "1 of 2 launches done, 1 not started"


def test_between_launches_nothing_is_under_way() -> None:
    standing = Standing(Clock())
    standing.hear(made())
    assert standing.hear(stage(Stage.OPENING, None)).stage == "looking at the host"
    assert standing.hear(SessionOpened()).stage is None
    standing.hear(stage(Stage.STARTING))
    assert standing.hear(ended()).launch is None


def test_failed_generations_add_up_within_a_launch() -> None:
    standing = Standing(Clock())
    standing.hear(made())
    standing.hear(stage(Stage.MEASURING, workload="single", of=9))
    standing.hear(taken(1, failed=1, tok_s=None))
    assert standing.hear(taken(2, failed=2)).failed == 3
    assert standing.hear(stage(Stage.STARTING, "02-eagle3-2step")).failed == 0
