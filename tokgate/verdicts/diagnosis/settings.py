"""Causes in what the server was given: NCCL's block, other variables, and what the probe costs it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tokgate.records import Outcome, Verdict

from . import names
from .case import Case
from .cause import Cause, Explained, Strength
from .family import Found
from .telling import again, shortened
from .variables import Refuted, hidden, is_nccl, proven_ranks

_KEPT = (Outcome.PASS, Outcome.IMPROVED)


def nccl(case: Case, found: Found) -> Iterator[Cause]:
    """Look at the rig's NCCL block: in the ranks' environment, taken by NCCL, and what it buys."""
    if not case.rig.server.nccl:
        return
    tuning = _tuning(case)
    told = found.of(names.NCCL)
    refused = _refused(case)
    if found.marks.nccl or refused is not None:
        yield Cause(
            name=names.NCCL,
            strength=Strength.PROVEN,
            words=_words(found.marks.nccl) if found.marks.nccl else refused or "",
            explains=told,
            evidence_for=shortened([*(r.words for r in found.marks.nccl), *([refused] if refused else [])]),
            do=f"compare the line as launched (environment.json) with [server.nccl]; then {again(case, 'nccl')}",
        )
    elif (ranks := proven_ranks(case.rig, case.run)) is not None:
        bought = [] if tuning is None else [tuning.headline]
        yield Cause(
            name=names.NCCL,
            strength=Strength.EXCLUDED,
            words=f"the whole block is proven in all {ranks} ranks",
            evidence_against=tuple(bought),
            isolated_by=None if tuning is None else f"{tuning.launch or 'a launch'} without the block",
            do="nothing",
        )
    elif unseen := [r for r in hidden(case.run) if is_nccl(case.rig, r.row.variable)]:
        yield Cause(
            name=names.NCCL,
            strength=Strength.WEAK,
            words=f"cannot be excluded: {unseen[0].row.variable} cannot be read in {unseen[0].row.process}",
            do=f"put SPT_NOENV=1 into the server's environment; then {again(case, 'nccl')}",
        )
    if tuning is not None and tuning.outcome is Outcome.REGRESSED and tuning.change is not None:
        yield Cause(
            name=names.NCCL_COSTS,
            strength=Strength.ISOLATED,
            words=tuning.headline,
            explains=(_of_pair(tuning, tuning.change),),
            isolated_by="the control arm with and without the block, in this session",
            do=f"take the block, or one variable after the other, out of [server.nccl]: {again(case, 'nccl')}",
        )


def environment(case: Case, found: Found) -> Iterator[Cause]:
    wrong = found.marks.environment
    if wrong:
        yield Cause(
            name=names.ENVIRONMENT,
            strength=Strength.PROVEN,
            words=_words(wrong),
            explains=found.of(names.ENVIRONMENT),
            evidence_for=shortened([r.words for r in wrong]),
            do=f"compare the line as launched (environment.json) with the rig; then {again(case, 'baseline')}",
        )


def probe(case: Case, found: Found) -> Iterator[Cause]:  # noqa: ARG001 - a family's signature
    """Look at the pairs of starts with and without the probe, in one server."""
    how = "pairs of starts with the probe on and off, in one server run"
    not_started = {e.launch.id for e in case.run.launches if e.failure is not None}
    for verdict in case.verdicts_of("probe_cost", outcomes=(Outcome.INVALID,)):
        if verdict.interval is None or verdict.launch in not_started:
            continue  # no server, or no cost that was measured: the verdict is invalid for another reason
        yield Cause(
            name=names.PROBE,
            strength=Strength.ISOLATED,
            words=verdict.headline,
            isolated_by=how,
            do=verdict.do
            or f"leave the probe out ([instruments]) and measure again: {again(case, 'eagle3')}",
        )
        return
    for verdict in case.verdicts_of("probe_cost", outcomes=_KEPT):
        yield Cause(
            name=names.PROBE,
            strength=Strength.EXCLUDED,
            words=verdict.headline,
            isolated_by=how,
            do="nothing",
        )
        return


def _words(wrong: Sequence[Refuted]) -> str:
    variables = list(dict.fromkeys(r.row.variable for r in wrong))
    processes = list(dict.fromkeys(r.row.process for r in wrong))
    named = ", ".join(variables[:3]) + (f" and {len(variables) - 3} more" if len(variables) > 3 else "")
    where = processes[0] if len(processes) == 1 else f"{len(processes)} processes"
    first = wrong[0].row
    what = "absent" if first.found is None else f"{first.found!r} instead of {first.wanted!r}"
    return f"{named}: {what} in {where}"


def _refused(case: Case) -> str | None:
    """Return what NCCL itself said against the block, by a failed start or by the proof."""
    for launch in case.run.launches:
        if launch.failure is not None and "NCCL" in launch.failure.headline:
            return f"{launch.launch.id}: {launch.failure.headline}"
    refuted = case.verdicts_of("nccl_truth", outcomes=(Outcome.INVALID,))
    of_itself = [v for v in refuted if "NCCL_" in v.headline]
    return of_itself[0].headline if of_itself else None


def _tuning(case: Case) -> Verdict | None:
    told = [v for v in case.verdicts if v.check == "nccl_tuning" and v.change is not None]
    return min(told, key=lambda v: v.change or 0.0, default=None)


def _of_pair(verdict: Verdict, change: float) -> Explained:
    return Explained(
        arm=verdict.arm or "",
        workload=verdict.workload or "",
        against="the same arm without the block",
        loss=-change,
        share=-change,
        by="both sides of this session",
    )
