"""What the rows of telemetry draw over the time of one launch, and when a card was held back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from tokgate.records.telemetry import (
    REASONS,
    Curve,
    Curves,
    GpuRow,
    HeldBack,
    HolderRow,
    HostRow,
    Quantity,
    TelemetryRow,
)

from .thin import thinned, without_repeats
from .windows import LONGEST_GAP_S, NS

# Of one curve: a chart is no wider. An hour at ten rows a second has 36 000.
MOST_POINTS = 600
# What takes speed from a card that has work; an idle one or one that the operator set is not held back.
_SLOWING = {bit: name for bit, name in REASONS.items() if bit in (0x004, 0x008, 0x020, 0x040, 0x080)}
_OF_CARD: tuple[Quantity, ...] = ("sm_mhz", "watts", "celsius")
# Who computes is asked for more seldom than the rest: six times the gap that a window may have.
_HOLDER_GAP_S = 6 * LONGEST_GAP_S

Told = tuple[int, float | None]  # nanoseconds, value


def curves_of(rows: Iterable[TelemetryRow], *, most: int = MOST_POINTS) -> Curves:
    """Return the curves of every card and of the host, at most about `most` points each."""
    ordered = sorted(rows, key=lambda row: row.at_ns)
    of_gpus = [row for row in ordered if isinstance(row, GpuRow)]
    cards = sorted({now.gpu for row in of_gpus for now in row.gpus})
    told: list[tuple[Quantity, int | None, list[Told], float]] = []
    for quantity in _OF_CARD:
        told += [(quantity, gpu, _of_card(of_gpus, gpu, quantity), LONGEST_GAP_S) for gpu in cards]
    holders = [row for row in ordered if isinstance(row, HolderRow)]
    told += [("memory_mib", gpu, _memory(holders, gpu), _HOLDER_GAP_S) for gpu in cards]
    told.append(("host_busy", None, list(_busy(r for r in ordered if isinstance(r, HostRow))), LONGEST_GAP_S))
    return Curves(
        curves=tuple(
            _curve(quantity, gpu, values, most, gap_s)
            for quantity, gpu, values, gap_s in told
            if any(v is not None for _, v in values)
        ),
        held_back=tuple(sorted(_held_back(of_gpus), key=lambda h: (h.from_ns, h.gpu, h.reason))),
    )


def _of_card(rows: Sequence[GpuRow], gpu: int, quantity: Quantity) -> list[Told]:
    """Return what each row that knows the card says of it; None where it does not say."""
    return [(row.at_ns, getattr(now, quantity)) for row in rows for now in row.gpus if now.gpu == gpu]


def _memory(rows: Sequence[HolderRow], gpu: int) -> list[Told]:
    """Return the sum over the card's holders; None where one of them is not told: a part would look like all."""
    found: list[Told] = []
    for row in rows:
        used = [h.used_mib for h in row.holders if h.gpu == gpu]
        found.append((row.at_ns, None if None in used else sum(u for u in used if u is not None)))
    return found


def _busy(rows: Iterable[HostRow]) -> Iterator[Told]:
    """Yield the busy share of the cores between each two rows, at the later of them."""
    for before, after in pairwise(rows):
        ticks = before.busy, before.total, after.busy, after.total
        if (told := _share(*ticks)) is not None or None in ticks:
            yield after.at_ns, told


def _share(
    busy: int | None, total: int | None, busy_after: int | None, total_after: int | None
) -> float | None:
    """Return the busy share of the ticks between two counts; None where one is not told, or none has passed."""
    if busy is None or total is None or busy_after is None or total_after is None or total_after <= total:
        return None
    return min(1.0, max(0.0, (busy_after - busy) / (total_after - total)))


def _curve(quantity: Quantity, gpu: int | None, told: Sequence[Told], most: int, gap_s: float) -> Curve:
    pieces = _pieces(told, gap_s)
    known = sum(len(piece) for piece in pieces)
    if len(pieces) * 2 > most:
        pieces = [
            [one for piece in pieces for one in piece]
        ]  # flickering: the breaks would be all there is to see
    at: list[int] = []
    values: list[float | None] = []
    for piece in pieces:
        if at:
            at.append(at[-1] + 1)
            values.append(None)
        lean = [piece[i] for i in without_repeats([v for _, v in piece])]
        for i in thinned([v for _, v in lean], max(3, most * len(piece) // known)):
            at.append(lean[i][0])
            values.append(lean[i][1])
    return Curve(quantity=quantity, gpu=gpu, at_ns=tuple(at), values=tuple(values), n=known)


def _pieces(told: Sequence[Told], gap_s: float) -> list[list[tuple[int, float]]]:
    """Part a curve where a value is not told, or none came for longer than `gap_s`."""
    pieces: list[list[tuple[int, float]]] = []
    last: int | None = None
    for at, value in told:
        if value is None:
            last = None
            continue
        if last is None or at - last > gap_s * NS:
            pieces.append([])
        pieces[-1].append((at, value))
        last = at
    return pieces


def _held_back(rows: Sequence[GpuRow]) -> Iterator[HeldBack]:
    running: dict[tuple[int, str], tuple[int, int]] = {}
    for row in rows:
        now = {
            (card.gpu, name)
            for card in row.gpus
            for bit, name in _SLOWING.items()
            if card.reasons is not None and card.reasons & bit
        }
        told = {card.gpu for card in row.gpus if card.reasons is not None}
        for key in [k for k in running if k not in now and k[0] in told]:
            yield HeldBack(gpu=key[0], reason=key[1], from_ns=running[key][0], to_ns=running.pop(key)[1])
        for key in now:
            running[key] = (running.get(key, (row.at_ns, 0))[0], row.at_ns)
    for (gpu, reason), (begin, end) in running.items():
        yield HeldBack(gpu=gpu, reason=reason, from_ns=begin, to_ns=end)
