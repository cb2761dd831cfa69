"""The plant on the host: laid out for one server run, ordered while it runs, asked what it took up."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tokgate.errors import BenchFault
from tokgate.hosts.connection import Host
from tokgate.server.command_line import Equipment, Extra

from .carried import carried

PLANT = "plant"  # its folder in the checkout
ORDER = "plant-order"
FIRST = (0, 5, 11)  # of SGLang: the plugin framework
_WHY = "what it says is planted into this server while it runs, so that the gate can be seen to find it"


@dataclass
class Plant:
    """Of one server run: `equip` before it starts, `order` while it runs."""

    host: Host
    root: Path  # the folder that has the plant
    path: str | None = field(default=None, init=False)

    def equip(self, there: str) -> Equipment:
        """Lay the plant out on the host, with nothing ordered. BenchFault: it cannot be laid out."""
        self.path = f"{there}/{ORDER}"
        self.host.write_file(self.path, "")
        folder = carried(
            self.host,
            self.root,
            PLANT,
            there,
            tried="to equip a server run with the plant",
            do="run the self-test from a whole checkout, or install tokgate anew",
        )
        return Equipment(python_path=(folder,), variables=(Extra("TOKGATE_PLANT", f"@{self.path}", _WHY),))

    def order(self, text: str) -> None:
        """From the next call of a phase on this is planted; "" is nothing. BenchFault: it cannot be written."""
        self.host.write_file(self._place(), text)

    def patched(self) -> tuple[str, ...]:
        """Return what the plant slows in this server; nothing where it was not loaded."""
        found = [line["patched"] for line in self._told() if isinstance(line.get("patched"), list)]
        return tuple(str(name) for names in found for name in names)

    def why_not(self, text: str) -> str | None:
        """Say why `text` was not planted, as far as the plant tells; None: it took it up."""
        told = self._told()
        orders = {line.get("pid"): line["order"] for line in told if "order" in line}
        if orders and all(order == text for order in orders.values()):
            return None
        refused = [str(line["refused"]) for line in told if "refused" in line]
        return refused[-1] if refused else "the plant never read it: no call of a phase went through it"

    def _told(self) -> list[dict[str, Any]]:
        found = self.host.run("cat -- %s", f"{self._place()}.read")
        if found.rc != 0:
            return []
        lines = []
        for text in found.stdout.splitlines():
            try:
                line = json.loads(text)
            except ValueError:
                continue
            if isinstance(line, dict):
                lines.append(line)
        return lines

    def _place(self) -> str:
        if self.path is None:
            raise BenchFault(
                tried="to plant a slowdown",
                found="the server run was never equipped for it",
                do="this is a defect of the self-test",
            )
        return self.path


def too_old(version: str | None) -> str | None:
    """Say why nothing can be planted into this SGLang; None where it can, or where the version tells nothing."""
    match = re.match(r"(\d+)\.(\d+)\.(\d+)", version or "")
    if match is None or tuple(map(int, match.groups())) >= FIRST:
        return None
    first = ".".join(map(str, FIRST))
    return f"SGLang {version} has no plugin framework, which loads the plant: it came with {first}"
