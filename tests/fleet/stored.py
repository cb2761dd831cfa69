"""A run on several hosts as its session leaves it, without any session."""

from __future__ import annotations

from pathlib import Path

from tests.cli.baseline_checkout import ONE, write_run
from tests.report.hostile import MARKUP
from tests.verdicts.evidence import STEADY, controls, eagle3, make_rig
from tokgate.records.fleet import Fleet, HostSeen, HostState, Shift, ShiftState
from tokgate.records.run import RunInfo
from tokgate.rig.machine import HostSpec
from tokgate.rig.models import Rig
from tokgate.session.run_folder import read_info

NAMES = ("a", "b", "c", "d")
ARM = "eagle3-2step"
SLOWER = 0.9  # b, beside a


def rig() -> Rig:
    host = HostSpec(pool=tuple(f"ssh://me@{name}" for name in NAMES))
    return _rig(host=host.model_dump())


def _rig(**changes: object) -> Rig:
    return make_rig(
        workloads=ONE, arms=_arms(), instruments={"skip": "nobody asked"}, lossless=None, **changes
    )


def _arms() -> list[dict[str, object]]:
    eagle = {
        "kind": "eagle3",
        "draft_model_path": "/models/draft",
        "num_steps": 2,
        "topk": 1,
        "num_draft_tokens": 3,
    }
    return [{"name": "baseline", "kind": "baseline"}, {"name": ARM, **eagle}]


def shift(
    number: int, host: str, state: ShiftState, *, why: str | None = None, measured: bool = True
) -> Shift:
    return Shift(
        number=number,
        host=host,
        worker=f"gw{number}, pid 1 1",
        folder=f"hosts/{host}",
        groups=(ARM,),
        state=state,
        why=why,
        measured=("01-baseline", f"02-{ARM}", "03-baseline-again") if measured else ("01-baseline",),
        began_at="2026-11-30T10:00:00+00:00",
        ended_at="2026-11-30T10:09:00+00:00",
        seconds=540.0,
    )


def fleet() -> Fleet:
    def host(name: str, state: HostState = HostState.ADMITTED, why: str | None = None) -> HostSeen:
        return HostSeen(name=name, address=f"ssh://me@{name}", state=state, why=why, do=why and "mend it")

    return Fleet(
        hosts=(
            host("a"),
            host("b"),
            host("c", HostState.LOST, "no route to host"),
            host("d", HostState.LEFT_OUT, f"another driver {MARKUP}"),
        ),
        shifts=(
            shift(1, "a", ShiftState.MEASURED),
            shift(2, "b", ShiftState.MEASURED),
            shift(3, "c", ShiftState.LOST, why="no route to host", measured=False),
        ),
        groups=(ARM,),
        each_on=2,
        words=(f"gw3 found no host free {MARKUP}",),
    )


def stored_fleet(folder: Path, told: Fleet | None = None) -> Path:
    """Write it: two hosts measured the arm, b slower than a; c was lost, d left out. Both may say anything."""
    folder.mkdir(parents=True)
    for name, share in (("a", 1.0), ("b", SLOWER)):
        rates = tuple(share * value for value in STEADY)
        before, after = controls(rates, rates)
        again = after.launch.model_copy(update={"id": "03-baseline-again"})
        generations = tuple(g.model_copy(update={"launch": again.id}) for g in after.generations)
        after = after.model_copy(update={"launch": again, "generations": generations})
        arm = eagle3(tuple(share * value for value in (59.8, 59.6, 60.0, 59.7, 59.9, 59.8)))
        write_run(folder / "hosts" / name, before, arm, after, rig=_rig())
    info: RunInfo = read_info(folder / "hosts" / "a").model_copy(
        update={"run_id": folder.name, "selection": "perf_tests -m eagle3"}
    )
    (folder / "run.json").write_text(info.model_dump_json())
    (folder / "rig.json").write_text(rig().model_dump_json())
    (folder / "fleet.json").write_text((told or fleet()).model_dump_json())
    return folder
