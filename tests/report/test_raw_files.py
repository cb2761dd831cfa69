from __future__ import annotations

from pathlib import Path

from tokgate.report.raw_files import RawFile, raw_files


def test_files_are_listed_and_crowded_folders_counted(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_bytes(b"123")
    bodies = tmp_path / "launches" / "01-x" / "bodies"
    bodies.mkdir(parents=True)
    for i in range(30):
        (bodies / f"{i:04}.sse").write_bytes(b"1234")
    (bodies.parent / "server.log").write_bytes(b"")
    assert raw_files(tmp_path) == (
        RawFile("run.json", 3),
        RawFile("launches/01-x/server.log", 0),
        RawFile("launches/01-x/bodies/", 120, 30),
    )


def test_links_and_hidden_files_are_left_out(tmp_path: Path) -> None:
    (tmp_path / ".half-written").write_bytes(b"1")
    (tmp_path / "elsewhere").symlink_to("/nonexistent")
    assert raw_files(tmp_path) == ()


def test_a_folder_that_is_not_there_has_no_files(tmp_path: Path) -> None:
    assert raw_files(tmp_path / "missing") == ()
