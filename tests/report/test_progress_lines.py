"""Progress in a log: every stage, a start now and then, and never half a minute of silence."""

from __future__ import annotations

import pytest

from tests.report import hostile
from tests.report.progressing import Clock, ended, launch, made, plan, span, stage, taken
from tokgate.records.progress import Judged, PlannedLaunch, PlannedWork, SessionOpened, Span, Stage, Words
from tokgate.report import progress_plan, progress_words
from tokgate.report.progress_lines import ALIVE_EVERY_S, STARTS_EVERY_S, Lines
from tokgate.report.visible import columns


class Log:
    def __init__(self, width: int = 80) -> None:
        self.clock = Clock()
        self.rows: list[str] = []
        self.lines = Lines(self.rows.extend, self.clock, width)

    def new(self) -> list[str]:
        found, self.rows[:] = list(self.rows), []
        return found


@pytest.fixture
def log() -> Log:
    found = Log()
    found.lines.hear(made())
    found.new()
    return found


def test_each_stage_is_a_line_with_the_time_since_the_beginning(log: Log) -> None:
    log.clock.now += 7
    log.lines.hear(stage(Stage.STARTING))
    log.clock.now += 65
    log.lines.hear(stage(Stage.MEASURING, workload="single", of=9))
    assert log.new() == [
        "tokgate   0:07  01-baseline 1/2  starting",
        "tokgate   1:12  01-baseline 1/2  measuring single",
    ]


def test_starts_are_told_no_more_often_than_every_ten_seconds_unless_one_fails(log: Log) -> None:
    log.lines.hear(stage(Stage.MEASURING, workload="conc8", of=56))
    log.new()
    log.lines.hear(taken(8, of=56, workload="conc8", streams=8))
    assert log.new() == []
    log.clock.now += STARTS_EVERY_S
    log.lines.hear(taken(16, of=56, workload="conc8", streams=8, tok_s=49.9, accept_length=1.88))
    assert log.new() == [
        "tokgate   0:10  01-baseline 1/2  measuring conc8  16/56  49.9 tok/s a stream,",
        "                accept 1.88",
    ]
    log.lines.hear(taken(24, of=56, workload="conc8", failed=1))
    assert "1 FAILED" in " ".join(log.new())


def test_the_end_of_a_launch_says_how_far_the_session_is(log: Log) -> None:
    log.lines.hear(stage(Stage.STARTING))
    log.new()
    log.lines.hear(ended(seconds=31.0))
    assert log.new() == ["tokgate   0:00  01-baseline  took 31 s; 1 of 2 launches done, about 40 s left"]
    log.lines.hear(ended("02-eagle3-2step", seconds=None))
    assert log.new() == ["tokgate   0:00  02-eagle3-2step  broke off; 2 of 2 launches done"]


def test_a_reason_is_wrapped_and_what_was_not_started_has_been_told(log: Log) -> None:
    log.lines.hear(Judged(outcome="INVALID", reason="not clean session start: GPU 3 (NVIDIA H200): 1894 MiB"))
    log.lines.hear(
        Judged(
            outcome="REGRESSED",
            reason="the change costs 2.1 % [1.4, 2.9], verify +0.13 ms of the +0.13 ms a cycle",
        )
    )
    log.lines.hear(ended(started=False))
    assert log.new() == [
        "tokgate   0:00  INVALID  not clean session start: GPU 3 (NVIDIA H200): 1894 MiB",
        "tokgate   0:00  REGRESSED  the change costs 2.1 % [1.4, 2.9], verify +0.13 ms of",
        "                the +0.13 ms a cycle",
    ]


def test_a_long_silence_is_broken_while_something_is_under_way(log: Log) -> None:
    log.lines.hear(stage(Stage.STARTING))
    log.clock.now += ALIVE_EVERY_S - 1
    assert log.lines.still() == []
    assert log.lines.next_in() == 1
    log.clock.now += 1
    assert log.lines.still() == ["tokgate   0:30  01-baseline 1/2  starting  still at it, about 40 s left"]
    assert log.lines.still() == []
    assert log.lines.next_in() == ALIVE_EVERY_S
    log.lines.hear(SessionOpened())
    log.clock.now += 10 * ALIVE_EVERY_S
    assert log.lines.still() == []


@pytest.mark.parametrize("width", [80, 60])
def test_no_line_is_wider_whatever_comes_from_outside(width: int) -> None:
    log = Log(width)
    for text in hostile.HOSTILE:
        odd = launch(text, 1e9)
        log.lines.hear(made(odd, basis=text, details=(text,), left_out=(text,) * 9, rig=text))
        log.lines.hear(Words(text=text))
        log.lines.hear(stage(Stage.MEASURING, text, text, 10**9))
        log.clock.now += 1e6
        log.lines.hear(taken(10**9, launch=text, workload=text, tok_s=1e300))
        log.lines.hear(ended(text, 1e9))
        log.lines.hear(Judged(outcome=text, reason=text))
    assert len(log.rows) > 50
    assert max(columns(row) for row in log.rows) <= width
    assert all(row.isprintable() for row in log.rows)


def test_the_plan_as_a_whole() -> None:
    assert list(progress_plan.lines(plan(left_out=("03-nccl-off (-m nccl)",), tests=58, deselected=14))) == [
        "plan     rig kimi-8gpu: 2 server launches; 18 generations, 2,304 tokens",
        "   1  01-baseline      single 9                                             30 s",
        "   2  02-eagle3-2step  single 9                                             40 s",
        "time     about 1 min 10 s (1 min 00 s to 1 min 40 s), 9.3 GPU-minutes on 8 GPUs;",
        "         from 3 sessions of this rig, the last of 2026-11-29",
        "left out 03-nccl-off (-m nccl); 14 of 72 tests deselected",
    ]


def test_a_plan_before_any_session_has_what_is_usual_and_names_the_limit() -> None:
    usual = Span(low=108.0, likely=None, high=219.0, limit=720.0)
    one = launch("01-baseline", None).model_copy(update={"seconds": usual})
    told = " ".join(
        " ".join(progress_plan.lines(plan(one, seconds=usual, gpu_seconds=usual, basis="x"))).split()
    )
    assert "single 9 1 min 48 s to 3 min 39 s" in told
    assert "about 1 min 48 s to 3 min 39 s; by the rig's limits at most 12 min" in told
    assert "about 1.8 to 3.6 GPU-minutes on 8 GPUs" in told


def test_a_plan_of_a_simulated_rig_says_so() -> None:
    told = "\n".join(progress_plan.lines(plan(simulated=True)))
    assert "SIMULATED" in told.splitlines()[0]
    assert "simulated GPUs" in told


def test_a_plan_of_which_nothing_is_known_has_no_number_that_someone_would_quote() -> None:
    unknown = plan(launch("01-baseline", None)).seconds.model_copy(
        update={"likely": None, "low": 0.0, "high": 600.0}
    )
    told = "\n".join(
        progress_plan.lines(plan(launch("01-baseline", None), seconds=unknown, gpu_seconds=unknown, gpus=0))
    )
    assert "at most 10 min, no GPU" in told
    assert "about" not in told


def test_a_plan_on_a_narrow_terminal_breaks_no_word() -> None:
    words = ("single", "conc8-long-context", "lossless")
    work = tuple(PlannedWork(workload=w, generations=9, output_tokens=9) for w in words)
    one = PlannedLaunch(launch="03-baseline-again", arm="baseline", work=work, seconds=span(27.0))
    told = list(progress_plan.lines(plan(one), width=40))
    assert max(map(len, told)) <= 40
    assert "single 9, conc8-long-context 9, lossless 9" in " ".join(" ".join(told).split())
    assert any(line.startswith("   1  03-baseline-again") and line.endswith(" 27 s") for line in told)


def test_on_a_narrow_terminal_what_has_no_room_stands_on_a_line_of_its_own() -> None:
    parts = ["SIMULATED 02-eagle3-2step-phases 5/5", "measuring single", "", "starting"]
    assert progress_words.packed(parts, 79) == [
        "SIMULATED 02-eagle3-2step-phases 5/5  measuring single  starting"
    ]
    assert progress_words.packed(parts, 39) == [parts[0], "measuring single  starting"]
    assert max(map(len, progress_words.packed(parts, 12))) <= 12
