"""Causes that void numbers: the machine, somebody else on it, the server's life, the client."""

from __future__ import annotations

from collections.abc import Iterator

from tokgate.records import Generation, GenerationStatus, LaunchEvidence
from tokgate.verdicts.headroom import LIMIT, ClientShare, client_share
from tokgate.verdicts.host_load import busy_words
from tokgate.verdicts.launch_faults import log_of_the_end
from tokgate.verdicts.slate import unclean
from tokgate.verdicts.window import MOST_UNKNOWN, judged

from . import names
from .case import Case
from .cause import Cause, Strength
from .family import Found
from .telling import again, shortened

_UNTOLD = "cannot be told: "
_NOT_CONFIRMED = (
    "; restarts were not started for it, so that no loss could be confirmed; what was measured before stands"
)


def machine(case: Case, found: Found) -> Iterator[Cause]:  # noqa: ARG001 - a family's signature
    """Look at every slate of the session, and at who computed beside the server."""
    yield from _foreign(case)
    slates = [case.run.slate_at_start, *(e.slate for e in case.run.launches), case.run.slate_at_end]
    looks = [s for s in slates if s is not None]
    told = [(s.when, fall) for s in looks for fall in unclean(s, case.rig.gpus)]
    for name, mine in (
        (names.UNCLEAN, [(when, f) for when, f in told if not f.what.startswith(_UNTOLD)]),
        (names.UNSEEN, [(when, f) for when, f in told if f.what.startswith(_UNTOLD)]),
    ):
        if mine:
            when, first = mine[0]
            late = name == names.UNCLEAN and _late(case)
            yield Cause(
                name=names.LATE if late else name,
                strength=Strength.PROVEN,
                words=f"{_placed(when, first.what.removeprefix(_UNTOLD))}{_NOT_CONFIRMED if late else ''}",
                evidence_for=shortened([_placed(when, f.what) for when, f in mine]),
                do=f"{first.do}; then {again(case, 'eagle3')}",
            )
    unwatched = list(_unwatched(case))
    if unwatched:
        yield Cause(
            name=names.UNSEEN,
            strength=Strength.PROVEN,
            words=unwatched[0],
            evidence_for=shortened(unwatched),
            do="nvidia-smi by hand: how long does it take? Without telemetry neither heat nor other processes can be "
            f"excluded; then {again(case, 'eagle3')}",
        )
    if looks and not told:
        yield Cause(
            name=names.UNCLEAN,
            strength=Strength.EXCLUDED,
            words=f"clean in all {len(looks)} looks",
            evidence_against=shortened([f"clean {s.when}" for s in looks], 3),
            do="nothing",
        )


def _late(case: Case) -> bool:
    """Say whether the machine was clean until the last number was taken, and not before a restart, which then was none."""
    before = [
        case.run.slate_at_start,
        *(e.slate for e in case.run.launches if e.generations or not e.launch.round),
    ]
    return all(s is None or not list(unclean(s, case.rig.gpus)) for s in before) and any(
        e.slate is not None and not e.slate.clean for e in case.run.launches if e.launch.round
    )


def _placed(when: str, what: str) -> str:
    return what if when in what else f"{when}: {what}"


def _unwatched(case: Case) -> Iterator[str]:
    """Yield the workloads in most of whose windows nobody watched the GPUs."""
    for launch in case.run.launches:
        for workload in case.rig.workloads if launch.telemetry is not None and launch.telemetry.gpus else ():
            windows = judged(launch, workload.name)
            unknown = [w.unknown for w in windows if w.unknown is not None]
            if unknown and len(unknown) > MOST_UNKNOWN * len(windows):
                yield (
                    f"{launch.launch.id}: nobody watched the GPUs in {len(unknown)} of {len(windows)} windows of "
                    f"{workload.name}: {unknown[0]}"
                )


def _foreign(case: Case) -> Iterator[Cause]:
    seen: list[str] = []
    watched = 0
    for launch in case.run.launches:
        known = {(h.pid, h.start_ticks) for h in launch.slate.holders} if launch.slate is not None else set()
        for workload in case.rig.workloads:
            for window in judged(launch, workload.name):
                watched += window.strangers is not None
                seen += [
                    f"{launch.launch.id}, start {window.batch} of {workload.name}: pid {s.pid} of "
                    f"{s.user or 'an unknown user'} on GPU {', '.join(map(str, s.gpus))}"
                    for s in window.strangers or ()
                    if (s.pid, s.start_ticks) not in known
                ]
    if seen:
        yield Cause(
            name=names.FOREIGN,
            strength=Strength.PROVEN,
            words=f"somebody else computed in the window: {seen[0]}",
            evidence_for=shortened(seen),
            do="nvidia-smi --query-compute-apps=pid,process_name,used_memory --format=csv; ask the owner or end it, "
            f"then {again(case, 'eagle3')}",
        )
    elif watched:
        yield Cause(
            name=names.FOREIGN,
            strength=Strength.EXCLUDED,
            words=f"nobody else computed on the GPUs in any of {watched} windows{_host(case)}",
            do="nothing",
        )


def _host(case: Case) -> str:
    """Say how busy the host was where it was: who computed on its cores, nobody told."""
    windows = [
        w for e in case.run.launches for workload in case.rig.workloads for w in judged(e, workload.name)
    ]
    words = busy_words(windows)
    return f"; {words}, by whom is not told" if words is not None else ""


def server_life(case: Case, found: Found) -> Iterator[Cause]:  # noqa: ARG001 - a family's signature
    """Look at how servers began and ended, and at what their answers lacked."""
    void = [e for e in case.run.launches if _died(e) or _hung(e)]
    for launch in case.run.launches:
        failure = launch.failure
        if failure is not None and "NCCL" not in failure.headline:
            yield Cause(
                name=names.NO_START,
                strength=Strength.PROVEN,
                words=f"{launch.launch.id}: {failure.headline}",
                evidence_for=shortened((f"cause: {failure.cause.value}", *failure.evidence)),
                do=failure.do,
            )
            break
    for launch in void:
        dead = _died(launch)
        why = launch.liveness.why if launch.liveness is not None else None
        yield Cause(
            name=names.DIED if dead else names.HUNG,
            strength=Strength.PROVEN,
            words=f"{launch.launch.id} {'was dead' if dead else 'gave no more tokens'}{f': {why}' if why else ''}",
            evidence_for=shortened([f"{g.request_id}: {g.status.value}, {g.why}" for g in _failed(launch)]),
            do=f"read the end of the log: tail -n 200 {log_of_the_end(launch)}; where a scheduler hangs, `py-spy "
            f"dump --pid` with its number says in what; then {again(case, 'eagle3')}",
        )
        break
    lost = [g for e in case.run.launches if e not in void for g in _failed(e)]
    if lost:
        yield Cause(
            name=names.FAILED,
            strength=Strength.PROVEN,
            words=f"{len(lost)} generations failed: {lost[0].status.value}, {lost[0].why}",
            evidence_for=shortened([f"{g.request_id}: {g.status.value}, {g.why}" for g in lost]),
            do=f"read {lost[0].body_file or 'the raw body of the first'} and the server's log; then {again(case, 'eagle3')}",
        )


def _died(launch: LaunchEvidence) -> bool:
    return launch.liveness is not None and not launch.liveness.alive


def _hung(launch: LaunchEvidence) -> bool:
    mute = launch.liveness is not None and launch.liveness.alive and not launch.liveness.answered
    return mute or any(g.status is GenerationStatus.TIMED_OUT for g in launch.generations)


def _failed(launch: LaunchEvidence) -> list[Generation]:
    return [g for g in launch.generations if not g.good]


def counting(case: Case, found: Found) -> Iterator[Cause]:  # noqa: ARG001 - a family's signature
    """Look at what counts: the server's counters, its cache, our own client."""
    good = [g for e in case.run.launches for g in e.generations if g.good and g.counters is not None]
    odd = [(g, g.counters.contradictions[0]) for g in good if g.counters and g.counters.contradictions]
    if odd:
        generation, words = odd[0]
        yield Cause(
            name=names.COUNTERS,
            strength=Strength.PROVEN,
            words=f"{generation.request_id}: {words}",
            evidence_for=shortened([f"{g.request_id}: {w}" for g, w in odd]),
            do=f"read {generation.body_file or 'its raw body'}; report it as a fault of this SGLang version",
        )
    hits = [g for g in good if not g.warmup and g.counters is not None and g.counters.cached_tokens]
    if hits:
        yield Cause(
            name=names.CACHE,
            strength=Strength.PROVEN,
            words=f"{len(hits)} of {len(good)} answers took prompt tokens from the prefix cache",
            do=f"flush between starts, or cache = unique; then {again(case, 'eagle3')}",
        )
    yield from _client(case)


def _client(case: Case) -> Iterator[Cause]:
    told = [
        (load, launch.launch.id, workload)
        for launch in case.run.launches
        for workload in launch.client
        if isinstance(load := client_share(launch, workload), ClientShare)
    ]
    if not told:
        return
    load, launch_id, workload = max(told, key=lambda one: one[0].share)
    over = load.share > LIMIT
    yield Cause(
        name=names.CLIENT,
        strength=Strength.PROVEN if over else Strength.EXCLUDED,
        words=f"the client was at {load.share:.1%} of its ceiling at most, in {workload} on {launch_id}",
        evidence_for=(load.text(),) if over else (),
        do=f"measure from an idle machine, or lower the concurrency: {again(case, 'eagle3')}",
    )
