"""Every knob of the model and every fault: name, default, unit, range and meaning.

A scenario file sets some of them; what it leaves out is the healthy, tuned box of the incident's good day. Lists of
ranks and GPUs are written as TOML arrays. `python -m simbox.knobs` prints this table.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any


def _knob(default: Any, words: str, low: float | None = None, high: float | None = None, of: str = "") -> Any:
    """`of`: the words allowed, with `|` between them."""
    extra = {"words": words, "low": low, "high": high, "allowed": tuple(of.split("|")) if of else ()}
    return dataclasses.field(default=default, metadata=extra)


@dataclass(frozen=True, kw_only=True)
class Knobs:
    """All knobs. Times in the units their names end in; shares and factors are plain ratios."""

    # --- the machine: see simbox/model.py for how they make a step
    decode_compute_ms: float = _knob(
        8.437, "kernels of one plain decode step at batch 1, with graph", 0.1, 1e4
    )
    verify_compute_ms: float = _knob(15.779, "kernels of verifying 3 tokens at batch 1, with graph", 0.1, 1e4)
    draft_ms: float = _knob(0.125, "one step of the drafter", 0.0, 1e3)
    draft_extend_ms: float = _knob(0.29, "the drafter's catching up after a verify", 0.0, 1e3)
    sample_ms: float = _knob(
        0.03,
        "the end of a verify that is sampling: part of its time, outside SGLang's device timer",
        0.0,
        1e3,
    )
    host_ms: float = _knob(0.14, "scheduler time between steps", 0.0, 1e3)
    eager_decode_ms: float = _knob(
        8.5, "what launching the kernels one by one adds to a decode step", 0.0, 1e3
    )
    eager_verify_ms: float = _knob(10.65, "the same for a verify", 0.0, 1e3)
    eager_host_ms: float = _knob(0.27, "and to the scheduler's time", 0.0, 1e3)
    batch_exponent: float = _knob(0.35, "kernels take batch ** this", 0.0, 1.0)
    token_exponent: float = _knob(0.555, "verify kernels take (draft tokens / 3) ** this", 0.0, 1.5)
    prefill_ms: float = _knob(35.0, "a prefill of one token", 0.1, 1e5)
    prefill_token_ms: float = _knob(0.06, "each further token of a prefill", 0.0, 100.0)
    handover_ms: float = _knob(
        4.0,
        "from a request's arrival at an idle server to its prefill; what arrives meanwhile joins it",
        0.0,
        1e3,
    )
    all_reduces: int = _knob(122, "all-reduces in one forward pass (two a layer)", 0, 1000)
    all_reduce_us: float = _knob(22.0, "one all-reduce on the tuned box", 0.0, 1e4)

    # --- what makes it slower
    verify_graph: bool = _knob(
        True, "verify replays a CUDA graph; false: runs in extend mode, kernel by kernel"
    )
    patch_ms: float = _knob(0.0, "what local patches add to each target forward pass", 0.0, 1e3)
    draft_factor: float = _knob(1.0, "draft takes this many times as long", 0.1, 100.0)
    verify_factor: float = _knob(1.0, "verify takes this many times as long, kernels and all", 0.1, 100.0)
    draft_extend_factor: float = _knob(1.0, "draft_extend takes this many times as long", 0.1, 100.0)
    host_factor: float = _knob(1.0, "the scheduler's time between steps, this many times as long", 0.1, 100.0)
    decode_factor: float = _knob(1.0, "a plain decode pass takes this many times as long", 0.1, 100.0)
    slow_rank: int = _knob(-1, "the rank that is slow; -1: none", -1, 63)
    slow_rank_factor: float = _knob(1.25, "how many times as long its kernels take", 1.0, 100.0)
    heat_after_s: float = _knob(-1.0, "seconds of load after which the GPUs throttle; -1: never", -1.0, 1e6)
    heat_factor: float = _knob(1.22, "how many times as long kernels take then", 1.0, 10.0)
    drift_per_minute: float = _knob(0.0, "each minute of server life adds this share to a step", -0.5, 10.0)
    slow_mode_share: float = _knob(0.0, "share of server starts that land in the slow mode", 0.0, 1.0)
    slow_mode_factor: float = _knob(1.27, "how many times as long all-reduces take in it", 1.0, 10.0)
    noise_step: float = _knob(0.003, "spread of single steps, as a share", 0.0, 0.5)
    noise_request: float = _knob(0.001, "spread between generations", 0.0, 0.5)
    noise_start: float = _knob(0.0014, "spread between server starts", 0.0, 0.5)

    # --- speculation
    accept_p: float = _knob(0.5488, "chance that the target agrees with the next draft token", 0.0, 1.0)
    accept_wobble: float = _knob(0.01, "how far that chance differs between prompts", 0.0, 0.5)
    accept_block: int = _knob(
        16, "verifies over which acceptance evens out; 1: each tosses a coin of its own", 1, 10**4
    )

    # --- NCCL variables on their way
    nccl_dropped: tuple[str, ...] = _knob((), "variables that vanish between main and the ranks below")
    nccl_late: tuple[str, ...] = _knob((), "variables the ranks get only at run time, after their exec")
    nccl_wrong: tuple[str, ...] = _knob((), "variables that arrive with another value, as NAME=VALUE")
    nccl_ranks: tuple[int, ...] = _knob((), "ranks the three knobs above act on; empty: all", 0, 63)

    # --- the box
    gpus: int = _knob(8, "GPUs in the box", 1, 16)
    gpu_mib: int = _knob(97887, "memory of each", 1024, 10**6)
    gpu_name: str = _knob("NVIDIA RTX PRO 6000 Blackwell (simulated)", "their name")
    driver: str = _knob("580.159.04", "driver version")
    boots: int = _knob(
        0,
        "how often the box was rebooted: since then another power cap, no persistence mode, a link at half width",
        0,
        1000,
    )
    tree: str = _knob("clean", "the SGLang installed on it, of simbox/trees", of="clean|patched")
    missing_gpu: int = _knob(-1, "a GPU nvidia-smi does not list; -1: none", -1, 15)
    lost_gpu: int = _knob(-1, "a GPU that fell off the bus; -1: none", -1, 15)
    smi: str = _knob("works", "how nvidia-smi is", of="works|hangs|absent|driver-mismatch|no-driver|no-gpus")
    smi_words: str = _knob(
        "",
        "what nvidia-smi says in place of memory numbers",
        of="|[N/A]|N/A|[Not Supported]|Not Supported|[Insufficient Permissions]"
        "|[Requested functionality has been deprecated]| ",
    )
    smi_words_gpu: int = _knob(-1, "the one GPU it says so for; -1: all", -1, 15)
    leftover_gpu: int = _knob(-1, "a GPU with memory in use before anything starts; -1: none", -1, 15)
    leftover_mib: int = _knob(1894, "how much", 1, 10**6)
    leftover_owner: str = _knob("none", "who holds it", of="none|living|zombie")
    memory_return_s: float = _knob(0.2, "seconds from a process's death until its memory is back", 0.0, 1e5)
    memory_never_gpu: int = _knob(-1, "a GPU whose memory never comes back; -1: none", -1, 15)

    # --- the server's life
    start_s: float = _knob(1.0, "seconds from launch to HTTP", 0.0, 3600.0)
    watchdog_poll_s: float = _knob(
        1.0, "how often a stopping server looks whether it is idle; the real one: every 5", 0.01, 60.0
    )
    die_at_request: int = _knob(0, "a rank dies in the middle of request N; 0: never", 0, 10**9)
    hang_at_request: int = _knob(
        0, "generation stops in request N while /health says 200; 0: never", 0, 10**9
    )
    slow_answer_s: float = _knob(0.0, "seconds every other HTTP answer is held back", 0.0, 600.0)
    cut_every: int = _knob(0, "every Nth stream is cut in the middle; 0: none", 0, 10**9)
    gauge_factor: float = _knob(1.0, "gauges of /metrics and log lines lie by this factor", 0.01, 100.0)
    told_throughput_factor: float = _knob(
        1.0, "decode_throughput of meta_info lies by this factor", 0.01, 100.0
    )
    leak_rank: int = _knob(-1, "a rank that outlives the server, re-parented; -1: none", -1, 63)
    ignore_term: bool = _knob(False, "SIGTERM is ignored")
    foreign_at_request: int = _knob(0, "somebody else's process takes a GPU in request N; 0: never", 0, 10**9)
    foreign_gpu: int = _knob(5, "the GPU it takes", 0, 15)
    stray_life_s: float = _knob(
        600.0, "seconds after which every stray process of ours ends by itself", 1.0, 1e5
    )
    corrupt_at_token: int = _knob(0, "with speculation, token N of each answer differs; 0: none", 0, 10**6)
    late_limit_ms: float = _knob(50.0, "a chunk later than this makes the run's times worthless", 0.1, 1e5)


def knobs() -> dict[str, dataclasses.Field[Any]]:
    """Return every knob by name."""
    return {f.name: f for f in dataclasses.fields(Knobs)}


def range_of(field: dataclasses.Field[Any]) -> str:
    """Say in words what a knob takes: `0.0 to 1.0`, `true or false`, `one of a, b`."""
    meta = field.metadata
    if meta["allowed"]:
        return "one of " + ", ".join(repr(word) for word in meta["allowed"])
    kind = str(field.type)
    limits = f" from {meta['low']:g} to {meta['high']:g}" if meta["low"] is not None else ""
    names = {"bool": "true or false", "int": "a whole number", "float": "a number", "str": "a text"}
    if kind in names:
        return names[kind] + limits
    return f"a list of {'numbers' + limits if 'int' in kind else 'texts'}"


def main() -> None:
    for name, field in knobs().items():
        print(f"{name} = {field.default!r}\n    {field.metadata['words']} ({range_of(field)})")


if __name__ == "__main__":
    main()
