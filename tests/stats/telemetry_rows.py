"""Rows and generations in seconds, for windows that are easy to read."""

from __future__ import annotations

from typing import Any

from tokgate.records import Generation, GenerationStatus
from tokgate.records.telemetry import GpuNow, GpuRow, HolderRow, Holding, HostRow, ProcessRow

NS = 1_000_000_000


def generation(start_s: float, end_s: float, *, batch: int = 0, slot: int = 0, **changes: Any) -> Generation:
    fields: dict[str, Any] = {
        "request_id": f"r{batch}-{slot}",
        "launch": "01-baseline",
        "workload": "single",
        "index": batch,
        "slot": slot,
        "batch": batch,
        "status": GenerationStatus.GOOD,
        "asked_tokens": 8,
        "sent_ns": round(start_s * NS),
        "end_ns": round(end_s * NS),
    }
    return Generation(**{**fields, **changes})


def gpu(index: int = 0, *, sm: float | None = 1980.0, mask: int | None = 0, **changes: Any) -> GpuNow:
    now = GpuNow(index, sm, 3201.0, 52.0, 600.0, 100.0, mask)
    return now._replace(**changes)


def gpu_row(at_s: float, *gpus: GpuNow, late_s: float | None = None) -> GpuRow:
    """`late_s`: how much later than it was taken on the host it came."""
    host_s = None if late_s is None else at_s - late_s
    return GpuRow(at_ns=round(at_s * NS), host_s=host_s, gpus=gpus or (gpu(),))


def gpu_rows(start_s: float, end_s: float, *gpus: GpuNow, every_s: float = 0.2) -> list[GpuRow]:
    count = round((end_s - start_s) / every_s) + 1
    return [gpu_row(start_s + i * every_s, *gpus) for i in range(count)]


def answer(at_s: float, *pids: int, gpu: int | None = 0) -> HolderRow:
    """Each process began at a tick that is its pid."""
    return HolderRow(
        at_ns=round(at_s * NS), holders=tuple(Holding(gpu, pid, pid, 4096.0, "python3") for pid in pids)
    )


def process(pid: int, *, ours: bool | None, start_ticks: int | None = -1) -> ProcessRow:
    ticks = pid if start_ticks == -1 else start_ticks
    return ProcessRow(at_ns=0, pid=pid, start_ticks=ticks, user="ann", command=f"train {pid}", ours=ours)


def host_row(at_s: float, *, busy: int, total: int, steal: int = 0, load1: float = 1.0) -> HostRow:
    return HostRow(at_ns=round(at_s * NS), load1=load1, busy=busy, steal=steal, total=total)
