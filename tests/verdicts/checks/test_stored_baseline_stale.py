"""Machine, tree and age of a baseline lead where a number was lost against it."""

from __future__ import annotations

import pytest

from tests.verdicts.baselines.stored_runs import (
    NOW,
    PATCHED,
    RIG,
    THEN,
    UNSAMPLED,
    by,
    judged,
    stored,
)
from tests.verdicts.evidence import (
    STEADY,
    make_fingerprint,
    make_launch,
    make_rig,
    series,
)
from tokgate.records import Outcome
from tokgate.verdicts.baselines.file import BaselineLaunch
from tokgate.verdicts.checks.stored_baseline import stored_baseline
from tokgate.verdicts.ledger import Accepted, anchors_of, levels_of


def test_what_makes_a_baseline_stale_comes_first() -> None:
    now = make_fingerprint(
        {"host.boot_id": "b2", "gpu.driver": "595.2", "host.kernel": "6.2", "sglang.dirty": "1f0c"}
    )
    verdict = judged(STEADY, stored(), fingerprint=now)

    assert verdict.outcome is Outcome.PASS
    assert [d.key for d in verdict.differs] == ["host.boot_id", "gpu.driver", "sglang.dirty", "host.kernel"]
    assert verdict.warnings[:3] == (
        "stale baseline: the machine was booted since (host.boot_id: b1 then, b2 now)",
        "stale baseline: another driver (gpu.driver: 580.1 then, 595.2 now)",
        "stale baseline: other edits in SGLang (sglang.dirty: no then, 1f0c now)",
    )


def test_an_expired_baseline_names_itself_first() -> None:
    """Where the rig asks for it nothing passes against numbers that nobody has confirmed for months."""
    old = stored().model_copy(
        update={"provenance": stored().provenance.model_copy(update={"when": "2026-01-01T00:00:00+00:00"})}
    )
    verdict = judged(STEADY, old)
    assert verdict.outcome is Outcome.PASS
    assert verdict.warnings[0].startswith("stale baseline: it has expired, 332 days old")
    strict = make_rig(baselines={"expired": "inconclusive"}, sampling={"gpu_time_s": 0})
    verdict = judged(STEADY, old, rig=strict)
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert verdict.headline.startswith("it has expired, 332 days old and good for 30: decode 44.6 tok/s")
    assert "store anew" in (verdict.do or "")
    assert verdict.wanted == {}
    assert judged(by(0.9), old, rig=strict).outcome is Outcome.REGRESSED


def test_accepted_losses_are_told_with_their_budget() -> None:
    """The anchor was 5.9 % faster: each step down was small, and was accepted."""
    anchor, now = (levels_of(stored(rates).launches) for rates in (by(1.0625), STEADY))
    step = Accepted(when="2026-11-20T12:00:00+00:00", who="ada", why="new driver", levels=now)
    crept = stored(
        anchor=anchors_of(anchor, when="2026-03-01T12:00:00+00:00", why="first", sessions=("r0",)),
        accepted=(step,),
    )
    verdict = judged(STEADY, crept)

    assert verdict.outcome is Outcome.PASS
    assert any(line.startswith("crept 5.9% of 5.0% since 2026-03-01") for line in verdict.evidence)
    assert any("accepted beyond the budget" in text for text in verdict.warnings)
    assert not any("crept" in line for line in judged(STEADY, stored()).evidence)


def test_a_loss_with_another_tree_leads_to_the_tree() -> None:
    baseline = stored(THEN, fingerprint=make_fingerprint({"sglang.install": "wheel"}))
    verdict = judged(NOW, baseline, fingerprint=make_fingerprint(PATCHED))

    assert verdict.outcome is Outcome.REGRESSED  # a changed tree is what is to be judged
    assert verdict.headline == (
        "baseline moved by -7.4 % (decode 82.2 against 88.8 tok/s on baseline): "
        "the tree has changed since it was stored: confirm with a clean tree"
    )
    assert "sglang/srt/managers/scheduler.py" in verdict.evidence[0]
    assert "patched in place, it does not match its RECORD" in verdict.evidence[0]
    assert any(line.startswith("worse than the baseline: interval -") for line in verdict.evidence)
    assert verdict.do is not None
    assert "clean tree" in verdict.do
    assert "NCCL" not in verdict.model_dump_json()


def test_every_metric_of_a_stale_baseline_asks_for_the_same_step() -> None:
    samples = {"decode_tok_s": tuple((v,) for v in THEN), "tpot_ms": ((9.5,),) * 6}
    baseline = stored(THEN).model_copy(
        update={
            "launches": tuple(
                BaselineLaunch(run_id=f"r{n // 2}", launch=f"0{n % 2}", samples=samples) for n in range(12)
            )
        }
    )
    verdicts = stored_baseline(
        UNSAMPLED, (make_launch(series(NOW)),), "single", baseline, make_fingerprint({"sglang.dirty": "1f"})
    )

    assert [v.outcome for v in verdicts] == [Outcome.REGRESSED] * 2
    assert len({v.do for v in verdicts}) == 1


def test_a_loss_on_a_rebooted_machine_names_the_boot() -> None:
    verdict = judged(NOW, stored(THEN), fingerprint=make_fingerprint({"host.boot_id": "b2"}))

    assert verdict.headline.endswith("the machine was booted since it was stored")


def test_a_loss_that_is_not_confirmed_leads_to_the_tree_as_well() -> None:
    verdict = judged(NOW, stored(THEN, sessions=3), rig=RIG, fingerprint=make_fingerprint(PATCHED))

    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert verdict.headline == (
        "baseline seems to have moved by -7.4 % (decode 82.2 against 88.8 tok/s on baseline): the tree has changed "
        "since it was stored: confirm with a clean tree; needs 2 more restarts of baseline"
    )
    assert any("not confirmed by restarts, needs 2 more restarts" in line for line in verdict.evidence)
    assert verdict.needs == "2 more restarts of baseline"


@pytest.mark.parametrize("factor", [1.0, 0.985, 1.1])
def test_without_a_loss_the_number_leads(factor: float) -> None:
    verdict = judged([v * factor for v in THEN], stored(THEN), fingerprint=make_fingerprint(PATCHED))

    assert verdict.headline.startswith("decode ")
    assert any("other edits in SGLang" in warning for warning in verdict.warnings)


def test_a_gain_over_a_patched_tree_says_what_it_is_a_gain_over() -> None:
    """Back on the clean tree everything is faster than what the patched one left in store: that is no merit."""
    verdict = judged(THEN, stored(NOW, fingerprint=make_fingerprint(PATCHED)), fingerprint=make_fingerprint())

    assert verdict.outcome is Outcome.IMPROVED
    assert verdict.headline.startswith("decode 88.8 tok/s on baseline: +8.0%, better than baseline 82.2")
    assert verdict.headline.endswith("; it was stored from a patched tree")
