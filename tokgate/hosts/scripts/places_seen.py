"""What else a rig names of this machine: servers that run, free ports, a folder to work in, NCCL variables. Nothing is changed."""

from __future__ import annotations

import os
import pwd
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

# SGLang's default port, and those after it.
PORTS = range(30000, 30100)
ENOUGH = 8
FLAGS = {
    "--model-path": "model_path",
    "--model": "model_path",
    "--speculative-draft-model-path": "draft_path",
    "--tp-size": "tp_size",
    "--tensor-parallel-size": "tp_size",
    "--tp": "tp_size",
}


def main(argument: dict[str, Any]) -> dict[str, Any]:
    """{"work_dirs": [folder, ...]} -> {"servers", "free_ports", "taken_ports", "work_dir", "free_mib", "nccl"}."""
    free, taken = ports()
    folder, mib = work_dir(argument["work_dirs"])
    return {
        "servers": list(servers()),
        "free_ports": free,
        "taken_ports": taken,
        "work_dir": folder,
        "free_mib": mib,
        "nccl": {k: v for k, v in sorted(os.environ.items()) if k.startswith("NCCL_")},
    }


def servers() -> Iterator[dict[str, Any]]:
    """Yield the main processes of SGLang servers: of their lines the model, the draft and the size."""
    for place in sorted((p for p in Path("/proc").iterdir() if p.name.isdigit()), key=lambda p: int(p.name)):
        try:
            with (place / "cmdline").open("rb") as file:
                words = [w.decode("utf-8", "replace") for w in file.read(1 << 17).split(b"\0")]
            owner = place.stat().st_uid
        except OSError:
            continue
        if not any(w == "sglang.launch_server" or w.endswith("sglang/launch_server.py") for w in words[:12]):
            continue
        yield {"pid": int(place.name), "user": user(owner), "python": python_of(place, words), **flags(words)}


def python_of(place: Path, words: list[str]) -> str | None:
    """Return the interpreter by the name it was started with: a virtual environment's resolves to another one's."""
    first = Path(words[0] if words else "")
    if first.is_absolute() and first.name.startswith("python"):
        return str(first)
    try:
        return str((place / "exe").readlink())
    except OSError:
        return None


def flags(words: list[str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for i, word in enumerate(words):
        flag, equals, value = word.partition("=")
        value = value if equals else (words[i + 1] if i + 1 < len(words) else "")
        if flag in FLAGS and value and not value.startswith("-"):
            found[FLAGS[flag]] = value
    size = found.pop("tp_size", "")
    return {
        **found,
        **({"tp_size": int(size)} if size.isascii() and size.isdigit() and len(size) < 5 else {}),
    }


def user(number: int) -> str:
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return str(number)


def ports() -> tuple[list[int], list[int]]:
    free: list[int] = []
    taken: list[int] = []
    for port in PORTS:
        if len(free) >= ENOUGH:
            break
        with socket.socket() as probe:
            # As servers do: what lingers in TIME_WAIT is no obstacle.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("0.0.0.0", port))  # noqa: S104 - never listens
            except OSError:
                taken.append(port)
            else:
                free.append(port)
    return free, taken


def work_dir(wanted: list[str]) -> tuple[str | None, int | None]:
    """Return the first folder that could be made and written, with the room there; none is made."""
    for name in wanted:
        try:
            folder = Path(name).expanduser()
        except RuntimeError:  # no home
            continue
        above = next((p for p in (folder, *folder.parents) if os.path.lexists(p)), Path("/"))
        if above.is_dir() and os.access(above, os.W_OK | os.X_OK):
            told = os.statvfs(above)
            return str(folder), told.f_bavail * told.f_frsize >> 20
    return None, None
