"""Windows as a healthy machine gives them, and a launch that was watched."""

from __future__ import annotations

from typing import Any

from tests.verdicts.evidence import make_launch
from tokgate.records import LaunchEvidence
from tokgate.records.telemetry import GpuWindow, Spread, Stranger, Telemetry, Window

NS = 1_000_000_000
THERMAL = {"sw_thermal_slowdown": 4}


def card(index: int = 0, *, mhz: float | None = 1980.0, **changes: Any) -> GpuWindow:
    clock = None if mhz is None else Spread(minimum=mhz, median=mhz, maximum=mhz)
    fields: dict[str, Any] = {
        "index": index,
        "rows": 10,
        "sm_mhz": clock,
        "celsius_max": 61.0,
        "watts_mean": 412.0,
        "busy_percent_mean": 99.0,
        "reasons": {},
    }
    return GpuWindow(**{**fields, **changes})


def window(batch: int, *cards: GpuWindow, workload: str = "single", **changes: Any) -> Window:
    fields: dict[str, Any] = {
        "workload": workload,
        "batch": batch,
        "warmup": False,
        "failed": False,
        "start_ns": batch * 10 * NS,
        "end_ns": (batch * 10 + 2) * NS,
        "gpus": cards or (card(0), card(1)),
        "gap_s": 0.2,
        "strangers": (),
        "host_busy": 0.25,
        "host_steal": 0.0,
        "load1": 1.5,
    }
    return Window(**{**fields, **changes})


def stranger(pid: int = 4711, **changes: Any) -> Stranger:
    fields: dict[str, Any] = {
        "pid": pid,
        "start_ticks": 9,
        "gpus": (5,),
        "user": "ann",
        "command": "python3 train.py",
        "used_mib": 512.0,
        "seen_after_s": 0.5,
    }
    return Stranger(**{**fields, **changes})


def telemetry(**changes: Any) -> Telemetry:
    fields: dict[str, Any] = {
        "source": "nvidia-smi",
        "gpus": 2,
        "period_s": 0.2,
        "rows": {"gpus": 600, "host": 600, "holders": 120},
        "hz": {"gpus": 5.1, "host": 5.0},
        "wall_s": 120.0,
        "cpu_s": 1.2,
    }
    return Telemetry(**{**fields, **changes})


def watched(*windows: Window, told: Telemetry | None = None, **changes: Any) -> LaunchEvidence:
    """A launch whose `single` has six starts, each of which was watched."""
    seen = windows or tuple(window(batch) for batch in range(6))
    return make_launch(telemetry=told or telemetry(), windows=seen, **changes)
