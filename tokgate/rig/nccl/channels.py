"""Channel limits: old names and new, what is cut, and which of two limits wins."""

from __future__ import annotations

from collections.abc import Iterator

from tokgate.records.nccl import NcclLint

from .numbers import as_int
from .settings import Settings

SOURCE = "NCCL 2.30.7 src/graph/connect.cc, ncclMinNchannels, ncclMaxNchannels, ncclTopoPostset"
CONFIG = "NCCL 2.30.7 src/init.cc, envConfigOverride"
_MANUAL = "NCCL 2.30.7 docs/userguide/source/env.rst"
_UNSET = -2
_TWINS = {"NCCL_MAX_NCHANNELS": "NCCL_MAX_CTAS", "NCCL_MIN_NCHANNELS": "NCCL_MIN_CTAS"}
_RINGS = {"NCCL_MAX_NRINGS": "NCCL_MAX_NCHANNELS", "NCCL_MIN_NRINGS": "NCCL_MIN_NCHANNELS"}


def channels(s: Settings) -> Iterator[NcclLint]:
    limits = {name: n for name in (*_TWINS, *_TWINS.values(), *_RINGS) if (n := _limit(s, name)) is not None}
    for name, number in limits.items():
        yield from _alone(s, name, number)
    for name, twin in (*_TWINS.items(), *_RINGS.items()):
        if name in limits and twin in limits:
            yield _both(s, name, twin, limits[name], limits[twin])
        elif name in limits:
            yield s.found(
                name,
                "note",
                what=f"an old name of {twin}; NCCL still reads it",
                do=f"write {twin}" if name in _TWINS else f"write {_TWINS[twin]}",
                source=f"{_MANUAL}, {name if name in _TWINS else twin}",
            )
    yield from _contradiction(s, limits)


def most_channels(s: Settings) -> int:
    return 64 if s.version >= (2, 25, 0) else 32


def _limit(s: Settings, name: str) -> int | None:
    number = s.number(name)
    return None if number is None or number == _UNSET else as_int(number)


def _alone(s: Settings, name: str, number: int) -> Iterator[NcclLint]:
    most = most_channels(s)
    new = name in _TWINS.values()
    what = None
    if number > most:
        what = f"NCCL cuts {number} to {most}, the most it has"
    elif number < 1 and new:
        what = f"NCCL passes over {number}: a limit of channels begins at 1"
    elif number < 1 and "MAX" in name:
        what = f"NCCL takes 1 in place of {number}"
    elif number < 0:
        what = f"NCCL takes 0 in place of {number}"
    if what is not None:
        yield s.found(
            name,
            "warning",
            what=what,
            do=f"write a number from 1 to {most}",
            source=CONFIG if new else SOURCE,
        )
    elif "MAX" in name and number == most:
        yield s.found(
            name,
            "note",
            what=f"{number} is the most NCCL ever takes: it limits nothing",
            do="take it out, or keep it as a reminder",
            source=CONFIG if new else SOURCE,
        )


def _both(s: Settings, name: str, twin: str, old: int, new: int) -> NcclLint:
    if name in _RINGS:
        wins = f"{twin} = {new} counts, the other is not read"
    else:
        wins = (
            f"{min(old, new)} counts, the lower" if "MAX" in name else f"{max(old, new)} counts, the higher"
        )
    return s.found(
        name,
        "note" if old == new else "warning",
        what=f"it says {old} and {twin}, its newer name, says {new}: {wins}",
        do=f"keep {twin} alone",
        source=f"{SOURCE}; {_MANUAL}, NCCL_MAX_CTAS",
    )


def _contradiction(s: Settings, limits: dict[str, int]) -> Iterator[NcclLint]:
    least = [(n, v) for n, v in limits.items() if "MIN" in n and v >= 1]
    most = [(n, v) for n, v in limits.items() if "MAX" in n and v >= 1]
    for low, minimum in least:
        for high, maximum in most:
            if minimum <= maximum:
                continue
            both_new = low in _TWINS.values() and high in _TWINS.values()
            # copyChannels adds channels up to the minimum after the maximum was applied.
            winner = f"both become {maximum}" if both_new else f"the minimum wins, {minimum} channels"
            yield s.found(
                low,
                "warning",
                what=f"it asks for at least {minimum} channels, and {high} for at most {maximum}: {winner}",
                do="make the minimum no more than the maximum",
                source=CONFIG if both_new else SOURCE,
            )
