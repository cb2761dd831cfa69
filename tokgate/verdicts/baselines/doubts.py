"""Whether a run may be stored at all: what forbids it, and what has to be overruled in words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tokgate.errors import BaselineError
from tokgate.records import PRECEDENCE, LaunchEvidence, Outcome, RunEvidence, Verdict
from tokgate.rig.models import Rig
from tokgate.verdicts.arm_restarts import taking
from tokgate.verdicts.checks.cache_state import cache_state
from tokgate.verdicts.checks.clean_slate import clean_slate
from tokgate.verdicts.checks.client_headroom import client_headroom
from tokgate.verdicts.checks.environment_truth import environment_truth
from tokgate.verdicts.checks.steadiness import drift, steadiness
from tokgate.verdicts.side_words import labels, unmerged
from tokgate.verdicts.validity import invalidities


def refuse_invalid(verdicts: Iterable[Verdict], *, tried: str) -> None:
    """Raise BaselineError on the first verdict that is invalid: such a run is stored by nobody."""
    refused = next((v for v in verdicts if v.outcome is Outcome.INVALID), None)
    if refused is not None:
        raise BaselineError(
            tried=tried,
            found=f"the run is invalid: {refused.headline}",
            do=refused.do or "measure again",
        )


def refuse_incomparable(rig: Rig, launches: Sequence[LaunchEvidence], *, tried: str) -> None:
    """Raise BaselineError on what forbids judging by these launches together: drift, heat, two modes of restarts."""
    for workload in rig.workloads:
        for found in invalidities(rig, launches, workload.name):
            raise BaselineError(
                tried=tried,
                found=f"the run is invalid for {workload.name}: {found.what}",
                do=found.do or "measure again",
            )


def noise(verdicts: Iterable[Verdict]) -> tuple[str, ...]:
    return tuple(v.headline for v in verdicts if v.outcome is Outcome.INCONCLUSIVE)


def grounds(rig: Rig, run: RunEvidence, launches: Sequence[LaunchEvidence]) -> Iterable[Verdict]:
    """Yield every verdict on whether these launches were fit to be judged, none on how fast they were."""
    yield from clean_slate(run.slate_at_start, rig.gpus)
    if run.slate_at_end is not None:  # a run of selected tests may not have looked at its end
        yield from clean_slate(run.slate_at_end, rig.gpus)
    controls = tuple(e for e in launches if e.launch.role in ("control", "control-again"))
    if len(controls) > 1:
        for workload in rig.workloads:
            yield from (v for v in drift(rig, controls, workload.name) if v.outcome is not Outcome.INVALID)
    for launch in launches:
        yield from environment_truth(rig, launch)
        for workload in rig.workloads:
            if not taking((launch,), workload.name):  # a restart that was asked for on account of others
                continue
            yield from cache_state(rig, launch, workload.name)
            yield from client_headroom(rig, launch, workload.name)
            # A series too short for its steadiness to be known is a doubt, no reason to refuse.
            yield from (v for v in steadiness(rig, launch, workload.name) if v.outcome is not Outcome.INVALID)


def of_a_change(rig: Rig, run: RunEvidence) -> tuple[str, ...]:
    """Return that a run measured a change to SGLang which nobody has merged, as far as the gate can know; () of any other."""
    if rig.sides is None:
        return ()
    head, base = labels(run.sides)
    what = (
        "its head holds what no commit has"
        if unmerged(run.sides)
        else "whether it has merged nobody knows here"
    )
    return (f"{run.info.run_id} measured a change, {head} against {base}: {what}",)


def ended_badly(judged: Sequence[Verdict] | None, launches: Sequence[LaunchEvidence]) -> tuple[str, ...]:
    """Return a doubt per check that found these launches, or the machine, regressed or invalid: its first headline."""
    if judged is None:
        return ("nobody has judged it: its session never came to an end",)
    stored, arms = {e.launch.id for e in launches}, {e.launch.arm for e in launches}
    found: dict[tuple[Outcome, str], list[str]] = {}
    for verdict in judged:
        if verdict.outcome not in (Outcome.REGRESSED, Outcome.INVALID):
            continue
        if verdict.launch in stored or (verdict.launch is None and verdict.arm in (None, *arms)):
            found.setdefault((verdict.outcome, verdict.check), []).append(verdict.headline)
    return tuple(
        f"{check} {outcome.value}: {told[0]}{f' (and {len(told) - 1} more)' if len(told) > 1 else ''}"
        for (outcome, check), told in sorted(found.items(), key=lambda one: PRECEDENCE.index(one[0][0]))
    )
