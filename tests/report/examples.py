"""A run as rich as the report rooms can meet: the incident's box, a start that failed, hostile text, unknowns."""

from __future__ import annotations

import random

from tests.report.example_machine import dirty_slate, environment_truth, gpus, server_run, start_failure
from tests.report.hostile import ANSI, MARKUP, NUL, PIPES
from tokgate.records import (
    CleanSlate,
    Finding,
    Fingerprint,
    Generation,
    GenerationStatus,
    Launch,
    LaunchEvidence,
    Liveness,
    Role,
    RunEvidence,
    RunInfo,
    Sample,
    ServerCounters,
    SpecCounters,
    StopRecord,
    Unread,
)
from tokgate.rig.models import Rig
from tokgate.stats.samples import batch_samples, samples_of

SECOND = 1_000_000_000
TOKENS = 256


def rig(*, simulated: bool = False) -> Rig:
    arm = {"kind": "eagle3", "draft_model_path": "/d", "num_steps": 2, "topk": 1, "num_draft_tokens": 3}
    return Rig.model_validate(
        {
            "name": "kimi-8gpu",
            "description": "the incident's box",
            "simulated": simulated,
            "gpus": {"count": 8, "model": "A100"},
            "server": {"python": "/root/ml-env/bin/python3", "model_path": "/shared/kimi-k2.5-int4"},
            "arms": [
                {"name": "baseline", "kind": "baseline"},
                {"name": "eagle3-2step", **arm},
                {"name": "eagle3-pinned", **arm, "acceptance": 2.5},
            ],
            "prompt_sets": {"ids": {"kind": "token-ids", "length": 8, "first_id": 3, "last_id": 99}},
            "workloads": [
                {"name": "single", "prompts": "ids", "output_tokens": TOKENS, "repeats": 15},
                {
                    "name": "conc4",
                    "prompts": "ids",
                    "output_tokens": TOKENS,
                    "repeats": 4,
                    "concurrency": 4,
                },
            ],
        }
    )


def generation(
    launch: str,
    workload: str,
    index: int,
    *,
    tok_s: float,
    accept: float | None,
    batch: int | None = None,
    status: GenerationStatus = GenerationStatus.GOOD,
) -> Generation:
    """A generation of TOKENS tokens; the first after 80 ms, the rest at `tok_s`."""
    sent = index * 10 * SECOND if batch is None else batch * 10 * SECOND
    first, decode = 80_000_000, (TOKENS - 1) / tok_s
    verify = round(TOKENS / accept) if accept else None
    steps = verify or TOKENS
    good = status is GenerationStatus.GOOD
    stamps = tuple(sent + first + round(decode * SECOND * i / (steps - 1)) for i in range(steps))
    return Generation(
        request_id=f"{launch}-{workload}-{index}",
        launch=launch,
        workload=workload,
        index=index,
        batch=index if batch is None else batch,
        status=status,
        why=None if good else "the stream ended before [DONE]",
        http_status=200,
        asked_tokens=TOKENS,
        sent_ns=sent,
        first_byte_ns=sent + first,
        end_ns=stamps[-1] + 1_000_000,
        chunk_ns=stamps,
        counters=ServerCounters(
            dialect="0.5.13",
            prompt_tokens=8,
            completion_tokens=TOKENS,
            e2e_latency_s=0.08 + decode,
            first_token_latency_s=0.08,
            decode_throughput=tok_s,
            spec=SpecCounters(verify_ct=verify, accept_length=TOKENS / verify) if verify else None,
        )
        if good
        else None,
        body_file=f"launches/{launch}/bodies/{index:04}.sse",
    )


def launch_evidence(name: str, arm: str, role: Role, *, tok_s: float, accept: float | None) -> LaunchEvidence:
    dice = random.Random(name)
    generations = [
        generation(name, "single", i, tok_s=dice.gauss(tok_s, tok_s * 0.004), accept=accept)
        for i in range(15)
    ]
    generations += [
        generation(name, "conc4", i, tok_s=dice.gauss(tok_s * 0.7, tok_s * 0.01), accept=accept, batch=i // 4)
        for i in range(16)
    ]
    generations.append(generation(name, "single", 15, tok_s=tok_s, accept=None, status=GenerationStatus.CUT))
    return LaunchEvidence(
        launch=Launch(id=name, arm=arm, role=role),
        server=server_run(name, arm, role),
        slate=CleanSlate(when=f"before {name}", host="local://", gpus=gpus(), port=30001),
        environment=environment_truth(erased=arm == "eagle3-2step"),
        generations=tuple(generations),
        samples=_samples(generations),
        liveness=Liveness(alive=True, answered=True),
        stop=StopRecord(asked="term", killed=False, seconds=4.1, memory_back=True),
        notes=("first decode line dropped: it spans idle time",),
    )


def _samples(generations: list[Generation]) -> tuple[Sample, ...]:
    samples = [sample for g in generations for sample in samples_of(g)]
    for key in dict.fromkeys((g.workload, g.batch) for g in generations):
        samples += batch_samples([g for g in generations if (g.workload, g.batch) == key])
    return tuple(samples)


def run_evidence(*, simulated: bool = False) -> RunEvidence:
    failed = Launch(id="03-eagle3-pinned", arm="eagle3-pinned", role="arm")
    return RunEvidence(
        info=RunInfo(
            run_id="20261129T154000-kimi-8gpu",
            rig="kimi-8gpu",
            simulated=simulated,
            started_at="2026-11-29T15:40:00+00:00",
            finished_at="2026-11-29T16:02:31+00:00",
            command="pytest perf_tests -m eagle3 --rig kimi-8gpu",
            selection="-m eagle3",
            tokgate_version="0.1.0",
            tokgate_commit=None,
        ),
        launches=(
            launch_evidence("01-baseline", "baseline", "control", tok_s=88.8, accept=None),
            launch_evidence("02-eagle3-2step", "eagle3-2step", "arm", tok_s=60.2, accept=1.85),
            LaunchEvidence(launch=failed, failure=start_failure(), slate=dirty_slate(), faults=(MARKUP,)),
            launch_evidence("04-baseline-again", "baseline", "control-again", tok_s=88.1, accept=None),
        ),
        fingerprint=Fingerprint(
            facts={
                "sglang.version": "0.5.23",
                "gpu.0.driver": "590.48.01",
                "gpu.0.serial": None,
                "kernel": ANSI,
                MARKUP: PIPES,
            },
            notes=(
                Finding(severity="note", what=f"sitecustomize.py on the path: {MARKUP}", do="look at it"),
            ),
            unread=(Unread(text=NUL, why="not a version"),),
        ),
        slate_at_start=CleanSlate(when="session start", host="local://", gpus=gpus(), port=30001),
        slate_at_end=CleanSlate(when="session end", host="local://", waited_s=3.2),
    )
