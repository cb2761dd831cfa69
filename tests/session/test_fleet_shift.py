"""Whether what came of a launch is the server's doing or its host's."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from tokgate.errors import HostLost
from tokgate.hosts.connection import Host, connect
from tokgate.hosts.lease import lease
from tokgate.hosts.scripts.lease import Lock
from tokgate.records import Launch, LaunchEvidence, Liveness
from tokgate.rig.machine import HostSpec
from tokgate.session.fleet_shift import WatchedSession, ended_well
from tokgate.session.live import LiveSession

LAUNCH = Launch(id="01-baseline", arm="baseline", role="control")
GOOD = LaunchEvidence(launch=LAUNCH, wall_s=12.0, liveness=Liveness(alive=True, answered=True))
DEAD = GOOD.model_copy(update={"liveness": Liveness(alive=False, answered=False, why="signal 9")})
BROKE = GOOD.model_copy(update={"faults": ("the ssh tunnel ended with 255",)})


class Session:
    def __init__(self, evidence: LaunchEvidence) -> None:
        self.evidence = evidence
        self.asked = 0

    def is_measured(self, _: Launch) -> bool:
        return self.asked > 0

    def measured(self, _: Launch) -> LaunchEvidence:
        self.asked += 1
        return self.evidence


class Watching(WatchedSession):
    """A session on this machine, which can be told that it is another one by now."""

    machine: str | None = None

    def _ask(self) -> str:
        return self.machine or super()._ask()


@pytest.fixture
def host(tmp_path: Path) -> Host:
    return connect(HostSpec(python=sys.executable, work_dir=str(tmp_path / "work")))


Watches = Callable[[LaunchEvidence], Watching]


@pytest.fixture
def watching(host: Host) -> Iterator[Watches]:
    """Begin a session whose launches end so. The lease is given back before its undertaker is let go, as a shift does."""
    made: list[Watching] = []
    with lease(host, "run-1") as held:

        def begin(evidence: LaunchEvidence) -> Watching:
            made.append(Watching(cast("LiveSession", Session(evidence)), host, held))
            return made[-1]

        yield begin
    for one in made:
        one.close()


def break_connection(watched: Any) -> None:
    watched._undertaker._process.kill()
    watched._undertaker._process.wait()


def test_a_launch_that_ended_well_is_what_it_is_however_the_connection_fared(watching: Watches) -> None:
    watched = watching(GOOD)
    break_connection(watched)
    assert watched.measured(LAUNCH) == GOOD
    assert not watched._undertaker.broke(), "it is made again for the next launch"
    assert watched.made == ["01-baseline"]


def test_a_server_that_died_on_a_host_that_answers_is_a_finding(watching: Watches) -> None:
    watched = watching(DEAD)
    assert watched.measured(LAUNCH) == DEAD


def test_what_broke_while_the_connection_did_is_the_hosts(watching: Watches) -> None:
    watched = watching(BROKE)
    break_connection(watched)
    with pytest.raises(HostLost, match="out of reach for a while, and answers again"):
        watched.measured(LAUNCH)
    assert watched.made == ["01-baseline"], "by name it is told"


def test_a_host_that_was_restarted_is_lost(watching: Watches) -> None:
    watched = watching(DEAD)
    watched.machine = "another boot"
    with pytest.raises(HostLost, match="restarted"):
        watched.measured(LAUNCH)


def test_a_lost_lease_ends_the_shift_even_where_all_went_well(watching: Watches) -> None:
    watched = watching(GOOD)
    watched._lease._lost.append("the lease on gpu7 is lost: run-2 (me@elsewhere) has taken it over")
    with pytest.raises(HostLost, match="run-2"):
        watched.measured(LAUNCH)


def test_a_gate_that_took_the_host_over_meanwhile_is_named(watching: Watches, host: Host) -> None:
    watched = watching(DEAD)
    file = Path(host.spec.work_dir) / "lease" / "lease.json"
    with Lock(file.parent / "lock"):
        taken = {
            "owner": "run-2",
            "where": "me@elsewhere",
            "token": "other",
            "machine": "elsewhere",
            "limit_s": 1e9,
        }
        file.write_text(json.dumps({**json.loads(file.read_text()), **taken}))
    with pytest.raises(HostLost, match=r"run-2 \(me@elsewhere\) has taken it over"):
        watched.measured(LAUNCH)


def test_what_was_measured_before_is_not_looked_at_again(watching: Watches) -> None:
    watched = watching(DEAD)
    watched.measured(LAUNCH)
    watched.machine = "another boot"
    assert watched.measured(LAUNCH) == DEAD


@pytest.mark.parametrize(
    ("evidence", "well"),
    [(GOOD, True), (DEAD, False), (BROKE, False), (GOOD.model_copy(update={"wall_s": None}), False)],
)
def test_what_might_be_the_doing_of_a_host(evidence: LaunchEvidence, well: bool) -> None:
    assert ended_well(evidence) is well
