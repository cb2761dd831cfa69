"""Work on the host's cores, beside numbers that moved: telemetry tells how busy they were, and not by whom."""

from __future__ import annotations

from collections.abc import Iterator

from tokgate.verdicts.host_load import busy_while
from tokgate.verdicts.unsteady import NO_TREND

from . import names
from .case import Case
from .cause import Cause, Strength
from .family import Found
from .telling import again, shortened


def busy_host(case: Case, found: Found) -> Iterator[Cause]:  # noqa: ARG001 - a family's signature
    """Look at how busy the host was where a window was not steady. A busy host beside steady numbers explains nothing."""
    launches = {e.launch.id: e for e in case.run.launches}
    seen = []
    for verdict in case.verdicts_of("steadiness"):
        if verdict.value is None or NO_TREND in verdict.headline:
            continue  # not judged as such, or too few values: nothing has moved
        launch = launches.get(verdict.launch or "")
        words = busy_while(launch, verdict.workload or "") if launch is not None else None
        if words is not None:
            seen.append(f"{verdict.launch}, {verdict.workload}: {words}")
    if seen:
        yield Cause(
            name=names.BUSY_HOST,
            strength=Strength.CONSISTENT,
            words=f"numbers moved while the host was at work all over: {seen[0]}",
            evidence_for=shortened(seen),
            evidence_against=("how much of that is the server's own work, no row tells",),
            do=f"top -b -n 1 on the host: end what is not the server's; then {again(case, 'eagle3')}",
        )
