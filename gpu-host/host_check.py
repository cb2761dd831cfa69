"""Is this host what the bundle was made for? Each shortfall at once, before anything is installed."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from manifest import Manifest
from telling import give_up

# SGLang and torch leave off below it: the wheels are manylinux_2_34.
GLIBC = (2, 34)


def check(bundle: Manifest, *, into: Path, gpus: int, serving: bool, disk_gib: int) -> None:
    """Give up with all that is missing. `gpus` and `disk_gib` the rig wants; `serving`: it is served from the bundle."""
    found = [*_python(bundle), *_distributions(bundle.borrowed)]
    if serving:
        found += [
            *_distributions(bundle.assumed),
            *_glibc(),
            *_compilers(),
            *_gpus(gpus),
            *_space(into, disk_gib),
        ]
        if "server" not in bundle.parts:
            found.append("the bundle was made with --gate-only: it has no SGLang")
    if found:
        give_up(
            tried=f"find what the bundle assumes of this host, with {sys.executable}",
            found="\n".join(found),
            do="install it on this host, name another Python (PYTHON=…), or make a bundle for this host "
            "(make gpu-bundle HOST_PYTHON=…; docs/gpu-host.md)",
        )


def _python(bundle: Manifest) -> Iterator[str]:
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    if version != bundle.python:
        yield f"Python {version}, and the bundle is for {bundle.python}"
    if (machine := platform.machine()) != "x86_64":
        yield f"a processor {machine}, and the bundle is for x86_64"


def _glibc() -> Iterator[str]:
    name, version = platform.libc_ver()
    numbers = tuple(int(n) for n in re.findall(r"\d+", version)[:2])
    if name != "glibc" or numbers < GLIBC:
        yield f"{name or 'a C library without a name'} {version}, and SGLang's wheels need glibc {GLIBC[0]}.{GLIBC[1]}"


def _distributions(wanted: Iterable[str]) -> Iterator[str]:
    for requirement in wanted:
        name, bounds = split(requirement)
        try:
            version = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            yield f"no {requirement}"
            continue
        if not all(meets(version, bound) for bound in bounds):
            yield f"{name} {version}, wanted {requirement}"


def split(requirement: str) -> tuple[str, list[str]]:
    """Return ("numpy", [">=1.26", "<3"]) of "numpy>=1.26,<3"."""
    match = re.match(r"[A-Za-z0-9._-]+", requirement)
    if match is None:
        raise ValueError(f"no requirement: {requirement!r}")
    return match[0], [bound for bound in requirement[match.end() :].split(",") if bound]


def meets(version: str, bound: str) -> bool:
    """Say whether a version is within ">=1.2", "<3" or "==2.11.*". Local parts (+cu130) do not count."""
    match = re.fullmatch(r"(>=|<|==)([\d.]+?)(\.\*)?", bound)
    if match is None:
        raise ValueError(f"no bound: {bound!r}")
    is_, limit = _numbers(version.split("+", maxsplit=1)[0]), _numbers(match[2])
    if match[1] == "==":
        return is_[: len(limit)] == limit if match[3] else is_ == limit
    width = max(len(is_), len(limit))
    padded = [(*v, *(0,) * (width - len(v))) for v in (is_, limit)]
    return padded[0] >= padded[1] if match[1] == ">=" else padded[0] < padded[1]


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(n) for n in re.findall(r"\d+", re.split(r"[a-z]", text)[0]))


def _compilers() -> Iterator[str]:
    """Kernels are compiled on the host, at the first start: by Triton with a C compiler, by tvm-ffi with nvcc."""
    for names in (("cc", "gcc", "clang"), ("c++", "g++", "clang++"), ("nvcc",)):
        places = [shutil.which(name) for name in names]
        if not any(places) and not (names == ("nvcc",) and _toolkit()):
            yield f"none of {', '.join(names)} on PATH"


def _toolkit() -> bool:
    places = (os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"), "/usr/local/cuda")
    return any(place and Path(place, "bin", "nvcc").exists() for place in places)


def _gpus(wanted: int) -> Iterator[str]:
    try:
        listed = subprocess.run(
            ["nvidia-smi", "--list-gpus"], capture_output=True, text=True, timeout=60, check=False
        )
        gpus = [line for line in listed.stdout.splitlines() if line.startswith("GPU ")]
        told = listed.stderr.strip() or listed.stdout.strip()
    except (OSError, subprocess.TimeoutExpired) as error:
        gpus, told = [], str(error)
    if len(gpus) < wanted:
        yield f"{len(gpus)} GPUs by nvidia-smi, and the rig wants {wanted}" + ("" if gpus else f" ({told})")


def _space(into: Path, wanted: int) -> Iterator[str]:
    there: Sequence[Path] = [p for p in (into, *into.parents) if p.exists()]
    free = shutil.disk_usage(there[0]).free / 2**30
    if free < wanted and not (into / "installed.json").exists():
        yield f"{free:.0f} GiB free at {there[0]}, and models and caches take {wanted}: --into DIR, --models DIR"
