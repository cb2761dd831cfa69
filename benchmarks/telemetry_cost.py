"""What watching costs: CPU of the watching itself, and the speed of a server with and without it.

    python benchmarks/telemetry_cost.py [--seconds 20] [--gpus 8] [--rounds 12] [--url http://127.0.0.1:30000]

First table: per cent of one core that each source takes, for as many cards as --gpus says. NVML is a stand-in
whose calls return at once, so this is our own share; a real driver adds its own (0.6 % in all with one H200). The
same goes for nvidia-smi, where the stand-in prints a fixed answer. The program on the host is counted with everything
that it starts.

Second table: tokens a second of an event stream with nobody watching and with each source watching, in turn, so
that a busy machine disturbs all of them alike, and how late the stamps are. The server is a null server that
sends at a fixed rate; with --url a running SGLang server is asked for --tokens tokens instead. The interval is of the
median ratio to the unwatched runs beside it.
"""

from __future__ import annotations

import argparse
import os
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

from tokgate.client.exchange import Request, Target
from tokgate.client.headroom import lags_ms, null_requests, null_server
from tokgate.client.interpret import interpret
from tokgate.client.stream import run_batch
from tokgate.hosts.connection import connect
from tokgate.hosts.scripts.telemetry import stat
from tokgate.hosts.telemetry import Watch
from tokgate.records.telemetry import Telemetry
from tokgate.rig.models import Rig
from tokgate.stats.summary import summarise

SOURCES = ("host load", "NVML", "nvidia-smi")
RATE = 50.0

_SMI = """#!{python} -IS
import sys, time
asked = sys.argv[1].partition("=")[2].split(",")
answer = {{"index": "%d", "uuid": "GPU-%d", "gpu_uuid": "GPU-%d", "pid": "{pid}", "process_name": "python3"}}
known = ("clocks_event_reasons.active",)
while True:
    for gpu in range({gpus}):
        cells = [answer.get(f, "0x0000000000000000" if f in known else "1980") for f in asked]
        print(", ".join(c % gpu if "%" in c else c for c in cells))
    sys.stdout.flush()
    if "-lms" not in sys.argv:
        break
    time.sleep(int(sys.argv[-1]) / 1000)
"""


class Nvml:
    """A driver that answers at once."""

    NVMLError = OSError
    NVML_CLOCK_SM, NVML_CLOCK_MEM, NVML_TEMPERATURE_GPU = 1, 2, 0

    def __init__(self, gpus: int) -> None:
        self._gpus = gpus

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if not name.startswith("nvml"):
            raise AttributeError(name)
        answers = {
            "nvmlDeviceGetCount": self._gpus,
            "nvmlDeviceGetUtilizationRates": SimpleNamespace(gpu=100),
            "nvmlDeviceGetComputeRunningProcesses": [SimpleNamespace(pid=os.getpid(), usedGpuMemory=1)],
        }
        return lambda *_: answers.get(name, 1980)


def rig(source: str, gpus: int, folder: Path) -> Rig:
    return Rig.model_validate(
        {
            "name": "cost",
            "host": {"python": sys.executable, "path": [str(folder)]},
            "gpus": {
                "count": 0 if source == "host load" else gpus,
                "reader": "auto" if source == "NVML" else "nvidia-smi",
            },
            "server": {"python": "python", "model_path": "/m"},
            "arms": [{"name": "baseline", "kind": "baseline"}],
            "prompt_sets": {"ids": {"kind": "token-ids", "length": 8, "first_id": 3, "last_id": 99}},
            "workloads": [{"name": "single", "prompts": "ids", "output_tokens": 8, "repeats": 1}],
        }
    )


@contextmanager
def watching(source: str | None, gpus: int, folder: Path) -> Iterator[list[Telemetry]]:
    """Watch during the block; the list holds what was told once it is over."""
    told: list[Telemetry] = []
    if source is None:
        yield told
        return
    spec = rig(source, gpus, folder)
    mine = stat(os.getpid())
    server = {"pid": os.getpid(), "start_ticks": mine[3] if mine else 0, "sid": os.getsid(0), "mark": "cost"}
    watch = Watch(spec.gpus.count, lambda _: None)
    watch.begin(connect(spec.host), spec, server, Nvml(gpus))
    try:
        yield told
    finally:
        told.append(watch.end())


def cost_table(seconds: float, gpus: int, folder: Path) -> None:
    print(f"\nper cent of one core, {gpus} cards, {seconds:g} s each\n")
    print(f"{'source':<12} {'rows/s':>7} {'this process':>13} {'program on the host':>20}")
    for source in SOURCES:
        # Starting is paid once a launch: what counts is what goes on.
        with watching(source, gpus, folder) as told:
            before, began = cpu_s(), time.monotonic()
            time.sleep(seconds)
            ours, wall = cpu_s() - before, time.monotonic() - began
        (record,) = told
        kind = "host" if source == "host load" else "gpus"
        program = 0.0 if source == "NVML" else record.cpu_s or 0.0
        shown = "none" if source == "NVML" else f"{program / (record.wall_s or wall):.2%}"
        print(f"{source:<12} {record.hz[kind]:>7.2f} {ours / wall:>13.2%} {shown:>20}")
        for problem in record.problems:
            print(f"{'':<12} {problem}")


def cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def null_run(streams: int, tokens: int) -> tuple[float, float, float]:
    """Return tok/s, and the 50th and 99th percentile of how late the stamps are, ms."""
    with null_server("--rate", str(RATE)) as server:
        outcome = run_batch(Target("127.0.0.1", server.port), null_requests(streams, tokens), timeout_s=60)
        server.finish()
    lags = lags_ms(outcome)
    stamps = [at for response in outcome.responses for at, _ in response.pieces]
    rate = (len(lags) - streams) / ((max(stamps) - min(stamps)) / 1e9)
    return rate, lags[len(lags) // 2], lags[int(len(lags) * 0.99)]


def server_run(url: str, tokens: int) -> float:
    """Return the tok/s that a real server tells of one generation."""
    place = urlsplit(url)
    sampling = {"max_new_tokens": tokens, "temperature": 0, "ignore_eos": True}
    body = {"input_ids": list(range(3, 19)), "sampling_params": sampling, "stream": True}
    request = Request("cost", "generate", body, tokens)
    outcome = run_batch(Target(place.hostname or "127.0.0.1", place.port or 80), (request,), timeout_s=120)
    generation = interpret(outcome.responses[0], launch="cost", workload="cost", index=0)
    if not generation.good or generation.counters is None or not generation.counters.decode_throughput:
        sys.exit(f"{url}: {generation.status.value}, {generation.why}")
    return generation.counters.decode_throughput


def speed_table(options: argparse.Namespace, folder: Path) -> None:
    what = options.url or f"a null server, {options.streams} streams x {RATE:g} events/s"
    print(f"\nspeed of {what}, {options.rounds} rounds in turn\n")
    cases: tuple[str | None, ...] = (None, *SOURCES)
    speed: dict[str | None, list[float]] = {case: [] for case in cases}
    lags: dict[str | None, list[tuple[float, float]]] = {case: [] for case in cases}
    for number in range(options.rounds):
        for case in cases[number % len(cases) :] + cases[: number % len(cases)]:
            with watching(case, options.gpus, folder):
                if options.url:
                    speed[case].append(server_run(options.url, options.tokens))
                    continue
                rate, p50, p99 = null_run(options.streams, options.tokens)
                speed[case].append(rate)
                lags[case].append((p50, p99))
    print(f"{'watched by':<12} {'tok/s':>9} {'ratio':>8} {'95 % interval':>20} {'lag p50':>9} {'p99, ms':>9}")
    for case in cases:
        ratios = [a / b for a, b in zip(speed[case], speed[None], strict=True)]
        interval = summarise(ratios).interval
        shown = "too few rounds" if interval is None else f"{interval[0]:.4f} … {interval[1]:.4f}"
        late = "".join(f"{median(lag[i] for lag in lags[case]):>9.3f} " for i in (0, 1) if lags[case])
        print(f"{case or 'nobody':<12} {median(speed[case]):>9.2f} {median(ratios):>8.4f} {shown:>20} {late}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--gpus", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--streams", type=int, default=16)
    parser.add_argument("--tokens", type=int, default=64)
    parser.add_argument(
        "--url", help="a running SGLang server without an API key, in place of the null server"
    )
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        program = folder / "nvidia-smi"
        program.write_text(_SMI.format(python=sys.executable, gpus=options.gpus, pid=os.getpid()))
        program.chmod(0o755)
        cost_table(options.seconds, options.gpus, folder)
        speed_table(options, folder)


if __name__ == "__main__":
    main()
