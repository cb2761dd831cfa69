"""Promise: nothing has crept since the stored baseline of the same identity."""

from __future__ import annotations

import statistics

from tokgate.errors import BaselineError
from tokgate.records import Difference, Fingerprint, LaunchEvidence, Outcome, Reference, Verdict
from tokgate.records.record import Record
from tokgate.rig.models import Floor, Rig
from tokgate.stats.compare import p_words
from tokgate.stats.decompose import ACCEPTANCE, Decomposition
from tokgate.verdicts.baseline_file import Absence, BaselineFile
from tokgate.verdicts.budgets import subject
from tokgate.verdicts.change import Change, judge_change
from tokgate.verdicts.control_part import Control, ControlPart, control_part
from tokgate.verdicts.cycle_side import side_of_baseline, side_of_timed
from tokgate.verdicts.establish import Established, establish_workload, invalid
from tokgate.verdicts.identity import differences, identity_of_launch
from tokgate.verdicts.metrics import METRICS, Metric, floor_of, floor_text
from tokgate.verdicts.shortfall import Shortfall
from tokgate.verdicts.split import Split, split_change
from tokgate.verdicts.staleness import Staleness, staleness

CHECK = "stored_baseline"
SPLIT = "decode_tok_s"  # the speed that accept length and cycle make
_MOST = 0.75  # of the whole change: the other of the two has as good as none of it
_WORDS = {
    Outcome.REGRESSED: "worse than",
    Outcome.IMPROVED: "better than",
    Outcome.PASS: "no loss against",
    Outcome.INCONCLUSIVE: "undecided against",
}
UPDATE = 'tokgate baseline update RUN --arm {arm} --why "…"'
# A run with a verdict that is invalid is stored knowingly or not at all.
ANEW = 'tokgate baseline update RUN --arm {arm} --despite-doubts --why "…"'


def stored_baseline(
    rig: Rig,
    launch: LaunchEvidence,
    workload: str,
    baseline: BaselineFile | Absence,
    fingerprint: Fingerprint | None = None,
    *,
    control: Control | None = None,
) -> tuple[Verdict, ...]:
    """Return one verdict per metric that both sides have, or one `no-baseline`.

    A baseline of another identity is none; a simulated machine is never compared with a real
    one. `fingerprint` is this run's: what differs from the baseline's is listed beside the
    verdict, and leads the headline of a loss beyond the floor. `control` ran before an arm on the same machine: what
    the arm lost beyond it is not blamed on what has changed, nor is storing it anew the next step. The outcomes are
    the same with and without.
    """
    established = establish_workload(rig, launch, workload, check=CHECK)
    if isinstance(established, Verdict):
        return (established,)
    try:
        identity = identity_of_launch(rig, launch, workload, fingerprint)
    except BaselineError as error:
        return (invalid(CHECK, [Shortfall(what=error.found, do=error.do)], launch=launch, workload=workload),)
    part = None
    if control is not None:
        stored = baseline.fingerprint if isinstance(baseline, BaselineFile) else None
        part = control_part(rig, launch, workload, control, stored=stored, now=fingerprint)
    trails = part is not None and part.trails
    if isinstance(baseline, Absence):
        return (_absent(established, baseline.nearest, baseline.differs, baseline.unreadable, trails=trails),)
    if baseline.identity != identity:
        differs = differences(baseline.identity, identity)
        return (_absent(established, baseline.name, differs, (), trails=trails),)
    stale = staleness(rig, baseline.fingerprint, fingerprint)
    changes = tuple(
        _changed(rig, established, metric, baseline)
        for metric in METRICS.values()
        if metric.name in established.series and baseline.by_start(metric.name)
    )
    own = part is not None and (part.trails or any(_beyond(c, part) for c in changes))
    if changes:
        return tuple(
            _verdict(rig, established, c, baseline, stale=stale, part=part, own=own) for c in changes
        )
    shortfall = Shortfall(
        what=f"{baseline.name} and this run have no metric in common",
        do=f"store it anew: {ANEW.format(arm=launch.launch.arm)}",
    )
    return (invalid(CHECK, [shortfall], launch=launch, workload=workload),)


def _absent(
    established: Established,
    nearest: str | None,
    differs: tuple[Difference, ...],
    unreadable: tuple[str, ...],
    *,
    trails: bool,
) -> Verdict:
    launch = established.launch.launch
    settings = "setting differs" if len(differs) == 1 else "settings differ"
    beside = f"; nearest is {nearest}, {len(differs)} {settings}" if nearest is not None else ""
    return Verdict(
        check=CHECK,
        outcome=Outcome.NO_BASELINE,
        headline=f"no baseline for {established.workload} on {subject(established)}{beside}",
        arm=launch.arm,
        launch=launch.id,
        workload=established.workload,
        n=len(established.good),
        evidence=tuple(f"{d.key}: {d.before or 'not set'} there, {d.now or 'not set'} here" for d in differs),
        warnings=tuple(f"unreadable neighbour {text}" for text in unreadable),
        differs=differs,
        do="it is slower than its twin has to be: that is explained before its numbers are kept"
        if trails
        else f"if these numbers are to be kept: {UPDATE.format(arm=launch.arm)}",
        raw=established.raw,
    )


class _Changed(Record):
    metric: Metric
    floor: Floor
    change: Change
    before: int  # values of the baseline

    @property
    def lost(self) -> bool:
        """Whether the estimate is a loss beyond both floors, established or not."""
        loss = self.metric.loss(self.change.change)
        beyond = loss > self.floor.relative and loss * self.change.reference > self.floor.absolute
        return self.change.outcome is not Outcome.PASS and beyond


def _changed(rig: Rig, established: Established, metric: Metric, baseline: BaselineFile) -> _Changed:
    before = tuple(statistics.median(start) for start in baseline.by_start(metric.name))
    floor = floor_of(rig, metric)
    change = judge_change(established.series[metric.name].values, before, metric, floor)
    return _Changed(metric=metric, floor=floor, change=change, before=len(before))


def _beyond(found: _Changed, part: ControlPart) -> bool:
    return found.lost and part.beyond(found.metric, found.change.change, found.floor)


def _verdict(
    rig: Rig,
    established: Established,
    found: _Changed,
    baseline: BaselineFile,
    *,
    stale: Staleness,
    part: ControlPart | None,
    own: bool,
) -> Verdict:
    """`own`: part of what the launch lost is its own, or it falls short of its twin."""
    metric, floor, change = found.metric, found.floor, found.change
    series = established.series[metric.name]
    value = statistics.median(series.values)
    launch = established.launch.launch
    headline = _headline(established, metric, value, change)
    # A stale baseline names itself before its number does: the first thing to confirm is what it is compared with.
    led = found.lost and stale.since is not None
    if led:
        headline = (
            f"baseline moved by {change.change * 100:+.1f} % ({metric.words} {metric.bare(value)} against "
            f"{metric.text(change.reference)} on {subject(established)}): {stale.since}"
        )
        if part is not None and (_beyond(found, part) or (own and metric.name not in part.moves)):
            shared = part.sentence(rig, metric, tree=stale.tree)
            headline += f"; {shared}" if shared is not None else ""
    elif change.outcome is Outcome.IMPROVED and stale.beside is not None:
        headline += f"; {stale.beside}"
    return Verdict(
        check=CHECK,
        outcome=change.outcome,
        headline=headline,
        arm=launch.arm,
        launch=launch.id,
        workload=established.workload,
        metric=metric.name,
        value=value,
        unit=metric.unit,
        n=len(series.values),
        interval=change.interval,
        reference=Reference(kind="baseline", label=baseline.name, value=change.reference, n=found.before),
        change=change.change,
        floor=floor_text(floor, metric),
        evidence=(
            *stale.evidence,
            *((f"{_WORDS[change.outcome]} the baseline: {change.why}",) if led else ()),
            f"{p_words(change.comparison.p)}, n={change.comparison.n_a}+{change.comparison.n_b}",
            *_shares(established, baseline, metric),
            f"baseline of {baseline.provenance.when} by {baseline.provenance.who}: {baseline.provenance.why}",
        ),
        warnings=(
            *stale.warnings,
            *series.warnings,
            *change.comparison.warnings,
            *_single_launch(baseline),
        ),
        differs=stale.differs,
        do=(stale.do_first if own else stale.do) if led else _next_step(established, baseline, change, stale),
        raw=established.raw,
    )


def _headline(established: Established, metric: Metric, value: float, change: Change) -> str:
    return (
        f"{metric.words} {metric.text(value)} on {subject(established)}: {change.change:+.1%}, "
        f"{_WORDS[change.outcome]} baseline {metric.bare(change.reference)}, {change.why}"
    )


def _shares(established: Established, baseline: BaselineFile, metric: Metric) -> tuple[str, ...]:
    """Tell what a change of speed is made of as far as timed launches know: what the phases did is told by the report."""
    if metric.name != SPLIT:
        return ()
    found = _timed_split(established, baseline)
    return (found.text(),) if found is not None else ()


def _timed_split(established: Established, baseline: BaselineFile) -> Decomposition | None:
    launch, before = established.launch.launch, side_of_baseline(baseline)
    if not before.speculates:
        return None
    found = split_change(launch.arm, established.workload, before, side_of_timed(launch.id, (established,)))
    return found.split if isinstance(found, Split) else None


def _next_step(
    established: Established, baseline: BaselineFile, change: Change, stale: Staleness
) -> str | None:
    """Say where a loss leads that no fact of machine or tree explains; of every metric of a workload the same."""
    if change.outcome is not Outcome.REGRESSED:
        return change.do
    look = (
        "see what differs from the baseline, listed with this verdict"
        if stale.differs
        else "nothing on record differs from the baseline: look at clocks, heat and what else ran"
    )
    split = _timed_split(established, baseline)
    if split is None or split.whole is None or split.whole.log >= 0:
        return look
    of_acceptance = next((s.log for s in split.shares if s.name == ACCEPTANCE), 0.0) / split.whole.log
    if of_acceptance >= _MOST:
        return f"acceptance has moved, not the cycle: look at the draft model; {look}"
    what = (
        "the cycle has moved, not acceptance"
        if of_acceptance <= 1 - _MOST
        else "acceptance and the cycle have moved"
    )
    which = (
        "which phase, tells 'Since the stored baseline' in the report"
        if baseline.phases
        else "which phase, is not stored; today's stand in 'Phases of a cycle'"
    )
    return f"{what}: {which}; {look}"


def _single_launch(baseline: BaselineFile) -> tuple[str, ...]:
    if len(baseline.launches) > 1:
        return ()
    return ("the baseline is one server run: its interval does not hold the spread between restarts",)
