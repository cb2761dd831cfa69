"""Promise: what the rig asks of NCCL is what NCCL does, in every rank, on the path that decodes."""

from __future__ import annotations

from collections.abc import Iterable

from tokgate.records import LaunchEvidence, Outcome, Verdict
from tokgate.records.nccl import NcclMark, NcclStage, NcclTruth
from tokgate.rig.models import Rig
from tokgate.rig.nccl.lint import lint_variables
from tokgate.rig.nccl.versions import REFERENCE, read_version
from tokgate.verdicts.establish import invalid
from tokgate.verdicts.nccl.states import condensed, nccl_truth_of
from tokgate.verdicts.shortfall import Shortfall
from tokgate.verdicts.slate import unclean

CHECK = "nccl_truth"

_DO = {
    NcclStage.EXEC: "look at what stands between the shell line and the rank (a wrapper, a launcher, a patch of SGLang), "
    "then compare environment.json with the rig",
    NcclStage.ACCEPTED: "compare NCCL's lines in server.log with the rig, letter by letter; an unknown word is passed over",
    NcclStage.EFFECTIVE: "read NCCL's channels, matrix and thread table in server.log: they are what it runs with",
    NcclStage.USED: "look at the trace of that rank in profile/",
}
_MEASURED = (NcclStage.EXEC, NcclStage.ACCEPTED, NcclStage.EFFECTIVE, NcclStage.USED)


def nccl_truth(rig: Rig, launch: LaunchEvidence) -> tuple[Verdict, ...]:
    """Judge the proof start, or another launch where the rig's reason stands against making one.

    pass: every variable is in the exec environment of every rank, accepted, effective as wanted, and NCCL
    runs on the decode path, or is shown not to: then the pass carries a warning, since no number of this
    rig depends on the block. invalid: anything is refuted, or cannot be told because the launch failed.
    inconclusive: some state is unknown, with its reason. Where the rig gives the reason, the promise is the
    smaller one that is left, the exec environment, and a pass says so first.
    """
    shortfalls = list(_of_launch(launch))
    if shortfalls:
        return (invalid(CHECK, shortfalls, launch=launch),)
    truth = nccl_truth_of(rig, launch)
    refuted = [*_contradictions(truth), *_foretold(rig, launch)]
    if refuted or not truth.rows:
        nothing = Shortfall(what="no variable of NCCL is wanted", do="write server.nccl into the rig")
        verdict = invalid(CHECK, refuted or [nothing], launch=launch, n=len(truth.rows), raw=truth.raw)
        return (verdict.model_copy(update={"warnings": truth.warnings}),)
    return (_unrefuted(rig, launch, truth),)


def _unrefuted(rig: Rig, launch: LaunchEvidence, truth: NcclTruth) -> Verdict:
    unknown = [(s, told) for s in _MEASURED for told in condensed(truth, s, (NcclMark.UNKNOWN,))]
    unused = condensed(truth, NcclStage.USED, (NcclMark.UNUSED,))
    subject = f"NCCL block of {len(rig.server.nccl)} variables in {len(truth.ranks)} ranks"
    verdict = Verdict(
        check=CHECK,
        outcome=Outcome.PASS,
        headline=f"{subject}: {_used(truth)}",
        arm=launch.launch.arm,
        launch=launch.launch.id,
        n=len(truth.rows),
        evidence=tuple(_evidence(truth)),
        warnings=truth.warnings,
        raw=truth.raw,
    )
    if unknown and truth.skipped:
        # An unknown exec environment never gets here: without it nothing is promised at all.
        return verdict.model_copy(
            update={
                "headline": f"{subject}: in the exec environment; what NCCL makes of it is not proven: {truth.skipped}",
                "warnings": (f"no proof start was made: {truth.skipped} (nccl_proof.skip)", *truth.warnings),
            }
        )
    if unknown:
        stage, (variables, words) = unknown[0]
        proven = "in the exec environment; " if stage is not NcclStage.EXEC else ""
        return verdict.model_copy(
            update={
                "outcome": Outcome.INCONCLUSIVE,
                "headline": f"{subject}: {proven}{stage.value}: {words} ({variables})",
                "do": f"{_DO[stage]}; then measure again",
            }
        )
    if unused:
        _, words = unused[0]
        loud = f"no number of this rig depends on its NCCL block: {words}; what is slow here is not NCCL's tuning"
        headline = f"{subject}: accepted but unused, no NCCL kernel reduces on the decode path"
        return verdict.model_copy(update={"headline": headline, "warnings": (loud, *truth.warnings)})
    return verdict


def _of_launch(launch: LaunchEvidence) -> Iterable[Shortfall]:
    if launch.failure is not None:
        warned = tuple(dict.fromkeys(w.text for w in launch.nccl.warnings)) if launch.nccl else ()
        headline, refusals = launch.failure.headline, tuple(f"NCCL refuses: {words}" for words in warned)
        yield Shortfall(
            what=f"the server did not start: {(refusals or (headline,))[0]}",
            do="compare the value with what NCCL takes; `tokgate rig check` judges what the rig writes"
            if refusals
            else launch.failure.do,
            evidence=(
                *refusals[1:],
                *((headline,) if refusals else ()),
                *launch.failure.evidence,
            ),
        )
        return
    if launch.slate is not None:
        yield from unclean(launch.slate)
    for fault in launch.faults:
        yield Shortfall(what=f"bench fault: {fault}", do="mend the bench, then measure again")
    if launch.server is None:
        yield Shortfall(what="no server was started", do="look for an error earlier in the session")
        return
    if launch.environment is None:
        yield Shortfall(
            what="nobody read the environment of the server's processes",
            do="measure again; the proof is taken right after the server is ready",
        )
    if _unfinished(launch):
        yield Shortfall(
            what="the launch was never finished: the session ended before its server was stopped",
            do="measure again; do not interrupt the session",
        )


def _unfinished(launch: LaunchEvidence) -> bool:
    """Say whether a last word is missing: launch.json is written stage by stage, and a killed session stops there."""
    if launch.launch.role == "nccl-proof" and (launch.stop is None or launch.nccl is None):
        return True
    return launch.liveness is None and not launch.faults


def _contradictions(truth: NcclTruth) -> Iterable[Shortfall]:
    """The first link that breaks is the cause: what follows from it is told behind it."""
    for stage in _MEASURED:
        for variables, words in condensed(truth, stage, (NcclMark.REFUTED,)):
            yield Shortfall(what=f"{variables}: {words}", do=_DO[stage])
    for variables, words in condensed(truth, NcclStage.EXEC, (NcclMark.UNKNOWN,)):
        yield Shortfall(
            what=f"{variables}: {words}",
            do="put SPT_NOENV=1 in front of the command, and run the gate as the user that owns the server",
        )


def _foretold(rig: Rig, launch: LaunchEvidence) -> Iterable[Shortfall]:
    """What reading the rig alone tells: a value that NCCL ignores or cuts proves nothing by being there."""
    told = launch.nccl.versions if launch.nccl is not None else ()
    version = read_version(told[0] if told else None) or REFERENCE
    for lint in lint_variables(rig.server.nccl, version):
        if lint.severity != "note" and lint.variable in rig.server.nccl:
            yield Shortfall(
                what=f"{lint.variable}={lint.value}: {lint.what}",
                do=lint.do,
                evidence=(f"read in {lint.source}",),
            )


def _used(truth: NcclTruth) -> str:
    cell = truth.rows[0].cell(NcclStage.USED)
    return f"started with, accepted, effective, and used ({cell.value} on the decode path)"


def _evidence(truth: NcclTruth) -> Iterable[str]:
    for stage in _MEASURED:
        for variables, words in condensed(truth, stage, tuple(NcclMark)):
            yield f"{stage.value}: {words} ({variables})"
