"""What a run would be compared with: baselines of this very identity, their age, the history, a self-test."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from pathlib import Path

from tokgate.errors import BaselineError
from tokgate.records.doctor import Remark
from tokgate.rig.shipped import baselines_home
from tokgate.session.history_file import history_path, read
from tokgate.verdicts.baselines.expiry import expired
from tokgate.verdicts.baselines.file import Absence, BaselineFile
from tokgate.verdicts.baselines.identity import DRAFT_FACT, MODEL_FACT, identity_of
from tokgate.verdicts.baselines.load import find, folder_of, load
from tokgate.verdicts.selftest_file import stored_selftests

from .check import Case, Check, NotLooked
from .readings import fact, facts, gpus

_SHOWN = 3  # settings that differ from the nearest baseline
_MEASURE = 'measure, then store: tokgate baseline update reports/latest --why "…"'


def compared(case: Case) -> Iterator[Remark]:
    files = sorted(folder_of(_home(case), case.rig.name).glob("*.json"))
    broken = [e for path in files if (e := _broken(path)) is not None]
    for error in broken:
        yield Remark.fail(error.found, error.do, tried=error.tried)
    if not files:
        yield Remark.warn(
            f"nothing is stored for {case.rig.name}: what stays within the rig's own limits ends with exit 12, no-baseline",
            _MEASURE,
        )
        return
    found = [] if broken else list(_found(case))
    stored = {f.name: f for _, f in found if isinstance(f, BaselineFile)}
    absent = [(words, f) for words, f in found if isinstance(f, Absence)]
    for words, missing in absent:
        yield _absent(words, missing)
    now = dt.datetime.now(dt.UTC).isoformat(timespec="seconds")
    for name, one in stored.items():
        old = expired(case.rig, one.provenance.when, now)
        if old is not None:
            yield Remark.warn(f"{name}: {old.words}", old.do)
    if found and not absent:
        oldest = min(f.provenance.when for f in stored.values())
        yield Remark.ok(
            f"all {len(found)} pairs of arm and workload have one; the oldest was stored {oldest[:10]}"
        )


def _home(case: Case) -> Path:
    return baselines_home(case.root, case.rig.name)


def _broken(path: Path) -> BaselineError | None:
    try:
        load(path)
    except BaselineError as error:
        return error
    return None


def _found(case: Case) -> Iterator[tuple[str, BaselineFile | Absence]]:
    """Yield what every arm and workload would be compared with, by the facts that a gate would see now."""
    rig = case.rig
    names = [g.name for g in gpus(case)[0] if g.name is not None] if rig.gpus.count else []
    if len(names) != rig.gpus.count:
        raise NotLooked(
            f"{len(names)} of {rig.gpus.count} GPUs tell their model, which is part of a baseline's identity"
        )
    version, told = fact(case, "sglang.version"), facts(case).facts
    for arm in rig.arms:
        for workload in rig.workloads:
            identity = identity_of(
                rig,
                arm,
                workload,
                sglang_version=version,
                gpu_names=names,
                model_config=told.get(MODEL_FACT),
                draft_config=told.get(DRAFT_FACT.format(arm=arm.name)),
            )
            yield f"{workload.name} on {arm.name}", find(_home(case), rig.name, identity)


def _absent(words: str, one: Absence) -> Remark:
    beside = ""
    if one.nearest is not None:
        shown = "; ".join(
            f"{d.key}: {d.before or 'not set'} there, {d.now or 'not set'} here" for d in one.differs[:_SHOWN]
        )
        more = f"; {len(one.differs) - _SHOWN} more" if len(one.differs) > _SHOWN else ""
        beside = f"; the nearest, {one.nearest}, differs in {shown}{more}"
    return Remark.warn(f"{words} has no baseline: exit 12{beside}", f"put the setting back, or {_MEASURE}")


def history(case: Case) -> Iterator[Remark]:
    path = history_path(case.reports, case.rig.name)
    try:
        found = read(path)
    except OSError as error:
        yield Remark.fail(
            f"{path} cannot be read: {error.strerror or error}", "make it readable, or move it away"
        )
        return
    if found.damaged:
        yield Remark.warn(
            f"{len(found.damaged)} lines of {path} are damaged and will be passed over: {found.damaged[0]}",
            "take them out, or move the file away",
        )
    elif not found.entries:
        yield Remark.note(f"no session of {case.rig.name} is remembered in {path.parent}")
    else:
        yield Remark.ok(f"{len(found.entries)} sessions, the last of {found.entries[-1].started_at[:10]}")


def selftest(case: Case) -> Iterator[Remark]:
    found = stored_selftests(case.root, case.rig.name)
    if found:
        yield Remark.ok(f"{len(found)} stored: reports say what this gate is known to see")
    else:
        yield Remark.note(
            "none is stored: what this host's gate can see, and how often it cries wolf, is not known",
            f"tokgate selftest --rig {case.rig.name}",
        )


CHECKS = (
    Check(
        "baselines.compared",
        "whether every arm and workload has a baseline of this very identity",
        "exit 12: no-baseline; no verdict where one is damaged",
        compared,
        limit_s=90.0,
    ),
    Check(
        "baselines.history",
        "whether earlier sessions can be read",
        "charts and change points without a past",
        history,
    ),
    Check(
        "baselines.selftest",
        "whether it is known what this gate can see",
        "a pass that nobody knows the worth of",
        selftest,
    ),
)
