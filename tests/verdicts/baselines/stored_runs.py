"""A stored baseline and server runs that are judged against it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tests.verdicts.evidence import (
    STEADY,
    make_fingerprint,
    make_launch,
    make_rig,
    make_slate,
    series,
)
from tokgate.records import Fingerprint, Launch, LaunchEvidence, Verdict
from tokgate.rig.models import Rig
from tokgate.verdicts.baselines.file import Absence, BaselineFile, BaselineLaunch, Provenance
from tokgate.verdicts.baselines.identity import identity_hash, identity_of_launch
from tokgate.verdicts.checks.stored_baseline import stored_baseline

RIG = make_rig()
# Losses are called on the server runs there are: for tests about what is said of one.
UNSAMPLED = make_rig(sampling={"gpu_time_s": 0})


OFF = (-0.9, 0.1, 0.7, -0.4, 0.95, -0.6, 0.3, -0.1, -0.75, 0.5, 0.85, -0.25)


def stored(
    rates: Sequence[float] = STEADY,
    *,
    rig: Rig = RIG,
    launches: int = 2,
    sessions: int = 6,
    apart: float = 0.0,
    sessions_apart: float = 0.0,
    **changes: Any,
) -> BaselineFile:
    """As many server runs in each session; one lies off the others by up to `apart` (relative), in no order.

    `sessions_apart`: the same of whole sessions.
    """
    identity = {**identity_of_launch(rig, make_launch(), "single", None), **changes.pop("settings", {})}

    def off(session: int, run: int) -> float:
        alone, shared = OFF[(session * launches + run) % len(OFF)], OFF[session % len(OFF)]
        return 1 + apart * alone + sessions_apart * shared

    runs = tuple(
        BaselineLaunch(
            run_id=f"r{session}",
            launch=f"0{run}",
            samples={"decode_tok_s": tuple((rate * off(session, run),) for rate in rates)},
        )
        for session in range(sessions)
        for run in range(launches)
    )
    fields: dict[str, Any] = {
        "rig": rig.name,
        "arm": "baseline",
        "workload": "single",
        "simulated": identity["simulated"] == "true",
        "identity": identity,
        "identity_hash": identity_hash(identity),
        "fingerprint": make_fingerprint(),
        "provenance": Provenance(who="ada", when="2026-11-20T12:00:00+00:00", why="first", runs=("r1",)),
        "launches": runs,
    }
    return BaselineFile(**{**fields, **changes})


def restarted(first: LaunchEvidence, *rates: Sequence[float], at: int = 1) -> tuple[LaunchEvidence, ...]:
    """A launch and restarts of it, one for each series of rates; all of one decision of the stop rule."""
    arm = first.launch.arm
    found = [first]
    for number, series_of_run in enumerate(rates, start=1):
        name = f"{9 + number:02d}-{arm}-restart-{number}"
        launch = Launch(id=name, arm=arm, role="restart", round=at)
        assert first.server is not None
        found.append(
            first.model_copy(
                update={
                    "launch": launch,
                    "server": first.server.model_copy(
                        update={"launch": launch, "mark": f"run/{name}", "pid": 200 + number}
                    ),
                    "slate": make_slate(f"before {name}"),
                    "generations": series(series_of_run, launch=name),
                }
            )
        )
    return tuple(found)


def judged(
    rates: Sequence[float],
    baseline: BaselineFile | Absence,
    *,
    rig: Rig = UNSAMPLED,
    fingerprint: Fingerprint | None = None,
    restarts: Sequence[Sequence[float]] = (),
) -> Verdict:
    launches = restarted(make_launch(series(rates)), *restarts)
    (verdict,) = stored_baseline(rig, launches, "single", baseline, fingerprint)
    return verdict


def by(factor: float) -> tuple[float, ...]:
    return tuple(v * factor for v in STEADY)


PATCHED: dict[str, str | None] = {
    "sglang.install": "wheel",
    "sglang.dirty": "1f0c",
    "sglang.changed": "1: sglang/srt/managers/scheduler.py",
}
THEN, NOW = (88.8, 88.7, 88.9, 88.8, 88.6, 88.9), (82.2, 82.1, 82.3, 82.2, 82.0, 82.3)
