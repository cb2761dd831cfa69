"""Which way data takes between GPUs and machines: switches that contradict or that have nothing to switch."""

from __future__ import annotations

from collections.abc import Iterator

from tokgate.records.nccl import NcclLint

from .numbers import read_number
from .settings import Settings

P2P = "NCCL 2.30.7 src/graph/paths.cc, ncclGetLevel"
SHM = "NCCL 2.30.7 src/transport/shm.cc, shmCanConnect"
_NETWORK = (
    "NCCL_IB_",
    "NCCL_NET_GDR_",
    "NCCL_CROSS_NIC",
    "NCCL_NSOCKS_",
    "NCCL_SOCKET_NTHREADS",
    "NCCL_PXN_",
)


def transports(s: Settings) -> Iterator[NcclLint]:
    no_p2p, no_shm = _on(s, "NCCL_P2P_DISABLE"), _on(s, "NCCL_SHM_DISABLE")
    level = s.variables.get("NCCL_P2P_LEVEL")
    if no_p2p and level is not None:
        yield s.found(
            "NCCL_P2P_LEVEL",
            "note" if level == "LOC" else "warning",
            what="NCCL_P2P_DISABLE=1 comes first: the level is never read, and no GPU reaches another's memory",
            do="keep one of the two",
            source=P2P,
        )
    elif s.variables.get("NCCL_P2P_DISABLE") and not no_p2p and s.number("NCCL_P2P_DISABLE") != 0:
        yield s.found(
            "NCCL_P2P_DISABLE",
            "warning",
            what=f"only 1 disables: {s.number('NCCL_P2P_DISABLE')} leaves P2P on",
            do="write 1, or take it out",
            source=P2P,
        )
    if (no_p2p or level == "LOC") and no_shm:
        yield s.found(
            "NCCL_SHM_DISABLE",
            "warning",
            what="with P2P and shared memory both off, GPUs of one machine talk through the network",
            do="leave one of the two on, unless that is what is measured",
            source=SHM,
        )
    yield from _nvls(s)
    if s.nodes < 2 and not no_shm:
        idle = sorted(n for n in s.variables if n.startswith(_NETWORK))
        for name in idle:
            yield s.found(
                name,
                "note",
                what="it is about the network between machines, and this server has one",
                do="take it out, or keep it for the day there are more",
                source="NCCL 2.30.7 src/transport.cc: P2P and SHM are tried before the network",
            )


def _nvls(s: Settings) -> Iterator[NcclLint]:
    if s.number("NCCL_NVLS_ENABLE") == 1:
        yield s.found(
            "NCCL_NVLS_ENABLE",
            "note",
            what="it forces NVLink multicast: where its resources cannot be had, NCCL does not initialise",
            do="let --enable-nccl-nvls set it, or leave it out: SGLang then sets 0",
            source="NCCL 2.30.7 src/transport/nvls.cc, ncclNvlsInit and ncclNvlsBufferSetup",
        )
    algo = s.variables.get("NCCL_ALGO", "")
    if s.number("NCCL_NVLS_ENABLE") == 0 and "nvls" in algo.lower() and "^" not in algo:
        yield s.found(
            "NCCL_ALGO",
            "warning",
            what="it names NVLS, which NCCL_NVLS_ENABLE=0 switches off",
            do="take one of the two out",
            source="NCCL 2.30.7 src/transport/nvls.cc, ncclNvlsInit",
        )


def _on(s: Settings, name: str) -> bool:
    """Only 1 switches off; `true` is read as 0."""
    text = s.variables.get(name)
    return bool(text) and read_number(text or "").value == 1
