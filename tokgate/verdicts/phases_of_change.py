"""Which launches with instruments tell where the loss of a change lies: one of either side, once the loss is called."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from tokgate.records import LaunchEvidence, Outcome, Verdict
from tokgate.records.side import BASE
from tokgate.rig.instruments import instrumented
from tokgate.rig.models import Rig

from .questions import SPEED
from .stop_rule import More
from .subjects import PHASES, Subject, subject_of

CHECK = "patch"


def phases_wanted(
    rig: Rig,
    launches: Sequence[LaunchEvidence],
    costs: Mapping[str, float],
    verdicts: Sequence[Verdict],
    left_s: float,
) -> More | None:
    """Return the launches that tell which phase a called loss lies in; None: none are needed, or none fit.

    Whoever reads a loss asks next which phase it is, and a session that ends without that answer has to be made once more for
    it. So a launch of base and head each carries instruments, of what the plan has not: no more than one server run a side, and
    nothing of it where nothing is lost. It adds no look at any number. The arm that loses most comes first.
    """
    made = _by_subject(launches)
    for verdict in sorted(_lost(rig, verdicts), key=lambda v: v.change or 0.0):
        both = [Subject(verdict.arm or "", side, phases=True).text for side in (BASE, None)]
        if any(not _is_fit(one) for subject in both for one in made.get(subject, ())):
            continue  # the phases of one side alone tell of no change
        runs = {subject: 1 for subject in both if subject not in made}
        seconds = [reckoned_s(subject, costs) for subject in runs]
        cost = math.fsum(seconds)
        if not runs or not all(seconds) or cost > left_s:
            continue
        return More(
            runs=runs,
            workloads=(verdict.workload or "",),
            cost_s=cost,
            reason=f"which phase the loss of {verdict.arm} in {verdict.workload} lies in",
        )
    return None


def tells_phases(rig: Rig, arm: str, workload: str) -> bool:
    """Say whether a launch with instruments can tell the phases of this arm under this workload."""
    return (
        rig.instruments.skip is None
        and rig.arm(arm).kind == "eagle3"
        and workload in {w.name for w in instrumented(rig).workloads}
    )


def reckoned_s(subject: str, costs: Mapping[str, float]) -> float:
    """Return the seconds that one more run of a subject takes; of one with instruments no more than of one without.

    It takes one workload, no pair of starts that tells what the probe costs, and no trace. 0: nobody knows.
    """
    timed = subject.removesuffix(PHASES)
    return min((costs[one] for one in (subject, timed) if one in costs), default=0.0)


def _lost(rig: Rig, verdicts: Sequence[Verdict]) -> Iterator[Verdict]:
    for verdict in verdicts:
        called = verdict.check == CHECK and verdict.outcome is Outcome.REGRESSED and verdict.metric in SPEED
        if called and tells_phases(rig, verdict.arm or "", verdict.workload or ""):
            yield verdict


def _by_subject(launches: Sequence[LaunchEvidence]) -> dict[str, list[LaunchEvidence]]:
    found: dict[str, list[LaunchEvidence]] = {}
    for one in launches:
        if (subject := subject_of(one.launch)) is not None:
            found.setdefault(subject, []).append(one)
    return found


def _is_fit(launch: LaunchEvidence) -> bool:
    return launch.failure is None and not launch.faults
