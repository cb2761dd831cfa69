"""The numbers that a session and a stored baseline both have, each compared by their server runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tokgate.records import Outcome
from tokgate.records.record import Record
from tokgate.rig.models import Rig
from tokgate.stats.decide import decide
from tokgate.stats.decision import Decision
from tokgate.verdicts.control_part import ControlPart
from tokgate.verdicts.establish import Established
from tokgate.verdicts.family import handed_on
from tokgate.verdicts.ledger import run_values
from tokgate.verdicts.metrics import METRICS, Metric, stored_floor_of
from tokgate.verdicts.run_values import COUNTS, Asked, asked_of, values_now

from .file import BaselineFile


class Compared(Record):
    """One metric of an arm, compared with the stored one."""

    metric: Metric
    asked: Asked
    decision: Decision
    before: int  # starts of the baseline

    @property
    def lost(self) -> bool:
        """Whether the estimate is a loss beyond both floors, established or not."""
        return self.decision.outcome is not Outcome.PASS and self.decision.loss > self.decision.floor


def compared_with(
    rig: Rig,
    established: Sequence[Established],
    baseline: BaselineFile,
    moved: Mapping[str, float | None],
) -> Iterator[Compared]:
    """Yield a decision per metric that the baseline and every run of this session know.

    A metric that is known of some runs only is unknown: the slow ones might be those without a number. What is called
    hands its chance of a false alarm on to the others (family.handed_on), until nothing more is called. `moved`: per
    metric, controls_drift.moved_between_controls.
    """
    sides = {}
    for metric in METRICS.values():
        now, before = values_now(established, metric.name), run_values(baseline.launches, metric.name)
        if len(now) == len(established) and before:
            sides[metric.name] = (now, before)
    workload = established[0].workload
    asked = {name: asked_of(rig, "stored", METRICS[name], workload, established) for name in sides}
    own = {name: one.rule.level for name, one in asked.items()}
    found: dict[str, Decision] = {}
    called: list[str] = []
    while True:
        for name, level in handed_on(own, called).items():
            asked[name] = asked[name].at(level)
            # What is accepted of a draft does not depend on how fast the machine is.
            machine = moved.get(name, 0.0) if name not in COUNTS else 0.0
            found[name] = decide(*sides[name], asked[name].rule, kind="stored", moved=machine)
        more = [n for n in found if n not in called and found[n].outcome is Outcome.REGRESSED]
        if not more:
            break
        called += more
    for name, decision in found.items():
        before_n = sum(len(run.values) for run in sides[name][1])
        yield Compared(metric=METRICS[name], asked=asked[name], decision=decision, before=before_n)


def lost_beyond_control(rig: Rig, found: Compared, part: ControlPart) -> bool:
    """Whether the arm lost more than its control, which ran beside it on the same machine."""
    return found.lost and part.beyond(found.metric, found.decision.change, stored_floor_of(rig, found.metric))
