from __future__ import annotations

import pytest

from tests.verdicts.evidence import make_fingerprint, make_rig
from tokgate.verdicts.baselines.expiry import expired
from tokgate.verdicts.baselines.staleness import mixed, staleness

RIG = make_rig()
STORED, LATER = "2026-11-01T12:00:00+00:00", "2026-12-16T12:00:00Z"


@pytest.mark.parametrize(
    "at", ["2026-11-01T13:00:00Z", "2026-12-01T11:00:00+00:00", "2026-10-01T00:00:00Z", None]
)
def test_a_young_baseline_is_not_spoken_of(at: str | None) -> None:
    assert expired(RIG, STORED, at) is None


def test_an_old_one_tells_its_age_and_what_to_do() -> None:
    found = expired(RIG, STORED, LATER)

    assert found is not None
    assert found.words == "it has expired, 45 days old and good for 30"
    assert "tokgate baseline propose" in found.do
    assert expired(make_rig(baselines={"expire_days": 60.0}), STORED, LATER) is None


@pytest.mark.parametrize("stored", ["", "yesterday", "2026-13-01", "\x1b[2J"])
def test_a_time_that_is_none_is_said_and_never_young(stored: str) -> None:
    found = expired(RIG, stored, LATER)

    assert found is not None
    assert found.days is None
    assert "nobody can tell how old it is" in found.words
    assert "\x1b" not in found.words


def test_age_names_itself_before_anything_else_that_is_stale() -> None:
    before, now = make_fingerprint(), make_fingerprint({"gpu.driver": "590"})
    found = staleness(RIG, before, now, stored=STORED, at=LATER)

    assert found.since == (
        "it has expired, 45 days old and good for 30; the driver has changed since it was stored"
    )
    assert found.warnings[0] == "stale baseline: it has expired, 45 days old and good for 30"
    assert found.expiry is not None
    alone = staleness(RIG, before, before, stored=STORED, at=LATER)
    assert alone.since == "it has expired, 45 days old and good for 30"
    assert alone.do is not None
    assert staleness(RIG, None, None, stored=STORED, at=LATER).expiry is not None


def test_runs_of_one_machine_may_be_of_several_boots_but_of_one_driver_and_tree() -> None:
    one = make_fingerprint()

    assert mixed(RIG, one, make_fingerprint({"host.boot_id": "b2", "host.kernel": "6.2"})) == ()
    assert mixed(RIG, one, None) == ()
    assert mixed(RIG, one, make_fingerprint({"gpu.driver": "590"})) == (
        "another driver (gpu.driver: 580.1 and 590)",
    )
