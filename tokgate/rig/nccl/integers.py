"""Whole numbers: what NCCL makes of text behind the digits, of other bases, of numbers too large or negative."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tokgate.records.nccl import NcclLint
from tokgate.rig.spelling import spell

from .known import Known, is_known, variables
from .numbers import SOURCE, Read, as_int, meant, read_number
from .settings import Settings

_UNSET = -2  # the default of many: it stands for "not set" in NCCL's own code
_INT = "NCCL 2.30.7 src/init.cc, src/graph/connect.cc and src/graph/tuning.cc: kept in an int"
_MANUAL = "NCCL 2.30.7 docs/userguide/source/env.rst"
# Kept in a C int: a larger number is cut without a word. What becomes of them is judged in buffers and channels.
_KEPT_IN_INT = {
    "NCCL_BUFFSIZE",
    "NCCL_LL_BUFFSIZE",
    "NCCL_LL128_BUFFSIZE",
    "NCCL_NTHREADS",
    "NCCL_LL128_NTHREADS",
    "NCCL_MIN_NCHANNELS",
    "NCCL_MAX_NCHANNELS",
    "NCCL_MIN_NRINGS",
    "NCCL_MAX_NRINGS",
    "NCCL_MIN_CTAS",
    "NCCL_MAX_CTAS",
    "NCCL_CGA_CLUSTER_SIZE",
}


class _Range(NamedTuple):
    least: int
    most: int


_DOCUMENTED = {
    "NCCL_CGA_CLUSTER_SIZE": _Range(0, 8),
    "NCCL_CROSS_NIC": _Range(0, 2),
    "NCCL_CUMEM_ENABLE": _Range(0, 1),
    "NCCL_GRAPH_MIXING_SUPPORT": _Range(0, 1),
    "NCCL_IB_DISABLE": _Range(0, 1),
    "NCCL_IB_PCI_RELAXED_ORDERING": _Range(0, 2),
    "NCCL_IB_QPS_PER_CONNECTION": _Range(1, 128),
    "NCCL_IB_RETRY_CNT": _Range(0, 7),
    "NCCL_IB_TIMEOUT": _Range(0, 31),
    "NCCL_MNNVL_ENABLE": _Range(0, 2),
    "NCCL_NET_GDR_READ": _Range(0, 1),
    "NCCL_NVLS_ENABLE": _Range(0, 2),
    "NCCL_P2P_DISABLE": _Range(0, 1),
    "NCCL_P2P_PXN_LEVEL": _Range(0, 2),
    "NCCL_SHM_DISABLE": _Range(0, 1),
    "NCCL_SOCKET_NTHREADS": _Range(1, 16),
}


def integers(s: Settings) -> Iterator[NcclLint]:
    for name, text in s.variables.items():
        known = variables().get(name)
        if known is None or known.kind != "integer" or not is_known(name, s.version):
            continue
        if not text:
            yield s.found(
                name,
                "note",
                what="it is empty, which is the same as not set",
                do="take it out, or write a number",
                source=SOURCE,
            )
            continue
        read = read_number(text)
        wrong = _misread(s, name, text, read)
        yield from ([wrong] if wrong is not None else _unusual(s, known, text, read.value))


def _misread(s: Settings, name: str, text: str, read: Read) -> NcclLint | None:
    if read.overflow:
        return s.found(
            name,
            "warning",
            what=f"{spell(text)} is beyond 64 bits: NCCL drops it and takes its default",
            do="write a number that is meant",
            source=SOURCE,
        )
    if read.rest.strip():
        wanted = meant(text)
        return s.found(
            name,
            "warning",
            what=f"NCCL reads {spell(text)} as {read.value}: "
            + ("it is no number" if read.rest == text else f"{spell(read.rest)} is dropped without a word"),
            do=f"write {wanted}" if wanted is not None else "write the whole number in digits",
            source=SOURCE,
        )
    if name in _KEPT_IN_INT and as_int(read.value) != read.value:
        return s.found(
            name,
            "warning",
            what=f"{read.value} is cut to {as_int(read.value)}: NCCL keeps 32 bits of it",
            do="write a number below 2147483648",
            source=_INT,
        )
    if read.base == 8:
        return s.found(
            name,
            "warning",
            what=f"NCCL reads {spell(text)} as {read.value}: digits behind a 0 are octal",
            do=f"write {text.strip().lstrip('0')}, or {read.value}",
            source=SOURCE,
        )
    return None


def _unusual(s: Settings, known: Known, text: str, value: int) -> Iterator[NcclLint]:
    name = known.name
    documented = _DOCUMENTED.get(name)
    if value == _UNSET and known.default == _UNSET:
        yield s.found(
            name,
            "note",
            what="-2 is what NCCL itself stands for not set: it changes nothing",
            do="take it out",
            source=SOURCE,
        )
    elif known.default is not None and value == known.default:
        yield s.found(
            name,
            "note",
            what=f"{value} is NCCL's own default: it changes nothing",
            do="take it out, or keep it as a reminder",
            source=SOURCE,
        )
    elif documented is not None and not documented.least <= value <= documented.most:
        yield s.found(
            name,
            "warning",
            what=f"{value} is outside of {documented.least} to {documented.most}, the documented values",
            do="write one of those",
            source=f"{_MANUAL}, {name}",
        )
    elif value < 0 and name not in _KEPT_IN_INT and (known.default or 0) >= 0:
        yield s.found(
            name,
            "warning",
            what=f"{value} is negative, and nothing tells what NCCL does with that here",
            do="write a number that is not negative",
            source=f"{_MANUAL}, {name}",
        )
    elif text.strip()[:2].lower() == "0x":
        yield s.found(
            name,
            "note",
            what=f"NCCL reads {spell(text)} as {value}",
            do="nothing, if that is meant",
            source=SOURCE,
        )
