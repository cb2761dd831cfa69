"""Slowness that a plugin orders while the server runs.

A plugin that slows SGLang's phases keeps the GPU busy in them. The box's GPUs are this model, and its ranks follow the
schedule of main: so main reads the plugin's order itself, where the plugin would have been loaded, and makes the phases
longer. It plays shares of whole phases alone: `verify:+10%, draft:+5%` in the file that TOKGATE_PLANT=@FILE names, read
anew whenever it has changed. In FILE.read it says what it plays, as the plugin does.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import replace
from importlib.metadata import entry_points
from pathlib import Path

from simbox.knobs import Knobs
from simbox.sglang_tree import has_plugins

PLUGIN = "tokgate_plant"
VARIABLE = "TOKGATE_PLANT"
FACTORS = {
    "draft": "draft_factor",
    "verify": "verify_factor",
    "draft_extend": "draft_extend_factor",
    "decode": "decode_factor",
}
_ORDER = re.compile(r"([a-z_]+):\+(\d+(?:\.\d+)?)%")


class Planted:
    """`of` returns the knobs as they are ordered now."""

    def __init__(self, file: Path | None) -> None:
        self._file = file
        self._written = 0
        self._shares: dict[str, float] = {}
        if file is not None:
            self._tell(patched=sorted(FACTORS), waits="gpu (simulated)")

    def of(self, knobs: Knobs) -> Knobs:
        """Return the knobs with the ordered phases longer."""
        if self._file is None:
            return knobs
        try:
            written = self._file.stat().st_mtime_ns
            if written != self._written:
                self._written = written
                self._read(self._file)
        except OSError:
            self._shares = {}
        if not self._shares:
            return knobs
        longer = {
            FACTORS[phase]: getattr(knobs, FACTORS[phase]) * (1 + share)
            for phase, share in self._shares.items()
        }
        return replace(knobs, **longer)

    def _read(self, file: Path) -> None:
        self._shares = {}
        text = file.read_text(encoding="utf-8")
        found = [_ORDER.fullmatch(part.strip()) for part in text.split(",") if part.strip()]
        shares = {match[1]: float(match[2]) / 100 for match in found if match and match[1] in FACTORS}
        if len(shares) < len(found):
            self._tell(refused=f"the simulated box does not play {text.strip()[:200]!r}")
            return
        self._shares = shares
        self._tell(order=text.strip())

    def _tell(self, **what: object) -> None:
        if self._file is None:
            return
        try:
            with self._file.with_name(f"{self._file.name}.read").open("a", encoding="utf-8") as told:
                told.write(json.dumps({"pid": os.getpid(), **what}) + "\n")
        except OSError:
            return


def planted(environment: Mapping[str, str], version: str) -> Planted:
    """Return what the order in this environment makes of the knobs; nothing where the plugin would not be loaded."""
    order = environment.get(VARIABLE, "")
    allowed = {name.strip() for name in environment.get("SGLANG_PLUGINS", "").split(",") if name.strip()}
    loaded = (
        has_plugins(version)
        and (not allowed or PLUGIN in allowed)
        and any(entry.name == PLUGIN for entry in entry_points(group="sglang.srt.plugins"))
    )
    return Planted(Path(order[1:]) if loaded and order.startswith("@") else None)
