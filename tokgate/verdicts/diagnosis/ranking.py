"""All families of causes, and the order in which their causes are told.

What voids the numbers comes first where no share of the loss is known for it: before it is mended nothing else can be
believed. Then everything by the share of tok/s that it explains, largest first; then what explains nothing that is known;
last what is weak. Equals keep the order of the families below. A cycle that is longer under a load whose phases nobody
measured follows what another load of the same arm names, as long as that is half as much at least.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tokgate.records import Outcome, RunEvidence, Verdict
from tokgate.rig.models import Rig

from . import names
from .case import BAD, Baselines, Case, case_of
from .cause import Cause, Diagnosis, Strength
from .change import change
from .charges import SMALLEST
from .family import Family, Found
from .host import busy_host
from .ledger import ledger
from .machine import counting, machine, server_life
from .marks import marks_of
from .motions import drift, heat, modes, slow_rank
from .settings import environment, nccl, probe
from .software import base_engine, stale, tree
from .speculation import acceptance, graphs, output, phases

FAMILIES: tuple[Family, ...] = (
    change, machine, server_life, counting, nccl, environment, heat, drift, modes, busy_host, output,
    graphs, slow_rank, tree, acceptance, phases, base_engine, stale, probe,
)  # fmt: skip
# These void numbers as much as what is proven does: of runs that lie apart neither can be told to be the true one, and
# with one card slower than the others none of them measures the server.
_VOIDS = (names.MODES, names.SLOW_RANK)
HALF = 0.5
NOTHING = "nothing that was measured stands out: too few values, or a loss below what is charged to a cause"
NO_PHASE = "no phase that was measured is longer than stored, or than the rig allows"


def diagnose(rig: Rig, run: RunEvidence, verdicts: Sequence[Verdict], baselines: Baselines) -> Diagnosis:
    """Rank the causes of a session that did not simply pass; a pure function of what its folder holds.

    `baselines`: those that it was compared with, by arm and workload. A session without a verdict that is regressed,
    invalid or inconclusive has no causes.
    """
    if all(v.outcome not in BAD for v in verdicts):
        return Diagnosis()
    case = case_of(rig, run, verdicts, baselines)
    marks = marks_of(case)
    found = Found(marks=marks, charges=ledger(case, marks))
    told = tuple(_once(cause for family in FAMILIES for cause in family(case, found)))
    ranked = in_order([c for c in told if c.strength not in (Strength.EXCLUDED, Strength.ACCOUNTED)])
    return Diagnosis(
        causes=ranked,
        excluded=tuple(c for c in told if c.strength is Strength.EXCLUDED),
        accounted=tuple(c for c in told if c.strength is Strength.ACCOUNTED),
        note=None if ranked else _why_none(case),
    )


def _why_none(case: Case) -> str:
    """Say why there is no cause. A regression is established: what is missing then is not values."""
    lost = [v for v in case.verdicts if v.outcome is Outcome.REGRESSED]
    if not lost:
        return NOTHING
    for verdict in lost:
        if (
            verdict.check == "speculation_beats_its_twin"
            and verdict.change is not None
            and verdict.change > 0
        ):
            least = case.rig.twin(verdict.arm or "", verdict.workload or "")
            asked = f"{least.at_least:.2f}x" if least is not None else "more"
            return (
                f"{NO_PHASE}: {verdict.arm} {verdict.workload} is {1 + verdict.change:.2f}x as fast as its twin and the "
                f"rig asks {asked}, so the limit asks more than this pair gives"
            )
    return (
        f"{NO_PHASE}, and no setting, tree or machine differs that explains a loss of {SMALLEST:.0%} or more"
    )


def in_order(causes: Sequence[Cause]) -> tuple[Cause, ...]:
    """Return causes in the order in which to look at them; equals keep theirs."""
    return tuple(sorted(causes, key=lambda cause: _key(cause, causes)))


def _key(cause: Cause, standing: Sequence[Cause]) -> tuple[int, float]:
    share = cause.share
    if cause.strength is Strength.WEAK:
        return (3, 0.0)
    if share is not None:
        if cause.name == names.CYCLE and any(_names_it(other, cause) for other in standing):
            return (1, 0.0)
        return (1, -share)
    voids = (cause.strength is Strength.PROVEN and cause.name != names.LATE) or cause.name in _VOIDS
    return (0 if voids else 2, 0.0)


def _names_it(other: Cause, cycle: Cause) -> bool:
    """Say whether another cause explains half as much of the same arm at least, and says what of the cycle it is."""
    arms = {e.arm for e in cycle.explains}
    of_arm = max((e.share for e in other.explains if e.arm in arms), default=0.0)
    return other is not cycle and of_arm >= HALF * (cycle.share or 0.0)


def _once(causes: Iterable[Cause]) -> Iterable[Cause]:
    seen: set[str] = set()
    for cause in causes:
        if cause.name not in seen:
            seen.add(cause.name)
            yield cause
