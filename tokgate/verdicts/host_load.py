"""Whether the host's cores were all at work while something was measured: by whom, the rows do not tell."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from tokgate.records import LaunchEvidence
from tokgate.records.telemetry import Window

from .window import judged

# Of all cores. A server's own scheduler and tokenizer keep some ten cores at work whatever the box has, of a hundred and
# more on a host of eight GPUs; where nine in ten of all are, its threads wait for one, and every step waits with them.
BUSY = 0.9
HALF = 0.5


def busy_words(windows: Sequence[Window]) -> str | None:
    """Return "98% busy, load 6.8 at most" of the windows in which the host was busy all over; None where in none it was."""
    busy = [w for w in windows if w.host_busy is not None and w.host_busy >= BUSY]
    if not busy:
        return None
    share = statistics.fmean(w.host_busy for w in busy if w.host_busy is not None)
    loads = [w.load1 for w in busy if w.load1 is not None]
    load = f", load {max(loads):.1f} at most" if loads else ""
    return f"all cores of the host {share:.0%} busy in {len(busy)} of {len(windows)} windows{load}"


def busy_while(launch: LaunchEvidence, workload: str) -> str | None:
    """Return the same of one workload of a launch, its warm-ups aside; None where the host was so in fewer than half of it."""
    windows = judged(launch, workload)
    busy = [w for w in windows if w.host_busy is not None and w.host_busy >= BUSY]
    return busy_words(windows) if len(busy) >= HALF * len(windows) else None
