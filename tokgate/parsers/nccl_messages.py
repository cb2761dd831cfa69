"""NCCL's messages out of a line: "host:pid:thread [device] NCCL INFO message".

NCCL writes to the same file as everything else, so a message may stand behind other text and two messages
may share a line. Behind a quote it is somebody's prompt in a request log, and proves nothing.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from .nccl_records import NcclProcess

_LEVEL = re.compile(r" NCCL (?P<level>INFO|WARN|TRACE) ")
# Anchored at its end, in front of the level; WARN has the file, and the function in braces, in between.
_SPEAKER = re.compile(
    r"(?P<host>[\w.-]{1,253}):(?P<pid>[0-9]{1,10}):(?P<thread>[0-9]{1,10}) \[(?P<device>[0-9]{1,4})\]"
    r"(?: [^\s:]{1,200}:[0-9]{1,7}(?: \(\w{1,128}\))?)?\Z"
)
_QUOTE = re.compile(r"['\"`]")
_SPEAKER_MAX = 620  # characters that the pattern above can be long


class NcclMessage(NamedTuple):
    process: NcclProcess
    level: str
    text: str


def nccl_messages(line: str) -> list[NcclMessage]:
    """Return every message of one line, in order; a level word without a speaker is none."""
    found: list[tuple[int, int, NcclProcess, str]] = []
    for level in _LEVEL.finditer(line):
        before = line[max(0, level.start() - _SPEAKER_MAX) : level.start()]
        if speaker := _SPEAKER.search(before):
            process = NcclProcess(
                host=speaker["host"], pid=int(speaker["pid"]), device=int(speaker["device"])
            )
            start = level.start() - len(before) + speaker.start()
            if not found and _QUOTE.search(line, 0, start):
                return []
            found.append((start, level.end(), process, level["level"]))
    ends = [start for start, _, _, _ in found[1:]] + [len(line)] if found else []
    return [
        NcclMessage(process=process, level=level, text=line[begin:end])
        for (_, begin, process, level), end in zip(found, ends, strict=True)
    ]
