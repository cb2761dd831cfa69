"""What a search for the part of a change that costs begins with: known before anything is looked at, however many parts there are."""

from __future__ import annotations

from collections.abc import Iterator

from tokgate.records import Launch
from tokgate.records.side import BASE, HEAD
from tokgate.rig.models import Rig
from tokgate.verdicts.searched import CHECK, question_of


def opening_launches(rig: Rig, *, behind: int) -> tuple[Launch, ...]:
    """Return base, head, head, base; () where no search is asked for. `behind`: the last number that is taken."""
    if rig.sides is None or rig.sides.question != CHECK:
        return ()
    return tuple(
        search_launch(rig, side, number=behind + place, decision=1)
        for place, side in enumerate((BASE, HEAD, HEAD, BASE), start=1)
    )


def search_launch(rig: Rig, side: str, *, number: int, decision: int) -> Launch:
    question = question_of(rig)
    return Launch(
        id=f"{number:02d}-{question.arm}-{side}",
        arm=question.arm,
        role=CHECK,
        round=decision,
        workloads=(question.workload,),
        side=side,
    )


def describe_search(rig: Rig) -> Iterator[str]:
    """Yield what a search may take beyond its opening."""
    question, spec = question_of(rig), rig.sampling
    yield (
        f"search for the part of the change that costs, on {question.arm} in {question.workload}: base and head twice each, then as "
        f"many of what lies between as it takes within {spec.gpu_time_s:g} s (sampling.gpu_time_s), {spec.most_restarts} restarts "
        "of a side at most"
    )
