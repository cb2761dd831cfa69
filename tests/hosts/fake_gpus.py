"""Stand-ins for NVML (a module) and nvidia-smi (a program on the path)."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

MIB = 1024 * 1024


class FakeNvmlError(Exception):
    def __init__(self, value: int, words: str = "") -> None:
        super().__init__(words or f"error {value}")
        self.value = value


@dataclass
class FakeGpu:
    name: str | bytes = "NVIDIA H200"
    total: int = 143771 * MIB
    reserved: int = 615 * MIB
    used: int = 0
    inclusive: bool = False  # the other convention: used holds the reserve
    free: int | None = None  # instead of what is left
    mig: tuple[int, int] | None = (0, 0)
    processes: list[tuple[int, int | None]] = field(default_factory=list)
    fails: int | None = None  # every question about this card
    memory_fails: int | None = None


class FakeNvml:
    """As much of pynvml as the gate asks for."""

    NVMLError = FakeNvmlError
    NVML_ERROR_NOT_SUPPORTED = 3
    NVML_ERROR_NO_PERMISSION = 4
    NVML_ERROR_DRIVER_NOT_LOADED = 9
    NVML_ERROR_FUNCTION_NOT_FOUND = 13
    NVML_ERROR_GPU_IS_LOST = 15
    NVML_ERROR_ARGUMENT_VERSION_MISMATCH = 25
    nvmlMemory_v2 = 0x02000028  # noqa: N815 - pynvml's own name

    def __init__(self, *gpus: FakeGpu, init_fails: int | None = None, hangs: bool = False) -> None:
        self.gpus = gpus
        self.init_fails = init_fails
        self.hangs = hangs
        self.released = threading.Event()
        self.open = 0

    def nvmlInit(self) -> None:  # noqa: N802
        if self.init_fails is not None:
            raise FakeNvmlError(self.init_fails)
        if self.hangs:
            self.released.wait(60)
        self.open += 1

    def nvmlShutdown(self) -> None:  # noqa: N802
        self.open -= 1

    def nvmlDeviceGetCount(self) -> int:  # noqa: N802
        return len(self.gpus)

    def nvmlSystemGetDriverVersion(self) -> str:  # noqa: N802
        return "590.48.01"

    def nvmlDeviceGetHandleByIndex(self, index: int) -> Any:  # noqa: N802
        if (code := self.gpus[index].fails) is not None:
            raise FakeNvmlError(code, "GPU is lost" if code == self.NVML_ERROR_GPU_IS_LOST else "")
        return index

    def nvmlDeviceGetUUID(self, handle: int) -> str:  # noqa: N802
        return f"GPU-{handle}"

    def nvmlDeviceGetName(self, handle: int) -> str | bytes:  # noqa: N802
        return self.gpus[handle].name

    def nvmlDeviceGetMemoryInfo(self, handle: int, version: int | None = None) -> Any:  # noqa: N802
        assert version == self.nvmlMemory_v2, "a bare 2 is refused by the driver"
        gpu = self.gpus[handle]
        if gpu.memory_fails is not None:
            raise FakeNvmlError(gpu.memory_fails, "Not Supported")
        used = gpu.used + (gpu.reserved if gpu.inclusive else 0)
        free = gpu.total - gpu.used - gpu.reserved
        return SimpleNamespace(
            total=gpu.total, reserved=gpu.reserved, used=used, free=free if gpu.free is None else gpu.free
        )

    def nvmlDeviceGetMigMode(self, handle: int) -> tuple[int, int]:  # noqa: N802
        mode = self.gpus[handle].mig
        if mode is None:
            raise FakeNvmlError(self.NVML_ERROR_NOT_SUPPORTED, "Not Supported")
        return mode

    def nvmlDeviceGetComputeRunningProcesses(self, handle: int) -> list[Any]:  # noqa: N802
        return [SimpleNamespace(pid=pid, usedGpuMemory=used) for pid, used in self.gpus[handle].processes]

    def nvmlDeviceGetGraphicsRunningProcesses(self, handle: int) -> list[Any]:  # noqa: N802
        return []


def no_nvml() -> FakeNvml:
    """A machine whose NVML cannot be initialised: nvidia-smi has to answer."""
    return FakeNvml(init_fails=FakeNvml.NVML_ERROR_DRIVER_NOT_LOADED)


def row(index: int, used: int = 0, *, name: str = "NVIDIA H200", mig: str = "Disabled") -> str:
    free = 143771 - 614 - used
    return (
        f"{index}, GPU-{index}, {name}, 00000000:0{index}:00.0, 590.48, 143771, 614, {used}, {free}, {mig},"
        " 34, 78.35, 345, 1, 16\n"
    )


def write_nvidia_smi(folder: Path, *, gpus: str, apps: str = "", rc: int = 0, before: str = "") -> None:
    """Put a nvidia-smi into `folder` that prints what is given. `before` is sh that runs first."""
    folder.mkdir(exist_ok=True)
    (folder / "gpus").write_text(gpus)
    (folder / "apps").write_text(apps)
    program = folder / "nvidia-smi"
    program.write_text(
        f"#!/bin/sh\n{before}\n"
        f'case "$1" in --query-gpu=*) cat {folder}/gpus; exit {rc};; *) cat {folder}/apps;; esac\n'
    )
    program.chmod(0o755)
