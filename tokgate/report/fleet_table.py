"""The hosts of a run as reports show them."""

from __future__ import annotations

from collections.abc import Iterator

from tokgate.records import Difference, Record
from tokgate.records.fleet import HostState, Shift
from tokgate.stats.hosts import HostSpread

from . import figures


class HostRow(Record):
    """One host of the pool. `groups` and `launches`: what is judged; `lost`: launches made there that are judged nowhere."""

    host: str
    address: str
    state: HostState
    why: str | None = None
    do: str | None = None
    groups: tuple[str, ...] = ()
    launches: int = 0
    lost: tuple[str, ...] = ()
    seconds: float = 0.0
    differs: tuple[Difference, ...] = ()
    notes: tuple[str, ...] = ()


class SpreadRow(Record):
    """One number on every host that measured it: a median a server run."""

    arm: str
    workload: str
    metric: str
    unit: str
    values: dict[str, tuple[float, ...]]
    spread: HostSpread


class FleetTable(Record):
    hosts: tuple[HostRow, ...]
    shifts: tuple[Shift, ...]
    groups: tuple[str, ...]
    unmeasured: dict[str, str] = {}
    spread: tuple[SpreadRow, ...] = ()
    words: tuple[str, ...] = ()


def lines(table: FleetTable) -> Iterator[str]:
    """Yield a sentence for each host, what nobody measured, and how far hosts lie apart in decode speed."""
    for host in table.hosts:
        yield host_line(host)
    for group, why in table.unmeasured.items():
        yield f"{group} was measured nowhere: {why}"
    for row in table.spread:
        if row.metric == "decode_tok_s":
            yield spread_line(row)
    yield from table.words


def host_line(host: HostRow) -> str:
    told = f"{host.host}: "
    if host.groups or host.launches:
        told += f"{', '.join(host.groups)} ({host.launches} launches, {host.seconds:.0f} s)"
    elif host.state is HostState.ADMITTED:
        told += "admitted, nothing was left for it"
    if host.why:
        told += f"{'; ' if not told.endswith(': ') else ''}{host.state.value}: {host.why}"
    if host.lost:
        told += f"; measured there and judged nowhere: {', '.join(host.lost)}"
    return told


def spread_line(row: SpreadRow) -> str:
    hosts = ", ".join(
        f"{host} {figures.number(middle(values), row.metric)}" for host, values in row.values.items()
    )
    return f"{row.arm} {row.workload}: {hosts} {row.unit}; hosts {percent(row.spread.apart)} apart, {parts(row.spread)}"


def parts(spread: HostSpread) -> str:
    """Return the two levels in words."""
    runs = (
        "runs of one host unknown"
        if spread.between_runs is None
        else f"runs of one host {percent(spread.between_runs)}"
    )
    hosts = "hosts unknown" if spread.between_hosts is None else f"hosts {percent(spread.between_hosts)}"
    return f"standard deviation: {hosts}, {runs}"


def middle(values: tuple[float, ...]) -> float:
    ordered = sorted(values)
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2


def percent(share: float) -> str:
    return f"{100 * share:.1f} %"
