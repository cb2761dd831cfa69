"""What the kernel knows of NVIDIA GPUs besides the driver's own answers: the bus, and who has them open."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

NVIDIA = "0x10de"
# VGA and 3D controllers; the same vendor also makes bridges, audio and USB functions.
CLASSES = ("0x0300", "0x0302")


def main(argument: dict[str, Any]) -> dict[str, Any]:
    """{"opened": bool} -> {"bus": {bus id: kernel driver or null}, "minors": {bus id: N}, "open", "hidden"}.

    "root" in the argument stands in front of /sys and /proc. "open" maps a pid to the numbers N of the /dev/nvidiaN that it has open; "hidden" counts processes
    whose files this user may not see.
    """
    root = Path(argument.get("root", "/"))
    answer: dict[str, Any] = {"bus": bus(root), "minors": minors(root), "open": {}, "hidden": 0}
    if argument.get("opened"):
        answer["open"], answer["hidden"] = opened(root / "proc")
    return answer


def bus(root: Path) -> dict[str, str | None]:
    found: dict[str, str | None] = {}
    for device in sorted((root / "sys/bus/pci/devices").glob("*")):
        if read(device / "vendor") == NVIDIA and read(device / "class")[:6] in CLASSES:
            driver = device / "driver"
            found[device.name] = driver.readlink().name if driver.is_symlink() else None
    return found


def minors(root: Path) -> dict[str, int]:
    found = {}
    for folder in (root / "proc/driver/nvidia/gpus").glob("*"):
        for line in read(folder / "information").splitlines():
            name, _, value = line.partition(":")
            if name.strip() == "Device Minor" and value.strip().isdecimal():
                found[folder.name] = int(value)
    return found


def opened(proc: Path) -> tuple[dict[str, list[int]], int]:
    holders: dict[str, list[int]] = {}
    hidden = 0
    me = str(os.getpid())
    for folder in proc.iterdir():
        if not folder.name.isdecimal() or folder.name == me:
            continue
        try:
            handles = list((folder / "fd").iterdir())
        except PermissionError:
            hidden += 1
            continue
        except OSError:
            continue
        found = {number for handle in handles if (number := card(handle)) is not None}
        if found:
            holders[folder.name] = sorted(found)
    return holders, hidden


def card(handle: Path) -> int | None:
    try:
        target = str(handle.readlink())
    except OSError:
        return None
    number = target[len("/dev/nvidia") :] if target.startswith("/dev/nvidia") else ""
    return int(number) if number.isdecimal() else None


def read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="backslashreplace").strip()
    except OSError:
        return ""
