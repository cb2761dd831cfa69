"""Promise: the setting that the rig's arm is written with is the best of the sweep."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence

from tokgate.records import LaunchEvidence, Outcome, Reference, Verdict
from tokgate.rig.models import Rig
from tokgate.rig.sweep import left_out, setting_of
from tokgate.verdicts.change import Change, judge_change
from tokgate.verdicts.establish import Established, invalid
from tokgate.verdicts.metrics import METRICS, Metric, floor_of, floor_text, throughput_metric
from tokgate.verdicts.note import note
from tokgate.verdicts.shortfall import Shortfall
from tokgate.verdicts.sweep_best import SweepBest, best_of, confidence_of, percent_with
from tokgate.verdicts.sweep_settings import (
    Controls,
    Measured,
    controls_of,
    established,
    measured_settings,
    refused,
)

CHECK = "sweep"
SETTING = "sweep_setting"
_BY_DESIGN = "one server start a setting: what differs from start to start is not in the interval"


def sweep_setting(rig: Rig, launch: LaunchEvidence, workload: str) -> tuple[Verdict, ...]:
    """Establish one launch of the sweep: its numbers are the verdict, a `pass` that nothing was demanded of.

    inconclusive: SGLang cannot run this setting here (memory, a refused argument), which is told and voids no
    other. invalid: anything else that keeps it from being measured.
    """
    setting = setting_of(rig, launch.launch.id)
    subject = setting.words if setting is not None else f"the control arm ({launch.launch.id})"
    numbers = established(rig, launch, workload)
    metric = throughput_metric(rig.workload(workload).concurrency)
    if isinstance(numbers, Established) and metric.name not in numbers.series:
        shortfall = Shortfall(
            what=f"{metric.name} is unknown: {numbers.why_missing(metric.name)}",
            do="see the raw bodies of that launch",
        )
        numbers = invalid(SETTING, [shortfall], launch=launch, workload=workload, raw=numbers.raw)
    if isinstance(numbers, Verdict):
        return (_not_had(numbers.model_copy(update={"check": SETTING}), launch, subject),)
    series = numbers.series[metric.name]
    value = statistics.median(series.values)
    told = [f"{metric.words} {metric.text(value)} with {subject}"]
    for name in ("accept_length", "cycle_ms"):
        if name in numbers.series:
            other = METRICS[name]
            told.append(f"{other.words} {other.text(statistics.median(numbers.series[name].values))}")
    told_as = ", ".join(told)
    return (
        note(
            SETTING, told_as, launch=launch, workload=workload, metric=metric, series=series, raw=numbers.raw
        ),
    )


def sweep(rig: Rig, launches: Sequence[LaunchEvidence], workload: str) -> tuple[Verdict, ...]:
    """Judge the arm's own setting against every other of the sweep under one workload, and name the best.

    regressed: another setting is faster, established among so many comparisons and by more than both floors. pass:
    a gain worth calling is excluded for each of them. inconclusive: it is not excluded, the controls differ by more
    than the gain, or a setting that might be faster has no numbers. invalid: no twin, or none of the arm's own.
    """
    controls = controls_of(rig, launches, workload)
    measured = measured_settings(rig, launches, workload, controls)
    best = best_of(rig, measured, workload)
    own = next((m for m in measured if m.row.configured), None)
    arm = rig.sweep.arm if rig.sweep is not None else None
    shared = {"arm": arm, "workload": workload}
    if controls.failed is not None or own is None or not own.values:
        cause = controls.failed or _no_own(own, workload)
        return (
            cause.model_copy(
                update={**shared, "check": CHECK, "evidence": (*cause.evidence, *_rows(rig, measured, best))}
            ),
        )
    metric = METRICS[own.row.metric]
    floor = floor_of(rig, metric)
    others = [m for m in measured if m.values and m is not own]
    confidence = confidence_of(len(others) + 1)
    changes = [judge_change(own.values, m.values, metric, floor, confidence=confidence) for m in others]
    pairs = list(zip(others, changes, strict=True))
    drift = _drift(controls, own.row.metric)
    outcome, words, do, rival = _judge(own, pairs, measured, best, drift=drift)
    told = next((c for m, c in pairs if m is rival), None)
    return (
        Verdict(
            check=CHECK,
            outcome=outcome,
            headline=f"{workload}: {words}",
            **shared,
            launch=own.row.launch,
            metric=metric.name,
            value=own.row.tok_s,
            unit=metric.unit,
            n=len(own.values),
            interval=told.interval if told is not None else None,
            reference=_reference(rival, told),
            change=told.change if told is not None else None,
            floor=floor_text(floor, metric),
            evidence=(
                *_rows(rig, measured, best),
                f"drift between the controls {drift:.1%}",
                f"{len(others)} settings compared with the arm's own, each at {confidence:.2%}, together at 95 %",
            ),
            warnings=(
                _BY_DESIGN,
                *own.warnings,
                *dict.fromkeys(w for c in changes for w in c.comparison.warnings),
            ),
            do=do,
            raw=tuple(r for m in measured for r in m.raw),
        ),
    )


def _not_had(verdict: Verdict, launch: LaunchEvidence, subject: str) -> Verdict:
    if launch.launch.role != "sweep" or launch.failure is None or not refused(launch.failure):
        return verdict
    return verdict.model_copy(
        update={
            "outcome": Outcome.INCONCLUSIVE,
            "headline": f"{subject} cannot be had here: {launch.failure.headline}",
            "do": f"take it out of [sweep], or make it fit: {launch.failure.do}",
        }
    )


def _no_own(own: Measured | None, workload: str) -> Verdict:
    why = own.row.why if own is not None else "the rig sweeps none"
    shortfall = Shortfall(
        what=f"the arm's own setting has no numbers, so nothing can be compared with it: {why}",
        do="read the verdict on that launch; the settings that were measured stand in the report",
    )
    return invalid(CHECK, [shortfall], workload=workload)


def _judge(
    own: Measured,
    pairs: Sequence[tuple[Measured, Change]],
    measured: Sequence[Measured],
    best: SweepBest,
    *,
    drift: float,
) -> tuple[Outcome, str, str | None, Measured | None]:
    """Return outcome, headline, next step, and the setting that decided: the one that gains most over the own."""
    mine = f"the rig's {own.row.words}"
    by_gain = sorted(pairs, key=lambda p: p[1].comparison.ratio)
    better = [p for p in by_gain if p[1].outcome is Outcome.REGRESSED]
    unsure = [p for p in by_gain if p[1].outcome is Outcome.INCONCLUSIVE]
    if better:
        rival, change = better[0]
        gain = 1 / change.comparison.ratio - 1
        span = change.comparison.interval
        over = percent_with(gain, (1 / span[1], 1 / span[0]) if span else None)
        words = f"{rival.row.words} faster than {mine} by {over}, {_speeds(rival, own)}"
        if drift > gain:
            do = (
                "the controls differ by more than that: look at clocks, heat and other load, then sweep again"
            )
            return Outcome.INCONCLUSIVE, f"{words}, but the controls drift by {drift:.1%}", do, rival
        do = f"write {_as_keys(rival)} into the arm, measure it with -m eagle3, and store its baseline"
        return Outcome.REGRESSED, words, do, rival
    if unsure:
        rival, change = unsure[0]
        n = min(change.comparison.n_a, change.comparison.n_b)
        do = change.do or f"raise sweep.repeats (n={n} now)"
        if change.comparison.interval is None:
            do = f"raise sweep.repeats to {change.comparison.needed}: {n} starts establish nothing among so many"
        words = f"{best.words}; {rival.row.words} may be faster than {mine} ({change.why})"
        return Outcome.INCONCLUSIVE, words, do, rival
    nearest = by_gain[0][0] if by_gain else None
    unknown = [m for m in measured if not m.values and not m.row.refused]
    if unknown:
        words = f"{best.words}, of those with numbers; {unknown[0].row.words} has none: {unknown[0].row.why}"
        return Outcome.INCONCLUSIVE, words, "see the verdict on that launch, then sweep again", nearest
    if nearest is None:
        words = f"{best.words}: no other setting can be had here"
        return Outcome.INCONCLUSIVE, words, "name other settings in [sweep]", None
    agreed = own.row.words == best.best and best.told_apart
    kept = f"{mine} it is" if agreed else f"none is faster than {mine} by more than the floor"
    return Outcome.PASS, f"{best.words}; {kept}", None, nearest


def _speeds(rival: Measured, own: Measured) -> str:
    metric: Metric = METRICS[own.row.metric]
    return f"{metric.bare(rival.row.tok_s or 0)} against {metric.text(own.row.tok_s or 0)}"


def _as_keys(measured: Measured) -> str:
    setting = measured.row.setting
    return f"num_steps = {setting.num_steps}, topk = {setting.topk}, num_draft_tokens = {setting.num_draft_tokens}"


def _reference(rival: Measured | None, change: Change | None) -> Reference | None:
    if rival is None or change is None:
        return None
    label = f"{rival.row.words} in the same sweep ({rival.row.launch})"
    return Reference(kind="twin", label=label, value=change.reference, n=len(rival.values))


def _rows(rig: Rig, measured: Sequence[Measured], best: SweepBest) -> Iterator[str]:
    yield best.words
    for m in measured:
        yield m.row.text()
    for out in left_out(rig):
        yield f"{out.setting.words} was left out: {out.why}"


def _drift(controls: Controls, metric: str) -> float:
    medians = [statistics.median(values) for values in controls.values(metric)]
    return max(medians) / min(medians) - 1 if medians else 0.0
