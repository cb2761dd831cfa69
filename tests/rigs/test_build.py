"""A build that broke off is never taken for a whole one, and a whole one is not built again."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path(__file__).parents[2] / "rigs" / "sglang-cpu" / "build.py"


@pytest.fixture(scope="module")
def build() -> Any:
    spec = importlib.util.spec_from_file_location("sglang_cpu_build", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def part(build: Any, tmp_path: Path) -> Any:
    recipe = tmp_path / "recipe"
    recipe.write_text("torch==1\n", encoding="utf-8")
    return build.Part(tmp_path / "built.stamp", (tmp_path / "built",), (recipe,))


def test_a_folder_without_a_stamp_is_half_built(part: Any) -> None:
    part.folders[0].mkdir()
    assert not part.current()


def test_a_finished_build_is_current(part: Any) -> None:
    part.folders[0].mkdir()
    part.done()
    assert part.current()


def test_a_changed_recipe_makes_it_stale(part: Any) -> None:
    part.folders[0].mkdir()
    part.done()
    part.inputs[0].write_text("torch==2\n", encoding="utf-8")
    assert not part.current()


def test_a_stamp_without_its_folder_counts_for_nothing(part: Any) -> None:
    part.done()
    assert not part.current()


def test_forgetting_removes_the_stamp_with_the_folder(part: Any) -> None:
    part.folders[0].mkdir()
    part.done()
    part.forget()
    assert not part.stamp.exists()
    assert not part.folders[0].exists()


def test_a_full_disk_is_said_before_anything_is_installed(
    build: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        build.install(tmp_path / "venv", need_gib=10**6)
    said = capsys.readouterr().err
    assert "1000000 GiB" in said
    assert "free some space" in said
    assert not (tmp_path / "venv").exists()
