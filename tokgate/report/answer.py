"""What a session without a loss answers: how speculation fares, what NCCL's block buys, which stored numbers hold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from tokgate.records import Outcome, Verdict

from . import figures
from .leading import BASELINE, PATCH, TUNING, TWIN
from .sweep import answers as sweep_answers
from .visible import one_line

_KEPT = (Outcome.PASS, Outcome.IMPROVED)
_SPEED = "decode_tok_s"
_MOST = 4  # speed-ups in one headline; the rest stands in the table


def answer(verdicts: Sequence[Verdict]) -> str | None:
    """Return the answer in one line, e.g. "EAGLE-3 93.5 against 88.9 tok/s, 1.05x its twin (single)".

    None where nothing was asked that has an answer: neither a twin, nor NCCL's block, nor a stored number. How long a
    verify takes is the answer where no twin was asked for.
    """
    kept = [v for v in verdicts if v.outcome in _KEPT]
    speeds = tuple(_twins(kept)) or tuple(_verifies(kept))
    return (
        "; ".join((*_changes(kept), *speeds, *_tuning(kept), *sweep_answers(kept), *_baselines(kept))) or None
    )


def _twins(kept: Sequence[Verdict]) -> Iterator[str]:
    found = [v for v in kept if v.check == TWIN and v.change is not None and v.reference is not None]
    # What a limit was set on was asked first.
    found.sort(key=lambda v: v.floor is None)
    several = len({v.arm for v in found}) > 1
    for number, verdict in enumerate(found[:_MOST]):
        reference, change = verdict.reference, verdict.change
        if reference is None or change is None:
            continue
        arm = one_line(verdict.arm or "", 40) if several else "EAGLE-3"
        subject = f"{arm} " if several or number == 0 else ""
        against = figures.quantity(reference.value, one_line(verdict.unit or "", 12), verdict.metric)
        where = ", ".join(_where(verdict))
        yield (
            f"{subject}{figures.number(verdict.value, verdict.metric)} against {against}, "
            f"{1 + change:.2f}x{' its twin' if number == 0 else ''} ({where})"
        )
    if len(found) > _MOST:
        yield f"{len(found) - _MOST} more twins"


def _changes(kept: Sequence[Verdict]) -> Iterator[str]:
    """Tell what a change makes of the speed, with its interval, each arm and workload."""
    found = [v for v in kept if v.check == PATCH and v.metric in (_SPEED, "total_tok_s")]
    if found:
        told = "; ".join(map(_moved, found[:_MOST]))
        yield f"the change moves speed by {told}"
    if len(found) > _MOST:
        yield f"{len(found) - _MOST} more arms and workloads of the change"


def _verifies(kept: Sequence[Verdict]) -> Iterator[str]:
    """Tell verify against the lowest of its limits, once an arm and workload."""
    found: dict[tuple[str | None, str | None], list[Verdict]] = {}
    for verdict in kept:
        if (verdict.check, verdict.metric) == ("verify_latency", "verify_ms"):
            found.setdefault((verdict.arm, verdict.workload), []).append(verdict)
    several = len({arm for arm, _ in found}) > 1
    for (arm, workload), mine in list(found.items())[:_MOST]:
        limits = [
            v.reference.value for v in mine if v.reference is not None and v.reference.value is not None
        ]
        subject = f"{one_line(arm or '', 40)} " if several else ""
        value = figures.quantity(mine[0].value, one_line(mine[0].unit or "", 12), mine[0].metric)
        limit = f", at most {figures.number(min(limits), 'verify_ms')}" if limits else ", no limit set"
        yield f"{subject}verify p50 {value}{limit} ({one_line(workload or 'all', 40)})"
    if len(found) > _MOST:
        yield f"{len(found) - _MOST} more of verify"


def _where(verdict: Verdict) -> Iterator[str]:
    yield one_line(verdict.workload or "all", 40)
    if verdict.metric == "total_tok_s":
        yield "total"
    if verdict.floor is None:
        yield "no limit set"


def _tuning(kept: Sequence[Verdict]) -> Iterator[str]:
    found = [v for v in kept if v.check == TUNING and v.change is not None]
    told = [f"{figures.percent(v.change)} on {one_line(v.workload or 'all', 40)}" for v in found[:_MOST]]
    if told:
        yield f"the NCCL block buys {', '.join(told)}"


def unminded(verdicts: Sequence[Verdict]) -> Iterator[str]:
    """Yield where speculation loses to its twin and the rig sets no limit, so that no promise is broken by it."""
    lost = [
        f"{1 + v.change:.2f}x its twin on {one_line(v.arm or '', 40)} ({', '.join(_where(v))})"
        for v in verdicts
        if v.check == TWIN
        and v.outcome in _KEPT
        and v.floor is None
        and v.change is not None
        and v.change < 0
    ]
    if lost:
        yield f"Note: speculation loses where it is measured without a limit, which no promise minds: {'; '.join(lost)}"


def against_the_baseline(verdicts: Sequence[Verdict]) -> Iterator[str]:
    """Yield how far a session without a loss lies from what is stored: speed of each arm and workload, and the furthest."""
    found = [v for v in verdicts if v.check == BASELINE and v.change is not None]
    if not found or any(v.outcome not in _KEPT for v in found):
        return
    speeds = [v for v in found if v.metric == _SPEED]
    if speeds:
        yield f"decode tok/s since the stored baseline: {'; '.join(map(_moved, speeds))}"
    furthest = max(found, key=lambda v: abs(v.change or 0))
    many = f"{len(found)} numbers are" if len(found) > 1 else "1 number is"
    yield (
        f"{many} compared with stored ones and none is worse beyond its floor; the furthest is {furthest.metric} of "
        f"{_moved(furthest)}"
    )


def _moved(verdict: Verdict) -> str:
    low, high = verdict.interval or (None, None)
    span = "" if low is None else f" ({figures.percent(low)} to {figures.percent(high)})"
    where = f"{one_line(verdict.arm or '', 40)} {one_line(verdict.workload or 'all', 40)}"
    return f"{where} {figures.percent(verdict.change)}{span}"


def _baselines(kept: Sequence[Verdict]) -> Iterator[str]:
    counts = Counter(v.outcome for v in kept if v.check == BASELINE)
    if better := counts[Outcome.IMPROVED]:
        yield f"{better} of {counts.total()} stored numbers improved"
    elif counts:
        yield f"{counts.total()} stored number{'s hold' if counts.total() > 1 else ' holds'}"
