"""The board that workers of a fleet share: who may measure what, where, and what becomes of it when somebody is gone."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tokgate.errors import UsageError
from tokgate.records.fleet import Fleet, HostSeen, HostState, ShiftState
from tokgate.session.fleet_board import Board, load_fleet

GROUPS = ("g1", "g2", "g3")


def hosts(*names: str, left_out: str = "") -> tuple[HostSeen, ...]:
    return tuple(
        HostSeen(
            name=name,
            address=f"ssh://{name}",
            state=HostState.LEFT_OUT if name in left_out else HostState.ADMITTED,
        )
        for name in names
    )


def board(folder: Path, *names: str, left_out: str = "", each_on: int = 1) -> Board:
    made = Board(folder, "gw0")
    made.write(Fleet(hosts=hosts(*names, left_out=left_out), groups=GROUPS, each_on=each_on))
    return made


def test_workers_take_hosts_and_groups_that_nobody_has(tmp_path: Path) -> None:
    first = board(tmp_path, "a", "b", "c", left_out="b")
    claims = [first.claim(), Board(tmp_path, "gw1").claim(), Board(tmp_path, "gw2").claim()]
    told = [(c.shift.host, c.group, c.shift.folder) for c in claims if c is not None]
    assert told == [("a", "g1", "hosts/a"), ("c", "g2", "hosts/c")], (
        "b is left out, and no host is free for a third"
    )
    assert first.next_group(1) == "g3"
    assert first.next_group(2) is None
    assert not first.over()
    for number in (1, 2):
        first.end(number, ShiftState.MEASURED)
    assert first.over()
    assert first.claim() is None


def test_a_lost_host_gives_its_groups_back_and_is_not_used_again(tmp_path: Path) -> None:
    made = board(tmp_path, "a", "b")
    assert made.claim() is not None
    assert made.claim() is not None
    assert made.next_group(1) == "g3"
    made.made(1, ("01-baseline", "02-g1"))
    made.end(1, ShiftState.LOST, "no route", host=HostState.LOST, do="see to it")
    assert made.next_group(2) == "g1"
    assert made.next_group(2) == "g3"
    made.end(2, ShiftState.MEASURED)
    fleet = made.read()
    assert made.over()
    assert fleet.host("a").state is HostState.LOST
    assert (fleet.host("a").why, fleet.host("a").do) == ("no route", "see to it")
    assert fleet.shifts[0].measured == ("01-baseline", "02-g1"), "what was measured stays by name"
    assert [shift.host for shift in fleet.of_group("g1")] == ["b"]


@pytest.mark.parametrize(
    ("host", "other", "label"),
    # A host may be called as another's second folder would be: what g measured there would be told as g-2's.
    [("a", "b", "a-2"), ("g", "g-2", "g-3")],
)
def test_a_host_that_works_again_gets_a_folder_of_its_own(
    tmp_path: Path, host: str, other: str, label: str
) -> None:
    made = board(tmp_path, host, other)
    for _ in range(2):
        assert made.claim() is not None
    made.end(1, ShiftState.MEASURED)
    made.end(2, ShiftState.LOST, "gone", host=HostState.LOST)
    again = made.claim()
    assert again is not None
    told = (again.shift.host, again.group, again.shift.folder, again.shift.label)
    assert told == (host, "g2", f"hosts/{label}", label)


def test_the_shift_of_a_dead_worker_is_anybodys(tmp_path: Path) -> None:
    board(tmp_path, "a")
    claims = (
        "import sys; from pathlib import Path; from tokgate.session.fleet_board import Board;"
        "print(Board(Path(sys.argv[1]), 'gw7').claim().group)"
    )
    done = subprocess.run(
        [sys.executable, "-c", claims, str(tmp_path)], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "g1"
    mine = Board(tmp_path, "gw0")
    claim = mine.claim()
    assert claim is not None
    assert (claim.group, claim.shift.folder) == ("g1", "hosts/a-2")
    dead = mine.read().shifts[0]
    assert dead.state is ShiftState.BROKEN_OFF
    assert "gw7" in (dead.why or "")
    assert "is gone" in (dead.why or "")


def test_a_living_workers_shift_is_its_own(tmp_path: Path) -> None:
    made = board(tmp_path, "a")
    assert made.claim() is not None
    assert Board(tmp_path, "gw1").claim() is None
    assert [shift.host for shift in made.at_work()] == ["a"]


def test_each_arm_on_two_hosts_and_never_twice_on_one(tmp_path: Path) -> None:
    made = board(tmp_path, "a", "b", "c", each_on=2)
    for _ in range(3):
        assert made.claim() is not None
    taken = {1: ["g1"], 2: ["g2"], 3: ["g3"]}
    for number in (1, 2, 3, 1, 2, 3):
        group = made.next_group(number)
        if group is not None:
            taken[number].append(group)
    assert all(len(set(groups)) == len(groups) for groups in taken.values())
    assert sorted(g for groups in taken.values() for g in groups) == sorted(GROUPS * 2)
    for number in (1, 2, 3):
        made.end(number, ShiftState.MEASURED)
    assert made.over()


def test_fewer_hosts_than_wanted_measure_what_they_can(tmp_path: Path) -> None:
    made = board(tmp_path, "a", "b", left_out="b", each_on=2)
    assert made.claim() is not None
    while made.next_group(1) is not None:
        pass
    made.end(1, ShiftState.MEASURED)
    assert made.over()


def test_what_is_given_up_has_its_reason_and_what_is_measured_stays(tmp_path: Path) -> None:
    made = board(tmp_path, "a")
    assert made.claim() is not None
    made.end(1, ShiftState.MEASURED)
    made.give_up(GROUPS, "no host is left")
    assert made.read().unmeasured == {"g2": "no host is left", "g3": "no host is left"}
    assert made.over()


def test_a_file_that_makes_no_sense_is_named(tmp_path: Path) -> None:
    (tmp_path / "fleet.json").write_text(json.dumps({"hosts": 3}))
    with pytest.raises(UsageError, match=r"fleet\.json"):
        load_fleet(tmp_path)
