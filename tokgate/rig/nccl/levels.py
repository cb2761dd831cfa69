"""NCCL_P2P_LEVEL and its like: path types in capitals, or the old numbers; anything else is ignored."""

from __future__ import annotations

from collections.abc import Iterator

from tokgate.records.nccl import NcclLint
from tokgate.rig.nearest import nearest
from tokgate.rig.spelling import spell

from .numbers import as_int, read_number
from .settings import Settings
from .versions import Version

SOURCE = "NCCL 2.30.7 src/graph/paths.cc, ncclGetLevel; src/graph/topo.cc, topoPathTypeStr"
VARIABLES = ("NCCL_P2P_LEVEL", "NCCL_NET_GDR_LEVEL")

_DOCUMENTED: dict[str, tuple[str, ...]] = {
    "NCCL_P2P_LEVEL": ("LOC", "NVL", "PIX", "PXB", "PHB", "SYS"),
    "NCCL_NET_GDR_LEVEL": ("LOC", "PIX", "PXB", "PHB", "SYS"),
}
_OLD = ("LOC", "PIX", "PXB", "PHB", "SYS", "SYS")  # levelsOldToNew


def levels(s: Settings) -> Iterator[NcclLint]:
    for name in VARIABLES:
        text = s.variables.get(name)
        if text is None:
            continue
        if text in _accepted(s.version):
            if text not in _DOCUMENTED[name]:
                yield s.found(
                    name,
                    "note",
                    what=f"{text} is one of NCCL's inner names of a path: read, and not documented",
                    do=f"one of {', '.join(_DOCUMENTED[name])} means the same tomorrow",
                    source=SOURCE,
                )
        elif text[:1].isascii() and text[:1].isdigit():
            yield _old_number(s, name, text)
        else:
            close = nearest(text.strip(" \t\n\"'"), _DOCUMENTED[name])
            yield s.found(
                name,
                "warning",
                what=f"NCCL ignores {spell(text)} without a word: it knows {', '.join(_DOCUMENTED[name])}, in capitals",
                do=f"write {close}" if close else "write one of them, or take it out",
                source=SOURCE,
            )


def _old_number(s: Settings, name: str, text: str) -> NcclLint:
    read = read_number(text)
    number = -1 if read.overflow else as_int(read.value)
    if number < 0:
        return s.found(
            name,
            "error",
            what=f"{spell(text)} does not fit: NCCL cuts it to {number} and reads in front of its table of levels",
            do=f"write one of {', '.join(_DOCUMENTED[name])}",
            source=SOURCE,
        )
    means = _OLD[min(number, len(_OLD) - 1)]
    odd = read.rest or number != read.value or number >= len(_OLD) - 1 or read.base != 10
    return s.found(
        name,
        "warning" if odd else "note",
        what=f"{spell(text)} is a level of the old numbering: NCCL takes it for {means}",
        do=f"write {means}",
        source=SOURCE,
    )


def _accepted(version: Version) -> frozenset[str]:
    names = {"LOC", "NVL", "NVB", "PIX", "PXB", "PXN", "PHB", "SYS"}
    if version >= (2, 26, 0):
        names.add("C2C")
    if version >= (2, 27, 0):
        names.add("P2C")
    return frozenset(names)
