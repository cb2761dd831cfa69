"""CUDA graphs by the server's own words: its decode lines, and the batches that it captured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from tokgate.records.phases import GraphReading

from .batch_lines import DecodeReading
from .foreign_json import count
from .startup import GraphCapture, StartupReading

MOST_SIZES = 10_000


class Captured(NamedTuple):
    sizes: tuple[int, ...] | None  # requests; (): none; None: not told
    padded: bool
    by: str | None
    why: str | None


def graph_by_log(lines: Sequence[DecodeReading], *, concurrency: int | None = None) -> GraphReading:
    """Return the share of decode lines that say True; with `concurrency` of lines with so many requests.

    A line is printed every --decode-log-interval steps and speaks of the step it was printed at: a sample of steps,
    not a count. With speculation the step is the verify. Lines of prefills say False always and are not asked.
    """
    mine = [line for line in lines if concurrency is None or line.running_req == concurrency]
    told = [line.graph for line in mine if line.graph is not None]
    if told:
        share = sum(told) / len(told)
        return GraphReading(source="decode-log", share=share, n=len(told), concurrency=concurrency)
    load = "" if concurrency is None else f" with {concurrency} running"
    why = f"{len(mine)} decode lines{load}, and none says whether a graph was used"
    if not mine:
        why = f"no decode line{load}"
    return GraphReading(source="decode-log", share=None, n=0, concurrency=concurrency, why=why)


def captured(startup: StartupReading, server_info: Mapping[str, object], *, speculative: bool) -> Captured:
    """Return the batch sizes that a verify (without speculation: a decode) has a graph for; never raises.

    The log of the start is asked first: it says what was captured. The arguments say what was to be.
    """
    padded = server_info.get("disable_cuda_graph_padding") is not True
    off = next(
        (k for k in ("disable_cuda_graph", "disable_decode_cuda_graph") if server_info.get(k) is True), None
    )
    if off is not None:
        return Captured((), padded, f"server_info: {off}", None)
    capture = _of_target(startup.captures, speculative=speculative)
    if capture is not None and capture.batch_sizes:
        what = f"{capture.what or 'decode'} graphs, by the log of the start"
        if capture.seconds is None:
            return Captured(None, padded, None, f"the capture of {what} has no end: it broke off")
        return Captured(tuple(sorted(capture.batch_sizes)), padded, what, None)
    sizes, key = _by_arguments(server_info)
    if sizes is not None:
        return Captured(sizes, padded, f"server_info: {key}", None)
    return Captured(
        None, padded, None, "neither the log of the start nor server_info names the captured batches"
    )


def _of_target(captures: Sequence[GraphCapture], *, speculative: bool) -> GraphCapture | None:
    """Of the target's own graphs the first rank's; draft models capture some too."""
    mine = [c for c in captures if c.what is None or "draft" not in c.what.lower()]
    named = [c for c in mine if c.what is not None and "verify" in c.what.lower()]
    return next(iter(named if speculative and named else mine), None)


def _by_arguments(info: Mapping[str, object]) -> tuple[tuple[int, ...] | None, str]:
    config = info.get("cuda_graph_config")
    decode = config.get("decode") if isinstance(config, dict) else None
    if isinstance(decode, dict):
        if decode.get("backend") == "disabled":
            return (), "cuda_graph_config.decode.backend"
        if (sizes := _sizes(decode.get("bs"))) is not None:
            return sizes, "cuda_graph_config.decode.bs"
        if (most := count(decode.get("max_bs"))) is not None:
            return (most,), "cuda_graph_config.decode.max_bs"
    for key in ("cuda_graph_bs_decode", "cuda_graph_bs"):
        if (sizes := _sizes(info.get(key))) is not None:
            return sizes, key
    for key in ("cuda_graph_max_bs_decode", "cuda_graph_max_bs"):
        if (most := count(info.get(key))) is not None:
            return (most,), key
    return None, ""


def _sizes(value: object) -> tuple[int, ...] | None:
    if not isinstance(value, list) or not value or len(value) > MOST_SIZES:
        return None
    found = [size for v in value if (size := count(v)) is not None]
    return tuple(sorted(found)) if len(found) == len(value) else None
