"""nvidia-smi's CSV answers. A cell without a number has seven spellings and none of them is zero."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from tokgate.records.host import GpuHolder, GpuSeen
from tokgate.records.record import Record, Unread

from .foreign_json import writable

_SHOWN = 500
_LONGEST = 65_536  # characters of a line; one of all 212 fields has some 5,000
# MiB by which the printed, rounded numbers of one card may miss their sum.
_ROUNDING_MIB = 3.0
# What a driver may keep for itself without telling: idle cards showed 615 MiB (H200, driver 580) and 912 MiB (A100).
_MOST_RESERVED_MIB = 2048.0
# Rows of one answer, and odd lines of it that are told one by one. A host has 16 GPUs and a few processes on each.
MOST_ROWS = 512
_MOST_UNREAD = 20
# Old names of fields and those that nvidia-smi prints for what it was asked -> the name used here.
_ALIASES = {
    "gpu_name": "name",
    "gpu_uuid": "uuid",
    "gpu_bus_id": "pci.bus_id",
    "used_gpu_memory": "used_memory",
    "clocks.sm": "clocks.current.sm",
}
# The cell in lower case without brackets -> what it says. "None" is not among them: it is a real value
# of gpu_recovery_action.
_NO_NUMBER = {
    "n/a": "not available on this card or driver",
    "not supported": "not supported by this card or driver",
    "insufficient permissions": "permission denied by the driver",
    "requested functionality has been deprecated": "the driver no longer tells",
    "not found": "the driver does not know it",
    "unknown error": "the driver failed to tell",
    "gpu is lost": "the GPU is off the bus",
    "err!": "the driver failed to tell",
    "": "empty cell",
}
_MEMORY = ("total", "reserved", "used", "free")
_NUMBER = re.compile(r"(-?\d+(?:\.\d+)?)(?:\s*([A-Za-z%/]+))?")
_HEADER_UNIT = re.compile(r"^(.*?)(?: \[(.+)\])?$")


class Cell(Record):
    text: str
    number: float | None = None
    unit: str | None = None
    why: str | None = None  # set when the card gave no value


class Table(Record):
    """Rows by field name; a field's unit belongs to the cell."""

    rows: tuple[dict[str, Cell], ...] = ()
    unread: tuple[Unread, ...] = ()


def read_table(text: str, fields: Sequence[str] | None = None) -> Table:
    """Read a CSV answer. `fields` names the columns of an answer without a header line.

    A process name may hold commas: what is too much in a row is given back to that column. Of a flood the first
    MOST_ROWS rows are read; that there was more is in `unread`.
    """
    # Not splitlines: a process may have a form feed or a Unicode line separator in its name.
    rows_of_text = enumerate(writable(text).split("\n"), start=1)
    lines = [(n, line[:_LONGEST]) for n, line in rows_of_text if line.strip()]
    units: list[str | None]
    if fields is None:
        if not lines:
            return Table(unread=(Unread(text="", why="nothing where a header line was expected"),))
        matches = [_HEADER_UNIT.match(cell.strip()) for cell in lines.pop(0)[1].split(",")]
        names = [_canonical(m[1]) if m else "" for m in matches]
        units = [m[2] if m else None for m in matches]
    else:
        names = [_canonical(field) for field in fields]
        units = [None] * len(names)
    rows: list[dict[str, Cell]] = []
    unread: list[Unread] = []
    for number, line in lines[:MOST_ROWS]:
        cells = [cell.strip() for cell in line.split(",")]
        surplus = len(cells) - len(names)
        if surplus > 0 and "process_name" in names:
            at = names.index("process_name")
            cells[at : at + surplus + 1] = [", ".join(cells[at : at + surplus + 1])]
        if len(cells) != len(names):
            why = f"{len(cells)} cells where {len(names)} were expected"
            unread.append(Unread(line=number, text=line[:_SHOWN], why=why))
            continue
        read = zip(names, cells, units, strict=True)
        rows.append({name: _cell(name, cell, unit) for name, cell, unit in read})
    if (more := len(unread) - _MOST_UNREAD) > 0:
        unread[_MOST_UNREAD:] = [Unread(text=f"{more} more", why="odd lines beyond those that are told")]
    if len(lines) > MOST_ROWS:
        unread.append(
            Unread(text=f"{len(lines)} lines", why=f"a flood: only the first {MOST_ROWS} were read")
        )
    return Table(rows=tuple(rows), unread=tuple(unread))


class GpuReading(Record):
    gpus: tuple[GpuSeen, ...] = ()
    bus_ids: dict[int, str] = {}  # by index
    drivers: tuple[str, ...] = ()
    unread: tuple[Unread, ...] = ()


def read_gpus(text: str, fields: Sequence[str] | None = None) -> GpuReading:
    """Read a --query-gpu answer. A row whose index is missing or odd is numbered by its place."""
    table = read_table(text, fields)
    gpus: list[GpuSeen] = []
    bus_ids: dict[int, str] = {}
    drivers: list[str] = []
    for place, row in enumerate(table.rows):
        index = _number(row, "index")
        number = int(index) if index is not None and index.is_integer() and index >= 0 else place
        gpus.append(_gpu(number, row))
        if (bus := _words(row, "pci.bus_id")) is not None:
            bus_ids[number] = bus
        if (driver := _words(row, "driver_version")) is not None and driver not in drivers:
            drivers.append(driver)
    return GpuReading(gpus=tuple(gpus), bus_ids=bus_ids, drivers=tuple(drivers), unread=table.unread)


class HolderReading(Record):
    holders: tuple[GpuHolder, ...] = ()
    unread: tuple[Unread, ...] = ()


def read_holders(
    text: str, fields: Sequence[str] | None = None, *, index_of: dict[str, int] | None = None
) -> HolderReading:
    """Read a --query-compute-apps answer. `index_of` is GPU uuid -> index.

    A name the driver does not know is None: the process still holds its memory.
    """
    table = read_table(text, fields)
    unread = list(table.unread)
    holders: list[GpuHolder] = []
    for row in table.rows:
        if "used_memory" not in row and "max_memory_usage" in row:
            said = ", ".join(cell.text for cell in row.values())[:_SHOWN]
            unread.append(Unread(text=said, why="an accounting row: that process has ended"))
            continue
        pid = _number(row, "pid")
        uuid = _words(row, "uuid")
        holders.append(
            GpuHolder(
                gpu_index=(index_of or {}).get(uuid or ""),
                pid=int(pid) if pid is not None and pid > 0 else None,
                command=_words(row, "process_name"),
                used_mib=_amount(row, "used_memory"),
                note=None if pid is not None and pid > 0 else "the driver does not name the process",
            )
        )
    return HolderReading(holders=tuple(holders), unread=tuple(unread))


def _gpu(index: int, row: dict[str, Cell]) -> GpuSeen:
    total, reserved, used, free = (_amount(row, f"memory.{key}") for key in _MEMORY)
    unread = [
        Unread(text=f"{name}: {cell.text}"[:_SHOWN], why=cell.why)
        for name, cell in row.items()
        if cell.why is not None and name.startswith(("memory.", "name", "uuid", "mig."))
    ]
    unread += [
        Unread(text=f"memory.{key}: {row[f'memory.{key}'].text}"[:_SHOWN], why="below zero")
        for key in _MEMORY
        if (_number(row, f"memory.{key}") or 0.0) < 0
    ]
    inclusive, allocated, odd = _settled(total, reserved, used, free)
    if odd is not None:
        unread.append(odd)
    mig = _words(row, "mig.mode.current")
    return GpuSeen(
        index=index,
        uuid=_words(row, "uuid"),
        name=_words(row, "name"),
        total_mib=total,
        used_mib=inclusive,
        reserved_mib=reserved,
        allocated_mib=allocated,
        mig=None if mig is None else mig.lower() == "enabled",
        bus_id=_words(row, "pci.bus_id"),
        temperature_c=_number(row, "temperature.gpu"),
        power_w=_number(row, "power.draw"),
        sm_mhz=_number(row, "clocks.current.sm"),
        pcie_gen=_number(row, "pcie.link.gen.current"),
        pcie_width=_number(row, "pcie.link.width.current"),
        source="nvidia-smi",
        unread=tuple(unread),
    )


def _settled(
    total: float | None, reserved: float | None, used: float | None, free: float | None
) -> tuple[float | None, float | None, Unread | None]:
    """Return what is used with the driver's reserve and without it, and why that cannot be told."""
    if used is None:
        return None, None, None
    said = ", ".join(
        f"{name} {'unknown' if mib is None else f'{mib:g}'}"
        for name, mib in zip(_MEMORY, (total, reserved, used, free), strict=True)
    )
    beside = None if total is None or free is None else total - used - free
    if reserved is None:
        # Drivers before 510 do not tell it and count it as used; one that leaves it out leaves a gap of its size.
        if beside is not None and not -_ROUNDING_MIB <= beside <= _MOST_RESERVED_MIB:
            why = f"{beside:g} MiB are neither used nor free; a driver keeps at most {_MOST_RESERVED_MIB:g}"
            return None, None, Unread(text=said, why=why)
        return None, used, None
    # Drivers since 510 print `used` without what they keep for themselves; the sum tells.
    if beside is None or abs(beside - reserved) <= _ROUNDING_MIB:
        return used + reserved, used, None
    if abs(beside) <= _ROUNDING_MIB:
        return used, max(0.0, used - reserved), None
    return None, None, Unread(text=said, why="the numbers do not add up, in neither convention")


def _canonical(field: str) -> str:
    name = field.strip()
    return _ALIASES.get(name, name)


def _cell(name: str, text: str, unit: str | None) -> Cell:
    why = _NO_NUMBER.get(text.strip("[]").strip().lower())
    if why is not None:
        return Cell(text=text, why=why)
    number = None if name == "process_name" else _NUMBER.fullmatch(text)
    if number is None or not math.isfinite(float(number[1])):
        return Cell(text=text)
    return Cell(text=text, number=float(number[1]), unit=number[2] or unit)


def _number(row: dict[str, Cell], name: str) -> float | None:
    return row[name].number if name in row else None


def _amount(row: dict[str, Cell], name: str) -> float | None:
    """Return an amount of memory; one below zero is none."""
    number = _number(row, name)
    return number if number is not None and number >= 0 else None


def _words(row: dict[str, Cell], name: str) -> str | None:
    return row[name].text if name in row and row[name].why is None else None
