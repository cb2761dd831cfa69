"""Compute processes that the driver named, and whose they are.

A process of the server's tree is ours. Where not one of those the driver names is in the server's tree, its
pids belong to another pid namespace (a container): then whoever was there at the first answer, right after
a start on a clean machine, is taken for the server, and only who comes later is a stranger.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import pairwise

from tokgate.records.telemetry import HolderRow, Holding, ProcessRow, Stranger

# The driver is asked who computes about once a second; after three answers' time nobody knows.
LONGEST_SILENCE_S = 3.0
NAMES_NOBODY = "the driver names no compute process here, not even the server's own"
NS = 1_000_000_000
Key = tuple[int, int | None]


class Strangers:
    """Built once per launch from its rows, which are sorted by time."""

    def __init__(self, answers: Sequence[HolderRow], processes: Sequence[ProcessRow]) -> None:
        self._answers = answers
        self._stamps = [row.at_ns for row in answers]
        self._who: dict[Key, ProcessRow] = {(p.pid, p.start_ticks): p for p in processes}
        self._own_pids = {p.pid for p in processes if p.ours}
        self.own_seen = bool(self._own_pids)
        first = next((row.holders for row in answers if row.holders), ())
        self._assumed: frozenset[Key] = (
            frozenset() if self.own_seen else frozenset((h.pid, h.start_ticks) for h in first)
        )

    def during(self, start: int, end: int) -> tuple[tuple[Stranger, ...] | None, str | None]:
        """Return the strangers of a window, or None and why they cannot be told.

        The first answer after the window counts as well: who appears in it may have begun within.
        """
        if not any(row.holders for row in self._answers):
            return None, NAMES_NOBODY
        first, beyond = bisect_left(self._stamps, start), bisect_right(self._stamps, end)
        counted = self._answers[first : beyond + 1]
        found: dict[Key, Stranger] = {}
        for row in counted:
            for holding in row.holders:
                key = (holding.pid, holding.start_ticks)
                if self._ours(key):
                    continue
                after_s = round((row.at_ns - start) / NS, 3)
                found[key] = self._more(found.get(key), holding, after_s)
        # Half a picture is enough to have seen somebody, and too little to have seen nobody.
        if not found and (why := self._silence(start, end)) is not None:
            return None, why
        return tuple(found.values()), None

    def _ours(self, key: Key) -> bool:
        pid, start_ticks = key
        if start_ticks is None and pid in self._own_pids:
            return True  # it was the server's, and ended between the driver's answer and the look at it
        who = self._who.get(key)
        return key in self._assumed or (who is not None and who.ours is True)

    def _silence(self, start: int, end: int) -> str | None:
        first, beyond = bisect_right(self._stamps, start) - 1, bisect_left(self._stamps, end)
        enclosing = [start if first < 0 else self._stamps[first]]
        enclosing += self._stamps[first + 1 : beyond + 1]
        if beyond >= len(self._stamps):
            enclosing.append(end)
        longest = max((b - a for a, b in pairwise(enclosing)), default=0) / NS
        return f"{longest:.1f} s without an answer to who computes" if longest > LONGEST_SILENCE_S else None

    def _more(self, before: Stranger | None, holding: Holding, after_s: float) -> Stranger:
        who = self._who.get((holding.pid, holding.start_ticks))
        note = None
        if holding.start_ticks is None or who is None:
            note = "not in the host's process table: in another pid namespace, or it has just ended"
        gpus = {*(before.gpus if before else ()), *(() if holding.gpu is None else (holding.gpu,))}
        used = [u for u in (before.used_mib if before else None, holding.used_mib) if u is not None]
        return Stranger(
            pid=holding.pid,
            start_ticks=holding.start_ticks,
            gpus=tuple(sorted(gpus)),
            user=who.user if who else None,
            command=(who.command if who else None) or holding.name,
            used_mib=max(used, default=None),
            seen_after_s=before.seen_after_s if before else after_s,
            note=note,
        )
