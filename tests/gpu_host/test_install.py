"""Installation: whole parts only, nothing twice, and what was made on the host survives a new checkout."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import bundle
import host_install
import pytest
from host_install import Installed, extract, install
from manifest import Part

from .test_bundle import made

HERE = f"{sys.version_info.major}.{sys.version_info.minor}"


@pytest.fixture
def place(tmp_path: Path) -> Installed:
    return Installed(tmp_path / "into")


def packed(folder: Path, name: str, files: dict[str, str]) -> Part:
    folder.mkdir(exist_ok=True)
    tree = folder / f"{name}-tree"
    for path, text in files.items():
        (tree / path).parent.mkdir(parents=True, exist_ok=True)
        (tree / path).write_text(text, encoding="utf-8")
    return bundle.pack(tree, folder / f"{name}.tar.xz", made_from="")


def test_it_is_installed_once_and_only_what_changed_again(
    tmp_path: Path, place: Installed, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "bundle"
    gate = packed(folder, "gate", {"carried.py": "WORD = 'carried'\n"})
    first = made(
        {"gate": gate, "checkout": packed(folder, "checkout", {"tokgate/__init__.py": "DAY = 1\n"})}, HERE
    )
    install(folder, first, place, serving=False)
    said = "import carried, tokgate; print(carried.WORD, tokgate.DAY)"
    assert subprocess.check_output([place.python, "-c", said], text=True, cwd="/") == "carried 1\n"
    assert "unpacked" in capsys.readouterr().out

    install(folder, first, place, serving=False)
    assert "unpacked" not in capsys.readouterr().out

    (place.serving / "golden").mkdir(parents=True)
    assert (place.checkout / ".sglang-gpu" / "golden").is_dir()
    second = made(
        {"gate": gate, "checkout": packed(folder, "checkout", {"tokgate/__init__.py": "DAY = 2\n"})}, HERE
    )
    install(folder, second, place, serving=False)
    told = capsys.readouterr().out
    assert "unpacked checkout.tar.xz" in told
    assert "unpacked gate.tar.xz" not in told
    assert subprocess.check_output([place.python, "-c", said], text=True, cwd="/") == "carried 2\n"
    assert (place.checkout / ".sglang-gpu" / "golden").is_dir()


def test_numpy_is_the_hosts_and_its_neighbours_stay_outside(tmp_path: Path) -> None:
    host_install._borrow("numpy", tmp_path)
    command = [
        sys.executable,
        "-I",
        "-S",
        "-c",
        "import sys; sys.path.insert(0, sys.argv[1]); import numpy; print(numpy.__file__)",
    ]
    told = subprocess.check_output([*command, str(tmp_path)], text=True)
    assert told.startswith(str(tmp_path))
    assert not (tmp_path / "scipy").exists()


def test_a_part_that_was_cut_on_its_way_is_told(
    tmp_path: Path, place: Installed, capsys: pytest.CaptureFixture[str]
) -> None:
    part = packed(tmp_path, "gate", {"carried.py": "x = 1\n" * 1000})
    (tmp_path / "gate.tar.xz").write_bytes((tmp_path / "gate.tar.xz").read_bytes()[:100])
    with pytest.raises(SystemExit):
        extract(tmp_path, part, place.into)
    assert "bring the whole bundle here again" in capsys.readouterr().err
    assert not place.into.exists()


def test_a_part_that_did_not_come_is_told(
    tmp_path: Path, place: Installed, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        extract(tmp_path, Part("server.tar.xz", "", "abc", 1), place.into)
    assert "server.tar.xz" in capsys.readouterr().err


def test_run_sh_outside_of_a_bundle_says_how_to_make_one(tmp_path: Path) -> None:
    ended = subprocess.run(
        [bundle.HERE / "run.sh", "--into", tmp_path / "into", "gate"],
        env={"PATH": "/usr/bin:/bin", "PYTHON": sys.executable},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 1
    assert "make gpu-bundle" in ended.stderr


def test_run_sh_without_a_python_says_how_to_name_one() -> None:
    ended = subprocess.run(
        [bundle.HERE / "run.sh", "gate"],
        env={"PATH": "/usr/bin:/bin", "PYTHON": "no-such-python"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 1
    assert "tried: run the driver with 'no-such-python'" in ended.stderr
    assert "PYTHON=/path/to/python3" in ended.stderr
