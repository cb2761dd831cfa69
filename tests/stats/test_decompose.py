from __future__ import annotations

import math
import random
from collections.abc import Sequence

import pytest

from tokgate.records.phases import Phase
from tokgate.stats.cycles import Cycles, OfCycle, Part
from tokgate.stats.decompose import decompose, logarithmic_mean
from tokgate.stats.log_shares import Decomposition, Share
from tokgate.stats.phases import reading

NAMES = ("acceptance", "draft", "verify", "extend", "rest")
BASE = {"acceptance": 2.0, "draft": 0.278, "verify": 5.359, "extend": 0.372, "rest": 0.05}
PHASES = {"draft": Phase.DRAFT, "verify": Phase.VERIFY, "extend": Phase.DRAFT_EXTEND}


def side(
    rng: random.Random, truth: dict[str, float], *, n: int = 8, calls: int = 200, noise: float = 0.002
) -> Cycles:
    """Generations and calls of our own making: every number jitters by `noise` around its truth."""

    def around(value: float, count: int) -> tuple[float, ...]:
        return tuple(value * (1 + rng.gauss(0, noise)) for _ in range(count))

    cycle = math.fsum(truth[name] for name in NAMES[1:])
    return Cycles(
        accept_length=around(truth["acceptance"], n),
        cycle_ms=around(cycle, n),
        phases={phase: around(truth[name], calls) for name, phase in PHASES.items()},
    )


def exact(truth: dict[str, float]) -> Cycles:
    return side(random.Random(0), truth, n=2, calls=1, noise=0.0)


def changed(**factors: float) -> dict[str, float]:
    return {name: value * factors.get(name, 1.0) for name, value in BASE.items()}


def share(found: Decomposition, name: str) -> Share:
    return next(s for s in found.shares if s.name == name)


def random_truth(rng: random.Random) -> dict[str, float]:
    return {name: value * math.exp(rng.uniform(-2, 2)) for name, value in BASE.items()}


@pytest.mark.parametrize("seed", range(40))
def test_shares_add_up_to_the_whole_change(seed: int) -> None:
    rng = random.Random(seed)
    before, after = side(rng, random_truth(rng), noise=0.05), side(rng, random_truth(rng), noise=0.05)
    found = decompose(before, after)
    assert found.whole is not None
    assert tuple(s.name for s in found.shares) == NAMES
    assert math.fsum(s.log for s in found.shares) == pytest.approx(found.whole.log, abs=1e-12)
    speeds = [sum(s.accept_length) / sum(s.cycle_ms) for s in (before, after)]
    assert found.whole.factor == pytest.approx(speeds[1] / speeds[0])
    product = math.prod(s.factor for s in found.shares)
    assert product == pytest.approx(found.whole.factor)


@pytest.mark.parametrize("seed", range(40))
def test_trading_places_flips_every_sign(seed: int) -> None:
    rng = random.Random(seed)
    a, b = side(rng, random_truth(rng), noise=0.05), side(rng, random_truth(rng), noise=0.05)
    there, back = decompose(a, b), decompose(b, a)
    for one, other in zip(there.shares, back.shares, strict=True):
        assert one.log == pytest.approx(-other.log, abs=1e-12)
        assert one.interval is not None
        assert other.interval is not None
        assert one.interval == pytest.approx((-other.interval[1], -other.interval[0]), abs=1e-12)


@pytest.mark.parametrize("seed", range(10))
def test_the_same_run_twice_has_no_share(seed: int) -> None:
    run = side(random.Random(seed), BASE)
    found = decompose(run, run)
    assert [s.log for s in found.shares] == pytest.approx([0.0] * 5, abs=1e-15)
    assert not any(s.established for s in found.shares)


@pytest.mark.parametrize("name", NAMES)
def test_one_planted_change_of_5_per_cent_has_the_whole_share(name: str) -> None:
    found = decompose(exact(BASE), exact(changed(**{name: 1.05})))
    assert found.whole is not None
    assert share(found, name).log == pytest.approx(found.whole.log, abs=1e-12)
    assert [s.log for s in found.shares if s.name != name] == pytest.approx([0.0] * 4, abs=1e-12)
    if name == "verify":
        assert found.whole.factor - 1 == pytest.approx(-0.0423, abs=1e-4)


@pytest.mark.parametrize("name", ["acceptance", "verify", "extend"])
@pytest.mark.parametrize("seed", range(5))
def test_a_planted_change_is_found_through_noise_and_nothing_else_is(name: str, seed: int) -> None:
    rng = random.Random(seed)
    found = decompose(
        side(rng, BASE, noise=0.001), side(rng, changed(**{name: 1.05}), noise=0.001), confidence=0.999
    )
    truth = share(decompose(exact(BASE), exact(changed(**{name: 1.05}))), name).log
    mine = share(found, name)
    assert mine.established
    assert mine.interval is not None
    assert mine.interval[0] <= truth <= mine.interval[1]
    assert mine.log == pytest.approx(truth, rel=0.05)
    assert [s.name for s in found.shares if s.established] == [name]


PAIRS = [
    ("verify", "acceptance"),
    ("verify", "draft"),
    ("draft", "extend"),
    ("acceptance", "extend"),
    ("verify", "rest"),
]


@pytest.mark.parametrize(("one", "other"), PAIRS)
@pytest.mark.parametrize("factors", [(1.05, 1.05), (1.05, 0.95), (0.95, 0.95)])
def test_two_planted_changes_are_told_apart(one: str, other: str, factors: tuple[float, float]) -> None:
    """Each has the share that the same milliseconds have in a cycle of the middle length."""
    truth = changed(**{one: factors[0], other: factors[1]})
    found = decompose(exact(BASE), exact(truth))
    cycles = [math.fsum(t[n] for n in NAMES[1:]) for t in (BASE, truth)]
    middle = logarithmic_mean(*cycles)
    for name in NAMES:
        if name == "acceptance":
            expected = math.log(truth[name] / BASE[name])
        else:
            expected = -(truth[name] - BASE[name]) / middle
        assert share(found, name).log == pytest.approx(expected, abs=1e-12)
        assert (abs(share(found, name).log) > 1e-12) == (name in (one, other))


def test_two_that_cancel_each_other_are_seen_although_the_speed_is_the_same() -> None:
    truth = changed(verify=1.05)
    truth["acceptance"] *= math.fsum(truth[n] for n in NAMES[1:]) / math.fsum(BASE[n] for n in NAMES[1:])
    found = decompose(exact(BASE), exact(truth))
    assert found.whole is not None
    assert found.whole.log == pytest.approx(0.0, abs=1e-12)
    assert share(found, "verify").log == pytest.approx(-share(found, "acceptance").log)
    assert share(found, "verify").factor < 0.96


def test_intervals_hold_the_truth_as_often_as_they_say() -> None:
    """400 pairs of runs without and with a change of 5 % in verify; 95 % of the intervals must hold."""
    rng = random.Random(7)
    truth = decompose(exact(BASE), exact(changed(verify=1.05)))
    held = dict.fromkeys((*NAMES, "whole"), 0)
    for _ in range(400):
        found = decompose(
            side(rng, BASE, n=6, calls=20, noise=0.01),
            side(rng, changed(verify=1.05), n=6, calls=20, noise=0.01),
        )
        assert found.whole is not None
        assert truth.whole is not None
        for mine, right in zip((*found.shares, found.whole), (*truth.shares, truth.whole), strict=True):
            assert mine.interval is not None
            held[mine.name] += mine.interval[0] <= right.log <= mine.interval[1]
    assert all(370 <= count <= 396 for count in held.values()), held


def test_length_and_cycle_of_one_generation_vary_together() -> None:
    """Generations that accept more and take longer have one speed: the whole is sharper than its parts."""
    lengths = (1.8, 1.9, 2.0, 2.1, 2.2)
    run = Cycles(accept_length=lengths, cycle_ms=tuple(3 * v for v in lengths))
    found = decompose(run, run.model_copy(update={"cycle_ms": tuple(3.1 * v for v in lengths)}))
    assert found.whole is not None
    assert found.whole.established
    assert not share(found, "acceptance").established


def test_a_phase_of_one_value_has_a_share_and_no_interval() -> None:
    run = side(random.Random(1), BASE)
    timer = run.model_copy(update={"phases": {p: Part(mean_ms=5.0, sd_ms=None, n=900) for p in run.phases}})
    found = decompose(timer, timer)
    assert share(found, "verify").interval is None
    assert share(found, "rest").interval is None
    assert share(found, "acceptance").interval is not None


def test_a_reading_with_its_spread_says_as_much_as_its_calls() -> None:
    rng = random.Random(1)
    before, after = side(rng, BASE), side(rng, changed(verify=1.05))

    def told(run: Cycles) -> Cycles:
        parts: dict[Phase, Part] = {}
        for phase, calls in run.phases.items():
            assert isinstance(calls, tuple)
            found = reading(phase, "probe", "gpu", calls, concurrency=1)
            assert found is not None
            parts[phase] = Part.of(found)
        return run.model_copy(update={"phases": parts})

    by_calls, by_readings = decompose(before, after), decompose(told(before), told(after))
    for one, other in zip(by_calls.shares, by_readings.shares, strict=True):
        assert one.log == pytest.approx(other.log)
        assert one.interval == pytest.approx(other.interval)


def test_without_phases_the_rest_is_the_whole_cycle() -> None:
    found = decompose(exact(BASE).model_copy(update={"phases": {}}), exact(changed(verify=1.05)))
    assert [s.name for s in found.shares] == ["acceptance", "cycle"]
    assert len(found.warnings) == 3
    assert share(found, "cycle").factor == pytest.approx(1 / (1 + 0.05 * 5.359 / 6.059))


def test_phases_beyond_the_cycle_are_told() -> None:
    run = exact(BASE).model_copy(update={"cycle_ms": (5.0, 5.0)})
    assert "add up to more than the cycle" in decompose(run, run).warnings[0]


@pytest.mark.parametrize(
    ("lengths", "cycles", "phases"),
    [
        ((), (1.0,), {}),
        ((1.0,), (), {}),
        ((math.nan,), (1.0,), {}),
        ((1.0,), (0.0,), {}),
        ((-1.0,), (1.0,), {}),
        ((1.0,), (math.inf,), {}),
        ((1.0,), (1e300,), {}),
        ((1.0,), (1.0,), {Phase.VERIFY: (math.nan,)}),
        ((1.0,), (1.0,), {Phase.VERIFY: (-1.0,)}),
    ],
)
def test_odd_numbers_are_refused_in_words(
    lengths: Sequence[float], cycles: Sequence[float], phases: dict[Phase, tuple[float, ...]]
) -> None:
    odd = Cycles(accept_length=tuple(lengths), cycle_ms=tuple(cycles), phases=phases)
    for found in (decompose(odd, exact(BASE)), decompose(exact(BASE), odd)):
        assert (found.whole, found.shares) == (None, ())
        assert found.why
        assert "cannot be split" in found.text()


def test_tiny_spreads_do_not_vanish_into_a_division_by_zero() -> None:
    run = Cycles(accept_length=(2.0, 2.0), cycle_ms=(6.0, 6.0), phases={Phase.VERIFY: (0.0, 1e-160)})
    assert decompose(run, run).whole is not None


def test_the_line_begins_with_the_largest_share() -> None:
    words = decompose(exact(BASE), exact(changed(verify=1.05, acceptance=0.99))).text()
    assert words.startswith("tok/s -5.2%: verify -4.2%, acceptance -1.0%, ")


@pytest.mark.parametrize(("a", "b"), [(1.0, 2.0), (5.0, 5.0000001), (1e-9, 1e9), (3.0, 1.0)])
def test_the_logarithmic_mean_lies_between(a: float, b: float) -> None:
    assert min(a, b) < logarithmic_mean(a, b) < max(a, b)
    assert logarithmic_mean(a, b) == pytest.approx(logarithmic_mean(b, a))


def of_cycle(truth: dict[str, float], *, starts: tuple[float, ...] = (0.999, 1.0, 1.001)) -> Cycles:
    """Phases as parts of the cycle of another launch, whatever that launch's own speed was."""
    cycle = math.fsum(truth[name] for name in NAMES[1:])
    return Cycles(
        accept_length=(truth["acceptance"],) * 3,
        cycle_ms=(cycle,) * 3,
        phases={p: OfCycle(parts=tuple(truth[n] / cycle * v for v in starts)) for n, p in PHASES.items()},
    )


@pytest.mark.parametrize("name", NAMES)
def test_parts_of_a_cycle_split_as_milliseconds_do(name: str) -> None:
    after = changed(**{name: 1.05})
    by_ms, by_part = decompose(exact(BASE), exact(after)), decompose(of_cycle(BASE), of_cycle(after))
    assert [s.name for s in by_part.shares] == list(NAMES)
    assert [s.log for s in by_part.shares] == pytest.approx([s.log for s in by_ms.shares], abs=1e-12)
    assert math.fsum(s.log for s in by_part.shares) == pytest.approx(
        by_part.whole.log if by_part.whole else 0
    )


def test_of_one_start_what_a_phase_has_more_the_rest_has_less() -> None:
    """Verify and draft that trade places in every start leave the rest as sharp as it is."""
    base = of_cycle(BASE)
    traded = {
        Phase.VERIFY: OfCycle(parts=(0.80, 0.84, 0.88)),
        Phase.DRAFT: OfCycle(parts=(0.12, 0.08, 0.04)),
    }
    run = base.model_copy(update={"phases": traded})
    found = decompose(run, run)
    assert share(found, "rest").interval == pytest.approx((0.0, 0.0), abs=1e-9)
    verify = share(found, "verify").interval
    assert verify is not None
    assert verify[1] - verify[0] > 0.1


def test_a_single_part_has_a_share_and_no_interval() -> None:
    run = of_cycle(BASE, starts=(1.0,))
    found = decompose(run, of_cycle(changed(verify=1.05), starts=(1.0,)))
    assert share(found, "verify").interval is None
    assert share(found, "verify").log == pytest.approx(-0.0433, abs=1e-4)
    assert share(found, "acceptance").interval is not None


def test_prompts_differ_more_than_runs_do_and_pairs_know_it() -> None:
    """Accept length from 1.5 to 2.5 by prompt; the second run is 1 % slower on every one of them."""
    lengths = tuple(1.5 + n / 7 for n in range(8))
    cycles = tuple(6.0 + 0.1 * n for n in range(8))
    before = Cycles(accept_length=lengths, cycle_ms=cycles)
    after = Cycles(accept_length=lengths, cycle_ms=tuple(v * 1.01 for v in cycles))
    alone, paired = decompose(before, after), decompose(before, after, paired=True)
    for one, other in zip(alone.shares, paired.shares, strict=True):
        assert one.log == pytest.approx(other.log)
    assert not share(alone, "cycle").established
    assert share(paired, "cycle").established
    assert share(paired, "acceptance").interval == pytest.approx((0.0, 0.0), abs=1e-12)
    assert paired.whole is not None
    assert paired.whole.established


def test_paired_intervals_hold_the_truth_as_often_as_they_say() -> None:
    rng = random.Random(11)
    truth = decompose(of_cycle(BASE), of_cycle(changed(verify=1.05)))
    held = dict.fromkeys((*NAMES, "whole"), 0)
    for _ in range(400):
        prompts = [1 + rng.gauss(0, 0.1) for _ in range(6)]

        def run(values: dict[str, float], prompts: list[float] = prompts) -> Cycles:
            cycle = math.fsum(values[name] for name in NAMES[1:])
            return Cycles(
                accept_length=tuple(values["acceptance"] * p * (1 + rng.gauss(0, 0.01)) for p in prompts),
                cycle_ms=tuple(cycle * (1 + rng.gauss(0, 0.01)) for _ in prompts),
                phases={
                    p: OfCycle(parts=tuple(values[n] / cycle * (1 + rng.gauss(0, 0.01)) for _ in range(6)))
                    for n, p in PHASES.items()
                },
            )

        found = decompose(run(BASE), run(changed(verify=1.05)), paired=True)
        assert found.whole is not None
        assert truth.whole is not None
        for mine, right in zip((*found.shares, found.whole), (*truth.shares, truth.whole), strict=True):
            assert mine.interval is not None
            held[mine.name] += mine.interval[0] <= right.log <= mine.interval[1]
    assert all(365 <= count <= 398 for count in held.values()), held


def test_sides_of_different_length_are_no_pairs() -> None:
    run = exact(BASE)
    longer = run.model_copy(update={"cycle_ms": (*run.cycle_ms, run.cycle_ms[0])})
    assert "cannot be paired" in decompose(run, longer, paired=True).text()
