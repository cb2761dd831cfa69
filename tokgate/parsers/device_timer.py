"""Phases out of two scrapes of /metrics, from SGLang's device timer (SGLANG_ENABLE_METRICS_DEVICE_TIMER=1).

The timer adds up GPU seconds of each pass by category. Divided by passes they are milliseconds a call, means only.
Passes come from the graph counter: the verify-call counter counts per request, so that a pass over a batch of 16
counts 16. What differs between two scrapes of a quiet server is a measurement; nothing else is.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from tokgate.records import Record, Unread
from tokgate.records.phases import GraphReading, Phase, PhaseReading

from .foreign_json import WHOLE
from .metric_names import golden_families
from .phase_names import phase_names
from .prometheus import MetricSample, Scrape, first_reset, growth, series

COST = "two GPU events a pass: at most 0.24 % of the cycle where it was measured (one H200, 8B-shaped model)"
SWITCH = "SGLANG_ENABLE_METRICS_DEVICE_TIMER=1 and --enable-metrics"
SECONDS = ("sglang:forward_execution_seconds_total", "sglang:gpu_execution_seconds_total")
PASSES = "sglang:cuda_graph_passes_total"
VERIFY_CALLS = "sglang:spec_verify_calls_total"
BUSY = ("sglang:num_running_reqs", "sglang:num_queue_reqs")
MOST_MS = 1e7  # nearly three hours: no call takes longer
MOST_RANKS = 128  # of one server's /metrics
APART = 0.1  # requests a pass and concurrency further apart than this are worth a word
_BY_RANK = tuple(name.removesuffix("_total") for name in (*SECONDS, PASSES))
_RANK = re.compile(r"rank|\w+_rank")


class DeviceTimer(Record):
    """`why` is set where there is no reading; a reading's `n` is passes."""

    readings: tuple[PhaseReading, ...] = ()
    why: str | None = None
    graphs: tuple[GraphReading, ...] = ()  # of the first rank that counts: every rank makes the same passes
    requests_a_pass: float | None = None  # verify calls / passes: the mean batch
    unread: tuple[Unread, ...] = ()


class _Passes(NamedTuple):
    total: float
    in_graph: float
    why: str | None = None


def read_device_timer(
    before: Scrape,
    after: Scrape,
    *,
    concurrency: int,
    workload: str | None = None,
    version: str | None = None,
) -> DeviceTimer:
    """Return milliseconds a call of each phase that ran between two scrapes; never raises on odd input.

    `concurrency` is what the one workload between the scrapes asked for. A server that was restarted in between, or
    never had the timer, makes no reading, and `why` says which.
    """
    unread = (*before.unread[:5], *after.unread[:5])
    if (reset := first_reset(before, after)) is not None:
        restarted = f"the server was restarted between the scrapes: {reset}"
        return DeviceTimer(why=restarted, unread=unread)
    samples = [s for name in SECONDS for s in series(after, name)]
    every = _ranks(samples)
    ranks = every[:MOST_RANKS]
    more = [f"{len(every)} ranks count, {len(ranks)} of them are read"] if len(every) > len(ranks) else []
    counted = _ranks(list(series(after, PASSES)))
    per_pass = _requests_a_pass(before, after, counted)
    graphs = _graphs(before, after, counted, concurrency)
    if not ranks:
        return DeviceTimer(
            why=_why_no_timer(after, version), graphs=graphs, requests_a_pass=per_pass, unread=unread
        )
    warnings = [*more, *_not_quiet(before, after), *_another_load(per_pass, concurrency)]
    readings: list[PhaseReading] = []
    whys: list[str] = []
    for labels in ranks:
        found, why = _of_rank(before, after, labels, concurrency)
        whys += [] if why is None else [why]
        readings += [
            r.model_copy(update={"workload": workload, "warnings": (*r.warnings, *warnings)}) for r in found
        ]
    return DeviceTimer(
        readings=tuple(readings),
        why=None if readings else "; ".join(dict.fromkeys(whys)) or "no pass ran between the scrapes",
        graphs=graphs,
        requests_a_pass=per_pass,
        unread=unread,
    )


def _of_rank(
    before: Scrape, after: Scrape, labels: dict[str, str], concurrency: int
) -> tuple[list[PhaseReading], str | None]:
    before, after = _narrowed(before, labels), _narrowed(after, labels)
    passes = _passes(before, after, labels)
    warnings: list[str] = []
    total_passes = passes.total
    if passes.why is not None:
        calls = growth(before, after, VERIFY_CALLS)
        if concurrency != 1 or not calls.value or calls.value > WHOLE:
            return [], f"the number of passes is not known: {passes.why}"
        total_passes = calls.value
        warnings.append("passes by the verify-call counter, right for one request at a time only")
    if total_passes < 1:
        return [], "no decode pass ran between the scrapes"
    seconds: dict[Phase, float] = {}
    for name in phase_names("device-timer"):
        grown = _seconds(before, after, name.text, labels)
        if isinstance(grown, str):
            return [], grown
        if grown / total_passes * 1e3 > MOST_MS:
            return [], f"{name.text}: {grown:.3g} s in {total_passes:.3g} passes: no call takes so long"
        if grown > 0:
            seconds[name.phase] = grown
    if Phase.VERIFY in seconds and Phase.DECODE in seconds:
        # Of a speculating server every plain decode is the draft model's: only its graph has a name of its own.
        seconds[Phase.DRAFT] = seconds.get(Phase.DRAFT, 0.0) + seconds.pop(Phase.DECODE)
        warnings.append("the draft model runs outside a graph: its passes are counted as decode")
    if Phase.VERIFY in seconds and Phase.DRAFT_EXTEND not in seconds:
        warnings.append(
            "draft_extend is not told: outside a graph it is counted as extend, with every prefill"
        )
    share = passes.in_graph / passes.total if passes.why is None else None
    return [
        PhaseReading(
            phase=phase,
            source="device-timer",
            clock="gpu",
            n=round(total_passes),
            mean_ms=total / total_passes * 1e3,
            concurrency=concurrency,
            rank=_number(labels),
            graph_share=share if phase in (Phase.VERIFY, Phase.DECODE) else None,
            cost=COST,
            warnings=tuple(warnings),
        )
        for phase, total in seconds.items()
    ], None


def _seconds(before: Scrape, after: Scrape, category: str, labels: dict[str, str]) -> float | str:
    for name in SECONDS:
        if series(after, name, category=category, **labels) or series(
            before, name, category=category, **labels
        ):
            grown = growth(before, after, name, category=category, **labels)
            return grown.value if grown.value is not None else grown.why or f"{name} cannot be subtracted"
    return 0.0  # counted from the first such pass on


def _passes(before: Scrape, after: Scrape, labels: dict[str, str]) -> _Passes:
    counts: list[float] = []
    for mode in ("decode_cuda_graph", "decode_none"):
        # A mode appears at its first pass.
        if not series(after, PASSES, mode=mode, **labels) and not series(before, PASSES, mode=mode, **labels):
            counts.append(0.0)
            continue
        grown = growth(before, after, PASSES, mode=mode, **labels)
        if grown.value is None:
            return _Passes(0, 0, grown.why or f"{PASSES} cannot be subtracted")
        if not 0 <= grown.value < WHOLE:
            return _Passes(0, 0, f"{PASSES} grew by {grown.value:.3g}: that is no count")
        counts.append(grown.value)
    if not series(after, PASSES, **labels):
        return _Passes(0, 0, f"no {PASSES} for this rank")
    return _Passes(sum(counts), counts[0])


def _graphs(
    before: Scrape, after: Scrape, ranks: list[dict[str, str]], concurrency: int
) -> tuple[GraphReading, ...]:
    if not ranks:
        none = f"no {PASSES} in /metrics: SGLang counts them since 0.5.7, with --enable-metrics"
        return (GraphReading(source="pass-counter", share=None, n=0, concurrency=concurrency, why=none),)
    passes = _passes(before, after, ranks[0])
    why = passes.why or (None if passes.total else "no decode pass ran between the scrapes")
    return (
        GraphReading(
            source="pass-counter",
            share=passes.in_graph / passes.total if why is None else None,
            n=round(passes.total),
            concurrency=concurrency,
            why=why,
        ),
    )


def _requests_a_pass(before: Scrape, after: Scrape, ranks: list[dict[str, str]]) -> float | None:
    calls = growth(before, after, VERIFY_CALLS).value if series(after, VERIFY_CALLS) else None
    if not calls or calls > WHOLE or not ranks or len({labels.get("dp_rank") for labels in ranks}) > 1:
        return None
    passes = _passes(before, after, ranks[0])
    return calls / passes.total if passes.why is None and passes.total else None


def _another_load(per_pass: float | None, concurrency: int) -> list[str]:
    if per_pass is None or abs(per_pass - concurrency) <= APART * concurrency:
        return []
    shown = f"{per_pass:.2f}" if per_pass < 1e6 else f"{per_pass:.3g}"
    return [f"{shown} requests a pass, {concurrency} asked for together: means over a mixture of batches"]


def _not_quiet(before: Scrape, after: Scrape) -> list[str]:
    return [
        f"{name} was {s.value:g} {when} the window: the server may not have been quiet"
        for when, scrape in (("before", before), ("after", after))
        for name in BUSY
        for s in series(scrape, name)[:1]
        if s.value > 0
    ]


def _why_no_timer(after: Scrape, version: str | None) -> str:
    golden = golden_families(version) if version is not None else None
    if golden is not None and "device_seconds" not in golden:
        return f"SGLang {version} has no device timer: it came with 0.5.7, its phases with 0.5.11"
    if not any(name.startswith("sglang:") for name in after.families):
        return "nothing of SGLang in /metrics: is --enable-metrics set?"
    return f"no {SECONDS[0]} in /metrics: the timer needs {SWITCH}"


def _ranks(samples: list[MetricSample]) -> list[dict[str, str]]:
    """Return the labels that tell the ranks apart, one set a rank that counts."""
    found = {tuple(sorted((k, v) for k, v in s.labels.items() if _RANK.fullmatch(k))) for s in samples}
    return [dict(labels) for labels in sorted(found)]


def _narrowed(scrape: Scrape, labels: dict[str, str]) -> Scrape:
    """Return the scrape without what the two counters tell of other ranks: each question reads all that is there."""
    mine = {
        name: f.model_copy(
            update={"samples": tuple(s for s in f.samples if labels.items() <= s.labels.items())}
        )
        for name, f in scrape.families.items()
        if f.name.startswith(_BY_RANK)
    }
    return scrape.model_copy(update={"families": {**scrape.families, **mine}})


def _number(labels: dict[str, str]) -> int | None:
    told = labels.get("tp_rank", "")
    return int(told) if re.fullmatch(r"[0-9]{1,6}", told) else None
