"""One setting of a sweep under one workload: its numbers, or why it has none."""

from __future__ import annotations

import re
import statistics
from collections.abc import Sequence

from tokgate.records import LaunchEvidence, StartCause, StartFailure, Verdict
from tokgate.records.record import Record
from tokgate.rig.models import Rig
from tokgate.rig.sweep import Setting, configured, setting_of, settings_of, swept

from .bracket import Bracket, bracketed
from .break_even import BreakEven, break_even
from .establish import Established, establish_workload, invalid
from .metrics import METRICS, throughput_metric
from .shortfall import Shortfall

CHECK = "sweep"
# With these a setting cannot be had on this machine. Every other failure may be the machine's own.
_REFUSED = (StartCause.DOES_NOT_FIT, StartCause.BAD_ARGUMENT, StartCause.KERNEL_MISSING)
# SGLang's own checks of its arguments raise these (0.5.23, arg_groups/speculative_hook.py), and nothing else says so.
_CHECKED = re.compile(r"\b(?:ValueError|NotImplementedError|AssertionError)\b")


def refused(failure: StartFailure) -> bool:
    """Say whether SGLang told by its start that it cannot run this setting here."""
    checked = failure.cause is StartCause.CRASHED and _CHECKED.search(failure.headline) is not None
    return checked or failure.cause in _REFUSED


class SweepRow(Record):
    """A setting under a workload; medians of one server run. Without numbers `why` says why."""

    workload: str
    launch: str | None  # None: it was not launched
    setting: Setting
    words: str  # of the setting
    configured: bool  # it is the arm's own
    n: int = 0
    metric: str = "decode_tok_s"  # what speed means here: total_tok_s of several streams
    tok_s: float | None = None  # of that metric
    decode_tok_s: float | None = None  # of one stream
    accept_length: float | None = None
    cycle_ms: float | None = None
    speed_up: float | None = None  # over both control launches of the sweep together
    speed_up_interval: tuple[float, float] | None = None  # at 95 %, must hold against each of them
    break_even_cycle_ms: float | None = None
    headroom_ms: float | None = None  # below 0: the cycle is too long
    why: str | None = None
    refused: bool = False  # SGLang cannot run it here: an answer, no fault

    def text(self) -> str:
        """One line of evidence."""
        if self.tok_s is None:
            return f"{self.words}: {'cannot be had' if self.refused else 'no numbers'}: {self.why}"
        told = [METRICS[self.metric].text(self.tok_s)]
        if self.speed_up is not None:
            span = self.speed_up_interval
            told.append(
                f"{self.speed_up:.3f}x its twin" + (f" [{span[0]:.3f}, {span[1]:.3f}]" if span else "")
            )
        if self.accept_length is not None:
            told.append(f"accept length {self.accept_length:.2f}")
        if self.cycle_ms is not None:
            told.append(f"cycle {self.cycle_ms:.2f} ms")
        if self.headroom_ms is not None:
            room = self.headroom_ms
            told.append(f"{room:.2f} ms of headroom" if room >= 0 else f"{-room:.2f} ms too long")
        return f"{self.words}{' (as written)' if self.configured else ''}: {', '.join(told)}"


class Measured(Record):
    """A row, and the values it was made of: one per barrier start, () where there are none."""

    row: SweepRow
    values: tuple[float, ...] = ()
    raw: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


class Controls(Record):
    """The twins of a sweep under one workload; `failed` says why they are none."""

    twins: tuple[Established, ...] = ()
    failed: Verdict | None = None

    def values(self, metric: str) -> list[tuple[float, ...]]:
        return [t.series[metric].values for t in self.twins if metric in t.series]


def established(rig: Rig, launch: LaunchEvidence, workload: str) -> Established | Verdict:
    """Establish a launch of the sweep by the rig it had."""
    return establish_workload(swept(rig, launch.launch.id), launch, workload, check=CHECK)


def controls_of(rig: Rig, launches: Sequence[LaunchEvidence], workload: str) -> Controls:
    """Establish the two control launches; both must be there, or drift is not bracketed."""
    twins: list[Established] = []
    metric = throughput_metric(rig.workload(workload).concurrency).name
    for launch in launches:
        if launch.launch.role != "sweep-control":
            continue
        found = established(rig, launch, workload)
        if isinstance(found, Established) and metric not in found.series:
            shortfall = Shortfall(
                what=f"{metric} is unknown: {found.why_missing(metric)}",
                do="see the raw bodies of that launch",
            )
            found = invalid(CHECK, [shortfall], launch=launch, workload=workload, raw=found.raw)
        if isinstance(found, Verdict):
            return Controls(failed=found)
        twins.append(found)
    if len(twins) < 2:
        shortfall = Shortfall(
            what=f"{len(twins)} of 2 control launches of the sweep were made: there is no twin, and drift is not bracketed",
            do="run the whole sweep: pytest perf_tests -m sweep",
        )
        return Controls(failed=invalid(CHECK, [shortfall], workload=workload))
    return Controls(twins=tuple(twins))


def measured_settings(
    rig: Rig, launches: Sequence[LaunchEvidence], workload: str, controls: Controls
) -> tuple[Measured, ...]:
    """Return every setting of the rig's sweep in order, those without numbers too."""
    found = {setting_of(rig, e.launch.id): e for e in launches if e.launch.role == "sweep"}
    return tuple(_measured(rig, s, found.get(s), workload, controls) for s in settings_of(rig))


def _measured(
    rig: Rig, setting: Setting, launch: LaunchEvidence | None, workload: str, controls: Controls
) -> Measured:
    metric = throughput_metric(rig.workload(workload).concurrency)
    own = rig.sweep is not None and configured(rig.arm(rig.sweep.arm)) == setting
    row = SweepRow(
        workload=workload,
        launch=launch.launch.id if launch is not None else None,
        setting=setting,
        words=setting.words,
        configured=own,
        metric=metric.name,
    )
    if launch is None:
        return Measured(row=row.model_copy(update={"why": "it was not launched"}))
    failure = launch.failure
    if failure is not None:
        why = f"{failure.headline} ({failure.cause.value})"
        return Measured(row=row.model_copy(update={"why": why, "refused": refused(failure)}))
    numbers = established(rig, launch, workload)
    if isinstance(numbers, Verdict):
        return Measured(row=row.model_copy(update={"why": numbers.headline}), raw=numbers.raw)
    if metric.name not in numbers.series:
        return Measured(row=row.model_copy(update={"why": numbers.why_missing(metric.name)}), raw=numbers.raw)
    values = numbers.series[metric.name].values
    bracket, cost = _against_its_twins(numbers, controls, metric.name)
    update: dict[str, object] = {
        "n": len(values),
        "tok_s": statistics.median(values),
        **{
            name: statistics.median(numbers.series[name].values)
            for name in ("decode_tok_s", "accept_length", "cycle_ms")
            if name in numbers.series
        },
        "speed_up": bracket.ratio if bracket is not None else None,
        "speed_up_interval": bracket.interval if bracket is not None else None,
        "break_even_cycle_ms": cost.limit_ms if cost is not None else None,
        "headroom_ms": cost.headroom_ms if cost is not None else None,
    }
    return Measured(
        row=row.model_copy(update=update),
        values=values,
        raw=numbers.raw,
        warnings=numbers.series[metric.name].warnings,
    )


def _against_its_twins(
    numbers: Established, controls: Controls, metric: str
) -> tuple[Bracket | None, BreakEven | None]:
    before, plain = controls.values(metric), controls.values("decode_tok_s")
    bracket = bracketed(numbers.series[metric].values, before) if before else None
    accepted, cycle = numbers.series.get("accept_length"), numbers.series.get("cycle_ms")
    tokens = [g.counters.completion_tokens for g in numbers.good if g.counters is not None]
    counts = [t for t in tokens if t]
    if accepted is None or cycle is None or not counts or not plain:
        return bracket, None
    cost = break_even(
        accept_length=statistics.median(accepted.values),
        tokens=round(statistics.median(counts)),
        decode_ms=1e3 / statistics.median([v for values in plain for v in values]),
        cycle_ms=statistics.median(cycle.values),
    )
    return bracket, cost
