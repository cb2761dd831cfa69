"""What was seen of the example's machine and servers: eight GPUs, ten processes, one start that failed."""

from __future__ import annotations

from tests.report.hostile import ANSI, BIDI, MARKUP, NUL, PIPES
from tokgate.records import (
    Addition,
    CleanSlate,
    CommandLine,
    EnvironmentTruth,
    Finding,
    GpuHolder,
    GpuSeen,
    Launch,
    ProcessSeen,
    Role,
    ServerRun,
    StartCause,
    StartFailure,
    VariableState,
    VariableTruth,
)

VARIABLES = {
    "SPT_NOENV": "1",
    "NCCL_PROTO": "LL",
    "NCCL_ALGO": "Ring",
    "NCCL_P2P_LEVEL": "SYS",
    "NCCL_MAX_NCHANNELS": "16",
    "NCCL_BUFFSIZE": "16777216",
    "NCCL_NTHREADS": "512",
}


def server_run(name: str, arm: str, role: Role) -> ServerRun:
    return ServerRun(
        launch=Launch(id=name, arm=arm, role=role),
        host="local://",
        line=CommandLine(
            shown="SPT_NOENV=1 NCCL_PROTO=LL /root/ml-env/bin/python3 -m sglang.launch_server --api-key ***",
            argv=("/root/ml-env/bin/python3", "-m", "sglang.launch_server"),
            environment={"SPT_NOENV": "1", "NCCL_PROTO": "LL"},
            additions=(
                Addition(what="SPT_NOENV=1", reason="keeps /proc/PID/environ of the workers readable"),
                Addition(what="--api-key ***", reason=MARKUP),
            ),
        ),
        port=30001,
        base_url="http://127.0.0.1:30001",
        pid=4100,
        start_ticks=1,
        sid=4100,
        mark="run-1",
        started_at="2026-11-29T15:41:00+00:00",
        ready_after_s=31.4,
        log_file=f"launches/{name}/server.log",
        sglang_version="0.5.23",
    )


def environment_truth(*, erased: bool) -> EnvironmentTruth:
    names = ["main", *(f"scheduler TP{i}" for i in range(8)), "detokenizer"]
    rows = []
    for pid, name in enumerate(names, start=4100):
        for variable, wanted in VARIABLES.items():
            state = VariableState.PRESENT
            if erased and name.startswith("scheduler"):
                state = VariableState.ERASED
            if not erased and (name, variable) == ("detokenizer", "NCCL_PROTO"):
                state = VariableState.DIFFERENT
            found = {VariableState.PRESENT: wanted, VariableState.DIFFERENT: MARKUP}.get(state)
            rows.append(
                VariableTruth(
                    pid=pid, process=name, variable=variable, wanted=wanted, found=found, state=state
                )
            )
    return EnvironmentTruth(
        processes=tuple(process(pid, name) for pid, name in enumerate(names, start=4100)),
        rows=tuple(rows),
        overwritten={"NCCL_CUMEM_ENABLE": "0, engine.py"},
        strays={"OMP_NUM_THREADS": ANSI},
    )


def process(pid: int, name: str) -> ProcessSeen:
    return ProcessSeen(
        pid=pid, start_ticks=1, ppid=1, pgid=4100, sid=4100, state="S", comm=name[:15], cmdline=MARKUP
    )


def gpus() -> tuple[GpuSeen, ...]:
    return tuple(
        GpuSeen(
            index=i,
            name="NVIDIA A100-SXM4-80GB" if i else None,
            total_mib=81920.0 if i else None,
            used_mib=0.0,
            allocated_mib=0.0 if i else None,
            source="nvml",
        )
        for i in range(8)
    )


def dirty_slate() -> CleanSlate:
    return CleanSlate(
        when="before 03-eagle3-pinned",
        host="local://",
        gpus=gpus(),
        holders=(
            GpuHolder(gpu_index=3, pid=4242, user="root", command=MARKUP, used_mib=2048.0),
            GpuHolder(gpu_index=None, pid=None, note="no living owner"),
        ),
        leftovers=(process(4242, "python3"),),
        waited_s=120.0,
        findings=(
            Finding(severity="unclean", what="GPU 3: 2048 MiB held by pid 4242", do="kill 4242"),
            Finding(severity="unknown", what=NUL, do=PIPES),
        ),
    )


def start_failure() -> StartFailure:
    return StartFailure(
        cause=StartCause.DOES_NOT_FIT,
        headline="it does not fit into GPU memory",
        do="free GPU 3, held by pid 4242 (python3)",
        rc=1,
        evidence=("torch.OutOfMemoryError: CUDA out of memory.",),
        log_tail=(MARKUP, ANSI, BIDI),
    )
