"""Do two clients and a server say the same? Ratios turn by turn, their medians with intervals, and what keeps them apart."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Literal

from benchmarks.agreement.theirs import Report, Took, same_tpot, total_tok_s
from benchmarks.agreement.turns import Turn
from tokgate.stats.summary import summarise

LIMIT = 0.005

Word = Literal["within", "undecided", "apart"]


@dataclass(frozen=True)
class Ratio:
    """One comparison, a value a turn; 1 is agreement. `held`: it is one of those that have to agree."""

    name: str
    values: tuple[float, ...]
    held: bool = True

    @property
    def median(self) -> float:
        return median(self.values)

    @property
    def interval(self) -> tuple[float, float] | None:
        """Of the median, 95 %, between order statistics; None: too few turns."""
        return summarise(self.values).interval

    def word(self, limit: float) -> Word:
        """Say "within" or "apart" where the whole interval is."""
        if self.interval is None:
            return "undecided"
        low, high = self.interval
        if 1 - limit <= low and high <= 1 + limit:
            return "within"
        return "apart" if high < 1 - limit or low > 1 + limit else "undecided"


def ratios(turns: Sequence[Turn]) -> tuple[Ratio, ...]:
    """Return all comparisons of turns of one number of streams; of several streams each turn has their median."""
    found = [
        _of(
            "ours / server's decode_throughput",
            [_each(t.ours.client_tok_s, t.ours.server_tok_s) for t in turns],
        ),
        _of("ours / theirs", [median(t.ours.client_tok_s) / _theirs(t) for t in turns]),
        _of("server's decode_throughput / theirs", [median(t.ours.server_tok_s) / _theirs(t) for t in turns]),
    ]
    if len(turns[0].theirs) > 1:
        found.append(
            _of("ours / theirs, all streams", [t.ours.total_tok_s / total_tok_s(t.theirs) for t in turns])
        )
    by_chunks = [median(t.ours.client_tok_s) / _by_chunks(t.theirs) for t in turns]
    found.append(Ratio("ours / theirs by its chunks alone", tuple(by_chunks), held=False))
    first = [_first(t) for t in turns]
    found.append(Ratio("who comes first / who comes second", tuple(first), held=False))
    return tuple(found)


def _of(name: str, values: Sequence[float]) -> Ratio:
    return Ratio(name, tuple(values))


def _each(these: Sequence[float], those: Sequence[float]) -> float:
    return median(a / b for a, b in zip(these, those, strict=True))


def _theirs(turn: Turn) -> float:
    return median(one.decode_tok_s for one in turn.theirs)


def _by_chunks(took: Sequence[Took]) -> float:
    return median((one.tokens - 1) / one.itl_sum for one in took)


def _first(turn: Turn) -> float:
    ratio = median(turn.ours.client_tok_s) / _theirs(turn)
    return ratio if turn.ours_first else 1 / ratio


def worst(found: Sequence[Ratio], limit: float) -> Word:
    words = [one.word(limit) for one in found if one.held]
    return next((word for word in ("apart", "undecided") if word in words), "within")


def table(turns: Sequence[Turn], found: Sequence[Ratio], limit: float) -> Iterator[str]:
    """Yield the lines of a table: speeds, then ratios with intervals and what they say."""
    speeds = {
        "ours, first chunk to last": [median(t.ours.client_tok_s) for t in turns],
        "the server's decode_throughput": [median(t.ours.server_tok_s) for t in turns],
        "SGLang's client, 1 / TPOT": [_theirs(t) for t in turns],
    }
    if len(turns[0].theirs) > 1:
        speeds["ours, all streams"] = [t.ours.total_tok_s for t in turns]
        speeds["SGLang's client, all streams"] = [total_tok_s(t.theirs) for t in turns]
    yield f"{'tok/s':<38}{'median':>10}{'least':>10}{'most':>10}"
    for name, values in speeds.items():
        yield f"{name:<38}{median(values):>10.2f}{min(values):>10.2f}{max(values):>10.2f}"
    yield f"{'ratio, turn by turn':<38}{'median':>10}   95 % interval"
    for one in found:
        where = "too few turns" if one.interval is None else f"{one.interval[0]:.5f} .. {one.interval[1]:.5f}"
        yield f"{one.name:<38}{one.median:>10.5f}   {where:<20}  {_said(one, limit)}"


def _said(one: Ratio, limit: float) -> str:
    if not one.held:
        return "(told, not held to)"
    word = one.word(limit)
    return {"within": f"within {limit:.1%}", "apart": f"APART by more than {limit:.1%}"}.get(word, word)


def reasons(turns: Sequence[Turn], all_took: Sequence[Took], report: Report) -> Iterator[str]:
    """Yield what keeps the figures apart by construction, measured in these turns."""
    if not same_tpot(all_took, report):
        yield f"their report says TPOT {report.median_tpot_ms:.4f} ms, which is not what its requests took"
    done = median(value for t in turns for value in t.ours.done_ms)
    span = median(one.latency - one.ttft for t in turns for one in t.theirs) * 1000
    yield (
        f"their clock of a request ends with [DONE], {done:.3f} ms behind the last chunk: {done / span:+.3%} of what their "
        "tokens take; ours ends with the last chunk"
    )
    late = median(one.latency - one.ttft - one.itl_sum for t in turns for one in t.theirs) * 1000
    yield f"their first chunk is stamped once its JSON is read, and their last span is {late:+.3f} ms beside their chunks"
    first = median(one.ttft for t in turns for one in t.theirs) * 1000
    yield (
        f"their headline, output throughput {report.output_throughput:.1f} tok/s, counts time to first token "
        f"({first:.1f} ms), and the pauses between the turns: it is not a decode speed"
    )
    accepted = [value for t in turns for value in t.ours.accept_length]
    if accepted:
        yield f"accept length {median(accepted):.3f}: the same prompts, so the same tokens, on both sides"
