"""Promise: nothing has crept since the stored baseline of the same identity."""

from __future__ import annotations

from collections.abc import Sequence

from tokgate.errors import BaselineError
from tokgate.records import Fingerprint, LaunchEvidence, Verdict
from tokgate.rig.models import Rig
from tokgate.verdicts.baselines.change_verdict import change_verdict
from tokgate.verdicts.baselines.compared import compared_with, lost_beyond_control
from tokgate.verdicts.baselines.file import Absence, BaselineFile
from tokgate.verdicts.baselines.identity import Identity, differences, identity_of_launch
from tokgate.verdicts.baselines.no_baseline import no_baseline
from tokgate.verdicts.baselines.staleness import staleness
from tokgate.verdicts.control_part import Control, control_part
from tokgate.verdicts.controls_drift import moved_between_controls, speed_metric
from tokgate.verdicts.establish import invalid
from tokgate.verdicts.shortfall import Shortfall
from tokgate.verdicts.validity import establish_arm

CHECK = "stored_baseline"
# A run with a verdict that is invalid is stored knowingly or not at all.
ANEW = 'tokgate baseline update RUN --arm {arm} --replace --despite-doubts --why "…"'


def stored_baseline(
    rig: Rig,
    launches: Sequence[LaunchEvidence],
    workload: str,
    baseline: BaselineFile | Absence,
    fingerprint: Fingerprint | None = None,
    *,
    control: Control | None = None,
) -> tuple[Verdict, ...]:
    """Judge an arm by all of its server runs of this session: one verdict per metric that both sides have.

    `launches`: the planned ones first, restarts after them. Where nothing of their identity is stored there is one
    `no-baseline`; a baseline of another identity is none, and a simulated machine is never compared with a real one.
    `fingerprint` is this run's: what differs from the baseline's is listed beside the verdict, and leads the headline
    of a loss beyond the floor. `control` ran beside an arm on the same machine: what the arm lost beyond it is not
    blamed on what has changed, nor is storing it anew the next step. Where it shows that the machine drifted nothing
    is judged, and a loss that is not surely larger than what the controls lie apart is not called.
    """
    kept = {baseline.arm: baseline.launches} if isinstance(baseline, BaselineFile) else {}
    beside = control.launches if control is not None else ()
    established = establish_arm(rig, launches, workload, check=CHECK, beside=beside, baseline_runs=kept)
    if isinstance(established, Verdict):
        return (established,)
    identity = _identity(rig, launches, workload, fingerprint)
    if isinstance(identity, Shortfall):
        return (invalid(CHECK, [identity], launch=launches[0], workload=workload),)
    part = None
    if control is not None:
        stored = baseline.fingerprint if isinstance(baseline, BaselineFile) else None
        part = control_part(rig, launches, workload, control, stored=stored, now=fingerprint)
    trails = part is not None and part.trails
    if isinstance(baseline, Absence):
        return (
            no_baseline(
                CHECK, established, baseline.nearest, baseline.differs, baseline.unreadable, trails=trails
            ),
        )
    if baseline.identity != identity:
        differs = differences(baseline.identity, identity)
        return (no_baseline(CHECK, established, baseline.name, differs, (), trails=trails),)
    speed = speed_metric(rig, workload).name
    if speed not in baseline.levels:
        # However good the rest is, what was lost is then unknown.
        shortfall = Shortfall(
            what=f"{baseline.name} holds no sample of {speed}, which is the speed of {workload}",
            do=f"restore it (git checkout -- {baseline.name}), or store it anew: "
            f"{ANEW.format(arm=launches[0].launch.arm)}",
        )
        return (invalid(CHECK, [shortfall], launch=launches[0], workload=workload, metric=speed),)
    at = launches[0].server.started_at if launches[0].server is not None else None
    stale = staleness(rig, baseline.fingerprint, fingerprint, stored=baseline.provenance.when, at=at)
    moved = moved_between_controls(rig, control.launches if control is not None else launches, workload)
    compared = tuple(compared_with(rig, established, baseline, moved))
    own = part is not None and (part.trails or any(lost_beyond_control(rig, c, part) for c in compared))
    if compared:
        return tuple(
            change_verdict(CHECK, rig, established, c, baseline, stale=stale, part=part, own=own)
            for c in compared
        )
    shortfall = Shortfall(
        what=f"{baseline.name} and this run have no metric in common",
        do=f"store it anew: {ANEW.format(arm=launches[0].launch.arm)}",
    )
    return (invalid(CHECK, [shortfall], launch=launches[0], workload=workload),)


def _identity(
    rig: Rig, launches: Sequence[LaunchEvidence], workload: str, fingerprint: Fingerprint | None
) -> Identity | Shortfall:
    """Return what all runs of the arm have in common; restarts of another server are no restarts."""
    try:
        found = [identity_of_launch(rig, one, workload, fingerprint) for one in launches]
    except BaselineError as error:
        return Shortfall(what=error.found, do=error.do)
    for launch, other in zip(launches, found, strict=True):
        if differs := differences(found[0], other):
            first = differs[0]
            return Shortfall(
                what=f"{launch.launch.id} is another server than {launches[0].launch.id}: {first.key} is "
                f"{first.now or 'not set'}, not {first.before or 'not set'}",
                do="see server_info.json and the clean slates: the server or the GPUs changed in between",
            )
    return found[0]
