"""What an instrumented launch leaves in its folder, by name."""

from __future__ import annotations

from tokgate.records import Record

PROBE = "probe"  # folder of the checkout, of the launch on another machine, and of what came home
TIMER = "SGLANG_ENABLE_METRICS_DEVICE_TIMER"
CLOCK = "clock.json"
LEFT = "left.json"


class HostClock(Record):
    """The host's monotonic clock less the gate's, nanoseconds, and how far that may be off."""

    offset_ns: int = 0
    within_ns: int = 0


class Left(Record):
    """Files of the probe that stayed behind, and why there is none at all."""

    files: dict[str, str] = {}
    why: str | None = None


def scrape_name(workload: str, when: str) -> str:
    """Return the file of a scrape `when` ("before", "after") a workload's judged starts."""
    return f"metrics-{workload}-{when}.prom"
