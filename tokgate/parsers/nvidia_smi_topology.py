"""`nvidia-smi topo -m`: how each pair of GPUs is connected, and which CPUs are near to each."""

from __future__ import annotations

import re
from itertools import combinations

from tokgate.records.record import Record, Unread

from .foreign_json import writable

_SHOWN = 500
# The header is underlined for a terminal even when there is none.
_ESCAPE = re.compile(r"\x1b\[[0-9;]*[A-Za-z]|\[\d+m(?=\S)|\[0m")
_LINK = re.compile(r"^(?:X|SYS|NODE|PHB|PXB|PIX|SOC|PSB|NV\d+)$")
_DEVICE = re.compile(r"^(?:GPU|NIC)\d+$|^mlx\w+$|^[a-z]+\d*_\d+$")


class Topology(Record):
    """`links` maps a pair in the order of `devices` to its connection, e.g. "GPU0-GPU1": "NV18"."""

    devices: tuple[str, ...] = ()
    links: dict[str, str] = {}
    cpus: dict[str, str] = {}  # device -> its CPU affinity, e.g. "0-63"
    numa: dict[str, str] = {}  # device -> its NUMA node
    unread: tuple[Unread, ...] = ()

    def text(self) -> str:
        """Return it as one line a fact, the same for the same machine: to be hashed or compared."""
        lines = [f"{pair} {link}" for pair, link in self.links.items()]
        lines += [f"{d} cpus {self.cpus.get(d, '?')} numa {self.numa.get(d, '?')}" for d in self.devices]
        return "\n".join(lines)


def read_topology(text: str) -> Topology:
    """Read the matrix above the legend. Pairs whose two cells contradict each other are in `unread`."""
    devices: tuple[str, ...] = ()
    rows: dict[str, list[str]] = {}
    cpus: dict[str, str] = {}
    numa: dict[str, str] = {}
    unread: list[Unread] = []
    for number, raw in enumerate(writable(text).split("\n"), start=1):
        line = _ESCAPE.sub("", raw)
        if line.strip().lower().startswith(("legend", "nic legend")):
            break
        cells = [c.strip() for c in (line.split("\t") if "\t" in line else re.split(r"\s{2,}", line))]
        if not any(cells):
            continue
        if not devices:
            devices = tuple(c for c in cells if _DEVICE.match(c))
            if not devices:
                unread.append(Unread(line=number, text=raw[:_SHOWN], why="no header of a matrix"))
            continue
        cells = cells if cells[0] else cells[1:]
        links = cells[1 : len(devices) + 1]
        if cells[0] not in devices or len(links) < len(devices) or not all(map(_LINK.match, links)):
            unread.append(Unread(line=number, text=raw[:_SHOWN], why="no row of the matrix"))
            continue
        rows[cells[0]] = links
        near = [c for c in cells[len(devices) + 1 :] if c and c != "N/A"]
        cpus |= {cells[0]: near[0]} if near else {}
        numa |= {cells[0]: near[1]} if len(near) > 1 else {}
    return Topology(
        devices=devices,
        links=_pairs(devices, rows, unread),
        cpus=cpus,
        numa=numa,
        unread=tuple(unread),
    )


def _pairs(devices: tuple[str, ...], rows: dict[str, list[str]], unread: list[Unread]) -> dict[str, str]:
    links = {}
    for (i, a), (j, b) in combinations(enumerate(devices), 2):
        told = {rows[x][y] for x, y in ((a, j), (b, i)) if x in rows}
        if len(told) == 1:
            links[f"{a}-{b}"] = told.pop()
        elif told:
            unread.append(Unread(text=f"{a} {b}: {', '.join(sorted(told))}", why="the two cells differ"))
    return links
