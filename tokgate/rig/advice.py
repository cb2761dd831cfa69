"""What a rig in order will not tell all the same: too few starts for an interval, a limit that is of one stream alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from tokgate.records.metric_names import PHASE_METRIC_NAMES
from tokgate.records.nccl import NcclLint

from .instruments import instrumented
from .limits import Budget
from .models import Rig
from .rules.instruments import FEWEST_PAIRS
from .workload import WorkloadSpec

FEWEST_STARTS = FEWEST_PAIRS  # of accept length: the same interval of a median; a trend takes one less
_SOURCE = "docs/verdicts.md"


def advise(rig: Rig) -> tuple[NcclLint, ...]:
    """Return what to know before a session on this rig, warnings first."""
    return (*_gpus(rig), *_instruments(rig), *_workloads(rig), *_several_streams(rig))


def derived_limits(rig: Rig) -> tuple[str, ...]:
    """Return each limit that is derived, in words: "verify_ms of eagle3-2step, single: break-even minus 2 %"."""
    return tuple(
        f"{b.metric} of {'every arm' if b.arm == '*' else b.arm}, "
        f"{', '.join(w.name for w in _judged(rig, b))}: {b.words}"
        for b in _derived(rig)
    )


def _gpus(rig: Rig) -> Iterator[NcclLint]:
    if rig.gpus.model is not None and set(rig.gpus.model) & set("\"'"):
        yield _finding(
            "gpus.model",
            rig.gpus.model,
            "warning",
            "no GPU has quotes in its name: every look at the host will find another model than the rig's",
            'write the name as nvidia-smi -L shows it, in one pair of quotes: model = "NVIDIA H200"',
        )


def _instruments(rig: Rig) -> Iterator[NcclLint]:
    spec = rig.instruments
    if spec.skip is not None or spec.repeats is None or spec.repeats >= FEWEST_STARTS:
        return
    yield _finding(
        "instruments.repeats",
        str(spec.repeats),
        "warning",
        f"what starts of fewer than {FEWEST_STARTS} differ by is partly assumed, and what the probe costs stays unknown "
        "without more cost_pairs",
        f"write {FEWEST_STARTS} or more, or leave it out",
    )


def _workloads(rig: Rig) -> Iterator[NcclLint]:
    for w in (w for w in rig.workloads if w.repeats < FEWEST_STARTS):
        yield _finding(
            f"workloads.{w.name}.repeats",
            str(w.repeats),
            "note",
            f"fewer than {FEWEST_STARTS} starts may be too few for steadiness and for the accept length: both end inconclusive",
            f"write {FEWEST_STARTS} or more",
        )


def _several_streams(rig: Rig) -> Iterator[NcclLint]:
    for budget in _derived(rig):
        several = [w for w in _judged(rig, budget) if w.concurrency > 1]
        if several:
            yield _finding(
                f"budgets.{budget.metric}",
                budget.words,
                "note",
                f"under {', '.join(w.name for w in several)} the break-even is of one stream: all streams together may "
                "lose where it is kept",
                "let a [[twins]] entry judge what all streams together gain there",
            )


def _derived(rig: Rig) -> Sequence[Budget]:
    return [b for b in rig.budgets if b.break_even_margin is not None]


def _judged(rig: Rig, budget: Budget) -> Sequence[WorkloadSpec]:
    own = instrumented(rig) if budget.metric in PHASE_METRIC_NAMES else rig
    return [w for w in own.workloads if budget.workload in ("*", w.name)]


def _finding(variable: str, value: str, severity: Literal["warning", "note"], what: str, do: str) -> NcclLint:
    return NcclLint(variable=variable, value=value, severity=severity, what=what, do=do, source=_SOURCE)
