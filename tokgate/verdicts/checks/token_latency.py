"""Promise: the next token comes in time, and so does the next piece of text, in the middle and in the tail."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from itertools import groupby

from tokgate.records import Outcome, Verdict
from tokgate.records.metric_names import TOKEN_METRIC_NAMES
from tokgate.rig.models import Rig
from tokgate.stats.token_latency import SOURCE, TokenTimes, token_times
from tokgate.verdicts.arm_runs import History, Launches, all_of, raw_of
from tokgate.verdicts.budgets import budgets_on, judge_metric
from tokgate.verdicts.establish import Established, invalid
from tokgate.verdicts.metrics import METRICS
from tokgate.verdicts.series import Series
from tokgate.verdicts.shortfall import Shortfall
from tokgate.verdicts.validity import establish_arm

CHECK = "token_latency"
# What is told where the rig sets no limit: the tail, since the middle hides that a cycle may yield one token.
_TOLD_FIRST = ("token_p95_ms", "token_ms", "chunk_gap_p95_ms")


def token_latency(
    rig: Rig,
    launches: Launches,
    workload: str,
    *,
    history: History | None = None,
) -> tuple[Verdict, ...]:
    """Judge the rig's budgets on tokens and on gaps between chunks, one value a barrier start.

    Without any the p95 of a token is told. What the server's counts do not tell is `invalid` under a budget and
    `inconclusive` otherwise. `launches`, `history`: as of `decode_throughput`.
    """
    established = establish_arm(rig, all_of(launches), workload, check=CHECK)
    if isinstance(established, Verdict):
        return (established,)
    of_runs = [_starts(run) for run in established]
    runs = tuple(_with_series(run, starts) for run, starts in zip(established, of_runs, strict=True))
    limited = [m for m in TOKEN_METRIC_NAMES if budgets_on(rig, runs[0].launch, workload, (m,))]
    metrics = limited or [m for m in _TOLD_FIRST if all(m in run.series for run in runs)][:1]
    if not metrics:
        silent = next(run for run in runs if _TOLD_FIRST[0] not in run.series)
        shortfall = Shortfall(
            what=silent.why_missing(_TOLD_FIRST[0]),
            do='measure on endpoint = "generate", which counts the tokens of every chunk',
        )
        verdict = invalid(
            CHECK,
            [shortfall],
            launch=silent.launch,
            workload=workload,
            metric=_TOLD_FIRST[0],
            raw=raw_of(runs),
        )
        return (verdict.model_copy(update={"outcome": Outcome.INCONCLUSIVE}),)
    every = [start for starts in of_runs for start in starts]
    evidence, warnings = tuple(_evidence(runs, every)), tuple(_warnings(every))
    return tuple(
        v
        for m in metrics
        for v in judge_metric(
            rig, runs, m, check=CHECK, evidence=evidence, warnings=warnings, history=history
        )
    )


def _starts(run: Established) -> list[TokenTimes]:
    return [token_times(tuple(members)) for _, members in groupby(run.good, key=lambda g: g.batch)]


def _with_series(established: Established, starts: Sequence[TokenTimes]) -> Established:
    series: dict[str, Series] = {}
    missing: dict[str, str] = {}
    for name in TOKEN_METRIC_NAMES:
        why = next((s.unknown[name] for s in starts if name in s.unknown), None)
        if why is not None:
            missing[name] = why
        else:
            values = tuple((s.values[name],) for s in starts)
            series[name] = Series(metric=name, by_start=values, sources=(SOURCE[name],))
    return established.model_copy(
        update={
            "series": {**established.series, **series},
            "missing": {**established.missing, **missing},
        }
    )


def _evidence(runs: Sequence[Established], starts: Sequence[TokenTimes]) -> Iterable[str]:
    known = [
        f"{METRICS[m].words} {METRICS[m].text(statistics.median(v for run in runs for v in run.series[m].values))}"
        for m in TOKEN_METRIC_NAMES
        if all(m in run.series for run in runs)
    ]
    gaps, tokens = sum(s.gaps for s in starts), [s.tokens for s in starts if s.tokens is not None]
    a_chunk = f", {sum(tokens)} tokens in them" if len(tokens) == len(starts) else ""
    if known:
        yield f"{', '.join(known)}; {gaps} gaps{a_chunk}"
    unknown = {m: run.missing[m] for run in runs for m in TOKEN_METRIC_NAMES if m in run.missing}
    for why in dict.fromkeys(unknown.values()):
        yield f"not told: {', '.join(m for m in unknown if unknown[m] == why)}: {why}"


def _warnings(starts: Sequence[TokenTimes]) -> Iterable[str]:
    gaps = sum(s.gaps for s in starts)
    together, crowded = sum(s.together for s in starts), sum(s.crowded for s in starts)
    if together:
        yield (
            f"{together} of {gaps + together} chunks arrived in one piece with the one before (this client woke late, or "
            "the server sent late): each is taken as part of it, and the gap before them is longer than a cycle"
        )
    if crowded:
        yield (
            f"{crowded} cycles had no chunk of their own (stream_interval, or a server that bundles): a token's latency "
            "is then a mean over its chunk, and a gap is several cycles"
        )
