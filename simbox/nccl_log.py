"""What NCCL 2.28 writes at NCCL_DEBUG=INFO, as far as it tells what became of the variables."""

from __future__ import annotations

import socket
from collections.abc import Iterator, Mapping, Sequence

from simbox.allreduce import NcclView

VERSION = "2.28.9+cuda13.0"
_FUNCTIONS = ("Broadcast", "Reduce", "AllGather", "ReduceScatter", "AllReduce")
_ALGOS = ("Tree", "Ring", "CollNetDirect", "CollNetChain", "NVLS", "NVLSTree", "PAT")
_PROTOS = ("LL", "LL128", "Simple")


def lines(
    view: NcclView,
    environment: Mapping[str, str],
    *,
    rank: int,
    ranks: int,
    pid: int,
    messages: Sequence[int],
) -> Iterator[str]:
    """Yield one rank's lines. `messages`: bytes of the all-reduces that run, largest first. Nothing without INFO."""
    if environment.get("NCCL_DEBUG", "").upper() not in ("INFO", "TRACE"):
        return
    subsystems = {w.strip() for w in environment.get("NCCL_DEBUG_SUBSYS", "INIT,ENV").upper().split(",")}
    head = f"{socket.gethostname()}:{pid}:{pid} [{rank}] NCCL INFO "

    def on(name: str) -> bool:
        return "ALL" in subsystems or name in subsystems

    comm = f"comm 0x{0x2CE41180 + rank * 0x1000:x} rank {rank} nranks {ranks} cudaDev {rank} nvmlDev {rank} busId {rank + 6}0"
    said = {s.split()[0]: s for s in view.said}
    early = ("NCCL_CUMEM_ENABLE", "NCCL_P2P_LEVEL", "NCCL_NVLS_ENABLE", "NCCL_MAX_NCHANNELS", "NCCL_BUFFSIZE")
    late = ("NCCL_NTHREADS", "NCCL_PROTO", "NCCL_ALGO")
    if on("INIT"):
        yield head + "cudaDriverVersion 13000"
        yield head + f"NCCL version {VERSION}"
        yield head + "Using network Socket"
        yield head + f"ncclCommInitRank {comm} commId 0x161d1d0d4c8547c8 - Init START"
    if on("ENV"):
        yield head + "ENV/Plugin: Could not find: libnccl-env.so"
        yield from (head + said[name] for name in early if name in said)
    if on("INIT"):
        if rank == 0:
            ring = " ".join(str(r) for r in range(ranks))
            yield from (head + f"Channel {c:02d}/{view.channels:02d} : {ring}" for c in range(view.channels))
        yield head + f"P2P Chunksize set to {min(524288, max(1, view.buffer // 8))}"
        via = "P2P/IPC" if "NCCL_P2P_LEVEL" in said else "SHM/direct/direct"
        after = (rank + 1) % ranks
        yield from (
            head + f"Channel {c:02d}/0 : {rank}[{rank}] -> {after}[{after}] via {via}"
            for c in range(view.channels)
        )
        yield head + "Connected all rings, use ring PXN 0 GDR 1"
        yield head + "Connected all trees"
    if on("ENV"):
        yield from (head + said[name] for name in late if name in said)
    if on("TUNING") and rank == 0:
        yield from _tuning(view, head)
    if on("INIT"):
        yield head + f"threadThresholds 8/8/64 | {8 * ranks}/8/64 | {view.threads} | 512"
        c = view.channels
        p2p = c if "NCCL_MAX_NCHANNELS" in said else 32
        yield (
            head
            + f"{c} coll channels, {c} collnet channels, 0 nvls channels, {p2p} p2p channels, {p2p} p2p channels per peer"
        )
        yield head + f"ncclCommInitRank {comm} commId 0x161d1d0d4c8547c8 - Init COMPLETE"
    if on("TUNING") and rank == 0:
        for size in messages:
            top = max(0, min(view.channels - 1, size // 8192 - 1))
            yield (
                head
                + f"AllReduce: {size} Bytes -> Algo {view.algo.upper()} proto {view.proto} channel{{Lo..Hi}}={{0..{top}}}"
            )


def warning(words: str, *, rank: int, pid: int) -> str:
    """Return the line in which NCCL refuses what it was given."""
    return f"{socket.gethostname()}:{pid}:{pid} [{rank}] graph/tuning.cc:249 NCCL WARN {words}"


def late_lines(
    late: Mapping[str, str], environment: Mapping[str, str], *, rank: int, pid: int
) -> Iterator[str]:
    """Yield what a later communicator of the process says of variables that came after the first one was made.

    NCCL asks for algorithm, protocol and the like anew for each communicator; the first one's choice stands.
    """
    if environment.get("NCCL_DEBUG", "").upper() not in ("INFO", "TRACE"):
        return
    for name, value in late.items():
        yield f"{socket.gethostname()}:{pid}:{pid} [{rank}] NCCL INFO {name} set by environment to {value}"


def _tuning(view: NcclView, head: str) -> Iterator[str]:
    if view.restricted:
        # Printed only when something was switched off.
        yield head + "Enabled NCCL Func/Proto/Algo Matrix:"
        columns = "".join(f"{a:>15}" for a in _ALGOS)
        yield f"     Function | {'LL':>8} {'LL128':>9} {'Simple':>9}   |{columns}  "
        for name in _FUNCTIONS:
            protos = " ".join(f"{int(p == view.proto):>9}" for p in _PROTOS)[1:]
            algos = "".join(f"{int(a == view.algo):>15}" for a in _ALGOS)
            yield f"{name:>13} | {protos}   |{algos}  "
        yield ""
    cells = " ".join(f"{p:>14} |" for p in _PROTOS)
    for names in (_ALGOS[:3], _ALGOS[3:6]):
        yield head + "  Algorithm   |" + "".join(f"{n:>32}                  |" for n in names)
        yield head + "  Protocol    |" + " ".join([cells] * len(names))
        threads = {"Ring": (view.threads, 640, view.threads), "Tree": (view.threads, 640, view.threads)}
        row = [f"{t:>14} |" for n in names for t in threads.get(n, (0, 0, 640))]
        yield head + " Max NThreads |" + " ".join(row)
        best = f"{'7.8/ 141.0':>14} |"
        none = f"{'0.0/   0.0':>14} |"
        yield (
            head
            + "    AllReduce |"
            + " ".join(best if (n, p) == (view.algo, view.proto) else none for n in names for p in _PROTOS)
        )
