"""Installation: whole parts only, nothing twice, and what was made on the host survives a new checkout."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import bundle
import host_install
import pytest
from host_install import Installed, extract, install, pair_of
from manifest import Part

from .test_bundle import made

ROOT = Path(__file__).parents[2]
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


@pytest.mark.parametrize(
    ("rig", "pair"),
    [
        ("h200", "golden"),
        ("h200-quick", "golden"),
        ("h200x2", "golden"),
        ("h200x4", "golden-wide"),
        ("h200x8", "golden-wide"),
    ],
)
def test_each_rig_is_served_with_a_pair_that_is_written_for_it(rig: str, pair: str) -> None:
    text = (ROOT / "rigs" / f"{rig}.toml").read_text(encoding="utf-8")
    assert pair_of(text) == pair
    assert text.count(f"/{pair}/draft") == text.count("draft_model_path")


def test_pairs_are_made_once_each_and_beside_one_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = Installed(tmp_path)
    recipe = place.checkout / host_install.RECIPE
    recipe.parent.mkdir(parents=True)
    recipe.touch()
    made: list[tuple[str, ...]] = []

    def make_pair(_: object, target: Path, *options: str) -> None:
        target.mkdir(parents=True)
        (target / "truth.json").touch()
        made.append((target.name, *options))

    monkeypatch.setattr(host_install, "make_pair", make_pair)
    for pair in ("golden", "golden-wide", "golden", "golden-wide"):
        host_install.make_models(place, None, pair)
    assert [one[0] for one in made] == ["golden", "golden-wide"]
    assert "8192" in made[1]


def test_a_pair_on_another_disk_is_linked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = Installed(tmp_path / "into")
    recipe = place.checkout / host_install.RECIPE
    recipe.parent.mkdir(parents=True)
    recipe.touch()
    place.serving.mkdir()

    def make_pair(_: object, target: Path, *__: str) -> None:
        target.mkdir(parents=True)
        (target / "truth.json").touch()

    monkeypatch.setattr(host_install, "make_pair", make_pair)
    host_install.make_models(place, tmp_path / "disk", "golden-wide")
    assert (place.serving / "golden-wide").resolve() == tmp_path / "disk" / "golden-wide"
