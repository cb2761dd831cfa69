"""Server runs beyond the plan: what the stop rule asks for, as launches; pure functions of the rig and of what was made."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence

from tokgate.records import Launch, LaunchEvidence, Role
from tokgate.rig.models import Rig
from tokgate.verdicts.subjects import Subject, read_subject, subject_of

# Of a restart: on another side of a change, with instruments.
_ROLES: dict[tuple[bool, bool], Role] = {
    (False, False): "restart",
    (False, True): "instrumented",
    (True, False): "side",
    (True, True): "side-phases",
}


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
    drift meets them alike, and the control comes last, so that it shows one that went on. The two sides of a change
    stay neighbours and take turns in who is first: head and base as planned, then base and head, and so on.
    """
    behind = max((int(launch.id.partition("-")[0]) for launch in planned), default=0) + len(made)
    before = Counter(subject_of(launch) for launch in made)
    found: list[Launch] = []
    controls = {launch.arm for launch in planned if launch.role == "control"}
    heads = {launch.arm: launch.side for launch in planned if launch.stands_for_arm}
    for text in _in_turn(runs, last=controls, made=before):
        before[text] += 1
        subject = read_subject(text)
        found.append(
            Launch(
                id=f"{behind + len(found) + 1:02d}-{_label(subject)}-restart-{before[text]}",
                arm=subject.arm,
                role=_ROLES[subject.side is not None, subject.phases],
                round=number,
                workloads=tuple(workloads),
                side=subject.side or heads.get(subject.arm),
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


def _label(subject: Subject) -> str:
    """Return the part of a launch's id between its number and "restart"."""
    side = f"-{subject.side}" if subject.side is not None else ""
    return f"{subject.arm}{side}{'-phases' if subject.phases else ''}"


def _in_turn(runs: Mapping[str, int], *, last: Collection[str], made: Mapping[str | None, int]) -> list[str]:
    """Return the order, made up from its end: turn by turn, of each turn the control first; `made`: restarts so far."""
    together: dict[tuple[str, bool], list[str]] = {}
    for text in runs:
        subject = read_subject(text)
        together.setdefault((subject.arm, subject.phases), []).append(text)
    timed_last = [key for key in together if key[0] in last and not key[1]]
    backwards = [*timed_last, *(key for key in reversed(list(together)) if key not in timed_last)]
    most = max(runs.values(), default=0)
    turns = [
        [text for text in together[key] if runs[text] > turn] for turn in range(most) for key in backwards
    ]
    begun: Counter[str | None] = Counter(made)
    found: list[str] = []
    for texts in reversed(turns):
        found += _sides_in_turn(texts, begun)
        begun.update(texts)
    return found


def _sides_in_turn(texts: Sequence[str], begun: Mapping[str | None, int]) -> list[str]:
    """Return the sides of one arm, the head first where an even number of restarts of the other sides came before.

    The plan has the head first, so an odd number of pairs in all begins with the other side: H B, B H, H B, …
    """
    heads = [text for text in texts if read_subject(text).side is None]
    others = [text for text in texts if text not in heads]
    pairs = 1 + max((begun[text] for text in others), default=0)
    return [*others, *heads] if pairs % 2 else [*heads, *others]
