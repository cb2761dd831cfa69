"""The one gate that every performance check goes through: may anything here be judged."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterable, Mapping

from tokgate.records import Generation, LaunchEvidence, Outcome, Verdict
from tokgate.records.record import Record
from tokgate.rig.models import Rig, WorkloadSpec

from .cached import cached
from .effective import contradicted
from .environment import unproven
from .headroom import at_its_ceiling
from .series import Series, series_of
from .shortfall import Shortfall
from .slate import contradicted_gpus, unclean
from .unsteady import unsteady
from .window import disturbed, hazy, unwatched

# Load and network make the two differ by a few per cent. A server that tells half as much again as ever arrived
# here counts something else than we do, or we measured something else than it.
DISBELIEF = 1.5


class Established(Record):
    """A launch and workload whose numbers may be judged."""

    launch: LaunchEvidence
    workload: str
    good: tuple[Generation, ...]  # without warm-ups, in order of measurement
    series: dict[str, Series]
    missing: dict[str, str]  # metrics that cannot be judged -> why
    raw: tuple[str, ...]

    def why_missing(self, metric: str) -> str:
        return self.missing.get(metric, f"the server counted nothing that {metric} could be computed from")


def establish(
    launch: LaunchEvidence,
    workload: str,
    *,
    at_least: int,
    check: str = "establish",
    decode: bool = True,
    also: Iterable[Shortfall] = (),
) -> Established | Verdict:
    """Return the judgeable numbers of a workload, or the `invalid` verdict that says why there are none.

    Of the launch: it has a server and no start failure, it met no bench fault, its slate was clean, its environment
    is proven, it was alive and answered after the last generation. Of the workload: not one generation failed, at
    least `at_least` good ones besides the warm-up, counters without contradiction, as many tokens as asked for, a
    decode rate that the client can believe, and (with `decode`) one for every generation. Of its windows (with
    `decode`): most were watched, nobody else computed, no card was held back, the clocks were one. `also`: what the
    caller knows of.
    """
    mine = tuple(g for g in launch.generations if g.workload == workload)
    good = tuple(
        sorted((g for g in mine if g.good and not g.warmup), key=lambda g: (g.batch, g.slot, g.index))
    )
    shortfalls = [*_of_launch(launch), *also]
    if mine or not shortfalls:  # without a server it goes without saying that it answered nothing
        shortfalls += _of_generations(
            mine, good, launch_id=launch.launch.id, workload=workload, at_least=at_least
        )
    disturbances = tuple(disturbed(launch, workload)) if decode else ()
    shortfalls += disturbances
    series, missing = series_of(good) if not shortfalls else ({}, {})
    if not shortfalls and decode and "decode_tok_s" not in series:
        shortfalls.append(
            Shortfall(
                what=f"no decode rate: {missing.get('decode_tok_s', 'nothing was decoded')}",
                do="ask for at least two tokens, and stream; see the raw bodies",
            )
        )
    shortfalls += _flattering(series)
    unsure = hazy(launch, workload) if decode else ()
    series = {n: s.model_copy(update={"warnings": (*s.warnings, *unsure)}) for n, s in series.items()}
    kept = ("generations.jsonl", "telemetry.jsonl") if disturbances else ("generations.jsonl",)
    raw = tuple(f"launches/{launch.launch.id}/{name}" for name in kept)
    if shortfalls:
        return invalid(check, shortfalls, launch=launch, workload=workload, n=len(good), raw=raw)
    return Established(launch=launch, workload=workload, good=good, series=series, missing=missing, raw=raw)


def establish_workload(
    rig: Rig, launch: LaunchEvidence, workload: str, *, check: str, whole: bool = True
) -> Established | Verdict:
    """Establish a workload of the rig: everything it asks for must be there, and its window must be fit to judge by.

    The window: no prompt came from the prefix cache, the client was far from its ceiling, the warm-up was over and the
    numbers did not move. Without `whole` this is left to the caller: the checks that judge just that. What takes
    several launches to see is validity.py's.
    """
    spec = next((w for w in rig.workloads if w.name == workload), None)
    arm = next((a for a in rig.arms if a.name == launch.launch.arm), None)
    if spec is None or arm is None:
        lacking = f"workload {workload!r}" if spec is None else f"arm {launch.launch.arm!r}"
        shortfall = Shortfall(
            what=f"the rig {rig.name} has no {lacking}",
            do="judge the run with the rig it was measured with (rig.json in its folder)",
        )
        return invalid(check, [shortfall], launch=launch, workload=workload)
    found = establish(
        launch,
        workload,
        at_least=spec.repeats * spec.concurrency,
        check=check,
        also=(*_of_rig(rig, launch), *contradicted(rig, arm, launch), *_crowds(launch, spec)),
    )
    if isinstance(found, Verdict) or not whole:
        return found
    objections = list(_of_window(rig, found, spec))
    if objections:
        return invalid(check, objections, launch=launch, workload=workload, n=len(found.good), raw=found.raw)
    return found


def _of_window(rig: Rig, found: Established, spec: WorkloadSpec) -> Iterable[Shortfall]:
    yield from (
        one for one in (cached(found.good, spec), at_its_ceiling(found.launch, spec.name)) if one is not None
    )
    unsteadiness = unsteady(rig, found.launch, spec.name, found.series)
    if unsteadiness is not None:
        yield from unsteadiness.established


def _of_rig(rig: Rig, launch: LaunchEvidence) -> Iterable[Shortfall]:
    return (*contradicted_gpus(launch.slate, rig.gpus), *unwatched(rig, launch))


def _crowds(launch: LaunchEvidence, spec: WorkloadSpec) -> Iterable[Shortfall]:
    """Yield the barrier starts that had more or less company than the workload declares."""
    sizes = Counter(g.batch for g in launch.generations if g.workload == spec.name and not g.warmup)
    odd = {batch: size for batch, size in sorted(sizes.items()) if size != spec.concurrency}
    if odd:
        batch, size = next(iter(odd.items()))
        yield Shortfall(
            what=f"start {batch} of {spec.name} had {size} generations at concurrency {spec.concurrency}",
            do="measure again: a number belongs to the load it was measured under",
        )


def invalid(
    check: str,
    shortfalls: list[Shortfall],
    *,
    launch: LaunchEvidence | None = None,
    workload: str | None = None,
    metric: str | None = None,
    n: int = 0,
    raw: tuple[str, ...] = (),
) -> Verdict:
    """Return the `invalid` verdict of one or more shortfalls, the first of them as headline."""
    first = shortfalls[0]
    subject = f" on {launch.launch.id}" if launch is not None else ""
    return Verdict(
        check=check,
        outcome=Outcome.INVALID,
        headline=f"{check}{subject}: {first.what}",
        arm=launch.launch.arm if launch is not None else None,
        launch=launch.launch.id if launch is not None else None,
        workload=workload,
        metric=metric,
        n=n,
        evidence=(*first.evidence, *(s.what for s in shortfalls[1:])),
        do=first.do,
        raw=raw,
    )


def _flattering(series: Mapping[str, Series]) -> Iterable[Shortfall]:
    """Yield a shortfall where the server tells far more tokens a second than arrived."""
    if "decode_tok_s" not in series or "client_decode_tok_s" not in series:
        return
    told, seen = (statistics.median(series[name].values) for name in ("decode_tok_s", "client_decode_tok_s"))
    if told > DISBELIEF * seen:
        yield Shortfall(
            what=f"the server says {told:.4g} tok/s, the client saw {seen:.4g}: one of them measures something else",
            do="compare arrivals with the counters in generations.jsonl; look for a slow tunnel, a proxy or load on "
            "this machine, else report the counters as a fault of this SGLang version",
        )


def _of_launch(launch: LaunchEvidence) -> Iterable[Shortfall]:
    if launch.failure is not None:
        yield Shortfall(
            what=f"the server did not start: {launch.failure.headline}",
            do=launch.failure.do,
            evidence=(f"cause: {launch.failure.cause.value}", *launch.failure.evidence),
        )
        return
    if launch.slate is not None or launch.server is not None:
        yield from unclean(launch.slate)
    yield from _gone(launch)
    for fault in launch.faults:
        yield Shortfall(what=f"bench fault: {fault}", do="mend the bench, then measure again")
    if launch.stop is not None and launch.stop.survivors:
        pids = " ".join(str(p.pid) for p in launch.stop.survivors)
        yield Shortfall(
            what=f"{len(launch.stop.survivors)} processes survived the stop",
            do=f"end them by hand: kill -KILL {pids}; processes that nobody can end want a reboot",
        )
    if launch.server is None:
        yield Shortfall(what="no server was started", do="look for an error earlier in the session")
        return
    yield from unproven(launch)
    if launch.liveness is None:
        yield Shortfall(
            what="the launch was never finished: nobody asked whether the server still lives",
            do="measure again; do not interrupt the session",
        )


def _gone(launch: LaunchEvidence) -> Iterable[Shortfall]:
    """Before any fault that followed from it."""
    liveness = launch.liveness
    if liveness is None or (liveness.alive and liveness.answered):
        return
    state = "alive but mute" if liveness.alive else "dead"
    because = f" ({liveness.why})" if liveness.why else ""
    yield Shortfall(
        what=f"the server was {state} after the last generation{because}",
        do=f"read launches/{launch.launch.id}/server.log",
    )


def _of_generations(
    mine: tuple[Generation, ...],
    good: tuple[Generation, ...],
    *,
    launch_id: str,
    workload: str,
    at_least: int,
) -> Iterable[Shortfall]:
    failed = [g for g in mine if not g.good]
    if failed:
        counts = ", ".join(f"{n} {status}" for status, n in Counter(g.status.value for g in failed).items())
        first = failed[0]
        yield Shortfall(
            what=f"{len(failed)} of {len(mine)} generations failed ({counts}): {first.why or 'no reason kept'}",
            do="read the server's log and the raw body of the first failure",
            evidence=tuple(f"{g.request_id}: {g.status.value}, {g.why}" for g in failed[:5]),
        )
    strangers = sorted({g.launch for g in mine} - {launch_id})
    if strangers:
        yield Shortfall(
            what=f"generations of {', '.join(strangers)} lie among those of {launch_id}",
            do="judge the run folder as it was written; do not merge launches",
        )
    for g in good:
        if g.counters is not None and g.counters.contradictions:
            yield Shortfall(
                what=f"the counters of {g.request_id} contradict each other: {g.counters.contradictions[0]}",
                do="read the raw body; report it as a fault of this SGLang version",
            )
            break
    for g in good:
        told = g.counters.completion_tokens if g.counters is not None else None
        if told is not None and told != g.asked_tokens:
            yield Shortfall(
                what=f"{g.request_id} made {told} tokens where {g.asked_tokens} were asked for",
                do="check that ignore_eos reached the server",
            )
            break
    wanted = max(at_least, 1)
    if len(good) < wanted and not failed:
        yield Shortfall(
            what=f"{len(good)} good generations of {workload} where {wanted} were asked for",
            do="run the whole session: pytest perf_tests -m eagle3",
        )
