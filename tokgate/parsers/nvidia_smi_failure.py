"""nvidia-smi's ways of failing: prose on stdout, with exit status 0, 6, 9, 18 or 255, in place of rows."""

from __future__ import annotations

import re
from enum import StrEnum

from tokgate.records.record import Record

from .foreign_json import writable

_SHOWN = 500
_READ = 20_000  # characters; what went wrong is said in the first few hundred


class SmiFailureKind(StrEnum):
    GPU_LOST = "gpu-lost"
    DRIVER_MISMATCH = "driver-mismatch"
    NO_DRIVER = "no-driver"
    NO_GPUS = "no-gpus"
    NO_PERMISSION = "no-permission"
    FIELD_UNKNOWN = "field-unknown"
    OTHER = "other"


class SmiFailure(Record):
    """nvidia-smi said in prose that something is wrong."""

    kind: SmiFailureKind
    bus_ids: tuple[str, ...] = ()  # of lost GPUs
    text: str


_LOST = re.compile(
    r"Unable to determine the device handle for GPU ?\s*([0-9A-Fa-f]+:[0-9A-Fa-f]+:[0-9A-Fa-f]+\.[0-9A-Fa-f]+)"
    r"\s*: \s*(?:GPU is lost|Unknown Error)",
    re.IGNORECASE,
)
_FAILURES = (
    ("driver/library version mismatch", SmiFailureKind.DRIVER_MISMATCH),
    ("couldn't communicate with the nvidia driver", SmiFailureKind.NO_DRIVER),
    ("driver not loaded", SmiFailureKind.NO_DRIVER),
    ("no supported gpus were found", SmiFailureKind.NO_GPUS),
    ("no devices were found", SmiFailureKind.NO_GPUS),
    ("insufficient permissions", SmiFailureKind.NO_PERMISSION),
    ("is not a valid field to query", SmiFailureKind.FIELD_UNKNOWN),
    ("gpu is lost", SmiFailureKind.GPU_LOST),
    ("failed to initialize nvml", SmiFailureKind.OTHER),
    ("unable to determine the number of gpus", SmiFailureKind.OTHER),
    ("unable to determine the device handle", SmiFailureKind.OTHER),
)


def read_failure(text: str, rc: int | None = 0) -> SmiFailure | None:
    """Return what went wrong, from stdout and stderr together; None: it reads like an answer.

    An exit status other than 0 without any known words is a failure too.
    """
    flat = writable(" ".join(text[:_READ].split()))
    lost = tuple(dict.fromkeys(m[1].lower() for m in _LOST.finditer(flat)))
    shown = flat[:_SHOWN]
    if lost:
        return SmiFailure(kind=SmiFailureKind.GPU_LOST, bus_ids=lost, text=shown)
    # Cells may say the same words in brackets; those belong to their row.
    prose = re.sub(r"\[[^\]]*\]", "", flat).lower()
    for words, kind in _FAILURES:
        if words in prose:
            return SmiFailure(kind=kind, text=shown)
    if rc != 0:
        return SmiFailure(kind=SmiFailureKind.OTHER, text=shown or f"nothing, exit status {rc}")
    return None
