"""What answers NCCL's questions besides the environment: its two files, and plugins on the library path."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

# Opened under exactly these names where no variable says otherwise (NCCL src/plugin/plugin_open.cc).
PLUGINS = ("libnccl-env.so", "libnccl-tuner.so", "libnccl-net.so", "libnccl-profiler.so")
LIBRARY_FOLDERS = ("/lib", "/lib64", "/usr/lib", "/usr/lib64")
LARGEST = 1 << 20
LIMIT_S = 5.0


def main(argument: dict[str, Any]) -> dict[str, Any]:
    """{"conf_file", "home", "library_path"}, each text or null -> {"files", "plugins", "unread"}.

    "files" is [{"path", "text"}, ...] in the order NCCL reads them, "unread" [[what, why], ...].
    """
    files: list[dict[str, str]] = []
    unread: list[list[str]] = []
    home = argument["home"] or os.environ.get("HOME") or ""
    # NCCL_CONF_FILE stands in for the file at home; the one below /etc is read in any case.
    own = argument["conf_file"] or (f"{home}/.nccl.conf" if home else "")
    for path in dict.fromkeys(p for p in (own, "/etc/nccl.conf") if p):
        try:
            with open(path, "rb") as file:  # noqa: PTH123 - an odd path must raise here, nowhere else
                content = file.read(LARGEST)
            files.append({"path": path, "text": content.decode("utf-8", errors="backslashreplace")})
        except FileNotFoundError:
            if path == argument["conf_file"]:
                unread.append([path, "no such file, and NCCL does not say so"])
        except (OSError, ValueError) as error:
            unread.append([path, str(error)])
    return {"files": files, "plugins": plugins(argument["library_path"], unread), "unread": unread}


def plugins(library_path: str | None, unread: list[list[str]]) -> list[str]:
    path = os.environ.get("LD_LIBRARY_PATH", "") if library_path is None else library_path
    folders = [*filter(None, path.split(":")), *LIBRARY_FOLDERS]
    folders += [os.path.join(p, "nvidia", "nccl", "lib") for p in sys.path if p]  # noqa: PTH118
    found: set[str] = set()
    for folder in folders:
        for name in PLUGINS:
            try:
                if (file := Path(folder) / name).is_file():
                    found.add(str(file))
            except (OSError, ValueError):
                continue
    for line in loader_cache(unread):
        words, _, target = line.partition(" => ")
        if words.split(" ")[0] in PLUGINS:
            found.add(target.strip())
    return sorted(found)


def loader_cache(unread: list[list[str]]) -> list[str]:
    for program in ("/sbin/ldconfig", "/usr/sbin/ldconfig"):
        if Path(program).exists():
            try:
                answer = subprocess.run(
                    [program, "-p"], capture_output=True, timeout=LIMIT_S, check=False, text=True
                )
            except (OSError, ValueError, subprocess.TimeoutExpired) as error:
                unread.append(["the loader's cache", str(error)])
                return []
            return [line.strip() for line in answer.stdout.splitlines()]
    return []
