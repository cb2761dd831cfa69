"""What an update does to each stored number, and whether a better one is established well enough to be held to."""

from __future__ import annotations

from collections.abc import Sequence

from tokgate.records.record import Record
from tokgate.rig.models import Rig
from tokgate.stats.decide import decide
from tokgate.stats.decision import Decision, Rule
from tokgate.stats.levels import RunValues
from tokgate.verdicts.ledger import Level, level_of, run_values
from tokgate.verdicts.metrics import METRICS, Metric, stored_floor_of

from .creep import Creep, creep_of
from .file import BaselineFile, BaselineLaunch

# A replaced number may be better by this share of the floor without more ado: measured twice, no two are the same.
NO_RAISE = 0.5
# Beyond it, a session that is appended does not agree with those stored.
AGREES = 0.01


class Move(Record):
    """Of one metric; changes are relative to what is stored, in the metric's own direction."""

    metric: str
    before: Level | None  # None: not stored so far
    after: Level
    change: float | None  # of what is stored
    new: float | None  # of the runs that come, against what is stored; the same where they replace it
    interval: tuple[float, float] | None  # 95 %, of `new`
    appended: bool  # the runs that come are a part of what is stored then: `new` is not `change`
    creep: Creep | None

    @property
    def line(self) -> str:
        """Return "decode_tok_s: 49.1 tok/s (n=12), was 44.6 tok/s (n=12), +10.0%, interval +8.9% to +11.1%".

        Where runs are appended the interval is not of that change: "…, +0.9%; the runs that come +6.9%, interval …".
        """
        metric = METRICS[self.metric]
        text = f"{self.metric}: {metric.text(self.after.value)} (n={self.after.starts})"
        if self.before is None or self.change is None:
            return f"{text}, new"
        text += f", was {metric.text(self.before.value)} (n={self.before.starts}), {self.change:+.1%}"
        if self.appended and self.new is not None:
            text += f"; the runs that come {self.new:+.1%}"
        if self.interval is not None:
            text += f", interval {self.interval[0]:+.1%} to {self.interval[1]:+.1%}"
        if self.creep is not None and self.creep.spent >= 0.0005:  # less is printed as 0.0 %
            text += f", {self.creep.words}"
        return text


def moves_of(
    rig: Rig, old: BaselineFile | None, new: BaselineFile, fresh: Sequence[BaselineLaunch]
) -> tuple[Move, ...]:
    """Return one move a metric that `new` holds; `fresh` are the runs that come."""
    return tuple(_move(rig, old, new, fresh, METRICS[name]) for name in METRICS if name in new.levels)


def _move(
    rig: Rig, old: BaselineFile | None, new: BaselineFile, fresh: Sequence[BaselineLaunch], metric: Metric
) -> Move:
    after = new.levels[metric.name]
    before = old.levels.get(metric.name) if old is not None else None
    runs = run_values(fresh, metric.name)
    coming = level_of(runs, metric)
    found = _against(rig, metric, runs, old) if before is not None and coming is not None else None
    return Move(
        metric=metric.name,
        before=before,
        after=after,
        change=after.value / before.value - 1 if before is not None else None,
        new=coming.value / before.value - 1 if before is not None and coming is not None else None,
        interval=found.interval if found is not None else None,
        appended=coming is not None and coming.runs < after.runs,
        creep=creep_of(rig, new, metric) if old is not None else None,
    )


def raised_too_soon(
    rig: Rig, old: BaselineFile | None, new: BaselineFile, fresh: Sequence[BaselineLaunch], *, append: bool
) -> tuple[str, ...]:
    """Return why each better number is not established well enough to be what later runs are held to.

    A lucky session that becomes the baseline fails every honest one after it, for as long as it is good; so raising
    takes several sessions and server runs, and a level well below that of a verdict. Appending adds to what is stored
    and takes nothing away: there only a session that does not agree with the stored ones has to be established so.
    """
    if old is None:
        return ()
    needs = rig.baselines
    whys = []
    for name, metric in METRICS.items():
        before, after = old.levels.get(name), new.levels.get(name)
        if before is None or after is None:
            continue
        gain = -metric.loss(after.value / before.value - 1)
        floor = stored_floor_of(rig, metric)
        if gain <= NO_RAISE * max(floor.relative, floor.absolute / before.value):
            continue
        runs = run_values(fresh, name)
        if append and not _gained(rig, metric, runs, old, AGREES):
            continue
        sessions = len({run.session for run in runs})
        lacking = []
        if sessions < needs.raise_sessions:
            lacking.append(f"{needs.raise_sessions} sessions ({sessions} here)")
        if len(runs) < needs.raise_runs:
            lacking.append(f"{needs.raise_runs} server runs ({len(runs)} here)")
        if not lacking and not _gained(rig, metric, runs, old, needs.raise_level):
            lacking.append(f"a gain that chance shows less often than {needs.raise_level:.1%}{_hint(before)}")
        if lacking:
            whys.append(f"{name} is {gain:+.1%} better: raising it takes {' and '.join(lacking)}")
    return tuple(whys)


def _hint(stored: Level) -> str:
    if stored.sessions >= 3:
        return ""
    many = "1 session" if stored.sessions == 1 else f"{stored.sessions} sessions"
    return f" (what is stored is of {many}, so nobody knows how far sessions differ)"


def _gained(
    rig: Rig, metric: Metric, runs: Sequence[RunValues], old: BaselineFile | None, level: float
) -> bool:
    """Say whether the gain is above 0 at a one-sided level: a loss, were the metric turned round."""
    found = _against(rig, metric, runs, old, level=level, turned=True)
    return found is not None and found.established


def _against(
    rig: Rig,
    metric: Metric,
    runs: Sequence[RunValues],
    old: BaselineFile | None,
    *,
    level: float = AGREES,
    turned: bool = False,
) -> Decision | None:
    stored = run_values(old.launches, metric.name) if old is not None else ()
    if not runs or not stored:
        return None
    floor = stored_floor_of(rig, metric)
    rule = Rule(
        higher_is_better=(metric.better == "higher") is not turned,
        ratio=metric.scale == "ratio",
        relative=floor.relative,
        absolute=floor.absolute,
        level=2 * level,  # the first look of a sequence spends half; here there is no second one
        confirm=False,
    )
    return decide(runs, stored, rule, kind="stored")
