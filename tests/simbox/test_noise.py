"""Noise repeats with its seed, keeps its mean, and modes come by start."""

from __future__ import annotations

import dataclasses

import pytest

from simbox.knobs import Knobs
from simbox.noise import Noise


def series(seed: int, start: int, knobs: Knobs | None = None, count: int = 50) -> list[float]:
    noise = Noise(knobs or Knobs(), seed=seed, start=start)
    return [noise.step(0.0) for _ in range(count)]


def test_the_seed_and_the_start_decide() -> None:
    assert series(1, 1) == series(1, 1)
    assert series(1, 1) != series(1, 2) != series(2, 2)


def test_it_does_not_shift_what_was_calibrated() -> None:
    wide = dataclasses.replace(Knobs(), noise_step=0.1)
    values = series(1, 1, wide, 20000)
    assert sum(values) / len(values) == pytest.approx(1.0, abs=0.005)


def test_without_spread_nothing_moves() -> None:
    still = dataclasses.replace(Knobs(), noise_step=0.0, noise_request=0.0, noise_start=0.0)
    assert series(1, 1, still) == [1.0] * 50


def test_drift_grows_with_age() -> None:
    knobs = dataclasses.replace(
        Knobs(), noise_step=0.0, noise_request=0.0, noise_start=0.0, drift_per_minute=0.12
    )
    assert Noise(knobs, seed=1, start=1).step(60.0) == pytest.approx(1.12)


def test_about_half_of_all_starts_are_slow() -> None:
    knobs = dataclasses.replace(Knobs(), slow_mode_share=0.5)
    modes = [Noise(knobs, seed=1, start=start).mode_factor for start in range(400)]
    assert set(modes) == {1.0, knobs.slow_mode_factor}
    assert 160 <= modes.count(1.0) <= 240
