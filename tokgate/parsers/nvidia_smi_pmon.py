"""`nvidia-smi pmon`: who uses each GPU, sample after sample, under a header that starts with '#'."""

from __future__ import annotations

import re

from tokgate.records.record import Record, Unread

from .foreign_json import writable

_SHOWN = 500
_WHOLE = re.compile(r"[0-9]{1,12}")


class PmonRow(Record):
    """One process in one sample. None stands for "-": idle, or the card does not say."""

    gpu_index: int
    pid: int
    kind: str | None = None
    sm: float | None = None  # per cent
    mem: float | None = None  # per cent
    command: str | None = None


class Pmon(Record):
    rows: tuple[PmonRow, ...] = ()
    unread: tuple[Unread, ...] = ()


def read_pmon(text: str) -> Pmon:
    """Read all samples, in order. A GPU without a process has a row of dashes, which is left out."""
    rows: list[PmonRow] = []
    unread: list[Unread] = []
    columns: list[str] = []
    for number, line in enumerate(writable(text).split("\n"), start=1):
        words = line.split()
        if not words:
            continue
        if words[0].startswith("#"):
            names = [w.lower() for w in line.lstrip("# \t").split()]
            # The second header line has the units.
            columns = names if {"gpu", "pid"} <= set(names) else columns
            continue
        # The command is last, and the only one that may hold blanks.
        cells = dict(zip(columns, line.split(maxsplit=max(len(columns) - 1, 0)), strict=False))
        gpu, pid = cells.get("gpu", ""), cells.get("pid", "")
        if _WHOLE.fullmatch(gpu) and pid == "-":
            continue
        if not (_WHOLE.fullmatch(gpu) and _WHOLE.fullmatch(pid)):
            why = "no row of a process" if columns else "a row before any header"
            unread.append(Unread(line=number, text=line[:_SHOWN], why=why))
            continue
        rows.append(
            PmonRow(
                gpu_index=int(gpu),
                pid=int(pid),
                kind=_known(cells.get("type")),
                sm=_number(cells.get("sm")),
                mem=_number(cells.get("mem")),
                command=_known((cells.get("command") or cells.get("name") or "-").strip()),
            )
        )
    return Pmon(rows=tuple(rows), unread=tuple(unread))


def _known(word: str | None) -> str | None:
    return None if word in {None, "-", ""} else word


def _number(word: str | None) -> float | None:
    return float(word) if word is not None and re.fullmatch(r"[0-9]{1,6}(\.[0-9]{1,6})?", word) else None
