"""Promise: the drafter is accepted as often as the arm says."""

from __future__ import annotations

from collections.abc import Sequence

from tokgate.records import Generation, LaunchEvidence, Outcome, Reference, Verdict
from tokgate.rig.models import ArmSpec, Rig
from tokgate.verdicts.budgets import judge_metric, subject
from tokgate.verdicts.establish import Established, establish_workload, invalid
from tokgate.verdicts.pinned import Method, pinned_range
from tokgate.verdicts.shortfall import Shortfall

CHECK = "acceptance_length"
USELESS = 1.05  # below this a verify call yields one token in twenty for its price


def acceptance_length(rig: Rig, launch: LaunchEvidence, workload: str) -> tuple[Verdict, ...]:
    """Judge tokens committed per verify call, bonus token included.

    Natural arms go by the rig's budget, and are `regressed` as useless at 1.05 or less unless a
    budget of the rig allows that. Pinned arms must show their pin, else the arm is not what it
    says and the outcome is `invalid`.
    """
    established = establish_workload(rig, launch, workload, check=CHECK)
    if isinstance(established, Verdict):
        return (established,)
    arm = rig.arm(launch.launch.arm)
    shortfall = _impossible(arm, established)
    if shortfall is not None:
        return (
            invalid(
                CHECK,
                [shortfall],
                launch=launch,
                workload=workload,
                metric="accept_length",
                raw=established.raw,
            ),
        )
    tokens, calls = _pooled(established.good)
    pooled = tokens / calls
    evidence = (f"{tokens} tokens in {calls} verify calls", *_histogram(established.good))
    if arm.acceptance != "natural":
        return (_pinned(rig, arm, arm.acceptance, established, evidence),)
    verdicts = judge_metric(rig, established, "accept_length", check=CHECK, evidence=evidence)
    if pooled > USELESS or any(v.outcome is Outcome.INVALID for v in verdicts):
        return verdicts
    useless = f"speculation is on and useless: accept length {pooled:.2f} on {subject(established)}"
    if _allowed(rig, arm.name, workload):
        return tuple(v.model_copy(update={"warnings": (*v.warnings, useless)}) for v in verdicts)
    return (
        verdicts[0].model_copy(
            update={
                "outcome": Outcome.REGRESSED,
                "headline": useless,
                "reference": None,
                "floor": f"useless at {USELESS} or less",
                "do": "check that the draft belongs to this target and was really loaded (dummy weights accept "
                "nothing); where that is meant, give this arm a budget accept_length at_least = 1.0",
            }
        ),
    )


def _impossible(arm: ArmSpec, established: Established) -> Shortfall | None:
    if arm.kind != "eagle3" or arm.num_steps is None:
        return Shortfall(
            what=f"{arm.name} does no speculation: it accepts nothing", do="ask this of an eagle3 arm"
        )
    if "accept_length" not in established.series or _pooled(established.good)[1] < 1:
        return Shortfall(
            what=f"accept length unknown: {established.why_missing('accept_length')}",
            do="see the raw bodies; check in server_info.json that speculation is on",
        )
    tokens, calls = _pooled(established.good)
    most = arm.num_steps + 1 + len(established.good) / calls
    if tokens / calls > most:
        return Shortfall(
            what=f"{tokens / calls:.2f} tokens a verify call, but {arm.num_steps} steps give at most "
            f"{arm.num_steps + 1}",
            do="read the raw bodies: these counters cannot be this arm's",
        )
    return None


def _pooled(good: Sequence[Generation]) -> tuple[int, int]:
    """Return completion tokens and verify calls of all generations that told both."""
    pairs = [
        (g.counters.completion_tokens, g.counters.spec.verify_ct)
        for g in good
        if g.counters is not None and g.counters.spec is not None
    ]
    told = [(tokens, calls) for tokens, calls in pairs if tokens is not None and calls is not None]
    return (sum(t for t, _ in told), sum(c for _, c in told))


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
    tokens, calls = _pooled(established.good)
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
        metric="accept_length",
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
        b.metric == "accept_length"
        and b.arm == arm
        and b.workload in ("*", workload)
        and b.at_least is not None
        and b.at_least <= USELESS
        for b in rig.budgets
    )
