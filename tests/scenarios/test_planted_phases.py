"""A change of 5 % in any phase, alone or with another, is split between two runs as the box really changed."""

from __future__ import annotations

import math
import statistics

import pytest

from simbox.truth_phases import Mean, means
from tokgate.records.phases import Phase, PhaseReading
from tokgate.stats.cycles import Cycles, Part
from tokgate.stats.decompose import decompose, logarithmic_mean
from tokgate.stats.log_shares import Decomposition, Share

from .gate_run import GateRun
from .phase_stories import PAIRS, SINGLES, UP_AND_DOWN, Instrumented, Plant

# How far a share may be off, in log: four thousandths of tok/s. The smallest of the planted, rest, is 0.5 %.
WITHIN = 0.004
# Two starts of one box differ by 0.14 % of what its kernels take, in all phases alike.
SPREAD = 0.003
SOURCES = ("device-timer", "probe")
PHASES = (Phase.DRAFT, Phase.VERIFY, Phase.DRAFT_EXTEND)
SLOW = pytest.mark.slow
QUICK: Plant = UP_AND_DOWN
OTHERS = (*SINGLES, *PAIRS)


def name(plant: Plant) -> str:
    return "-".join(f"{phase}{factor - 1:+.0%}" for phase, factor in plant)


EVERY = pytest.mark.parametrize(
    "plant", [pytest.param(QUICK, id=name(QUICK)), *(pytest.param(p, id=name(p), marks=SLOW) for p in OTHERS)]
)


def side(told: Instrumented, source: str) -> Cycles:
    """Return one run as the gate has it: its answers, and its phases by one source."""
    assert told.evidence.phases is not None
    values = {
        metric: tuple(
            s.value
            for s in told.evidence.samples
            if s.metric == metric and s.workload == "single" and s.value is not None
        )
        for metric in ("accept_length", "cycle_ms")
    }
    phases = {phase: Part.of(_by(told, phase, source)) for phase in PHASES}
    return Cycles(accept_length=values["accept_length"], cycle_ms=values["cycle_ms"], phases=phases)


def _by(told: Instrumented, phase: Phase, source: str) -> PhaseReading:
    assert told.evidence.phases is not None
    found = told.evidence.phases.find(phase, source, workload="single")  # type: ignore[arg-type]
    return next(r for r in found if r.rank == 0 and r.requests is None)


def really(told: Instrumented, source: str) -> tuple[dict[str, float], float]:
    """Return what the box spent a cycle in each phase, and in the whole, on the source's clock."""
    real = told.really("single")
    mean = means(real)
    sample = statistics.fmean(c.sample_ms for c in real)
    spent = {phase.value: _spent(mean[phase.value], source) for phase in PHASES}
    if source == "device-timer":
        spent["verify"] -= sample  # no forward pass, so it is the rest's
    windows = told.windows("single")
    cycle = statistics.fmean(
        r["cycle_ms"]
        for r in told.truth.requests
        if any(w.start_ns <= r["end_ns"] <= w.end_ns for w in windows)
    )
    names = {"draft": "draft", "verify": "verify", "draft_extend": "extend"}
    shares = {names[phase]: ms for phase, ms in spent.items()}
    return shares | {"rest": cycle - math.fsum(spent.values())}, cycle


def lateness(told: Instrumented) -> float:
    """Return by how much of a cycle the box's answers were longer or shorter than it planned them."""
    planned = means(told.really("single"))["cycle"].gpu_ms
    return abs(really(told, "device-timer")[1] / planned - 1)


def _spent(mean: Mean, source: str) -> float:
    return mean.gpu_ms if source == "device-timer" else mean.host_ms


def split(before: GateRun, after: GateRun, source: str) -> tuple[Decomposition, dict[str, float]]:
    """Return the change as tokgate splits it, and the shares that the truth gives."""
    sides = Instrumented.of(before), Instrumented.of(after)
    (was, cycle_was), (now, cycle_now) = (really(one, source) for one in sides)
    middle = logarithmic_mean(cycle_was, cycle_now)
    true = {part: -(now[part] - was[part]) / middle for part in was}
    return decompose(side(sides[0], source), side(sides[1], source)), true


def shares(found: Decomposition) -> dict[str, Share]:
    assert found.why is None, found.why
    return {share.name: share for share in found.shares}


@EVERY
@pytest.mark.parametrize("source", SOURCES)
def test_each_share_is_what_the_box_says(
    phases: GateRun, planted: GateRun, plant: Plant, source: str
) -> None:
    found, true = split(phases, planted, source)
    mine = shares(found)
    for part, share in true.items():
        assert mine[part].log == pytest.approx(share, abs=WITHIN), f"{part}: {found.text()}"
    assert found.whole is not None
    assert math.fsum(share.log for share in found.shares) == pytest.approx(found.whole.log, abs=1e-9)


@EVERY
def test_what_was_planted_is_seen_and_nothing_else(phases: GateRun, planted: GateRun, plant: Plant) -> None:
    """By the device timer, whose phases no busy machine touches; how late the last tokens were is in the rest."""
    found, _ = split(phases, planted, "device-timer")
    ordered = dict(plant)
    late = sum(lateness(Instrumented.of(run)) for run in (phases, planted))
    cycle = math.fsum(s.before or 0.0 for s in found.shares if s.name != "acceptance")
    for part, share in shares(found).items():
        off = late if part == "rest" else 0.0
        if part == "acceptance":
            assert share.log == pytest.approx(0.0, abs=1e-6)
        elif part in ordered:
            assert share.before is not None
            changed = share.before * (ordered[part] - 1)
            assert share.log == pytest.approx(-changed / cycle, abs=WITHIN + off), f"{part}: {found.text()}"
            if not off:
                assert share.log * (1 - ordered[part]) > 0, f"{part} went the other way: {found.text()}"
        else:
            assert abs(share.log) < SPREAD + off or not share.established, f"{part}: {found.text()}"


@EVERY
def test_the_largest_share_is_a_planted_phases(phases: GateRun, planted: GateRun, plant: Plant) -> None:
    found, _ = split(phases, planted, "device-timer")
    largest = max(shares(found).values(), key=lambda share: abs(share.log))
    assert largest.name in dict(plant), found.text()
