"""The machines on which decisions are tried: how much one number differs by itself, at every level.

All are relative standard deviations. Sources: the project's measurements on one H200 (8B-shaped model), SGLang's and
others' public reports.
"""

from __future__ import annotations

import math
from typing import NamedTuple

# Two sessions 0.8 % apart (217.68 and 219.4 tok/s, H200) are a standard deviation of 0.8 % / sqrt(2) for one of them.
_H200_SESSION = 0.008 / math.sqrt(2)


class World(NamedTuple):
    name: str
    words: str
    start: float  # from start to start within a server run
    restart: float  # from server run to server run within a session
    session: float  # from session to session
    drift: float = 0.0  # change over a session of six launches, linear in time: the machine becomes slower
    apart: float = 0.0  # a second mode that a restart may fall into: so much slower
    share: float = 0.0  # of restarts in the slow mode


WORLDS = (
    World("h200-1", "one H200, one stream", 0.0005, 0.0012, _H200_SESSION),
    World("sglang", "CV 0.28 % at one stream, sessions 5 % apart", 0.0020, 0.0028, 0.05 / math.sqrt(2)),
    World("cpu", "a quiet CPU, 1 % at every level", 0.0100, 0.0100, 0.0100),
    World("h200-16", "one H200, sixteen streams", 0.0070, 0.0190, 0.0200),
    World("no-graph", "one H200 without CUDA graphs", 0.0050, 0.0300, 0.0300),
    World("drift", "h200-1, 2 % slower after six launches", 0.0005, 0.0012, _H200_SESSION, drift=0.02),
    # 2 % between the two controls, just the floor: refused in half of all sessions.
    World("warming", "h200-1, 6 % slower after six launches", 0.0005, 0.0012, _H200_SESSION, drift=0.06),
    World("heat", "h200-1, 10 % slower after six launches", 0.0005, 0.0012, _H200_SESSION, drift=0.10),
    # NCCL 2.30.4 (TensorRT-LLM#17160): CV 26.5 % by restart; half of the restarts 72 % slower have that CV.
    World(
        "two-mode", "half of the restarts 72 % slower", 0.0005, 0.0012, _H200_SESSION, apart=0.72, share=0.5
    ),
    # The treacherous one: modes hardly farther apart than a loss, the slow one rare.
    World(
        "two-mode-5", "one restart of five 5 % slower", 0.0005, 0.0012, _H200_SESSION, apart=0.05, share=0.2
    ),
)
_BY_NAME = {world.name: world for world in WORLDS}
# What a limit is tried on: quiet, noisy, and slow modes that would have an arm at its limit miss it.
AT_LIMIT = (
    *(_BY_NAME[name] for name in ("h200-1", "cpu", "h200-16", "two-mode-5")),
    World(
        "two-mode-5-30",
        "three restarts of ten 5 % slower",
        0.0005,
        0.0012,
        _H200_SESSION,
        apart=0.05,
        share=0.3,
    ),
    World(
        "two-mode-9-30",
        "three restarts of ten 9 % slower",
        0.0005,
        0.0012,
        _H200_SESSION,
        apart=0.09,
        share=0.3,
    ),
    # Farther apart than two modes of a whole server's number were ever seen (stats/confirm.py): nothing is claimed.
    _BY_NAME["two-mode"],
)
# Those in which a loss of 3 % is ten times what server runs differ by: there it must be seen.
QUIET = ("h200-1", "sglang")


# What a decision costs. An 8B model on one H200 is ready 25 to 50 s after its launch, larger ones take minutes, and a stop
# takes 5 s: 60 s is a small model's restart, so that a large one's makes rules that restart often look worse still. A
# start of 256 to 400 tokens at 90 tok/s takes 3 to 4.5 s.
RESTART_S = 60.0
START_S = 4.0
WARMUPS = 1  # starts a workload and launch that nobody judges; every rule's
