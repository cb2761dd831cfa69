"""The plan of a session in a terminal: what will be launched, how long it is likely to take, what is left out."""

from __future__ import annotations

from collections.abc import Iterator

from tokgate.records.progress import PlannedLaunch, SessionPlan, Span

from . import durations, simulated
from .visible import columns, fit, one_line, wrapped

WIDTH = 80
_HEAD = 9  # of "restarts "
_LONGEST_ID = 30
_NARROWEST = 40  # below it lines are cut by the terminal


def lines(plan: SessionPlan, *, width: int = WIDTH) -> Iterator[str]:
    """Yield lines of at most `width` columns."""
    width = max(min(width, WIDTH), _NARROWEST)
    yield from _headed("plan", _what(plan), width)
    if plan.launches:
        # What is taken, and for how long, needs room beside the name.
        longest = min(_LONGEST_ID, width // 3)
        names = [fit(one_line(launch.launch), longest) for launch in plan.launches]
        taken = max(columns(name) for name in names)
        most = max(columns(_short(launch.seconds)) for launch in plan.launches)
        # A word of it is never broken: without room for the longest it stands below the name.
        word = max(columns(word) for launch in plan.launches for word in _work(launch).split())
        below = width - (6 + taken + 2) - most - 2 < word
        if below:
            taken = width - 6 - most - 2
            names = [fit(one_line(launch.launch), taken) for launch in plan.launches]
        for number, (name, launch) in enumerate(zip(names, plan.launches, strict=True), start=1):
            head = f"  {number:2d}  {name}{' ' * (taken - columns(name))}  "
            if below:
                yield f"{head}{_short(launch.seconds):>{most}}"
                yield from wrapped(_work(launch), width, indent=" " * 6)
            else:
                yield from _launch(head, launch, width, most)
        yield from _headed("time", f"{span_words(plan.seconds)}{_gpus(plan)}; {one_line(plan.basis)}", width)
    if plan.restarts is not None:
        yield from _headed("restarts", _restarts(plan), width)
    for detail in plan.details:
        yield from _headed("", one_line(detail), width)
    if told := "; ".join(_left_out(plan)):
        yield from _headed("left out", told, width)


def _what(plan: SessionPlan) -> str:
    count = len(plan.launches)
    mark = f" {simulated.WORD}" if plan.simulated else ""
    if not count:
        return f"rig {one_line(plan.rig)}{mark}: no server launch"
    work = [one for launch in plan.launches for one in launch.work]
    generations, tokens = sum(w.generations for w in work), sum(w.output_tokens for w in work)
    told = f"; {generations:,} generations, {tokens:,} tokens" if generations else "; no generation"
    return f"rig {one_line(plan.rig)}{mark}: {count} server launch{'' if count == 1 else 'es'}{told}"


def _work(launch: PlannedLaunch) -> str:
    return ", ".join(f"{one_line(w.workload, 40)} {w.generations}" for w in launch.work) or "no generation"


def _launch(head: str, launch: PlannedLaunch, width: int, most: int) -> Iterator[str]:
    work = _work(launch)
    estimate = _short(launch.seconds)
    room = width - columns(head) - most - 2
    rows = wrapped(work, room)
    for index, row in enumerate(rows):
        first = index == 0
        start = head if first else " " * columns(head)
        end = f"{' ' * (room - columns(row))}  {estimate:>{most}}" if first else ""
        yield f"{start}{row}{end}".rstrip()


def _short(span: Span) -> str:
    if span.likely is not None:
        return durations.words(span.likely)
    return _from_to(span) if span.limit is not None else "?"


def span_words(span: Span) -> str:
    """Return "about 19 min (18 min to 24 min)"; "about 2 min to 5 min; by the rig's limits at most 12 min"."""
    low, high = durations.words(span.low), durations.words(span.high)
    if span.likely is None:
        if span.limit is None:
            return f"at most {high}"
        return f"about {_from_to(span)}; by the rig's limits at most {durations.words(span.limit)}"
    likely = durations.words(span.likely)
    return f"about {likely}" if low == high == likely else f"about {likely} ({low} to {high})"


def _from_to(span: Span) -> str:
    low, high = durations.words(span.low), durations.words(span.high)
    return low if low == high else f"{low} to {high}"


def _gpus(plan: SessionPlan) -> str:
    if not plan.gpus:
        return ", no GPU"
    span = plan.gpu_seconds
    of = "simulated GPU" if plan.simulated else "GPU"
    if span.likely is not None:
        minutes = durations.gpu_minutes(span.likely)
    elif span.limit is not None:
        minutes = f"about {durations.gpu_minutes(span.low)} to {durations.gpu_minutes(span.high)}"
    else:
        minutes = f"at most {durations.gpu_minutes(span.high)}"
    return f", {minutes} GPU-minutes on {plan.gpus} {of}{'' if plan.gpus == 1 else 's'}"


def _restarts(plan: SessionPlan) -> str:
    restarts = plan.restarts
    if restarts is None:
        return ""
    gpu = f", {durations.gpu_minutes(restarts.most_s * plan.gpus)} GPU-minutes" if plan.gpus else ""
    least = (
        f"{restarts.least} launches more in any case ({'not ' if not restarts.least_s else ''}counted above); "
        if restarts.least
        else ""
    )
    return (
        f"{least}may add up to {restarts.most} launches, {durations.words(restarts.most_s)}{gpu}, where the planned ones leave "
        "a question open"
    )


def _left_out(plan: SessionPlan) -> Iterator[str]:
    if plan.left_out:
        yield ", ".join(one_line(name) for name in plan.left_out)
    if plan.deselected:
        yield f"{plan.deselected} of {plan.tests + plan.deselected} tests deselected"


def _headed(head: str, words: str, width: int) -> list[str]:
    return wrapped(words, width, first=f"{head:<{_HEAD}}", indent=" " * _HEAD)
