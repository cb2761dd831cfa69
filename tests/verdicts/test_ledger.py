from __future__ import annotations

import math

import pytest

from tokgate.stats.levels import RunValues
from tokgate.verdicts.baselines.file import BaselineLaunch
from tokgate.verdicts.ledger import level_of, levels_of, run_values
from tokgate.verdicts.metrics import METRICS

SPEED = METRICS["decode_tok_s"]


def run(session: str, launch: str, *values: float) -> RunValues:
    return RunValues(session=session, launch=launch, values=values)


def test_sessions_weigh_the_same_however_many_runs_they_have() -> None:
    found = level_of(
        [run("a", "1", 100.0), run("a", "2", 100.0), run("a", "3", 100.0), run("b", "1", 81.0)], SPEED
    )

    assert found is not None
    assert found.value == pytest.approx(math.sqrt(100.0 * 81.0))
    assert (found.sessions, found.runs, found.starts) == (2, 4, 4)


def test_a_run_is_the_median_of_its_starts_and_a_start_that_of_its_streams() -> None:
    launch = BaselineLaunch(
        run_id="a", launch="1", samples={"decode_tok_s": ((50.0, 51.0, 90.0), (49.0,), (52.0,))}
    )

    assert run_values([launch], "decode_tok_s") == (run("a", "1", 51.0, 49.0, 52.0),)
    assert levels_of([launch])["decode_tok_s"].value == pytest.approx(51.0)
    assert run_values([launch], "ttft_ms") == ()
    assert list(levels_of([launch])) == ["decode_tok_s"]


def test_without_a_run_there_is_no_level() -> None:
    assert level_of([], SPEED) is None
