"""The hosts of a run as reports show them."""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import Field

from tokgate.records import Difference, Outcome, Record
from tokgate.records.fleet import HostState, Shift
from tokgate.records.nccl import NcclTruth
from tokgate.stats.hosts import HostSpread

from . import figures
from .fleet_patch import ChangeRow, ChangeThere

# Whether an arm is slower than its base.
SLOWER = {
    Outcome.REGRESSED: "yes",
    Outcome.INCONCLUSIVE: "cannot tell",
    Outcome.IMPROVED: "no, it is faster",
    Outcome.PASS: "no",
}
NOTHING_SHOWN = "nothing was shown"
_KEPT = (Outcome.PASS, Outcome.IMPROVED)


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
    changes: tuple[ChangeRow, ...] = Field(
        (), description="of a change to SGLang: whether each arm is slower than its base, and on which host"
    )
    nccl: tuple[NcclTruth, ...] = Field(
        (), description="the NCCL block in five states as each host had it; `launch` names the host"
    )
    words: tuple[str, ...] = ()


def lines(table: FleetTable) -> Iterator[str]:
    """Yield a sentence for each host, what nobody measured, and how far hosts lie apart in decode speed."""
    for host in table.hosts:
        yield host_line(host)
    for group, why in table.unmeasured.items():
        yield f"{group} was measured nowhere: {why}"
    yield from change_lines(table)
    for row in table.spread:
        if row.metric == "decode_tok_s":
            yield spread_line(row)
    yield from table.words


def host_line(host: HostRow) -> str:
    told = f"{host.host}: "
    if host.groups or host.launches:
        told += f"{', '.join(host.groups)} ({host.launches} launches, {host.seconds:.0f} s)"
    elif host.state is HostState.ADMITTED and host.why is None:
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


def change_lines(table: FleetTable) -> Iterator[str]:
    """Yield whether each arm is slower than its base: those that are not in one line, unless hosts disagree."""
    kept = [row for row in table.changes if row.outcome in _KEPT and not row.disagree]
    if kept:
        yield f"not slower than its base: {', '.join(f'{row.arm} {row.workload} ({changed(row)})' for row in kept)}"
    for row in table.changes:
        if row not in kept:
            yield f"{row.arm} {row.workload} slower than its base? {slower(row)}: {changed(row)}"


def slower(row: ChangeRow) -> str:
    told = SLOWER.get(row.outcome, NOTHING_SHOWN)
    return f"{told}; hosts disagree" if row.disagree else told


def changed(row: ChangeRow) -> str:
    """Return "gpu7 -0.1 % [-0.4, +0.2], gpu8 cannot be judged"."""
    return ", ".join(f"{host} {_changed_there(there)}" for host, there in row.hosts.items())


def _changed_there(there: ChangeThere) -> str:
    if there.change is None:
        return "cannot be judged"
    if there.interval is None:
        return figures.percent(there.change)
    low, high = (100 * end for end in there.interval)
    return f"{figures.percent(there.change)} [{low:+z.1f}, {high:+z.1f}]"


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
