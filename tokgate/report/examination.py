"""`tokgate doctor` on a terminal: groups of checks, then what is to be mended, the worst last, and the next command."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from tokgate.records.doctor import Examination, Examined, State
from tokgate.rig.repository import IN_CHECKOUT

from . import simulated
from .visible import one_line, wrapped

WIDTH = 80
_STATE = 7  # columns of the longest word of a state
_NAME = 14
_FOUND_LINES = 6
_NARROW = 60  # columns; below it there is no room beside a name
_BLIND_MAX = 6
_PAINT = {State.OK: "32", State.NOTE: "36", State.UNKNOWN: "35", State.WARN: "33", State.FAIL: "31;1"}
_ORDER = tuple(State)  # mildest first
_PLURAL = {
    State.OK: "ok",
    State.NOTE: "notes",
    State.UNKNOWN: "unknown",
    State.WARN: "warnings",
    State.FAIL: "failures",
}
_SINGULAR = {State.NOTE: "note", State.WARN: "warning", State.FAIL: "failure"}


def render(
    found: Examination,
    groups: Mapping[str, str],
    *,
    strict: bool = False,
    colour: bool = False,
    named: str = "",
    overrides: Sequence[str] = (),
    promises: str = IN_CHECKOUT,
    width: int = WIDTH,
    alone: bool = True,
) -> str:
    """Return the whole text, `width` columns wide but for the next command. `groups`: group -> heading, in order.

    `named`: the rig as it was named on the command line, `overrides`: what --rig-set said, `promises`: the words by which
    pytest finds them here; all are for the next command. `alone`: there is no further host, whose text would follow.
    """
    lines = [simulated.banner(found.rig)] if found.simulated else []
    lines += wrapped(f"rig {found.rig} on {found.host}{', quick' if found.quick else ''}", width)
    for group, heading in groups.items():
        results = [one for one in found.results if one.group == group]
        if results:
            lines += ["", heading]
            lines += [line for row in _together(results) for line in _row(row, width, colour=colour)]
    lines += _mend(found, width, colour=colour)
    lines += ["", *_counted(found, width)]
    if alone:
        code = found.exit_code(strict=strict)
        why = f"a gate started now would end with exit code {code}"
        if not found.counts[State.FAIL]:
            why = f"with --strict, warnings and unknowns end with exit code {code}"
        lines += ending(
            why if code else None, width, named=named or found.rig, overrides=overrides, promises=promises
        )
    return "\n".join(lines) + "\n"


def _together(results: Sequence[Examined]) -> list[list[Examined]]:
    """Put those together that could not look for one and the same reason."""
    rows: list[list[Examined]] = []
    for one in results:
        same = next((r for r in rows if r[0].state is State.UNKNOWN and _same(r[0], one)), None)
        if same is None:
            rows.append([one])
        else:
            same.append(one)
    return rows


def _same(one: Examined, other: Examined) -> bool:
    return (one.state, one.found, one.do) == (other.state, other.found, other.do)


def _row(row: Sequence[Examined], width: int, *, colour: bool) -> Iterator[str]:
    first = row[0]
    name = first.check.partition(".")[2] if len(row) == 1 else f"{len(row)} checks"
    found = (
        first.found
        if len(row) == 1
        else f"{', '.join(r.check.partition('.')[2] for r in row)}: {first.found}"
    )
    head = f"  {_word(first.state, colour=colour)} {name:<{_NAME}} "
    bare = 2 + _STATE + 1 + max(_NAME, len(name)) + 1
    # On a narrow terminal what was found stands below its name, with room for words.
    indent = " " * (2 + _STATE + 1 + (_NAME + 1 if width >= _NARROW else 0))
    if bare > len(indent):
        yield head.rstrip()
        head = indent
    # What is to be mended is told in full below.
    mild = first.state in (State.OK, State.NOTE)
    yield from wrapped(found, width, first=head, indent=indent, most=None if mild else 2)
    if first.state is State.NOTE and first.do is not None:
        yield from wrapped(f"do: {first.do}", width, indent=indent)


def _mend(found: Examination, width: int, *, colour: bool) -> Iterator[str]:
    rows: list[list[Examined]] = []
    for state in _ORDER[_ORDER.index(State.UNKNOWN) :]:
        rows += _together([one for one in found.results if one.state is state])
    # What could not look has nothing to be mended itself: it follows from something else here, or from what it says above.
    blind = [one.check for row in rows if row[0].do is None for one in row]
    rows = [row for row in rows if row[0].do is not None]
    if rows or blind:
        yield ""
        yield "To mend, the worst last"
    if blind:
        many = f"{len(blind)} checks" if len(blind) > 1 else "1 check"
        groups = Counter(name.partition(".")[0] for name in blind)
        # A host that is out of reach blinds all of its checks, and each stands in its group above.
        named = blind if len(blind) <= _BLIND_MAX else [f"{g} {n}" for g, n in groups.items()]
        yield from wrapped(
            f"{many} could not look, for the reasons above: {', '.join(named)}",
            width,
            first=f"  {_word(State.UNKNOWN, colour=colour)} ",
            indent=" " * (_STATE + 3),
        )
    for row in rows:
        first = row[0]
        names = ", ".join(one.check for one in row)
        yield from wrapped(
            names, width, first=f"  {_word(first.state, colour=colour)} ", indent=" " * (_STATE + 3), most=4
        )
        if len(row) == 1:
            yield from wrapped(first.tried, width, first="    tried  ", indent=" " * 11)
        yield from wrapped(first.found, width, first="    found  ", indent=" " * 11, most=_FOUND_LINES)
        yield from wrapped(first.do or "", width, first="    do     ", indent=" " * 11)


def _counted(found: Examination, width: int) -> Iterator[str]:
    counts = found.counts
    told = ", ".join(
        f"{counts[s]} {_SINGULAR.get(s, _PLURAL[s]) if counts[s] == 1 else _PLURAL[s]}"
        for s in _ORDER
        if counts[s]
    )
    checks = len({one.check for one in found.results})
    yield from wrapped(f"{checks} checks in {found.seconds:.1f} s: {told}", width)


def ending(
    why_not: str | None,
    width: int,
    *,
    named: str,
    overrides: Sequence[str] = (),
    promises: str = IN_CHECKOUT,
    ready: str = "nothing was found that would keep a gate from being judged",
) -> Iterator[str]:
    """Yield whether a gate may be started, and the next command as a line of its own. `why_not`: None where it may."""
    rig = f" --rig {shlex.quote(named)}" + "".join(f" --rig-set {shlex.quote(one)}" for one in overrides)
    if why_not is None:
        yield from wrapped(f"Ready: {ready}.", width)
        yield f"next: {one_line(f'pytest {promises} -m eagle3{rig}', 1000)}"
        return
    yield from wrapped(f"Not ready: {why_not}.", width)
    yield f"next: mend the last one above, then {one_line(f'tokgate doctor{rig}', 1000)}"


def _word(state: State, *, colour: bool) -> str:
    word = f"{state.value:<{_STATE}}"
    return f"\x1b[{_PAINT[state]}m{word}\x1b[0m" if colour else word
