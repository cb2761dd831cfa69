"""Heat throttles after a while, a hang draws little power."""

from __future__ import annotations

import dataclasses

from simbox.heat import MAX_MHZ, heat
from simbox.knobs import Knobs

HOT = dataclasses.replace(Knobs(), heat_after_s=10.0, heat_factor=1.5)


def test_it_throttles_under_load_once_it_is_hot() -> None:
    before, after = (heat(HOT, busy=True, hanging=False, loaded_s=s) for s in (9.0, 11.0))
    assert (before.throttled, before.factor, before.sm_mhz) == (False, 1.0, MAX_MHZ)
    assert (after.throttled, after.factor, after.sm_mhz) == (True, 1.5, MAX_MHZ / 1.5)
    assert after.celsius > before.celsius


def test_by_default_it_never_does() -> None:
    assert not heat(Knobs(), busy=True, hanging=False, loaded_s=1e6).throttled


def test_a_hang_is_busy_by_the_counter_and_idle_by_the_power() -> None:
    hang, work = (heat(Knobs(), busy=True, hanging=h, loaded_s=1.0) for h in (True, False))
    assert hang.utilization == 100
    assert hang.watts < work.watts / 3
