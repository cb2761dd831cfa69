"""Each judged start has a twin without the probe, in an order in which a drift cancels."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.session.rigs import small_rig
from tokgate.hosts.connection import Host, connect
from tokgate.records.redactor import Redactor
from tokgate.rig.machine import HostSpec
from tokgate.session.cost_plan import paired_batches
from tokgate.session.probe_switch import ProbeSwitch

SINGLE = small_rig().workload("single")  # one warm-up, five repeats


def order(pairs: int) -> list[tuple[str, int]]:
    return [(b.workload, b.number) for b in paired_batches(SINGLE, pairs) if not b.warmup]


def test_on_and_off_take_turns_in_going_first() -> None:
    assert order(5) == [
        ("single", 1), ("probe-off", 1), ("probe-off", 2), ("single", 2), ("single", 3), ("probe-off", 3),
        ("probe-off", 4), ("single", 4), ("single", 5), ("probe-off", 5),
    ]  # fmt: skip


def test_twins_ask_the_same_prompts_and_only_warm_ups_leave_the_switch_alone() -> None:
    found = paired_batches(SINGLE, 5)
    for batch in found:
        twins = [b for b in found if b.number == batch.number]
        assert len({b.indexes for b in twins}) == 1
    assert [b.switch for b in found] == [None, *[True, False, False, True] * 2, True, False]


def test_fewer_pairs_than_judged_starts_leave_the_rest_alone_and_more_are_no_starts_of_the_workload() -> None:
    assert [name for name, _ in order(1)] == ["single", "probe-off", "single", "single", "single", "single"]
    more = order(7)
    assert more[-4:] == [("probe-off", 6), ("probe-on", 6), ("probe-on", 7), ("probe-off", 7)]
    assert sum(name == "single" for name, _ in more) == 5


class Elsewhere(Host):
    """This machine, reached as another one is."""

    @property
    def local(self) -> bool:
        return False


@pytest.mark.parametrize("local", [True, False])
def test_the_switch_is_written_into_and_never_replaced_or_empty(tmp_path: Path, local: bool) -> None:
    host = connect(HostSpec(), redactor=Redactor())
    host = host if local else Elsewhere(host.spec, host.testinfra, host.redactor)
    path = tmp_path / "it's a switch"
    switch = ProbeSwitch(host, str(path))
    switch.lay()
    with path.open("rb") as held:  # as the probe has it
        for on, byte in ((False, b"0"), (True, b"1"), (False, b"0")):
            assert switch.turn(on)
            held.seek(0)
            assert held.read() == byte
    assert switch.why is None


@pytest.mark.parametrize("local", [True, False])
def test_a_switch_that_cannot_be_written_says_so_and_is_left_alone(tmp_path: Path, local: bool) -> None:
    host = connect(HostSpec(), redactor=Redactor())
    host = host if local else Elsewhere(host.spec, host.testinfra, host.redactor)
    switch = ProbeSwitch(host, str(tmp_path / "gone" / "switch"))
    assert not switch.turn(False)
    assert switch.why is not None
    assert "switch" in switch.why
    (tmp_path / "gone").mkdir()
    assert not switch.turn(True)
