"""Which process this is: SGLang runs the same entry point in all of its own, and phases only in schedulers."""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any, NamedTuple

_UNKNOWN = object()


class Place(NamedTuple):
    ranks: dict[str, int | None]  # "tp", "pp", "dp", "gpu"
    device: str | None  # as --device says it; None: found by SGLang later
    speculative: bool | None  # None: not told, so look for everything


def scheduler_place() -> Place | None:
    """Return None outside schedulers. The scheduler's first function has everything in its arguments."""
    frame: FrameType | None = sys._getframe()  # noqa: SLF001 - the documented way to see one's callers
    while frame is not None:
        if frame.f_code.co_name == "run_scheduler_process":
            return _place(frame.f_locals)
        frame = frame.f_back
    return None


def _place(told: dict[str, Any]) -> Place:
    arguments = told.get("server_args")
    device = getattr(arguments, "device", None)
    algorithm = getattr(arguments, "speculative_algorithm", _UNKNOWN)
    ranks = {name: told.get(f"{name}_rank") for name in ("tp", "pp", "dp")} | {"gpu": told.get("gpu_id")}
    return Place(
        ranks={name: rank if isinstance(rank, int) else None for name, rank in ranks.items()},
        device=device if isinstance(device, str) else None,
        speculative=None if algorithm is _UNKNOWN else algorithm is not None,
    )
