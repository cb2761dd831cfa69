"""What a selection will make a session do, and how long that is likely to take: known before anything starts."""

from __future__ import annotations

import math
import statistics
from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from tokgate.records import Launch
from tokgate.records.progress import PlannedLaunch, PlannedRestarts, PlannedWork, SessionPlan, Span
from tokgate.rig.instruments import cost_pairs
from tokgate.rig.models import Rig
from tokgate.rig.restart_budget import restart_budget_s
from tokgate.rig.workload import WorkloadSpec
from tokgate.verdicts.phases_of_change import tells_phases
from tokgate.verdicts.subjects import subject_of

from .asked_for import AskedFor
from .confirming_plan import describe_confirming
from .cost_plan import paired_batches
from .culprit_plan import describe_search
from .extra_starts import most_starts
from .pace import Pace
from .plan import Batch, batches_of, describe_phases, rig_for, workloads_of
from .preamble import possible_launches
from .sweep_plan import describe_sweep
from .usual import BESIDES_S, usual_around, usual_tok_s

# Where a launch is taken in by -m: what a selection without it leaves out.
_TAKEN_IN = {
    "nccl-off": "nccl",
    "instrumented": "verify",
    "nccl-proof": "eagle3 or nccl",
    "side": "patch",
    "culprit": "culprit",
}


def session_plan(
    rig: Rig,
    planned: Collection[str],
    pace: Pace,
    *,
    samples: bool,
    asked: AskedFor | None = None,
    tests: int = 0,
    deselected: int = 0,
) -> SessionPlan:
    """Return the plan of a session that makes the launches `planned`.

    `samples`: it may restart arms beyond them. `asked`: what is wanted of each; None: everything.
    """
    possible = possible_launches(rig)
    asked = asked or AskedFor()
    launches = [asked.of(launch) for launch in possible if launch.id in planned]
    made = tuple(_planned(rig, launch, pace) for launch in launches)
    restarts = _restarts(rig, launches, made) if samples else None
    taken = _sum([one.seconds for one in made])
    if restarts is not None and restarts.least_s:
        taken = _sum([taken, _known(restarts.least_s)])
    besides = pace.besides_s()
    whole = [taken]
    if launches and (besides or taken.limit is not None):
        whole.append(_of_values(besides) if besides else _usual(*BESIDES_S, BESIDES_S[1]))
    return SessionPlan(
        rig=rig.name,
        simulated=rig.simulated,
        gpus=rig.gpus.count,
        launches=made,
        restarts=restarts,
        seconds=_sum(whole),
        gpu_seconds=_times(taken, rig.gpus.count),
        basis=pace.basis,
        details=tuple(_details(rig, launches, made, samples=samples)),
        left_out=tuple(_left_out([launch for launch in possible if launch.id not in planned])),
        tests=tests,
        deselected=deselected,
    )


def _planned(rig: Rig, launch: Launch, pace: Pace) -> PlannedLaunch:
    own = rig_for(rig, launch)
    pairs = cost_pairs(own) if launch.carries else 0
    work: list[PlannedWork] = []
    kinds: list[_Kind] = []
    for number, workload in enumerate(workloads_of(own, launch)):
        batches = paired_batches(workload, pairs) if number == 0 and pairs else batches_of(workload)
        named: dict[str, list[Batch]] = {}
        for batch in batches:
            named.setdefault(batch.workload, []).append(batch)
        more = most_starts(rig, workload) - workload.repeats if _may_extend(rig, launch, workload) else 0
        for name, mine in named.items():
            seconds = pace.start_s(launch, workload, name) or pace.start_s(launch, workload, workload.name)
            kinds.append(_Kind(len(mine), seconds, workload, more if name == workload.name else 0))
            generations = sum(len(batch.indexes) for batch in mine)
            work.append(
                PlannedWork(
                    workload=name, generations=generations, output_tokens=generations * workload.output_tokens
                )
            )
    rest = pace.rest_s(launch)
    limit = rig.server.start_timeout_s + rig.server.stop_timeout_s + rig.gpus.wait_s
    taking = _taking(kinds, usual_tok_s(rig))
    around = _of_values(rest) if rest else _usual(*usual_around(rig)[:2], limit)
    return PlannedLaunch(
        launch=launch.id,
        arm=launch.arm,
        work=tuple(work),
        seconds=_sum([around, taking]),
        taking_s=taking.likely,
    )


class _Kind(NamedTuple):
    """The starts of one kind in a launch."""

    starts: int
    seconds: list[float]  # that one takes; [] where nothing is known
    workload: WorkloadSpec
    more: int  # that may be added


def _taking(kinds: Sequence[_Kind], tok_s: tuple[float, float]) -> Span:
    """`tok_s`: of a stream, where nothing is known."""
    spans = []
    for starts, seconds, workload, more in kinds:
        if seconds:
            one = _of_values(seconds)
            spans.append(
                Span(
                    low=starts * one.low, likely=starts * (one.likely or 0.0), high=(starts + more) * one.high
                )
            )
        else:
            slow, fast = tok_s
            tokens = workload.output_tokens
            limit = (starts + more) * workload.timeout_s
            spans.append(_usual(starts * tokens / fast, (starts + more) * tokens / slow, limit))
    return _sum(spans)


def _usual(low: float, high: float, limit: float) -> Span:
    """Return what is usual elsewhere, within what the rig allows."""
    return Span(low=min(low, limit), likely=None, high=min(high, limit), limit=limit)


def _may_extend(rig: Rig, launch: Launch, workload: WorkloadSpec) -> bool:
    timed = workload.name in {w.name for w in rig.workloads}
    return rig.sampling.gpu_time_s > 0 and launch.timed and timed


def _restarts(rig: Rig, launches: Sequence[Launch], made: Sequence[PlannedLaunch]) -> PlannedRestarts | None:
    """Return what the stop rule may add (tokgate/verdicts/sampling.py); None where the rig switches it off."""
    spec = rig.sampling
    subjects = {subject: launch for launch in launches if (subject := subject_of(launch)) is not None}
    if spec.gpu_time_s == 0 or not subjects:
        return None
    likely = {one.launch: one.seconds.likely for one in made}
    costs = [c for launch in subjects.values() if (c := likely[launch.id]) is not None]
    most = spec.most_restarts * len(subjects)
    if costs and len(costs) == len(subjects):
        most = min(most, math.floor(restart_budget_s(rig) / max(min(costs), 1e-3)))
    arms = [e for e in subjects.values() if e.role == "arm"]
    least, least_s = 0, 0.0
    control = subjects.get(rig.control.name)
    if spec.least_restarts and arms and control is not None:
        least = spec.least_restarts * len(arms) + 1
        seconds = [*(likely[e.id] for e in arms for _ in range(spec.least_restarts)), likely[control.id]]
        least_s = math.fsum(s for s in seconds if s is not None) if None not in seconds else 0.0
    return PlannedRestarts(least=least, most=max(most, least), least_s=least_s, most_s=restart_budget_s(rig))


def _details(
    rig: Rig, launches: Sequence[Launch], made: Sequence[PlannedLaunch], *, samples: bool
) -> Iterator[str]:
    if any(launch.role == "side" for launch in launches):
        yield f"head and base: {_sides(rig)}; each arm on both, one right behind the other"
        if samples and rig.sampling.gpu_time_s:
            yield from describe_confirming(rig, launches, made)
        if samples and rig.sampling.gpu_time_s and any(_tells_phases(rig, launch) for launch in launches):
            yield "where a loss of speed is called, a launch of either side with instruments tells its phase, within the restarts' time"
    if any(launch.carries for launch in launches):
        yield describe_phases(rig)
    if any(launch.role == "culprit" for launch in launches):
        yield from describe_search(rig)
    if any(launch.role.startswith("sweep") for launch in launches):
        yield from describe_sweep(rig)
    if samples and launches and rig.sampling.gpu_time_s == 0:
        yield "no further restarts (sampling.gpu_time_s is 0): losses are called without being confirmed by them"


def _tells_phases(rig: Rig, launch: Launch) -> bool:
    told = (tells_phases(rig, launch.arm, workload.name) for workload in rig.workloads)
    return launch.role == "side" and any(told)


def _sides(rig: Rig) -> str:
    """Say what a change is and what it is held against, as it was asked for."""
    spec = rig.sides
    if spec is None:
        return "the SGLang that the rig names"
    where = spec.repository or f"the SGLang that {rig.server.python} imports"
    patches = ", ".join(one.name for one in spec.patches)
    base = spec.base or ("the commit that the working tree lies on" if spec.repository else "as it is")
    if spec.applied:
        return f"{where} as it is, against it without {patches}"
    if patches:
        return f"{where}, {base} with {patches}, against {base}"
    head = spec.head or "the working tree as it lies"
    return f"{where}, {head} against {base}"


def _left_out(launches: Sequence[Launch]) -> Iterator[str]:
    """Yield what this selection leaves out of all that the rig can launch, with what takes it in."""
    swept = [launch for launch in launches if launch.role.startswith("sweep")]
    for launch in launches:
        if launch not in swept:
            yield f"{launch.id} (-m {_TAKEN_IN.get(launch.role, 'eagle3')})"
    if swept:
        yield f"a sweep's {len(swept)} launches (-m sweep)"


def _of_values(values: Sequence[float]) -> Span:
    return Span(low=min(values), likely=statistics.median(values), high=max(values))


def _known(seconds: float) -> Span:
    return Span(low=seconds, likely=seconds, high=seconds)


def _sum(spans: Sequence[Span]) -> Span:
    likely = [s.likely for s in spans]
    return Span(
        low=math.fsum(s.low for s in spans),
        likely=None if None in likely else math.fsum(v for v in likely if v is not None),
        high=math.fsum(s.high for s in spans),
        limit=None
        if all(s.limit is None for s in spans)
        else math.fsum(s.high if s.limit is None else s.limit for s in spans),
    )


def _times(span: Span, factor: int) -> Span:
    return Span(
        low=span.low * factor,
        likely=None if span.likely is None else span.likely * factor,
        high=span.high * factor,
        limit=None if span.limit is None else span.limit * factor,
    )
