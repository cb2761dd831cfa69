"""Faults that wait for a certain request. They strike when half of its tokens are out."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path

from simbox.box import send_squatter
from simbox.knobs import Knobs
from simbox.request import Request


class Faults:
    """Counts generations and lets the scenario's faults strike."""

    def __init__(self, knobs: Knobs, *, state: Path, rank_pids: tuple[int, ...]) -> None:
        self._knobs, self._state, self._rank_pids = knobs, state, rank_pids
        self._count = 0
        self._invited = False
        self.hanging = False
        self.counting = False  # the server's own warm-up does not count

    def arrived(self) -> int:
        """Number the coming generation, from 1; 0 for the server's own."""
        self._count += self.counting
        return self._count if self.counting else 0

    def passing(self, request: Request) -> str | None:
        """Look at a running request; "cut": break its stream off."""
        knobs, number = self._knobs, request.number
        if not number or 2 * len(request.output) < request.max_new:
            return None
        if number == knobs.die_at_request:
            os.kill(self._rank_pids[-1], signal.SIGKILL)
        if number == knobs.hang_at_request:
            self.hanging = True
        if number == knobs.foreign_at_request and not self._invited:
            self._invited = True
            threading.Thread(target=self._invite, daemon=True).start()
        if knobs.cut_every and number % knobs.cut_every == 0 and request.stream:
            return "cut"
        return None

    def _invite(self) -> None:
        knobs = self._knobs
        if (self._state / "guest").exists():
            (self._state / "invitation").touch()
        else:  # the box was put up with another scenario than this server's
            send_squatter(
                self._state, gpu=knobs.foreign_gpu, mib=knobs.leftover_mib, life_s=knobs.stray_life_s
            )
