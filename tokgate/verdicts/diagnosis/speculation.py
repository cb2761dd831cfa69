"""Causes inside a speculative cycle: acceptance, verify with and without graphs, draft, the host, its output."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tokgate.records import Outcome
from tokgate.stats.log_shares import ACCEPTANCE

from . import names
from .case import Case
from .cause import Cause, Explained, Strength, share_of
from .charges import SMALLEST
from .family import Found
from .losses import DRAFT, EXTEND, LIMITS, VERIFY, Loss
from .readings import good_of
from .telling import again, compare, shortened, taken

# Where nothing but OpenAI's usage is told, a server that speculates may be silent.
_TELLS_NOTHING = ("openai-usage", "unknown")


def output(case: Case, found: Found) -> Iterator[Cause]:  # noqa: ARG001 - a family's signature
    """Look at what comes out, and whether speculation ran at all."""
    for verdict in case.verdicts_of("lossless", outcomes=(Outcome.REGRESSED,)):
        yield Cause(
            name=names.LOSSY,
            strength=Strength.PROVEN,
            words=verdict.headline,
            evidence_for=shortened(verdict.evidence),
            do=verdict.do or f"compare the outputs: {again(case, 'eagle3', '-k lossless')}",
        )
        break
    for arm in case.speculating:
        for launch in case.timed(arm):
            good = [g for w in case.rig.workloads for g in good_of(launch, w.name) if g.counters is not None]
            told = [g.counters for g in good if g.counters and g.counters.dialect not in _TELLS_NOTHING]
            calls = sum((c.spec.verify_ct or 0) if c.spec is not None else 0 for c in told)
            if told and len(told) == len(good) and not calls:
                yield Cause(
                    name=names.OFF,
                    strength=Strength.PROVEN,
                    words=f"{launch.launch.id} counts no verify call in {len(told)} answers: it does not speculate",
                    do=f"read launches/{launch.launch.id}/server.log and server_info.json for why the draft was dropped; "
                    f"then {again(case, 'eagle3')}",
                )
                return


def acceptance(case: Case, found: Found) -> Iterator[Cause]:
    """Look at accept lengths, which no slow machine can change."""
    told = found.of(names.ACCEPTANCE)
    if told:
        loss = case.losses[told[0].arm, told[0].workload]
        yield Cause(
            name=names.ACCEPTANCE,
            strength=Strength.CONSISTENT,
            words=f"accept length {_then_and_now(loss, ACCEPTANCE, 'tokens')}: {taken(told)}",
            explains=told,
            evidence_for=tuple(
                f"{e.arm} {e.workload}: {_then_and_now(case.losses[e.arm, e.workload], ACCEPTANCE, 'tokens')}"
                for e in told
            ),
            do="check that draft model and its precision belong to this target, and what sampling has changed; then "
            + again(case, "eagle3", "-k acceptance_length"),
        )
    elif kept := [x for x in _speculating(case) if x.part(ACCEPTANCE) is not None]:
        yield Cause(
            name=names.ACCEPTANCE,
            strength=Strength.EXCLUDED,
            words=f"accept length {_then_and_now(kept[0], ACCEPTANCE, 'tokens')}",
            do="nothing",
        )


def graphs(case: Case, found: Found) -> Iterator[Cause]:
    """Look at whether verify runs in graphs where the plain arm does."""
    told = found.of(names.NO_GRAPH)
    outside = {p: g for p, g in found.marks.graphs.items() if g.without}
    if outside:
        (arm, workload), first = next(iter(outside.items()))
        log = case.launches(arm)[0].launch.id
        yield Cause(
            name=names.NO_GRAPH,
            strength=Strength.CONSISTENT,
            words=f"verify of {arm} runs kernel by kernel on {workload}: {taken(told)}",
            explains=told,
            evidence_for=tuple(f"{a} {w}: {g.words}" for (a, w), g in outside.items()),
            evidence_against=() if told else (f"verify takes no longer than it may: {first.words}",),
            do=f"grep 'Decode batch' launches/{log}/server.log; look for what keeps verify out of graphs (cuda_graph_max_bs, "
            f"memory at capture, the attention backend, a local patch), then {again(case, 'verify')}",
        )
    elif inside := {p: g for p, g in found.marks.graphs.items() if g.without is False}:
        yield Cause(
            name=names.NO_GRAPH,
            strength=Strength.EXCLUDED,
            words="; ".join(dict.fromkeys(g.words for g in inside.values())),
            do="nothing",
        )


def phases(case: Case, found: Found) -> Iterator[Cause]:
    """Look at the phases of a cycle: a phase that has grown of its own, beyond what the plain arm lost as well."""
    without = any(g.without for g in found.marks.graphs.values())
    for name, parts, what in (
        (names.VERIFY, (VERIFY,), "verify"),
        (names.DRAFT, (DRAFT, EXTEND), "the draft model"),
        (names.HOST, ("rest",), "what is left of the cycle beside its phases"),
        (names.CYCLE, ("cycle",), "the cycle, of which no phase is known"),
    ):
        told = found.of(name)
        if told:
            loss = case.losses[told[0].arm, told[0].workload]
            unfounded = _unfounded(case, told) if name == names.CYCLE else ()
            grown = [
                f"{p} {_then_and_now(loss, p, 'ms')}" for p in parts if (x := loss.part(p)) and x.log < 0
            ]
            yield Cause(
                name=name,
                strength=Strength.WEAK if unfounded else Strength.CONSISTENT,
                words=f"{what} takes longer ({', '.join(grown)}): {taken(told)}",
                explains=told,
                evidence_for=tuple(f"{e.arm} {e.workload}: {e.by}" for e in told),
                evidence_against=(
                    *unfounded,
                    "where the time goes, not why: kernels, cards and hosts look alike here",
                ),
                do=f"read what the change does there; {again(case, 'verify')} shows its kernels"
                if loss.beside
                else f"{again(case, 'verify')} shows every phase and its kernels; against a good run: {compare(case)}",
            )
            continue
        kept = [x for x in _speculating(case) if any(x.part(p) is not None for p in parts)]
        if kept and not (name == names.VERIFY and without):
            lost = [
                x for x in kept if any((one := x.part(p)) and share_of(one.log) >= SMALLEST for p in parts)
            ]
            takers = _takers(found, lost, parts)
            shown = lost[0] if takers else kept[0]
            numbers = ", ".join(f"{p} {_then_and_now(shown, p, 'ms')}" for p in parts if shown.part(p))
            yield Cause(
                name=name,
                strength=Strength.ACCOUNTED if takers else Strength.EXCLUDED,
                words=f"{numbers}, accounted for by {' and '.join(takers)}" if takers else numbers,
                do="nothing",
            )


def _takers(found: Found, lost: Sequence[Loss], parts: Sequence[str]) -> tuple[str, ...]:
    """Return the causes that take what these parts lost, the largest share of the cycle first."""
    places = {(x.arm, x.workload) for x in lost}
    shares = {
        name: max(mine)
        for name, told in found.charges.items()
        if (mine := [e.share for e in told if (e.arm, e.workload) in places and {*e.parts} & {*parts}])
    }
    return tuple(sorted(shares, key=lambda name: -shares[name]))


def _unfounded(case: Case, told: Sequence[Explained]) -> tuple[str, ...]:
    """Say why a cycle that misses the rig's limits is no finding; nothing where it is one.

    In a session whose bench is at fault, numbers that no verdict rests on miss limits for that fault's sake; a phase
    that is beyond its own limit, or a number beside a stored one, says more than that.
    """
    outcomes = {v.outcome for v in case.verdicts}
    if (
        Outcome.REGRESSED in outcomes
        or Outcome.INVALID not in outcomes
        or any(e.against != LIMITS for e in told)
    ):
        return ()
    return (
        "the session is invalid and no baseline is stored: limits missed by numbers that no verdict rests on",
    )


def _then_and_now(loss: Loss, name: str, unit: str) -> str:
    part = loss.part(name)
    if part is None or part.after is None:
        return "unknown"
    then = "" if part.before is None else f" after {part.before:.2f}"
    return f"{part.after:.2f} {unit}{then}"


def _speculating(case: Case) -> Iterator[Loss]:
    for (arm, _), loss in case.losses.items():
        if arm in case.speculating:
            yield loss
