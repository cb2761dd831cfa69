"""A proof start as a healthy box of two ranks leaves it; tests plant one fault at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tests.verdicts.evidence import make_launch, make_rig
from tokgate.records import EnvironmentTruth, LaunchEvidence, StopRecord, VariableState, VariableTruth
from tokgate.records.nccl import KernelUse, NcclProof, NcclRank, NcclTaken, RankProfile
from tokgate.rig.models import Rig

BLOCK = {
    "NCCL_PROTO": "LL",
    "NCCL_ALGO": "Ring",
    "NCCL_P2P_LEVEL": "SYS",
    "NCCL_MAX_NCHANNELS": "16",
    "NCCL_BUFFSIZE": "16777216",
    "NCCL_NTHREADS": "512",
}
NAME = "00-nccl-proof"
MAIN = 100
ALL_REDUCE = KernelUse(
    name="ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgs)",
    calls=130,
    total_us=900.0,
    in_steps=122,
)
CUSTOM = KernelUse(name="cross_device_reduce_1stage", calls=130, total_us=300.0, in_steps=122)


def nccl_rig(block: Mapping[str, str] | None = None, *, ranks: int = 2, **changes: Any) -> Rig:
    return make_rig(
        gpus={"count": ranks},
        server={
            "python": "/opt/ml/bin/python",
            "model_path": "/models/target",
            "args": {"tp_size": ranks},
            "nccl": dict(BLOCK if block is None else block),
        },
        **changes,
    )


def rank(number: int, block: Mapping[str, str] | None = None, **changes: Any) -> NcclRank:
    """What a rank says that took `block` and runs by it."""
    taken = BLOCK if block is None else block
    fields: dict[str, Any] = {
        "rank": number,
        "pid": MAIN + 1 + number,
        "messages": 90,
        "complete": True,
        "accepted": {
            name: (NcclTaken(value=value, line=40 + n),) for n, (name, value) in enumerate(taken.items())
        },
        "channels": 16,
        "channels_line": 164,
        "links": {"P2P/IPC": 32},
    }
    if number == 0:
        fields |= {"algorithms": ("Ring",), "protocols": ("LL",), "matrix_line": 131}
        fields |= {"threads": {"Ring/LL": 512, "Ring/Simple": 512, "Ring/LL128": 640}, "threads_line": 141}
    return NcclRank(**{**fields, **changes})


def profile(number: int, **changes: Any) -> RankProfile:
    fields: dict[str, Any] = {
        "rank": number,
        "file": f"launches/{NAME}/profile/TP-{number}.json.gz",
        "steps": 1,
        "nccl": (ALL_REDUCE,),
        "kernels": 700,
    }
    return RankProfile(**{**fields, **changes})


def started(
    found: Mapping[int, Mapping[str, str | VariableState | None]] | None = None,
    block: Mapping[str, str] | None = None,
    *,
    ranks: int = 2,
    **changes: Any,
) -> EnvironmentTruth:
    """`found[rank][variable]`: another value, None for absent, or a state. Main has all of it."""
    names = {MAIN: "main"} | {MAIN + 1 + n: f"scheduler TP{n}" for n in range(ranks)}
    rows = []
    for pid, name in names.items():
        planted = (found or {}).get(pid - MAIN - 1, {})
        for variable, wanted in (BLOCK if block is None else block).items():
            value = planted.get(variable, wanted)
            state = VariableState.PRESENT if value == wanted else VariableState.DIFFERENT
            if isinstance(value, VariableState):
                state, value = value, None
            elif value is None:
                state = VariableState.ABSENT
            rows.append(
                VariableTruth(
                    pid=pid, process=name, variable=variable, wanted=wanted, found=value, state=state
                )
            )
    return EnvironmentTruth(processes=(), rows=tuple(rows), **changes)


def proof(
    ranks: Sequence[NcclRank] | None = None, profiles: Sequence[RankProfile] | None = None, **changes: Any
) -> NcclProof:
    return NcclProof(
        versions=("2.28.9+cuda13.0",),
        ranks=tuple((rank(0), rank(1)) if ranks is None else ranks),
        profiles=tuple((profile(0), profile(1)) if profiles is None else profiles),
        **changes,
    )


def proof_start(**changes: Any) -> LaunchEvidence:
    stop = StopRecord(asked="term", killed=False, seconds=1.0)
    fields: dict[str, Any] = {"environment": started(), "nccl": proof(), "stop": stop}
    return make_launch((), id=NAME, role="nccl-proof", **{**fields, **changes})
