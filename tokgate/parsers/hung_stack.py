"""Where a hung scheduler stood: py-spy's dump, which SGLang's watchdog prints before it ends the server."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from .log_prefix import PrefixedLine

FRAMES = 40  # more than the frames between a kernel's launch and the scheduler's loop

_MAIN_THREAD = re.compile(r'^Thread \S+ \(\w+(?:\+\w+)?\): "MainThread"')
_FRAME = re.compile(r"^\s+(?P<name>[\w.<>]{1,100}) \((?P<place>[^()]{1,200}:\d{1,7})\)")
# "Process 309: sglang::scheduler_DP0_TP6"; the title carries the ranks from 0.4.7 on.
_PROCESS = re.compile(r"^Process \d{1,10}: \S*?scheduler_(?P<rank>[A-Z]{2,4}\d{1,5}(?:_[A-Z]{2,4}\d{1,5})*)")
# Phases of a speculative step, and of a plain one.
_PHASE = re.compile(r"verify|draft\w*|\w*_extend\w*|forward_batch_generation|run_batch")
_LOOK_BACK = 8  # lines between the title of a dump and its main thread


class HungStack(NamedTuple):
    rank: str | None  # "TP6", "DP0 TP6"
    lines: tuple[PrefixedLine, ...]  # the thread's line, then its frames, the innermost first
    words: str  # "_apply (…py:78), called by verify (…py:259)"


def hung_stack(lines: Sequence[PrefixedLine]) -> HungStack | None:
    """Return the main thread of the first dump that shows one, None where the watchdog got no stack."""
    for index, line in enumerate(lines):
        if not _MAIN_THREAD.match(line.text):
            continue
        after = lines[index + 1 : index + 1 + FRAMES]
        end = next((n for n, frame in enumerate(after) if not frame.text[0].isspace()), len(after))
        frames = after[:end]
        return HungStack(
            rank=_rank(lines[max(0, index - _LOOK_BACK) : index]),
            lines=(line, *frames),
            words=_words([match for frame in frames if (match := _FRAME.match(frame.text))]),
        )
    return None


def _rank(before: Sequence[PrefixedLine]) -> str | None:
    for line in reversed(before):
        if match := _PROCESS.match(line.text):
            return match["rank"].replace("_", " ")
        if line.text.startswith("Pyspy dump for PID"):
            return line.rank
    return None


def _words(frames: Sequence[re.Match[str]]) -> str:
    if not frames:
        return ""
    inner = frames[0]
    words = f"{inner['name']} ({inner['place']})"
    phase = next((frame for frame in frames if _PHASE.fullmatch(frame["name"])), None)
    return words if phase in {None, inner} else f"{words}, called by {phase['name']} ({phase['place']})"
