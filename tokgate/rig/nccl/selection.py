"""Which algorithms and protocols NCCL_ALGO and NCCL_PROTO leave for each collective.

Read in parseList and ncclTopoTuneModel of src/graph/tuning.cc (until 2.30), and in parseList and
ncclTuningCostModelInit of src/tuning/cost_model.cc (from 2.31, read at 2.31.0a7).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from .versions import Version

FUNCTIONS = ("Broadcast", "Reduce", "AllGather", "ReduceScatter", "AllReduce")
PROTOCOLS = ("LL", "LL128", "Simple")
_ALGORITHMS = ("Tree", "Ring", "CollNetDirect", "CollNetChain", "NVLS", "NVLSTree", "PAT")

# From here an unknown word ends the start, entries may name a function, and Ring is no longer a last resort.
PER_FUNCTION: Version = (2, 24, 0)
# From here NCCL_ALGO starts with nothing allowed, and LL128 is tested against the machine even where it is asked for.
STARTS_EMPTY: Version = (2, 31, 0)

# What each algorithm has kernels for; the others are never chosen.
_IMPLEMENTED: dict[str, dict[str, tuple[str, ...]]] = {
    "Tree": {"AllReduce": PROTOCOLS},
    "Ring": dict.fromkeys(FUNCTIONS, PROTOCOLS),
    "CollNetDirect": dict.fromkeys(("AllGather", "ReduceScatter", "AllReduce"), ("Simple",)),
    "CollNetChain": {"AllReduce": ("Simple",)},
    "NVLS": dict.fromkeys(("AllGather", "ReduceScatter", "AllReduce"), ("Simple",)),
    "NVLSTree": {"AllReduce": ("Simple",)},
    "PAT": dict.fromkeys(("AllGather", "ReduceScatter"), ("Simple",)),
}
ANYWHERE = frozenset({"Tree", "Ring"})  # the others need NVLink SHARP, or several machines


class Refused(NamedTuple):
    """NCCL would not initialise: ncclInvalidUsage, or worse."""

    what: str
    token: str


class Allowed(NamedTuple):
    """What one variable allows: function -> words.

    `named` are the functions for which it names a word, `listed` those for which it has a list, were it `^` alone.
    """

    by_function: dict[str, frozenset[str]]
    named: frozenset[str]
    listed: frozenset[str]
    ignored: tuple[str, ...]  # words that were dropped without a word


def algorithms(version: Version) -> tuple[str, ...]:
    return _ALGORITHMS if version >= (2, 23, 0) else _ALGORITHMS[:-1]


def allowed(text: str | None, words: Sequence[str], version: Version) -> Allowed | Refused:
    """Read the value of NCCL_ALGO (`words` are the algorithms) or NCCL_PROTO; None: not set."""
    everything = dict.fromkeys(FUNCTIONS, frozenset(words))
    if text is None:
        return Allowed(everything, frozenset(), frozenset(), ())
    if version < PER_FUNCTION:
        return _plain_list(text, words)
    empty = version >= STARTS_EMPTY and tuple(words) != PROTOCOLS and bool(text)
    by_function = dict.fromkeys(FUNCTIONS, frozenset[str]()) if empty else everything
    named: set[str] = set()
    spoken: set[str] = set()
    ignored: list[str] = []
    for index, entry in enumerate(_tokens(text, ";")):
        parts = _tokens(entry, ":")
        first = index == 0 and not text.startswith(";")
        if len(parts) < 2 and not first:
            return Refused("every entry but the first needs a function in front, as in allreduce:ring", entry)
        if not parts:
            return Refused("NCCL follows a null pointer and the process crashes", entry)
        ignored += parts[2:]
        function, listed = (parts[0], parts[1]) if len(parts) > 1 else (None, parts[0])
        functions = [f for f in FUNCTIONS if function is None or f.lower() == function.lower()]
        if not functions:
            return Refused("it names no collective", function or "")
        inverted = listed.startswith("^")
        chosen = _chosen(listed.removeprefix("^"), words)
        if isinstance(chosen, Refused):
            return chosen
        for f in functions:
            by_function[f] = frozenset(words) - chosen if inverted else chosen
        named.update(functions if chosen else ())
        spoken.update(functions)
    return Allowed(by_function, frozenset(named), frozenset(spoken), tuple(ignored))


def pairs(algo: Allowed, proto: Allowed, version: Version) -> dict[str, frozenset[tuple[str, str]]]:
    """Return what is left for each function: (algorithm, protocol), where NCCL has kernels for the pair."""
    known = algorithms(version)
    named = algo.named | proto.named
    left = {}
    for f in FUNCTIONS:
        # From 2.31 the lists count only for functions that one of the two variables speaks of.
        free = version >= STARTS_EMPTY and f not in named
        left[f] = frozenset(
            (a, p)
            for a in known
            for p in _IMPLEMENTED[a].get(f, ())
            if free or (a in algo.by_function[f] and p in proto.by_function[f])
        )
    return left


def _plain_list(text: str, words: Sequence[str]) -> Allowed:
    """Until 2.23: one list for all functions, unknown words dropped; an empty one allows nothing."""
    inverted = text.startswith("^")
    tokens = _tokens(text.removeprefix("^"), ",")
    folded = {w.lower(): w for w in words}
    chosen = frozenset(folded[t.lower()] for t in tokens if t.lower() in folded)
    left = frozenset(words) - chosen if inverted else chosen
    ignored = tuple(t for t in tokens if t.lower() not in folded)
    every = frozenset(FUNCTIONS)
    return Allowed(dict.fromkeys(FUNCTIONS, left), every, every, ignored)


def _chosen(listed: str, words: Sequence[str]) -> frozenset[str] | Refused:
    folded = {w.lower(): w for w in words}
    tokens = _tokens(listed, ",")
    unknown = next((t for t in tokens if t.lower() not in folded), None)
    if unknown is not None:
        return Refused(f"it is none of {', '.join(words)}", unknown)
    return frozenset(folded[t.lower()] for t in tokens)


def _tokens(text: str, separator: str) -> list[str]:
    """As strtok does: empty parts do not exist."""
    return list(_parts(text, separator))


def _parts(text: str, separator: str) -> Iterator[str]:
    yield from (part for part in text.split(separator) if part)
