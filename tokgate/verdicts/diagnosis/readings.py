"""What was measured of an arm, raw: a diagnosis also looks at numbers that no verdict may rest on, and says so."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence

from tokgate.records import Generation, LaunchEvidence, RunEvidence
from tokgate.records.side import BASE
from tokgate.verdicts.cycle_side import Side, carried
from tokgate.verdicts.launch_phases import LaunchPhases, phases_told
from tokgate.verdicts.series import Series, series_of


def timed(run: RunEvidence, arm: str) -> tuple[LaunchEvidence, ...]:
    """Return the launches whose numbers are the arm's; of an arm that was not timed, those with instruments."""
    found = tuple(
        e for e in run.launches if e.launch.arm == arm and e.launch.stands_for_arm and e.generations
    )
    return found or carried(run, arm)


def timed_bases(run: RunEvidence, arm: str) -> tuple[LaunchEvidence, ...]:
    """Return the server runs of an arm on the base of a change that are timed."""
    return tuple(e for e in _bases(run, arm) if e.launch.role == "side" and e.generations)


def _bases(run: RunEvidence, arm: str) -> tuple[LaunchEvidence, ...]:
    return tuple(e for e in run.launches if e.launch.arm == arm and e.launch.side == BASE)


def good_of(launch: LaunchEvidence, workload: str) -> tuple[Generation, ...]:
    mine = [g for g in launch.generations if g.workload == workload and g.good and not g.warmup]
    return tuple(sorted(mine, key=lambda g: (g.batch, g.slot, g.index)))


def raw_series(launch: LaunchEvidence, workload: str) -> Mapping[str, Series]:
    """Return every metric that the good generations have, whatever speaks against the launch."""
    return series_of(good_of(launch, workload))[0]


def raw_side(run: RunEvidence, arm: str, workload: str) -> Side | None:
    """Return an arm's numbers under one workload; None where no stream told its decode rate."""
    return _raw(run, timed(run, arm), carried(run, arm), workload)


def raw_base(run: RunEvidence, arm: str, workload: str) -> Side | None:
    """Return the same of the base of a change that was measured beside the arm; None where none was."""
    carrying = [e for e in _bases(run, arm) if e.launch.carries]
    return _raw(run, timed_bases(run, arm), carrying, workload)


def _raw(
    run: RunEvidence, mine: Sequence[LaunchEvidence], carrying: Sequence[LaunchEvidence], workload: str
) -> Side | None:
    told = [s for e in mine if "decode_tok_s" in (s := raw_series(e, workload))]
    if not told:
        return None
    lengths, cycles = (
        tuple(tuple(statistics.fmean(start) for start in s[metric].by_start) for s in told if metric in s)
        for metric in ("accept_length", "cycle_ms")
    )
    whole = len(lengths) == len(cycles) == len(told)
    return Side(
        label=run.info.run_id,
        launches=len(told),
        decode_tok_s=tuple(v for s in told for v in s["decode_tok_s"].values),
        accept_length=lengths if whole else (),
        cycle_ms=cycles if whole else (),
        tokens=_tokens(mine, workload),
        phases=tuple(_phases(run, carrying, workload)),
    )


def _phases(run: RunEvidence, carrying: Sequence[LaunchEvidence], workload: str) -> Iterator[LaunchPhases]:
    for launch in carrying:
        good = good_of(launch, workload)
        found = phases_told(run.info.run_id, launch, workload, good) if good else "nothing"
        if isinstance(found, LaunchPhases):
            yield found


def _tokens(mine: Sequence[LaunchEvidence], workload: str) -> int | None:
    counts = [
        g.counters.completion_tokens
        for e in mine
        for g in good_of(e, workload)
        if g.counters is not None and g.counters.completion_tokens
    ]
    return round(statistics.median(counts)) if counts else None
