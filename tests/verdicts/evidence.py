"""Evidence as a healthy session leaves it; tests plant one fault at a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from zlib import crc32

from tokgate.records import (
    CleanSlate,
    ClientLoad,
    CommandLine,
    EnvironmentTruth,
    Fingerprint,
    Generation,
    GenerationStatus,
    GpuSeen,
    Launch,
    LaunchEvidence,
    Liveness,
    ProcessSeen,
    Role,
    RunEvidence,
    RunInfo,
    ServerCounters,
    ServerRun,
    SpecCounters,
    VariableState,
    VariableTruth,
)
from tokgate.records.telemetry import Telemetry
from tokgate.rig.models import Rig

MS = 1_000_000
EAGLE3 = {
    "kind": "eagle3",
    "draft_model_path": "/models/draft",
    "num_steps": 2,
    "topk": 1,
    "num_draft_tokens": 3,
}
VARIABLES = {"NCCL_ALGO": "Ring", "SPT_NOENV": "1"}
STEADY = (44.6, 44.5, 44.7, 44.6, 44.4, 44.8)
ONE_RUN = {"gpu_time_s": 0}  # [sampling] of a test about one server run: no restart has to confirm its losses


def make_rig(**changes: Any) -> Rig:
    """`single`: six starts of one stream; `pair`: four starts of two. Arms natural and pinned at 2.5."""
    rig: dict[str, Any] = {
        "name": "small",
        "gpus": {"count": 0},
        "server": {
            "python": "/opt/ml/bin/python",
            "model_path": "/models/target",
            "args": {"tp_size": 2, "host": "0.0.0.0", "port": 8000},
            "nccl": {"NCCL_ALGO": "Ring"},
        },
        "arms": [
            {"name": "baseline", "kind": "baseline"},
            {"name": "eagle3-2step", **EAGLE3},
            {"name": "eagle3-pinned", **EAGLE3, "acceptance": 2.5},
        ],
        "prompt_sets": {"ids": {"kind": "token-ids", "length": 8, "first_id": 3, "last_id": 99}},
        "workloads": [
            {"name": "single", "prompts": "ids", "output_tokens": 256, "repeats": 6},
            {"name": "pair", "prompts": "ids", "output_tokens": 256, "repeats": 4, "concurrency": 2},
        ],
        "lossless": {"mode": "exact", "prompts": "ids", "count": 2, "output_tokens": 8},
    }
    return Rig.model_validate({**rig, **changes})


def make_generation(
    *,
    index: int = 0,
    batch: int | None = None,
    slot: int = 0,
    launch: str = "01-baseline",
    workload: str = "single",
    tokens: int = 256,
    tok_s: float = 44.6,
    ttft_ms: float = 20.0,
    verify_ct: int | None = None,
    **changes: Any,
) -> Generation:
    """A good stream at `tok_s`; with `verify_ct` the server counted that many verify calls."""
    first, step = round(ttft_ms * MS), 1e9 / tok_s
    stamps = tuple(first + round(i * step) for i in range(tokens))
    spec = None
    if verify_ct is not None:
        spec = SpecCounters(verify_ct=verify_ct, accept_length=tokens / verify_ct)
    fields: dict[str, Any] = {
        "request_id": f"{launch}-{workload}-{index}",
        "launch": launch,
        "workload": workload,
        "index": index,
        "batch": index if batch is None else batch,
        "slot": slot,
        "status": GenerationStatus.GOOD,
        "http_status": 200,
        "asked_tokens": tokens,
        "sent_ns": 0,
        "first_byte_ns": first,
        "end_ns": stamps[-1],
        "chunk_ns": stamps,
        "chunk_tokens": tuple(range(1, tokens + 1)),
        "counters": ServerCounters(
            dialect="0.5.13",
            prompt_tokens=8,
            completion_tokens=tokens,
            cached_tokens=0,
            e2e_latency_s=stamps[-1] / 1e9,
            first_token_latency_s=first / 1e9,
            decode_throughput=tok_s,
            finish_reason="length",
            spec=spec,
        ),
        "output_ids": tuple(range(100, 100 + tokens)),
    }
    return Generation(**{**fields, **changes})


def series(
    tok_s: Sequence[float] = STEADY,
    *,
    launch: str = "01-baseline",
    workload: str = "single",
    concurrency: int = 1,
    verify_ct: int | None = None,
    **changes: Any,
) -> tuple[Generation, ...]:
    """One barrier start per rate."""
    return tuple(
        make_generation(
            index=start * concurrency + slot,
            batch=start,
            slot=slot,
            launch=launch,
            workload=workload,
            tok_s=rate,
            verify_ct=verify_ct,
            **changes,
        )
        for start, rate in enumerate(tok_s)
        for slot in range(concurrency)
    )


def make_launch(
    generations: tuple[Generation, ...] | None = None,
    *,
    id: str = "01-baseline",  # noqa: A002 - the record's own name
    arm: str = "baseline",
    role: Role = "control",
    server_info: dict[str, Any] | None = None,
    gpus: int = 0,
    **changes: Any,
) -> LaunchEvidence:
    """A launch of a rig with so many GPUs: they were empty before, and somebody watched."""
    launch = Launch(id=id, arm=arm, role=role)
    processes = tuple(
        ProcessSeen(pid=pid, start_ticks=pid, ppid=1, pgid=100, sid=100, state="S", comm=name, cmdline=name)
        for pid, name in ((100, "main"), (101, "scheduler TP0"), (102, "scheduler TP1"))
    )
    told: dict[str, Any] = {"model_path": "/models/target", "tp_size": 2, "speculative_algorithm": None}
    if arm.startswith("eagle3"):
        told |= {
            "speculative_algorithm": "EAGLE3",
            "speculative_draft_model_path": "/models/draft",
            "speculative_num_steps": 2,
            "speculative_eagle_topk": 1,
            "speculative_num_draft_tokens": 3,
        }
    fields: dict[str, Any] = {
        "launch": launch,
        "server": ServerRun(
            launch=launch,
            host="local",
            line=CommandLine(shown="python -m sglang", argv=("python",), environment=VARIABLES),
            port=31000,
            base_url="http://127.0.0.1:31000",
            pid=100,
            start_ticks=crc32(id.encode()),
            sid=100,
            mark=f"run/{id}",
            started_at="2026-11-29T12:00:00Z",
            ready_after_s=14.0,
            log_file="server.log",
            sglang_version="0.5.23",
            server_info={**told, **(server_info or {})},
        ),
        "slate": make_slate(f"before {id}", gpus=empty_gpus(gpus)),
        "telemetry": Telemetry(source="nvidia-smi", gpus=gpus, period_s=0.2) if gpus else None,
        "environment": EnvironmentTruth(
            processes=processes,
            rows=tuple(
                VariableTruth(
                    pid=p.pid,
                    process=p.comm,
                    variable=name,
                    wanted=value,
                    found=value,
                    state=VariableState.PRESENT,
                )
                for p in processes
                for name, value in VARIABLES.items()
            ),
        ),
        "generations": series(launch=id) if generations is None else generations,
        "client": {
            name: ClientLoad(cpu_s=0.1, wall_s=10.0, events=1000, ceiling_events_per_s=20_000.0)
            for name in ("single", "pair")
        },
        "liveness": Liveness(alive=True, answered=True),
    }
    return LaunchEvidence(**{**fields, **changes})


def empty_gpus(count: int) -> tuple[GpuSeen, ...]:
    return tuple(
        GpuSeen(index=i, name="NVIDIA H200", allocated_mib=0.0, source="nvidia-smi") for i in range(count)
    )


def make_slate(when: str = "session start", **changes: Any) -> CleanSlate:
    return CleanSlate(when=when, host="local", **changes)


def controls(
    before: Sequence[float] = STEADY, after: Sequence[float] = STEADY, **changes: Any
) -> tuple[LaunchEvidence, LaunchEvidence]:
    again = "04-baseline-again"
    return (
        make_launch(series(before, **changes)),
        make_launch(series(after, launch=again, **changes), id=again, role="control-again"),
    )


def eagle3(
    tok_s: Sequence[float] = (59.8, 59.6, 60.0, 59.7, 59.9, 59.8),
    *,
    arm: str = "eagle3-2step",
    verify_ct: int = 138,
    workload: str = "single",
    concurrency: int = 1,
    **changes: Any,
) -> LaunchEvidence:
    """The arm of the golden pair: accept length 256 / 138 = 1.86."""
    name = f"02-{arm}"
    generations = series(tok_s, launch=name, verify_ct=verify_ct, workload=workload, concurrency=concurrency)
    return make_launch(generations, id=name, arm=arm, role="arm", **changes)


def restarted(launch: LaunchEvidence, number: int = 1, *, round: int | None = None) -> LaunchEvidence:  # noqa: A002 - the record's own name
    """The same evidence as of a further server run of its arm, as the stop rule asks for one."""
    name = f"{6 + number:02}-{launch.launch.arm}-restart-{number}"
    timed = launch.launch.stands_for_arm
    changes = {"id": name, "role": "restart" if timed else launch.launch.role, "round": round or number}
    own = launch.launch.model_copy(update=changes)
    return launch.model_copy(
        update={
            "launch": own,
            "server": launch.server
            and launch.server.model_copy(
                update={"launch": own, "mark": f"run/{name}", "start_ticks": crc32(name.encode())}
            ),
            "generations": tuple(
                g.model_copy(update={"launch": name, "request_id": f"{name}-{g.request_id}"})
                for g in launch.generations
            ),
        }
    )


def make_fingerprint(changes: dict[str, str | None] | None = None) -> Fingerprint:
    facts = {"host.boot_id": "b1", "gpu.driver": "580.1", "host.kernel": "6.1", "sglang.dirty": "no"}
    return Fingerprint(facts={**facts, **(changes or {})})


def make_run(*launches: LaunchEvidence, **changes: Any) -> RunEvidence:
    fields: dict[str, Any] = {
        "info": RunInfo(
            run_id="20261129T120000-small",
            rig="small",
            simulated=False,
            started_at="2026-11-29T12:00:00Z",
            command="pytest perf_tests",
            selection="perf_tests",
            tokgate_version="0.1.0",
            tokgate_commit="abc123",
        ),
        "launches": launches,
        "fingerprint": make_fingerprint(),
        "slate_at_start": make_slate(),
        "slate_at_end": make_slate("session end"),
    }
    return RunEvidence(**{**fields, **changes})
