"""NCCL_DEBUG and its like: logging has its own start, a timed one should not pay for it."""

from __future__ import annotations

from collections.abc import Iterator

from tokgate.records.nccl import NcclLint
from tokgate.rig.nearest import nearest
from tokgate.rig.spelling import spell

from .settings import Settings

SOURCE = "NCCL 2.30.7 src/debug.cc"
_LEVELS = ("VERSION", "WARN", "INFO", "ABORT", "TRACE")
_SUBSYSTEMS = (
    *("INIT", "COLL", "P2P", "SHM", "NET", "GRAPH", "TUNING", "ENV", "ALLOC", "CALL", "PROXY", "NVLS"),
    *("BOOTSTRAP", "REG", "PROFILE", "RAS", "ALL", "ALLOC_HOST", "DESTROY"),
)
# These write at every call, so at every token.
_EVERY_CALL = {"COLL", "CALL", "TUNING", "P2P", "PROXY", "ALL", "NET"}
_AWAY = "take it out: the proof start sets it itself"


def speaking(s: Settings) -> Iterator[NcclLint]:
    level = s.variables.get("NCCL_DEBUG")
    if level and level.upper() not in _LEVELS:
        close = nearest(level.strip(), _LEVELS)
        yield s.found(
            "NCCL_DEBUG",
            "warning",
            what=f"NCCL knows no level {spell(level)} and says nothing",
            do=f"write {close}" if close else "write one of " + ", ".join(_LEVELS),
            source=SOURCE,
        )
    talks = (level or "").upper() in ("INFO", "ABORT", "TRACE")
    words = s.variables.get("NCCL_DEBUG_SUBSYS")
    asked = [w for w in (words or "").removeprefix("^").split(",") if w]
    per_call = words is not None and (words.startswith("^") or bool(_EVERY_CALL & {w.upper() for w in asked}))
    if talks:
        heavy = per_call or (level or "").upper() == "TRACE"
        yield s.found(
            "NCCL_DEBUG",
            "warning" if heavy else "note",
            what="NCCL writes to the log at every call, inside what is timed"
            if heavy
            else "NCCL writes to the log while it initialises",
            do=_AWAY,
            source=SOURCE,
        )
    elif words is not None:
        yield s.found(
            "NCCL_DEBUG_SUBSYS",
            "note",
            what="it chooses among what NCCL_DEBUG=INFO would write, and nothing is written",
            do=_AWAY,
            source=SOURCE,
        )
    unknown = [w for w in asked if w.upper() not in _SUBSYSTEMS]
    if unknown:
        yield s.found(
            "NCCL_DEBUG_SUBSYS",
            "warning",
            what=f"NCCL drops {', '.join(map(spell, unknown))}: no subsystem of that name",
            do="name some of " + ", ".join(_SUBSYSTEMS),
            source=SOURCE,
        )
    if s.variables.get("NCCL_DEBUG_FILE"):
        yield _file(s, s.variables["NCCL_DEBUG_FILE"])


def _file(s: Settings, path: str) -> NcclLint:
    alone = "%p" in path
    return s.found(
        "NCCL_DEBUG_FILE",
        "warning",
        what="it takes NCCL's lines away from the server's log, where they are looked for"
        + ("" if alone else ", and without %p every rank begins the same file anew"),
        do="take it out",
        source=SOURCE,
    )
