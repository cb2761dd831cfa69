"""The last words in a terminal: at most 80 columns, worst first, with the reason and the next step."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TextIO

from tokgate.records import Outcome, Verdict

from . import closing, figures, simulated
from .conclusion import NOTE, counted, word_of
from .kept import Together, together
from .leading import BASELINE, ROUTINE, TWIN
from .sweep import terminal_lines
from .verdict_file import VerdictFile
from .visible import columns, fit, one_line, wrapped

WIDTH = 80
_LABEL = 12  # of "inconclusive"
_REASON_LINES = 4
_DO_LINES = 6  # a command that is cut short helps nobody
_SHORTEST_CHECK = 14  # of "verify_latency"
_SHORTEST_PLACE = 14  # tells one launch and workload of a session from the others
_SHORTEST_LAUNCH = 6
_QUIET_MAX = 30  # kept promises are listed up to this many

_COLOURS = {
    "pass": "32",
    "improved": "1;32",
    "regressed": "1;31",
    "invalid": "35",
    "inconclusive": "33",
    "no-baseline": "36",
    NOTE: "2",
    "error": "1;31",
    "interrupted": "1;31",
}
_KEPT = (Outcome.PASS, Outcome.IMPROVED)
_SPEED_UP = re.compile(r"at least ([\d.]+x)\b")  # of a twin's floor
_SHORTEST = {"unit": None, "n": 0, "reference": None}
# Check and metric -> what a row says of the metric beside the check's name.
_BESIDE = {
    ("acceptance_length", "accept_length"): "",
    ("cycle_time", "cycle_ms"): "",
    ("decode_throughput", "decode_tok_s"): "",
    ("time_to_first_token", "ttft_ms"): "",
    ("verify_latency", "verify_ms"): "p50",
    ("verify_latency", "verify_p95_ms"): "p95",
    ("verify_share", "verify_share"): "",
}


def render(file: VerdictFile, folder: str, *, colour: bool, width: int = WIDTH, given: str = "") -> str:
    """Return the final block: outcome, one line a verdict with reasons below, where the raw data lie.

    `given`: options of this run that no record keeps, for the command that measures again.
    """
    width = min(width, WIDTH)
    lines = [fit(simulated.banner(file.run.rig), width)] if file.simulated else []
    lines.append(_outcome(file, colour=colour, width=width))
    lines += wrapped(file.headline, width, most=_REASON_LINES)
    if file.exit_code == 0 and file.headline != counted(file.verdicts):
        lines += wrapped(counted(file.verdicts), width)
    if not file.verdicts and file.do:
        lines += wrapped(f"do: {file.do}", width, most=_DO_LINES)
    lines.append("")
    kept, left = 0, 0
    # One fault can make seventy checks invalid: what asks for the same next step is told once.
    alike = Counter((v.outcome, v.do) for v in file.verdicts if v.outcome not in _KEPT)
    for group in together(file.verdicts, least=2, checks=(*ROUTINE, BASELINE)):
        verdict = group.verdicts[0]
        if verdict.outcome in _KEPT:
            kept += not group.several
            if group.several:
                lines.append(_group(group, colour=colour, width=width))
            elif kept > _QUIET_MAX:
                left += 1
            else:
                lines += _verdict(verdict, colour=colour, width=width)
            continue
        others = alike.pop((verdict.outcome, verdict.do), 0) - 1
        if others < 0:
            continue
        lines += _verdict(verdict, colour=colour, width=width)
        if others:
            lines.append(f"{'':{_LABEL}} … and {others} more with the same next step: see report.html")
    if left:
        lines.append(f"{'':{_LABEL}} … and {left} more that hold: see verdict.json")
    lines += closing.lines(file, width, given=given)
    if file.sweep is not None:
        for words in terminal_lines(file.sweep):
            lines += wrapped(words, width, indent="  ", first="", most=_REASON_LINES)
    for test in file.unclassified:
        lines.append(
            fit(f"{_painted('FAILED', 'error', colour=colour)}       {one_line(test)}", width + 9 * colour)
        )
    lines.append(f"raw: {one_line(folder, 1000)}")
    return "\n".join(line.rstrip() for line in lines)


def verdict_text(verdict: Verdict) -> str:
    """Return a verdict as the text of a failed or skipped test: promise first, then everything that backs it."""
    lines = [f"{_shout(verdict.outcome)} {one_line(verdict.headline, 2000)}"]
    parts = (one_line(verdict.check, 60), _metric(verdict), _place(verdict))
    where = " ".join(part for part in parts if part)
    figures_line = "  ".join(_figures(verdict))
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
    return f"tokgate  {_painted(_shout(word), word, colour=colour)}{rest}"


def _verdict(verdict: Verdict, *, colour: bool, width: int) -> Iterator[str]:
    word = word_of(verdict)
    rest = _beside(verdict, width - _LABEL - 1)
    yield f"{_painted(f'{_shout(word):{_LABEL}}', word, colour=colour)} {rest}"
    if verdict.outcome in _KEPT:
        return
    indent = " " * (_LABEL + 1)
    yield from wrapped(verdict.headline, width, indent=indent, most=_REASON_LINES)
    if verdict.do:
        yield from wrapped(f"do: {verdict.do}", width, indent=indent, most=_DO_LINES)


def _group(group: Together, *, colour: bool, width: int) -> str:
    told = "  ".join(text for text in (f"{group.check} {group.share()}", group.span()) if text)
    return f"{_painted(f'{_shout(group.word):{_LABEL}}', group.word, colour=colour)} {fit(told, width - _LABEL - 1)}"


def _beside(verdict: Verdict, room: int) -> str:
    """Put check, metric, place and numbers on one line.

    n gives way first, then the unit, which the metric's name tells as well, then the ends of the check's
    name and of the place, last that of the metric.
    """
    check, place, numbers = one_line(verdict.check, 60), _place(verdict), _figures(verdict)
    metric = _metric(verdict)
    without_n = _figures(verdict.model_copy(update={"n": 0}))
    # The unit is missed unless the whole name of the metric stands there.
    named = metric and metric == verdict.metric
    bare = _figures(verdict.model_copy(update={"unit": None, "n": 0})) if named else without_n
    for kept in (numbers, without_n, bare):
        told = fit("  ".join(kept), room // 2)
        if columns(f"{check} {metric} {place}  {told}") <= room:
            break
    else:
        if columns(told) + columns(metric) + _SHORTEST_CHECK + _SHORTEST_PLACE + 4 > room:
            told = fit("  ".join(_figures(verdict.model_copy(update=_SHORTEST))), room // 2)
    left = room - columns(told) - 4
    place = _cut_place(verdict, max(left - columns(metric) - _SHORTEST_CHECK, _SHORTEST_PLACE))
    check = fit(check, max(left - columns(metric) - columns(place), _SHORTEST_CHECK))
    metric = fit(metric, left - columns(place) - columns(check))
    return f"{' '.join(part for part in (check, metric, place) if part)}  {told}"


def _metric(verdict: Verdict) -> str:
    """Return the metric's name, or what is left of it where the check is named after it."""
    metric = one_line(verdict.metric or "", 40)
    return _BESIDE.get((verdict.check, metric), metric)


def _place(verdict: Verdict) -> str:
    """Return "02-eagle3-2step/single": the launch rather than the arm, for the control arm has two."""
    return "/".join(one_line(p, 60) for p in (verdict.launch or verdict.arm, verdict.workload) if p)


def _cut_place(verdict: Verdict, room: int) -> str:
    """Cut the launch's name before the workload's: the number that it begins with tells it from others."""
    place, workload = _place(verdict), one_line(verdict.workload or "", 60)
    left = room - columns(workload) - 1
    if columns(place) <= room or not workload or left < _SHORTEST_LAUNCH:
        return fit(place, room)
    return f"{fit(one_line(verdict.launch or verdict.arm or '', 60), left)}/{workload}"


def _figures(verdict: Verdict) -> tuple[str, ...]:
    unit = one_line(verdict.unit or "", 12)
    told = (
        None if verdict.value is None else figures.quantity(verdict.value, unit, verdict.metric),
        _limit(verdict),
        None if verdict.change is None else figures.percent(verdict.change),
        f"n={verdict.n}" if verdict.n else None,
    )
    return tuple(text for text in told if text is not None)


def _limit(verdict: Verdict) -> str | None:
    """Return "limit 20.0" of a verdict on a limit: two of one metric are told apart by it.

    One that the run's own break-even gave says so. Of a twin that falls short it is the speed-up asked for.
    """
    reference = verdict.reference
    if verdict.check == TWIN and verdict.outcome not in _KEPT:
        asked = _SPEED_UP.match(verdict.floor or "")
        return f"limit {asked[1]}" if asked is not None else None
    if reference is None or reference.kind != "budget" or reference.value is None:
        return None
    derived = "derived " if reference.label.startswith("break-even") else ""
    return f"{derived}limit {figures.in_unit(reference.value, verdict.unit, verdict.metric)}"


def _reference(verdict: Verdict) -> str:
    reference = verdict.reference
    if reference is None:
        return "nothing"
    value = figures.quantity(reference.value, one_line(verdict.unit or "", 12), verdict.metric)
    n = "" if reference.n is None else f", n={reference.n}"
    named = f"{reference.kind}: {one_line(reference.label)}{n}"
    return named if reference.value is None else f"{value} ({named})"


def _shout(word: str) -> str:
    """Write in capitals what must not be overlooked."""
    return word.upper() if word in ("regressed", "invalid", "error", "interrupted") else word


def _painted(text: str, word: str, *, colour: bool) -> str:
    return f"\x1b[{_COLOURS[word]}m{text}\x1b[0m" if colour else text
