"""Waiting for absolute deadlines on the event loop, to the tenth of a millisecond.

asyncio's own timers round up to whole milliseconds (epoll_wait takes no less), which at 11 ms a step would be seen.
A timerfd wakes the loop exactly. Deadlines are absolute: a late wake-up delays one step and not all that follow.
"""

from __future__ import annotations

import asyncio
import ctypes
import os
import time

_CLOCK_MONOTONIC = 1
_ABSOLUTE = 1
_NONBLOCK = 0o4000
_CLOSE_ON_EXEC = 0o2000000


class _TimeSpec(ctypes.Structure):
    _fields_ = [("seconds", ctypes.c_long), ("nanoseconds", ctypes.c_long)]


class _TimerSpec(ctypes.Structure):
    _fields_ = [("interval", _TimeSpec), ("value", _TimeSpec)]


class Pacer:
    """One waiter at a time; close it when done."""

    def __init__(self) -> None:
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._fd: int = self._libc.timerfd_create(_CLOCK_MONOTONIC, _NONBLOCK | _CLOSE_ON_EXEC)
        if self._fd < 0:
            raise OSError(ctypes.get_errno(), "timerfd_create")
        self._waiter: asyncio.Future[None] | None = None
        asyncio.get_running_loop().add_reader(self._fd, self._ring)

    async def until(self, deadline_ns: int) -> int:
        """Wait for a moment of time.monotonic_ns(); return how late it became, in ns."""
        if deadline_ns > time.monotonic_ns():
            self._waiter = asyncio.get_running_loop().create_future()
            spec = _TimerSpec(_TimeSpec(0, 0), _TimeSpec(*divmod(deadline_ns, 10**9)))
            self._libc.timerfd_settime(self._fd, _ABSOLUTE, ctypes.byref(spec), None)
            await self._waiter
        else:
            await asyncio.sleep(0)  # behind schedule: let arrivals and answers in all the same
        return time.monotonic_ns() - deadline_ns

    def close(self) -> None:
        asyncio.get_running_loop().remove_reader(self._fd)
        os.close(self._fd)

    def _ring(self) -> None:
        try:
            os.read(self._fd, 8)
        except BlockingIOError:
            return
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)
