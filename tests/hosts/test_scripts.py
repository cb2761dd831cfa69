"""What runs on a host must run there: on the oldest Python, with nothing but the standard library."""

from __future__ import annotations

import ast
import sys
from importlib.resources import files
from pathlib import Path

import pytest

from tokgate.hosts.connection import connect
from tokgate.hosts.remote_runner import OLDEST_PYTHON
from tokgate.hosts.scripts import PARTS, parts_of, source
from tokgate.rig.machine import HostSpec


def names_in(folder: str) -> list[str]:
    return sorted(
        Path(entry.name).stem
        for entry in files(folder).iterdir()
        if entry.name.endswith(".py") and entry.name != "__init__.py"
    )


NAMES = names_in("tokgate.hosts.scripts")
SHARED = [f"parts/{name}" for name in names_in(PARTS)]  # sent along with the scripts that import them


@pytest.mark.parametrize("name", [*NAMES, *SHARED])
def test_it_is_written_for_the_oldest_python(name: str) -> None:
    ast.parse(source(name), feature_version=OLDEST_PYTHON)


@pytest.mark.parametrize("name", [*NAMES, *SHARED])
def test_it_needs_the_standard_library_only(name: str) -> None:
    for node in ast.walk(ast.parse(source(name))):
        if isinstance(node, ast.Import):
            imported = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0
            imported = [node.module or ""] if node.module not in parts_of(source(name)) else []
        else:
            continue
        assert {m.partition(".")[0] for m in imported} <= sys.stdlib_module_names


@pytest.mark.parametrize("name", NAMES)
def test_it_has_the_entry_that_the_gate_calls(name: str) -> None:
    names = {node.name for node in ast.parse(source(name)).body if isinstance(node, ast.FunctionDef)}
    assert "main" in names


def test_what_a_script_shares_with_others_comes_along_each_behind_what_it_needs_itself() -> None:
    names = [name.removeprefix(f"{PARTS}.") for name in parts_of(source("side_look"))]
    assert {"git_calls", "looked_up", "working_tree"} <= set(names)
    assert names.index("git_calls") < names.index("looked_up") < names.index("working_tree")
    assert parts_of(source("cat")) == {}


def test_a_shared_part_is_importable_on_a_host_that_has_nothing_of_this(tmp_path: Path) -> None:
    text = (
        f"from {PARTS}.git_calls import shown\nimport sys\n"
        "def main(argument):\n    return [shown(argument), 'pydantic' in sys.modules]\n"
    )
    host = connect(HostSpec(work_dir=str(tmp_path)))
    assert host.run_python(text, "a\nb") == ["a\\nb", False]
