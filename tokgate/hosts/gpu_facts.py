"""What is fixed about a host's GPUs and may slow them: for the fingerprint, through nvidia-smi."""

from __future__ import annotations

import datetime as dt
import hashlib
from collections.abc import Sequence

from tokgate.hosts.connection import Host
from tokgate.hosts.gpu_clues import remember
from tokgate.hosts.gpu_rows import ask_rows
from tokgate.hosts.nvidia_smi import ask_table
from tokgate.parsers.nvidia_smi import Cell, read_gpus
from tokgate.parsers.nvidia_smi_table import SmiTable
from tokgate.parsers.nvidia_smi_topology import read_topology
from tokgate.records import Finding

# Only what stands still on a sound machine. The PCIe generation in use, clocks, temperature and power
# change by themselves: they are kept with each look at the GPUs instead.
_FIELDS = (
    "index",
    "name",
    "uuid",
    "pci.bus_id",
    "driver_version",
    "vbios_version",
    "memory.total",
    "memory.reserved",
    "pcie.link.gen.max",
    "pcie.link.width.max",
    "pcie.link.width.current",
    "power.limit",
    "power.default_limit",
    "power.max_limit",
    "clocks.max.sm",
    "clocks.max.memory",
    "clocks.applications.graphics",
    "clocks.applications.memory",
    "persistence_mode",
    "compute_mode",
    "ecc.mode.current",
    "mig.mode.current",
)
# GPUs that work together wait for the slowest: in these they should be alike.
_ALIKE = (
    "name",
    "vbios_version",
    "memory.total",
    "pcie.link.gen.max",
    "pcie.link.width.max",
    "power.limit",
    "clocks.max.sm",
    "clocks.max.memory",
    "clocks.applications.graphics",
    "clocks.applications.memory",
    "persistence_mode",
    "compute_mode",
    "ecc.mode.current",
)
Rows = dict[int, dict[str, Cell]]


def gpu_facts(host: Host, count: int) -> tuple[dict[str, str | None], dict[str, str], tuple[Finding, ...]]:
    """Return facts, why some of them are None, and what is worth a note.

    `count`: the GPUs that the rig expects; when they are all there they are remembered on the host.
    HostFault: nvidia-smi gave no rows.
    """
    facts: dict[str, str | None] = {}
    rows, refused = _rows(host, count)
    for index, row in rows.items():
        for name, cell in row.items():
            if name == "index":
                continue
            facts[f"gpu.{index}.{name}"] = cell.text if cell.why is None else f"not told: {cell.why}"
    unread = {f"gpu.{name}": "this nvidia-smi has no such field" for name in refused}
    facts |= dict.fromkeys(unread)
    table = ask_table(host)
    for key, value in {"gpu.cuda": table.cuda, "gpu.nvml": table.tool}.items():
        facts[key] = value
        if value is None:
            unread[key] = "the head of nvidia-smi's table does not say"
    facts |= _topology(host, unread)
    return facts, unread, (*_notes(rows), *_mismatch(table))


def _rows(host: Host, count: int) -> tuple[Rows, list[str]]:
    rows, refused, asked = ask_rows(host, _FIELDS)
    seen = read_gpus(asked.stdout, [f for f in _FIELDS if f not in refused]).gpus
    if len(seen) == count:
        remember(host, seen, dt.datetime.now(dt.UTC).isoformat(timespec="seconds"))
    return {gpu.index: row for gpu, row in zip(seen, rows, strict=True)}, refused


def _topology(host: Host, unread: dict[str, str]) -> dict[str, str | None]:
    """Return a fact for each pair of GPUs, the nearness of CPUs, and a hash of it all, NICs included."""
    asked = host.run("nvidia-smi topo -m")
    topology = read_topology(asked.stdout) if asked.rc == 0 else read_topology("")
    if not topology.devices:
        unread["gpu.topology"] = (asked.stdout + asked.stderr).strip()[:200] or "nvidia-smi topo said nothing"
        return {"gpu.topology": None}
    facts: dict[str, str | None] = {
        "gpu.topology": hashlib.sha256(topology.text().encode()).hexdigest()[:16],
    }
    for pair, link in topology.links.items():
        a, _, b = pair.partition("-")
        if a.startswith("GPU") and b.startswith("GPU"):
            facts[f"gpu.topology.{a[3:]}-{b[3:]}"] = link
    for device in topology.devices:
        if device.startswith("GPU"):
            facts[f"gpu.{device[3:]}.cpu_affinity"] = topology.cpus.get(device, "not told")
            facts[f"gpu.{device[3:]}.numa"] = topology.numa.get(device, "not told")
    return facts


def _notes(rows: Rows) -> list[Finding]:
    notes = []
    for index, row in rows.items():
        width, most = _number(row, "pcie.link.width.current"), _number(row, "pcie.link.width.max")
        if width is not None and most is not None and width < most:
            notes.append(
                _note(
                    f"GPU {index} runs on {width:g} of {most:g} PCIe lanes",
                    "reseat it or its riser; until then everything that crosses PCIe is slower",
                )
            )
        limit, usual = _number(row, "power.limit"), _number(row, "power.default_limit")
        if limit is not None and usual is not None and limit < usual:
            notes.append(
                _note(
                    f"GPU {index} may draw {limit:g} W, its default is {usual:g} W",
                    f"fine if that is meant; otherwise nvidia-smi -i {index} -pl {usual:g}",
                )
            )
    return [*notes, *_unlike(rows)]


def _unlike(rows: Rows) -> list[Finding]:
    notes = []
    for name in _ALIKE:
        said = {index: row[name].text for index, row in rows.items() if name in row and row[name].why is None}
        groups: dict[str, list[int]] = {}
        for index, text in said.items():
            groups.setdefault(text, []).append(index)
        if len(groups) > 1:
            listed = "; ".join(f"{text}: GPU {_list(who)}" for text, who in groups.items())
            notes.append(
                _note(
                    f"the GPUs differ in {name}: {listed}",
                    "make them alike: together they wait for the slowest",
                )
            )
    return notes


def _mismatch(table: SmiTable) -> list[Finding]:
    if table.tool is None or table.driver is None or table.tool == table.driver:
        return []
    return [
        _note(
            f"nvidia-smi and its library are of {table.tool}, the kernel module is of {table.driver}",
            "usual in a container that brings its own; on the machine itself a driver was updated: reboot",
        )
    ]


def _note(what: str, do: str) -> Finding:
    return Finding(severity="note", what=what, do=do)


def _list(indices: Sequence[int]) -> str:
    return ", ".join(map(str, indices))


def _number(row: dict[str, Cell], name: str) -> float | None:
    return row[name].number if name in row else None
