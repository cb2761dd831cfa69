"""What a loss looks like when some causes are at work: parts and marks, from milliseconds that are easy to check by hand."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from tests.verdicts.evidence import make_rig, make_run
from tokgate.records import Outcome, VariableState, VariableTruth, Verdict
from tokgate.stats.decompose import logarithmic_mean
from tokgate.stats.log_shares import ACCEPTANCE, REST
from tokgate.stats.ranks import SlowRank
from tokgate.verdicts.diagnosis import names
from tokgate.verdicts.diagnosis.case import Case
from tokgate.verdicts.diagnosis.clocks import Held
from tokgate.verdicts.diagnosis.graphs import Graphs
from tokgate.verdicts.diagnosis.losses import DRAFT, EXTEND, PASS, VERIFY, Loss, Part
from tokgate.verdicts.diagnosis.marks import Marks
from tokgate.verdicts.diagnosis.motion import Levels, Trend
from tokgate.verdicts.diagnosis.origin import Origin
from tokgate.verdicts.diagnosis.variables import Refuted

CONTROL, ARM, WORKLOAD = "baseline", "eagle3-2step", "single"
PLAIN_MS, ACCEPT = 11.26, 1.85
CYCLE = {DRAFT: 0.25, VERIFY: 19.0, EXTEND: 0.29, REST: 0.17}
BAD = Verdict(check="speculation_beats_its_twin", outcome=Outcome.REGRESSED, headline="it loses")
NO_MARKS = Marks(
    held={}, trends={}, levels={}, graphs={}, slow_rank=None, slow_card=None, origin=Origin(tree=False), nccl=(),
    environment=(),
)  # fmt: skip


@dataclass
class Story:
    """The box after something has happened to it. Factors and milliseconds are of its own numbers."""

    plain_ms: float = PLAIN_MS
    accept: float = ACCEPT
    cycle: dict[str, float] = field(default_factory=lambda: dict(CYCLE))
    marks: Marks = NO_MARKS

    def losses(self) -> Mapping[tuple[str, str], Loss]:
        """Return both arms' losses against a baseline, split as tokgate/stats/decompose.py splits them."""
        plain = math.log(PLAIN_MS / self.plain_ms)
        before, after = math.fsum(CYCLE.values()), math.fsum(self.cycle.values())
        middle = logarithmic_mean(before, after)
        accepted = math.log(self.accept / ACCEPT)
        parts = [part(ACCEPTANCE, accepted, ACCEPT, self.accept)]
        parts += [part(n, -(ms - CYCLE[n]) / middle, CYCLE[n], ms) for n, ms in self.cycle.items()]
        whole = accepted - math.log(after / before)
        return {
            (CONTROL, WORKLOAD): loss(CONTROL, plain, part(PASS, plain, PLAIN_MS, self.plain_ms)),
            (ARM, WORKLOAD): loss(ARM, whole, *parts),
        }

    def case(self) -> Case:
        return Case(
            rig=make_rig(), run=make_run(), verdicts=[BAD], baselines={}, sides={}, losses=self.losses()
        )


def part(name: str, log: float, before: float, after: float) -> Part:
    return Part(name=name, log=log, interval=(log - 1e-4, log + 1e-4), before=before, after=after)


def loss(arm: str, log: float, *parts: Part) -> Loss:
    return Loss(arm=arm, workload=WORKLOAD, against="baselines/small/1.json", log=log, parts=parts)


def _passes(story: Story, factor: float) -> None:
    story.plain_ms *= factor
    story.cycle[VERIFY] *= factor


def _both_ms(story: Story, ms: float) -> None:
    story.plain_ms += ms
    story.cycle[VERIFY] += ms


def no_graph(story: Story) -> None:
    story.cycle[VERIFY] += 10.0
    story.cycle[REST] += 0.3
    told = Graphs(here=0.0, there=1.0, words="0% of verify steps in a graph")
    story.marks = replace(story.marks, graphs={(ARM, WORKLOAD): told})


def tree(story: Story) -> None:
    _both_ms(story, 0.9)
    story.marks = replace(story.marks, origin=Origin(tree=True, words=("2 files",), against="baselines/1"))


def nccl(story: Story) -> None:
    _both_ms(story, 2.0)
    row = VariableTruth(
        pid=1,
        process="scheduler TP0",
        variable="NCCL_ALGO",
        wanted="Ring",
        found=None,
        state=VariableState.ABSENT,
    )
    story.marks = replace(story.marks, nccl=(Refuted(launch="01-baseline", row=row),))


def verify(story: Story) -> None:
    story.cycle[VERIFY] += 3.0


def draft(story: Story) -> None:
    story.cycle[DRAFT] += 2.0


def host(story: Story) -> None:
    story.plain_ms += 1.5
    story.cycle[REST] += 1.5


def acceptance(story: Story) -> None:
    story.accept *= 0.8


def base(story: Story) -> None:
    _passes(story, 1.1)


def stale(story: Story) -> None:
    _passes(story, 1.1)
    story.marks = replace(
        story.marks, origin=Origin(tree=False, machine=("another driver",), against="baselines/1")
    )


def heat(story: Story) -> None:
    """Measured by the launch's own free starts: the size is known."""
    log = math.log(1.15)
    story.plain_ms *= 1.15
    for name in story.cycle:
        story.cycle[name] *= 1.15
    held = Held(log=log, at_most=False, by="its own free starts", words="8 GPUs held back")
    story.marks = replace(story.marks, held={(CONTROL, WORKLOAD): held, (ARM, WORKLOAD): held})


def drift(story: Story) -> None:
    story.plain_ms *= 1.07
    for name in story.cycle:
        story.cycle[name] *= 1.07
    trend = Trend(log=math.log(1.07), whole=0.14, words="slower and slower")
    story.marks = replace(story.marks, trends={(CONTROL, WORKLOAD): trend, (ARM, WORKLOAD): trend})


def modes(story: Story) -> None:
    _passes(story, 1.06)
    levels = Levels(log=math.log(1.06), runs=4, words="two levels")
    story.marks = replace(story.marks, levels={WORKLOAD: levels})


def slow_rank(story: Story) -> None:
    _passes(story, 1.2)
    slow = SlowRank(rank=5, own_ms=(0.3, 0.35), others_ms=(0.25, 0.29), words="rank 5 is slow by itself")
    story.marks = replace(story.marks, slow_rank=(slow, "05-eagle3-2step-phases"))


PLANTED: Mapping[str, Callable[[Story], None]] = {
    names.NO_GRAPH: no_graph,
    names.TREE: tree,
    names.NCCL: nccl,
    names.VERIFY: verify,
    names.DRAFT: draft,
    names.HOST: host,
    names.ACCEPTANCE: acceptance,
    names.BASE: base,
    names.STALE: stale,
    names.HEAT: heat,
    names.DRIFT: drift,
    names.MODES: modes,
    names.SLOW_RANK: slow_rank,
}


def told(*causes: str) -> Story:
    """Let causes happen one after the other; those that multiply what is there come first, as they act on all of it."""
    story = Story()
    for cause in sorted(causes, key=[*PLANTED].index, reverse=True):
        PLANTED[cause](story)
    return story
