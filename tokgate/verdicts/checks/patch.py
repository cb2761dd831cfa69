"""Promise: a change to SGLang does not make the server slower than its base, measured beside it on one machine in one session."""

from __future__ import annotations

from collections.abc import Sequence

from tokgate.records import LaunchEvidence, Outcome, Verdict
from tokgate.records.side import BASE, HEAD, SidesMade
from tokgate.rig.models import Rig
from tokgate.verdicts.arm_runs import History, run_by_run
from tokgate.verdicts.arm_runs import warnings_of as warnings_of_runs
from tokgate.verdicts.clocks import uneven_runs
from tokgate.verdicts.concluded import concluded
from tokgate.verdicts.copied import copied
from tokgate.verdicts.decision_words import lacks_confirmation
from tokgate.verdicts.establish import Established, establish_workload, invalid
from tokgate.verdicts.family import BESIDE_SPEED
from tokgate.verdicts.metrics import floor_of, floor_text
from tokgate.verdicts.questions import SPEED
from tokgate.verdicts.run_again import measure
from tokgate.verdicts.run_values import COUNTS, values_now
from tokgate.verdicts.shortfall import Shortfall
from tokgate.verdicts.side_compare import ComparedSides, compared_sides, metrics_of
from tokgate.verdicts.side_faults import did_not_start, unimported_words
from tokgate.verdicts.side_headline import headline
from tokgate.verdicts.side_next import next_of_loss
from tokgate.verdicts.side_split import split_of_sides, where, whole_cycle
from tokgate.verdicts.side_words import changed_words, labels
from tokgate.verdicts.split import Split
from tokgate.verdicts.subjects import on_side
from tokgate.verdicts.two_sides import of_two_sides
from tokgate.verdicts.validity import between_runs

CHECK = "patch"
ALONE = "patch"  # the mark of this promise
CULPRIT = "culprit"  # and that of the search for the part of a change that costs


def patch(
    rig: Rig,
    heads: Sequence[LaunchEvidence],
    bases: Sequence[LaunchEvidence],
    workload: str,
    *,
    made: SidesMade | None,
    history: History | None = None,
    beside: Sequence[Sequence[LaunchEvidence]] = (),
    carried: Sequence[LaunchEvidence] = (),
) -> tuple[Verdict, ...]:
    """Judge one arm and workload: one verdict per metric, the throughput first.

    `heads`, `bases`: all server runs of the arm on either side of the change, in order of time. `made`: what the sides are
    made of. `history`: stored runs of the arm. `beside`: runs of other arms and sides, a group each, which tell whether
    restarts here have two modes; those that cannot be judged tell nothing. `carried`: launches of the arm with instruments, of
    both sides, which tell where a loss lies and decide nothing.
    """
    first = heads[0]
    shortfalls = list(_unfit(rig, heads, bases, workload, made))
    if shortfalls:
        return (_refused(shortfalls, heads, bases, workload),)
    sides: list[tuple[Established, ...]] = []
    for launches in (heads, bases):
        found = [establish_workload(rig, one, workload, check=CHECK) for one in launches]
        refused = next((one for one in found if isinstance(one, Verdict)), None)
        if refused is not None:
            side = launches[0].launch.side or HEAD
            headline = refused.headline.replace(f"{CHECK} on ", f"{CHECK}, {side}: ", 1)
            return (refused.model_copy(update={"headline": headline, "arm": first.launch.arm}),)
        sides.append(tuple(one for one in found if isinstance(one, Established)))
    on_head, on_base = sides
    shortfalls = [*copied((*heads, *bases)), *uneven_runs([*heads, *bases], workload)]
    shortfalls += between_runs(rig, [_as_arm(one) for one in bases], workload)
    if shortfalls:
        return (_refused(shortfalls, heads, bases, workload),)
    around = [
        tuple(one for one in group if isinstance(one, Established))
        for group in ([establish_workload(rig, e, workload, check=CHECK) for e in one] for one in beside)
    ]
    compared = tuple(compared_sides(rig, on_head, on_base, workload, history=history or {}, beside=around))
    wanted = metrics_of(rig, first.launch.arm, workload)
    if wanted[0].name not in {one.metric.name for one in compared}:
        shortfall = Shortfall(
            what=f"{wanted[0].name} is not known of every run: {on_head[0].why_missing(wanted[0].name)}",
            do="see the raw bodies of these launches",
        )
        return (_refused([shortfall], heads, bases, workload),)
    split = split_of_sides(rig, on_head, on_base, carried)
    return tuple(_verdict(rig, one, on_head, on_base, made=made, split=split) for one in compared)


def _unfit(
    rig: Rig,
    heads: Sequence[LaunchEvidence],
    bases: Sequence[LaunchEvidence],
    workload: str,
    made: SidesMade | None,
) -> list[Shortfall]:
    if not bases:
        return [
            Shortfall(
                what=f"the base was not measured in {workload}",
                do=f"measure both sides: {measure(rig, ALONE)}",
            )
        ]
    failed = did_not_start(heads, bases, made)
    return [failed] if failed is not None else []


def _refused(
    shortfalls: list[Shortfall],
    heads: Sequence[LaunchEvidence],
    bases: Sequence[LaunchEvidence],
    workload: str,
) -> Verdict:
    found = invalid(CHECK, shortfalls, launch=heads[0], workload=workload)
    headline = f"{CHECK} on {heads[0].launch.arm}: {shortfalls[0].what}"
    ids = tuple(one.launch.id for one in (*heads, *bases))
    return found.model_copy(update={"headline": headline, "launches": ids})


def _verdict(
    rig: Rig,
    found: ComparedSides,
    heads: Sequence[Established],
    bases: Sequence[Established],
    *,
    made: SidesMade | None,
    split: Split | None,
) -> Verdict:
    metric, decision = found.metric, found.decision
    arm, workload = heads[0].launch.launch.arm, heads[0].workload
    _, base = labels(made)
    measured = of_two_sides(
        CHECK,
        decision,
        metric,
        heads,
        bases,
        label=f"{base} ({bases[0].launch.launch.id})",
        headline=CHECK,
        kind="side",
    )
    # What a loss of speed is made of says nothing of a gain, nor of the time to the first token.
    told_split = split if metric.name in SPEED and decision.outcome is Outcome.REGRESSED else None
    told = concluded(
        rig,
        decision,
        found.asked,
        metric,
        measured=measured,
        look=next_of_loss(rig, made, metric, arm=arm, workload=workload, split=told_split),
        twin=on_side(arm, BASE),
    )
    told = _named(_noted(rig, told, found), arm)
    says = headline(
        rig,
        decision,
        metric,
        on=f"{arm} in {workload}",
        needs=told.needs,
        made=made,
        where=where(told_split) if told_split is not None else None,
    )
    changes = changed_words(made) if decision.outcome is Outcome.REGRESSED else None
    values = (*values_now(heads, metric.name), *values_now(bases, metric.name))
    return told.model_copy(
        update={
            "headline": says,
            "launches": tuple(one.launch.launch.id for one in (*heads, *bases)),
            # What is asked first comes first: where, in which part of the change, on which runs; then how sure it is.
            "evidence": (
                *((whole_cycle(rig, told_split),) if told_split is not None else ()),
                *((changes,) if changes is not None else ()),
                *run_by_run(values, metric),
                *told.evidence,
            ),
            "warnings": (
                *told.warnings,
                *unimported_words([one.launch for one in heads]),
                *warnings_of_runs(heads, metric.name),
                *warnings_of_runs(bases, metric.name),
            ),
        }
    )


def _noted(rig: Rig, told: Verdict, found: ComparedSides) -> Verdict:
    """Return the verdict with its floor; of what no restart is worth a note where nothing is decided.

    The time to the first token spreads too wide for a promise on most machines, and how many tokens a pinned arm accepts is
    drawn by the server, with a mean that both sides were given: a loss that is established is called all the same.
    """
    decision = found.decision
    undecided = decision.outcome is Outcome.INCONCLUSIVE and not lacks_confirmation(decision)
    drawn = found.metric.name in COUNTS and rig.arm(told.arm or "").acceptance != "natural"
    if undecided and (drawn or found.metric.name in BESIDE_SPEED):
        return told.model_copy(update={"outcome": Outcome.PASS, "wanted": {}, "needs": None, "do": None})
    return told.model_copy(update={"floor": floor_text(floor_of(rig, found.metric), found.metric)})


def _named(told: Verdict, arm: str) -> Verdict:
    """Return the verdict with the base called by what it is, and not as `wanted` has it."""
    own = on_side(arm, BASE)
    texts = {"needs": told.needs, "do": told.do}
    return told.model_copy(
        update={
            key: text.replace(own, "its base") if text is not None else None for key, text in texts.items()
        }
    )


def _as_arm(launch: LaunchEvidence) -> LaunchEvidence:
    """Return a launch of the base as one of its arm, so that its runs are held against each other as any arm's."""
    return launch.model_copy(update={"launch": launch.launch.model_copy(update={"role": "restart"})})
