"""Versions of NCCL, and those whose sources the rules here were read in."""

from __future__ import annotations

import re

Version = tuple[int, int, int]

# Judged by where the installed version is not known. SGLang 0.5.23 asks for a PyTorch that brings this one.
REFERENCE: Version = (2, 30, 7)
# One of each behaviour: where no version is known, what only some of them do is said as well.
JUDGED: tuple[Version, ...] = (
    (2, 21, 5),
    (2, 22, 3),
    (2, 23, 4),
    (2, 24, 3),
    (2, 25, 1),
    (2, 26, 2),
    (2, 27, 7),
    (2, 28, 9),
    (2, 29, 7),
    (2, 30, 7),
    (2, 31, 0),
)

_DOTTED = re.compile(r"\s*v?(\d{1,3})\.(\d{1,3})(?:\.(\d{1,3}))?")


def read_version(text: str | None) -> Version | None:
    """Read "2.28.9", "v2.30.4-1", "2.31.0a7", "2.28.9+cuda12.9" and the like; None: it tells no version."""
    match = _DOTTED.match(text or "")
    return (int(match[1]), int(match[2]), int(match[3] or 0)) if match else None


def spell_version(version: Version) -> str:
    return ".".join(map(str, version))


def spell_range(versions: tuple[Version, ...]) -> str:
    """Words for the ones of JUDGED that do something: "in NCCL 2.31 and later", "in NCCL before 2.24"."""
    first, last = JUDGED.index(versions[0]), JUDGED.index(versions[-1])
    begin = f"{versions[0][0]}.{versions[0][1]}"
    if last == len(JUDGED) - 1:
        return f"in NCCL {begin} and later"
    after = JUDGED[last + 1]
    end = f"{after[0]}.{after[1]}"
    return f"in NCCL before {end}" if first == 0 else f"in NCCL {begin} until before {end}"
