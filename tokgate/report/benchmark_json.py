"""benchmark.json: the generations of a run in pytest-benchmark's own storage format.

`pytest-benchmark compare reports/A/benchmark.json reports/B/benchmark.json` reads it. One
benchmark is one launch under one workload; its statistics are over the wall seconds of the
generations (last byte of the request sent to end of stream), the only direction pytest-benchmark
knows. Speed and cycle time ride along in extra_info. The verdicts are not made from this file.
"""

from __future__ import annotations

import json
import statistics
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import Any

from tokgate.records import Generation, Launch, RunEvidence, RunInfo
from tokgate.rig.models import Rig

from .series import Series, series_of

# The release of pytest-benchmark whose Metadata.as_dict and Stats.as_dict this follows.
FORMAT_VERSION = "5.3.1"
# extra_info key -> metric
_EXTRA = {
    "tok_s": "decode_tok_s",
    "cycle_ms": "cycle_ms",
    "accept_length": "accept_length",
    "total_tok_s": "total_tok_s",
}


def benchmark_file(evidence: RunEvidence, rig: Rig) -> dict[str, Any]:
    """Return the content of benchmark.json; a series without one good generation is left out and named."""
    info, simulated = evidence.info, evidence.info.simulated or rig.simulated
    benchmarks, omitted = [], []
    series: dict[tuple[str, str], list[Series]] = {}
    for s in series_of(evidence):
        series.setdefault((s.launch, s.workload), []).append(s)
    for launch in evidence.launches:
        for workload in dict.fromkeys(g.workload for g in launch.generations):
            judged = [g for g in launch.generations if g.workload == workload and not g.warmup]
            seconds = _wall_seconds(judged)
            if not seconds:
                omitted.append(f"{workload}[{launch.launch.id}]")
                continue
            failed = sum(not g.good for g in judged)
            benchmarks.append(
                {
                    **_names(info, launch.launch, workload, simulated=simulated),
                    "extra_info": {
                        **_medians(series.get((launch.launch.id, workload), ())),
                        "failed": failed,
                        "simulated": simulated,
                    },
                    "options": {},
                    "stats": stats_of(seconds),
                }
            )
    return {
        "machine_info": {
            "node": rig.host.testinfra,
            "rig": info.rig,
            "simulated": simulated,
            "facts": evidence.fingerprint.facts if evidence.fingerprint else {},
        },
        "commit_info": {
            "id": info.commit or "unversioned",
            "time": None,
            "author_time": None,
            "dirty": None,
            "project": "tokgate",
            "branch": "(unknown)",
            "simulated": simulated,
        },
        "benchmarks": benchmarks,
        "datetime": info.started_at,
        "version": FORMAT_VERSION,
        "tokgate": {"run_id": info.run_id, "omitted": omitted},
    }


def dump(content: dict[str, Any]) -> str:
    return json.dumps(content, indent=1, allow_nan=False) + "\n"


def stats_of(seconds: Sequence[float]) -> dict[str, Any]:
    """Return every field of pytest-benchmark's Stats, computed its way. Raises ValueError on no values."""
    if not seconds:
        raise ValueError("no values: pytest-benchmark has no form for an empty series")
    data, ordered = list(seconds), sorted(seconds)
    n, total, mean = len(data), sum(data), statistics.mean(data)
    stddev = statistics.stdev(data) if n > 1 else 0
    q1, q3 = _quartiles(ordered)
    iqr = q3 - q1
    low, high = q1 - 1.5 * iqr, q3 + 1.5 * iqr
    beyond_stddev = sum(not mean - stddev <= v <= mean + stddev for v in data)
    beyond_iqr = sum(not low <= v <= high for v in data)
    return {
        "min": ordered[0],
        "max": ordered[-1],
        "mean": mean,
        "stddev": stddev,
        "rounds": n,
        "median": statistics.median(data),
        "iqr": iqr,
        "q1": q1,
        "q3": q3,
        "iqr_outliers": beyond_iqr,
        "stddev_outliers": beyond_stddev,
        "outliers": f"{beyond_stddev};{beyond_iqr}",
        "ld15iqr": ordered[0] if n == 1 else ordered[bisect_left(ordered, low)],
        "hd15iqr": ordered[0] if n == 1 else ordered[bisect_right(ordered, high) - 1],
        "ops": n / total if total else 0,
        "total": total,
        "data": data,
        "iterations": 1,
    }


def _names(info: RunInfo, launch: Launch, workload: str, *, simulated: bool) -> dict[str, Any]:
    """Return what must be equal in two files for pytest-benchmark to put them side by side."""
    name = f"{workload}[{launch.id}]"
    return {
        # Simulated and real numbers must not meet in one table.
        "group": f"{info.rig} {workload}{' (simulated)' if simulated else ''}",
        "name": name,
        "fullname": f"{info.rig}::{name}",
        "params": {"launch": launch.id, "arm": launch.arm, "workload": workload},
        "param": launch.id,
    }


def _medians(mine: Sequence[Series]) -> dict[str, Any]:
    medians = {s.metric: s.summary.median for s in mine if s.summary is not None}
    return {
        **{key: medians[metric] for key, metric in _EXTRA.items() if metric in medians},
        "samples": {s.metric: list(s.known) for s in mine},
    }


def _wall_seconds(generations: Sequence[Generation]) -> list[float]:
    return [
        (g.end_ns - g.sent_ns) / 1e9
        for g in generations
        if g.good and g.end_ns is not None and g.end_ns > g.sent_ns
    ]


def _quartiles(ordered: Sequence[float]) -> tuple[float, float]:
    """Methods 2 (even n) and 3 (odd n) of https://en.wikipedia.org/wiki/Quartile, as pytest-benchmark."""
    n = len(ordered)
    if n == 1:
        return ordered[0], ordered[0]
    if n % 2 == 0:
        return statistics.median(ordered[: n // 2]), statistics.median(ordered[n // 2 :])
    k = n // 4
    if n % 4 == 1:
        return (
            0.25 * ordered[k - 1] + 0.75 * ordered[k],
            0.75 * ordered[3 * k] + 0.25 * ordered[3 * k + 1],
        )
    return (
        0.75 * ordered[k] + 0.25 * ordered[k + 1],
        0.25 * ordered[3 * k + 1] + 0.75 * ordered[3 * k + 2],
    )
