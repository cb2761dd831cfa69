"""Promise: nothing has crept since the stored baseline of the same identity."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tokgate.errors import BaselineError
from tokgate.records import Fingerprint, LaunchEvidence, Outcome, Reference, Verdict
from tokgate.records.record import Record
from tokgate.rig.models import Rig
from tokgate.stats.decide import decide
from tokgate.stats.decision import Decision
from tokgate.verdicts.arm_runs import raw_of, run_by_run, subject_of
from tokgate.verdicts.arm_runs import warnings_of as warnings_of_runs
from tokgate.verdicts.baseline_file import Absence, BaselineFile
from tokgate.verdicts.control_part import Control, ControlPart, control_part
from tokgate.verdicts.controls_drift import moved_between_controls
from tokgate.verdicts.creep import creep_of
from tokgate.verdicts.decision_words import (
    against,
    evidence_of,
    needs_of,
    settling,
    wanted_of,
    warnings_of,
    why,
)
from tokgate.verdicts.establish import Established, invalid
from tokgate.verdicts.family import handed_on
from tokgate.verdicts.identity import Identity, differences, identity_of_launch
from tokgate.verdicts.ledger import run_values
from tokgate.verdicts.metrics import METRICS, Metric, floor_of, floor_text
from tokgate.verdicts.no_baseline import no_baseline
from tokgate.verdicts.run_values import Asked, asked_of, values_now
from tokgate.verdicts.shortfall import Shortfall
from tokgate.verdicts.since_stored import after_a_loss, shares
from tokgate.verdicts.staleness import Staleness, staleness
from tokgate.verdicts.validity import establish_arm

CHECK = "stored_baseline"
_GOOD = (Outcome.PASS, Outcome.IMPROVED)
# A run with a verdict that is invalid is stored knowingly or not at all.
ANEW = 'tokgate baseline update RUN --arm {arm} --despite-doubts --why "…"'


def stored_baseline(
    rig: Rig,
    launches: Sequence[LaunchEvidence],
    workload: str,
    baseline: BaselineFile | Absence,
    fingerprint: Fingerprint | None = None,
    *,
    control: Control | None = None,
) -> tuple[Verdict, ...]:
    """Judge an arm by all of its server runs of this session: one verdict per metric that both sides have.

    `launches`: the planned ones first, restarts after them. Where nothing of their identity is stored there is one
    `no-baseline`; a baseline of another identity is none, and a simulated machine is never compared with a real one.
    `fingerprint` is this run's: what differs from the baseline's is listed beside the verdict, and leads the headline
    of a loss beyond the floor. `control` ran beside an arm on the same machine: what the arm lost beyond it is not
    blamed on what has changed, nor is storing it anew the next step. Where it shows that the machine drifted nothing
    is judged, and a loss that is not surely larger than what the controls lie apart is not called.
    """
    kept = {baseline.arm: baseline.launches} if isinstance(baseline, BaselineFile) else {}
    beside = control.launches if control is not None else ()
    established = establish_arm(rig, launches, workload, check=CHECK, beside=beside, baseline_runs=kept)
    if isinstance(established, Verdict):
        return (established,)
    identity = _identity(rig, launches, workload, fingerprint)
    if isinstance(identity, Shortfall):
        return (invalid(CHECK, [identity], launch=launches[0], workload=workload),)
    part = None
    if control is not None:
        stored = baseline.fingerprint if isinstance(baseline, BaselineFile) else None
        part = control_part(rig, launches, workload, control, stored=stored, now=fingerprint)
    trails = part is not None and part.trails
    if isinstance(baseline, Absence):
        return (
            no_baseline(
                CHECK, established, baseline.nearest, baseline.differs, baseline.unreadable, trails=trails
            ),
        )
    if baseline.identity != identity:
        differs = differences(baseline.identity, identity)
        return (no_baseline(CHECK, established, baseline.name, differs, (), trails=trails),)
    at = launches[0].server.started_at if launches[0].server is not None else None
    stale = staleness(rig, baseline.fingerprint, fingerprint, stored=baseline.provenance.when, at=at)
    moved = moved_between_controls(rig, control.launches if control is not None else launches, workload)
    compared = tuple(_compared(rig, established, baseline, moved))
    own = part is not None and (part.trails or any(_beyond(rig, c, part) for c in compared))
    if compared:
        return tuple(
            _verdict(rig, established, c, baseline, stale=stale, part=part, own=own) for c in compared
        )
    shortfall = Shortfall(
        what=f"{baseline.name} and this run have no metric in common",
        do=f"store it anew: {ANEW.format(arm=launches[0].launch.arm)}",
    )
    return (invalid(CHECK, [shortfall], launch=launches[0], workload=workload),)


def _identity(
    rig: Rig, launches: Sequence[LaunchEvidence], workload: str, fingerprint: Fingerprint | None
) -> Identity | Shortfall:
    """Return what all runs of the arm have in common; restarts of another server are no restarts."""
    try:
        found = [identity_of_launch(rig, one, workload, fingerprint) for one in launches]
    except BaselineError as error:
        return Shortfall(what=error.found, do=error.do)
    for launch, other in zip(launches, found, strict=True):
        if differs := differences(found[0], other):
            first = differs[0]
            return Shortfall(
                what=f"{launch.launch.id} is another server than {launches[0].launch.id}: {first.key} is "
                f"{first.now or 'not set'}, not {first.before or 'not set'}",
                do="see server_info.json and the clean slates: the server or the GPUs changed in between",
            )
    return found[0]


class _Compared(Record):
    metric: Metric
    asked: Asked
    decision: Decision
    before: int  # starts of the baseline

    @property
    def lost(self) -> bool:
        """Whether the estimate is a loss beyond both floors, established or not."""
        return self.decision.outcome is not Outcome.PASS and self.decision.loss > self.decision.floor


def _compared(
    rig: Rig, established: Sequence[Established], baseline: BaselineFile, moved: float
) -> Iterator[_Compared]:
    """Yield a decision per metric that the baseline and every run of this session know.

    A metric that is known of some runs only is unknown: the slow ones might be those without a number. What is called
    hands its chance of a false alarm on to the others (family.handed_on), until nothing more is called.
    """
    sides = {}
    for metric in METRICS.values():
        now, before = values_now(established, metric.name), run_values(baseline.launches, metric.name)
        if len(now) == len(established) and before:
            sides[metric.name] = (now, before)
    workload = established[0].workload
    asked = {name: asked_of(rig, "stored", METRICS[name], workload, established) for name in sides}
    own = {name: one.rule.level for name, one in asked.items()}
    found: dict[str, Decision] = {}
    called: list[str] = []
    while True:
        for name, level in handed_on(own, called).items():
            asked[name] = asked[name].at(level)
            # What is accepted of a draft does not depend on how fast the machine is.
            machine = moved if name != "accept_length" else 0.0
            found[name] = decide(*sides[name], asked[name].rule, kind="stored", moved=machine)
        more = [n for n in found if n not in called and found[n].outcome is Outcome.REGRESSED]
        if not more:
            break
        called += more
    for name, decision in found.items():
        before_n = sum(len(run.values) for run in sides[name][1])
        yield _Compared(metric=METRICS[name], asked=asked[name], decision=decision, before=before_n)


def _beyond(rig: Rig, found: _Compared, part: ControlPart) -> bool:
    return found.lost and part.beyond(found.metric, found.decision.change, floor_of(rig, found.metric))


def _verdict(
    rig: Rig,
    established: Sequence[Established],
    found: _Compared,
    baseline: BaselineFile,
    *,
    stale: Staleness,
    part: ControlPart | None,
    own: bool,
) -> Verdict:
    """`own`: part of what the arm lost is its own, or it falls short of its twin."""
    metric, decision = found.metric, found.decision
    launch = established[0].launch.launch
    needs = needs_of(decision.wants, arm=launch.arm)
    headline = _headline(established, metric, decision, needs)
    # A stale baseline names itself before its number does: the first thing to confirm is what it is compared with.
    led = found.lost and stale.since is not None
    if led:
        moved = "moved" if decision.outcome is Outcome.REGRESSED else "seems to have moved"
        headline = (
            f"baseline {moved} by {decision.change * 100:+.1f} % ({metric.words} {metric.bare(decision.now)} against "
            f"{metric.text(decision.before)} on {subject_of(established)}): {stale.since}"
        )
        if part is not None and (_beyond(rig, found, part) or (own and metric.name not in part.moves)):
            shared = part.sentence(metric, tree=stale.tree)
            headline += f"; {shared}" if shared is not None else ""
        headline += f"; needs {needs}" if needs is not None else ""
    elif decision.outcome is Outcome.IMPROVED and stale.beside is not None:
        headline += f"; {stale.beside}"
    do: str | None = None
    if led:
        do = stale.do_first if own else stale.do
    elif decision.outcome is Outcome.REGRESSED:
        do = after_a_loss(established, baseline, differs=bool(stale.differs))
    elif decision.outcome is Outcome.INCONCLUSIVE:
        do = settling(rig, decision, needs)
    outcome = decision.outcome
    # Good against numbers that nobody has confirmed for too long: where the rig says so, that is no pass.
    if outcome in _GOOD and stale.expiry is not None and rig.baselines.expired == "inconclusive":
        outcome, do = Outcome.INCONCLUSIVE, stale.expiry.do
        headline = f"{stale.expiry.words}: {headline}"
    crept = creep_of(rig, baseline, metric)
    return Verdict(
        check=CHECK,
        outcome=outcome,
        headline=headline,
        arm=launch.arm,
        launch=launch.id,
        launches=_ids(established),
        workload=established[0].workload,
        metric=metric.name,
        value=decision.now,
        unit=metric.unit,
        n=decision.starts_now,
        interval=decision.interval,
        reference=Reference(kind="baseline", label=baseline.name, value=decision.before, n=found.before),
        change=decision.change,
        floor=floor_text(floor_of(rig, metric), metric),
        smallest=decision.smallest,
        level=found.asked.rule.level,
        needs=needs,
        wanted=wanted_of(decision.wants, arm=launch.arm),
        evidence=(
            *stale.evidence,
            *((f"{against(decision)} the baseline: {why(decision, needs)}",) if led else ()),
            *evidence_of(decision, found.asked, metric),
            *run_by_run(values_now(established, metric.name), metric),
            *shares(established, baseline, metric),
            *((crept.words,) if crept is not None and crept.updates else ()),
            f"baseline of {baseline.provenance.when} by {baseline.provenance.who}: {baseline.provenance.why}",
        ),
        warnings=(
            *stale.warnings,
            *(
                (f"its losses were accepted beyond the budget: {crept.words}",)
                if crept is not None and crept.over
                else ()
            ),
            *warnings_of_runs(established, metric.name),
            *warnings_of(decision, found.asked),
        ),
        differs=stale.differs,
        do=do,
        raw=raw_of(established),
    )


def _headline(
    established: Sequence[Established], metric: Metric, decision: Decision, needs: str | None
) -> str:
    return (
        f"{metric.words} {metric.text(decision.now)} on {subject_of(established)}: {decision.change:+.1%}, "
        f"{against(decision)} baseline {metric.bare(decision.before)}, {why(decision, needs)}"
    )


def _ids(established: Sequence[Established]) -> tuple[str, ...]:
    return tuple(one.launch.launch.id for one in established)
