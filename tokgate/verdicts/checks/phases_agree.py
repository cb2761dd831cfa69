"""Promise: sources that measure the same phase of the same load say the same, within stated limits."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tokgate.records import LaunchEvidence, Outcome, Verdict
from tokgate.records.phases import Agreement, Phase
from tokgate.rig.models import Rig
from tokgate.stats.agreement import ANY, uncompared
from tokgate.verdicts.establish import invalid
from tokgate.verdicts.phases import DO, doubts, establish_phases, probe_of, why_no_pair
from tokgate.verdicts.shortfall import Shortfall
from tokgate.verdicts.verify_calls import verify_calls

CHECK = "phases_agree"
# A difference that nobody may call agreement: as much as a verify that a patch has spoilt. Limits that let it pass are wide
# for a host's clock, or for phases of a few tenths of a millisecond (stats/agreement.py says so of each).
WIDE = 0.20
_OF_ONE_RANK = re.compile(r", rank \d+| \([\d.]+ to [\d.]+ ms\)")


def phases_agree(rig: Rig, launch: LaunchEvidence, workload: str) -> tuple[Verdict, ...]:
    """Judge every pair of sources.

    invalid: a pair is further apart than its limit. inconclusive: there is no pair, or the probe tells of all but verify.
    """
    established = establish_phases(rig, launch, workload, check=CHECK)
    if isinstance(established, Verdict):
        return (established,)
    pairs = [a for a in launch.phases.agreements if a.workload == workload] if launch.phases else []
    if not pairs:
        shortfall = Shortfall(what=f"nothing to compare: {why_no_pair(launch, workload)}", do=DO)
        verdict = invalid(CHECK, [shortfall], launch=launch, workload=workload, raw=established.raw)
        return (verdict.model_copy(update={"outcome": Outcome.INCONCLUSIVE}),)
    apart = [
        Shortfall(
            what=a.words,
            do="believe none of the two before it is known which is wrong: look at the clocks, the load and the "
            "warnings of each reading in verdict.json",
            evidence=(f"the limits: {a.reason}",),
        )
        for a in pairs
        if not a.agrees
    ]
    if apart:
        return (invalid(CHECK, apart, launch=launch, workload=workload, n=len(pairs), raw=established.raw),)
    if (why := _without_verify(launch, workload)) is not None:
        shortfall = Shortfall(what=why, do=DO, evidence=tuple(a.words for a in pairs))
        verdict = invalid(
            CHECK, [shortfall], launch=launch, workload=workload, n=len(pairs), raw=established.raw
        )
        return (verdict.model_copy(update={"outcome": Outcome.INCONCLUSIVE}),)
    furthest = max(pairs, key=lambda a: abs(a.apart))
    calls = verify_calls(launch, workload, probe_of(launch, Phase.VERIFY, workload)).words
    two_clocks = uncompared(launch.phases.readings, workload) if launch.phases else ()
    return (
        Verdict(
            check=CHECK,
            outcome=Outcome.PASS,
            headline=f"phases of {launch.launch.arm}: {_counted(pairs)}"
            f"{', not those that two clocks keep apart' if two_clocks else ''}{_weak(pairs)}; furthest apart "
            f"{furthest.words}",
            arm=launch.launch.arm,
            launch=launch.launch.id,
            workload=workload,
            n=len(pairs),
            evidence=(
                *two_clocks,
                *_unseen(pairs),
                *((calls,) if calls is not None else ()),
                *(a.words for a in pairs),
            ),
            warnings=doubts(launch, workload),
            raw=established.raw,
        ),
    )


def _without_verify(launch: LaunchEvidence, workload: str) -> str | None:
    """Return why the comparisons that matter most are not among those that agree: the others alone are no agreement."""
    told = (
        {r.phase for r in launch.phases.readings if (r.source, r.workload) == ("probe", workload)}
        if launch.phases
        else set()
    )
    if launch.phases is None or Phase.VERIFY in told or not told & {Phase.DRAFT, Phase.DRAFT_EXTEND}:
        return None
    others = " and ".join(p.value for p in (Phase.DRAFT, Phase.DRAFT_EXTEND) if p in told)
    why = launch.phases.unknown.get("probe", "no call of it is in the judged starts")
    return f"the probe tells of {others} and of no verify: {why}"


def _loose(pairs: Sequence[Agreement]) -> dict[str, Agreement]:
    """Return the comparisons in which two sources this far apart would pass, by name, however many ranks make each."""
    return {_OF_ONE_RANK.sub("", a.name): a for a in pairs if a.limit[0] < -WIDE or a.limit[1] > WIDE}


def _weak(pairs: Sequence[Agreement]) -> str:
    loose, every = _loose(pairs), {_OF_ONE_RANK.sub("", a.name) for a in pairs}
    if not loose:
        return ""
    of = "all" if len(loose) == len(every) else f"{len(loose)} of {len(every)}"
    return f"; {of} weak: their limits are wider than {WIDE:.0%}"


def _unseen(pairs: Sequence[Agreement]) -> tuple[str, ...]:
    """Say, of each weak comparison, which difference it lets pass, and why."""
    return tuple(
        f"weak, {name}: {_let_pass(a)} would pass, since {a.reason.partition(';')[0]}"
        for name, a in _loose(pairs).items()
    )


def _let_pass(agreement: Agreement) -> str:
    low, high = agreement.limit
    upto = "any excess" if high >= ANY else f"{high:.0%} more"
    return f"up to {-low:.0%} less or {upto}"


def _counted(pairs: Sequence[Agreement]) -> str:
    """Count a comparison once, however many ranks make it, and say of how many of them a single phase is part."""
    kinds = {_OF_ONE_RANK.sub("", a.name) for a in pairs}
    phases = sum(kind.split(":")[0] in set(Phase) for kind in kinds)
    ranks = f" ({len(pairs)} with each rank's own)" if len(pairs) > len(kinds) else ""
    comparisons = "1 comparison agrees" if len(kinds) == 1 else f"{len(kinds)} comparisons agree"
    return f"{comparisons}{ranks}, {phases or 'none'} of a single phase by two sources"
