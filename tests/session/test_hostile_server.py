"""What a server leaves in the launch's folder: nothing of it takes a private file home, or the session down."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.session.probe_lines import file
from tests.session.test_instruments import NAME, brought, connected, made, there
from tokgate.errors import BenchFault
from tokgate.records.redactor import Redactor
from tokgate.session.instruments import CLOCK_READINGS, OUT
from tokgate.session.probe_switch import ProbeSwitch
from tokgate.session.run_folder import RunFolder
from tokgate.session.traces import TraceCollector, TraceFile

PRIVATE = "a private file"


def came_home(path: Path, put: Callable[[Path], None], *, local: bool = True) -> dict[str, bytes]:
    """Return what a launch brings home whose server does `put` with the folder for the probe's files."""
    (path / "private").mkdir()
    for name in ("phases-1.jsonl", "key"):
        (path / "private" / name).write_text(PRIVATE)
    carried = made(path, local=local)
    carried.there = there(path)  # as `equip` leaves it
    (out := Path(carried.there) / OUT).mkdir()
    put(out)
    carried.collect()
    return {p.name: p.read_bytes() for p in (path / "run/launches" / NAME / "probe").iterdir()}


def linked(out: Path) -> None:
    out.rmdir()
    out.symlink_to(out.parents[1] / "private")


def strewn(out: Path) -> None:
    private = out.parents[1] / "private"
    (out / "phases-7.jsonl").write_bytes(file())
    (out / "phases-1.jsonl").symlink_to(private / "phases-1.jsonl")
    (out / "below").symlink_to(private)
    (out / "own").mkdir()
    shutil.copy(private / "phases-1.jsonl", out / "own/phases-2.jsonl")
    os.mkfifo(out / "phases-3.jsonl")
    for name in (
        "clock.json",
        "left.json",
        "phases-x.jsonl",
        "a" * 249 + ".jsonl",
        "\n\x1b[31m.jsonl",
        "key",
    ):
        (out / name).write_text(PRIVATE)


@pytest.mark.parametrize("local", [True, False])
def test_a_folder_replaced_by_a_link_brings_nothing(tmp_path: Path, local: bool) -> None:
    home = came_home(tmp_path, linked, local=local)
    assert set(home) == {"clock.json", "left.json"}
    assert "is a link" in json.loads(home["left.json"])["why"]


def test_only_the_probes_own_files_come_home_and_the_gates_own_stay(tmp_path: Path) -> None:
    home = came_home(tmp_path, strewn)
    assert set(home) == {"clock.json", "left.json", "phases-7.jsonl"}
    assert not any(PRIVATE.encode() in content for content in home.values())
    assert json.loads(home["clock.json"]) == {"offset_ns": 0, "within_ns": 0}
    left = json.loads(home["left.json"])["files"]
    assert left["2 more files"] == "no names of a probe's files"


def test_a_disk_that_takes_nothing_more_ends_no_session(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    carried = made(tmp_path)
    carried.equip(there(tmp_path))
    monkeypatch.setattr(RunFolder, "write_bytes", full)
    carried.collect()


def test_a_file_or_a_folder_that_became_a_link_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "private").write_text(PRIVATE)
    (tmp_path / "real").mkdir()
    (tmp_path / "real/file").write_text("x" * 100)
    (tmp_path / "link").symlink_to("private")
    (tmp_path / "linked").symlink_to("real")
    os.mkfifo(tmp_path / "pipe")
    host = connected()
    assert host.read_file(f"{tmp_path}/real/file", most=30) == b"x" * 30
    assert host.read_file(f"{tmp_path}/linked/file", most=30) is None
    assert host.read_file(f"{tmp_path}/none", most=30) is None
    for name in ("link", "pipe", "real"):
        with pytest.raises(BenchFault):
            host.read_file(f"{tmp_path}/{name}", most=30)


def test_the_clock_reading_that_came_quickest_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    moments = iter(n**2 * 1000 for n in range(2 * CLOCK_READINGS))
    monkeypatch.setattr("tokgate.session.instruments.time.monotonic_ns", moments.__next__)
    carried = made(tmp_path, local=False)
    carried.there = there(tmp_path)
    carried.collect()
    assert json.loads(brought(tmp_path, "clock.json"))["within_ns"] == 500


@pytest.mark.parametrize("local", [True, False])
@pytest.mark.parametrize("instead", ["a link", "a pipe", "a folder", "nothing"])
def test_a_switch_that_is_another_file_is_not_written(tmp_path: Path, local: bool, instead: str) -> None:
    victim, path = tmp_path / "victim", tmp_path / "switch"
    victim.write_text("#!/bin/sh")
    if instead == "a link":
        path.symlink_to(victim)
    elif instead == "a pipe":
        os.mkfifo(path)
    elif instead == "a folder":
        path.mkdir()
    switch = ProbeSwitch(connected(local=local), str(path))
    assert not switch.turn(False)
    assert str(path) in (switch.why or "")
    assert victim.read_text() == "#!/bin/sh"
    assert instead != "nothing" or not path.exists()


class Told:
    complete = True


def collected(path: Path) -> tuple[tuple[Told, ...], str | None]:
    clock = iter(range(0, 1000, 10))
    collector = TraceCollector(
        connected(),
        RunFolder(path / "run", Redactor()),
        NAME,
        ranks=1,
        pause=lambda _: None,
        clock=lambda: float(next(clock)),
    )

    def read(_: TraceFile, pieces: object) -> Told:
        assert list(pieces) == [b"{}"]  # type: ignore[call-overload]
        return Told()

    return collector.collect(str(path / "profile"), read, within_s=100.0)


def test_a_trace_with_a_name_that_no_profiler_gives_is_not_taken(tmp_path: Path) -> None:
    (tmp_path / "profile").mkdir()
    for name in ("1-TP-0.trace.json", "\u00e9" * 122 + ".json"):
        (tmp_path / "profile" / name).write_text("{}")
    found, why = collected(tmp_path)
    assert (len(found), why) == (1, None)
    assert [p.name for p in tmp_path.glob("run/**/*.json")] == ["1-TP-0.trace.json"]


def test_a_folder_of_traces_that_is_a_link_is_not_listed(tmp_path: Path) -> None:
    (tmp_path / "private").mkdir()
    (tmp_path / "private/key.json").write_text("{}")
    (tmp_path / "profile").symlink_to("private")
    with pytest.raises(BenchFault, match="is a link"):
        collected(tmp_path)
