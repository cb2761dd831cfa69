"""A whole run folder of the simulated box from knobs alone: no server, no waiting; the gate's own records and writer."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from simbox.knobs import Knobs
from tests.verdicts.evidence import empty_gpus, make_launch, make_slate
from tokgate.records import (
    ClientLoad,
    EnvironmentTruth,
    Fingerprint,
    ProcessSeen,
    Role,
    RunInfo,
    StopRecord,
    VariableState,
    VariableTruth,
)
from tokgate.records.redactor import Redactor
from tokgate.records.server import CommandLine, GraphSteps
from tokgate.records.telemetry import Telemetry
from tokgate.rig.load import load_rig
from tokgate.rig.models import Rig
from tokgate.session.run_folder import RunFolder

from .simulated_launch import RANKS, READY_AGE_S, SimulatedLaunch

ROOT = Path(__file__).parents[2]
TOKENS, REPEATS, PROMPT = 128, 8, 64
# What a session of the main job asks of one stream.
SELECTION = (
    "speculation_beats_its_twin or steadiness or drift or restarts or stored_baseline or decode_throughput or "
    "acceptance_length or environment_truth or graph_share or verify_latency or client_headroom"
)
_LAUNCHES: tuple[tuple[str, str, Role], ...] = (
    ("01-baseline", "baseline", "control"),
    ("02-eagle3-2step", "eagle3-2step", "arm"),
    ("03-baseline-again", "baseline", "control-again"),
    ("05-eagle3-2step-phases", "eagle3-2step", "instrumented"),
)
_HOOKED = [
    "draft sglang.srt.speculative.eagle_worker_v2.EagleDraftWorker.draft",
    "verify sglang.srt.speculative.eagle_worker_v2.EAGLEWorkerV2.verify",
    "draft_extend sglang.srt.speculative.eagle_worker_v2.EagleDraftWorker._draft_extend_for_decode",
    "step sglang.srt.speculative.eagle_worker_v2.EAGLEWorkerV2.forward_batch_generation",
]


@dataclass(frozen=True)
class Played:
    """What a generated session was: its folder, and which of its server starts were in the slow mode."""

    folder: Path
    slow_modes: tuple[bool, ...]


def the_rig() -> Rig:
    """Return the simulated box's rig with its single stream alone."""
    single = f'{{name="single", prompts="short", output_tokens={TOKENS}, repeats={REPEATS}, warmup=1, timeout_s=20}}'
    settings = (f"workloads=[{single}]", "instruments.cost_pairs=0", "instruments.trace=false")
    return load_rig("sim-8gpu", root=ROOT, overrides=settings)


def generate(
    folder: Path,
    knobs: Knobs,
    *,
    seed: int,
    facts: dict[str, str | None] | None = None,
    stranger_at: int | None = None,
) -> Played:
    """Write the folder of a session of the main job on a box with these knobs. `facts` change its fingerprint."""
    rig = the_rig()
    writer = RunFolder(folder, Redactor())
    info = RunInfo(
        run_id=f"20261130T{seed % 240000:06d}-sim-8gpu",
        rig=rig.name,
        simulated=True,
        started_at="2026-11-30T03:47:57+00:00",
        finished_at="2026-11-30T03:49:57+00:00",
        command="pytest perf_tests",
        selection=f"perf_tests -k '{SELECTION}'",
        tokgate_version="0.1.0",
    )
    writer.write_record("run.json", info)
    writer.write_record("rig.json", rig)
    writer.write_record("fingerprint.json", Fingerprint(facts=_facts(knobs) | (facts or {})))
    for when in ("start", "end"):
        writer.write_record(f"slate-{when}.json", make_slate(f"session {when}", gpus=empty_gpus(RANKS)))
    modes = []
    for number, (name, arm, role) in enumerate(_LAUNCHES, start=1):
        launch = SimulatedLaunch(
            knobs,
            name,
            seed,
            number,
            speculative=arm != "baseline",
            environments=_environments(rig, knobs),
            began_ns=number * 60_000_000_000,
            stranger_at=stranger_at,
        )
        probe = role == "instrumented"
        repeats = rig.instruments.repeats or REPEATS if probe else REPEATS
        launch.run(repeats=repeats, tokens=TOKENS, prompt_tokens=PROMPT, probe=probe)
        _write(writer, rig, launch, arm=arm, role=role, run_id=info.run_id)
        modes.append(launch.slow_mode)
    return Played(folder, tuple(modes))


def _facts(knobs: Knobs) -> dict[str, str | None]:
    patched = knobs.tree == "patched"
    return {
        "host.boot_id": f"boot-{knobs.boots}",
        "gpu.0.driver_version": knobs.driver,
        "gpu.0.name": knobs.gpu_name,
        "gpu.0.clocks.max.sm": "2430",
        "sglang.install": "wheel",
        "sglang.version": "0.5.23",
        "sglang.commit": None,
        "sglang.dirty": "yes" if patched else "no",
        "sglang.changed": "2: srt/managers/scheduler.py, srt/speculative/eagle_worker_v2.py"
        if patched
        else "0",
    }


def _environments(rig: Rig, knobs: Knobs) -> list[dict[str, str]]:
    found = []
    for rank in range(RANKS):
        environment = dict(rig.server.nccl)
        if not knobs.nccl_ranks or rank in knobs.nccl_ranks:
            environment = {k: v for k, v in environment.items() if k not in knobs.nccl_dropped}
            environment |= dict(one.split("=", 1) for one in knobs.nccl_wrong)
        found.append(environment)
    return found


def _write(
    writer: RunFolder, rig: Rig, launch: SimulatedLaunch, *, arm: str, role: Role, run_id: str
) -> None:
    mark = f"{run_id}/{launch.name}/0"
    wanted = {**rig.server.nccl, "SPT_NOENV": "1"}
    evidence = make_launch((), id=launch.name, arm=arm, role=role, gpus=RANKS)
    assert evidence.server is not None
    spec = rig.arm(arm)
    told: dict[str, Any] = {
        "model_path": rig.server.model_path,
        "tp_size": RANKS,
        "speculative_algorithm": None,
    }
    if launch.speculative:
        told |= {
            "speculative_algorithm": "EAGLE3",
            "speculative_draft_model_path": spec.draft_model_path,
            "speculative_num_steps": spec.num_steps,
            "speculative_eagle_topk": spec.topk,
            "speculative_num_draft_tokens": spec.num_draft_tokens,
        }
    server = evidence.server.model_copy(
        update={
            "line": CommandLine(shown="python -m sglang", argv=("python",), environment=wanted),
            "mark": mark,
            "ready_after_s": READY_AGE_S,
            "log_file": f"launches/{launch.name}/server.log",
            "server_info": {**told, "simulated": True},
        }
    )
    on = sum(launch.in_graph)
    rows = [json.loads(line)["kind"] for line in launch.telemetry]
    evidence = evidence.model_copy(
        update={
            "server": server,
            "environment": _truth(launch, wanted),
            "client": {
                "single": ClientLoad(cpu_s=0.1, wall_s=12.0, events=1000, ceiling_events_per_s=40_000.0)
            },
            "telemetry": Telemetry(
                source="nvidia-smi",
                gpus=RANKS,
                period_s=0.2,
                rows={kind: rows.count(kind) for kind in dict.fromkeys(rows)},
                hz={"gpus": 5.0, "host": 5.0, "holders": 5.0},
            ),
            "graph": GraphSteps(on=on, off=len(launch.in_graph) - on, word="cuda graph"),
            "stop": StopRecord(asked="term", killed=False, seconds=1.0, memory_back=True),
        }
    )
    writer.launch_folder(launch.name)
    writer.write_launch(evidence)
    writer.append_generations(launch.name, tuple(launch.generations))
    writer.append_telemetry(launch.name, "".join(f"{line}\n" for line in launch.telemetry))
    base = f"launches/{launch.name}"
    writer.write_text(f"{base}/server.log", "".join(_decode_lines(launch)))
    if role == "instrumented":
        for rank, calls in enumerate(launch.calls):
            header = {
                "probe": 1,
                "pid": launch.pids[rank],
                "rank": rank,
                "mark": mark,
                "ready_after_s": READY_AGE_S,
                "sglang": "0.5.23",
                "clock": "host",
                "hooked": _HOOKED,
                "missing": [],
            }
            end = {"end": True, "written": len(calls), "dropped": 0}
            lines: Sequence[str] = (json.dumps(header), *calls, json.dumps(end))
            writer.write_text(f"{base}/probe/phases-{launch.pids[rank]}.jsonl", "\n".join(lines) + "\n")
        writer.write_json(f"{base}/probe/clock.json", {"offset_ns": 0, "within_ns": 0})
        writer.write_json(f"{base}/probe/left.json", {"files": {}, "why": None, "switch": None})


def _truth(launch: SimulatedLaunch, wanted: dict[str, str]) -> EnvironmentTruth:
    main = 1000 * launch.start
    processes = [(main, "main", wanted)]
    processes += [
        (pid, f"scheduler TP{rank}", {**launch.environments[rank], "SPT_NOENV": "1"})
        for rank, pid in enumerate(launch.pids)
    ]
    rows = []
    for pid, name, has in processes:
        for variable, value in wanted.items():
            found = has.get(variable)
            state = (
                VariableState.ABSENT
                if found is None
                else VariableState.PRESENT
                if found == value
                else VariableState.DIFFERENT
            )
            rows.append(
                VariableTruth(
                    pid=pid, process=name, variable=variable, wanted=value, found=found, state=state
                )
            )
    return EnvironmentTruth(
        processes=tuple(
            ProcessSeen(
                pid=pid, start_ticks=pid, ppid=1, pgid=main, sid=main, state="S", comm=name, cmdline=name
            )
            for pid, name, _ in processes
        ),
        rows=tuple(rows),
    )


def _decode_lines(launch: SimulatedLaunch) -> list[str]:
    spec = "accept len: 1.85, accept rate: 0.42, " if launch.speculative else ""
    return [
        f"[2026-11-30 03:48:{n % 60:02d} TP0] Decode batch, #running-req: 1, #token: 125, token usage: 0.00, {spec}"
        f"cuda graph: {graph}, gen throughput (token/s): 88.00, #queue-req: 0\n"
        for n, graph in enumerate(launch.in_graph[::40])
    ]
