"""Sessions that several tests ask about and that are no row of the table, by the name of the fixture that tells them."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path

from tests.gate.machine import marked, wait_for

from . import patch_stories, phase_stories
from .gate_run import GateRun, play
from .playing import on_time
from .rows import ROWS
from .selecting import AT_END, AT_ONCE, AT_START, CONTROL, NCCL_TRUTH, PLAIN, TRUTH, one_stream

# A name that occurs nowhere else: what is found of it came from the command line.
TRACER = "violet-otter"
SEEN: dict[int, bytes] = {}  # pid -> environment and command line of the traced session's server

LEFT_OVER = ("leftover-no-owner", "leftover-living", "leftover-zombie")
UNREADABLE = tuple(row.scenario for row in ROWS if "nobody can say" in str(row.says))
NCCL = ("nccl-one-rank", "nccl-late", "nccl-wrong-value", "nccl-lower-case", "nccl-tiny-buffer")
NOT_GOING = ("leaks-child", "ignores-term")


def good(folder: Path) -> GateRun:
    """Measure the control arm of a healthy box, with what is looked at before and after it."""
    return on_time(
        lambda attempt: play(
            folder / attempt, [], "-k", f"clean_slate or {CONTROL}", settings=one_stream(repeats=10)
        )
    )


def traced(folder: Path) -> GateRun:
    """Play a scenario of a telling name, and two that come with the box."""
    names = folder.parent / f"{folder.name}-scenarios"
    names.mkdir(parents=True)
    scenario = names / f"{TRACER}.toml"
    scenario.write_text("[knobs]\npatch_ms = 0.1\n")
    return play(
        folder,
        [f"{scenario},ignores-term", "nccl-late"],
        *("-k", TRUTH, "-v"),
        settings=(*one_stream(repeats=6), "server.stop_timeout_s=1"),
        meanwhile=_look_at_processes,
    )


def _look_at_processes(reports: Path) -> None:
    """Read environment and command line of every process of the server while it is measured."""

    def mark() -> str | None:
        for file in reports.glob(f"*/launches/{CONTROL}/launch.json"):
            server = json.loads(file.read_text(encoding="utf-8"))["server"]
            return str(server["mark"]) if server else None
        return None

    for pid in marked(wait_for(mark, limit_s=120)):
        process = Path("/proc") / str(pid)
        SEEN[pid] = (process / "environ").read_bytes() + (process / "cmdline").read_bytes()


def pair_of(seed: int) -> tuple[str, str]:
    """Draw two faults, in either order: odd seeds such as are seen before a server starts, the others one needs."""
    drawn = random.Random(f"pair/{seed}")
    kinds = (LEFT_OVER, UNREADABLE) if seed % 2 else (NCCL, NOT_GOING)
    pair = [drawn.choice(kind) for kind in kinds]
    drawn.shuffle(pair)
    return pair[0], pair[1]


def both(folder: Path, seed: int) -> GateRun:
    settings = (*one_stream(repeats=1), *AT_ONCE, "server.stop_timeout_s=2")
    select = AT_START if seed % 2 else f"{NCCL_TRUTH} or {AT_END}"
    return play(folder, pair_of(seed), "-k", select, settings=settings, seed=seed)


def drawn_loss(folder: Path, seed: int) -> GateRun:
    settings = one_stream(repeats=8)
    return on_time(
        lambda attempt: play(folder / attempt, ["somewhat-slow"], "-k", PLAIN, settings=settings, seed=seed)
    )


STORIES: dict[str, Callable[[Path], GateRun]] = {
    "good": good,
    "traced": traced,
    "phases": phase_stories.healthy,
    "costs": patch_stories.costs,
    "nothing": patch_stories.nothing,
    "breaks": patch_stories.breaks,
}
SEEDED: dict[str, Callable[[Path, int], GateRun]] = {"both": both, "drawn_loss": drawn_loss}
