"""A wheel and an sdist of this checkout, built as a packager builds them, and an environment with nothing but the wheel."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import textwrap
import venv
import zipfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from tests.gate.machine import machine

ROOT = Path(__file__).parents[2]
_BUILD = "import sys; from setuptools import build_meta; print(getattr(build_meta, sys.argv[1])(sys.argv[2]))"


@dataclass(frozen=True)
class Built:
    wheel: Path
    sdist: Path
    again: Path  # the wheel that is built from the sdist

    def names(self, wheel: Path | None = None) -> set[str]:
        with zipfile.ZipFile(wheel or self.wheel) as packed:
            return {name for name in packed.namelist() if not name.endswith("/")}


# What the owner of a checkout may have in it, of which nothing may leave with a wheel.
PRIVATE = (
    "rigs/private.toml",
    "rigs/prompts/private.jsonl",
    "perf_tests/test_private.py",
    "baselines/private/0123456789ab.json",
)


def tracked(*places: str, new: bool = True) -> list[str]:
    """Return the files below `places` that git has or, with `new`, does not ignore; links by their own names."""
    others = ["--others", "--exclude-standard"] if new else []
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", *others, "--", *places],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return sorted({name for name in listed.stdout.split("\0") if name and (ROOT / name).exists()})


def build(folder: Path) -> Built:
    """Build all three from a copy of the checkout: building leaves files behind in the tree."""
    tree = folder / "tree"
    for name in tracked("."):
        target = tree / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, target, follow_symlinks=False)
    for name in PRIVATE:
        (tree / name).parent.mkdir(exist_ok=True)
        (tree / name).write_text("{}\n", encoding="utf-8")
    sdist = _build(tree, "build_sdist", folder / "sdist")
    with tarfile.open(sdist) as packed:
        packed.extractall(folder / "unpacked", filter="data")
    (unpacked,) = (folder / "unpacked").iterdir()
    with ThreadPoolExecutor(2) as pool:
        wheel = pool.submit(_build, tree, "build_wheel", folder / "wheel")
        again = pool.submit(_build, unpacked, "build_wheel", folder / "again")
        return Built(wheel.result(), sdist, again.result())


def _build(tree: Path, what: str, into: Path) -> Path:
    into.mkdir()
    ended = subprocess.run(
        [sys.executable, "-c", _BUILD, what, str(into)], cwd=tree, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stderr
    (made,) = into.iterdir()
    return made


class Environment:
    """A virtual environment that has the wheel installed, and else what this one has, but not this checkout."""

    def __init__(self, folder: Path, wheel: Path) -> None:
        venv.create(folder, with_pip=False, symlinks=True)
        self.bin = folder / "bin"
        self.python = self.bin / "python"
        self.site = folder / "lib" / f"python{sys.version_info[0]}.{sys.version_info[1]}" / "site-packages"
        pip = [sys.executable, "-m", "pip", "--python", str(self.python), "--disable-pip-version-check"]
        subprocess.run(
            [*pip, "install", "-q", "--no-deps", "--no-index", "--no-compile", str(wheel)], check=True
        )
        # Of a folder named like this Python reads no .pth files: an editable tokgate in it stays out of sight.
        (self.site / "what-it-needs.pth").write_text(f"{sysconfig.get_path('purelib')}\n", encoding="utf-8")
        self._at_first = self.files()

    def files(self) -> dict[str, int]:
        """Return every file of the installed tokgate but byte code, with when it was last changed."""
        return {
            str(path.relative_to(self.site)): path.stat().st_mtime_ns
            for path in (self.site / "tokgate").rglob("*")
            if path.is_file() and "__pycache__" not in path.parts
        }

    def is_untouched(self) -> bool:
        return self.files() == self._at_first


class Repository:
    """Somebody's repository, in which programs of an environment are run as its user runs them."""

    def __init__(self, root: Path, environment: Environment) -> None:
        self.root = root
        self.environment = environment

    def write(self, name: str, text: str) -> Path:
        file = self.root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(textwrap.dedent(text), encoding="utf-8")
        return file

    def pytest(self, *words: str) -> subprocess.CompletedProcess[str]:
        return self.run(str(self.environment.python), "-m", "pytest", *words)

    def tokgate(self, *words: str) -> subprocess.CompletedProcess[str]:
        return self.run(str(self.environment.bin / "tokgate"), *words)

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command, cwd=self.root, env=plain_environment(), capture_output=True, text=True, check=False
        )

    def git(self, *words: str) -> str:
        who = ("-c", "user.name=somebody", "-c", "user.email=somebody@example.org")
        ended = self.run("git", *who, *words)
        assert ended.returncode == 0, ended.stderr
        return ended.stdout.strip()

    def committed(self) -> str:
        """Make it a git repository with all that is there; return its commit."""
        self.write("README", "ours")
        self.git("init", "-q")
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "ours")
        return self.git("rev-parse", "HEAD")

    def gate(self, *words: str) -> tuple[int, str]:
        """Run promises with a process table of their own, and a lease: servers of other tests are no neighbours."""
        own = f"host.work_dir={self.root.with_name('work')}"
        command = [str(self.environment.python), "-m", "pytest", *words, "--rig-set", own]
        with machine() as alone:
            return alone.start(
                command,
                cwd=self.root,
                env=plain_environment(),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            ).finish(limit_s=1200)


def plain_environment() -> dict[str, str]:
    """Return this process's environment without what would lead a pytest, or a Python, back here."""
    led = ("PYTEST_", "PYTHON", "SIMBOX_", "COV_")
    return {name: value for name, value in os.environ.items() if not name.startswith(led)}
