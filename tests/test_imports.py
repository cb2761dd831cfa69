"""The arrows between the rooms run one way (docs: the table of rooms). A planted violation must be found."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[1]

# Room of tokgate -> the rooms it may import, besides itself.
_ZERO = {"errors", "records"}
_ONE = {"parsers", "stats", "rig"}
_TWO = {"verdicts", "hosts", "client"}
_THREE = {"server", "report"}
ROOMS: dict[str, set[str]] = {
    "records": set(),
    "errors": {"records"},
    "parsers": _ZERO,
    "stats": _ZERO,
    "rig": _ZERO,
    "verdicts": _ZERO | _ONE,
    "hosts": _ZERO | _ONE,
    "client": _ZERO | _ONE,
    "server": _ZERO | _ONE | _TWO - {"verdicts"},
    "report": _ZERO | _ONE | {"verdicts"},
    "session": _ZERO | _ONE | _TWO | _THREE,
    "cli": _ZERO | _ONE | _TWO | _THREE | {"session"},
}
# Room -> the packages it may import besides the standard library. Rooms that are not named may import
# what the project depends on.
PACKAGES = {
    "tokgate.errors": {"pydantic"},
    "tokgate.records": {"pydantic"},
    "tokgate.parsers": {"prometheus_client", "pydantic"},
    "tokgate.stats": {"pydantic", "numpy", "ruptures", "scipy"},
    "tokgate.rig": {"pydantic", "pydantic_core"},
    "probe": {"torch", "sglang", "tokgate_probe"},
    "plant": {"torch"},
}
# Package -> the only rooms that may import it.
ONLY_IN = {
    "pytest": {"fixtures", "perf_tests"},
    "_pytest": {"fixtures"},
    "xdist": {"fixtures"},
    "pytest_benchmark": {"fixtures"},
    "pytest_html": {"fixtures"},
    "testinfra": {"tokgate.hosts"},
    "click": {"tokgate.cli"},
    "ruptures": {"tokgate.stats"},
}
# The one module by which a program of its own is pytest's guest.
GUESTS = {"simbox/pytest_plugin.py": {"pytest"}}
# Of SGLang the probe knows what it hooks by name, not by import; both only where it is at work: a process that is no
# scheduler, and a Python without torch, load none of it.
IN_FUNCTIONS_ONLY = {"probe": {"torch", "sglang"}, "plant": {"torch"}}
ONLY_THESE_MODULES = {"probe": {"sglang": "sglang.srt.plugins"}}
# Programs that are sent to a host and run there by any Python.
STANDARD_LIBRARY_ONLY = {"tokgate/server/supervisor.py"}
OUTSIDE = ("fixtures", "perf_tests", "plant", "probe", "simbox")
OURS = {"tokgate", *OUTSIDE, "tests", "benchmarks"}


def violations(root: Path) -> list[str]:
    """Return one line for every import below `root` that runs against the arrows."""
    found = []
    for top in ("tokgate", *OUTSIDE):
        for file in sorted((root / top).rglob("*.py")):
            name = file.relative_to(root).as_posix()
            inside = _inside_functions(file)
            for line, target in _imports(file, root):
                if reason := _forbidden(name, target) or _too_early(name, target, inside=line in inside):
                    found.append(f"{name}:{line} imports {target}: {reason}")
    return found


def _imports(file: Path, root: Path) -> Iterator[tuple[int, str]]:
    """Yield line and full module name of every import, wherever it stands in the file."""
    package = file.relative_to(root).parent.parts
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            module = ".".join([*base, *([node.module] if node.module else [])])
            # `from tokgate import server` names a room only in its second half.
            for alias in node.names:
                yield node.lineno, f"{module}.{alias.name}"
        elif isinstance(node, ast.Call):
            called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            first = node.args[0] if node.args else None
            if called in ("import_module", "__import__") and isinstance(first, ast.Constant):
                yield node.lineno, str(first.value)


def _inside_functions(file: Path) -> set[int]:
    functions = (
        node
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    )
    return {line for f in functions for line in range(f.body[0].lineno, (f.end_lineno or f.lineno) + 1)}


def _too_early(name: str, target: str, *, inside: bool) -> str | None:
    room, package = name.split("/", maxsplit=1)[0], target.split(".", maxsplit=1)[0]
    module = ONLY_THESE_MODULES.get(room, {}).get(package)
    if module and not f"{target}.".startswith(f"{module}."):
        return f"{room} imports {module} alone"
    if package in IN_FUNCTIONS_ONLY.get(room, set()) and not inside:
        return f"{package} is imported inside functions only"
    return None


def _room(dotted: str) -> str:
    # Imported, and shipped, as tokgate.fixtures and tokgate.perf_tests: links in tokgate/ to the folders at the top.
    parts = dotted.split(".")
    if parts[0] == "tokgate" and len(parts) > 1 and parts[1] in ("fixtures", "perf_tests"):
        parts = parts[1:]
    return ".".join(parts[:2]) if parts[0] == "tokgate" else parts[0]


def _forbidden(name: str, target: str) -> str | None:
    here = _room(name.removesuffix(".py").removesuffix("/__init__").replace("/", "."))
    there, package = _room(target), target.split(".", maxsplit=1)[0]
    if name in STANDARD_LIBRARY_ONLY and package not in sys.stdlib_module_names:
        return "this program runs on hosts that have nothing but a Python"
    if package in OURS:
        return _wrong_direction(here, there)
    if package in GUESTS.get(name, set()):
        return None
    if package in ONLY_IN and not any(here == r for r in ONLY_IN[package]):
        return f"{package} belongs to {', '.join(sorted(ONLY_IN[package]))}"
    if package not in PACKAGES.get(here, {package}) | sys.stdlib_module_names:
        return f"{here} may import only {', '.join(sorted(PACKAGES[here]))} and the standard library"
    return None


def _wrong_direction(here: str, there: str) -> str | None:
    if here == there:
        return None
    if here in ("plant", "probe", "simbox"):
        return f"{here} is a program of its own"
    if here == "perf_tests":
        return (
            None if there in ("tokgate.records", "fixtures") else "a promise takes fixtures and records alone"
        )
    if here == "fixtures":
        return None if there.startswith("tokgate") else "fixtures import tokgate alone"
    if not there.startswith("tokgate"):
        return "tokgate does not know what is built on it"
    if here == "tokgate" or there == "tokgate":
        # tokgate/__init__.py holds nothing but the version.
        return None if there == "tokgate" else "tokgate/__init__.py imports no room"
    if here == "tokgate.__main__":
        return None if there == "tokgate.cli" else "python -m tokgate is the command line alone"
    room, other = here.removeprefix("tokgate."), there.removeprefix("tokgate.")
    if room not in ROOMS:
        return f"the room {room} is not in the table"
    if other not in ROOMS:
        return None if other.startswith("__") else f"the room {other} is not in the table"
    return None if other in ROOMS[room] else f"the arrow does not run from {room} to {other}"


def test_the_arrows_run_one_way() -> None:
    assert violations(REPOSITORY) == []


def test_something_was_looked_at() -> None:
    files = list((REPOSITORY / "tokgate").rglob("*.py"))
    assert sum(1 for file in files for _ in _imports(file, REPOSITORY)) > 50


PLANTED = [
    ("tokgate/records/x.py", "from tokgate.rig.models import Rig"),
    ("tokgate/records/x.py", "import numpy"),
    ("tokgate/records/x.py", "from tokgate.errors import GateError"),
    ("tokgate/parsers/x.py", "from tokgate.stats import summary"),
    ("tokgate/parsers/x.py", "from tokgate import stats"),
    ("tokgate/parsers/x.py", "from ..stats import summary"),
    ("tokgate/parsers/x.py", "from .. import stats"),
    ("tokgate/parsers/x.py", "import httpx"),
    ("tokgate/rig/rules/x.py", "from ...verdicts import metrics"),
    ("tokgate/rig/x.py", "def f():\n    import tokgate.hosts.connection"),
    ("tokgate/rig/x.py", "import typing\nif typing.TYPE_CHECKING:\n    from tokgate.server import launch"),
    ("tokgate/rig/x.py", "import importlib\nimportlib.import_module('tokgate.server')"),
    ("tokgate/stats/x.py", "import pydantic, httpx"),
    ("tokgate/hosts/x.py", "from tokgate.verdicts import metrics"),
    ("tokgate/hosts/x.py", "from tokgate.client import control"),
    ("tokgate/client/x.py", "from tokgate.hosts import connection"),
    ("tokgate/client/x.py", "import testinfra"),
    ("tokgate/server/x.py", "from tokgate.verdicts import metrics"),
    ("tokgate/server/x.py", "from tokgate.report import terminal"),
    ("tokgate/server/supervisor.py", "import pydantic"),
    ("tokgate/server/supervisor.py", "from tokgate.records import Launch"),
    ("tokgate/report/x.py", "from tokgate.hosts import connection"),
    ("tokgate/session/x.py", "from tokgate.cli import main"),
    ("tokgate/session/x.py", "import pytest"),
    ("tokgate/session/x.py", "from _pytest.nodes import Item"),
    ("tokgate/session/x.py", "import click"),
    ("tokgate/report/x.py", "import pytest_html"),
    ("tokgate/attic/x.py", "from tokgate.records import Launch"),
    ("tokgate/cli/x.py", "from tokgate.attic import x"),
    ("tokgate/cli/x.py", "import tokgate.fixtures.settings"),
    ("tokgate/__init__.py", "from tokgate.rig.models import Rig"),
    ("fixtures/x.py", "import tokgate.perf_tests.test_clean_slate"),
    ("fixtures/x.py", "import testinfra"),
    ("perf_tests/x.py", "from tokgate.verdicts import metrics"),
    ("perf_tests/x.py", "from tokgate.session import live"),
    ("probe/x.py", "import tokgate"),
    ("probe/x.py", "import numpy"),
    ("probe/x.py", "import torch"),
    ("plant/x.py", "import tokgate"),
    ("plant/x.py", "import torch"),
    ("probe/x.py", "from sglang.srt.plugins.hook_registry import HookRegistry"),
    ("probe/x.py", "def f():\n    from sglang.srt.managers import scheduler"),
    ("simbox/deep/x.py", "from tokgate.records import Launch"),
    ("simbox/deep/x.py", "import pytest"),
    ("simbox/pytest_plugin.py", "from tokgate.fixtures.settings import GATE"),
]


@pytest.mark.parametrize(
    ("name", "code"), PLANTED, ids=[f"{name}-{i}" for i, (name, _) in enumerate(PLANTED)]
)
def test_a_planted_violation_is_found(tmp_path: Path, name: str, code: str) -> None:
    file = tmp_path / name
    file.parent.mkdir(parents=True)
    file.write_text(code)
    found = violations(tmp_path)
    assert len(found) == 1
    assert found[0].startswith(f"{name}:{len(code.splitlines())} imports ")


ALLOWED = [
    (
        "tokgate/records/x.py",
        "import pydantic, json\nfrom .record import Record",
    ),
    ("tokgate/rig/x.py", "from tokgate.records.record import Record\nfrom pydantic_core import ErrorDetails"),
    ("tokgate/stats/x.py", "import numpy.typing\nfrom scipy import stats"),
    ("tokgate/hosts/x.py", "import testinfra\nfrom tokgate.parsers import nvidia_smi"),
    ("tokgate/server/x.py", "from tokgate.client import control\nfrom tokgate.hosts import connection"),
    ("tokgate/report/x.py", "from tokgate.verdicts import metrics\nimport jinja2"),
    ("tokgate/session/x.py", "from tokgate.server import launch\nfrom tokgate import __version__"),
    ("tokgate/cli/x.py", "import click\nimport tokgate\nfrom tokgate.session import live"),
    (
        "fixtures/x.py",
        "import pytest, pytest_html\nfrom tokgate.session import live\nfrom .settings import rig",
    ),
    (
        "perf_tests/x.py",
        "import pytest\nfrom tokgate.fixtures.promises import Promises\nfrom tokgate.records import Verdict",
    ),
    (
        "probe/x.py",
        "from tokgate_probe.y import z\ndef f():\n    import torch\n    from sglang.srt.plugins import hook_registry",
    ),
    ("simbox/pytest_plugin.py", "import pytest\nfrom simbox import box"),
]


@pytest.mark.parametrize(("name", "code"), ALLOWED, ids=[name for name, _ in ALLOWED])
def test_what_is_allowed_is_not_reported(tmp_path: Path, name: str, code: str) -> None:
    file = tmp_path / name
    file.parent.mkdir(parents=True)
    file.write_text(code)
    assert violations(tmp_path) == []
