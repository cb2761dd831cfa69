"""The server runs of a sweep: the control arm, each setting once, the control arm again."""

from __future__ import annotations

from collections.abc import Iterator

from tokgate.records import Launch
from tokgate.rig.models import Rig
from tokgate.rig.sweep import CONTROLS, MARK, configured, left_out, settings_of, swept_workloads
from tokgate.stats.compare import needed_a_side
from tokgate.verdicts.sweep_best import confidence_of

from .plan import has_nccl, instrumented_launches, side_for, timed_launches


def sweep_launches(rig: Rig) -> tuple[Launch, ...]:
    """Return every launch of the sweep in order; () where the rig has none.

    The two controls are the sweep's own, under its workloads: they stand right around what they are the twins of,
    and bracket drift. All come behind whatever else a session may launch.
    """
    if rig.sweep is None:
        return ()
    first, last = CONTROLS
    names = [(first, rig.control.name, "sweep-control")]
    names += [(setting.name, rig.sweep.arm, "sweep") for setting in settings_of(rig)]
    names.append((last, rig.control.name, "sweep-control"))
    start = len(timed_launches(rig)) + has_nccl(rig) + len(instrumented_launches(rig)) + 1
    return tuple(
        Launch.model_validate(
            {"id": f"{number:02d}{MARK}{name}", "arm": arm, "role": role, "side": side_for(rig, role)}
        )
        for number, (name, arm, role) in enumerate(names, start=start)
    )


def describe_sweep(rig: Rig) -> tuple[str, ...]:
    """Say what a sweep would do, and what it leaves out; nothing where the rig has none."""
    return tuple(_lines(rig))


def _lines(rig: Rig) -> Iterator[str]:
    if rig.sweep is None:
        return
    launches, workloads = sweep_launches(rig), swept_workloads(rig)
    generations = len(launches) * sum((w.warmup + w.repeats) * w.concurrency for w in workloads)
    own = configured(rig.arm(rig.sweep.arm))
    told = "; ".join(f"{s.words}{' (as written)' if s == own else ''}" for s in settings_of(rig))
    yield (
        f"sweep of {rig.sweep.arm}, where -m sweep asks for it: {len(launches)} server launches, {generations} "
        f"generations ({', '.join(w.name for w in workloads)}); {told}"
    )
    settings, fewest = len(settings_of(rig)), min(w.repeats for w in workloads)
    if (needed := needed_a_side(confidence_of(settings))) > fewest:
        yield f"sweep: {fewest} starts establish nothing among {settings} settings: {needed} are needed"
    for out in left_out(rig):
        yield f"sweep without {out.setting.words}: {out.why}"
