"""What was measured beyond the plan: what the stop rule asked for and why, what it cost, and why it stopped."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence

from tokgate.records import LaunchEvidence, RunEvidence, Verdict
from tokgate.records.record import Record
from tokgate.rig.models import Rig
from tokgate.rig.restart_budget import restart_budget_s
from tokgate.verdicts.sampling import next_step, wanted_words
from tokgate.verdicts.stop_rule import More

from . import figures

COLUMNS = ("decision", "measured", "why", "took", "left before")
NOTE = (
    "Restarts are measured before any number is concluded, and none replaces another. The first look is at the planned "
    "launches, each decision to go on makes one more, and look k may spend 2^-k of what a comparison may be wrong by. "
    "Starts within a launch are added by their spread alone."
)


class Decided(Record):
    """One decision of the stop rule, and what came of it."""

    round: int
    stop: bool
    reason: str
    launches: tuple[str, ...]  # those that were made of what it asked for
    left_out: tuple[
        str, ...
    ]  # asked for and not made: one before them ended badly, time was up, or the session broke off
    took_s: float | None  # None: nothing was measured, or not for how long
    expected_s: float
    left_s: float
    unsettled: tuple[str, ...]
    hopeless: tuple[str, ...]


class Sampled(Record):
    """`false_alarm` is the session's, all comparisons together; `power` that of a pass."""

    budget_s: float
    spent_s: float
    false_alarm: float
    power: float
    restarts: int
    decisions: tuple[Decided, ...]
    stopped: str | None  # None: it did not come to that
    would_go_on: str | None = None  # what the rule asks for by these verdicts, and nobody measured
    more_starts: tuple[str, ...]  # "02-eagle3-2step: 4 more of single"


def sampling_of(rig: Rig, evidence: RunEvidence, verdicts: Sequence[Verdict] = ()) -> Sampled | None:
    """Return what there is beyond the plan; None where nothing was asked, as in a run without tests of performance."""
    made = {e.launch.id: e for e in evidence.launches if e.launch.round and e.launch.role != "culprit"}
    starts = tuple(_more_starts(rig, evidence))
    if not (evidence.sampling or made or starts):
        return None
    decisions = tuple(
        Decided(
            round=step.round,
            stop=step.stop,
            reason=step.reason,
            launches=tuple(name for name in step.launches if name in made),
            left_out=tuple(name for name in step.launches if name not in made),
            took_s=_took([made[name] for name in step.launches if name in made]),
            expected_s=step.expected_s,
            left_s=step.left_s,
            unsettled=step.unsettled,
            hopeless=step.hopeless,
        )
        for step in evidence.sampling
    )
    return Sampled(
        budget_s=restart_budget_s(rig),
        spent_s=_took(list(made.values())) or 0.0,
        false_alarm=rig.sampling.false_alarm,
        power=rig.sampling.power,
        restarts=len(made),
        decisions=decisions,
        stopped=next((d.reason for d in reversed(decisions) if d.stop), None),
        would_go_on=_unobeyed(rig, evidence, verdicts),
        more_starts=starts,
    )


def lines_of(sampled: Sampled, *, brief: bool = False) -> Iterator[str]:
    """Yield what a terminal says: one line where nothing was added, else what it cost and why it ended.

    `brief`: without the launches that took more starts, which report.html names.
    """
    if sampled.decisions or sampled.restarts:
        yield from _of_restarts(sampled)
    if sampled.more_starts and not brief:
        yield f"sampling, starts added for their spread: {'; '.join(sampled.more_starts)}"


def _of_restarts(sampled: Sampled) -> Iterator[str]:
    many = "1 restart" if sampled.restarts == 1 else f"{sampled.restarts} restarts"
    took = f"{many} beyond the plan, {sampled.spent_s:.0f} of {sampled.budget_s:.0f} s"
    ended = sampled.stopped or "it was broken off before the rule stopped"
    yield f"sampling: {took if sampled.restarts else 'no restart beyond the plan'}; {ended}"
    last = sampled.decisions[-1] if sampled.decisions else None
    if last is not None and len(last.hopeless) > 1:
        yield f"sampling, not to be settled here: {'; '.join(last.hopeless)}"
    if sampled.would_go_on is not None:
        yield f"sampling: the rule would go on with {sampled.would_go_on}"


def rows_of(sampled: Sampled) -> Iterator[tuple[str, ...]]:
    """Yield the table's rows."""
    for decided in sampled.decisions:
        measured = ", ".join(decided.launches) or figures.NONE
        if decided.left_out:
            measured += f" (left out: {', '.join(decided.left_out)})"
        yield (
            "stop" if decided.stop else f"go on ({decided.round})",
            measured,
            decided.reason,
            figures.NONE if decided.took_s is None else f"{decided.took_s:.1f} s",
            f"{decided.left_s:.1f} s",
        )


def numeric(column: int) -> bool:
    return column >= 3


def _unobeyed(rig: Rig, evidence: RunEvidence, verdicts: Sequence[Verdict]) -> str | None:
    """Ask the rule about the verdicts as they are: an interrupted session, or another rule, leaves it wanting more."""
    found = next_step(rig, evidence.launches, verdicts)
    return f"{wanted_words(found)}: {found.reason}" if isinstance(found, More) else None


def _took(launches: list[LaunchEvidence]) -> float | None:
    known = [e.wall_s for e in launches if e.wall_s is not None]
    return math.fsum(known) if known else None


def _more_starts(rig: Rig, evidence: RunEvidence) -> Iterator[str]:
    """Tell of launches that took more starts of a workload than it asks for."""
    for launch in (e for e in evidence.launches if e.launch.timed):
        judged = {(g.workload, g.batch) for g in launch.generations if not g.warmup}
        starts = Counter(workload for workload, _ in judged)
        more = {w.name: starts[w.name] - w.repeats for w in rig.workloads}
        told = ", ".join(f"{n} more of {name}" for name, n in more.items() if n > 0)
        if told:
            yield f"{launch.launch.id}: {told}"
