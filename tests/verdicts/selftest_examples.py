"""Server runs as a self-test leaves them, drawn."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from functools import cache

from tokgate.records import Fingerprint
from tokgate.records.selftest import Block, Found, PlantedLaunch, Rate, SelfTest
from tokgate.rig.models import Rig
from tokgate.verdicts.selftest import judge_selftest
from tokgate.verdicts.selftest_file import settings_of

LEVELS = (0.05, 0.1)
FACTS = {
    "host.cpu": "EPYC",
    "host.cores": "16, usable 16",
    "gpu.0.name": "H200",
    "gpu.0.uuid": "GPU-1",
    "sglang.version": "0.5.23",
}


def launches(
    count: int,
    *,
    spread: float = 0.001,
    factors: Mapping[int, float] | None = None,
    levels: Sequence[float] = LEVELS,
    seed: int = 1,
) -> tuple[PlantedLaunch, ...]:
    """`factors`: of server runs that are faster or slower as a whole."""
    draw = random.Random(seed)
    found = []
    for number in range(1, count + 1):
        speed = 94.0 * (1 + draw.gauss(0, spread)) * (factors or {}).get(number, 1.0)
        blocks = tuple(
            Block(
                workload="single",
                planted=level,
                order="verify:+5%" if level else "",
                values={
                    "decode_tok_s": tuple(speed * (1 - level) * (1 + draw.gauss(0, spread)) for _ in range(6))
                },
            )
            for level in (0.0, *levels, 0.0)
        )
        found.append(PlantedLaunch(launch=f"{number:02d}-a", seconds=60.0, blocks=blocks))
    return tuple(found)


@cache
def _judged(rig: str, runs: tuple[str, ...]) -> tuple[Rate, tuple[Found, ...]]:
    read = [PlantedLaunch.model_validate_json(run) for run in runs]
    half = max(1, len(runs) // 2)
    return judge_selftest(
        Rig.model_validate_json(rig), read, baseline_runs=half, session_runs=max(1, len(runs) - half)
    )


@cache
def eight() -> tuple[PlantedLaunch, ...]:
    return launches(8)


def selftest(rig: Rig, runs: tuple[PlantedLaunch, ...], **other: object) -> SelfTest:
    alarms, found = _judged(rig.model_dump_json(), tuple(run.model_dump_json() for run in runs))
    told = {
        "id": "20261130T000000-x-selftest",
        "rig": rig.name,
        "simulated": rig.simulated,
        "arm": "eagle3-2step",
        "workloads": ("single",),
        "sglang_version": "0.5.23",
        "started_at": "2026-11-30T00:00:00+00:00",
        "complete": True,
        "tokgate_version": "0.1.0",
        "restarts": len(runs),
        "baseline_runs": len(runs) // 2,
        "session_runs": len(runs) - len(runs) // 2,
        "levels": LEVELS,
        "false_alarm": 0.01,
        "settings": settings_of(rig),
        "fingerprint": Fingerprint(facts=dict(FACTS)),
        "launches": runs,
        "alarms": alarms,
        "found": found,
    }
    return SelfTest.model_validate(told | other)
