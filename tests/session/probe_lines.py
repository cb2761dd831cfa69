"""Files of a probe, as one scheduler writes them."""

from __future__ import annotations

import json
from typing import Any

MS = 1_000_000
PHASES = (("draft", 0.25), ("verify", 5.0), ("draft_extend", 0.3))
STEP_MS = 6.0


def header(**changes: Any) -> str:
    fields: dict[str, Any] = {
        "probe": 1,
        "pid": 7,
        "rank": 0,
        "mark": "run/05-eagle3-2step-phases",
        "sglang": "0.5.23",
        "clock": "cuda-events",
        "hooked": [f"{phase} sglang.worker.{phase}" for phase in ("draft", "verify", "draft_extend", "step")],
        "missing": [],
        "broken": {},
        "failed": None,
        "switch": False,
        "monotonic_ns": 1,
        "epoch_ns": 2,
    }
    return json.dumps({**fields, **changes})


def cycles(start_ns: int, count: int, *, verify_ms: float = 5.0) -> list[str]:
    """Return `count` cycles, one after the other."""
    lines = []
    for number in range(count):
        at = start_ns + round(number * STEP_MS * MS)
        for phase, ms in PHASES:
            took = verify_ms if phase == "verify" else ms
            lines.append(json.dumps([phase, took, 1, 1 if phase == "verify" else None, at + 1]))
        lines.append(json.dumps(["step", STEP_MS + verify_ms - 5.0, 1, 1, at]))
    return lines


def file(*lines: str, **changes: Any) -> bytes:
    end = json.dumps({"end": True, "written": len(lines), "dropped": 0})
    return ("\n".join((header(**changes), *lines, end)) + "\n").encode()
