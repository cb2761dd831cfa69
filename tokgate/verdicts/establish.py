"""The one gate that every performance check goes through: may anything here be judged."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

from pydantic import AfterValidator

from tokgate.records import Generation, LaunchEvidence, Outcome, Verdict
from tokgate.records.record import Record
from tokgate.rig.models import Rig
from tokgate.rig.workload import WorkloadSpec

from .answers import crowded, unusable
from .believable import beyond_the_draft, unbelievable
from .cached import cached
from .effective import contradicted
from .headroom import at_its_ceiling
from .launch_faults import launch_faults
from .series import Series, SeriesByName, series_of
from .shortfall import Shortfall
from .slate import contradicted_gpus
from .unsteady import unsteady
from .window import disturbed, hazy, unwatched


class Established(Record):
    """A launch and workload whose numbers may be judged."""

    launch: LaunchEvidence
    workload: str
    good: tuple[Generation, ...]  # without warm-ups, in order of measurement
    series: Annotated[dict[str, Series], AfterValidator(SeriesByName)]
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
    decode rate for every one (with `decode`), which the client's own timing allows. Of its windows (with
    `decode`): most were watched, nobody else computed, no card was held back, the clocks were one. `also`: what the
    caller knows of.
    """
    mine = tuple(g for g in launch.generations if g.workload == workload)
    good = tuple(
        sorted((g for g in mine if g.good and not g.warmup), key=lambda g: (g.batch, g.slot, g.index))
    )
    shortfalls = [*launch_faults(launch), *also]
    asked = launch.launch.workloads
    if asked and workload not in asked and not shortfalls:
        shortfalls.append(
            Shortfall(
                what=f"{workload} was not measured: the tests that were selected ask for {', '.join(asked)} of this launch",
                do=f"measure with a selection that asks for {workload}",
            )
        )
    elif mine or not shortfalls:  # without a server it goes without saying that it answered nothing
        shortfalls += unusable(mine, good, launch_id=launch.launch.id, workload=workload, at_least=at_least)
    shortfalls += unbelievable(good) if decode else ()
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
        also=(
            *_of_rig(rig, launch),
            *contradicted(rig, arm, launch),
            *crowded(launch, spec),
            *beyond_the_draft(arm, (g for g in launch.generations if g.workload == workload and g.good)),
        ),
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
