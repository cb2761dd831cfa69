"""Server runs beyond the plan: what the stop rule asks for, as launches; pure functions of the rig and of what was made."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence

from tokgate.records import Launch, LaunchEvidence
from tokgate.rig.models import Rig
from tokgate.verdicts.questions import PHASES
from tokgate.verdicts.sampling import subject_of


def restart_launches(
    runs: Mapping[str, int],
    workloads: Sequence[str],
    *,
    number: int,
    planned: Sequence[Launch],
    made: Sequence[Launch],
) -> tuple[Launch, ...]:
    """Return the launches of one decision. `runs`: subject -> how many; `number`: of the decision, from 1.

    `planned`: all that the rig can launch, whose numbers go on; `made`: the restarts so far. Arms take turns, so that a
    drift meets them alike, and the control comes last, so that it shows one that went on.
    """
    behind = max((int(launch.id.partition("-")[0]) for launch in planned), default=0) + len(made)
    before = Counter(subject_of(launch) for launch in made)
    found: list[Launch] = []
    controls = {launch.arm for launch in planned if launch.role == "control"}
    for subject in _in_turn(runs, last=controls):
        before[subject] += 1
        arm = subject.removesuffix(PHASES)
        label = f"{arm}-phases" if subject.endswith(PHASES) else arm
        found.append(
            Launch(
                id=f"{behind + len(found) + 1:02d}-{label}-restart-{before[subject]}",
                arm=arm,
                role="instrumented" if subject.endswith(PHASES) else "restart",
                round=number,
                workloads=tuple(workloads),
            )
        )
    return tuple(found)


def of_subject(launches: Iterable[LaunchEvidence], subject: str, workload: str) -> tuple[LaunchEvidence, ...]:
    """Return the restarts of a subject that took this workload, in order."""
    return tuple(
        evidence
        for evidence in launches
        if evidence.launch.round
        and subject_of(evidence.launch) == subject
        and (not evidence.launch.workloads or workload in evidence.launch.workloads)
    )


def as_restarted(rig: Rig, launch: Launch) -> Rig:
    """Return the rig as a restart has it: its workloads alone, no lossless one, and no cost of a probe nor a trace."""
    taken = [w for w in rig.workloads if not launch.workloads or w.name in launch.workloads]
    instruments = rig.instruments.model_copy(update={"cost_pairs": 0, "trace": False})
    return rig.model_copy(update={"workloads": tuple(taken), "lossless": None, "instruments": instruments})


def _in_turn(runs: Mapping[str, int], *, last: Collection[str]) -> list[str]:
    """Return the order, made up from its end: turn by turn, of each turn the control first."""
    backwards = [subject for subject in runs if subject in last]
    backwards += [subject for subject in reversed(list(runs)) if subject not in last]
    most = max(runs.values(), default=0)
    found = [subject for turn in range(most) for subject in backwards if runs[subject] > turn]
    return found[::-1]
