"""What is played: the box itself, and nvidia-smi."""

from __future__ import annotations

from .expecting import INVALID, PASS, Keeps, Row, Says
from .selecting import AT_END, AT_ONCE, AT_START, CONTROL, PLAIN, TRUTH, one_stream


def _says_no_number(scenario: str, words: str) -> Row:
    """One of the seven ways in which nvidia-smi has no number for GPU 2."""
    told = ("cannot be told: GPU 2 ", "nobody can say how much memory is allocated", words)
    return Row(
        scenario,
        INVALID,
        causes=("machine cannot be seen",),
        select=AT_START,
        says=(Says("clean_slate", INVALID, told),),
        keeps=(Keeps("slate-start.json", '"index": 2,.*"allocated_mib": null.*"severity": "unknown"'),),
        slow=scenario not in ("smi-na", "smi-empty"),
    )


def _says_nothing(scenario: str, *words: str, settings: tuple[str, ...] = ()) -> Row:
    """Nvidia-smi as a whole is of no help."""
    return Row(
        scenario,
        INVALID,
        causes=("machine cannot be seen",),
        select=AT_START,
        settings=settings,
        says=(Says("clean_slate", INVALID, words),),
        keeps=(Keeps("slate-start.json", r'"gpus": \[\]'),),
    )


_GPU_3 = ("GPU 3 ", "1894 MiB")
THE_BOX = (
    Row(
        "leftover-no-owner",
        INVALID,
        causes=("machine not clean",),
        select=AT_START,
        settings=AT_ONCE,
        says=(Says("clean_slate", INVALID, (*_GPU_3, "no living owner")),),
        keeps=(Keeps("slate-start.json", r'"gpu_index": 3,\s*"pid": null'),),
    ),
    Row(
        "leftover-living",
        INVALID,
        causes=("machine not clean",),
        select=AT_START,
        settings=AT_ONCE,
        says=(Says("clean_slate", INVALID, (*_GPU_3, r"pid \d+", "python")),),
        keeps=(Keeps("slate-start.json", r'"gpu_index": 3,\s*"pid": \d+'),),
    ),
    Row(
        "leftover-zombie",
        INVALID,
        causes=("machine not clean",),
        select=AT_START,
        settings=AT_ONCE,
        says=(Says("clean_slate", INVALID, (*_GPU_3, "zombie", "parent")),),
        keeps=(Keeps("slate-start.json", r'"gpu_index": 3,\s*"pid": \d+.*zombie'),),
    ),
    Row(
        "foreign-process",
        INVALID,
        causes=("foreign load on the GPUs",),
        select=f"{PLAIN} or {AT_END}",
        settings=(*one_stream(tokens=64), *AT_ONCE),
        says=(
            Says(
                "decode_throughput",
                INVALID,
                ("somebody else computed on GPU 5 meanwhile", r"pid \d+", "1894 MiB"),
            ),
            Says("clean_slate", INVALID, ("GPU 5 ", r"pid \d+", "1894 MiB")),
        ),
        keeps=(Keeps(f"launches/{CONTROL}/telemetry.jsonl", '"kind":"process"'),),
    ),
    Row(
        "memory-slow",
        PASS,
        select=f"{AT_END} or {TRUTH}",
        settings=one_stream(repeats=1),
        says=(Says("clean_slate", PASS, (r"after waiting [4-9] s",)),),
        slow=True,
    ),
    Row(
        "memory-never",
        INVALID,
        causes=("machine not clean",),
        select=f"{AT_END} or {TRUTH}",
        settings=(*one_stream(repeats=1), *AT_ONCE),
        says=(Says("clean_slate", INVALID, ("not clean session end", "GPU 3 ", "no living owner")),),
        keeps=(Keeps("slate-end.json", r'"gpu_index": 3,\s*"pid": null'),),
    ),
    Row(
        "gpu-missing",
        INVALID,
        causes=("machine not clean",),
        select=AT_START,
        says=(Says("clean_slate", INVALID, ("7 GPUs, the rig says 8",)),),
    ),
    Row(
        "gpu-lost",
        INVALID,
        causes=("machine not clean",),
        select=AT_START,
        says=(Says("clean_slate", INVALID, ("GPU is lost",)),),
    ),
    Row(
        "rebooted",
        PASS,
        select=AT_START,
        says=(Says("clean_slate", PASS),),
        keeps=(Keeps("fingerprint.json", "power.limit"),),
        slow=True,
    ),
)

NVIDIA_SMI = (
    _says_nothing("driver-mismatch", "Driver/library version mismatch"),
    _says_nothing("no-driver", "couldn't communicate with the NVIDIA driver"),
    _says_nothing("no-gpus", "No supported GPUs were found"),
    _says_nothing(
        "smi-hangs",
        "nvidia-smi",
        r"did not (?:end|answer|come back)|time",
        settings=("host.command_timeout_s=2",),
    ),
    _says_nothing("smi-absent", "nothing tells about the GPUs", "there is no nvidia-smi"),
    _says_no_number("smi-na", r"\[N/A\]"),
    _says_no_number("smi-na-bare", "N/A"),
    _says_no_number("smi-not-supported", r"\[Not Supported\]"),
    _says_no_number("smi-not-supported-bare", "Not Supported"),
    _says_no_number("smi-no-permission", r"\[Insufficient Permissions\]"),
    _says_no_number("smi-deprecated", "deprecated"),
    _says_no_number("smi-empty", "memory"),
)
