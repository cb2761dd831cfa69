"""Promise: measuring the phases does not itself slow what it measures."""

from __future__ import annotations

from collections.abc import Iterator

from tokgate.records import LaunchEvidence, Outcome, Reference, Verdict
from tokgate.records.phases import ProbeCost
from tokgate.rig.instruments import PROBE_OFF, cost_pairs, instrumented
from tokgate.rig.models import Rig
from tokgate.stats.compare import compare
from tokgate.stats.summary import needed_for_interval
from tokgate.verdicts.establish import Established, establish, invalid
from tokgate.verdicts.phases import establish_phases
from tokgate.verdicts.shortfall import Shortfall

CHECK = "probe_cost"
MOST = 0.005  # of decode time: what the mission lets measuring cost
_TIMER = "SGLANG_ENABLE_METRICS_DEVICE_TIMER"


def probe_cost(rig: Rig, launch: LaunchEvidence, timed: LaunchEvidence | None) -> tuple[Verdict, ...]:
    """Judge what the probe costs by its switch, inside this one server run.

    invalid: surely more than MOST, the interval's lower end lies above it. pass: it does not; the upper end says below
    what it stays. inconclusive: there is no interval, the switch did not work, or the pairs are no twins. `timed`: the same arm without
    instruments, where this session has measured it; it is shown beside, never judged.
    """
    workload = instrumented(rig).workloads[0].name
    established = establish_phases(rig, launch, workload, check=CHECK)
    if isinstance(established, Verdict):
        return (established,)
    cost = launch.phases.cost if launch.phases is not None else None
    timer = tuple(_of_the_timer(launch, timed, workload))
    if cost is None or cost.why is not None or cost.interval is None:
        why = (cost.why if cost is not None else None) or "nobody compared starts with and without it"
        return (_unknown(rig, established, why, cost, timer),)
    # Starts without the probe are judged like any other: whole, counted, undisturbed.
    off = establish(launch, PROBE_OFF, at_least=1, check=CHECK)
    if isinstance(off, Verdict):
        return (off,)
    verdict = Verdict(
        check=CHECK,
        outcome=Outcome.PASS,
        headline=f"the probe on {launch.launch.id} costs {cost.words}{_beside_the_limit(cost.interval)}",
        arm=launch.launch.arm,
        launch=launch.launch.id,
        workload=workload,
        value=None if cost.slowdown is None else 100 * cost.slowdown,
        unit="%",
        n=cost.pairs,
        interval=(100 * cost.interval[0], 100 * cost.interval[1]),
        reference=Reference(kind="budget", label=f"at most {MOST:.1%} of decode time", value=100 * MOST),
        floor=f"invalid only where the whole interval lies above {MOST:.1%}",
        evidence=(*_told(cost), *timer),
        raw=_raw(established),
    )
    if cost.interval[0] <= MOST:
        return (verdict,)
    update = {
        "outcome": Outcome.INVALID,
        "do": "believe no phase of this launch: something in the scheduler waits for the probe. Look whether the disk "
        "under host.work_dir answers, and whether the scheduler's core is its own; then measure again",
    }
    return (verdict.model_copy(update=update),)


def _beside_the_limit(interval: tuple[float, float]) -> str:
    low, high = interval
    if low > MOST:
        return f": more than {MOST:.1%}"
    return f"; not shown to be below {MOST:.1%}, nor above it" if high > MOST else ""


def _unknown(
    rig: Rig, established: Established, why: str, cost: ProbeCost | None, timer: tuple[str, ...]
) -> Verdict:
    needed = needed_for_interval()
    if cost_pairs(rig) < needed:
        do = f"let it take pairs enough: instruments.cost_pairs = {needed} or more in the rig"
    elif cost is not None and cost.interval is not None and cost.interval[1] < 0:
        do = "see what else differs between the starts of a pair: the prefix cache, other load on the host, clocks"
    else:
        do = "see what became of the probe and its switch (verdict.json, phases): docs/phases.md says what each needs"
    shortfall = Shortfall(
        what=f"what the probe costs is unknown: {why}",
        do=do,
        evidence=(*(_told(cost) if cost is not None else ()), *timer),
    )
    verdict = invalid(
        CHECK,
        [shortfall],
        launch=established.launch,
        workload=established.workload,
        n=cost.pairs if cost is not None else 0,
        raw=_raw(established),
    )
    return verdict.model_copy(update={"outcome": Outcome.INCONCLUSIVE})


def _told(cost: ProbeCost) -> Iterator[str]:
    if cost.by is not None:
        yield f"compared: {cost.by}, of the same prompts, {cost.pairs} pairs taken on-off, off-on in turn"
    yield f"the probe recorded {cost.calls_on} calls in the starts with it on, {cost.calls_off} in those with it off"


def _of_the_timer(launch: LaunchEvidence, timed: LaunchEvidence | None, workload: str) -> Iterator[str]:
    """Yield what is known of the device timer: it cannot be switched while a server runs."""
    if launch.server is None or _TIMER not in launch.server.line.environment:
        return
    mine = _rates(launch, PROBE_OFF)
    theirs = _rates(timed, workload) if timed is not None else []
    if not mine or not theirs or timed is None:
        yield "the device timer's own cost is not told: this session has no start of the arm without instruments"
        return
    found = compare(theirs, mine)  # of rates: the slower side is below
    if found.interval is None:
        yield f"the device timer's own cost is not told: {'; '.join(found.warnings)}"
        return
    low, high = (bound - 1 for bound in found.interval)
    yield (
        f"device timer on and probe off, beside {timed.launch.id} without either: decode takes {found.ratio - 1:+.2%} "
        f"({found.confidence:.0%} interval {low:+.2%} to {high:+.2%}); two server starts, so that what a restart "
        "changes is in it, and it is not judged"
    )


def _rates(launch: LaunchEvidence, workload: str) -> list[float]:
    return [
        s.value
        for s in launch.samples
        if s.workload == workload and s.metric == "decode_tok_s" and s.value is not None and s.value > 0
    ]


def _raw(established: Established) -> tuple[str, ...]:
    return (*established.raw, f"launches/{established.launch.launch.id}/probe")
