"""What runs inside every Python process of the server before SGLang does, and can change it unseen."""

from __future__ import annotations

import hashlib
import importlib.metadata
import importlib.util
import os
import site
import sys
from pathlib import Path
from typing import Any

SHOWN = 200
# Where the loader looks besides LD_LIBRARY_PATH.
LIBRARY_FOLDERS = ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/lib/x86_64-linux-gnu", "/usr/local/lib")


def main(argument: dict[str, Any]) -> dict[str, Any]:
    """{"library_path"} -> {"customize": [...], "pth": [...], "nccl_plugins": [path, ...]}."""
    sys.path[:] = [entry for entry in sys.path if entry]
    folders = [Path(f) for f in sys.path]
    return {
        "customize": [c for c in map(customize, ("sitecustomize", "usercustomize")) if c is not None],
        "pth": pth_files(folders),
        "nccl_plugins": nccl_plugins(argument.get("library_path") or "", folders),
    }


def customize(name: str) -> dict[str, Any] | None:
    if name == "usercustomize" and not site.ENABLE_USER_SITE:
        return None
    try:
        spec = importlib.util.find_spec(name)
    except ValueError:  # imported, and it has taken its own spec away
        return {"module": name, "path": "hidden", "sha256": None, "standard": False}
    if spec is None or not spec.origin:
        return None
    path = Path(spec.origin)
    return {"module": name, "path": str(path), "sha256": digest(path), "standard": in_standard_library(path)}


def in_standard_library(path: Path) -> bool:
    """Distributions put their own there; whoever debugs puts it elsewhere."""
    return path.parent == Path(os.__file__).parent


def pth_files(folders: list[Path]) -> list[dict[str, Any]]:
    """Return the .pth files that execute code, each with the package that brought it, if any did."""
    owners = owners_of_pth()
    found = []
    for folder in dict.fromkeys(
        [*folders, *map(Path, site.getsitepackages()), Path(site.getusersitepackages())]
    ):
        for path in sorted(folder.glob("*.pth")) if folder.is_dir() else []:
            try:
                lines = path.read_text(encoding="utf-8", errors="backslashreplace").splitlines()
            except OSError:
                continue
            code = [line for line in lines if line.startswith(("import ", "import\t"))]
            if code:
                found.append(
                    {
                        "path": str(path),
                        "code": code[0][:SHOWN],
                        "sha256": digest(path),
                        "owner": owners.get(path.resolve()),
                    }
                )
    return found


def owners_of_pth() -> dict[Path, str]:
    owners = {}
    for distribution in importlib.metadata.distributions():
        record = distribution.read_text("RECORD") or ""
        if ".pth" not in record:
            continue
        for line in record.splitlines():
            name = line.partition(",")[0]
            if name.endswith(".pth"):
                path = Path(str(distribution.locate_file(name))).resolve()
                owners[path] = f"{distribution.metadata['Name']} {distribution.version}"
    return owners


def nccl_plugins(library_path: str, folders: list[Path]) -> list[str]:
    """Return every libnccl-env.so that NCCL could load: it may answer instead of the environment."""
    places = [Path(p) for p in library_path.split(":") if p]
    places += [Path(p) for p in LIBRARY_FOLDERS]
    places += [f / "nvidia" / "nccl" / "lib" for f in folders]
    found = {str(p) for place in places if place.is_dir() for p in place.glob("libnccl-env*.so*")}
    return sorted(found)


def digest(path: Path) -> str | None:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()[:16]
    except OSError:
        return None
