"""The specification: what is played on the box, and what the gate must find.

One row a scenario of simbox/scenarios. `select` keeps to the launches that the scenario can change, and the settings
to as few generations as the checks need: a row takes a quarter of a minute at most.
"""

from __future__ import annotations

from .expecting import INCONCLUSIVE, INVALID, PASS, REGRESSED, Keeps, Row, Says

CONTROL, EAGLE3, PROOF = "01-baseline", "02-eagle3-2step", "00-nccl-proof"

# ---- what looks
AT_START = "test_clean_slate_at_the_start"  # no server at all
AT_END = "test_clean_slate_at_the_end"
PLAIN = f"{CONTROL} and (decode_throughput or environment_truth)"
SPECULATING = f"{EAGLE3} and (decode_throughput or acceptance_length or cycle_time)"
TRUTH = f"{CONTROL} and environment_truth"
NCCL_TRUTH = "nccl_truth"
TWIN = "speculation_beats_its_twin"


def one_stream(*, tokens: int = 32, repeats: int = 6, limit_s: float = 10) -> tuple[str, ...]:
    """Return settings for the smallest session that can still be judged: an interval takes six values."""
    return (
        f'workloads=[{{name="single", prompts="short", output_tokens={tokens}, repeats={repeats}, timeout_s={limit_s}}}]',
        "lossless.count=1",
        "lossless.output_tokens=4",
    )


def as_stored(*, repeats: int = 6) -> tuple[str, ...]:
    """Return settings that leave the identity of the rig's single stream as it is, and take little else."""
    return (
        f"workloads.single.repeats={repeats}",
        "workloads.conc8.repeats=1",
        "workloads.conc8.warmup=0",
        "workloads.conc8.output_tokens=2",
        "lossless.count=1",
        "lossless.output_tokens=4",
    )


AT_ONCE = ("gpus.wait_s=2",)  # for memory that will not come back anyhow


def _says_no_number(scenario: str, words: str) -> Row:
    """One of the seven ways in which nvidia-smi has no number for GPU 2."""
    told = ("cannot be told: GPU 2 ", "nobody can say how much memory is allocated", words)
    return Row(
        scenario,
        INVALID,
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
        select=AT_START,
        settings=settings,
        says=(Says("clean_slate", INVALID, words),),
        keeps=(Keeps("slate-start.json", r'"gpus": \[\]'),),
    )


THE_INCIDENT = (
    Row(
        "incident",
        REGRESSED,
        select=TWIN,
        settings=one_stream(),
        says=(Says(TWIN, REGRESSED, (r"0\.7\dx its twin \(82\.\d\)", r"it takes 3[012]\.\d+ ms")),),
        keeps=(
            Keeps(f"launches/{EAGLE3}/server.log", r"Decode batch.*accept len.*cuda graph: False"),
            Keeps(f"launches/{CONTROL}/server.log", r"Decode batch.*cuda graph: True"),
            Keeps("fingerprint.json", '"sglang.dirty": "(?!no|0)'),
        ),
        never=("NCCL",),
        timed=True,
        later="phases: that it is verify, kernel by kernel",
    ),
    Row(
        "verify-no-graph",
        REGRESSED,
        select=f"{TWIN} or ({CONTROL} and decode_throughput)",
        settings=one_stream(),
        says=(
            Says(TWIN, REGRESSED, (r"0\.6\dx its twin \(88\.\d\)",)),
            Says("decode_throughput", PASS, launch=CONTROL),
        ),
        keeps=(Keeps(f"launches/{EAGLE3}/server.log", r"Decode batch.*accept len.*cuda graph: False"),),
        never=("NCCL",),
        timed=True,
        later="phases: that it is verify, kernel by kernel",
        slow=True,
    ),
    Row(
        "patched-tree",
        REGRESSED,
        select=f"stored_baseline and {CONTROL} and single",
        settings=as_stored(),
        says=(
            Says(
                "stored_baseline",
                REGRESSED,
                (
                    r"baseline moved by -7\.[345] ?%",
                    "the tree has changed since it was stored",
                    "confirm with a clean tree",
                ),
                metric="decode_tok_s",
            ),
        ),
        keeps=(Keeps("fingerprint.json", '"sglang.dirty": "(?!no|0)'),),
        never=("NCCL",),
        timed=True,
    ),
    Row(
        "nccl-dropped",
        INVALID,
        select=TRUTH,
        settings=one_stream(repeats=1),
        says=(
            Says("environment_truth", INVALID, ("NCCL_ALGO absent from scheduler TP0", "NCCL_PROTO absent")),
        ),
        keeps=(
            Keeps(
                f"launches/{CONTROL}/environment.json",
                r'"process": "scheduler TP7",\s*"variable": "NCCL_PROTO",\s*"wanted": "LL",\s*"found": null,\s*"state": "absent"',
            ),
        ),
    ),
    Row(
        "acceptance-drop",
        REGRESSED,
        select=f"{SPECULATING} or {TWIN}",
        settings=one_stream(),
        says=(
            Says(TWIN, REGRESSED),
            Says("decode_throughput", REGRESSED, launch=EAGLE3),
            Says("acceptance_length", PASS, (r"accept length 1\.[23]\d",)),
            Says("cycle_time", PASS, (r"cycle per verify call 19\.\d+ ms",)),
        ),
        timed=True,
        slow=True,
    ),
)

SPEED = (
    Row(
        "draft-slow",
        REGRESSED,
        select=TWIN,
        settings=one_stream(),
        says=(Says(TWIN, REGRESSED),),
        timed=True,
        later="phases: that it is the draft",
        slow=True,
    ),
    Row(
        "slow-rank",
        REGRESSED,
        select=PLAIN,
        settings=one_stream(),
        says=(Says("decode_throughput", REGRESSED, ("below the floor 86.1",)),),
        timed=True,
        later="phases: that all of them are slower, and for which GPU",
        slow=True,
    ),
    Row(
        "heat",
        INVALID,
        select=PLAIN,
        settings=one_stream(tokens=64),
        says=(
            Says(
                "decode_throughput",
                INVALID,
                ("8 GPUs slowed down", "sw_thermal_slowdown", r"1992 MHz.*2430 MHz before"),
            ),
        ),
        keeps=(Keeps(f"launches/{CONTROL}/telemetry.jsonl", '"kind":"gpus"'),),
        timed=True,
    ),
    Row(
        "drift",
        INCONCLUSIVE,
        select=f"test_steadiness and {CONTROL}",
        # Twelve seconds of it are 2.4 %: a tighter floor instead of a longer test.
        settings=(*one_stream(tokens=64, repeats=16), "floors.decode_tok_s.relative=0.01"),
        says=(Says("steadiness", INCONCLUSIVE, ("still moving",)),),
        timed=True,
        slow=True,
    ),
    Row(
        "two-modes",
        INCONCLUSIVE,
        select="test_drift",
        settings=one_stream(),
        says=(Says("drift", INCONCLUSIVE, ("drift",)),),
        timed=True,
        later="statistics: that starts differ more than samples within one",
        slow=True,
    ),
    Row(
        "corrupt-output",
        REGRESSED,
        select="lossless",
        settings=(*one_stream(repeats=1), "lossless.count=2", "lossless.output_tokens=24"),
        says=(Says("lossless", REGRESSED, ("changes the output", r"\b1[67]\b")),),
        slow=True,
    ),
)


def _lost(scenario: str, *words: str, slow: bool = True) -> Row:
    """A variable does not arrive as written: the proof start says at which link of the chain."""
    return Row(
        scenario,
        INVALID,
        select=NCCL_TRUTH,
        settings=one_stream(repeats=1),
        says=(Says(NCCL_TRUTH, INVALID, words),),
        keeps=(
            Keeps(f"launches/{PROOF}/server.log", "NCCL INFO"),
            Keeps(f"launches/{PROOF}/environment.json", '"state": "(?:absent|different)"'),
        ),
        slow=slow,
    )


NCCL = (
    _lost(
        "nccl-one-rank",
        "NCCL_PROTO: absent from the exec environment of rank 3 only",
        "not accepted in rank 3 only",
        slow=False,
    ),
    _lost("nccl-late", "NCCL_PROTO: set at run time only, after exec"),
    _lost(
        "nccl-wrong-value",
        "NCCL_MAX_NCHANNELS: another value in the exec environment of every rank: '4' instead of '16'",
        "4 coll channels",
    ),
    _lost(
        "nccl-lower-case",
        "NCCL_P2P_LEVEL: another value in the exec environment of every rank: 'sys' instead of 'SYS'",
        "ignored by NCCL without a word",
    ),
    _lost(
        "nccl-tiny-buffer",
        "NCCL_BUFFSIZE: another value in the exec environment of every rank: '4M' instead of '16777216'",
        r"read as 4 \(bytes\)",
    ),
    Row(
        "nccl-refused",
        INVALID,
        select=NCCL_TRUTH,
        settings=one_stream(repeats=1),
        says=(
            Says(
                NCCL_TRUTH,
                INVALID,
                ("did not start", "NCCL refuses: Invalid value 'Rings' in NCCL_ALGO=Rings"),
            ),
        ),
        keeps=(Keeps(f"launches/{PROOF}/server.log", "Invalid value 'Rings' in NCCL_ALGO"),),
    ),
)

_GPU_3 = ("GPU 3 ", "1894 MiB")
THE_BOX = (
    Row(
        "leftover-no-owner",
        INVALID,
        select=AT_START,
        settings=AT_ONCE,
        says=(Says("clean_slate", INVALID, (*_GPU_3, "no living owner")),),
        keeps=(Keeps("slate-start.json", r'"gpu_index": 3,\s*"pid": null'),),
    ),
    Row(
        "leftover-living",
        INVALID,
        select=AT_START,
        settings=AT_ONCE,
        says=(Says("clean_slate", INVALID, (*_GPU_3, r"pid \d+", "python")),),
        keeps=(Keeps("slate-start.json", r'"gpu_index": 3,\s*"pid": \d+'),),
    ),
    Row(
        "leftover-zombie",
        INVALID,
        select=AT_START,
        settings=AT_ONCE,
        says=(Says("clean_slate", INVALID, (*_GPU_3, "zombie", "parent")),),
        keeps=(Keeps("slate-start.json", r'"gpu_index": 3,\s*"pid": \d+.*zombie'),),
    ),
    Row(
        "foreign-process",
        INVALID,
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
        select=f"{AT_END} or {TRUTH}",
        settings=(*one_stream(repeats=1), *AT_ONCE),
        says=(Says("clean_slate", INVALID, ("not clean session end", "GPU 3 ", "no living owner")),),
        keeps=(Keeps("slate-end.json", r'"gpu_index": 3,\s*"pid": null'),),
    ),
    Row(
        "gpu-missing",
        INVALID,
        select=AT_START,
        says=(Says("clean_slate", INVALID, ("7 GPUs, the rig says 8",)),),
    ),
    Row(
        "gpu-lost",
        INVALID,
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

THE_SERVERS_LIFE = (
    Row(
        "dies",
        INVALID,
        select=f"{PLAIN} or {AT_END}",
        settings=one_stream(),
        says=(
            Says("decode_throughput", INVALID, ("dead after the last generation", "signal 9")),
            Says("clean_slate", PASS),
        ),
        keeps=(
            Keeps(f"launches/{CONTROL}/server.log", r"crashed with exit code -9"),
            Keeps(f"launches/{CONTROL}/launch.json", r'"alive": false'),
        ),
    ),
    Row(
        "hangs-healthy",
        INVALID,
        select=f"{PLAIN} or {AT_END}",
        settings=(*one_stream(limit_s=3), "server.stop_timeout_s=2"),
        says=(
            Says("decode_throughput", INVALID, ("alive but mute", "power draw .* says hang")),
            Says("clean_slate", PASS),
        ),
        keeps=(Keeps(f"launches/{CONTROL}/launch.json", r'"alive": true,\s*"answered": false'),),
    ),
    Row(
        "slow-answers",
        PASS,
        select=f"{PLAIN} or {AT_END}",
        settings=one_stream(),
        says=(
            Says("decode_throughput", PASS, (r"decode 8[89]\.\d tok/s",)),
            Says("clean_slate", PASS),
        ),
        timed=True,
        slow=True,
    ),
    Row(
        "cut-streams",
        INVALID,
        select=PLAIN,
        settings=one_stream(),
        says=(Says("decode_throughput", INVALID, (r"of \d+ generations failed", "cut")),),
        keeps=(Keeps(f"launches/{CONTROL}/generations.jsonl", '"status":"cut"'),),
    ),
    Row(
        "lying-gauge",
        PASS,
        select=PLAIN,
        settings=one_stream(),
        says=(Says("decode_throughput", PASS, (r"88\.\d tok/s",)),),
        timed=True,
        later="statistics: a warning that gauges and log disagree with what was measured",
        slow=True,
    ),
    Row(
        "lying-throughput",
        INVALID,
        select=PLAIN,
        settings=one_stream(),
        says=(
            Says(
                "decode_throughput",
                INVALID,
                ("contradict each other", r"decode_throughput 9[678]\.\d+, .*first token\) 8[789]\.\d+"),
            ),
        ),
        slow=True,
    ),
    Row(
        "leaks-child",
        PASS,
        select=f"{TRUTH} or {AT_END}",
        settings=(*one_stream(repeats=1), *AT_ONCE),
        says=(Says("clean_slate", PASS), Says("environment_truth", PASS)),
        # It is found by its mark and by its ancestry, and ended with the rest.
        keeps=(Keeps("launches/*/launch.json", r'"killed": true.*"survivors": \[\]'),),
        slow=True,
    ),
    Row(
        "ignores-term",
        PASS,
        select=f"{PLAIN} or {AT_END}",
        settings=(*one_stream(), "server.stop_timeout_s=2"),
        says=(Says("clean_slate", PASS), Says("decode_throughput", PASS)),
        keeps=(Keeps("launches/*/launch.json", r'"killed": true'),),
        timed=True,
    ),
)

# What is played otherwise than by a row: why.
ELSEWHERE = {
    "somewhat-slow": "its size is drawn: test_seeds.py compares with the truth file",
    "fast-streams": "benchmarks/simbox.py measures the box by it",
}

ROWS = (*THE_INCIDENT, *SPEED, *NCCL, *THE_BOX, *NVIDIA_SMI, *THE_SERVERS_LIFE)
BY_NAME = {row.scenario: row for row in ROWS}

# Names that are words of plain English, or of tokgate's own for the same fault of a real machine.
PLAIN_WORDS = {
    "drift",
    "heat",
    "dies",
    "driver-mismatch",
    "gpu-lost",
    "no-driver",
    "no-gpus",
    "incident",
    "rebooted",
}
