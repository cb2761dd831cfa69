"""How long a launch is likely to take: by earlier sessions of the rig, by stored baselines, by the rig's own limits."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tokgate.errors import BaselineError
from tokgate.records import Launch
from tokgate.rig.models import Rig
from tokgate.rig.shipped import baselines_home
from tokgate.rig.workload import WorkloadSpec
from tokgate.verdicts.baselines.file import BaselineFile
from tokgate.verdicts.baselines.history import Entry
from tokgate.verdicts.baselines.load import folder_of, load
from tokgate.verdicts.baselines.spent import LaunchSpent, SessionSpent

from .alike import NO_ALIKE, Alike, alike_sessions
from .history_file import history_path, read
from .usual import usual_around, usual_tok_s

LATEST = 10  # sessions: older ones are of another driver, another model server, another day


@dataclass(frozen=True)
class Rate:
    """Of one stream."""

    tok_s: float
    first_token_s: float = 0.0


@dataclass(frozen=True)
class Pace:
    """What is known of a rig's speed before a session begins. `rates`: by arm and workload."""

    rig: Rig
    sessions: tuple[SessionSpent, ...] = ()  # the latest, oldest first
    last: str = ""  # when the last of them began
    rates: Mapping[tuple[str, str], Rate] = field(default_factory=dict)
    rates_from: str = ""
    alike: Alike = NO_ALIKE  # of other rigs, where this one has none

    @property
    def basis(self) -> str:
        """Return where the seconds come from, e.g. "from 3 sessions of this rig, the last of 2026-11-29"."""
        if self.sessions:
            many = "1 session" if len(self.sessions) == 1 else f"{len(self.sessions)} sessions"
            which = "of" if len(self.sessions) == 1 else "the last of"
            return f"from {many} of this rig, {which} {self.last[:10]}"
        if self.alike.sessions:
            start = f"a server's start and stop from sessions of {', '.join(self.alike.rigs)}: the same model on this host"
        else:
            start = usual_around(self.rig).words
        low, high = usual_tok_s(self.rig)
        speed = (
            f"speed from {self.rates_from}"
            if self.rates
            else f"streams assumed to make {low:g} to {high:g} tok/s"
        )
        return f"{speed}; {start}; a first session tells more"

    def rest_s(self, launch: Launch) -> list[float]:
        """Return what a launch took outside of its barrier starts, a value a session; of its kind where not of itself.

        A proof start was selected in no session so far, say: then it takes what the others take around their starts.
        Where the rig had no session, what launches of other rigs took that run the same server; [] where none did.
        """
        own = [s.launches[launch.id].rest_s for s in self.sessions if launch.id in s.launches]
        if own:
            return own
        proof = launch.role == "nccl-proof"
        sessions = self.sessions or self.alike.sessions
        others = [spent for session in sessions for spent in session.launches.values()]
        alike = [spent for spent in others if bool(spent.starts) != proof]
        return [spent.rest_s for spent in alike or others]

    def start_s(self, launch: Launch, workload: WorkloadSpec, named: str) -> list[float]:
        """Return what one barrier start takes, a value a session or launch; [] where nothing is known.

        `named`: the name under which its generations are kept.
        """
        own = [
            seconds
            for session in self.sessions
            if (spent := session.launches.get(launch.id)) is not None
            and (seconds := _scaled(spent, named, workload)) is not None
        ]
        if own:
            return own
        rate = self._rate(launch.arm, workload)
        return [] if rate is None else [rate.first_token_s + (workload.output_tokens - 1) / rate.tok_s]

    def besides_s(self) -> list[float]:
        return [s.besides_s for s in self.sessions if s.besides_s is not None]

    def _rate(self, arm: str, workload: WorkloadSpec) -> Rate | None:
        known = self.rates.get((arm, workload.name))
        if known is not None:
            return known
        alike = [
            self.rates[arm, other.name]
            for other in self.rig.workloads
            if other.concurrency == workload.concurrency and (arm, other.name) in self.rates
        ]
        return alike[0] if alike else None


def pace_of(rig: Rig, *, root: Path, reports: Path) -> Pace:
    """Read what is known. `root`: whose baselines/ count; `reports`: where the history of its sessions lies.

    What cannot be read tells nothing: a plan is worth having without it, and whoever needs it says so.
    """
    try:
        entries = read(history_path(reports, rig.name)).entries
    except OSError:
        entries = ()
    mine = _sessions(rig, entries)
    rates, source = _stored(rig, root), "stored baselines"
    if not rates:
        rates, source = _promised(rig), "the rig's budgets"
    if mine:
        rates = {**rates, **_measured(mine)}
    return Pace(
        rig=rig,
        sessions=tuple(e.spent for e in mine if e.spent is not None),
        last=mine[-1].started_at if mine else "",
        rates=rates,
        rates_from=source,
        alike=NO_ALIKE if mine else alike_sessions(rig, reports),
    )


def _sessions(rig: Rig, entries: Iterable[Entry]) -> list[Entry]:
    found = [e for e in entries if e.rig == rig.name and e.simulated == rig.simulated and e.spent is not None]
    return sorted(found, key=lambda e: e.started_at)[-LATEST:]


def _measured(entries: Sequence[Entry]) -> dict[tuple[str, str], Rate]:
    """Return rates for launches that no session has made yet, of arms that one has measured."""
    found = {}
    for entry in entries:
        for one in entry.series:
            medians = list(one.launches.values())
            rate = _rate_of(
                [m["decode_tok_s"] for m in medians if "decode_tok_s" in m],
                [m["ttft_ms"] for m in medians if "ttft_ms" in m],
            )
            if rate is not None:
                found[one.arm, one.workload] = rate
    return found


def _stored(rig: Rig, root: Path) -> dict[tuple[str, str], Rate]:
    newest: dict[tuple[str, str], BaselineFile] = {}
    for path in sorted(folder_of(baselines_home(root, rig.name), rig.name).glob("*.json")):
        try:
            stored = load(path)
        except BaselineError:
            continue
        key = stored.arm, stored.workload
        if key not in newest or newest[key].provenance.when < stored.provenance.when:
            newest[key] = stored
    found = {}
    for key, stored in newest.items():
        rate = _rate_of(
            *([v for start in stored.by_start(m) for v in start] for m in ("decode_tok_s", "ttft_ms"))
        )
        if rate is not None:
            found[key] = rate
    return found


def _promised(rig: Rig) -> dict[tuple[str, str], Rate]:
    return {
        (arm.name, workload.name): Rate(budget.at_least)
        for budget in rig.budgets
        if budget.metric == "decode_tok_s" and budget.at_least
        for arm in rig.arms
        for workload in rig.workloads
        if budget.arm in ("*", arm.name) and budget.workload in ("*", workload.name)
    }


def _rate_of(tok_s: Sequence[float], ttft_ms: Sequence[float]) -> Rate | None:
    good = [v for v in tok_s if v > 0]
    if not good:
        return None
    return Rate(statistics.median(good), statistics.median(ttft_ms) / 1e3 if ttft_ms else 0.0)


def _scaled(spent: LaunchSpent, named: str, workload: WorkloadSpec) -> float | None:
    """Return one start's seconds, brought to the tokens that are asked for now."""
    start = spent.starts.get(named)
    if start is None or start.tokens < 1:
        return None
    return start.seconds * workload.output_tokens / start.tokens
