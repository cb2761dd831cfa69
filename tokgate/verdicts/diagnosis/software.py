"""Causes in what was compared with: another tree, another machine since, and a base engine that is slower as such."""

from __future__ import annotations

from collections.abc import Iterator

from . import names
from .case import Case
from .cause import Cause, Strength, share_of
from .charges import SMALLEST
from .family import Found
from .losses import LIMITS, Loss
from .telling import again, compare, percent, shortened, taken


def tree(case: Case, found: Found) -> Iterator[Cause]:
    """Look at the fingerprint's facts on SGLang, and at what the plain arm has lost with them."""
    origin, told = found.marks.origin, found.of(names.TREE)
    if origin.tree is None or _of_a_change(case):
        return
    where = f"{origin.against} was stored" if origin.against is not None else "it was installed"
    if not origin.tree:
        yield Cause(
            name=names.TREE, strength=Strength.EXCLUDED, words=f"SGLang is the tree as {where}", do="nothing"
        )
        return
    kept = [loss for loss in _plain(case) if share_of(loss.log) < SMALLEST]
    clean = origin.do or (
        f"measure with a clean tree: {again(case, 'eagle3', '--rig-set server.python=PATH')}, then {compare(case)}"
    )
    against = [
        f"{k.arm} {k.workload} lost {percent(max(0.0, share_of(k.log)))} only, against {k.against}"
        for k in kept
    ]
    strength = Strength.CONSISTENT if told else Strength.EXCLUDED if kept else Strength.WEAK
    yield Cause(
        name=names.TREE,
        strength=strength,
        words=f"SGLang differs from the tree as {where}: {taken(told)}"
        if strength is not Strength.EXCLUDED
        else f"SGLang differs from the tree as {where}, and the plain arm lost nothing with it",
        explains=told,
        evidence_for=shortened(origin.words),
        evidence_against=tuple(against),
        do=clean,
    )


def stale(case: Case, found: Found) -> Iterator[Cause]:
    """Look at what else has changed since the baseline was stored: a boot, a driver, a library."""
    origin, told = found.marks.origin, found.of(names.STALE)
    if origin.against is None or _of_a_change(case):
        return
    if not origin.machine:
        yield Cause(
            name=names.STALE,
            strength=Strength.EXCLUDED,
            words=f"same boot, driver and libraries as {origin.against}",
            do="nothing",
        )
        return
    if not told and not origin.tree:
        return
    yield Cause(
        name=names.STALE,
        strength=Strength.CONSISTENT if told else Strength.WEAK,
        words=f"the machine is not the one of {origin.against}: {origin.machine[0]}: {taken(told)}",
        explains=told,
        evidence_for=shortened(origin.machine),
        do=f"measure the control arm once more: {again(case, 'baseline')}; if the number stays, store it anew "
        "(tokgate baseline update)",
    )


def base_engine(case: Case, found: Found) -> Iterator[Cause]:
    """Look at the plain arm: what it lost has nothing to do with speculation."""
    told, plain = found.of(names.BASE), list(_plain(case))
    shown = tuple(f"{p.arm} {p.workload}: {percent(share_of(p.log))} against {p.against}" for p in plain)
    if told and plain and plain[0].beside:
        yield Cause(
            name=names.BASE,
            strength=Strength.CONSISTENT,
            words=f"the change slows the plain arm too, so it is not speculation alone: {taken(told)}",
            explains=told,
            evidence_for=shown,
            do="read the change for what an arm without speculation runs as well",
        )
    elif told:
        yield Cause(
            name=names.BASE,
            strength=Strength.CONSISTENT,
            words=f"the plain arm is slower too, so it is not speculation: {taken(told)}",
            explains=told,
            evidence_for=shown,
            evidence_against=("tree, NCCL, clocks and ranks show nothing that would explain it",),
            do=f"measure it again beside a server of then: {again(case, 'baseline')}, then {compare(case)}; for kernels "
            f"see the trace of {again(case, 'verify')}",
        )
    elif plain and all(share_of(p.log) < SMALLEST for p in plain):
        kept = plain[0]
        by = "keeps" if kept.against != LIMITS else "is within"
        yield Cause(
            name=names.BASE,
            strength=Strength.EXCLUDED,
            words=f"the plain arm {by} {kept.against} ({percent(share_of(kept.log)) if kept.against != LIMITS else 'floor'})",
            do="nothing",
        )


def _of_a_change(case: Case) -> bool:
    """Say whether whatever was lost was lost against the base of a change: both sides share tree and machine but for that."""
    return case.rig.sides is not None and all(loss.beside for loss in case.losses.values())


def _plain(case: Case) -> Iterator[Loss]:
    for (arm, _), loss in case.losses.items():
        if arm == case.control:
            yield loss
