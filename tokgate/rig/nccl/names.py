"""Whether NCCL reads a variable at all, and whether its value arrives as it was meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterator

from tokgate.records.nccl import NcclLint
from tokgate.rig.spelling import spell

from .known import PREFIX, is_known, newest_read, other_reader, successor, variables
from .settings import Settings
from .versions import spell_version

SOURCE = "NCCL 2.21.5 to 2.31.0a7 src/: every NCCL_PARAM, getenv and ncclGetEnv (tokgate/rig/nccl/known.toml)"
_SHELL = "getenv(3): names count by every letter, values by every character"
_QUOTES = "\"'`"


def is_about_nccl(name: str) -> bool:
    """Tell whether a variable is meant for NCCL, be it misspelled: NCCL_ALGO, nccl_algo, NCLL_ALGO."""
    folded = name.upper()
    if folded.startswith(("NCCL_", "NCCL-")) or folded == "NCCL":
        return True
    # SGLANG_NCCL_SO_PATH, TORCH_NCCL_BLOCKING_WAIT and the like are read by others, and are no slips.
    return "NCCL" not in folded and bool(difflib.get_close_matches(folded, variables(), n=1, cutoff=0.88))


def names(s: Settings) -> Iterator[NcclLint]:
    for name in s.variables:
        if not is_known(name, s.version):
            yield _unknown(s, name)


def spelled(s: Settings) -> Iterator[NcclLint]:
    """Blanks and quotation marks that stand in the value: no shell takes them away here."""
    for name, text in s.variables.items():
        known = variables().get(name)
        if known is None or not text:
            continue
        bare = text.strip()
        if bare[:1] in _QUOTES and bare:
            yield s.found(
                name,
                "warning",
                what=f"the value {spell(text)} holds quotation marks, and NCCL takes them for part of it",
                do=f"write {spell(bare.strip(_QUOTES))}, without them",
                source=_SHELL,
            )
        elif bare != text:
            number = known.kind == "integer"
            yield s.found(
                name,
                "note" if number else "warning",
                what=f"the value {spell(text)} has blanks around it"
                + (", which NCCL skips" if number else ", and NCCL takes them for part of it"),
                do=f"write {spell(bare)}",
                source=_SHELL,
            )


def _unknown(s: Settings, name: str) -> NcclLint:
    every = variables()
    if name in every:
        return _of_another_version(s, name)
    if (instead := successor(name)) is not None:
        return s.found(
            name,
            "warning",
            what="NCCL does not read it any more",
            do=f"see {instead}, which took its place",
            source=SOURCE,
        )
    if (reader := other_reader(name)) is not None:
        return s.found(
            name,
            "note",
            what=f"NCCL itself does not read it; read by {reader}",
            do="take it out unless that is what it is for",
            source=SOURCE,
        )
    if name.upper() in every:
        what = "NCCL reads no variable of this name: capitals count"
        do = f"write {name.upper()}"
    else:
        what = "NCCL reads no variable of this name"
        close = _nearest(name)
        do = f"nearest known name: {close}" if close else "take it out, or look for its name in NCCL's manual"
    newer = s.version > newest_read()
    if newer:
        what += f", as far as version {spell_version(newest_read())} goes, the newest whose sources were read"
    return s.found(name, "note" if newer else "warning", what=what, do=do, source=SOURCE)


def _of_another_version(s: Settings, name: str) -> NcclLint:
    known = variables()[name]
    early = s.version < known.since
    return s.found(
        name,
        "warning",
        what=f"NCCL does not read it before {spell_version(known.since)}"
        if early
        else f"NCCL {spell_version(known.until)} was the last to read it",
        do="take it out, or install a version that reads it",
        source=SOURCE,
    )


def _nearest(name: str) -> str | None:
    """Compare without the prefix that all share, unless it is the prefix that is misspelled."""
    every = list(variables())
    folded = name.upper().replace("-", "_")
    if not folded.startswith(PREFIX):
        return next(iter(difflib.get_close_matches(folded, every, n=1, cutoff=0.7)), None)
    bare = [known.removeprefix(PREFIX) for known in every]
    close = difflib.get_close_matches(folded.removeprefix(PREFIX), bare, n=1, cutoff=0.7)
    return PREFIX + close[0] if close else None
