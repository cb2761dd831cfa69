"""The verdict on one number against its stored baseline: in whose words, with what beside it, and what to do next."""

from __future__ import annotations

from collections.abc import Sequence

from tokgate.records import Outcome, Reference, Verdict
from tokgate.rig.models import Rig
from tokgate.stats.decision import Decision
from tokgate.verdicts.arm_runs import raw_of, run_by_run, subject_of
from tokgate.verdicts.arm_runs import warnings_of as warnings_of_runs
from tokgate.verdicts.control_part import ControlPart
from tokgate.verdicts.decision_words import against, evidence_of, warnings_of, why
from tokgate.verdicts.establish import Established
from tokgate.verdicts.metrics import Metric, floor_text, stored_floor_of
from tokgate.verdicts.needs import needs_of, settling, wanted_of
from tokgate.verdicts.run_values import values_now

from .compared import Compared, lost_beyond_control
from .creep import creep_of
from .file import BaselineFile
from .since_stored import after_a_loss, shares
from .staleness import Staleness

_GOOD = (Outcome.PASS, Outcome.IMPROVED)


def change_verdict(
    check: str,
    rig: Rig,
    established: Sequence[Established],
    found: Compared,
    baseline: BaselineFile,
    *,
    stale: Staleness,
    part: ControlPart | None,
    own: bool,
) -> Verdict:
    """Return what a comparison of one metric says of an arm. `own`: part of what the arm lost is its own, or it falls short of its twin."""
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
        if part is not None and (
            lost_beyond_control(rig, found, part) or (own and metric.name not in part.moves)
        ):
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
        check=check,
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
        floor=floor_text(stored_floor_of(rig, metric), metric),
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
