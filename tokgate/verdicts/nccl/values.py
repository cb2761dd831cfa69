"""What NCCL says of a variable, against what was wanted: in its own words, and by what it does."""

from __future__ import annotations

import re
from collections.abc import Callable

from tokgate.records.nccl import NcclMark, NcclRank, NcclTaken

# Mark, value, words.
Found = tuple[NcclMark, str | None, str]

# Read before NCCL can print, so that no line ever confirms them (NCCL 2.28, src/debug.cc, src/misc/param.cc).
SILENT = frozenset(
    {
        "NCCL_DEBUG",
        "NCCL_DEBUG_SUBSYS",
        "NCCL_DEBUG_FILE",
        "NCCL_DEBUG_TIMESTAMP_FORMAT",
        "NCCL_DEBUG_TIMESTAMP_LEVELS",
        "NCCL_CONF_FILE",
        "NCCL_WARN_ENABLE_DEBUG_INFO",
    }
)
# Read only where something leaves the machine.
ON_NETWORK = ("NCCL_IB_", "NCCL_NET", "NCCL_SOCKET_", "NCCL_CROSS_NIC", "NCCL_GDR", "NCCL_COLLNET")
MOST_CHANNELS = 64  # MAXCHANNELS, src/include/device.h: more are cut without a word
# NCCL_P2P_LEVEL in its old spelling, which NCCL prints in the new one (src/graph/paths.cc, levelsOldToNew).
_OLD_LEVELS = {"0": "LOC", "1": "PIX", "2": "PXB", "3": "PHB", "4": "SYS", "5": "SYS"}
_UNITS = {"NCCL_BUFFSIZE": "bytes", "NCCL_LL_BUFFSIZE": "bytes", "NCCL_LL128_BUFFSIZE": "bytes"}
_PREFIX = re.compile(r"\s*([+-]?\d+)")
_SILENT_BEYOND = "NCCL prints nothing of it beyond the value it read"
_RANK_0 = "printed by rank 0 only"


def same(variable: str, wanted: str, printed: str) -> bool:
    """Say whether NCCL printed what was wanted: texts as they are, numbers as numbers (0x10 is 16)."""
    if variable == "NCCL_P2P_LEVEL":
        wanted = _OLD_LEVELS.get(wanted, wanted)
    if wanted == printed:
        return True
    one, other = _whole(wanted), _whole(printed)
    return one is not None and one == other


def difference(variable: str, text: str, printed: str) -> str:
    """Say how NCCL's value differs from `text`, which the rank was started with."""
    prefix = _PREFIX.match(text)
    if _whole(text) is None and prefix and printed == str(int(prefix[1])):
        unit = _UNITS.get(variable)
        return f"read as {printed}{f' ({unit})' if unit else ''}"
    return f"another value: {printed}"


def effect(variable: str, wanted: str, rank: NcclRank, taken: NcclTaken | None) -> Found:
    """Return what became of a variable in `rank`, as far as NCCL shows it; `taken` is its confirmation."""
    judge = _EFFECTS.get(variable)
    found = judge(variable, wanted, rank) if judge else None
    if found is not None:
        other = taken is not None and not same(variable, wanted, taken.value)
        if other and found[0] is NcclMark.PROVEN and found[1] != wanted and (found[1] or "").isdigit():
            # Fewer than allowed, and not for want of more: NCCL was told another number.
            return (NcclMark.REFUTED, found[1], f"another value: {found[2]}")
        return found
    if taken is None:
        return (NcclMark.UNKNOWN, None, "nothing shows what holds in its place")
    if same(variable, wanted, taken.value):
        return (NcclMark.SILENT, taken.value, _SILENT_BEYOND)
    return (NcclMark.REFUTED, taken.value, difference(variable, wanted, taken.value))


def _most_channels(variable: str, wanted: str, rank: NcclRank) -> Found | None:
    del variable
    asked, has = _whole(wanted), rank.channels
    if asked is None or has is None:
        return None
    told = f"{has} coll channels"
    if has > asked:
        return (NcclMark.REFUTED, str(has), f"another value: {told}")
    if has < asked and has == MOST_CHANNELS:
        return (NcclMark.REFUTED, str(has), f"clamped: {told}")
    return (NcclMark.PROVEN, str(has), told + ("" if has == asked else f" of the {asked} allowed"))


def _least_channels(variable: str, wanted: str, rank: NcclRank) -> Found | None:
    del variable
    asked, has = _whole(wanted), rank.channels
    if asked is None or has is None:
        return None
    told = f"{has} coll channels"
    if has >= asked:
        return (NcclMark.PROVEN, str(has), told)
    return (
        NcclMark.REFUTED,
        str(has),
        f"clamped: {told}" if has == MOST_CHANNELS else f"another value: {told}",
    )


def _matrix(variable: str, wanted: str, rank: NcclRank) -> Found | None:
    allowed = rank.algorithms if variable == "NCCL_ALGO" else rank.protocols
    names, without = _names(wanted)
    if names is None:
        return (NcclMark.UNKNOWN, None, "a value by function is not compared with the matrix")
    if allowed is None:
        if rank.rank != 0:
            return (NcclMark.SILENT, None, _RANK_0)
        if not rank.complete:
            return None
        return (NcclMark.REFUTED, None, "no enabled matrix is printed: nothing is restricted")
    has = {name.lower() for name in allowed}
    told = ", ".join(allowed) or "nothing"
    if not (has & names if without else has ^ names):
        return (NcclMark.PROVEN, told, f"the matrix allows {told} for AllReduce")
    return (NcclMark.REFUTED, told, f"another value: the matrix allows {told} for AllReduce")


def _threads(variable: str, wanted: str, rank: NcclRank) -> Found | None:
    pair = "Ring/LL128" if variable == "NCCL_LL128_NTHREADS" else "Ring/LL"
    asked, has = _whole(wanted), rank.threads.get(pair)
    if has is None:
        return (NcclMark.SILENT, None, _RANK_0) if rank.rank != 0 else None
    if asked is None or has == asked:
        return (NcclMark.PROVEN, str(has), f"at most {has} threads ({pair})")
    return (NcclMark.REFUTED, str(has), f"clamped: at most {has} threads ({pair})")


def _links(variable: str, wanted: str, rank: NcclRank) -> Found | None:
    del variable, wanted
    if not rank.links:
        return None
    told = ", ".join(f"{n} {kind}" for kind, n in sorted(rank.links.items()))
    return (NcclMark.PROVEN, ", ".join(sorted(rank.links)), f"links: {told}")


def _level(variable: str, wanted: str, rank: NcclRank) -> Found | None:
    """Peer-to-peer at every distance leaves no link through shared memory."""
    found = _links(variable, wanted, rank)
    roundabout = [kind for kind in rank.links if kind.startswith("SHM")]
    if found is None or not roundabout or _OLD_LEVELS.get(wanted, wanted) != "SYS":
        return found
    return (NcclMark.REFUTED, found[1], f"without effect: {found[2]}")


_EFFECTS: dict[str, Callable[[str, str, NcclRank], Found | None]] = {
    "NCCL_MAX_NCHANNELS": _most_channels,
    "NCCL_MAX_CTAS": _most_channels,
    "NCCL_MIN_NCHANNELS": _least_channels,
    "NCCL_MIN_CTAS": _least_channels,
    "NCCL_ALGO": _matrix,
    "NCCL_PROTO": _matrix,
    "NCCL_NTHREADS": _threads,
    "NCCL_LL128_NTHREADS": _threads,
    "NCCL_P2P_LEVEL": _level,
    "NCCL_P2P_DISABLE": _links,
    "NCCL_SHM_DISABLE": _links,
}


def _names(wanted: str) -> tuple[frozenset[str] | None, bool]:
    """Return the names of a plain list and whether it excludes; None for the syntax by function."""
    if ":" in wanted or ";" in wanted:
        return None, False
    words = [w.strip().lower() for w in wanted.removeprefix("^").split(",") if w.strip()]
    return frozenset(words), wanted.startswith("^")


def _whole(text: str) -> int | None:
    """Read a number as strtoll(…, 0) does, or None where something else follows it."""
    try:
        return int(text.strip(), 0)
    except ValueError:
        return int(text) if text.strip().isdecimal() else None
