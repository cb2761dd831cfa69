"""The box's own Python: which SGLang it finds, what it does not, and that it is made anew when it no longer holds."""

from __future__ import annotations

import base64
import csv
import hashlib
import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from simbox import environment
from simbox.box import down, up
from simbox.scenario import ScenarioError

PYTHON = environment.CHECKOUT / "simbox" / "bin" / "python3"


def run(state: Path, code: str, *options: str, program: Path = PYTHON) -> str:
    told = {"PATH": os.environ["PATH"], "HOME": "/", "SIMBOX_STATE": str(state)}
    ended = subprocess.run(
        [program, *options, "-c", code], cwd=state, env=told, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout.strip()


def differing(state: Path) -> list[str]:
    """Return the files that are not what RECORD says, as a reader without any knowledge of the box finds them."""
    home = environment.site_packages(state)
    record = next(home.glob("sglang-*.dist-info")) / "RECORD"
    found = []
    for name, expected, _ in csv.reader(record.read_text().splitlines()):
        digest = hashlib.sha256((home / name).read_bytes()).digest()
        if expected and expected != "sha256=" + base64.urlsafe_b64encode(digest).rstrip(b"=").decode():
            found.append(name)
    return found


def test_the_first_question_puts_the_box_up(tmp_path: Path) -> None:
    found = run(tmp_path, "import sglang, sglang.version as v; print(sglang.__file__, v.__version__)")
    assert found == f"{environment.site_packages(tmp_path)}/sglang/__init__.py 0.5.23"
    assert json.loads((tmp_path / "box.json").read_text()) == {"scenarios": [], "seed": 0}
    assert differing(tmp_path) == []


@pytest.mark.parametrize("scenario", ["patched-tree", "incident"])
def test_a_patched_tree_no_longer_matches_its_record(tmp_path: Path, scenario: str) -> None:
    up(tmp_path, [scenario])
    assert differing(tmp_path) == ["sglang/srt/managers/scheduler.py"]


def test_it_holds_what_a_server_needs_and_nothing_else(tmp_path: Path) -> None:
    run(tmp_path, "import h11, setproctitle, simbox.server_main")
    asked = "import importlib.util as u; print([n for n in ('tokgate', 'numpy', 'pytest', 'pip') if u.find_spec(n)])"
    assert run(tmp_path, asked) == "[]"
    # Nothing runs at its start that whoever looks for traces of debugging would have to explain.
    assert list((tmp_path / "venv").rglob("*.pth")) == []
    assert run(tmp_path, "import sys; print(sys.executable)", "-I", "-S") == str(
        environment.python_of(tmp_path)
    )


def test_the_environment_of_its_process_is_the_callers(tmp_path: Path) -> None:
    seen = run(tmp_path, "print(open('/proc/self/environ').read().replace(chr(0), chr(10)))")
    assert {line.partition("=")[0] for line in seen.splitlines()} <= {
        "PATH",
        "HOME",
        "SIMBOX_STATE",
        "PWD",
        "SHLVL",
        "_",
    }


@pytest.fixture
def moved(tmp_path: Path) -> Iterator[Path]:
    """Yield a state folder whose environment leads to a checkout that is not ours."""
    up(tmp_path, ["patched-tree"])
    link = tmp_path / "venv" / "checkout"
    link.unlink()
    link.symlink_to("/nowhere")
    yield tmp_path
    down(tmp_path)


def test_one_that_no_longer_holds_is_made_anew_with_the_same_tree(moved: Path) -> None:
    assert not environment.is_sound(moved)
    run(moved, "import sglang")
    assert environment.is_sound(moved)
    assert differing(moved) == ["sglang/srt/managers/scheduler.py"]


def test_an_interpreter_that_went_away_is_replaced(tmp_path: Path) -> None:
    up(tmp_path)
    shutil.rmtree(tmp_path / "venv" / "bin")
    run(tmp_path, "import sglang")


def test_a_missing_package_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environment, "NEEDS", ("setproctitle_of_nobody",))
    with pytest.raises(environment.NoEnvironmentError, match="has no setproctitle_of_nobody"):
        up(tmp_path)
    assert not (tmp_path / "box.json").exists()


def test_a_scenario_that_cannot_be_played_leaves_no_box(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError):
        up(tmp_path, ["nope"])
    assert not (tmp_path / "box.json").exists()
