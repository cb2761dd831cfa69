"""Small checkouts that look like SGLang's, and everything about one that a gate could have touched."""

from __future__ import annotations

import hashlib
import os
import subprocess
from pathlib import Path

FILE = "python/sglang/srt/worker.py"
WORDS = "".join(f"line_{n} = {n}\n" for n in range(40))


def git(folder: Path, *arguments: str, check: bool = True) -> str:
    """Run git as the owner of a checkout does."""
    who = {f"GIT_{w}_{k}": "somebody" for w in ("AUTHOR", "COMMITTER") for k in ("NAME", "EMAIL")}
    ran = subprocess.run(
        # Of a large checkout git tidies up in the background, which would look like the gate's doing.
        ["git", "-c", "gc.auto=0", "-c", "maintenance.auto=false", "-C", str(folder), *arguments],
        check=False,
        capture_output=True,
        text=True,
        env={**os.environ, **who, "GIT_CONFIG_GLOBAL": "/dev/null"},
    )
    assert ran.returncode == 0 or not check, ran.stderr
    return ran.stdout


def checkout(folder: Path, *, prefix: str = "python/") -> Path:
    """Make a checkout with one commit: the package, documents, kernels, and a version that git ignores."""
    package = folder / prefix / "sglang"
    (package / "srt").mkdir(parents=True)
    (package / "test").mkdir()
    for name, text in {
        "__init__.py": "",
        "srt/__init__.py": "",
        "srt/worker.py": WORDS,
        "srt/other.py": WORDS,
        "test/test_worker.py": "",
    }.items():
        (package / name).write_text(text)
    (package / "_version.py").write_text("__version__ = version = '1.2.3'\n")
    (package / "built.so").write_bytes(b"\x7fELF" + bytes(100))
    (folder / prefix / "pyproject.toml").write_text('dependencies = [\n  "torch==2.8.0",\n]\n')
    for name in ("docs/a.md", "sgl-kernel/csrc/a.cu", "sgl-kernel/tests/test_a.py", "README.md"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("words\n")
    (folder / ".gitignore").write_text("_version.py\n*.so\n__pycache__/\n")
    git_init(folder)
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "first")
    return folder


def git_init(folder: Path) -> None:
    subprocess.run(["git", "init", "-q", "-b", "main", str(folder)], check=True)


def change(folder: Path, name: str = FILE, *, line: int = 3, text: str = "changed = True") -> None:
    """Replace one line of a file."""
    lines = (folder / name).read_text().splitlines()
    lines[line] = text
    (folder / name).write_text("\n".join(lines) + "\n")


def commit(folder: Path, message: str) -> str:
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", message)
    return git(folder, "rev-parse", "HEAD").strip()


def patch_of(folder: Path, *arguments: str) -> str:
    return git(folder, "diff", "--binary", *arguments)


def state_of(folder: Path) -> str:
    """Return all that a gate must leave as it was: every file of the checkout and of its .git, with modes and times."""
    listed = []
    for place, folders, files in os.walk(folder):
        folders.sort()
        for name in sorted([*folders, *files]):
            path = Path(place, name)
            status = path.lstat()
            told = f"{path.relative_to(folder)} {status.st_mode:o} {status.st_mtime_ns}"
            if path.is_symlink():
                told += f" {path.readlink()}"
            elif path.is_file():
                told += f" {hashlib.sha256(path.read_bytes()).hexdigest()}"
            listed.append(told)
    return "\n".join(listed)
