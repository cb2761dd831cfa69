"""Server runs of one arm against its baseline: a loss waits for restarts, and all runs are one number."""

from __future__ import annotations

import pytest

from tests.verdicts.baselines.stored_runs import (
    RIG,
    by,
    judged,
    restarted,
    stored,
)
from tests.verdicts.evidence import (
    STEADY,
    make_launch,
)
from tokgate.records import Liveness, Outcome
from tokgate.verdicts.checks.stored_baseline import stored_baseline


def test_a_loss_waits_for_restarts_to_confirm_it() -> None:
    """One run of a server with two modes may well be in the other: not until as many runs show it is it called.

    Against six stored runs that takes three: 3^3 6^6 / 9^9 is 0.3 %, 2^2 6^6 / 8^8 is 1.1 %.
    """
    kept, slow = stored(sessions=3), by(0.8)
    once = judged(slow, kept, rig=RIG)

    assert once.outcome is Outcome.INCONCLUSIVE
    assert "not confirmed by restarts, needs 2 more restarts of baseline" in once.headline
    assert once.wanted == {"baseline": 2}
    twice = judged(slow, kept, rig=RIG, restarts=[slow])
    assert (twice.outcome, twice.wanted) == (Outcome.INCONCLUSIVE, {"baseline": 1})
    thrice = judged(slow, kept, rig=RIG, restarts=[slow, slow])
    assert thrice.outcome is Outcome.REGRESSED
    assert thrice.warnings == ()


def test_a_loss_that_restarts_do_not_show_is_not_called() -> None:
    verdict = judged(by(0.9), stored(), rig=RIG, restarts=[STEADY, STEADY])

    assert verdict.outcome not in (Outcome.REGRESSED, Outcome.PASS)


def test_where_restarts_are_switched_off_a_loss_is_called_and_says_so() -> None:
    verdict = judged(by(0.9), stored())

    assert verdict.outcome is Outcome.REGRESSED
    assert any("not confirmed by restarts" in text for text in verdict.warnings)


def test_all_runs_of_the_arm_are_one_number() -> None:
    verdict = judged(by(0.95), stored(), rig=RIG, restarts=[by(0.95), by(0.97)])

    assert verdict.launch == "01-baseline"
    assert verdict.launches == ("01-baseline", "10-baseline-restart-1", "11-baseline-restart-2")
    assert verdict.n == 18
    assert verdict.value == pytest.approx(44.6 * (0.95 * 0.95 * 0.97) ** (1 / 3), rel=1e-3)
    assert any("10-baseline-restart-1 42.4, 11-baseline-restart-2 43.3 tok/s" in e for e in verdict.evidence)
    assert "launches/11-baseline-restart-2/generations.jsonl" in verdict.raw


def test_a_second_look_has_less_to_spend() -> None:
    first = judged(STEADY, stored(), rig=RIG)
    second = judged(STEADY, stored(), rig=RIG, restarts=[STEADY])

    assert any(line.startswith("level of look 1") for line in first.evidence)
    assert any(line.startswith("level of look 2") for line in second.evidence)
    assert first.level == second.level  # what the comparison has over all its looks


def test_a_restart_that_is_another_server_is_none() -> None:
    first, again = restarted(make_launch(), STEADY)
    assert again.server is not None
    other = again.server.model_copy(update={"sglang_version": "0.5.24"})
    (verdict,) = stored_baseline(
        RIG, (first, again.model_copy(update={"server": other})), "single", stored(), None
    )

    assert verdict.outcome is Outcome.INVALID
    assert "10-baseline-restart-1 is another server than 01-baseline: sglang.version" in verdict.headline


def test_one_bad_run_of_the_arm_makes_all_of_it_invalid() -> None:
    first, again = restarted(make_launch(), STEADY)
    dead = again.model_copy(update={"liveness": Liveness(alive=False, answered=False)})
    (verdict,) = stored_baseline(RIG, (first, dead), "single", stored(), None)

    assert verdict.outcome is Outcome.INVALID
    assert "dead after the last generation" in verdict.headline
