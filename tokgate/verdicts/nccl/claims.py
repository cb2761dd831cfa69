"""Whose NCCL lines count for a rank: the log is plain text, and any process may have written into it."""

from __future__ import annotations

from collections.abc import Sequence

from tokgate.records import EnvironmentTruth
from tokgate.records.nccl import NcclProof, NcclRank
from tokgate.records.record import Record

Owner = tuple[int, int]  # node, pid


class Claim(Record):
    """What may be believed of one rank."""

    said: NcclRank | None  # None: nothing that counts
    owners: tuple[Owner, ...] = ()  # of all processes whose lines count
    words: str | None = None  # why not; can be followed by "in rank 3 only"
    refuted: bool = False  # with `words`: it cannot all be true, rather than not known
    warning: str | None = None  # about lines that were passed over


def claims(truth: EnvironmentTruth | None, proof: NcclProof | None) -> dict[int, Claim]:
    """Return, per rank of which NCCL lines speak, whose lines count.

    Only a process of the server speaks for it: one that the environment proof looked at. Where nobody looked, the
    log stands alone. Processes that claim one rank (copies of the server have their own ranks 0 to n) must agree.
    """
    ours = _ours(truth)
    found: dict[int, list[NcclRank]] = {}
    for said in proof.ranks if proof is not None else ():
        found.setdefault(said.rank, []).append(said)
    return {rank: _claim(rank, claimants, ours) for rank, claimants in found.items()}


def _ours(truth: EnvironmentTruth | None) -> frozenset[Owner]:
    if truth is None:
        return frozenset()
    return frozenset({(p.node, p.pid) for p in truth.processes} | {(row.node, row.pid) for row in truth.rows})


def _claim(rank: int, claimants: Sequence[NcclRank], ours: frozenset[Owner]) -> Claim:
    mine = [said for said in claimants if (said.node, said.pid) in ours] if ours else list(claimants)
    others = [said.pid for said in claimants if said not in mine]
    if not mine:
        return Claim(said=None, words=f"said by no process of the server: {_pids(others)} in its log")
    warning = (
        f"rank {rank} is claimed by {_pids(others)} too, no process of the server: what it says does not count"
        if others
        else None
    )
    pids = tuple(said.pid for said in mine)
    differ = any(_differ(mine[0], said) for said in mine[1:])
    return Claim(
        said=mine[0],
        owners=tuple((said.node, said.pid) for said in mine),
        words=f"said differently by {len(pids)} processes: {_pids(pids)}" if differ else None,
        refuted=differ,
        warning=warning,
    )


def _differ(one: NcclRank, other: NcclRank) -> bool:
    """Compare what NCCL took; what a rank alone prints (the matrix, the threads) only where both did."""
    if _taken(one) != _taken(other) or set(one.refused) != set(other.refused):
        return True
    pairs = (
        (one.channels, other.channels),
        (one.algorithms, other.algorithms),
        (one.protocols, other.protocols),
        (one.threads or None, other.threads or None),
    )
    return any(a is not None and b is not None and a != b for a, b in pairs)


def _taken(said: NcclRank) -> dict[str, tuple[str, ...]]:
    return {variable: tuple(t.value for t in taken) for variable, taken in said.accepted.items()}


def _pids(pids: Sequence[int]) -> str:
    shown = ", ".join(map(str, pids[:8])) + (", …" if len(pids) > 8 else "")
    return f"pid {shown}" if len(pids) == 1 else f"pids {shown}"
