"""How a machine is at this moment, as far as it can make a gate fail: room, limits, load, clock, what may be seen.

Each answer stands alone: one that cannot be had is null, and "unread" says why.
"""

from __future__ import annotations

import getpass
import os
import resource
from collections.abc import Callable
from pathlib import Path
from typing import Any


def main(argument: dict[str, Any]) -> dict[str, Any]:
    """{"folders": {key: path}} -> {"user", "folders", …, "unread": {key: why}}."""
    answer: dict[str, Any] = {"unread": {}}
    readers: dict[str, Callable[[], Any]] = {
        "user": getpass.getuser,
        "folders": lambda: {key: room(Path(path).expanduser()) for key, path in argument["folders"].items()},
        "shm_mib": lambda: space(Path("/dev/shm"))["total_mib"],  # noqa: S108 - looked at, not written
        "limits": limits,
        "load": lambda: list(os.getloadavg()),
        "cores": lambda: len(os.sched_getaffinity(0)),
        "cpu_quota": cpu_quota,
        "memory": memory,
        "memory_limit_mib": memory_limit,
        "numa_nodes": lambda: len(list(Path("/sys/devices/system/node").glob("node[0-9]*"))),
        "numa_balancing": lambda: int(text("/proc/sys/kernel/numa_balancing")),
        "governors": governors,
        "others_visible": others_visible,
        "environ_readable": environ_readable,
        "ptrace_scope": lambda: int(text("/proc/sys/kernel/yama/ptrace_scope")),
    }
    for key, read in readers.items():
        try:
            answer[key] = read()
        except (OSError, ValueError, LookupError) as error:
            answer[key] = None
            answer["unread"][key] = str(error)
    return answer


def text(path: str) -> str:
    return Path(path).read_text(encoding="utf-8", errors="backslashreplace").strip()


def room(folder: Path) -> dict[str, Any]:
    """Say whether the folder is there and may be written, or could be made, and what room it has."""
    there = folder
    while not there.exists() and there != there.parent:
        there = there.parent
    writable = there.is_dir() and os.access(there, os.W_OK | os.X_OK)
    return {"exists": folder.is_dir(), "nearest": str(there), "writable": writable, **space(there)}


def space(folder: Path) -> dict[str, int]:
    told = os.statvfs(folder)
    mib = 1 << 20
    return {
        "free_mib": told.f_bavail * told.f_frsize // mib,
        "total_mib": told.f_blocks * told.f_frsize // mib,
        "free_inodes": told.f_favail if told.f_files else 1 << 31,
    }


def limits() -> dict[str, list[int]]:
    """Return soft and hard limits; -1: none."""
    names = {"nofile": "RLIMIT_NOFILE", "memlock": "RLIMIT_MEMLOCK", "nproc": "RLIMIT_NPROC"}
    return {
        key: [-1 if n == resource.RLIM_INFINITY else n for n in resource.getrlimit(getattr(resource, name))]
        for key, name in names.items()
    }


def own_groups() -> list[Path]:
    """Return the control groups (version 2) that this process is in, innermost first."""
    for line in text("/proc/self/cgroup").splitlines():
        if line.startswith("0::"):
            base = Path("/sys/fs/cgroup")
            inner = base / line[3:].lstrip("/")
            # In a container the path may be that of the machine outside.
            return [p for p in (inner, *inner.parents) if p.is_relative_to(base) and p.is_dir()] or [base]
    raise LookupError("no control groups of version 2")


def least(name: str) -> str | None:
    """Return the content of the file with the smallest number in it; None: no group limits it."""
    found = []
    for group in own_groups():
        try:
            words = (group / name).read_text().split()
        except OSError:
            continue
        if words and words[0] != "max":
            found.append((int(words[0]), words))
    return " ".join(min(found)[1]) if found else None


def cpu_quota() -> float | None:
    told = least("cpu.max")
    if told is None:
        return None
    quota, _, period = told.partition(" ")
    return int(quota) / int(period or 100_000)


def memory_limit() -> int | None:
    told = least("memory.max")
    return None if told is None else int(told) >> 20


def memory() -> dict[str, int]:
    """Return MiB."""
    told = {}
    for line in text("/proc/meminfo").splitlines():
        name, _, value = line.partition(":")
        told[name] = int(value.split()[0]) >> 10
    return {
        "total": told["MemTotal"],
        "available": told["MemAvailable"],
        "swap_total": told["SwapTotal"],
        "swap_used": told["SwapTotal"] - told["SwapFree"],
    }


def governors() -> dict[str, int]:
    found: dict[str, int] = {}
    for path in Path("/sys/devices/system/cpu").glob("cpu*/cpufreq/scaling_governor"):
        name = text(str(path))
        found[name] = found.get(name, 0) + 1
    if not found:
        raise LookupError("no cpufreq in /sys: a virtual machine, most likely")
    return found


def others_visible() -> bool:
    """Say whether /proc shows processes of others: with hidepid a user sees only its own, root sees all."""
    return (Path("/proc") / "1" / "stat").exists()


def environ_readable() -> bool:
    """Say whether the environment of another process of this user may be read, as the proof of a server's does."""
    return len(Path(f"/proc/{os.getppid()}/environ").read_bytes()) >= 0
