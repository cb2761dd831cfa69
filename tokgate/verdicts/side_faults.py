"""What speaks against a side of a change: a server that does not start from it, and whose fault that is; files nobody imported."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import PurePosixPath

from tokgate.records import LaunchEvidence, StartCause, StartFailure
from tokgate.records.side import BASE, HEAD, SidesMade

from .shortfall import Shortfall
from .side_words import listed, side_words

# A frame of a traceback, or the place of a SyntaxError: the same words in every Python.
_FRAME = re.compile(r'File "(?P<file>[^"]{1,1000})", line (?P<line>\d{1,9})')
_MOST = 6
# Why a server did not start, where no line of a change can be the reason.
_OF_THE_BENCH = frozenset(
    (
        StartCause.PORT_TAKEN, StartCause.NO_PYTHON, StartCause.LOG_NOT_WRITABLE, StartCause.EMPTY_LOG, StartCause.WRONG_SERVER,
        StartCause.NO_SUPERVISOR,
    )
)  # fmt: skip


def is_of_the_bench(cause: StartCause) -> bool:
    """Say whether a server that did not start for this cause tells nothing of what it was started from."""
    return cause in _OF_THE_BENCH


def does_not_compile(launch: LaunchEvidence) -> bool:
    """Say whether no server was started, since the sources of the side could not be one."""
    return launch.failure is not None and launch.failure.cause is StartCause.DOES_NOT_COMPILE


def mend(lost: LaunchEvidence) -> str:
    """Return what to do about a side that does not start: the same words wherever that is told, so that they are told once."""
    failure = lost.failure
    if failure is not None and (does_not_compile(lost) or is_of_the_bench(failure.cause)):
        return failure.do
    if lost.launch.side == BASE:
        return "choose a base that starts: a commit before or behind it, or what the host needs for it"
    return f"read the traceback in launches/{lost.launch.id}/server.log, and mend the change"


def did_not_start(
    heads: Sequence[LaunchEvidence], bases: Sequence[LaunchEvidence], made: SidesMade | None
) -> Shortfall | None:
    """Return that a side's server did not start, and what that says of the change; None where both did.

    A head that fails where its base starts has the change for a cause. Where no base starts it is the bench's.
    """
    head, base = _failed(heads), _failed(bases)
    if head is None and base is None:
        return None
    lost, other = (head, bases) if head is not None else (base, heads)
    if lost is None or lost.failure is None:
        return None
    name = lost.launch.side or HEAD
    told = side_words(made.side(name) if made is not None else None, name)
    starts = any(one.server is not None for one in other)
    what = f"{told} does not {'compile' if does_not_compile(lost) else 'start'}: {lost.failure.headline}"
    places = tuple(places_of_change(lost.failure, made, name))
    if does_not_compile(lost):
        do = mend(lost)
    elif head is not None and base is not None:
        what += "; neither does the base, so it is not the change"
        do = lost.failure.do
    elif is_of_the_bench(lost.failure.cause):
        what += "; that is the bench's, and tells nothing of the change"
        do = lost.failure.do
    elif head is not None and starts:
        what += f"; {_blame(places)}, the base starts"
        do = mend(lost)
    elif head is not None:
        what += f"; {_blame(places)}" if places else ""
        do = f"read the traceback in launches/{lost.launch.id}/server.log"
    else:
        what += "; the head starts" if starts else ""
        do = mend(lost)
    evidence = (
        f"cause: {lost.failure.cause.value}",
        *(f"of the change: {place}" for place in places[:_MOST]),
        *lost.failure.evidence,
        *traceback_of(lost.failure),
    )
    return Shortfall(what=what, do=do, evidence=evidence)


def places_of_change(failure: StartFailure, made: SidesMade | None, side: str) -> Iterator[str]:
    """Yield "python/sglang/srt/x.py, line 12" of each place in a traceback that lies in a changed file, the last first."""
    state = made.side(side) if made is not None else None
    if state is None:
        return
    told: set[str] = set()
    for text in reversed((*failure.evidence, *failure.log_tail)):
        for match in _FRAME.finditer(text):
            file = _changed(match["file"], state.changed)
            place = f"{file}, line {match['line']}"
            if file is not None and place not in told:
                told.add(place)
                yield place


def traceback_of(failure: StartFailure) -> tuple[str, ...]:
    """Return the end of the last traceback in the log, the exception last; () where there is none."""
    tail = list(failure.log_tail)
    frames = [number for number, text in enumerate(tail) if _FRAME.search(text)]
    if not frames:
        return ()
    end = next((n for n in range(frames[-1] + 1, len(tail)) if tail[n] and not tail[n][0].isspace()), None)
    shown = tail[frames[-1] : (end + 1 if end is not None else len(tail))]
    return tuple(shown[:_MOST])


def never_imported(heads: Iterable[LaunchEvidence]) -> tuple[str, ...]:
    """Return the changed Python files that no server of the head has imported; () where nobody knows.

    A server that did not start may have come to grief in the very file that nobody else imports.
    """
    heads = tuple(heads)
    if any(one.failure is not None for one in heads):
        return ()
    proofs = [one.ran_from for one in heads if one.ran_from is not None]
    if not proofs:
        return ()
    seen = {file for proof in proofs for file in proof.changed_imported}
    return tuple(dict.fromkeys(file for proof in proofs for file in proof.changed_unused if file not in seen))


def unimported_words(heads: Sequence[LaunchEvidence]) -> tuple[str, ...]:
    """Return a warning on parts of a change that cannot have mattered, since no server ran them."""
    unused = never_imported(heads)
    if not unused:
        return ()
    seen = {file for one in heads if one.ran_from is not None for file in one.ran_from.changed_imported}
    if seen:
        return (f"no server imported {listed(unused)}: that part of the change cannot have mattered here",)
    told = f"no server imported any changed file ({listed(unused)})"
    return (f"{told}: this session cannot show what the change costs where it is used",)


def _failed(launches: Sequence[LaunchEvidence]) -> LaunchEvidence | None:
    return next((one for one in launches if one.failure is not None), None)


def _blame(places: Sequence[str]) -> str:
    return f"the traceback ends in the change ({places[0]})" if places else "the change is what differs"


def _changed(file: str, changed: Sequence[str]) -> str | None:
    """Return which changed file this path on the host is; the tree's Python may lie in a folder of its repository."""
    parts = PurePosixPath(file).parts
    for one in changed:
        own = PurePosixPath(one).parts
        behind = own[own.index("sglang") :] if "sglang" in own else own
        if parts[-len(own) :] == own or (len(behind) > 1 and parts[-len(behind) :] == behind):
            return one
    return None
