"""What a self-test showed the gate of this host to see, as reports say it beside their verdicts."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from tokgate.errors import UsageError
from tokgate.records import Fingerprint
from tokgate.records.selftest import Found, Qualification
from tokgate.rig.models import Rig
from tokgate.verdicts.selftest_file import COPY, bounds, load_selftest, percent, qualification

from . import figures

COLUMNS = (
    "planted",
    "workload",
    "really lost",
    "called",
    "95 % bound",
    "resampled",
    "one run alone",
    "sees from",
)
NOTE = (
    "Sessions of a few server runs each against the first ones as their baseline, at the level of a session of this rig, "
    "confirmed by restarts; bounds are Clopper-Pearson's, one-sided. Resampled: other runs as baseline and as session, which share "
    "runs, so no bound. One run alone: before confirmation. Sees from: the smallest loss that such a session would have "
    "called with the power asked for."
)


def qualification_of(folder: Path, rig: Rig, fingerprint: Fingerprint | None) -> Qualification:
    """Read the copy in a run's folder; one that cannot be read says nothing, and says so."""
    copy = folder / COPY
    if not os.path.lexists(copy):
        return qualification(None, rig, fingerprint)
    try:
        return qualification(load_selftest(copy), rig, fingerprint)
    except UsageError as error:
        return Qualification(
            words=f"the self-test in this run cannot be read: {error.found}", qualified=False
        )


def lines(found: Qualification | None) -> tuple[str, ...]:
    """Return the sentence for head and foot of a report."""
    if found is None:
        return ()
    return (f"self-test: {found.words}" + (f" ({found.do})" if found.do else ""),)


def numeric(column: int) -> bool:
    return column != 1


def tabled(found: Qualification) -> Iterator[tuple[str, ...]]:
    """Yield a row for each planted loss, and one for each comparison of an unchanged server that alarmed."""
    speeds = {(one.workload, one.metric) for one in found.found if one.planted}
    for one in found.found:
        if (one.workload, one.metric) in speeds or one.trials.seen:
            yield _row(one, told=(one.workload, one.metric) not in speeds)


def _row(one: Found, *, told: bool) -> tuple[str, ...]:
    really = "" if one.really is None else percent(one.really)
    if one.really_interval is not None:
        low, high = map(percent, one.really_interval)
        really += f" ({low} to {high})"
    return (
        percent(one.planted) if one.planted else "nothing",
        f"{one.workload} {one.metric}" if told else one.workload,
        really or figures.NONE,
        f"{one.trials.seen} of {one.trials.of}",
        bounds(one.trials),
        f"{one.resampled[0]} of {one.resampled[1]}",
        f"{one.alone.seen} of {one.alone.of}",
        figures.NONE if one.smallest is None else percent(one.smallest),
    )
