"""Promise: the drafter is accepted as often as the arm says."""

from __future__ import annotations

from collections.abc import Sequence

from tokgate.records import Generation, LaunchEvidence, Outcome, Reference, Verdict
from tokgate.rig.models import ArmSpec, Rig
from tokgate.verdicts.budgets import judge_metric, subject
from tokgate.verdicts.derived import Derivation
from tokgate.verdicts.establish import Established, establish_workload, invalid
from tokgate.verdicts.pinned import Method, pinned_range
from tokgate.verdicts.shortfall import Shortfall
from tokgate.verdicts.speculating import LOOK_AT_THE_DRAFT, USELESS, is_off, pooled, usefulness

CHECK = "acceptance_length"
METRIC = "accept_length"
_DO = (
    "find out what changed for the drafter: its weights, the target's, the prompts, sampling; what the machine takes for "
    "a cycle is another number (cycle_ms)"
)


def acceptance_length(
    rig: Rig, launch: LaunchEvidence, workload: str, controls: Sequence[LaunchEvidence] = ()
) -> tuple[Verdict, ...]:
    """Judge tokens committed per verify call, bonus token included.

    Natural arms go by the rig's budget, by the whole interval. Where all of it lies at 1.05 or less they are
    `regressed` as on and useless, unless a budget of the rig allows that; where it straddles that,
    `inconclusive`. Pinned arms must show their pin, else the arm is not what it says and the outcome is
    `invalid`. A server that counts no verify call at all is off, which is `invalid` too and never called 1.0.
    `controls`: the control arm of this session, which a limit derived from break-even needs and no other does.
    """
    established = establish_workload(rig, launch, workload, check=CHECK)
    if isinstance(established, Verdict):
        return (established,)
    arm = rig.arm(launch.launch.arm)
    shortfall = is_off(arm, established) or _impossible(arm, established)
    if shortfall is not None:
        return (
            invalid(
                CHECK,
                [shortfall],
                launch=launch,
                workload=workload,
                metric=METRIC,
                raw=established.raw,
            ),
        )
    tokens, calls = pooled(established.good)
    evidence = (f"{tokens} tokens in {calls} verify calls", *_histogram(established.good))
    if arm.acceptance != "natural":
        return (_pinned(rig, arm, arm.acceptance, established, evidence),)
    derive = Derivation(rig, established, controls, CHECK)
    verdicts = judge_metric(rig, established, METRIC, check=CHECK, evidence=evidence, derive=derive)
    return _of_use(rig, established, verdicts)


def _of_use(rig: Rig, established: Established, verdicts: tuple[Verdict, ...]) -> tuple[Verdict, ...]:
    """Let the verdicts stand where a verify call is worth its price, whatever the budgets say of it."""
    verdicts = tuple(
        v.model_copy(update={"do": _DO}) if v.outcome is Outcome.REGRESSED else v for v in verdicts
    )
    found = usefulness(established)
    if found is None or found[0] is True or any(v.outcome is Outcome.INVALID for v in verdicts):
        return verdicts
    useful, summary = found
    settled = useful is False
    words = f"speculation {'is on and' if settled else 'may be on and'} useless"
    told = f"{words}: accept length {summary.median:.2f} on {subject(established)}"
    if summary.interval is not None:
        told += f", interval {summary.interval[0]:.2f}–{summary.interval[1]:.2f}"  # noqa: RUF001 - a dash between numbers
    else:
        told += f", n={summary.n} and no interval"
    broken = any(v.outcome is Outcome.REGRESSED for v in verdicts)
    if _allowed(rig, established.launch.launch.arm, established.workload) or (broken and not settled):
        return tuple(v.model_copy(update={"warnings": (*v.warnings, told)}) for v in verdicts)
    return (
        verdicts[0].model_copy(
            update={
                "outcome": Outcome.REGRESSED if settled else Outcome.INCONCLUSIVE,
                "headline": told,
                "interval": summary.interval,
                "reference": None,
                "change": None,
                "floor": f"useless at {USELESS} or less, the whole interval",
                "do": f"{LOOK_AT_THE_DRAFT}; where that is meant, give this arm a budget accept_length at_least = 1.0"
                if settled
                else f"raise repeats of {established.workload} (n={summary.n} now)",
            }
        ),
    )


def _impossible(arm: ArmSpec, established: Established) -> Shortfall | None:
    if arm.kind != "eagle3" or arm.num_steps is None:
        return Shortfall(
            what=f"{arm.name} does no speculation: it accepts nothing", do="ask this of an eagle3 arm"
        )
    if METRIC not in established.series or pooled(established.good)[1] < 1:
        return Shortfall(
            what=f"accept length unknown: {established.why_missing(METRIC)}",
            do="see the raw bodies; check in server_info.json that speculation is on",
        )
    tokens, calls = pooled(established.good)
    most = arm.num_steps + 1 + len(established.good) / calls
    if tokens / calls > most:
        return Shortfall(
            what=f"{tokens / calls:.2f} tokens a verify call, but {arm.num_steps} steps give at most "
            f"{arm.num_steps + 1}",
            do="read the raw bodies: these counters cannot be this arm's",
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
    rig: Rig, arm: ArmSpec, pin: float, established: Established, evidence: tuple[str, ...]
) -> Verdict:
    tokens, calls = pooled(established.good)
    environment = {**rig.server.environment, **arm.environment}
    multinomial = environment.get("SGLANG_SIMULATE_ACC_METHOD") == "multinomial"
    method: Method = "multinomial" if multinomial else "match-expected"
    allowed = pinned_range(
        pin,
        num_steps=arm.num_steps or 1,
        method=method,
        generations=len(established.good),
        verify_calls=calls,
        concurrency=rig.workload(established.workload).concurrency,
    )
    value = tokens / calls
    # The counters are whole numbers, so equality at an end of the range is real: allow for rounding.
    holds = allowed.low - 1e-9 <= value <= allowed.high + 1e-9
    span = f"{allowed.low:.2f}–{allowed.high:.2f}"  # noqa: RUF001 - a dash between numbers
    words = "holds its pin" if holds else "does not hold its pin"
    launch = established.launch.launch
    return Verdict(
        check=CHECK,
        outcome=Outcome.PASS if holds else Outcome.INVALID,
        headline=f"accept length {value:.2f} on {subject(established)}: {words} {pin:g}, allowed {span}",
        arm=arm.name,
        launch=launch.id,
        workload=established.workload,
        metric=METRIC,
        value=value,
        unit="tokens",
        n=len(established.good),
        reference=Reference(kind="truth", label=f"pinned at {pin:g}", value=allowed.expected, n=calls),
        floor=f"{span} for {calls} verify calls",
        evidence=(*evidence, f"method {method}: mean of the draws {allowed.expected:.3f}"),
        do=None
        if holds
        else "see in environment.json whether SGLANG_SIMULATE_ACC_LEN reached the schedulers",
        raw=established.raw,
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
