"""What a look at the host has against measuring there."""

from __future__ import annotations

from collections.abc import Iterable

from tokgate.records import CleanSlate

from .shortfall import Shortfall


def unclean(slate: CleanSlate | None) -> Iterable[Shortfall]:
    """Yield one shortfall per thing that a clean machine would not have; nothing when it is clean.

    Processes of a gate run count even where the look made no finding of them: a list that
    contradicts its own conclusion is not proof of anything.
    """
    if slate is None:
        yield Shortfall(
            what="nobody looked whether the machine is clean",
            do="start the session again: it looks at the host before every launch",
        )
        return
    for finding in slate.findings:
        if finding.severity == "unclean":
            yield Shortfall(what=finding.what, do=finding.do)
        elif finding.severity == "unknown":
            yield Shortfall(what=f"cannot be told: {finding.what}", do=finding.do)
    if slate.leftovers and slate.clean:
        pids = ", ".join(str(p.pid) for p in slate.leftovers)
        yield Shortfall(
            what=f"{len(slate.leftovers)} processes of a gate run are still there (pid {pids})",
            do=f"see whose they are, then stop them: ps -o pid,user,lstart,cmd -p {pids.replace(' ', '')}",
            evidence=tuple(f"pid {p.pid}, {p.user or 'user unknown'}: {p.cmdline}" for p in slate.leftovers),
        )
