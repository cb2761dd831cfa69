"""docs/verdicts.md states rules and numbers; they are those of the code."""

from __future__ import annotations

import pkgutil
from pathlib import Path

import pytest

from tokgate.records import EXIT_CODES, Outcome
from tokgate.stats.compare import needed_a_side
from tokgate.stats.steady import NEEDED_FOR_TREND
from tokgate.stats.summary import needed_for_interval
from tokgate.verdicts import checks
from tokgate.verdicts.break_even import break_even
from tokgate.verdicts.checks import client_headroom, steadiness
from tokgate.verdicts.metrics import METRICS, Metric
from tokgate.verdicts.pinned import pinned_range
from tokgate.verdicts.speculating import USELESS

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

    assert f"| `{metric.name}` | {metric.unit} | {metric.better} | {floors} |" in TEXT


def test_the_numbers_in_the_text() -> None:
    assert f"needs {needed_a_side()} values a side" in FLAT
    assert f"It needs {needed_for_interval()} values" in FLAT
    assert f"4 starts for any comparison, {NEEDED_FOR_TREND} for a trend, **6 for everything**" in FLAT
    assert f"within {steadiness.SPREAD:.0%}".replace("%", " %") in FLAT
    assert f"at most {client_headroom.LIMIT:.0%}".replace("%", " %") in FLAT
    assert f"At {USELESS} or less" in FLAT


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
