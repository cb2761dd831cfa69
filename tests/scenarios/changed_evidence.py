"""Changes of a stored run's evidence, each with what the check of it concludes and says then."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .expecting import INVALID
from .stored import GENERATIONS, LAUNCH, TELEMETRY, StoredRun

Change = Callable[[StoredRun], None]


def _environment(pick: Callable[[dict[str, Any]], bool], **new: str | None) -> Change:
    def apply(run: StoredRun) -> None:
        def change(launch: dict[str, Any]) -> None:
            rows = [row for row in launch["environment"]["rows"] if pick(row)]
            assert rows
            for row in rows:
                row.update(new)

        run.change(LAUNCH, change)

    return apply


def _of(process: str, variable: str) -> Callable[[dict[str, Any]], bool]:
    return lambda row: row["variable"] == variable and row["process"].startswith(process)


def _json(name: str, change: Callable[[Any], object]) -> Change:
    return lambda run: run.change(name, change)


def _finding(slate: str, severity: str, what: str) -> Change:
    return _json(
        slate, lambda found: found["findings"].append({"severity": severity, "what": what, "do": "end it"})
    )


_SURVIVOR = {
    "pid": 4711, "start_ticks": 99, "ppid": 1, "pgid": 1, "sid": 1, "state": "D", "user": "root",
    "comm": "sglang::schedul", "cmdline": "sglang::scheduler_TP2", "mark": "20200101T000000-box/01-baseline",
}  # fmt: skip


def _held_back(run: StoredRun) -> None:
    def change(row: dict[str, Any]) -> None:
        if row["kind"] == "gpus":
            for gpu in row["gpus"]:
                gpu[6] = 0x20  # sw_thermal_slowdown
                gpu[1] = 1992.0

    run.change_lines(TELEMETRY, change)


def _visited(run: StoredRun) -> None:
    def change(row: dict[str, Any]) -> None:
        if row["kind"] == "holders":
            row["holders"].append([5, 4711, 99, 1894.0, "python3"])

    run.change_lines(TELEMETRY, change)


def _blind(run: StoredRun) -> None:
    (run.folder / TELEMETRY).write_text("")


def _short(run: StoredRun) -> None:
    file = run.folder / TELEMETRY
    lines = file.read_text(encoding="utf-8").splitlines(keepends=True)
    first = next(line for line in lines if '"kind":"gpus"' in line)
    file.write_text("".join(line for line in lines if line == first or '"kind":"gpus"' not in line))


def _cut(run: StoredRun) -> None:
    def change(generation: dict[str, Any]) -> None:
        # A batch of one stream: an index comes again where more starts were taken than planned.
        if generation["batch"] == 3 and generation["workload"] == "single":
            generation.update(status="cut", why="the stream ended in the middle")

    run.change_lines(GENERATIONS, change)


def _counts_wrong(run: StoredRun) -> None:
    def change(generation: dict[str, Any]) -> None:
        generation["counters"]["cached_tokens"] = 12

    run.change_lines(GENERATIONS, change)


CHANGES: dict[str, tuple[Change, str, str, str]] = {
    # what is changed: how, and what the check concludes and says then
    "a variable is absent from one rank": (
        _environment(_of("scheduler TP5", "NCCL_ALGO"), found=None, state="absent"),
        "environment_truth",
        INVALID,
        "NCCL_ALGO absent from scheduler TP5",
    ),
    "a variable has another value in one rank": (
        _environment(_of("scheduler TP2", "NCCL_BUFFSIZE"), found="4M", state="different"),
        "environment_truth",
        INVALID,
        "NCCL_BUFFSIZE is '4M' in scheduler TP2.*wanted '16777216'",
    ),
    "the ranks' environment is erased": (
        _environment(lambda row: row["process"].startswith("scheduler"), found=None, state="erased"),
        "environment_truth",
        INVALID,
        "cannot be proven in scheduler TP0.*SPT_NOENV=1",
    ),
    "a rank's environment cannot be read": (
        _environment(_of("scheduler TP7", "NCCL_PROTO"), found=None, state="unreadable"),
        "environment_truth",
        INVALID,
        "cannot be proven in scheduler TP7.*unreadable",
    ),
    "nobody looked for a variable in one process": (
        _json(LAUNCH, lambda launch: launch["environment"]["rows"].pop()),
        "environment_truth",
        INVALID,
        "was never looked for in pid",
    ),
    "the server runs with another tp": (
        _json(LAUNCH, lambda launch: launch["server"]["server_info"].update(tp_size=4)),
        "environment_truth",
        INVALID,
        "tp_size is 4 in the server, 8 in the rig",
    ),
    "the control arm speculates": (
        _json(LAUNCH, lambda launch: launch["server"]["server_info"].update(speculative_algorithm="EAGLE3")),
        "environment_truth",
        INVALID,
        "runs with speculation",
    ),
    "a finding at the start": (
        _finding("slate-start.json", "unclean", "GPU 3: 1894 MiB are allocated, held by nobody known"),
        "clean_slate",
        INVALID,
        "not clean session start: GPU 3: 1894 MiB.*end it",
    ),
    "something cannot be seen at the end": (
        _finding("slate-end.json", "unknown", "nvidia-smi does not answer"),
        "clean_slate",
        INVALID,
        "not clean session end: cannot be told: nvidia-smi does not answer",
    ),
    "a marked process is left over": (
        _json("slate-end.json", lambda slate: slate["leftovers"].append(_SURVIVOR)),
        "clean_slate",
        INVALID,
        "1 processes of a gate run are still there.*4711",
    ),
    "a process survived the stop": (
        _json(LAUNCH, lambda launch: launch["stop"]["survivors"].append(_SURVIVOR)),
        "decode_throughput",
        INVALID,
        "1 processes survived the stop.*kill -KILL 4711",
    ),
    "the server was dead at the end": (
        _json(LAUNCH, lambda launch: launch["liveness"].update(alive=False, answered=False, why="signal 9")),
        "decode_throughput",
        INVALID,
        "dead after the last generation.*signal 9",
    ),
    "the server was mute at the end": (
        _json(LAUNCH, lambda launch: launch["liveness"].update(answered=False, why="no answer within 3 s")),
        "decode_throughput",
        INVALID,
        "alive but mute after the last generation",
    ),
    "the launch was never finished": (
        _json(LAUNCH, lambda launch: launch.update(liveness=None)),
        "decode_throughput",
        INVALID,
        "never finished",
    ),
    "a stream was cut": (_cut, "decode_throughput", INVALID, "1 of .* generations failed .1 cut"),
    "prompts came from the cache": (_counts_wrong, "cache_state", INVALID, "came from the prefix cache"),
    "the GPUs throttled": (
        _held_back,
        "decode_throughput",
        INVALID,
        "8 GPUs slowed down.*sw_thermal_slowdown",
    ),
    "somebody else computed": (
        _visited,
        "decode_throughput",
        INVALID,
        "somebody else computed on GPU 5.*4711",
    ),
    "nobody watched the GPUs": (
        _blind,
        "decode_throughput",
        INVALID,
        "nobody watched the GPUs: nothing is known",
    ),
    "the watching ended after one row": (
        _short,
        "decode_throughput",
        INVALID,
        "nothing is known of them in .* the rows begin after its start or end before its end",
    ),
    "the telemetry is gone": (
        _json(LAUNCH, lambda launch: launch.update(telemetry=None)),
        "decode_throughput",
        INVALID,
        "nobody watched the GPUs: the rig .* has 8, launch.json holds no telemetry",
    ),
    "the telemetry is of no GPU": (
        _json(LAUNCH, lambda launch: launch["telemetry"].update(gpus=0)),
        "decode_throughput",
        INVALID,
        "nobody watched the GPUs: the rig .* has 8, the telemetry is of 0",
    ),
    "memory was in use and nobody made a finding of it": (
        _json("slate-start.json", lambda slate: slate["gpus"][5].update(allocated_mib=1894.0)),
        "clean_slate",
        INVALID,
        "GPU 5 has 1894 MiB allocated session start, and nobody made a finding of it",
    ),
}
