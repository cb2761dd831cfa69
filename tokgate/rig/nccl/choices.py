"""NCCL_ALGO and NCCL_PROTO: whether NCCL starts with them, and what they leave for a server's collectives."""

from __future__ import annotations

from collections.abc import Iterator

from tokgate.records.nccl import NcclLint
from tokgate.rig.nearest import nearest
from tokgate.rig.spelling import spell

from .selection import (
    ANYWHERE,
    PER_FUNCTION,
    PROTOCOLS,
    STARTS_EMPTY,
    Allowed,
    Refused,
    algorithms,
    allowed,
    pairs,
)
from .settings import Settings

OLD = "NCCL 2.23.4 src/graph/tuning.cc, parseList and ncclTopoTuneModel"
PARSED = "NCCL 2.24 to 2.30 src/graph/tuning.cc, from 2.31 src/tuning/cost_model.cc: parseList"
CHOSEN = "NCCL 2.28.9 src/enqueue.cc, topoGetAlgoInfo; src/graph/tuning.cc, ncclTopoTuneModel"
# The collectives that a tensor-parallel SGLang calls in every start: without them it ends there.
_NEEDED = ("AllReduce", "AllGather")


def selected(s: Settings) -> Iterator[NcclLint]:
    """Judge NCCL_ALGO and NCCL_PROTO, one by one and together."""
    read = {name: _read(s, name) for name in ("NCCL_ALGO", "NCCL_PROTO")}
    for name, result in read.items():
        if isinstance(result, Refused):
            yield _refused(s, name, result)
        elif result.ignored:
            yield _ignored(s, name, result)
    algo, proto = read["NCCL_ALGO"], read["NCCL_PROTO"]
    if isinstance(algo, Refused) or isinstance(proto, Refused):
        return
    if s.variables.keys() & read.keys():
        yield from _left(s, algo, proto)
        yield from _ll128(s, proto)


def protocols_of_all_reduce(s: Settings) -> frozenset[str]:
    """Return the protocols that the settings leave for all-reduce; all of them where they make no sense."""
    algo, proto = _read(s, "NCCL_ALGO"), _read(s, "NCCL_PROTO")
    if isinstance(algo, Refused) or isinstance(proto, Refused):
        return frozenset(PROTOCOLS)
    return frozenset(p for _, p in pairs(algo, proto, s.version)["AllReduce"]) or frozenset(PROTOCOLS)


def _read(s: Settings, name: str) -> Allowed | Refused:
    words = algorithms(s.version) if name == "NCCL_ALGO" else PROTOCOLS
    return allowed(s.variables.get(name), words, s.version)


def _refused(s: Settings, name: str, refused: Refused) -> NcclLint:
    words = algorithms(s.version) if name == "NCCL_ALGO" else PROTOCOLS
    close = nearest(refused.token.strip(" \t\"'"), words)
    return s.found(
        name,
        "error",
        what=f"NCCL will not initialise: {spell(refused.token)} in {spell(s.variables[name])}: {refused.what}",
        do=f"write {close}" if close else "take it out, or name " + ", ".join(words),
        source=PARSED,
    )


def _ignored(s: Settings, name: str, result: Allowed) -> NcclLint:
    dropped = ", ".join(map(spell, result.ignored))
    old = s.version < PER_FUNCTION
    return s.found(
        name,
        "warning",
        what=f"NCCL drops {dropped} without a word"
        + (
            ": an unknown name, or the syntax of a later version"
            if old
            else ": it reads one list behind a colon"
        ),
        do="write only what this version reads: names with commas between"
        + ("" if old else ", entries with semicolons between"),
        source=OLD if old else PARSED,
    )


def _left(s: Settings, algo: Allowed, proto: Allowed) -> Iterator[NcclLint]:
    left = pairs(algo, proto, s.version)
    nothing = [f for f, chosen in left.items() if not chosen]
    perhaps = {
        f: sorted({a for a, _ in chosen})
        for f, chosen in left.items()
        if chosen and not any(a in ANYWHERE for a, _ in chosen)
    }
    name = "NCCL_ALGO" if "NCCL_ALGO" in s.variables else "NCCL_PROTO"
    if nothing and s.version < PER_FUNCTION:
        yield s.found(
            name,
            "warning",
            what=f"nothing is left for {', '.join(nothing)}: NCCL takes Ring for it without a word",
            do="name Ring as well, or none",
            source=OLD,
        )
    elif nothing:
        needed = [f for f in _NEEDED if f in nothing]
        # The one way to name an algorithm for one function that all versions since 2.24 read alike.
        remedy = "write Ring for all and the exception behind it, as in ring;allreduce:tree"
        if s.version >= STARTS_EMPTY and set(nothing) - algo.named:
            remedy = (
                "name every function: "
                + remedy
                + "; from 2.31 the ones that NCCL_ALGO leaves out have nothing"
            )
        yield s.found(
            name,
            "error" if needed else "warning",
            what=f"no algorithm with a protocol is left for {', '.join(nothing)}: the first call of one fails"
            + (", in every start of a server with several ranks" if needed else ""),
            do=remedy,
            source=CHOSEN
            if s.version < STARTS_EMPTY
            else "NCCL 2.31.0a7 src/tuning/cost_model.cc, ncclTuningCostModelInit",
        )
    for algos in dict.fromkeys(tuple(a) for a in perhaps.values()):
        functions = ", ".join(f for f, chosen in perhaps.items() if tuple(chosen) == algos)
        yield s.found(
            name,
            "warning",
            what=f"{functions}: left with {', '.join(algos)} alone; where the machine has no such thing, the first"
            " call of one fails",
            do="name Ring as well, as in ring,nvls",
            source=CHOSEN,
        )


def _ll128(s: Settings, proto: Allowed) -> Iterator[NcclLint]:
    """Naming protocols takes NCCL's own test of LL128 away, also where `^` leaves it over."""
    text = s.variables.get("NCCL_PROTO")
    if (
        not text
        or s.version >= STARTS_EMPTY
        or not any("LL128" in proto.by_function[f] for f in proto.listed)
    ):
        return
    asked = "ll128" in text.lower() and "^" not in text
    yield s.found(
        "NCCL_PROTO",
        "warning",
        what=(
            "it asks for LL128"
            if asked
            else "the ^ leaves LL128 over, and what is left over counts as asked for"
        )
        + ": NCCL uses it then also where its own test of the machine would not, which can corrupt data",
        do="name the protocols wanted without LL128, unless the GPUs are all joined by NVLink",
        source="NCCL 2.28.9 src/graph/tuning.cc, ncclTopoTuneModel (pEnable == 2); env.rst, NCCL_PROTO",
    )
