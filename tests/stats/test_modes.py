"""Two modes of restarts: found where they are, and not where restarts merely differ."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from tokgate.stats.levels import RunValues
from tokgate.stats.modes import Restarts, restarts_of, two_modes

FLOOR = 0.02
PRIOR = 0.005
SESSIONS = 20_000
RNG = np.random.Generator(np.random.PCG64(25))


def called(logs: npt.NDArray[np.float64], *sessions: int) -> float:
    """The share of rows of runs that are called; all runs of one session unless told otherwise."""
    of = np.array(sessions or [0] * logs.shape[-1])
    return float(two_modes(logs, of, prior_sd=PRIOR, floor=FLOOR).found.mean())


def runs(**sessions: tuple[float, ...]) -> Restarts:
    """Sessions by name, each with the values of its runs in order."""
    told = [
        RunValues(session=name, launch=f"{n:02d}-arm", values=(value, value))
        for name, values in sessions.items()
        for n, value in enumerate(values, 1)
    ]
    return restarts_of(told, floor=FLOOR)


@pytest.mark.parametrize(
    ("sd", "normal", "heavy"),
    [  # standard deviation between restarts -> false alarms that modes.py documents
        (0.0012, 0.0, 0.001),  # EAGLE-3 at one stream on an H200
        (0.007, 0.0002, 0.003),  # the plain arm at sixteen
        (0.010, 0.002, 0.004),  # a quiet CPU
        (0.019, 0.011, 0.02),  # EAGLE-3 at sixteen
    ],
)
def test_restarts_that_merely_differ_are_not_called(sd: float, normal: float, heavy: float) -> None:
    for k in (3, 4, 5, 6, 8, 12, 16):
        for draws, rate in (
            (RNG.standard_normal((SESSIONS, k)), normal),
            (RNG.standard_t(4, (SESSIONS, k)) / np.sqrt(2), heavy),
        ):
            most = rate + 3 * np.sqrt(max(rate, 1e-4) / SESSIONS)  # and three standard errors
            assert called(draws * sd) <= most, (k, sd)


def test_sessions_that_lie_apart_are_not_called() -> None:
    """0.8 % between sessions, as on the H200; three stored ones of two runs each, and one of three."""
    of = np.array([0, 0, 1, 1, 2, 2, 3, 3, 3])
    logs = RNG.standard_normal((SESSIONS, 9)) * 0.0012 + (RNG.standard_normal((SESSIONS, 4)) * 0.008)[:, of]

    assert called(logs, *of) <= 0.001


@pytest.mark.parametrize("change", [-0.05, -0.1, -0.5, 0.1])
def test_a_change_between_sessions_is_no_mode(change: float) -> None:
    """Exactly what a regression looks like: tight before, tight after, far apart."""
    of = np.array([0, 0, 1, 1, 2, 2, 2])
    logs = RNG.standard_normal((SESSIONS, 7)) * 0.0012 + change * (of == 2)

    assert called(logs, *of) == 0.0


@pytest.mark.parametrize(
    ("gap", "k", "least"), [(0.064, 4, 1.0), (0.064, 6, 1.0), (0.25, 3, 1.0), (0.03, 6, 0.8)]
)
def test_two_modes_are_found_once_a_session_was_in_both(gap: float, k: int, least: float) -> None:
    slow = RNG.random((SESSIONS, k)) < 0.5
    logs = RNG.standard_normal((SESSIONS, k)) * 0.0012 - gap * slow
    both = slow.any(axis=1) & ~slow.all(axis=1)

    assert called(logs[~both]) == 0.0
    assert called(logs[both]) >= least - 0.005


def test_two_modes_are_found_with_the_runs_of_a_baseline() -> None:
    """This session's two runs alone show nothing; the stored ones say what restarts differ by."""
    found = runs(old=(88.7, 88.6), older=(88.8, 88.9), now=(88.7, 83.1))

    assert found.groups == ((83.1, 1), (88.7, 5))
    assert found.gap == pytest.approx(1 - 83.1 / 88.7)
    assert not found.came_back  # it may have drifted, too
    assert runs(now=(88.7, 83.1)).gap is None


def test_a_run_that_comes_back_is_no_drift() -> None:
    assert runs(now=(88.7, 83.1, 88.8)).came_back
    assert not runs(now=(88.7, 88.8, 83.1)).came_back


def test_a_gap_below_the_floor_is_none_of_ours() -> None:
    assert runs(now=(100.0, 100.01, 98.5, 98.51)).gap is None


def test_what_restarts_differ_by_is_told_of_restarts_alone() -> None:
    """Sessions 10 % apart, whose restarts differ by 0.2 %."""
    found = runs(old=(100.0, 100.2), now=(90.0, 90.2))

    assert (found.runs, found.sessions, found.seen) == (4, 2, 2)
    assert found.sd == pytest.approx(0.002 / np.sqrt(2), rel=0.1)
    assert found.gap is None


def test_one_run_says_nothing_of_restarts() -> None:
    found = runs(now=(100.0,))

    assert (found.seen, found.sd, found.gap) == (0, None, None)


def test_no_run_at_all_is_an_error() -> None:
    with pytest.raises(ValueError, match="no server run"):
        restarts_of((), floor=FLOOR)
