"""Windows and curves of a server over several hosts: what was seen on every node during one start, told as one."""

from __future__ import annotations

from collections.abc import Sequence

from tokgate.records.telemetry import Curves, Window


def join_windows(
    first: Sequence[Window], other: Sequence[Window], *, node: int, offset: int
) -> tuple[Window, ...]:
    """Return node 0's windows with a further node's in them; both are of the same starts, in the same order.

    GPUs are counted through from `offset` on. What is not known of one node is not known of the server.
    """
    return tuple(_join(one, two, node, offset) for one, two in zip(first, other, strict=True))


def join_curves(first: Curves, other: Curves, *, offset: int) -> Curves:
    """Return both; the load of a further host, which has no GPU to be told by, is left to its own file."""
    return Curves(
        curves=(
            *first.curves,
            *(c.model_copy(update={"gpu": c.gpu + offset}) for c in other.curves if c.gpu is not None),
        ),
        held_back=(
            *first.held_back,
            *(h.model_copy(update={"gpu": h.gpu + offset}) for h in other.held_back),
        ),
    )


def _join(one: Window, two: Window, node: int, offset: int) -> Window:
    def worse(first: str | None, second: str | None) -> str | None:
        return first if second is None or first is not None else f"node {node}: {second}"

    strangers = None
    if one.strangers is not None and two.strangers is not None:
        there = (
            s.model_copy(
                update={
                    "gpus": tuple(gpu + offset for gpu in s.gpus),
                    "note": f"on node {node}" + (f"; {s.note}" if s.note else ""),
                }
            )
            for s in two.strangers
        )
        strangers = (*one.strangers, *there)
    gaps = None if one.gap_s is None or two.gap_s is None else max(one.gap_s, two.gap_s)
    return one.model_copy(
        update={
            "gpus": (
                *one.gpus,
                *(gpu.model_copy(update={"index": gpu.index + offset}) for gpu in two.gpus),
            ),
            "gap_s": gaps,
            "unknown": worse(one.unknown, two.unknown),
            "strangers": strangers,
            "strangers_unknown": worse(one.strangers_unknown, two.strangers_unknown),
            "host_busy": _highest(one.host_busy, two.host_busy),
            "host_steal": _highest(one.host_steal, two.host_steal),
            "load1": _highest(one.load1, two.load1),
            "host_unknown": worse(one.host_unknown, two.host_unknown),
        }
    )


def _highest(one: float | None, two: float | None) -> float | None:
    """The busiest host is the one that all wait for."""
    known = [value for value in (one, two) if value is not None]
    return max(known, default=None)
