"""Lines of the program that watches a host (hosts/scripts/telemetry.py) become rows of telemetry."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from tokgate.records.record import Record, Unread
from tokgate.records.redactor import without_secret_arguments
from tokgate.records.telemetry import (
    GpuNow,
    GpuRow,
    HolderRow,
    Holding,
    HostRow,
    ProcessRow,
    TelemetryRow,
)

from .nvidia_smi import Cell, read_table

_SHOWN = 500
# What is kept of a GPU -> the names that nvidia-smi may have for it, today's first.
GPU_FIELDS: dict[str, tuple[str, ...]] = {
    "gpu": ("index",),
    "sm_mhz": ("clocks.current.sm", "clocks.sm"),
    "memory_mhz": ("clocks.current.memory", "clocks.mem"),
    "celsius": ("temperature.gpu",),
    "watts": ("power.draw",),
    "busy_percent": ("utilization.gpu",),
    "reasons": ("clocks_event_reasons.active", "clocks_throttle_reasons.active"),
}
# The name last: it may hold commas.
HOLDER_FIELDS = ("gpu_uuid", "pid", "used_memory", "process_name")
PID_CELL = HOLDER_FIELDS.index("pid")


class Line(Record):
    """What one line said. `ended` is a stream that ended, `problem` of one that goes on; `cpu_s` the last line's."""

    row: TelemetryRow | None = None
    ended: str | None = None
    problem: str | None = None
    cpu_s: float | None = None
    missing: dict[str, str] = {}  # what this answer did not tell -> why
    unread: tuple[Unread, ...] = ()


def read_line(raw: bytes, at_ns: int, *, fields: Mapping[str, str], index_of: Mapping[str, int]) -> Line:
    """Read one line that arrived at `at_ns`. Never raises.

    `fields`: what is kept -> the nvidia-smi field asked for it, in the order of the cells. `index_of`: GPU uuid ->
    index.
    """
    text = raw.decode("utf-8", "backslashreplace").strip()
    try:
        told = json.loads(text)
        if "\\u" in text:
            # Half a surrogate pair is valid JSON and cannot be written to any file.
            json.dumps(told, ensure_ascii=False).encode()
        kind = told["k"]
        if kind == "gpus":
            return _gpus(told, at_ns, fields)
        if kind == "holders":
            return _holders(told, at_ns, index_of)
        if kind == "ended":
            return Line(ended=str(told["what"])[:_SHOWN])
        if kind == "problem":
            return Line(problem=str(told["what"])[:_SHOWN])
        if kind == "end":
            return Line(cpu_s=float(told["cpu_s"]))
        return Line(row=_plain(kind, told, at_ns))
    # A login's greeting, half a line of a broken connection, another program: whatever it is, it is kept.
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError) as error:
        why = f"not a line of the watching program: {type(error).__name__}"
        return Line(unread=(Unread(text=text[:_SHOWN], why=why),))


def reasons_of(text: str) -> int | None:
    """Read a mask as nvidia-smi writes it, 0x0000000000000004."""
    try:
        return int(text, 16) if text.startswith("0x") else None
    except ValueError:
        return None


def _plain(kind: str, told: dict[str, Any], at_ns: int) -> TelemetryRow:
    if kind == "host":
        return HostRow(
            at_ns=at_ns,
            seq=told["n"],
            host_s=told["h"],
            **{name: told[name] for name in ("load1", "busy", "steal", "total")},
        )
    if kind == "process":
        command = told["command"]
        return ProcessRow(
            at_ns=at_ns,
            command=without_secret_arguments(command) if isinstance(command, str) else command,
            **{name: told[name] for name in ("pid", "start_ticks", "user", "ours")},
        )
    raise ValueError(kind)


def _gpus(told: dict[str, Any], at_ns: int, fields: Mapping[str, str]) -> Line:
    table = read_table("\n".join(_lines(told["rows"])), tuple(fields.values()))
    missing: dict[str, str] = {}
    unread = list(table.unread)
    gpus = []
    for row in table.rows:
        cells = {name: row[field] for name, field in fields.items()}
        now, why = _gpu(cells)
        missing |= why
        if now is None:
            said = ", ".join(cell.text for cell in row.values())[:_SHOWN]
            unread.append(Unread(text=said, why="a row without the GPU's index"))
        else:
            gpus.append(now)
    row_or_none = GpuRow(at_ns=at_ns, seq=told["n"], host_s=told["h"], gpus=tuple(gpus)) if gpus else None
    return Line(row=row_or_none, missing=missing, unread=tuple(unread))


def _gpu(cells: Mapping[str, Cell]) -> tuple[GpuNow | None, dict[str, str]]:
    """Return the GPU and what it does not tell; an absent name was not asked for and is no news."""
    missing = {}
    numbers: dict[str, float | None] = {}
    for name in ("gpu", "sm_mhz", "memory_mhz", "celsius", "watts", "busy_percent"):
        cell = cells.get(name)
        numbers[name] = cell.number if cell is not None else None
        if cell is not None and cell.number is None:
            missing[name] = cell.why or f"not a number: {cell.text[:40]}"
        elif cell is not None and cell.number is not None and cell.number < 0 and name != "celsius":
            numbers[name] = None
            missing[name] = f"below zero: {cell.text[:40]}"
    reasons = None
    if (mask := cells.get("reasons")) is not None:
        reasons = reasons_of(mask.text)
        if reasons is None:
            missing["reasons"] = mask.why or f"not a mask: {mask.text[:40]}"
    index = numbers.pop("gpu")
    if index is None or not math.isfinite(index):
        return None, missing
    return GpuNow(gpu=int(index), reasons=reasons, **numbers), missing


def _holders(told: dict[str, Any], at_ns: int, index_of: Mapping[str, int]) -> Line:
    starts = told["starts"]
    table = read_table("\n".join(_lines(told["rows"])), HOLDER_FIELDS)
    unread = list(table.unread)
    found = []
    for row in table.rows:
        # `_canonical` names of HOLDER_FIELDS.
        pid = row["pid"].number
        if pid is None:
            said = ", ".join(cell.text for cell in row.values())[:_SHOWN]
            unread.append(Unread(text=said, why="the driver does not name the process"))
            continue
        name, used = row["process_name"], row["used_memory"].number
        found.append(
            Holding(
                gpu=index_of.get(row["uuid"].text),
                pid=int(pid),
                start_ticks=starts.get(str(int(pid))),
                used_mib=used if used is None or used >= 0 else None,
                name=name.text[:_SHOWN] if name.why is None else None,
            )
        )
    # An answer that could not be read is none: it must not look like nobody.
    row_or_none = (
        None
        if unread and not found
        else HolderRow(at_ns=at_ns, seq=told["n"], host_s=told["h"], holders=tuple(found))
    )
    return Line(row=row_or_none, unread=tuple(unread))


def _lines(rows: Sequence[Any]) -> list[str]:
    return [" ".join(str(row).splitlines()) for row in rows]
