"""What an instrumented launch leaves in its folder, by name."""

from __future__ import annotations

from tokgate.records import Record

PROBE = "probe"  # folder of the checkout, of the launch on another machine, and of what came home
TIMER = "SGLANG_ENABLE_METRICS_DEVICE_TIMER"
CLOCK = "clock.json"
LEFT = "left.json"
TRACE = "trace.json"  # beside the folder of the traces


class HostClock(Record):
    """The host's monotonic clock less the gate's, nanoseconds, and how far that may be off."""

    offset_ns: int = 0
    within_ns: int = 0


class Left(Record):
    """Files of the probe that stayed behind, and why there is none at all."""

    files: dict[str, str] = {}
    why: str | None = None
    switch: str | None = None  # why the probe's switch could not be turned


class TraceTaken(Record):
    """Under which load torch's profiler watched, and what is not in the run folder."""

    workload: str | None = None
    concurrency: int = 1
    files: dict[str, str] = {}  # trace -> why it stayed behind
    why: str | None = None  # why there is no trace, or not every rank's


def probe_folder(node: int) -> str:
    """Return the folder of a launch that holds what a node's probe has written."""
    return PROBE if node == 0 else f"{PROBE}-node{node}"


def scrape_name(workload: str, when: str) -> str:
    """Return the file of a scrape `when` ("before", "after") a workload's judged starts."""
    return f"metrics-{workload}-{when}.prom"
