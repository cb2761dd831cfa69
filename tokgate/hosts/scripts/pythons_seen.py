"""Which Pythons of this machine have SGLang. They are run, briefly and beside each other; SGLang is never imported."""

from __future__ import annotations

import concurrent.futures
import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

# Where environments usually lie; ~ and * are expanded. A container of SGLang has it in the system's own Python.
PLACES = (
    ("a usual place", "~/.venv/bin/python3"),
    ("a usual place", "~/venv/bin/python3"),
    ("a usual place", "~/*/.venv/bin/python3"),
    ("a usual place", "~/*/venv/bin/python3"),
    ("a usual place", "~/*env*/bin/python3"),
    ("a usual place", "~/.virtualenvs/*/bin/python3"),
    ("a usual place", "/opt/*venv*/bin/python3"),
    ("a usual place", "/opt/sglang*/bin/python3"),
    ("a usual place", "/opt/sglang*/.venv/bin/python3"),
    ("a usual place", "/sgl-workspace/*/bin/python3"),
    ("a usual place", "/workspace/.venv/bin/python3"),
    ("a usual place", "/workspace/*/.venv/bin/python3"),
    ("conda", "~/*conda*/envs/*/bin/python3"),
    ("conda", "~/*forge*/envs/*/bin/python3"),
    ("conda", "/opt/conda/envs/*/bin/python3"),
    ("conda", "/opt/*conda*/envs/*/bin/python3"),
    ("conda", "~/*conda*/bin/python3"),
    ("conda", "~/*forge*/bin/python3"),
    ("conda", "/opt/conda/bin/python3"),
    ("pyenv", "~/.pyenv/versions/*/bin/python3"),
    ("the system", "/usr/local/bin/python3"),
    ("the system", "/usr/bin/python3"),
)
MOST = 32
LIMIT_S = 10.0  # a cold network disk needs seconds to find a module
AT_ONCE = 4
# Run by each of them, with its site-packages and nothing of ours.
ASK = """
import importlib.metadata as d, importlib.util, json, os, platform, re, sys
sys.path[:] = [p for p in sys.path if p]
def told(name):
    try:
        return d.version(name)
    except Exception:
        return None
def text(*parts):
    try:
        with open(os.path.join(*parts), encoding="utf-8", errors="replace") as file:
            return file.read(100000)
    except OSError:
        return ""
def find(name):
    try:
        return importlib.util.find_spec(name)
    except Exception:
        return None
spec = find("sglang")
at = os.path.dirname(spec.origin) if spec is not None and spec.origin else None
version = told("sglang")
if at is not None and version is None:
    written = re.search(r"^__version__.*?[\\"']([^\\"']+)[\\"']", text(at, "version.py"), re.M)
    version = written[1] if written else "unknown"
torch = find("torch")
lines = text(os.path.dirname(torch.origin), "version.py") if torch is not None and torch.origin else ""
on = None
for name, word in (("cuda", "cuda"), ("hip", "rocm")):
    said = re.search(r"^%s\\b.*=\\s*[\\"']([^\\"']+)[\\"']" % name, lines, re.M)
    on = on or (said and "%s %s" % (word, said[1]))
if lines and on is None:
    on = "cpu"
print("\\n" + json.dumps({"version": platform.python_version(), "sglang": version if at else None, "at": at, "torch": told("torch"), "on": on}))
"""


def main(argument: dict[str, Any]) -> dict[str, Any]:
    """{"named": [[path, found_by], ...]} -> {"pythons": [{...}], "left_out": how many were too many}."""
    found = candidates([(str(path), str(by)) for path, by in argument["named"]])
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        pythons = list(pool.map(ask, found[:MOST]))
    return {"pythons": pythons, "left_out": max(0, len(found) - MOST)}


def candidates(named: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return paths with how they were found, each environment once, those that were named first."""
    told = list(named)
    prefixes = [(variable, os.environ.get(variable)) for variable in ("VIRTUAL_ENV", "CONDA_PREFIX")]
    told += [(f"{prefix}/bin/python3", variable) for variable, prefix in prefixes if prefix]
    told += [(found, "PATH") for found in map(shutil.which, ("python3", "python")) if found]
    told += [(str(path), by) for by, pattern in PLACES for path in matching(pattern)]
    known: set[str] = set()
    kept = []
    for path, by in told:
        # Not resolved: a virtual environment's python is a link to another one's, and differs by its place alone.
        place = os.path.realpath(Path(path).parent)
        if place in known or not runs(Path(path)) or not writable(path):
            continue
        known.add(place)
        kept.append((path, by))
    return kept


def matching(pattern: str) -> list[Path]:
    """Return what a pattern below / or ~ stands for."""
    try:
        whole = Path(pattern).expanduser()
        return sorted(Path("/").glob(str(whole).lstrip("/")))
    except (OSError, RuntimeError, ValueError):  # no home, a folder that may not be entered
        return []


def runs(path: Path) -> bool:
    try:
        return path.is_file() and os.access(path, os.X_OK)
    except (OSError, ValueError):
        return False


def writable(path: str) -> bool:
    """Say whether a rig file can name it: no bytes that are not UTF-8."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True


def ask(candidate: tuple[str, str]) -> dict[str, Any]:
    path, by = candidate
    seen: dict[str, Any] = {"path": path, "found_by": by}
    # What a login exports for Python would not reach a server; nothing is to be written beside the modules.
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    environment["PYTHONDONTWRITEBYTECODE"] = "1"
    try:
        done = subprocess.run(
            [path, "-c", ASK],
            env=environment,
            cwd="/",
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=LIMIT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return {**seen, "why": f"no answer within {LIMIT_S:g} s"}
    except OSError as error:
        return {**seen, "why": str(error.strerror or error)}
    try:
        return {**seen, **json.loads(done.stdout.decode("utf-8", "replace").strip().rpartition("\n")[2])}
    except (ValueError, TypeError):
        said = done.stderr.decode("utf-8", "replace").strip()
        return {**seen, "why": (said.splitlines() or [f"it ended with {done.returncode}"])[-1][:200]}
