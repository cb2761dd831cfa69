"""This machine, which measures: its pytest, where it writes, how many events a second it takes, how long a gate is."""

from __future__ import annotations

import importlib.metadata
import os
from collections.abc import Iterator
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement

from tokgate.client.headroom import measure_ceiling
from tokgate.hosts.scripts.machine_state import room
from tokgate.records.doctor import Remark
from tokgate.report.durations import words
from tokgate.report.progress_plan import span_words
from tokgate.rig.models import Rig
from tokgate.rig.shipped import baselines_home
from tokgate.session.pace import pace_of
from tokgate.session.preamble import possible_launches
from tokgate.session.session_plan import session_plan
from tokgate.verdicts.baselines.load import folder_of, load
from tokgate.verdicts.headroom import LIMIT
from tokgate.verdicts.metrics import METRICS

from .check import Case, Check, NotLooked
from .readings import lease_holder

_PLUGINS = ("pytest", "pytest-benchmark", "pytest-html", "pytest-testinfra", "pytest-xdist")
_RATE = "decode_tok_s"
# A run folder of the simulated box has 16 MB; traces of eight ranks add some tens of MB each.
_LEAST_MIB, _GOOD_MIB = 100, 1024


def plugins(_: Case) -> Iterator[Remark]:
    try:
        told = importlib.metadata.requires("tokgate") or []
    except importlib.metadata.PackageNotFoundError:
        told = []
    yield from judge_plugins(told, {name: _version(name) for name in _PLUGINS})


def judge_plugins(required: list[str], has: dict[str, str | None]) -> Iterator[Remark]:
    """`required`: lines as in a package's metadata; `has`: version by package, None: not installed."""
    wanted = {}
    for line in required:
        try:
            one = Requirement(line)
        except InvalidRequirement:
            continue
        if one.marker is None or one.marker.evaluate({"extra": ""}):
            wanted[one.name] = one.specifier
    wrong = [
        f"{name} {found or 'is not installed'}{f', wanted {wanted[name]}' if found and name in wanted else ''}"
        for name, found in has.items()
        if found is None or (name in wanted and not wanted[name].contains(found, prereleases=True))
    ]
    if wrong:
        yield Remark.fail("; ".join(wrong), "install tokgate again with its requirements: pip install -e .")
    else:
        yield Remark.ok(", ".join(f"{name} {found}" for name, found in has.items()))


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def reports(case: Case) -> Iterator[Remark]:
    found = room(case.reports)
    if not found["writable"]:
        yield Remark.fail(
            f"{found['nearest']} cannot be written", "make it writable, or name another: --report-dir DIR"
        )
    elif found["free_mib"] < _LEAST_MIB or found["free_inodes"] < 1000:
        yield Remark.fail(
            f"{found['free_mib']} MiB and {found['free_inodes']} inodes are free on the disk of {case.reports}",
            "make room, or write elsewhere: --report-dir DIR",
        )
    elif found["free_mib"] < _GOOD_MIB:
        yield Remark.warn(
            f"{found['free_mib']} MiB are free on the disk of {case.reports}; traces of all ranks may take more",
            "make room, or write elsewhere: --report-dir DIR",
        )
    else:
        yield Remark.ok(f"{case.reports}: {found['free_mib'] / 1024:.0f} GiB free")


def headroom(case: Case) -> Iterator[Remark]:
    rig, holder = case.rig, lease_holder(case)
    if holder is not None:
        raise NotLooked(f"measuring it would disturb the gate at work, {holder.owner}")
    yield from judge_headroom(measure_ceiling(), needed(baselines_home(case.root, rig.name), rig))


def needed(root: Path, rig: Rig) -> tuple[float, str] | None:
    """Return the most events a second that any workload is known to bring, and how that is known; None: not known.

    Without speculation every token is an event; with it an event may carry several, so this is the most.
    """
    rates = [
        (w.concurrency * b.at_least, f"budget {b.at_least:g} tok/s x {w.concurrency}")
        for w in rig.workloads
        for b in rig.budgets
        if b.metric == _RATE and b.at_least is not None and b.workload in ("*", w.name)
    ]
    for path in folder_of(root, rig.name).glob("*.json"):
        try:
            stored = load(path)
        except Exception:  # noqa: BLE001, S112 - a damaged one is told by baselines.compared
            continue
        streams = next((w.concurrency for w in rig.workloads if w.name == stored.workload), 1)
        best = max((v for start in stored.by_start(_RATE) for v in start), default=None)
        if best is not None:
            rates.append((streams * best, f"baseline {METRICS[_RATE].text(best)} x {streams}"))
    return max(rates, default=None)


def judge_headroom(ceiling: float, need: tuple[float, str] | None) -> Iterator[Remark]:
    words = f"{ceiling:,.0f} events/s keep one core busy, {LIMIT:.0%} of that may be used"
    if need is None:
        yield Remark.ok(f"{words}; how many will come is not known before the first run")
        return
    rate, how = need
    if rate > LIMIT * ceiling:
        yield Remark.fail(
            f"{words}; up to {rate:,.0f} are expected ({how}): the client would be the limit",
            "end what computes on this machine, lower the concurrency, or measure from a faster one",
        )
    else:
        yield Remark.ok(f"{words}; up to {rate:,.0f} are expected ({how})")


def busy(_: Case) -> Iterator[Remark]:
    cores = len(os.sched_getaffinity(0))
    yield from judge_busy(os.getloadavg()[0], cores)


def judge_busy(load: float, cores: int) -> Iterator[Remark]:
    if load > cores:
        yield Remark.warn(
            f"load {load:.1f} in the last minute on {cores} cores: stamps of arrivals will be late",
            "let what computes here end first",
        )
    else:
        yield Remark.ok(f"load {load:.1f} in the last minute on {cores} cores")


def length(case: Case) -> Iterator[Remark]:
    """What `-m eagle3` will launch, and how long that takes, by the gate's own estimate."""
    rig = case.rig
    planned = [
        e.id for e in possible_launches(rig) if not e.role.startswith("sweep") and e.role != "nccl-off"
    ]
    plan = session_plan(
        rig,
        planned,
        pace_of(rig, root=baselines_home(case.root, rig.name), reports=case.reports),
        samples=True,
    )
    starts = f"-m eagle3 starts {len(plan.launches)} servers"
    more = plan.restarts
    further = f", and up to {words(more.most_s)} more for restarts" if more is not None and more.most else ""
    likely = plan.seconds.likely
    taking = span_words(plan.seconds) if likely is None else f"about {words(likely)}"
    yield Remark.ok(f"{starts}: {taking}{further} ({plan.basis})")


CHECKS = (
    Check(
        "client.plugins",
        "whether pytest and its plugins are those that the gate needs",
        "a session that cannot begin",
        plugins,
    ),
    Check(
        "client.reports",
        "whether run folders can be written, and their disk has room",
        "a run that is lost",
        reports,
    ),
    Check(
        "client.load",
        "whether this machine is quiet enough to stamp arrivals",
        "unsteady or inconclusive numbers",
        busy,
    ),
    Check("client.length", "how long a gate takes", "a job that is cut off by its limit", length),
)
# Measured when everything else is done: beside other checks it would measure them.
LAST = (
    Check(
        "client.headroom",
        "whether this client takes more events than any workload brings",
        "exit 11: the client was the limit",
        headroom,
        limit_s=40.0,
        quick=False,
    ),
)
