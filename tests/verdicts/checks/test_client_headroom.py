from __future__ import annotations

import pytest

from tests.verdicts.evidence import make_launch, make_rig
from tokgate.records import ClientLoad, Outcome
from tokgate.verdicts.checks.client_headroom import client_headroom


@pytest.mark.parametrize(
    ("events", "outcome", "words"),
    [
        (1_000, Outcome.PASS, "client at 10.0% of its ceiling in single on 01-baseline"),
        (7_000, Outcome.PASS, "70.0%"),
        (7_100, Outcome.INVALID, "client at 71.0% of its ceiling in single on 01-baseline: more than 70%"),
        (0, Outcome.INVALID, "the client's own load was not recorded"),
    ],
)
def test_a_client_near_its_ceiling_measures_itself(events: int, outcome: Outcome, words: str) -> None:
    load = ClientLoad(cpu_s=0.1, wall_s=1, events=events, ceiling_events_per_s=10_000)
    (verdict,) = client_headroom(make_rig(), make_launch(client={"single": load}), "single")

    assert verdict.outcome is outcome
    assert words in verdict.headline
    assert (verdict.do is None) is (outcome is Outcome.PASS)


@pytest.mark.parametrize("ceiling", [None, 0.0])
def test_an_unknown_ceiling_leaves_no_headroom(ceiling: float | None) -> None:
    load = ClientLoad(cpu_s=1, wall_s=1, events=10, ceiling_events_per_s=ceiling)
    (verdict,) = client_headroom(make_rig(), make_launch(client={"single": load}), "single")

    assert verdict.outcome is Outcome.INVALID
    assert "ceiling on this machine is unknown" in verdict.headline


def test_a_workload_without_a_record_is_invalid() -> None:
    (verdict,) = client_headroom(make_rig(), make_launch(client={}), "single")

    assert verdict.outcome is Outcome.INVALID


def test_a_client_that_computed_most_of_the_time_was_the_limit_however_few_events_came() -> None:
    """On a busy machine an event costs more than it did when the ceiling was measured."""
    load = ClientLoad(cpu_s=0.8, wall_s=1, events=1000, ceiling_events_per_s=10_000)
    (verdict,) = client_headroom(make_rig(), make_launch(client={"single": load}), "single")

    assert verdict.outcome is Outcome.INVALID
    assert "client at 80.0% of its ceiling" in verdict.headline
    assert (
        "1,000 of 10,000 events/s against a server that does nothing, 80.0% of a core" in verdict.evidence[1]
    )
