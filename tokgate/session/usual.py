"""What servers usually take to start and stop, and streams to make a token, where nothing is known of this rig.

Only a plan is reckoned from it, and says so: nothing is judged by any of these numbers. A first session replaces them.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

from tokgate.rig.models import Rig

# Seconds of a launch outside its barrier starts: clean slate, start, proofs, stop.
# 13 launches of rig sim-8gpu on two cores: 4.4 to 13.5.
_SIMULATED_S = 4.5, 14.0
# SGLang 0.5.23 on two CPU cores, the pairs of rig sglang-cpu: 13 s to the first tokens on a quiet machine
# (docs/sglang-cpu.md); 50 to 70 s in all on a busy one.
_CPU_S = 20.0, 70.0
# SGLang 0.5.16 on one and two H200, 15 GB of weights of which 9 are written: 33 to 58 s, 87 for a first start that compiles
# (docs/gpu-host.md).
_GPU_S = 33.0, 90.0
# Reading weights, in bytes per second. 163 shards of DeepSeek-V3, 688 GB, in an hour on eight MI300X
# (sgl-project/sglang#3825), in 52 s on eight H200 (sgl-project/sglang#3416).
_READ_BYTES_S = 0.19e9, 13.0e9
# Where nobody knows how big they are: DeepSeek-R1 on eight H200, download and load (sgl-project/sglang#3825).
_UNKNOWN_WEIGHTS_S = 1200.0
_WEIGHTS = (".safetensors", ".bin", ".gguf", ".pt", ".pth")

# Seconds of a session outside its launches, from the first look at the host to the last: the sessions that the above is from.
BESIDES_S = 3.0, 14.0
# One stream, tok/s: an assumption that a plan names as one.
_TOK_S = 20.0, 200.0
# Small models (docs/sglang-cpu.md): 44 to 80 on a quiet machine, 12 to 60 on a busy one.
_CPU_TOK_S = 10.0, 80.0


class Around(NamedTuple):
    """Seconds of one launch outside its barrier starts, and where they come from."""

    low: float
    high: float
    words: str


def usual_tok_s(rig: Rig) -> tuple[float, float]:
    return _TOK_S if rig.gpus.count else _CPU_TOK_S


def usual_around(rig: Rig) -> Around:
    if rig.simulated:
        return Around(*_SIMULATED_S, "a server's start and stop as on the simulated box")
    if rig.gpus.count == 0:
        return Around(*_CPU_S, "a server's start and stop as of small models on CPUs")
    low, high = _GPU_S
    if rig.server.args.get("load_format") == "dummy":
        return Around(low, high, "a server's start and stop as on an H200")
    size = weights_bytes(rig)
    if size is None:
        words = "a server's start and stop from that of a small model on an H200 to 20 min for weights of unknown size"
        return Around(low, _UNKNOWN_WEIGHTS_S, words)
    slow, fast = _READ_BYTES_S
    words = f"a server's start and stop as on an H200, and {size / 1e9:,.1f} GB of weights at 0.2 to 13 GB/s"
    return Around(low + size / fast, high + size / slow, words)


def weights_bytes(rig: Rig) -> int | None:
    """Return how big the target's weights are where they lie on this machine; None: not known."""
    folder = Path(rig.server.model_path).expanduser()
    if rig.host.testinfra != "local://":
        return None
    try:
        with os.scandir(folder) as entries:
            sizes = [e.stat().st_size for e in entries if e.name.endswith(_WEIGHTS)]
    except OSError:
        return None  # a name that SGLang looks up elsewhere
    return sum(sizes) or None
