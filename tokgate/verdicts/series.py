"""From good generations to one series per metric."""

from __future__ import annotations

import re
import statistics
from itertools import groupby

from tokgate.errors import UsageError
from tokgate.records import Generation, Sample
from tokgate.records.record import Record
from tokgate.stats.samples import batch_samples, samples_of


class Series(Record):
    """The values of one metric in one workload of one launch, one value per barrier start.

    Generations of one start share the machine and its moment, so they are one draw: `values`
    holds the median of each start, `by_start` every single value.
    """

    metric: str
    by_start: tuple[tuple[float, ...], ...]
    sources: tuple[str, ...]
    warnings: tuple[str, ...] = ()

    @property
    def values(self) -> tuple[float, ...]:
        return tuple(statistics.median(start) for start in self.by_start)


class SeriesByName(dict[str, Series]):
    """The series of a workload by metric. UsageError: there is none of that name; whoever writes a promise meets it."""

    def __missing__(self, metric: str) -> Series:
        raise UsageError(
            tried=f"reading the series {metric!r}",
            found=f"no series {metric!r} here; there are: {', '.join(sorted(self)) or 'none'}",
            do="name one of these, docs/metrics.md says what each is; why another one is not here stands in `missing`",
        )


def series_of(good: tuple[Generation, ...]) -> tuple[dict[str, Series], dict[str, str]]:
    """Group by metric and barrier start; a metric unknown for one generation is unknown for all."""
    starts = [tuple(members) for _, members in groupby(good, key=lambda g: g.batch)]
    found: dict[str, list[list[Sample]]] = {}
    for start in starts:
        of_start: dict[str, list[Sample]] = {}
        for sample in (*(s for g in start for s in samples_of(g)), *batch_samples(start)):
            of_start.setdefault(sample.metric, []).append(sample)
        for metric, samples in of_start.items():
            found.setdefault(metric, []).append(samples)
    series, missing = {}, {}
    for metric, groups in found.items():
        samples = [s for group in groups for s in group]
        wanted = len(starts) if metric == "total_tok_s" else len(good)
        known = [s for s in samples if s.value is not None]
        if len(known) < wanted:
            reason = next((s.why for s in samples if s.value is None), "the others carry no counters for it")
            missing[metric] = f"known for {len(known)} of {wanted}: {reason}"
            continue
        series[metric] = Series(
            metric=metric,
            by_start=tuple(tuple(s.value for s in group if s.value is not None) for group in groups),
            sources=tuple(dict.fromkeys(s.source for s in samples)),
            warnings=_warnings(samples),
        )
    return series, missing


def _warnings(samples: list[Sample]) -> tuple[str, ...]:
    """Collect the warnings of a series, each kind once: numbers in the text make it no new kind."""
    kinds: dict[str, list[str]] = {}
    for sample in samples:
        for text in sample.warnings:
            kinds.setdefault(re.sub(r"[0-9.]+", "#", text), []).append(text)
    told = [f"{len(texts)} of {len(samples)}: {texts[0]}" for texts in kinds.values()]
    sources = tuple(dict.fromkeys(s.source for s in samples))
    if len(sources) > 1:
        told.append(f"values of {len(sources)} sources are mixed: {'; '.join(sources)}")
    return tuple(told)
