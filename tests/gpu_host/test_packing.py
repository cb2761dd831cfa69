"""What comes back is small enough, in pieces that may travel, and says what stayed behind; calls are merged at home."""

from __future__ import annotations

import json
import random
import tarfile
from pathlib import Path

import collect
import ledger
import packing
import pytest
from ledger import Attempt, Ledger, Step

STEPS = (Step("aa-1", "pytest", ("perf_tests",)), Step("aa-2", "pytest", ("perf_tests",)))


def noise(size: int, seed: int) -> bytes:
    return random.Random(seed).randbytes(size)


def campaign(folder: Path, *done: str) -> Path:
    """Write a campaign's folder with a run folder for each step that is done."""
    attempts = [Attempt(step, f"at {step}", "done", 0, 60.0, 1, f"run-{step}") for step in done]
    Ledger("h200-aa-2", "h200", STEPS, attempts).write(folder)
    for number, step in enumerate(done):
        launch = folder / "runs" / step / f"run-{step}" / "launches" / "01-baseline"
        (launch / "profile").mkdir(parents=True)
        (launch / "profile" / "trace.json").write_bytes(noise(60_000, number))
        (launch / "launch.json").write_text(json.dumps({"step": step}), encoding="utf-8")
    return folder


def test_the_whole_folder_comes_back_where_there_is_room(tmp_path: Path) -> None:
    folder = campaign(tmp_path / "campaign", "aa-1")
    (packed,) = packing.pack(folder, tmp_path / "out", "c", file_mib=15, total_mib=45)
    with tarfile.open(packed) as content:
        assert "runs/aa-1/run-aa-1/launches/01-baseline/profile/trace.json" in content.getnames()


def test_traces_stay_behind_where_all_is_too_much_and_are_named(tmp_path: Path) -> None:
    folder = campaign(tmp_path / "campaign", "aa-1")
    (packed,) = packing.pack(folder, tmp_path / "out", "c", file_mib=15, total_mib=0.02)
    with tarfile.open(packed) as content:
        names = content.getnames()
    trace = "runs/aa-1/run-aa-1/launches/01-baseline/profile/trace.json"
    assert trace not in names
    assert "runs/aa-1/run-aa-1/launches/01-baseline/launch.json" in names
    assert json.loads((folder / packing.LEFT_OUT).read_text()) == {trace: 60_000}


def test_pieces_are_put_together_again(tmp_path: Path) -> None:
    folder = campaign(tmp_path / "campaign", "aa-1", "aa-2")
    pieces = packing.pack(folder, tmp_path / "out", "c", file_mib=0.05, total_mib=45)
    assert len(pieces) == 3
    assert all(piece.stat().st_size <= 0.05 * 2**20 for piece in pieces)
    whole = packing.joined(pieces, tmp_path / "whole.tar.xz")
    with tarfile.open(whole) as content:
        assert ledger.NAME in content.getnames()


def test_pieces_of_an_earlier_call_do_not_stay_among_the_new_ones(tmp_path: Path) -> None:
    folder = campaign(tmp_path / "campaign", "aa-1", "aa-2")
    packing.pack(folder, tmp_path / "out", "c", file_mib=0.02, total_mib=45)
    packing.pack(folder, tmp_path / "out", "c", file_mib=0.08, total_mib=45)
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["c.tar.xz.00", "c.tar.xz.01"]


def test_caches_travel_without_what_compilers_leave_beside_them(tmp_path: Path) -> None:
    caches = tmp_path / "cache"
    (caches / "triton" / "abc").mkdir(parents=True)
    for name in ("kernel.cubin", "main.o", ".ninja_log"):
        (caches / "triton" / "abc" / name).write_bytes(b"x")
    packed = packing.pack_caches(caches, tmp_path / "out")
    assert packed is not None
    with tarfile.open(packed) as content:
        assert content.getnames() == ["triton/abc/kernel.cubin"]


def test_no_cache_is_no_file(tmp_path: Path) -> None:
    (tmp_path / "cache").mkdir()
    assert packing.pack_caches(tmp_path / "cache", tmp_path / "out") is None


def test_two_calls_on_two_machines_become_one_campaign(tmp_path: Path) -> None:
    bundle = tmp_path / "bundle"
    bundle.mkdir()
    for call, step in (("1", "aa-1"), ("2", "aa-2")):
        packing.pack(
            campaign(tmp_path / call, step), tmp_path / f"out{call}", "h200-aa-2", file_mib=0.02, total_mib=45
        )
        (tmp_path / f"out{call}" / "cache.tar.xz").write_bytes(call.encode())
        assert collect.collect(tmp_path / f"out{call}", tmp_path / "home", bundle) == ["h200-aa-2"]
    whole = ledger.read(tmp_path / "home" / "h200-aa-2" / ledger.NAME)
    assert whole is not None
    assert whole.left() == ()
    for step in ("aa-1", "aa-2"):
        assert (tmp_path / "home" / "h200-aa-2" / "runs" / step / f"run-{step}").is_dir()
    assert ledger.read(bundle / "ledgers" / "h200-aa-2.json") == whole
    assert (bundle / "cache.tar.xz").read_bytes() == b"2"


def test_a_call_collected_twice_is_there_once(tmp_path: Path) -> None:
    """A gate leaves a link `latest` beside its run folders."""
    folder = campaign(tmp_path / "1", "aa-1")
    (folder / "runs" / "aa-1" / "latest").symlink_to("run-aa-1")
    packing.pack(folder, tmp_path / "out", "h200-aa-2", file_mib=15, total_mib=45)
    for _ in range(2):
        collect.collect(tmp_path / "out", tmp_path / "home", tmp_path / "bundle")
    link = tmp_path / "home" / "h200-aa-2" / "runs" / "aa-1" / "latest"
    assert link.is_symlink()
    assert link.resolve().is_dir()


def test_a_torn_archive_is_told_and_nothing_is_merged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (packed,) = packing.pack(
        campaign(tmp_path / "1", "aa-1"), tmp_path / "out", "h200-aa-2", file_mib=15, total_mib=45
    )
    packed.write_bytes(packed.read_bytes()[:1000])
    with pytest.raises(SystemExit):
        collect.collect(tmp_path / "out", tmp_path / "home", tmp_path / "bundle")
    assert "bring back all its pieces" in capsys.readouterr().err
    assert not (tmp_path / "home" / "h200-aa-2").exists()


def test_a_folder_with_nothing_in_it_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        collect.collect(tmp_path, tmp_path / "home", tmp_path / "bundle")
    assert "no NAME.tar.xz" in capsys.readouterr().err


def test_an_archive_of_something_else_takes_no_campaign_with_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, home = tmp_path / "out", tmp_path / "home"
    packing.pack(campaign(tmp_path / "1", "aa-1"), out, "h200-aa-2", file_mib=15, total_mib=45)
    with tarfile.open(out / "captures.tar.xz", "w:xz") as other:  # before it, by name
        other.add(tmp_path / "1" / "runs", "captured")
    assert collect.collect(out, home, tmp_path / "bundle") == ["h200-aa-2"]
    assert "captures.tar.xz: left alone, no ledger in it" in capsys.readouterr().out
    (out / "h200-aa-2.tar.xz").unlink()
    with pytest.raises(SystemExit):
        collect.collect(out, home, tmp_path / "bundle")
    assert "no ledger in captures" in capsys.readouterr().err
