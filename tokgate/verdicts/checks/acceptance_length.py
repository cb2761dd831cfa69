"""Promise: the drafter is accepted as often as the arm says."""

from __future__ import annotations

from collections.abc import Sequence

from tokgate.records import Generation, LaunchEvidence, Outcome, Reference, Verdict
from tokgate.rig.models import ArmSpec, Rig
from tokgate.stats.summary import needed_for_interval
from tokgate.verdicts.arm_runs import History, Launches, all_of, good_of, raw_of, subject_of
from tokgate.verdicts.budgets import judge_metric
from tokgate.verdicts.derived import Derivation
from tokgate.verdicts.establish import Established, invalid
from tokgate.verdicts.more_starts import more_starts
from tokgate.verdicts.pinned import Method, pinned_range
from tokgate.verdicts.shortfall import Shortfall
from tokgate.verdicts.speculating import LOOK_AT_THE_DRAFT, USELESS, is_off, pooled, usefulness
from tokgate.verdicts.validity import establish_arm

CHECK = "acceptance_length"
METRIC = "accept_length"
LEAST = 1.0  # tokens a verify call, with nothing accepted
_DO = (
    "find out what changed for the drafter: its weights, the target's, the prompts, sampling; what the machine takes for "
    "a cycle is another number (cycle_ms)"
)


def acceptance_length(
    rig: Rig,
    launches: Launches,
    workload: str,
    controls: Sequence[LaunchEvidence] = (),
    *,
    history: History | None = None,
) -> tuple[Verdict, ...]:
    """Judge tokens committed per verify call, bonus token included.

    Natural arms go by the rig's budget. Where in every server run the whole interval of its starts lies at 1.05 or
    less they are `regressed` as on and useless, unless a budget of the rig allows that; where it straddles that,
    `inconclusive`. Pinned arms must show their pin, else the arm is not what it says and the outcome is
    `invalid`. A server that counts no verify call at all is off, which is `invalid` too and never called 1.0.
    `controls`: the server runs of the control arm in this session, which a limit derived from break-even needs and no
    other does. `launches`, `history`: as of `decode_throughput`.
    """
    runs = establish_arm(rig, all_of(launches), workload, check=CHECK)
    if isinstance(runs, Verdict):
        return (runs,)
    arm = rig.arm(runs[0].launch.launch.arm)
    for run in runs:
        shortfall = is_off(arm, run) or _impossible(arm, run)
        if shortfall is not None:
            found = invalid(
                CHECK, [shortfall], launch=run.launch, workload=workload, metric=METRIC, raw=run.raw
            )
            return (found,)
    good = good_of(runs)
    tokens, calls = pooled(good)
    evidence = (f"{tokens} tokens in {calls} verify calls", *_histogram(good))
    if arm.acceptance != "natural":
        return (_pinned(rig, arm, arm.acceptance, runs, evidence),)
    derive = Derivation(rig, runs, controls, CHECK)
    verdicts = judge_metric(rig, runs, METRIC, check=CHECK, evidence=evidence, derive=derive, history=history)
    return _of_use(rig, runs, tuple(_as_a_bound(v) for v in verdicts))


def _as_a_bound(verdict: Verdict) -> Verdict:
    """A floor of 1 or less is kept by whatever there is: every verify call yields the token that it would have anyway."""
    reference = verdict.reference
    if verdict.outcome is not Outcome.INCONCLUSIVE or reference is None or reference.kind != "budget":
        return verdict
    if not reference.label.startswith("floor") or reference.value is None or reference.value > LEAST:
        return verdict
    value = verdict.headline.split(": ")[0]
    return verdict.model_copy(
        update={
            "outcome": Outcome.PASS,
            "headline": f"{value}: the floor {reference.value:g} is the least there is",
            "needs": None,
            "wanted": {},
            "do": None,
        }
    )


def _of_use(rig: Rig, runs: Sequence[Established], verdicts: tuple[Verdict, ...]) -> tuple[Verdict, ...]:
    """Let the verdicts stand where a verify call is worth its price, whatever the budgets say of it."""
    verdicts = tuple(
        v.model_copy(update={"do": _DO}) if v.outcome is Outcome.REGRESSED else v for v in verdicts
    )
    found = usefulness(runs)
    if found is None or found[0] is True or any(v.outcome is Outcome.INVALID for v in verdicts):
        return verdicts
    useful, summary = found
    settled = useful is False
    words = f"speculation {'is on and' if settled else 'may be on and'} useless"
    told = f"{words}: accept length {summary.median:.2f} on {subject_of(runs)}"
    if summary.interval is not None:
        told += f", interval {summary.interval[0]:.2f}–{summary.interval[1]:.2f}"  # noqa: RUF001 - a dash between numbers
    else:
        told += f", n={summary.n} and no interval"
    # An interval that straddles is half as wide with about four times the starts.
    lacking = needed_for_interval() - summary.n if summary.interval is None else 3 * summary.n
    broken = any(v.outcome is Outcome.REGRESSED for v in verdicts)
    if _allowed(rig, runs[0].launch.launch.arm, runs[0].workload) or (broken and not settled):
        return tuple(v.model_copy(update={"warnings": (*v.warnings, told)}) for v in verdicts)
    return (
        verdicts[0].model_copy(
            update={
                "outcome": Outcome.REGRESSED if settled else Outcome.INCONCLUSIVE,
                "headline": told,
                "interval": summary.interval,
                "reference": None,
                "change": None,
                "smallest": None,
                "level": None,
                "needs": None if settled else more_starts(rig, lacking, runs[0].workload),
                "wanted": {},
                "floor": f"useless at {USELESS} or less, the whole interval of the starts of each server run",
                "do": f"{LOOK_AT_THE_DRAFT}; where that is meant, give this arm a budget accept_length at_least = 1.0"
                if settled
                else f"raise repeats of {runs[0].workload} (n={summary.n} now)",
            }
        ),
    )


def _impossible(arm: ArmSpec, established: Established) -> Shortfall | None:
    if arm.kind != "eagle3":
        return Shortfall(
            what=f"{arm.name} does no speculation: it accepts nothing", do="ask this of an eagle3 arm"
        )
    if METRIC not in established.series or pooled(established.good)[1] < 1:
        return Shortfall(
            what=f"accept length unknown: {established.why_missing(METRIC)}",
            do="see the raw bodies; check in server_info.json that speculation is on",
        )
    return None


def _histogram(good: Sequence[Generation]) -> tuple[str, ...]:
    rows = [
        g.counters.spec.correct_drafts_histogram
        for g in good
        if g.counters is not None and g.counters.spec is not None
    ]
    told = [row for row in rows if row is not None]
    if not told or len(told) < len(good):
        return ()
    width = max(len(row) for row in told)
    summed = [sum(row[i] for row in told if i < len(row)) for i in range(width)]
    return (f"verify calls that accepted 0, 1, 2 … drafts: {summed}",)


def _pinned(
    rig: Rig, arm: ArmSpec, pin: float, runs: Sequence[Established], evidence: tuple[str, ...]
) -> Verdict:
    good, workload = good_of(runs), runs[0].workload
    tokens, calls = pooled(good)
    environment = {**rig.server.environment, **arm.environment}
    multinomial = environment.get("SGLANG_SIMULATE_ACC_METHOD") == "multinomial"
    method: Method = "multinomial" if multinomial else "match-expected"
    allowed = pinned_range(
        pin,
        num_steps=arm.num_steps or 1,
        method=method,
        generations=len(good),
        verify_calls=calls,
        concurrency=rig.workload(workload).concurrency,
    )
    value = tokens / calls
    # The counters are whole numbers, so equality at an end of the range is real: allow for rounding.
    holds = allowed.low - 1e-9 <= value <= allowed.high + 1e-9
    span = f"{allowed.low:.2f}–{allowed.high:.2f}"  # noqa: RUF001 - a dash between numbers
    words = "holds its pin" if holds else "does not hold its pin"
    return Verdict(
        check=CHECK,
        outcome=Outcome.PASS if holds else Outcome.INVALID,
        headline=f"accept length {value:.2f} on {subject_of(runs)}: {words} {pin:g}, allowed {span}",
        arm=arm.name,
        launch=runs[0].launch.launch.id,
        launches=tuple(run.launch.launch.id for run in runs),
        workload=workload,
        metric=METRIC,
        value=value,
        unit="tokens",
        n=len(good),
        reference=Reference(kind="truth", label=f"pinned at {pin:g}", value=allowed.expected, n=calls),
        floor=f"{span} for {calls} verify calls",
        evidence=(*evidence, f"method {method}: mean of the draws {allowed.expected:.3f}"),
        do=None
        if holds
        else "see in environment.json whether SGLANG_SIMULATE_ACC_LEN reached the schedulers",
        raw=raw_of(runs),
    )


def _allowed(rig: Rig, arm: str, workload: str) -> bool:
    return any(
        b.metric == METRIC
        and b.arm == arm
        and b.workload in ("*", workload)
        and b.at_least is not None
        and b.at_least <= USELESS
        for b in rig.budgets
    )
