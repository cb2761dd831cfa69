"""Which SGLang the server's own Python would import, and whether anybody has changed it.

Run by that Python, with its site-packages and PYTHONPATH. SGLang itself is never imported: that takes
seconds, and a GPU.
"""

from __future__ import annotations

import base64
import csv
import hashlib
import importlib.machinery
import importlib.metadata
import importlib.util
import itertools
import json
import os
import re
import sys
import time
from pathlib import Path
from typing import Any

from tokgate.hosts.scripts.parts.git_calls import Git, GitFailed, Refused, shown
from tokgate.hosts.scripts.parts.lfs_files import oid_of
from tokgate.hosts.scripts.parts.tree_files import Reader, blob_id

# Fact -> the module, and the distributions that may bring it. Without a module: only a library.
PACKAGES: dict[str, tuple[str | None, tuple[str, ...]]] = {
    "torch": ("torch", ("torch",)),
    "transformers": ("transformers", ("transformers",)),
    "sgl_kernel": ("sgl_kernel", ("sgl-kernel", "sglang-kernel")),
    "triton": ("triton", ("triton",)),
    "flashinfer": ("flashinfer", ("flashinfer-python",)),
    "nccl": (None, ("nvidia-nccl-cu12", "nvidia-nccl-cu13")),
    "cuda_runtime": (None, ("nvidia-cuda-runtime", "nvidia-cuda-runtime-cu12", "nvidia-cuda-runtime-cu13")),
}
NAMED = 20
MOST_FILES = 5000


def main(argument: dict[str, Any]) -> dict[str, Any]:
    """{"budget_s"} -> {"facts", "unread": {key: why}}."""
    # The folder this script happens to run in is not on the server's path.
    sys.path[:] = [entry for entry in sys.path if entry]
    facts: dict[str, str | None] = {"server.python": f"{sys.version.split()[0]} {sys.executable}"}
    unread: dict[str, str] = {}
    packages(facts)
    sglang(facts, unread, deadline=time.monotonic() + argument["budget_s"])
    python_path(facts)
    return {"facts": facts, "unread": unread}


def packages(facts: dict[str, str | None]) -> None:
    for key, (module, names) in PACKAGES.items():
        installed = [d for d in map(distribution_of, names) if d is not None]
        said = [
            d.version if d.metadata["Name"] == key else f"{d.metadata['Name']} {d.version}" for d in installed
        ]
        spec = find(module) if module else None
        if spec is not None and spec.origin:
            origin = Path(spec.origin).resolve()
            if not any(home_of(d) in origin.parents for d in installed):
                # Something on PYTHONPATH stands in front of it, or in its stead.
                said.append(f"imported from {origin.parent}")
        facts[f"package.{key}"] = ", ".join(said) or "not installed"


def distribution_of(name: str) -> importlib.metadata.Distribution | None:
    try:
        return importlib.metadata.distribution(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def home_of(distribution: importlib.metadata.Distribution) -> Path:
    return Path(str(distribution.locate_file(""))).resolve()


def sglang(facts: dict[str, str | None], unread: dict[str, str], deadline: float) -> None:
    keys = ("version", "location", "install", "commit", "dirty", "changed")
    spec = find("sglang")
    if spec is None or not spec.origin:
        for key in keys:
            facts[f"sglang.{key}"] = None
            unread[f"sglang.{key}"] = "this Python finds no sglang"
        return
    folder = Path(spec.origin).resolve().parent
    facts["sglang.location"] = str(folder)
    distribution = distribution_of("sglang")
    direct = json.loads((distribution.read_text("direct_url.json") if distribution else None) or "{}")
    if distribution is not None and home_of(distribution) == folder.parent:
        facts["sglang.install"] = "wheel"
        facts["sglang.version"] = distribution.version
        facts["sglang.commit"] = direct.get("vcs_info", {}).get("commit_id")
        if facts["sglang.commit"] is None:
            unread["sglang.commit"] = "a wheel does not tell; its version does"
        compare_with_record(distribution, folder, facts, unread, deadline)
        return
    editable = direct.get("dir_info", {}).get("editable", False)
    facts["sglang.install"] = "editable" if editable else "tree"
    facts["sglang.version"] = written_version(folder)
    if facts["sglang.version"] is None and editable and distribution is not None:
        facts["sglang.version"] = distribution.version
    if facts["sglang.version"] is None:
        unread["sglang.version"] = "neither version.py nor _version.py has it in writing"
    compare_with_git(folder, facts, unread, deadline)


def find(module: str) -> importlib.machinery.ModuleSpec | None:
    try:
        return importlib.util.find_spec(module)
    except (ImportError, ValueError):
        return None


def written_version(folder: Path) -> str | None:
    for name in ("_version.py", "version.py"):
        try:
            text = (folder / name).read_text(encoding="utf-8")
        except OSError:
            continue
        match = re.search(r"""^__version__\s*(?::[^=]*)?=.*?["']([^"']+)["']""", text, re.MULTILINE)
        if match and not match[1].startswith("0.0.0"):
            return match[1]
    return None


def compare_with_record(
    distribution: importlib.metadata.Distribution,
    folder: Path,
    facts: dict[str, str | None],
    unread: dict[str, str],
    deadline: float,
) -> None:
    """Compare each file with the hash that was written down when the wheel was installed."""
    home = folder.parent
    record = distribution.read_text("RECORD")
    if record is None:
        for key in ("dirty", "changed"):
            facts[f"sglang.{key}"] = None
            unread[f"sglang.{key}"] = "its installer wrote no RECORD"
        return
    differing: dict[str, str] = {}
    known = set()
    for row in csv.reader(record.splitlines()):
        name, expected = row[:2]
        known.add(name)
        if not name.startswith("sglang/") or not expected:
            continue
        if time.monotonic() > deadline:
            for key in ("dirty", "changed"):
                facts[f"sglang.{key}"] = None
                unread[f"sglang.{key}"] = "reading all files took too long: a slow disk"
            return
        found = digest(home / name)
        if found != expected:
            differing[name] = found
    # A module that nobody installed is imported all the same.
    for path in folder.rglob("*.py"):
        name = path.relative_to(home).as_posix()
        if name not in known:
            differing[name] = "added " + digest(path)
    tell(differing, facts)


def digest(path: Path) -> str:
    try:
        raw = path.read_bytes()
    except OSError:
        return "missing"
    return "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(raw).digest()).rstrip(b"=").decode()


def tell(differing: dict[str, str], facts: dict[str, str | None]) -> None:
    facts["sglang.changed"] = str(len(differing))
    facts["sglang.dirty"] = "no"
    if differing:
        listing = "\n".join(f"{name} {found}" for name, found in sorted(differing.items()))
        facts["sglang.dirty"] = hashlib.sha256(listing.encode()).hexdigest()[:16]
        # What is there and different runs; what was left out of a wheel to make it smaller comes last.
        missing = sorted(name for name, found in differing.items() if found == "missing")
        names = [*sorted(differing.keys() - set(missing)), *(f"{name} (missing)" for name in missing)]
        more = f", … {len(names) - NAMED} more" if len(names) > NAMED else ""
        facts["sglang.changed"] = f"{len(names)}: {', '.join(names[:NAMED])}{more}"


def compare_with_git(
    folder: Path, facts: dict[str, str | None], unread: dict[str, str], deadline: float
) -> None:
    """Say the commit of a checkout and what in its sglang folder is not that commit's.

    Files are compared with their commit here: `git diff` would run whatever filters the checkout's own config names.
    """
    try:
        git = Git(Path("/"), "-C", str(folder))
        # Without this, a folder inside somebody else's checkout would be given that one's commit.
        git("ls-files", "--error-unmatch", "__init__.py")
        facts["sglang.commit"] = git.text("rev-parse", "HEAD")
        tell(differing_from_commit(git, folder, deadline), facts)
    except (GitFailed, Refused, OSError) as error:
        for key in ("commit", "dirty", "changed"):
            facts[f"sglang.{key}"] = None
            unread[f"sglang.{key}"] = str(error)[:300]


def differing_from_commit(git: Git, folder: Path, deadline: float) -> dict[str, str]:
    """Return what differs, with its hash. Refused: reading it all takes too long."""
    reader, found = Reader(folder), {}
    left_out = {row[2:] for row in git.names("ls-files", "-t", "-z") if row.startswith("S ")}
    for row in git.names("ls-tree", "-r", "-z", "HEAD"):
        if time.monotonic() > deadline:
            raise Refused("reading all files took too long: a slow disk", "")
        about, _, name = row.partition("\t")
        mode, _, identifier = about.split()
        content = reader.read(name)
        if content is None:
            if mode != "160000" and name not in left_out and not reader.too_large(name):
                found[name] = "missing"
            continue
        if blob_id(content, "sha256" if len(identifier) == 64 else "sha1") == identifier:
            continue
        pointer = oid_of(git("cat-file", "blob", identifier))
        own = hashlib.sha256(content.data).hexdigest()
        if pointer != own:
            found[name] = own
    home = str(Path.home())  # what this user's git leaves out of sight is left out here
    lister = git.with_variables(GIT_LITERAL_PATHSPECS="0", HOME=home, GIT_CONFIG_GLOBAL=f"{home}/.gitconfig")
    added = lister.names("ls-files", "--others", "--exclude-standard", "-z", "--", "*.py")
    found.update({name: "added " + digest(folder / name) for name in added})
    return {shown(name): what for name, what in found.items()}


def python_path(facts: dict[str, str | None]) -> None:
    """Name what PYTHONPATH puts in front of everything installed, with a hash of its Python files."""
    for number, entry in enumerate(filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))):
        folder = Path(entry)
        names = sorted(p.name for p in folder.iterdir()) if folder.is_dir() else []
        # Somebody's home may stand there: the first files must do.
        files = sorted(itertools.islice((p for p in folder.rglob("*.py") if p.is_file()), MOST_FILES))
        listing = "\n".join(f"{p.relative_to(folder).as_posix()} {digest(p)}" for p in files)
        facts[f"pythonpath.{number}"] = (
            f"{entry}: {', '.join(names[:NAMED]) or 'nothing'};"
            f" {len(files)} Python files, {hashlib.sha256(listing.encode()).hexdigest()[:16]}"
        )
