"""Causes that move numbers while they are measured: heat, a trend, restarts in two modes, a rank that is slow."""

from __future__ import annotations

from collections.abc import Iterator

from tokgate.verdicts.window import judged

from . import names
from .case import Case
from .cause import Cause, Strength
from .family import Found
from .telling import again, shortened, taken

_COOL = "nvidia-smi -q -d PERFORMANCE,TEMPERATURE,POWER; let the cards cool"


def heat(case: Case, found: Found) -> Iterator[Cause]:
    """Look at clocks and their event reasons in the measured windows."""
    held = list(found.marks.held.values())
    if held:
        yield Cause(
            name=names.HEAT,
            strength=Strength.PROVEN,
            words=f"{held[0].words}: {taken(found.of(names.HEAT))}",
            explains=found.of(names.HEAT),
            evidence_for=shortened([h.words for h in held]),
            do=f"{_COOL}; then {again(case, 'eagle3')}",
        )
        return
    windows = [
        w for e in case.run.launches for load in case.rig.workloads for w in judged(e, load.name) if w.gpus
    ]
    if windows:
        yield Cause(
            name=names.HEAT,
            strength=Strength.EXCLUDED,
            words=f"no card was held back in any of {len(windows)} windows",
            do="nothing",
        )


def drift(case: Case, found: Found) -> Iterator[Cause]:
    """Look for a trend inside the server runs of an arm."""
    trends = list(found.marks.trends.values())
    if trends:
        yield Cause(
            name=names.DRIFT,
            strength=Strength.PROVEN,
            words=f"{trends[0].words}: {taken(found.of(names.DRIFT))}",
            explains=found.of(names.DRIFT),
            evidence_for=shortened([t.words for t in trends]),
            do=f"{_over_time(case)}; raise warmup of the workload, then {again(case, 'eagle3')}",
        )


def _over_time(case: Case) -> str:
    """Return where to look; a rig without GPUs has neither cards nor nvidia-smi."""
    if not case.rig.gpus.count:
        return "look at what else runs on the machine, and at its memory, over time (top, vmstat 5)"
    return f"look at clocks, memory and the machine's other load over time ({_COOL})"


def modes(case: Case, found: Found) -> Iterator[Cause]:
    """Look at server runs of one arm that lie apart while each is steady."""
    if not found.marks.levels:
        yield from _modes_told(case)
        return
    workload, levels = max(found.marks.levels.items(), key=lambda item: item[1].log)
    few = "two runs alone cannot tell two modes from a machine that changed in between"
    yield Cause(
        name=names.MODES,
        strength=Strength.CONSISTENT,
        words=f"server runs of one arm lie {levels.log:.1%} apart on {workload}, each steady in itself: "
        f"{taken(found.of(names.MODES))}",
        explains=found.of(names.MODES),
        evidence_for=shortened([one.words for one in found.marks.levels.values()]),
        evidence_against=(few,) if levels.runs < 3 else (),
        do=f"restart it a few times more: {again(case, 'baseline')}; compare NCCL's choices of the runs "
        f"({again(case, 'nccl')})",
    )


def _modes_told(case: Case) -> Iterator[Cause]:
    """What the check on restarts found with the stored server runs beside this session's."""
    told = [v for v in case.verdicts_of("restarts") if "two modes" in v.headline]
    if told:
        yield Cause(
            name=names.MODES,
            strength=Strength.CONSISTENT,
            words=told[0].headline,
            evidence_for=shortened(told[0].evidence),
            do=told[0].do or f"restart it a few times more: {again(case, 'baseline')}",
        )


def slow_rank(case: Case, found: Found) -> Iterator[Cause]:
    """Look at what a rank does without meeting the others."""
    slow, card, told = found.marks.slow_rank, found.marks.slow_card, found.of(names.SLOW_RANK)
    if slow is not None:
        rank, launch = slow
        yield Cause(
            name=names.SLOW_RANK,
            strength=Strength.CONSISTENT,
            words=f"rank {rank.rank} is slow by itself and all others wait for it: {taken(told)}",
            explains=told,
            evidence_for=(f"{launch}: {rank.words}", *([card.words] if card is not None else [])),
            do=f"look at the GPU of rank {rank.rank}: nvidia-smi -i {rank.rank} -q -d CLOCK,POWER,PCI; leave it out or "
            f"mend it, then {again(case, 'verify')}",
        )
    elif card is not None:
        yield Cause(
            name=names.SLOW_RANK,
            strength=Strength.CONSISTENT,
            words=f"the card of rank {card.gpu} is slower than the others, which wait for it: {taken(told)}",
            explains=told,
            evidence_for=(card.words,),
            evidence_against=("no launch with instruments shows what each rank does by itself",),
            do=f"nvidia-smi -i {card.gpu} -q -d CLOCK,POWER,PERFORMANCE; mend it or leave it out, then "
            f"{again(case, 'verify')}",
        )
    elif any(e.launch.role == "instrumented" and e.phases and e.phases.readings for e in case.run.launches):
        yield Cause(
            name=names.SLOW_RANK,
            strength=Strength.EXCLUDED,
            words="no rank takes longer than the others for what it does by itself",
            do="nothing",
        )
