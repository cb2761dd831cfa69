"""Which hosts `tokgate doctor` looks at, and what it says of several of them together."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from tokgate.records.doctor import Examination
from tokgate.records.fleet import HostSeen, HostState
from tokgate.report.examination import ending
from tokgate.report.visible import wrapped
from tokgate.rig.models import Rig
from tokgate.rig.nodes import has_nodes, nodes_of
from tokgate.rig.pool import has_pool, pool_of, rig_on
from tokgate.session.doctor.check import Check
from tokgate.session.doctor.checks import CHECKS
from tokgate.session.fleet_admission import admit

# About this machine, which measures: once is enough.
_HERE = ("client.",)
# About a server as a whole, however many hosts it runs over: the rig's own, and which baseline is its.
_OF_ALL = ("rig.", "baselines.", *_HERE)
# In the lines that a node's SGLang is asked to read; where nodes really meet is found at each start.
_ADDRESS = "127.0.0.1:20000"
FAULT = 11


class LookedAt(NamedTuple):
    name: str
    words: str  # above its answers; "" where there is no other host
    rig: Rig
    checks: Sequence[Check]


def hosts_of(rig: Rig) -> tuple[LookedAt, ...]:
    """Return every host of a pool, every node of a server over several, or the one host of the rig."""
    if has_nodes(rig):
        whole = LookedAt(
            "the server as a whole",
            "the server over all nodes",
            rig,
            _checks(lambda name: name.startswith(_OF_ALL)),
        )
        further = _checks(lambda name: not name.startswith(_OF_ALL))
        address = rig.server.dist_init_addr or _ADDRESS
        return (
            whole,
            *(
                # With --nnodes, as it is launched: of all ranks a node has its share.
                LookedAt(
                    node.words, f"{node.words}, {node.rig.host.testinfra}", node.launched(address), further
                )
                for node in nodes_of(rig)
            ),
        )
    if has_pool(rig):
        further = _checks(lambda name: not name.startswith(_HERE))
        return tuple(
            LookedAt(
                host.name,
                f"host {host.name}, {host.address}",
                rig_on(rig, host),
                further if number else CHECKS,
            )
            for number, host in enumerate(pool_of(rig))
        )
    return (LookedAt("", "", rig, CHECKS),)


def _checks(wanted: Callable[[str], bool]) -> tuple[Check, ...]:
    return tuple(check for check in CHECKS if wanted(check.name))


class End(NamedTuple):
    """What follows for a gate."""

    code: int
    why_not: str | None
    ready: str
    pool: tuple[HostSeen, ...]  # as a gate would admit them

    def lines(self, width: int, *, named: str, overrides: Sequence[str], promises: str) -> Iterator[str]:
        """Yield it for a terminal; the last line is the next command."""
        if self.pool:
            yield ""
            yield "The pool"
        for host in self.pool:
            told = host.state.value if host.why is None else f"{host.state.value}: {host.why}"
            yield from wrapped(told, width, first=f"  {host.name}: ", indent="    ")
            if host.why is not None and host.do:
                yield from wrapped(f"do: {host.do}", width, first="    ", indent="    ")
            for note in host.notes:
                yield from wrapped(note, width, first="    ", indent="    ")
        yield ""
        yield from ending(
            self.why_not, width, named=named, overrides=overrides, promises=promises, ready=self.ready
        )


def end_of(
    rig: Rig,
    hosts: Sequence[LookedAt],
    found: Sequence[Examination],
    *,
    root: Path,
    reports: Path,
    strict: bool,
) -> End:
    """Say whether a gate can start: of nodes all must be ready, of a pool one that is as the others are.

    The hosts of a pool are held against each other as at the beginning of a gate.
    """
    codes = {host.name: one.exit_code(strict=strict) for host, one in zip(hosts, found, strict=True)}
    failing = [name for name, code in codes.items() if code]
    usual = "nothing was found that would keep a gate from being judged"
    if not has_pool(rig):
        why = f"{', '.join(failing)}: a gate started now would end with exit code {max(codes.values())}"
        return End(max(codes.values()), why if failing else None, usual, ())
    pool = admit(rig, pool_of(rig), root=root, reports=reports)
    ready = [host.name for host in pool if host.state is HostState.ADMITTED and not codes[host.name]]
    out = [host.name for host in pool if host.name not in ready]
    if not ready:
        return End(
            FAULT, f"no host of the pool is left: a gate would end with exit code {FAULT}", usual, pool
        )
    if out and strict:
        return End(
            FAULT, f"{', '.join(out)}; with --strict every host of a pool has to be ready", usual, pool
        )
    without = f"; not on {', '.join(out)}, for the reasons above" if out else ""
    return End(0, None, f"a gate would measure on {', '.join(ready)}{without}", pool)
