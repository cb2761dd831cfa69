"""Buffer sizes and threads: for which protocol they count, and which values NCCL changes."""

from __future__ import annotations

from collections.abc import Iterator

from tokgate.records.nccl import NcclLint

from .choices import protocols_of_all_reduce
from .numbers import as_int
from .settings import Settings

SIZES = "NCCL 2.30.7 src/init.cc, computeBuffSizes; src/enqueue.cc, calcCollChunking"
THREADS = "NCCL 2.30.7 src/graph/tuning.cc, getNthreads"
_WARP = 32
_UNSET = -2
_SMALL = 64 << 10
# Variable -> (the protocol it is for, its default in bytes).
_BUFFERS = {
    "NCCL_BUFFSIZE": ("Simple", 4 << 20),
    "NCCL_LL_BUFFSIZE": ("LL", 8 * 512 * 8 * 16),
    "NCCL_LL128_BUFFSIZE": ("LL128", 120 * 640 * 8 * 8),
}


def buffers(s: Settings) -> Iterator[NcclLint]:
    for name, (protocol, default) in _BUFFERS.items():
        size = s.number(name)
        if size is None or size == _UNSET:
            continue
        size = as_int(size)
        if size <= 0:
            yield s.found(
                name,
                "error",
                what=f"NCCL would make buffers of {size} bytes",
                do=f"write a size in bytes; the default is {default}",
                source=SIZES,
            )
        elif size < _SMALL:
            yield s.found(
                name,
                "warning",
                what=f"buffers of {size} bytes cut every message into crumbs; the default is {default}",
                do="write the size in bytes, without a suffix",
                source=SIZES,
            )
        elif size == default:
            yield s.found(
                name,
                "note",
                what=f"{size} is NCCL's own default: it changes nothing",
                do="take it out, or keep it as a reminder",
                source=SIZES,
            )
        elif name == "NCCL_BUFFSIZE" and size & (size - 1):
            yield s.found(
                name,
                "note",
                what=f"{size} is no power of 2, which NCCL recommends;"
                " wrong results were reported with 1000000 and 480 threads (NVIDIA/nccl#698)",
                do=f"write {1 << (size.bit_length() - 1)} or {1 << size.bit_length()}",
                source="NCCL 2.30.7 docs/userguide/source/env.rst, NCCL_BUFFSIZE",
            )
        if protocol not in protocols_of_all_reduce(s):
            yield s.found(
                name,
                "note",
                what=f"it is the buffer of protocol {protocol}, which the settings leave out for all-reduce:"
                " it changes memory, not the speed of all-reduce",
                do="take it out, or allow that protocol in NCCL_PROTO",
                source=SIZES,
            )


def threads(s: Settings) -> Iterator[NcclLint]:
    for name, least, most in (("NCCL_NTHREADS", 2 * _WARP, 512), ("NCCL_LL128_NTHREADS", 160, 640)):
        number = s.number(name)
        if number is None or number == _UNSET:
            continue
        yield from _threads(s, name, as_int(number), least, most)
        used = protocols_of_all_reduce(s)
        covered = {"LL128"} if name == "NCCL_LL128_NTHREADS" else {"LL", "Simple"}
        if not covered & used:
            yield s.found(
                name,
                "warning",
                what=f"it counts for {' and '.join(sorted(covered))} only, and the settings leave all-reduce none of it",
                do="take it out, or allow such a protocol in NCCL_PROTO",
                source=THREADS,
            )
        elif number == most and used == {"LL"}:
            yield s.found(
                name,
                "note",
                what=f"{most} is what protocol LL has anyway: it changes nothing",
                do="take it out, or keep it as a reminder",
                source=THREADS,
            )


def _threads(s: Settings, name: str, number: int, least: int, most: int) -> Iterator[NcclLint]:
    becomes = None
    if number <= 0:
        becomes = "its default"
        why = "it is not above 0"
    elif number % _WARP:
        becomes = f"the maximum, {most}"
        why = f"it is no multiple of {_WARP}"
    elif number > most:
        becomes, why = f"the maximum, {most}", "it is above that"
    elif number < least:
        becomes, why = f"the minimum, {least}", "it is below that"
    if becomes is not None:
        yield s.found(
            name,
            "warning",
            what=f"NCCL takes {becomes} in place of {number}: {why}",
            do=f"write a multiple of {_WARP} between {least} and {most}",
            source=THREADS,
        )
    elif name == "NCCL_NTHREADS" and number not in (64, 128, 256, 512):
        yield s.found(
            name,
            "warning",
            what=f"{number} is taken, but only 64, 128, 256 and 512 are documented;"
            " wrong results were reported with 480 (NVIDIA/nccl#698)",
            do="write one of those four",
            source="NCCL 2.30.7 docs/userguide/source/env.rst, NCCL_NTHREADS",
        )
