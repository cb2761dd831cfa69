"""A machine whose speed is known on every side of a change: each unit costs what the test says."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tests.verdicts.evidence import make_launch, make_rig, make_slate, series
from tokgate.records import Launch, LaunchEvidence, SamplingStep, StartCause, StartFailure
from tokgate.records.side import BASE, HEAD, SideProof, SidesMade, SideState, Unit, upto
from tokgate.rig.models import Rig
from tokgate.rig.sides import SearchSpec, SidesSpec
from tokgate.session.culprit import CulpritSearch

ARM = "eagle3-2step"
TOK_S = 94.0
# What single server runs lie about their side's own speed, in turn: the spread of one H200 at one stream.
RUNS = (0.0010, -0.0006, 0.0002, -0.0012, 0.0007, -0.0001, 0.0011, -0.0009)
STARTS = (0.0004, -0.0005, 0.0001, -0.0002, 0.0005, -0.0003)


def unit(number: int, *, file: str = "", kind: str = "commit") -> Unit:
    commit = f"{number:02d}" * 20
    name = f"{commit[:10]} change {number}" if kind == "commit" else f"{number:04d}-change.patch"
    file = file or f"python/sglang/srt/part_{number}.py"
    return Unit.model_validate({"name": name, "kind": kind, "id": commit, "files": (file,)})


def made(units: Sequence[Unit], *, without: Sequence[str] = ()) -> SidesMade:
    """Every side of the change but those that cannot be made."""
    total = len(units)
    names = [upto(k, total) for k in range(total + 1)]
    return SidesMade(
        units=tuple(units),
        sides=tuple(
            SideState(
                name=name,
                kind="worktree",
                root=f"/srv/tokgate/sides/run/{name}/python",
                source="/home/me/sglang",
                commit="ab" * 20,
                tree=name,
            )
            for name in names
            if name not in without
        ),
    )


def search_rig(*, inside: bool = False, **changes: Any) -> Rig:
    search = SearchSpec(arm=ARM, inside=inside)
    sides = SidesSpec(base="main", head="feature", question="culprit", search=search)
    fast = {"gpu_time_s": 2000.0, **changes.pop("sampling", {})}
    return make_rig(sampling=fast, **changes).model_copy(update={"sides": sides})


class Machine:
    """Measures what it is asked for: `costs` of the units, `broken` sides that do not start, `unmade` ones that cannot be made."""

    def __init__(
        self,
        costs: Sequence[float],
        *,
        units: Sequence[Unit] = (),
        broken: Sequence[str] = (),
        unmade: Sequence[str] = (),
        drift: float = 0.0,
        spread: float = 1.0,
        seconds: float = 60.0,
        company: float = 1.0,
    ) -> None:
        """`company`: what the speed of the whole change without a unit is multiplied with, beside what its parts make."""
        self.costs = costs
        self.units = tuple(units) or tuple(unit(number) for number in range(1, len(costs) + 1))
        self.sides_made = made(self.units, without=unmade)
        self.launches: list[LaunchEvidence] = []
        self.kept: list[SamplingStep] = []
        self.said: list[str] = []
        self._broken, self._unmade = broken, unmade
        self._drift, self._spread, self._seconds, self._company = drift, spread, seconds, company

    def searched(self) -> tuple[LaunchEvidence, ...]:
        return tuple(self.launches)

    def measured(self, launch: Launch) -> LaunchEvidence:
        self.launches.append(self._run(launch))
        return self.launches[-1]

    @property
    def asked(self) -> list[str]:
        """The sides that were measured, in order."""
        return [str(one.launch.side) for one in self.launches]

    def speed(self, side: str) -> float:
        if side.startswith("without-"):
            lacks = int(side.removeprefix("without-"))
            costs = [cost for number, cost in enumerate(self.costs, start=1) if number != lacks]
            return TOK_S * math.prod(1 - cost for cost in costs) * self._company
        count = {BASE: 0, HEAD: len(self.costs)}.get(side)
        count = int(side.removeprefix("upto-")) if count is None else count
        return TOK_S * math.prod(1 - cost for cost in self.costs[:count])

    def _run(self, launch: Launch) -> LaunchEvidence:
        side, number = str(launch.side), len(self.launches)
        if side in self._unmade:
            fault = "make the sides of the change: patch 0002 does not apply"
            return LaunchEvidence(launch=launch, faults=(fault,), slate=make_slate(), wall_s=1.0)
        if side in self._broken:
            failure = StartFailure(
                cause=StartCause.CRASHED,
                headline="ImportError: cannot import name 'verify'",
                do="read the log",
            )
            return LaunchEvidence(launch=launch, failure=failure, slate=make_slate(), wall_s=self._seconds)
        own = self.speed(side) * (1 + self._spread * RUNS[number % len(RUNS)] - self._drift * number)
        rates = [own * (1 + start) for start in STARTS]
        found = make_launch(
            series(rates, launch=launch.id, verify_ct=138), id=launch.id, arm=launch.arm, role=launch.role
        )
        proof = SideProof(side=side, root=f"/srv/tokgate/sides/run/{side}/python", processes=3, tree=side)
        return found.model_copy(update={"launch": launch, "ran_from": proof, "wall_s": self._seconds})


def run_search(machine: Machine, rig: Rig) -> None:
    """Have a session search on a machine until it ends; the launches lie in the machine."""
    CulpritSearch(
        rig=rig,
        session=machine,
        behind=lambda: 4 + len(machine.launches),
        say=machine.said.append,
        keep=machine.kept.append,
    ).run()
