"""A worker of a fleet, with shifts that end as a test says: which host it takes next, and what it says of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.session.rigs import small_rig
from tokgate.errors import GateError, HostLost, LeaseFault, SlateFault
from tokgate.records.fleet import Fleet, HostSeen, HostState, ShiftState
from tokgate.records.side import SidesMade
from tokgate.rig.machine import HostSpec
from tokgate.rig.models import Rig
from tokgate.session.fleet_board import Board
from tokgate.session.fleet_worker import Worker

GROUPS = ("eagle3-2step", "eagle3-pinned")


def fault(kind: type[GateError], found: str) -> GateError:
    return kind(tried="to", found=found, do="mend it")


class Scene:
    """`ends`: host -> how its shifts end, in order: at once, or ("group", fault) while that is measured; None: well."""

    def __init__(self, folder: Path, ends: dict[str, list[Any]], **options: Any) -> None:
        names = tuple(ends)
        self.rig = small_rig().model_copy(update={"host": HostSpec(pool=tuple(f"ssh://{n}" for n in names))})
        self.ends = {host: list(found) for host, found in ends.items()}
        self.said: list[str] = []
        self.waited: list[float] = []
        self.took: list[tuple[str, str]] = []
        self.now = 0.0
        self.made: dict[str, SidesMade] = {}  # host -> sides of a change
        self.board = Board(folder, "test")
        seen = tuple(HostSeen(name=n, address=f"ssh://{n}", state=HostState.ADMITTED) for n in names)
        self.board.write(Fleet(hosts=seen, groups=GROUPS))
        self.worker = Worker(
            self.rig, name="gw0", folder=folder, wanted=(), equipment=self, say=self.said.append,
            run=self.run, pause=self.pause, clock=lambda: self.now, **options,
        )  # fmt: skip

    def session(self, rig: Rig, folder: Path, host: str) -> Any:
        return host

    def sampling(self, *_: Any) -> Any:
        raise AssertionError("nothing is measured here")

    def pause(self, seconds: float) -> None:
        self.waited.append(seconds)
        self.now += max(seconds, 1.0)

    def run(
        self, host: Any, rig: Rig, /, *, groups: Iterator[str], began: Callable[[SidesMade | None], None],
        made: Callable[[tuple[str, ...]], None], **_: Any,
    ) -> None:  # fmt: skip
        assert rig.host.testinfra == f"ssh://{host}"
        end = self.ends[host].pop(0) if self.ends[host] else None
        if isinstance(end, GateError):
            raise end
        began(self.made.get(host))
        for group in groups:
            self.took.append((host, group))
            made(("01-baseline",))
            if end is not None and end[0] == group:
                raise end[1]

    @property
    def states(self) -> list[tuple[str, str]]:
        return [(shift.host, shift.state.value) for shift in self.board.read().shifts]


def test_one_worker_measures_all_on_the_first_host(tmp_path: Path) -> None:
    scene = Scene(tmp_path, {"a": [], "b": []})
    scene.worker.work()
    assert scene.took == [("a", GROUPS[0]), ("a", GROUPS[1])]
    assert scene.states == [("a", "measured")]


def test_a_host_that_is_lost_late_gives_back_what_was_measured_there_too(tmp_path: Path) -> None:
    lost = fault(HostLost, "no route to host")
    scene = Scene(tmp_path, {"a": [(GROUPS[1], lost)], "b": []})
    scene.worker.work()
    assert scene.took[2:] == [("b", GROUPS[0]), ("b", GROUPS[1])], (
        "without its closing control nothing of it counts"
    )
    assert scene.states == [("a", "lost"), ("b", "measured")]
    assert any("a is lost" in words and "no route" in words for words in scene.said)


@pytest.mark.parametrize(
    ("kind", "state", "host", "words"),
    [
        pytest.param(
            SlateFault, "refused", HostState.LEFT_OUT, "a is left out: it is not clean", id="not clean"
        ),
        pytest.param(HostLost, "lost", HostState.LOST, "a is lost", id="gone before it began"),
        pytest.param(LeaseFault, "refused", HostState.ADMITTED, "a is not free", id="another gate has it"),
    ],
)
def test_a_host_that_will_not_do_is_told_by_name_and_the_next_is_taken(
    tmp_path: Path, kind: type[GateError], state: str, host: HostState, words: str
) -> None:
    scene = Scene(tmp_path, {"a": [fault(kind, "the reason")], "b": []})
    scene.worker.work()
    assert scene.states == [("a", state), ("b", "measured")]
    assert scene.board.read().host("a").state is host
    assert any(words in said and "the reason" in said for said in scene.said), scene.said


def test_with_no_host_left_what_is_unmeasured_says_why_each_went(tmp_path: Path) -> None:
    scene = Scene(
        tmp_path,
        {"a": [(GROUPS[0], fault(HostLost, "its power"))], "b": [fault(SlateFault, "GPU 3 is held")]},
    )
    scene.worker.work()
    why = scene.board.read().unmeasured
    assert set(why) == set(GROUPS)
    assert "a lost: its power" in why[GROUPS[0]]
    assert "b left out: it is not clean: GPU 3 is held" in why[GROUPS[0]]


def test_hosts_of_other_gates_are_waited_for_as_long_as_asked(tmp_path: Path) -> None:
    held = [fault(LeaseFault, "run-7 has held it since noon")] * 3
    scene = Scene(tmp_path, {"a": list(held)}, wait_for_lease_s=60.0)
    scene.worker.work()
    assert scene.states[-1] == ("a", "measured")
    assert len(scene.waited) == len(held)
    assert any("waits for a host: run-7" in words for words in scene.said)


def test_and_no_longer(tmp_path: Path) -> None:
    scene = Scene(
        tmp_path, {"a": [fault(LeaseFault, "run-7 has held it since noon")] * 50}, wait_for_lease_s=20.0
    )
    scene.worker.work()
    assert "run-7 has held it" in scene.board.read().unmeasured[GROUPS[0]]


def test_a_worker_without_a_host_waits_for_what_comes_back_and_says_so(tmp_path: Path) -> None:
    scene = Scene(tmp_path, {"a": []})
    other = Board(tmp_path, "gw1")
    claim = other.claim()
    assert claim is not None
    pauses: list[float] = []

    def pause(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 3:
            other.end(claim.shift.number, ShiftState.LOST, "gone", host=HostState.LOST)

    worker = Worker(
        scene.rig, name="gw0", folder=tmp_path, wanted=(), equipment=scene, say=scene.said.append,
        run=scene.run, pause=pause, clock=lambda: 0.0,
    )  # fmt: skip
    worker.work()
    assert len(pauses) == 3
    assert sum("found no host free" in words for words in scene.said) == 1, "once"
    assert any("found no host free" in words for words in scene.board.read().words), "the report says it too"
    assert "a lost: gone" in scene.board.read().unmeasured[GROUPS[0]]


def test_an_interrupted_shift_is_no_loss_of_its_host(tmp_path: Path) -> None:
    scene = Scene(tmp_path, {"a": []})

    def interrupted(
        *_: Any, groups: Iterator[str], began: Callable[[SidesMade | None], None], **__: Any
    ) -> None:
        began(None)
        next(groups)
        raise KeyboardInterrupt

    worker = Worker(
        scene.rig,
        name="gw0",
        folder=tmp_path,
        wanted=(),
        equipment=scene,
        say=scene.said.append,
        run=interrupted,
    )
    with pytest.raises(KeyboardInterrupt):
        worker.work()
    assert scene.states == [("a", "broken off")]
    assert scene.board.read().host("a").state is HostState.ADMITTED
