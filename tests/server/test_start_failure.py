"""Which cause a failed start gets, from how it ended and what its log says."""

from __future__ import annotations

import pickle

import pytest

from tokgate.records import StartCause
from tokgate.server.events import Exit
from tokgate.server.readiness import GaveUp
from tokgate.server.start_failure import describe, start_fault

OOM = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n"
BIND = "ERROR:    [Errno 98] error while attempting to bind on address ('127.0.0.1', 8000): address already in use\n"


def ended(rc: int | None = None, signal: int | None = None) -> GaveUp:
    return GaveUp(None, "the process ended", Exit(rc, signal))


@pytest.mark.parametrize(
    ("gave_up", "log", "cause", "words"),
    [
        (ended(1), OOM, StartCause.DOES_NOT_FIT, "2.00 GiB"),
        (ended(3), BIND, StartCause.PORT_TAKEN, "port 8000 is taken"),
        (ended(127), "", StartCause.NO_PYTHON, "ended with 127"),
        (ended(126), "some wrapper's words", StartCause.NO_PYTHON, "ended with 126"),
        (ended(1), "", StartCause.EMPTY_LOG, "ended with 1 and had written nothing"),
        (ended(1), "  \n", StartCause.EMPTY_LOG, "had written nothing"),
        (ended(7), "loading\n", StartCause.CRASHED, "ended with 7 and the log does not say why"),
        (ended(signal=9), "loading\n", StartCause.CRASHED, "suspect the host's out-of-memory killer"),
        (ended(signal=11), "loading\n", StartCause.CRASHED, "was ended by signal 11"),
        (
            ended(1),
            "Traceback (most recent call last):\n  File\nValueError: odd\n",
            StartCause.CRASHED,
            "ValueError: odd (ended with 1)",
        ),
        (
            ended(1),
            "[2026-03-02 10:00:00 TP0] Watchdog timeout (self.watchdog_timeout=300)\n",
            StartCause.CRASHED,
            "no progress for 300 s",
        ),
        # Something answers that is not ours: where our own log says that it did not get the port, that is the cause.
        (
            GaveUp(StartCause.WRONG_SERVER, "pid 7 has it"),
            BIND,
            StartCause.PORT_TAKEN,
            "port 8000 is taken: pid 7 has it",
        ),
        (GaveUp(StartCause.WRONG_SERVER, "pid 7 has it"), "", StartCause.WRONG_SERVER, "pid 7 has it"),
        # It still runs: the log gives a hint, and no more.
        (
            GaveUp(StartCause.SILENT, "nothing new for 300 s"),
            OOM,
            StartCause.SILENT,
            "the log says: out of GPU memory",
        ),
    ],
)
def test_cause(gave_up: GaveUp, log: str, cause: StartCause, words: str) -> None:
    failure = describe(gave_up, log)
    assert failure.cause is cause
    assert words in failure.headline
    assert failure.do


@pytest.mark.parametrize("cause", StartCause)
def test_every_cause_has_a_next_step(cause: StartCause) -> None:
    assert describe(GaveUp(cause, "so"), "").do


def test_the_exit_code_is_as_popen_has_it() -> None:
    assert describe(ended(2), "x").rc == 2
    assert describe(ended(signal=9), "x").rc == -9
    assert describe(GaveUp(StartCause.SILENT, "so"), "x").rc is None


def test_the_last_twenty_lines_are_kept_and_long_ones_cut() -> None:
    failure = describe(ended(1), "\n".join([*map(str, range(100)), "y" * 10_000]))
    assert failure.log_tail == (*map(str, range(81, 100)), "y" * 500)


def test_the_fault_carries_the_failure_through_pickling() -> None:
    fault = start_fault(describe(ended(1), OOM), tried="to start 01-baseline on local")
    again = pickle.loads(pickle.dumps(fault))
    assert again.failure == fault.failure
    assert str(again) == str(fault)
    assert again.found.startswith("does-not-fit: out of GPU memory")
