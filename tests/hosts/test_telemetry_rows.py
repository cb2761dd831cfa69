from __future__ import annotations

import threading

from tests.hosts.telemetry_stand import LIMIT_S
from tokgate.hosts.telemetry_rows import RowKeeper
from tokgate.records import Unread
from tokgate.records.telemetry import HostRow

SECOND = 1_000_000_000


def row(at_s: float) -> HostRow:
    return HostRow(at_ns=round(at_s * SECOND), load1=0.5)


def test_rows_are_written_while_they_come_and_at_the_end() -> None:
    written: list[str] = []
    came = threading.Event()

    def write(text: str) -> None:
        written.append(text)
        came.set()

    keeper = RowKeeper(write, flush_s=0.01)
    keeper.keep(row(10.0))
    assert came.wait(LIMIT_S)
    for tick in range(1, 8):
        keeper.keep(row(10 + tick * 0.2))
    keeper.close()
    assert "".join(written).count("\n") == 8
    assert keeper.hz() == {"host": 5.0}


def test_a_disk_that_stands_still_holds_up_nobody_who_keeps_rows() -> None:
    written: list[str] = []
    stuck, free = threading.Event(), threading.Event()

    def write(text: str) -> None:
        stuck.set()
        assert free.wait(LIMIT_S)
        written.append(text)

    keeper = RowKeeper(write, flush_s=0.01)
    keeper.keep(row(1))
    assert stuck.wait(LIMIT_S)
    for tick in range(2, 6):
        keeper.keep(row(tick))
    assert written == []
    free.set()
    keeper.close()
    assert "".join(written).count("\n") == 5


def test_a_file_that_is_full_loses_rows_and_says_how_many() -> None:
    written: list[str] = []
    keeper = RowKeeper(written.append, limit_bytes=120)
    for tick in range(5):
        keeper.keep(row(tick))
    keeper.close()
    assert len("".join(written)) <= 120
    assert keeper.rows["host"] + keeper.dropped == 5
    assert keeper.dropped > 0


def test_the_longest_silence_is_within_or_at_the_end() -> None:
    keeper = RowKeeper(lambda _: None)
    assert keeper.longest_silence_s("host", 99 * SECOND) == 0.0
    for at_s in (10.0, 10.2, 13.2, 13.4):
        keeper.keep(row(at_s))
    assert keeper.longest_silence_s("host", 14 * SECOND) == 3.0
    assert keeper.longest_silence_s("host", 20 * SECOND) == 6.6
    keeper.close()


def test_a_disk_that_refuses_costs_the_telemetry_alone() -> None:
    def full(_: str) -> None:
        raise OSError(28, "No space left on device")

    keeper = RowKeeper(full)
    keeper.keep(row(1))
    keeper.close()
    assert keeper.problems == ["rows could not be written: [Errno 28] No space left on device"]


def test_a_row_that_comes_after_the_end_is_not_kept() -> None:
    written: list[str] = []
    keeper = RowKeeper(written.append)
    keeper.close()
    keeper.keep(row(1))
    assert written == []


def test_what_made_no_sense_is_kept_up_to_a_few() -> None:
    keeper = RowKeeper(lambda _: None)
    for number in range(100):
        keeper.odd((Unread(text=str(number), why="noise"),))
    assert [u.text for u in keeper.unread] == [str(n) for n in range(10)]
