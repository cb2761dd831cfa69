"""Nothing of this identity is stored: what is nearest, and how to keep what was measured."""

from __future__ import annotations

import pytest

from tests.verdicts.baselines.stored_runs import (
    RIG,
    judged,
    stored,
)
from tests.verdicts.evidence import (
    STEADY,
    make_launch,
)
from tokgate.records import Difference, Outcome
from tokgate.verdicts.baselines.file import Absence
from tokgate.verdicts.checks.stored_baseline import stored_baseline


def test_a_missing_baseline_tells_the_command_that_stores_one() -> None:
    absence = Absence(path="baselines/small/0.json", identity={})
    verdict = judged(STEADY, absence)

    assert verdict.outcome is Outcome.NO_BASELINE
    assert verdict.headline == "no baseline for single on baseline"
    assert verdict.do is not None
    assert 'tokgate baseline update RUN --arm baseline --why "…"' in verdict.do


def test_the_nearest_baseline_is_named_with_what_differs() -> None:
    absence = Absence(
        path="baselines/small/0.json",
        identity={},
        nearest="baselines/small/1f.json",
        differs=(Difference(key="args.tp_size", before="4", now=None),),
        unreadable=("2f.json: no JSON",),
    )
    verdict = judged(STEADY, absence)

    assert verdict.headline.endswith("nearest is baselines/small/1f.json, 1 setting differs")
    assert verdict.evidence == ("args.tp_size: 4 there, not set here",)
    assert verdict.warnings == ("unreadable neighbour 2f.json: no JSON",)


@pytest.mark.parametrize(
    ("settings", "key"),
    [
        ({"args.tp_size": "8"}, "args.tp_size"),
        ({"simulated": "true"}, "simulated"),
        ({"workload.output_tokens": "64"}, "workload.output_tokens"),
    ],
)
def test_a_baseline_of_another_identity_is_none(settings: dict[str, str], key: str) -> None:
    """Whoever hands over the wrong file, or one of a simulated machine, gets no comparison."""
    verdict = judged(STEADY, stored(settings=settings))

    assert verdict.outcome is Outcome.NO_BASELINE
    assert [d.key for d in verdict.differs] == [key]


def test_a_server_without_a_version_has_no_baseline_to_choose() -> None:
    launch = make_launch()
    assert launch.server is not None
    mute = launch.model_copy(update={"server": launch.server.model_copy(update={"sglang_version": None})})
    (verdict,) = stored_baseline(RIG, (mute,), "single", stored(), None)

    assert verdict.outcome is Outcome.INVALID
    assert "did not tell its SGLang version" in verdict.headline
