"""Server runs of both sides of a change, as a session leaves them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from zlib import crc32

from tests.verdicts.evidence import make_launch, make_rig, series
from tokgate.records import LaunchEvidence, Role, StartCause, StartFailure
from tokgate.records.side import BASE, HEAD, SideProof, SidesMade, SideState, Unit
from tokgate.rig.models import Rig
from tokgate.rig.sides import SidesSpec

ARM = "eagle3-2step"
FILE = "python/sglang/srt/speculative/eagle_worker_v2.py"
SPEED = (60.0, 59.9, 60.1, 60.0, 59.8, 60.2)
CALLS = 138


def side_rig(**changes: Any) -> Rig:
    return make_rig(**changes).model_copy(update={"sides": SidesSpec(repository="/src/sglang", base="main")})


def sides_made(*, units: int = 1, dirty: str | None = None) -> SidesMade:
    told = tuple(
        Unit(name=f"{n:010d} change {n}", kind="commit", id=f"{n:040d}", files=(FILE,)) for n in range(units)
    )
    common: dict[str, Any] = {"kind": "worktree", "source": "/src/sglang", "tree": "a" * 64}
    return SidesMade(
        units=told,
        sides=(
            SideState(name=BASE, root="/w/sides/r/base/python", ref="main", commit="1" * 40, **common),
            SideState(
                name=HEAD,
                root="/w/sides/r/head/python",
                commit="2" * 40,
                dirty=dirty,
                units=told,
                changed=(FILE,),
                **common,
            ),
        ),
    )


def run_of(
    side: str,
    number: int,
    tok_s: Sequence[float] = SPEED,
    *,
    arm: str = ARM,
    round: int = 0,  # noqa: A002 - the record's own name
    factor: float = 1.0,
    unused: tuple[str, ...] = (),
    ttft_ms: float = 20.0,
    verify_ct: int = CALLS,
    **changes: Any,
) -> LaunchEvidence:
    """One server run; `factor`: times its speed. `unused`: changed files that nobody imported."""
    base = "-base" if side == BASE else ""
    name = f"{number:02d}-{arm}{base}{f'-restart-{round}' if round else ''}"
    role: Role = "side" if side == BASE else "restart" if round else "control" if arm == "baseline" else "arm"
    calls = verify_ct if arm.startswith("eagle3") else None
    found = make_launch(
        series([v * factor for v in tok_s], launch=name, verify_ct=calls, ttft_ms=ttft_ms),
        id=name,
        arm=arm,
        role=role,
        ran_from=SideProof(
            side=side,
            root=f"/w/sides/r/{side}/python",
            processes=3,
            changed_imported=() if unused else (FILE,),
            changed_unused=unused,
        ),
        **changes,
    )
    launch = found.launch.model_copy(update={"side": side, "round": round})
    server = found.server and found.server.model_copy(
        update={"launch": launch, "mark": f"run/{name}", "start_ticks": crc32(name.encode())}
    )
    return found.model_copy(update={"launch": launch, "server": server})


def runs(side: str, factors: Sequence[float], *, arm: str = ARM) -> tuple[LaunchEvidence, ...]:
    """Return runs of one side; the first as planned, the others restarts."""
    first = 3 if side == HEAD else 4
    return tuple(
        run_of(side, first + 10 * number, factor=factor, round=number, arm=arm)
        for number, factor in enumerate(factors)
    )


def not_started(launch: LaunchEvidence, *lines: str) -> LaunchEvidence:
    """The same launch, which did not come up; `lines`: the end of its log."""
    failure = StartFailure(
        cause=StartCause.CRASHED,
        headline=lines[-1] if lines else "it ended with code 1",
        do="read the traceback in server.log",
        log_tail=lines,
    )
    return launch.model_copy(
        update={
            "failure": failure,
            "server": None,
            "generations": (),
            "liveness": None,
            "environment": None,
            "ran_from": None,
        }
    )
