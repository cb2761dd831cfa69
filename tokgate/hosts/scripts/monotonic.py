"""Tells the host's monotonic clock, nanoseconds."""

from __future__ import annotations

import time


def main(_: object) -> int:
    return time.monotonic_ns()
