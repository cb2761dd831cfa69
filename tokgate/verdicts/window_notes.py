"""What telemetry tells the reader of a launch and no check objects to."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tokgate.records import LaunchEvidence
from tokgate.records.telemetry import Window

from .host_load import busy_words

# Rows a second that the watching aims at on the same machine; fewer are noted.
WANTED_HZ = 5.0
# What a neighbour on the hypervisor took of all cores.
STEAL = 0.01


def notes(launch: LaunchEvidence) -> tuple[str, ...]:
    """Return what a reader of the launch should know and no check objects to."""
    told = launch.telemetry
    if told is None:
        return ()
    windows = tuple(w for w in launch.windows if not w.warmup)
    found = list(told.problems)
    if told.dropped:
        found.append(f"{told.dropped} rows did not fit into telemetry.jsonl and are lost")
    if told.gpus:
        found += _of_rate(launch)
        found += _counted(windows, [w.unknown for w in windows], "what the GPUs did is unknown")
        found += _counted(windows, [w.strangers_unknown for w in windows], "other processes cannot be told")
        capped = [w for w in windows if any("sw_power_cap" in (g.reasons or {}) for g in w.gpus)]
        if capped:
            found.append(
                f"sw_power_cap was active in {len(capped)} of {len(windows)} windows: normal under full load"
            )
        found += [f"no GPU tells {name}: {why}" for name, why in sorted(told.missing.items())]
    found += _counted(windows, [w.host_unknown for w in windows], "the host's load is unknown")
    if (busy := busy_words(windows)) is not None:
        found.append(f"{busy}; by whom, no row tells")
    stolen = max((w.host_steal for w in windows if w.host_steal is not None), default=0.0)
    if stolen > STEAL:
        found.append(
            f"the hypervisor gave up to {stolen:.1%} of the host's time to somebody else in one window"
        )
    return tuple(found)


def _of_rate(launch: LaunchEvidence) -> Iterable[str]:
    rate = launch.telemetry.hz.get("gpus") if launch.telemetry else None
    if rate is None or rate >= WANTED_HZ * 0.95:
        return
    yield f"{rate:.1f} rows a second came, {WANTED_HZ:g} are wanted: short dips of a clock may be missed"


def _counted(windows: Sequence[Window], reasons: Sequence[str | None], what: str) -> Iterable[str]:
    """Yield one line for all windows that share a shortcoming, with the first reason."""
    given = [why for why in reasons if why is not None]
    if given:
        yield f"{what} in {len(given)} of {len(windows)} windows: {given[0]}"
