"""What a person is told of a lease that another gate had left behind."""

from __future__ import annotations

from tokgate.hosts.lease import Lease
from tokgate.records import Finding


def taken_over(held: Lease) -> tuple[Finding, ...]:
    if held.took_over is None:
        return ()
    return (
        Finding(
            severity="note",
            what=f"a stale lease of {held.owner_before or 'an unknown run'} was taken over: {held.took_over}",
            do="find out how the gate before this one ended; its run folder holds what it had measured",
        ),
    )
