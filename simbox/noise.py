"""What differs from step to step, from request to request and from start to start, all drawn from one seed."""

from __future__ import annotations

import math
import random

from simbox.knobs import Knobs


class Noise:
    """Factors on a step. The same seed and start number give the same series."""

    def __init__(self, knobs: Knobs, *, seed: int, start: int) -> None:
        self._knobs = knobs
        self._random = random.Random(f"noise/{seed}/{start}")  # noqa: S311 - repeatable on purpose
        self.start_factor = self._spread(knobs.noise_start)
        self.slow_mode = self._random.random() < knobs.slow_mode_share
        self._request = 1.0

    @property
    def mode_factor(self) -> float:
        """On all-reduces: the two-mode restarts seen with NCCL 2.30."""
        return self._knobs.slow_mode_factor if self.slow_mode else 1.0

    def next_request(self) -> None:
        """Draw the factor that the coming generation keeps."""
        self._request = self._spread(self._knobs.noise_request)

    def step(self, age_s: float) -> float:
        """Factor for one step of a server that is `age_s` seconds old."""
        drift = 1.0 + self._knobs.drift_per_minute * age_s / 60
        return self.start_factor * self._request * self._spread(self._knobs.noise_step) * drift

    def _spread(self, share: float) -> float:
        # Log-normal with mean 1, so that noise does not shift what the model was calibrated to.
        return math.exp(self._random.gauss(-share * share / 2, share)) if share else 1.0
