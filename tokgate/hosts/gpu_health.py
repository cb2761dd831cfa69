"""How the GPUs are at this moment: errors in memory, throttling, heat, clocks. Read, never set."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from tokgate.hosts.connection import Host
from tokgate.hosts.gpu_rows import Row, ask_rows
from tokgate.records.doctor import Remark

_SLOWED = {
    "clocks_event_reasons.hw_slowdown": "the hardware slows it (power brake, or far too hot)",
    "clocks_event_reasons.hw_thermal_slowdown": "it is too hot",
    "clocks_event_reasons.hw_power_brake_slowdown": "an external power brake slows it",
    "clocks_event_reasons.sw_thermal_slowdown": "the driver slows it for heat",
}
_FIELDS = (
    "index",
    "name",
    "persistence_mode",
    "temperature.gpu",
    "power.draw",
    "clocks.current.sm",
    "clocks.max.sm",
    "utilization.gpu",
    "compute_cap",
    "ecc.errors.uncorrected.volatile.total",
    "retired_pages.pending",
    "remapped_rows.pending",
    "remapped_rows.failure",
    *_SLOWED,
)
# Until driver 535 the reasons had another name.
_OLDER = {name: name.replace("event_reasons", "throttle_reasons") for name in _SLOWED}
_XID = re.compile(r"NVRM: Xid \((?:PCI:)?([0-9a-fA-F:.]+)\): (\d+), (.{0,120})")


def read_health(host: Host) -> tuple[tuple[Row, ...], list[str]]:
    """Return a row a GPU, and the fields that this driver's nvidia-smi does not know. HostFault: no rows."""
    rows, refused, _ = ask_rows(host, _FIELDS, older=_OLDER)
    return rows, refused


def judge_health(rows: Sequence[Row]) -> Iterator[Remark]:
    """Yield what is wrong with each GPU, or what they are like where nothing is."""
    wrong = [remark for row in rows for remark in _one(row)]
    yield from wrong
    if not wrong:
        heat = _range(rows, "temperature.gpu", "°C")
        told = [
            t for t in (heat, _range(rows, "power.draw", "W"), _range(rows, "clocks.current.sm", "MHz")) if t
        ]
        yield Remark.ok(
            f"no memory errors, no throttling on {len(rows)} GPUs: {', '.join(told) or 'no figures told'}"
        )


def judge_persistence(rows: Sequence[Row]) -> Iterator[Remark]:
    off = [row["index"].text for row in rows if _text(row, "persistence_mode").lower() == "disabled"]
    if off:
        yield Remark.warn(
            f"persistence mode is off on GPU {', '.join(off)}: the driver unloads between servers, and starts differ",
            "as root: nvidia-smi -pm 1, or the service nvidia-persistenced",
        )
    elif all(_text(row, "persistence_mode").lower() == "enabled" for row in rows):
        yield Remark.ok("on for every GPU")
    else:
        yield Remark.unknown("this driver does not tell")


def xids_in(log: str) -> tuple[str, ...]:
    """Return the driver's error events in a kernel log, e.g. "0000:19:00: Xid 79, GPU has fallen off the bus"."""
    return tuple(dict.fromkeys(f"{m[1]}: Xid {m[2]}, {m[3].strip()}" for m in _XID.finditer(log)))


def _one(row: Row) -> Iterator[Remark]:
    gpu = f"GPU {row['index'].text}"
    errors = _number(row, "ecc.errors.uncorrected.volatile.total")
    if errors:
        yield Remark.fail(
            f"{gpu}: {errors:g} uncorrected memory errors since the driver was loaded",
            "as root, with nothing running: reset the GPU or reboot; when they return, have the card replaced",
        )
    for name, words in (("retired_pages.pending", "a page"), ("remapped_rows.pending", "a row")):
        if _text(row, name).lower() in ("yes", "1"):
            yield Remark.warn(
                f"{gpu}: {words} of its memory waits to be taken out of use", "reset the GPU or reboot"
            )
    if _text(row, "remapped_rows.failure").lower() in ("yes", "1"):
        yield Remark.fail(f"{gpu}: a bad row of its memory could not be replaced", "have the card replaced")
    for name, words in _SLOWED.items():
        if _text(row, name).lower() == "active":
            heat = _number(row, "temperature.gpu")
            at = f", {heat:g} °C" if heat is not None else ""
            yield Remark.warn(
                f"{gpu}: {words}{at}", "see to its cooling and power; a gate would cut or void its windows"
            )
    use = _number(row, "utilization.gpu")
    if use:
        yield Remark.warn(
            f"{gpu}: {use:g} % busy at this moment", "see who computes on it, and let that end first"
        )


def _range(rows: Sequence[Row], name: str, unit: str) -> str | None:
    found = [n for row in rows if (n := _number(row, name)) is not None]
    if not found:
        return None
    low, high = min(found), max(found)
    return f"{low:.0f} {unit}" if low == high else f"{low:.0f} to {high:.0f} {unit}"


def _number(row: Row, name: str) -> float | None:
    return row[name].number if name in row else None


def _text(row: Row, name: str) -> str:
    return row[name].text if name in row and row[name].why is None else ""
