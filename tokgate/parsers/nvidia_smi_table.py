"""The table that a bare `nvidia-smi` draws: versions in its head, GPUs, MIG devices, and who is on them.

Unlike --query-compute-apps it lists graphics clients as well. Names in it are cut, to their end
("...irefox/firefox") or, by those who condense it for a report, not at all.
"""

from __future__ import annotations

import re

from tokgate.records.record import Record, Unread

from .foreign_json import writable

_SHOWN = 500
# Newer drivers say KMD (the kernel's half) and UMD (the user's half) where older ones did not.
_TOOL = re.compile(r"NVIDIA-SMI\s+(\d[\w.]*)")
_DRIVER = re.compile(r"(?:Driver|KMD) Version:\s*(\d[\w.]*)")
_CUDA = re.compile(r"CUDA (?:UMD )?Version:\s*(\d[\w.]*)")
_BUS = re.compile(r"([0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-9A-Fa-f])")
_FIRST = re.compile(r"^\s*([0-9]{1,6})\s+(.*?)\s+(On|Off|N/A)\s*$")
_MEMORY = re.compile(r"([0-9]{1,12})MiB\s*/\s*([0-9]{1,12})MiB")
_POWER = re.compile(r"([\d.]+W|N/A|\S+)\s*/\s*([\d.]+W|N/A|\S+)\s*$")
_PROCESS = re.compile(
    r"^\s*(?P<gpu>[0-9]{1,6})\s+"
    r"(?:(?P<gi>N/A|[0-9]{1,6})\s+(?P<ci>N/A|[0-9]{1,6})\s+)?"
    r"(?P<pid>[0-9]{1,12})"
    r"(?:\s+(?P<kind>C|G|C\+G|M|M\+C|N/A)(?=\s|$))?"
    r"(?:\s+(?P<name>\S.*?))??"
    r"(?:\s+(?:(?P<mib>[0-9]{1,12})\s*MiB|N/A))?\s*$"
)
# What stands for a name that the driver could not find out.
_NAMELESS = {"unknown error", "[not found]", "[unknown error]", "[n/a]", "n/a", "-", ""}


class TableGpu(Record):
    """One GPU; None where the table gives no number. MiB, W, degrees Celsius, per cent."""

    index: int
    name: str
    bus_id: str | None = None
    persistence: str | None = None
    mig: bool | None = None
    temperature_c: float | None = None
    power_w: float | None = None
    power_cap_w: float | None = None
    used_mib: float | None = None
    total_mib: float | None = None
    utilization: float | None = None


class TableProcess(Record):
    """One row of the list of processes. A row that was torn off still names a holder."""

    gpu_index: int
    pid: int
    kind: str | None = None  # C computes, G draws, C+G both, M is MPS's
    name: str | None = None  # None: the driver cannot name it, as with a zombie
    cut: bool = False  # the name is only its end
    used_mib: float | None = None


class SmiTable(Record):
    """`tool` is nvidia-smi's own version, which is the library's; `driver` the kernel module's."""

    tool: str | None = None
    driver: str | None = None
    cuda: str | None = None
    gpus: tuple[TableGpu, ...] = ()
    mig_devices: int = 0
    processes: tuple[TableProcess, ...] = ()
    unread: tuple[Unread, ...] = ()


def read_smi_table(text: str) -> SmiTable:
    """Read a table, whole or in part. Never raises; rows that make no sense are in `unread`."""
    gpus: list[TableGpu] = []
    processes: list[TableProcess] = []
    unread: list[Unread] = []
    mig_devices = 0
    section = "gpus"
    for number, line in enumerate(writable(text).split("\n"), start=1):
        inner = line.strip().strip("|")
        words = inner.split()
        if "Processes:" in inner or words[:2] == ["GPU", "PID"]:
            section = "processes"
        elif "MIG devices:" in inner:
            section = "mig"
        elif section == "gpus" and "|" in inner:
            _gpu_line(inner.split("|"), gpus)
        elif section == "mig" and re.match(r"^\s*\d+\s+\d+\s+\d+\s+\d+\s*\|", inner):
            mig_devices += 1
        elif section == "processes" and words and words[0].isdigit():
            process = _process(inner)
            if process is None:
                unread.append(Unread(line=number, text=line[:_SHOWN], why="no row of a process"))
            else:
                processes.append(process)
    return SmiTable(
        tool=_first(_TOOL, text),
        driver=_first(_DRIVER, text),
        cuda=_first(_CUDA, text),
        gpus=tuple(gpus),
        mig_devices=mig_devices,
        processes=tuple(processes),
        unread=tuple(unread),
    )


def _gpu_line(cells: list[str], gpus: list[TableGpu]) -> None:
    """Take up one of the three lines that make a GPU."""
    first = _FIRST.match(cells[0])
    bus = _BUS.search(cells[1])
    if first is not None and bus is not None:
        gpus.append(TableGpu(index=int(first[1]), name=first[2], bus_id=bus[1], persistence=_known(first[3])))
        return
    if not gpus or len(cells) < 3:
        return
    temperature = re.search(r"\b([0-9]{1,4})C\b", cells[0])
    if temperature is not None or "/" in cells[1] or "Not Supported" in cells[1]:
        power = _POWER.search(cells[0])
        memory = _MEMORY.search(cells[1])
        busy = re.search(r"\b([0-9]{1,4})\s*%", cells[2])
        more = {
            "temperature_c": float(temperature[1]) if temperature else None,
            "power_w": _watts(power[1]) if power else None,
            "power_cap_w": _watts(power[2]) if power else None,
            "used_mib": float(memory[1]) if memory else None,
            "total_mib": float(memory[2]) if memory else None,
            "utilization": float(busy[1]) if busy else None,
        }
    elif not cells[0].strip() and cells[2].strip() in {"Enabled", "Disabled"}:
        more = {"mig": cells[2].strip() == "Enabled"}
    else:
        return
    gpus[-1] = gpus[-1].model_copy(update=more)


def _process(inner: str) -> TableProcess | None:
    found = _PROCESS.match(inner)
    if found is None:
        return None
    name = (found["name"] or "").strip()
    return TableProcess(
        gpu_index=int(found["gpu"]),
        pid=int(found["pid"]),
        kind=_known(found["kind"]),
        name=None if name.lower() in _NAMELESS else name,
        cut=name.startswith("..."),
        used_mib=float(found["mib"]) if found["mib"] else None,
    )


def _first(pattern: re.Pattern[str], text: str) -> str | None:
    found = pattern.search(text)
    return found[1] if found else None


def _watts(word: str) -> float | None:
    return float(word[:-1]) if re.fullmatch(r"[0-9]{1,6}(\.[0-9]{1,6})?W", word) else None


def _known(word: str | None) -> str | None:
    return None if word in {None, "N/A"} else word
