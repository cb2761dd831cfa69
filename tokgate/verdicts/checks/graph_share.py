"""Promise: where the control arm decodes in CUDA graphs, verify runs in CUDA graphs too."""

from __future__ import annotations

from collections.abc import Iterable

from tokgate.records import LaunchEvidence, Outcome, Reference, Verdict
from tokgate.records.phases import GraphReading, GraphTruth
from tokgate.rig.models import Rig
from tokgate.verdicts.establish import establish_workload
from tokgate.verdicts.phases import establish_phases

CHECK = "graph_share"
IN_GRAPHS = 0.95  # of the steps: a ragged batch at the end of a start may run without
_MOST_STEPS_FIRST = ("probe", "trace", "pass-counter", "decode-log")


def graph_share(
    rig: Rig, launch: LaunchEvidence, control: LaunchEvidence, workload: str
) -> tuple[Verdict, ...]:
    """Judge the share of verify steps that ran in a graph, by the source that saw most of them.

    pass: the control arm has no graphs either, or verify has them. regressed: the control arm has them and verify has
    not. inconclusive: either is not told.
    """
    established = establish_phases(rig, launch, workload, check=CHECK)
    if isinstance(established, Verdict):
        return (established,)
    twin = establish_workload(rig, control, workload, check=CHECK)
    if isinstance(twin, Verdict):
        return (twin,)
    concurrency = rig.workload(workload).concurrency
    mine, theirs = _readings(launch, concurrency), _readings(control, concurrency)
    verdict = Verdict(
        check=CHECK,
        outcome=Outcome.PASS,
        headline="",
        arm=launch.launch.arm,
        launch=launch.launch.id,
        workload=workload,
        evidence=(
            *(f"{launch.launch.id}, {words}" for words in _words(mine)),
            *(f"{control.launch.id}, {words}" for words in _words(theirs)),
            *_captured(launch, concurrency),
        ),
        raw=(f"launches/{launch.launch.id}/server.log",),
    )
    verify, plain = _best(mine), _best(theirs)
    if plain is None:
        why = "whether the control arm decodes in graphs is not told, so nothing is expected of verify"
        do = "raise output_tokens, or lower --decode-log-interval: a decode line is printed every few steps"
        return (_ended(verdict, Outcome.INCONCLUSIVE, why, do),)
    reference = Reference(kind="twin", label=control.launch.id, value=plain.share, n=plain.n)
    verdict = verdict.model_copy(update={"reference": reference})
    expected = plain.share is not None and plain.share >= IN_GRAPHS
    if verify is None or verify.share is None:
        if not expected:
            return (_ended(verdict, Outcome.PASS, "no graphs expected: the control arm has none either"),)
        why = "the control arm decodes in graphs; whether verify does is not told"
        return (_ended(verdict, Outcome.INCONCLUSIVE, why, "see docs/phases.md for what tells of graphs"),)
    verdict = verdict.model_copy(update={"value": verify.share, "unit": "of all steps", "n": verify.n})
    told = f"{verify.share:.1%} of {verify.n} verify steps ran in a CUDA graph (by {verify.source})"
    if not expected:
        return (_ended(verdict, Outcome.PASS, f"{told}; none expected: the control arm has none either"),)
    if verify.share >= IN_GRAPHS:
        return (_ended(verdict, Outcome.PASS, told),)
    do = (
        "look for what keeps verify out of graphs: cuda_graph_max_bs below the concurrency, too little memory at "
        "capture, an attention backend that cannot, a local patch"
    )
    return (_ended(verdict, Outcome.REGRESSED, f"{told}, and the control arm decodes in graphs", do),)


def _ended(verdict: Verdict, outcome: Outcome, words: str, do: str | None = None) -> Verdict:
    headline = f"graphs of {verdict.arm}: {words}"
    return verdict.model_copy(update={"outcome": outcome, "headline": headline, "do": do})


def _truth(launch: LaunchEvidence) -> GraphTruth:
    return (launch.phases.graphs if launch.phases is not None else None) or GraphTruth()


def _readings(launch: LaunchEvidence, concurrency: int) -> list[GraphReading]:
    """Return what was read under this load; what was read under any, unless no captured batch is as large."""
    truth = _truth(launch)
    also = () if truth.covers(concurrency) is False and truth.largest else (None,)
    return [r for r in truth.readings if r.concurrency in (concurrency, *also)]


def _best(readings: list[GraphReading]) -> GraphReading | None:
    told = [r for r in readings if r.share is not None]
    return min(told, key=lambda r: (r.concurrency is None, _MOST_STEPS_FIRST.index(r.source)), default=None)


def _words(readings: list[GraphReading]) -> Iterable[str]:
    for r in readings:
        load = "any load" if r.concurrency is None else f"concurrency {r.concurrency}"
        share = f"{r.share:.1%} of {r.n} in a graph" if r.share is not None else f"not told: {r.why}"
        yield f"{r.source}, {load}: {share}"


def _captured(launch: LaunchEvidence, concurrency: int) -> Iterable[str]:
    truth = _truth(launch)
    covers = truth.covers(concurrency)
    if covers is None:
        yield f"captured batches are not told: {truth.why_not_told or 'nobody looked'}"
    else:
        how = "within" if covers else "beyond"
        yield f"largest captured batch {truth.largest}: concurrency {concurrency} is {how} it ({truth.captured_by})"
