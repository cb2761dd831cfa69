"""GPUs of this machine through NVML, the library itself being an argument.

Conventions checked against an idle H200 under driver 580: version 1 of the memory call counts the
driver's own reserve as used (615 MiB on an idle card), version 2 tells it apart. NVIDIA's documents
contradict each other on whether `used` of version 2 still holds the reserve, so the sum decides.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from typing import Any

from tokgate.hosts.gpu_readout import GpuReadout
from tokgate.records import Finding, GpuHolder, GpuSeen
from tokgate.records.record import Unread

MIB = 1024 * 1024


class NvmlUnusable(Exception):  # noqa: N818 - not an error: nvidia-smi is asked instead
    """No library, no driver, or too old to tell the reserve; the text says which."""


def load_nvml() -> Any | None:
    """Return the installed NVML binding, or None."""
    try:
        import pynvml  # noqa: PLC0415 - costs time and is of no use on a machine without GPU
    except ImportError:
        return None
    return pynvml


def read_nvml(nvml: Any, *, limit_s: float) -> GpuReadout:
    """Ask every GPU. A driver that does not answer within `limit_s` is a problem, not a hang.

    NvmlUnusable: nvidia-smi may still know more.
    """
    box: list[GpuReadout | Exception] = []

    def ask() -> None:
        try:
            box.append(_read(nvml))
        except Exception as error:  # noqa: BLE001 - carried over to the thread that waits
            box.append(error)

    # A call into a hung driver cannot be interrupted; the thread is left behind.
    thread = threading.Thread(target=ask, daemon=True, name="nvml")
    thread.start()
    thread.join(limit_s)
    if not box:
        return _problem(
            f"NVML did not answer within {limit_s:g} s", "the GPU driver hangs: see dmesg, reboot"
        )
    answer = box[0]
    if isinstance(answer, NvmlUnusable):
        raise answer
    if isinstance(answer, Exception):
        return _problem(f"NVML broke off: {answer!r}", "run nvidia-smi by hand: it says what is wrong")
    return answer


def _problem(what: str, do: str) -> GpuReadout:
    return GpuReadout(problems=(Finding(severity="unknown", what=what, do=do),))


def _read(nvml: Any) -> GpuReadout:
    try:
        nvml.nvmlInit()
    except nvml.NVMLError as error:
        raise NvmlUnusable(str(error)) from error
    try:
        return _read_all(nvml)
    finally:
        with contextlib.suppress(nvml.NVMLError):
            nvml.nvmlShutdown()


def _read_all(nvml: Any) -> GpuReadout:
    gpus: list[GpuSeen] = []
    holders: list[GpuHolder] = []
    problems: list[Finding] = []
    for index in range(nvml.nvmlDeviceGetCount()):
        try:
            handle = nvml.nvmlDeviceGetHandleByIndex(index)
            gpus.append(_gpu(nvml, handle, index))
            holders += _holders(nvml, handle, index)
        except nvml.NVMLError as error:
            if getattr(error, "value", None) in {
                nvml.NVML_ERROR_FUNCTION_NOT_FOUND,
                nvml.NVML_ERROR_ARGUMENT_VERSION_MISMATCH,
            }:
                raise NvmlUnusable(f"the driver is too old for it: {error}") from error
            problems.append(
                Finding(
                    severity="unclean" if _is(nvml, error, "GPU_IS_LOST") else "unknown",
                    what=f"GPU {index} does not answer: {error}",
                    do="see dmesg for Xid lines; a lost GPU comes back with a reset or a reboot only",
                )
            )
    return GpuReadout(
        gpus=tuple(gpus),
        holders=tuple(holders),
        drivers=(_said(nvml.nvmlSystemGetDriverVersion()),),
        problems=tuple(problems),
    )


def _gpu(nvml: Any, handle: Any, index: int) -> GpuSeen:
    unread: list[Unread] = []

    def optional(what: str, ask: Callable[[], Any]) -> Any:
        try:
            return ask()
        except nvml.NVMLError as error:
            if not (_is(nvml, error, "NOT_SUPPORTED") or _is(nvml, error, "NO_PERMISSION")):
                raise
            if what != "mig" or _is(nvml, error, "NO_PERMISSION"):  # most cards do not know MIG
                unread.append(Unread(text=what, why=str(error)))
            return None

    def aside(ask: Callable[[], Any]) -> Any:
        # Told by some cards and drivers only, and nothing is decided by it.
        try:
            return ask()
        except nvml.NVMLError as error:
            if _is(nvml, error, "GPU_IS_LOST"):
                raise
        except AttributeError:  # an older binding
            pass
        return None

    memory = optional("memory", lambda: _memory(nvml, handle))
    mig = optional("mig", lambda: nvml.nvmlDeviceGetMigMode(handle))
    pci = aside(lambda: nvml.nvmlDeviceGetPciInfo(handle))
    milliwatts = aside(lambda: nvml.nvmlDeviceGetPowerUsage(handle))
    total = reserved = inclusive = allocated = None
    if memory is not None:
        total, reserved = memory.total, memory.reserved
        if _near(total, memory.used + memory.free + reserved):
            inclusive, allocated = memory.used + reserved, memory.used
        elif _near(total, memory.used + memory.free):
            inclusive, allocated = memory.used, max(0, memory.used - reserved)
        else:
            said = f"total {total}, reserved {reserved}, used {memory.used}, free {memory.free}"
            unread.append(Unread(text=said, why="the numbers do not add up, in neither convention"))
    return GpuSeen(
        index=index,
        uuid=_said(nvml.nvmlDeviceGetUUID(handle)),
        name=_said(nvml.nvmlDeviceGetName(handle)),
        total_mib=_mib(total),
        used_mib=_mib(inclusive),
        reserved_mib=_mib(reserved),
        allocated_mib=_mib(allocated),
        mig=bool(mig[0]) if mig is not None else None,
        bus_id=_said(pci.busId) if pci is not None else None,
        temperature_c=aside(lambda: nvml.nvmlDeviceGetTemperature(handle, nvml.NVML_TEMPERATURE_GPU)),
        power_w=None if milliwatts is None else milliwatts / 1000,
        sm_mhz=aside(lambda: nvml.nvmlDeviceGetClockInfo(handle, nvml.NVML_CLOCK_SM)),
        pcie_gen=aside(lambda: nvml.nvmlDeviceGetCurrPcieLinkGeneration(handle)),
        pcie_width=aside(lambda: nvml.nvmlDeviceGetCurrPcieLinkWidth(handle)),
        source="nvml",
        unread=tuple(unread),
    )


def _memory(nvml: Any, handle: Any) -> Any:
    """Ask by the second version of the call; what the first one says is never believed."""
    try:
        # The bare number 2 is refused: the call wants the packed constant.
        return nvml.nvmlDeviceGetMemoryInfo(handle, version=nvml.nvmlMemory_v2)
    except (AttributeError, TypeError) as error:
        raise NvmlUnusable(f"the installed binding knows only the first memory call: {error}") from error


def _holders(nvml: Any, handle: Any, index: int) -> list[GpuHolder]:
    used: dict[int, float | None] = {}
    for ask in (nvml.nvmlDeviceGetComputeRunningProcesses, nvml.nvmlDeviceGetGraphicsRunningProcesses):
        try:
            for process in ask(handle):
                used[process.pid] = _mib(process.usedGpuMemory)
        except nvml.NVMLError as error:
            if not _is(nvml, error, "NOT_SUPPORTED"):
                raise
    return [GpuHolder(gpu_index=index, pid=pid, used_mib=mib) for pid, mib in used.items()]


def _is(nvml: Any, error: Exception, name: str) -> bool:
    return bool(getattr(error, "value", None) == getattr(nvml, f"NVML_ERROR_{name}"))


def _near(a: int, b: int) -> bool:
    return abs(a - b) <= MIB


def _mib(amount: int | None) -> float | None:
    return None if amount is None else amount / MIB


def _said(text: str | bytes) -> str:
    # Older bindings return bytes.
    return text.decode("utf-8", "backslashreplace") if isinstance(text, bytes) else text
