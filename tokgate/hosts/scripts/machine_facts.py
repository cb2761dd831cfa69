"""Facts of the machine and of the model folders on it; every fact is text, or null with a reason."""

from __future__ import annotations

import collections
import hashlib
import os
import platform
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

WEIGHTS = (".safetensors", ".bin", ".pt", ".pth", ".gguf")
NCCL_FILES = ("/etc/nccl.conf", "~/.nccl.conf")


def main(argument: dict[str, Any]) -> dict[str, Any]:
    """{"models": {key: folder}} -> {"facts", "unread": {key: why}, "nccl": {file: [line, ...]}}."""
    facts: dict[str, str | None] = {}
    unread: dict[str, str] = {}
    readers: dict[str, Callable[[], str]] = {
        "host.hostname": platform.node,
        "host.kernel": platform.release,
        "host.boot_id": lambda: text("/proc/sys/kernel/random/boot_id"),
        "host.booted_at": booted_at,
        "host.os": operating_system,
        "host.cpu": cpu_model,
        "host.cores": lambda: f"{os.cpu_count()}, usable {len(os.sched_getaffinity(0))}",
        "host.cpu_limit": cpu_limit,
        "host.cpu_governor": governors,
        "host.memory_mib": memory,
        "host.container": container,
        "host.python": lambda: f"{sys.version.split()[0]} {sys.executable}",
    }
    if argument.get("gpus"):
        readers["gpu.driver"] = lambda: " ".join(text("/proc/driver/nvidia/version").splitlines()[0].split())
    for key, read in readers.items():
        try:
            facts[key] = read()
        except (OSError, ValueError, LookupError) as error:
            facts[key] = None
            unread[key] = str(error)
    for key, folder in argument["models"].items():
        model(Path(folder), key, facts, unread)
    return {"facts": facts, "unread": unread, "nccl": nccl_lines()}


def text(path: str) -> str:
    return Path(path).read_text(encoding="utf-8", errors="backslashreplace").strip()


def field(path: str, name: str) -> str:
    for line in text(path).splitlines():
        key, _, value = line.partition("=" if path.endswith("release") else ":")
        if key.strip() == name:
            return value.strip().strip('"')
    raise LookupError(f"no {name} in {path}")


def operating_system() -> str:
    return field("/etc/os-release", "PRETTY_NAME")


def cpu_model() -> str:
    return field("/proc/cpuinfo", "model name")


def memory() -> str:
    return str(int(field("/proc/meminfo", "MemTotal").split()[0]) // 1024)


def cpu_limit() -> str:
    quota, _, period = text("/sys/fs/cgroup/cpu.max").partition(" ")
    return "none" if quota == "max" else f"{int(quota) / int(period):g} cores"


def booted_at() -> str:
    """Return the minute: the kernel's own number, which does not run with the clock, only jumps when it is set."""
    for line in text("/proc/stat").splitlines():
        if line.startswith("btime "):
            return time.strftime("%Y-%m-%dT%H:%MZ", time.gmtime(int(line.split()[1])))
    raise LookupError("no btime in /proc/stat")


def governors() -> str:
    """Return how many CPUs have which, e.g. "performance 126, powersave 2"."""
    paths = Path("/sys/devices/system/cpu").glob("cpu*/cpufreq/scaling_governor")
    found = collections.Counter(text(str(path)) for path in paths)
    if not found:
        raise LookupError("no cpufreq in /sys: a virtual machine, most likely")
    return ", ".join(f"{name} {count}" for name, count in sorted(found.items()))


def container() -> str:
    if Path("/.dockerenv").exists():
        return "docker"
    if Path("/run/.containerenv").exists():
        return "podman"
    if "KUBERNETES_SERVICE_HOST" in os.environ:
        return "kubernetes"
    first = text("/proc/1/cgroup")
    return next((kind for kind in ("kubepods", "docker", "lxc", "libpod") if kind in first), "none seen")


def model(folder: Path, key: str, facts: dict[str, str | None], unread: dict[str, str]) -> None:
    """Name the configuration by its hash, the weights by names and sizes: their content is too large."""
    for name in ("config_sha256", "weights"):
        facts[f"{key}.{name}"] = None
        unread[f"{key}.{name}"] = f"{folder} is no folder on this machine: a name on a hub?"
    if not folder.is_dir():
        return
    try:
        facts[f"{key}.config_sha256"] = hashlib.sha256((folder / "config.json").read_bytes()).hexdigest()
        del unread[f"{key}.config_sha256"]
    except OSError as error:
        unread[f"{key}.config_sha256"] = str(error)
    try:
        files = sorted((p.name, p.stat().st_size) for p in folder.iterdir() if p.suffix in WEIGHTS)
    except OSError as error:
        unread[f"{key}.weights"] = str(error)
        return
    listing = "\n".join(f"{name} {size}" for name, size in files)
    facts[f"{key}.weights"] = (
        f"{len(files)} files, {sum(size for _, size in files)} bytes,"
        f" listing {hashlib.sha256(listing.encode()).hexdigest()[:16]}"
    )
    del unread[f"{key}.weights"]


def nccl_lines() -> dict[str, list[str]]:
    """Return the lines that set NCCL variables behind the rig's back, by file."""
    found = {}
    for name in ("/etc/environment", *NCCL_FILES):
        try:
            lines = text(str(Path(name).expanduser())).splitlines()
        except (OSError, RuntimeError):
            continue
        setting = [line.strip() for line in lines if "NCCL" in line and not line.lstrip().startswith("#")]
        if setting:
            found[name] = setting
    return found
