"""What runs on a host must run there: on the oldest Python, with nothing but the standard library."""

from __future__ import annotations

import ast
import sys
from importlib.resources import files
from pathlib import Path

import pytest

from tokgate.hosts.remote_runner import OLDEST_PYTHON
from tokgate.hosts.scripts import source

NAMES = sorted(
    Path(entry.name).stem
    for entry in files("tokgate.hosts.scripts").iterdir()
    if entry.name.endswith(".py") and entry.name != "__init__.py"
)


@pytest.mark.parametrize("name", NAMES)
def test_it_is_written_for_the_oldest_python(name: str) -> None:
    ast.parse(source(name), feature_version=OLDEST_PYTHON)


@pytest.mark.parametrize("name", NAMES)
def test_it_needs_the_standard_library_only(name: str) -> None:
    for node in ast.walk(ast.parse(source(name))):
        if isinstance(node, ast.Import):
            imported = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0
            imported = [node.module or ""]
        else:
            continue
        assert {m.partition(".")[0] for m in imported} <= sys.stdlib_module_names


@pytest.mark.parametrize("name", NAMES)
def test_it_has_the_entry_that_the_gate_calls(name: str) -> None:
    names = {node.name for node in ast.parse(source(name)).body if isinstance(node, ast.FunctionDef)}
    assert "main" in names
