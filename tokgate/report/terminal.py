"""The final block in a terminal: at most 80 columns, worst first, with reasons and next steps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TextIO

from tokgate.records import Outcome, Verdict

from . import closing, figures, patch_words, simulated
from .conclusion import NOTE, counted, word_of
from .kept import Together, together
from .leading import BASELINE, PATCH, ROUTINE, TWIN, of_the_change
from .may_merge import may_merge
from .paint import painted, shout
from .run_named import with_run
from .sweep import terminal_lines
from .terminal_brief import kept_in_short, losses
from .terminal_rows import KEPT, beside, figures_of, what_of
from .verdict_file import VerdictFile
from .visible import fit, one_line, wrapped

WIDTH = 80
_LABEL = 12  # of "inconclusive"
_REASON_LINES = 4
_DO_LINES = 6  # a command that is cut short helps nobody
_QUIET_MAX = 30  # kept promises are listed up to this many
_FAILING_MAX = 10  # with -q, broken ones
_FOLDED = (Outcome.PASS.value, NOTE)  # beside a loss their names are enough
_ASKED = (PATCH, TWIN, BASELINE)  # but of what a session is run for


def render(
    file: VerdictFile,
    folder: str,
    *,
    colour: bool,
    width: int = WIDTH,
    quiet: bool = False,
    brief: bool = False,
) -> str:
    """Return the final block: outcome, one line a verdict with reasons below, where the raw data lie.

    `quiet`: of the verdicts only those that do not hold, without reasons: the last words have the first one's.
    `brief`: below pytest's FAILURES, which have a line each: of a loss its first verdict, of what holds the names.
    """
    width = min(width, WIDTH)
    told = {id(loss.first): loss for loss in losses(file.verdicts)} if brief else {}
    brief = bool(told)
    if quiet:
        return _essential(file, folder, colour=colour, width=width)
    lines = [fit(simulated.banner(file.run.rig), width)] if file.simulated else []
    lines.append(_outcome(file, colour=colour, width=width))
    lines += wrapped(file.headline, width, most=_REASON_LINES)
    lines += _of_change(file, width)
    if file.exit_code == 0 and file.headline != counted(file.verdicts):
        lines += wrapped(counted(file.verdicts), width)
    if not file.verdicts and file.do:
        lines += wrapped(f"do: {file.do}", width, most=_DO_LINES, whole=True)
    lines.append("")
    kept, left = 0, 0
    # One fault can make seventy checks invalid: what asks for the same next step is told once.
    alike = Counter((v.outcome, v.do) for v in file.verdicts if v.outcome not in KEPT)
    for group in together(file.verdicts, least=2, checks=(*ROUTINE, BASELINE)):
        verdict = group.verdicts[0]
        if brief and word_of(verdict) in _FOLDED and verdict.check not in _ASKED:
            continue
        if brief and verdict.outcome is Outcome.REGRESSED:
            if id(verdict) in told:
                lines.append(_row(verdict, colour=colour, width=width))
                # Of a change that costs headline and next step stand above and in the last words.
                if not (verdict is file.verdicts[0] and of_the_change(file.verdicts)):
                    lines += _why(verdict, folder, width)
                if more := len(told[id(verdict)].others):
                    lines.append(
                        f"{'':{_LABEL}} … and {more} more of this loss: see FAILURES above, report.html"
                    )
            continue
        if verdict.outcome in KEPT:
            kept += not group.several
            if group.several:
                lines.append(_group(group, colour=colour, width=width))
            elif kept > _QUIET_MAX:
                left += 1
            else:
                lines.append(_row(verdict, colour=colour, width=width))
            continue
        others = alike.pop((verdict.outcome, verdict.do), 0) - 1
        if others < 0:
            continue
        lines.append(_row(verdict, colour=colour, width=width))
        lines += _why(verdict, folder, width)
        if others:
            lines.append(f"{'':{_LABEL}} … and {others} more with the same next step: see report.html")
    if left:
        lines.append(f"{'':{_LABEL}} … and {left} more that hold: see verdict.json")
    for word in _FOLDED if brief else ():
        rest = [v for v in file.verdicts if v.check not in _ASKED]
        lines += kept_in_short(rest, word, width, _LABEL + 1)
    lines += closing.lines(file, width)
    if file.sweep is not None:
        for words in terminal_lines(file.sweep):
            lines += wrapped(words, width, indent="  ", first="", most=_REASON_LINES)
    for test in file.unclassified:
        lines.append(_failed(test, colour=colour, width=width))
    lines.append(f"raw: {one_line(folder, 1000)}")
    return "\n".join(line.rstrip() for line in lines)


def verdict_text(verdict: Verdict) -> str:
    """Return a verdict as the text of a failed or skipped test: promise first, then everything that backs it."""
    lines = [f"{shout(verdict.outcome)} {one_line(verdict.headline, 2000)}"]
    where = what_of(verdict)
    figures_line = "  ".join(figures_of(verdict))
    if verdict.value is not None or verdict.change is not None:
        lines.append(f"  {where}: {figures_line}")
    else:
        lines.append(f"  {where}")
    if verdict.reference is not None:
        lines.append(f"  against: {_reference(verdict)}")
    if verdict.interval is not None:
        lines.append(f"  interval: {figures.interval(verdict)}")
    if verdict.floor is not None:
        lines.append(f"  floor: {one_line(verdict.floor)}")
    lines += [f"  evidence: {one_line(line)}" for line in verdict.evidence]
    lines += [
        f"  differs: {one_line(d.key)}: {one_line(d.before or 'unknown')} -> {one_line(d.now or 'unknown')}"
        for d in verdict.differs
    ]
    lines += [f"  warning: {one_line(line)}" for line in verdict.warnings]
    if verdict.do is not None:
        lines.append(f"  do: {one_line(verdict.do, 2000)}")
    if verdict.raw:
        lines.append(f"  raw: {one_line(' '.join(verdict.raw), 1000)}")
    return "\n".join(lines)


def wants_colour(stream: TextIO, environ: Mapping[str, str]) -> bool:
    """Say whether to colour what goes to `stream`: only a terminal, and never under NO_COLOR (no-color.org)."""
    return not environ.get("NO_COLOR") and environ.get("TERM") != "dumb" and stream.isatty()


def _outcome(file: VerdictFile, *, colour: bool, width: int) -> str:
    word = file.outcome.value
    rest = fit(f"  exit {file.exit_code}  rig {one_line(file.run.rig)}", width - len(word) - 9)
    return f"tokgate  {painted(shout(word), word, colour=colour)}{rest}"


def _essential(file: VerdictFile, folder: str, *, colour: bool, width: int) -> str:
    lines = [fit(simulated.banner(file.run.rig), width)] if file.simulated else []
    lines.append(_outcome(file, colour=colour, width=width))
    lines += wrapped(file.headline, width, most=_REASON_LINES)
    lines += _of_change(file, width)
    failing = [v for v in file.verdicts if v.outcome not in KEPT]
    lines += [_row(verdict, colour=colour, width=width) for verdict in failing[:_FAILING_MAX]]
    if len(failing) > _FAILING_MAX:
        lines.append(f"{'':{_LABEL}} … and {len(failing) - _FAILING_MAX} more: see verdict.json")
    lines += [_failed(test, colour=colour, width=width) for test in file.unclassified]
    lines.append(f"raw: {one_line(folder, 1000)}")
    return "\n".join(line.rstrip() for line in lines)


def _of_change(file: VerdictFile, width: int) -> list[str]:
    """Return whether a change that was measured may merge, and both answers that this rests on."""
    if file.patch is None:
        return []
    merge = may_merge(
        file.outcome, simulated=file.simulated, selection=file.run.asked, part=file.part, patch=file.patch
    )
    told = (f"may it merge? {merge.word}: {merge.why}", *patch_words.short(file.patch))
    return [
        part for words in told for part in wrapped(words, width, indent="  ", first="", most=_REASON_LINES)
    ]


def _row(verdict: Verdict, *, colour: bool, width: int) -> str:
    word = word_of(verdict)
    return f"{painted(f'{shout(word):{_LABEL}}', word, colour=colour)} {beside(verdict, width - _LABEL - 1)}"


def _why(verdict: Verdict, folder: str, width: int) -> Iterator[str]:
    indent = " " * (_LABEL + 1)
    yield from wrapped(verdict.headline, width, indent=indent, most=_REASON_LINES)
    if verdict.do:
        do = f"do: {with_run(verdict.do, folder)}"
        yield from wrapped(do, width, indent=indent, most=_DO_LINES, whole=True)


def _failed(test: str, *, colour: bool, width: int) -> str:
    word = painted(f"{'FAILED':{_LABEL}}", "error", colour=colour)
    return f"{word} {fit(one_line(test, 1000), width - _LABEL - 1)}"


def _group(group: Together, *, colour: bool, width: int) -> str:
    told = "  ".join(text for text in (f"{group.check} {group.share()}", group.span()) if text)
    return f"{painted(f'{shout(group.word):{_LABEL}}', group.word, colour=colour)} {fit(told, width - _LABEL - 1)}"


def _reference(verdict: Verdict) -> str:
    reference = verdict.reference
    if reference is None:
        return "nothing"
    value = figures.quantity(reference.value, one_line(verdict.unit or "", 12), verdict.metric)
    n = "" if reference.n is None else f", n={reference.n}"
    named = f"{reference.kind}: {one_line(reference.label)}{n}"
    return named if reference.value is None else f"{value} ({named})"
