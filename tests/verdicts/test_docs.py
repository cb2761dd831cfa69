"""docs/verdicts.md states rules and numbers; they are those of the code."""

from __future__ import annotations

import pkgutil
from pathlib import Path

import pytest
from scipy import special

from tests.verdicts.evidence import STEADY
from tokgate.records import EXIT_CODES, Outcome
from tokgate.rig.launches import SamplingSpec
from tokgate.rig.limits import Floor
from tokgate.stats.bounds import DETECT, MODES, runs_to_confirm
from tokgate.stats.compare import needed_a_side
from tokgate.stats.levels import PRIOR_DF, PRIOR_SHARE, PRIOR_WEIGHT, RunValues
from tokgate.stats.modes import ALONE, GAP
from tokgate.stats.steady import BEYOND_LEVEL, FIRST_LEVEL, NEEDED_FOR_TREND, TREND_LEVEL
from tokgate.stats.summary import needed_for_interval
from tokgate.verdicts import checks
from tokgate.verdicts.break_even import break_even
from tokgate.verdicts.clocks import CAPPED_SPREAD, CLOCK_SPREAD
from tokgate.verdicts.drifting import KNOWN, UNKNOWN_SD, drift_among
from tokgate.verdicts.family import OF_KIND, PRIMARY_SHARE
from tokgate.verdicts.headroom import LIMIT
from tokgate.verdicts.metrics import METRICS, Metric
from tokgate.verdicts.pinned import pinned_range
from tokgate.verdicts.speculating import USELESS
from tokgate.verdicts.unsteady import SPREAD

TEXT = (Path(__file__).parents[2] / "docs/verdicts.md").read_text(encoding="utf-8")
FLAT = " ".join(TEXT.split())


@pytest.mark.parametrize("outcome", Outcome)
def test_every_outcome_stands_with_its_exit_code(outcome: Outcome) -> None:
    (row,) = (line for line in TEXT.splitlines() if line.startswith(f"| `{outcome.value}` |"))

    assert f"| {EXIT_CODES[outcome]} |" in row


@pytest.mark.parametrize("check", [*(m.name for m in pkgutil.iter_modules(checks.__path__)), "drift"])
def test_every_check_has_its_rule(check: str) -> None:
    assert f"| `{check}` |" in TEXT


@pytest.mark.parametrize("metric", METRICS.values(), ids=lambda m: m.name)
def test_every_metric_stands_with_its_floors(metric: Metric) -> None:
    floors = f"{metric.relative_floor:.1%} | {metric.absolute_floor:g}"

    assert f"| `{metric.name}` | {metric.unit} | {metric.better} | {floors} | {metric.scale} |" in TEXT


def test_the_numbers_in_the_text() -> None:
    assert f"needs {needed_a_side()} values a side" in FLAT
    assert f"`[sampling] false_alarm`, {SamplingSpec().false_alarm:.0%} for all".replace("1%", "1 %") in FLAT
    assert f"baselines have {OF_KIND['stored']:.0%}".replace("%", " %") in FLAT
    assert (
        f"one and a half floors ({DETECT * METRICS['decode_tok_s'].relative_floor:.0%} of speed)".replace(
            "%", " %"
        )
        in FLAT
    )
    assert DETECT == 1.5
    # four fifths, a quarter, two further runs
    assert (PRIMARY_SHARE, PRIOR_SHARE, PRIOR_WEIGHT) == (0.8, 0.25, 2)
    assert runs_to_confirm(6) == 3
    assert f"a chance of at most {MODES:.1%}".replace("%", " %") in FLAT
    assert f"It needs {needed_for_interval()} values" in FLAT
    alone = float(special.stdtrit(PRIOR_DF, 0.975)) * PRIOR_SHARE * METRICS["decode_tok_s"].relative_floor
    assert f"{alone * 100:.1f} % either way at a floor of 2 %" in FLAT
    assert f"4 starts for a sweep, {NEEDED_FOR_TREND} for a trend, **6 for everything**" in FLAT
    assert f"within {SPREAD:.0%}".replace("%", " %") in FLAT
    assert f"at most {LIMIT:.0%}".replace("%", " %") in FLAT
    assert f"At {USELESS} or less" in FLAT
    assert f"at most {CLOCK_SPREAD:.0%} apart between windows".replace("%", " %") in FLAT
    assert f"runs of an arm, {CAPPED_SPREAD:.0%} at a power limit".replace("%", " %") in FLAT
    assert f"p ≤ {TREND_LEVEL}" in FLAT
    assert f"would reach in {FIRST_LEVEL:.0%} of cases at most".replace("%", " %") in FLAT
    assert f"near end of its {1 - 2 * BEYOND_LEVEL:.0%} interval".replace("%", " %") in FLAT
    assert f"{GAP:.0f} times that spread, shrunk" in FLAT
    assert f"({ALONE[4]:.0f} for four runs, {ALONE[8]:.0f} from eight on)" in FLAT
    pair = [RunValues(session="now", launch=name, values=STEADY) for name in ("before", "after")]
    granted = drift_among(pair, Floor(relative=0.02, absolute=0.5)).restarts
    assert (
        f"once {KNOWN} restarts beyond the first of their session are known; until then {granted:.1%}".replace(
            "%", " %"
        )
        in FLAT
    )
    assert f"from a standard deviation of {UNKNOWN_SD:.0%}".replace("%", " %") in FLAT


def test_the_examples_in_the_text() -> None:
    example = break_even(accept_length=1.85, tokens=256, decode_ms=1000 / 88.8, cycle_ms=30.6)
    pin = pinned_range(
        2.5, num_steps=2, method="match-expected", generations=1, verify_calls=102, concurrency=1
    )

    good = break_even(accept_length=1.85, tokens=256, decode_ms=1000 / 88.8, cycle_ms=19.7)
    phases = (Path(__file__).parents[2] / "docs/phases.md").read_text(encoding="utf-8")
    told = f"{good.cycle_budget(0.02):.2f} ms a cycle, of which 0.7 ms are not verify, leave {good.phase_budget(19.0, 0.02):.1f} ms"

    assert example.text() in TEXT
    assert told in " ".join(phases.split())
    assert f"{pin.low:.2f} to {pin.high:.2f}" in FLAT
