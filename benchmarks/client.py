"""What it costs to take an event stream, and how late the stamps are: four clients against one null server.

    python benchmarks/client.py [--sglang-python PATH --sglang-pythonpath DIR --tokenizer DIR] [--repeats 3]

Clients: httpx with a stamping network backend, aiohttp, SGLang's own benchmark client (in Python, and its newer one
in Rust), and tokgate's. Each runs in a process of its own, one after the other within a repeat, so that a busy machine disturbs all of them alike: believe
the ratios, not the absolute figures. Every event carries the time at which the null server sent it (same monotonic
clock), so the lag of each stamp is exact; how late the server itself was stands in the last column.

CPU is user + system time of the client's process (getrusage) from the first request to the last byte. What a client
reads in that window is counted there: SGLang's parse JSON as they go. What tokgate's reads afterwards is in its
own column.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
from dataclasses import dataclass, fields
from pathlib import Path
from statistics import median
from typing import Any

from tokgate.client.headroom import null_server

HERE = Path(__file__).parent
CLIENTS = ("httpx", "aiohttp", "sglang", "sglang rust", "tokgate")


@dataclass(frozen=True)
class Case:
    streams: int
    rate: float
    pattern: str

    @property
    def words(self) -> str:
        how = "spread" if self.pattern == "even" else "all streams at once, as decode steps do"
        return f"{self.streams} streams x {self.rate:g} events/s, {how}"


CASES = (Case(16, 50, "even"), Case(128, 50, "even"), Case(16, 50, "burst"), Case(128, 50, "burst"))


@dataclass(frozen=True)
class Figures:
    """Of one run, or the median of several. Microseconds of CPU an event; per cent of one core; ms."""

    cpu_us: float
    core: float
    after_us: float
    lag_p50: float | None
    lag_p99: float | None
    late_p99: float


def run_client(client: str, case: Case, *, seconds: float, options: argparse.Namespace) -> Figures | str:
    """Return the figures of one run, or why there are none."""
    tokens = round(case.rate * seconds)
    if client == "sglang rust":
        return run_rust(case, tokens, options)
    script = HERE / f"client_{client}.py"
    python, environment = sys.executable, None
    if client == "sglang":
        if not has_sglang(options):
            return "not available: give --sglang-python"
        python, environment = options.sglang_python, sglang_environment(options)
    with null_server("--rate", str(case.rate), "--pattern", case.pattern, "--keep-sends") as server:
        asked = {
            "port": server.port,
            "streams": case.streams,
            "tokens": tokens,
            "tokenizer": options.tokenizer,
        }
        done = subprocess.run(
            [python, str(script), json.dumps(asked)],
            env=environment,
            capture_output=True,
            text=True,
            timeout=seconds * 3 + 120,
            check=False,
        )
        report = server.finish()
    lines = done.stdout.strip().splitlines()
    if done.returncode != 0 or not lines:
        return f"failed: {(done.stderr.strip().splitlines() or ['no output'])[-1]:.150}"
    answer = json.loads(lines[-1])
    lags = sorted(answer["lags_ms"] if "lags_ms" in answer else pair_up(answer["arrivals"], report["sends"]))
    events = case.streams * tokens
    if report["events"] != events or len(lags) < events / 2:
        return f"failed: {report['events']} of {events} events sent, {len(lags)} stamped"
    return Figures(
        cpu_us=answer["cpu_s"] / events * 1e6,
        core=answer["cpu_s"] / answer["wall_s"] * 100,
        after_us=answer.get("after_s", 0.0) / events * 1e6,
        lag_p50=lags[len(lags) // 2],
        lag_p99=lags[int(len(lags) * 0.99)],
        late_p99=report["late_p99_ms"],
    )


def has_sglang(options: argparse.Namespace) -> bool:
    return options.sglang_python is not None and Path(options.sglang_python).exists()


def sglang_environment(options: argparse.Namespace) -> dict[str, str]:
    return {
        "PATH": "/usr/bin:/bin",
        "HOME": str(Path.home()),
        "PYTHONPATH": options.sglang_pythonpath,
        "HF_HUB_OFFLINE": "1",
        "TRANSFORMERS_OFFLINE": "1",
    }


def run_rust(case: Case, tokens: int, options: argparse.Namespace) -> Figures | str:
    """SGLang's client in Rust tells no arrival times; its CPU is that of a run less that of a run of one token."""
    if not has_sglang(options):
        return "not available: give --sglang-python"
    used: list[float] = []
    late = 0.0
    for asked in (1, tokens):
        command = [options.sglang_python, "-m", "sglang.benchmark.rust_client", "--backend", "sglang"]
        command += ["--host", "127.0.0.1", "--model", options.tokenizer, "--tokenizer", options.tokenizer]
        command += ["--dataset-name", "random-ids", "--random-input-len", "16", "--random-range-ratio", "1.0"]
        command += [
            "--num-prompts",
            str(case.streams),
            "--warmup-requests",
            "0",
            "--output-file",
            "/dev/null",
        ]
        command += ["--random-output-len", str(asked)]
        with null_server("--rate", str(case.rate), "--pattern", case.pattern) as server:
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            done = subprocess.run(
                [*command, "--port", str(server.port)],
                env=sglang_environment(options),
                capture_output=True,
                text=True,
                timeout=tokens / case.rate * 3 + 120,
                check=False,
            )
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            report = server.finish()
        if done.returncode != 0 or report["events"] != case.streams * asked:
            return f"failed: {(done.stderr.strip().splitlines() or ['no output'])[-1]:.150}"
        used.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        late = report["late_p99_ms"]
    cpu = used[1] - used[0]
    return Figures(
        cpu_us=cpu / (case.streams * (tokens - 1)) * 1e6,
        core=cpu / (tokens / case.rate) * 100,
        after_us=0.0,
        lag_p50=None,
        lag_p99=None,
        late_p99=late,
    )


def pair_up(arrivals: dict[str, list[int]], sends: dict[str, list[int]]) -> list[float]:
    """Return the lags of a client that does not keep the events: by prompt, then by position.

    Two streams of one prompt cannot be told apart and are left out.
    """
    return [
        (arrived - sent) / 1e6
        for prompt, stamps in arrivals.items()
        if len(stamps) == len(sends.get(prompt, []))
        for arrived, sent in zip(stamps, sends[prompt], strict=True)
    ]


def middle(runs: list[Figures]) -> Figures:
    columns: dict[str, Any] = {}
    for column in fields(Figures):
        values = [value for run in runs if (value := getattr(run, column.name)) is not None]
        columns[column.name] = median(values) if values else None
    return Figures(**columns)


def told(value: float | None, decimals: int) -> str:
    return "not told" if value is None else f"{value:.{decimals}f}"


def table(case: Case, results: dict[str, list[Figures | str]]) -> list[str]:
    lines = [
        f"### {case.words}",
        "",
        "| client | CPU an event, µs | of one core | ratio | read later, µs | lag p50, ms | p99 | server late p99 |",
        "|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    ours = [run.cpu_us for run in results["tokgate"] if isinstance(run, Figures)]
    for client in CLIENTS:
        good = [run for run in results[client] if isinstance(run, Figures)]
        if not good:
            lines.append(f"| {client} | {results[client][0]} | | | | | | |")
            continue
        it = middle(good)
        # The ratio of each repeat, then the median: what a noisy minute does, it does to both.
        pairs = zip(results[client], results["tokgate"], strict=True)
        ratios = [a.cpu_us / b.cpu_us for a, b in pairs if isinstance(a, Figures) and isinstance(b, Figures)]
        ratio = f"{median(ratios):.1f} x" if ours and ratios else "?"
        lines.append(
            f"| {client} | {it.cpu_us:.1f} | {it.core:.1f} % | {ratio} | {it.after_us:.1f} "
            f"| {told(it.lag_p50, 3)} | {told(it.lag_p99, 2)} | {it.late_p99:.2f} |"
        )
    return [*lines, ""]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sglang-python", help="a Python that has SGLang")
    parser.add_argument(
        "--sglang-pythonpath", default="", help="PYTHONPATH it needs to import sglang.benchmark.serving"
    )
    parser.add_argument("--tokenizer", default="", help="a folder with a tokenizer, for SGLang's client")
    parser.add_argument("--seconds", type=float, default=4.0, help="length of a run")
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    load = Path("/proc/loadavg").read_text().split()[0] if Path("/proc/loadavg").exists() else "?"
    print(f"median of {options.repeats} runs of {options.seconds:g} s; load average at the start {load}\n")
    for case in CASES:
        results: dict[str, list[Figures | str]] = {client: [] for client in CLIENTS}
        for _ in range(options.repeats):
            for client in CLIENTS:
                results[client].append(run_client(client, case, seconds=options.seconds, options=options))
        print("\n".join(table(case, results)), flush=True)


if __name__ == "__main__":
    main()
