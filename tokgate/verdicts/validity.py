"""Whether numbers may be judged at all: what one launch, the runs of an arm, and the bracket around them object to.

Performance checks go through `establish_arm`; what it refuses is `invalid`, never a pass and never a loss. Everything
here is a pure function of the evidence, and none of it looks at a reference or a limit.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tokgate.records import LaunchEvidence, Outcome, Verdict
from tokgate.rig.models import Rig

from .arm_restarts import Stored, modes_do, modes_words, restarts_seen, run_lines, taking
from .clocks import uneven_runs
from .controls_drift import Found, drift_do, drift_of, drift_words, restarts_words, run_words
from .copied import copied
from .establish import Established, establish_workload, invalid
from .headroom import ClientShare, client_share
from .shortfall import Shortfall

_CHECK = "validity"


def establish_arm(
    rig: Rig,
    launches: Sequence[LaunchEvidence],
    workload: str,
    *,
    check: str,
    beside: Sequence[LaunchEvidence] = (),
    baseline_runs: Stored | None = None,
) -> tuple[Established, ...] | Verdict:
    """Establish every server run of one arm, or return the one `invalid` verdict of them all.

    `launches`: the runs of the arm, in order of time. `beside`: the controls before and after, whose drift is in every
    number between them; their own faults are left to whoever compares with them. `baseline_runs`: for what restarts of
    each arm differ by.
    """
    mine = taking(launches, workload)
    if not mine:
        shortfall = Shortfall(
            what=f"no server run took {workload}", do="run the whole session: pytest perf_tests -m eagle3"
        )
        return invalid(check, [shortfall], workload=workload)
    found = [establish_workload(rig, launch, workload, check=check) for launch in mine]
    refused = next((f for f in found if isinstance(f, Verdict)), None)
    if refused is None:
        shortfalls = between_runs(rig, mine, workload, beside=beside, baseline_runs=baseline_runs)
        if not shortfalls:
            return tuple(f for f in found if isinstance(f, Established))
        refused = invalid(check, list(shortfalls), launch=mine[0], workload=workload)
    return refused.model_copy(update={"launches": tuple(launch.launch.id for launch in mine)})


def invalidities(
    rig: Rig,
    launches: Sequence[LaunchEvidence],
    workload: str,
    baseline_runs: Stored | None = None,
) -> tuple[Shortfall, ...]:
    """Return everything that forbids judging `workload` by these launches; pure, no outcome is looked at.

    `launches`: all server runs that the judgement rests on, of one arm or several, controls included; a launch of
    another role than those that stand for their arm is judged by itself. `baseline_runs`: what is stored of each
    arm, so that a session of one run can still be in the other of two modes.
    """
    mine = taking(launches, workload)
    return (*_alone(rig, mine, workload), *between_runs(rig, mine, workload, baseline_runs=baseline_runs))


def with_client(verdict: Verdict, launches: Sequence[LaunchEvidence], workload: str) -> Verdict:
    """Return a verdict that tells how far the client was from its ceiling, in the run where it was nearest to it."""
    found = [client_share(one, workload) for one in taking(launches, workload)]
    shares = [one for one in found if isinstance(one, ClientShare)]
    if not shares:
        return verdict
    nearest = max(shares, key=lambda one: one.share)
    return verdict.model_copy(update={"evidence": (*verdict.evidence, nearest.text())})


def _alone(rig: Rig, launches: Sequence[LaunchEvidence], workload: str) -> Iterable[Shortfall]:
    for launch in launches:
        found = establish_workload(rig, launch, workload, check=_CHECK)
        if isinstance(found, Verdict):
            yield Shortfall(
                what=found.headline.removeprefix(f"{_CHECK} on "), do=found.do or "", evidence=found.evidence
            )


def between_runs(
    rig: Rig,
    launches: Sequence[LaunchEvidence],
    workload: str,
    *,
    beside: Sequence[LaunchEvidence] = (),
    baseline_runs: Stored | None = None,
) -> tuple[Shortfall, ...]:
    """Return what no launch shows by itself: one run under two names, two modes, another clock, drift around them.

    A launch that cannot be judged says nothing here; `establish_arm` and `invalidities` say why it cannot.
    """
    mine, stored = taking(launches, workload), baseline_runs or {}
    arms: dict[str, list[LaunchEvidence]] = {}
    for one in mine:
        if one.launch.stands_for_arm:
            arms.setdefault(one.launch.arm, []).append(one)
    found: list[Shortfall] = []
    for arm, runs in arms.items():
        found += uneven_runs(runs, workload)
        found += _modes(rig, arm, runs, workload, stored)
    known = {one.launch.id for one in mine}
    around = (*mine, *(one for one in beside if one.launch.id not in known))
    found = [*copied(around), *found]
    found += _drifted(rig, [one for one in around if one.launch.stands_for_arm], workload, stored)
    return tuple(found)


def spoiled(verdict: Verdict, shortfalls: Sequence[Shortfall]) -> Verdict:
    """Return a verdict as it stands once its runs turn out unfit to be judged: its numbers stay, its outcome does not."""
    if not shortfalls or verdict.outcome is Outcome.INVALID:
        return verdict
    first = shortfalls[0]
    subject = f" on {verdict.launch}" if verdict.launch is not None else ""
    return verdict.model_copy(
        update={
            "outcome": Outcome.INVALID,
            "headline": f"{verdict.check}{subject}: {first.what}",
            "evidence": (
                *first.evidence,
                *(one.what for one in shortfalls[1:]),
                *verdict.evidence,
            ),
            "do": first.do,
            "needs": None,
            "wanted": {},
        }
    )


def _modes(
    rig: Rig, arm: str, runs: Sequence[LaunchEvidence], workload: str, baseline_runs: Stored
) -> Iterable[Shortfall]:
    seen = restarts_seen(rig, runs, workload, baseline_runs)
    if isinstance(seen, Verdict) or seen[0].gap is None:
        return
    found, metric = seen
    yield Shortfall(
        what=modes_words(arm, workload, found, metric), do=modes_do(found), evidence=run_lines(found, metric)
    )


def _drifted(
    rig: Rig, runs: Sequence[LaunchEvidence], workload: str, baseline_runs: Stored
) -> Iterable[Shortfall]:
    found = drift_of(rig, runs, workload, baseline_runs)
    if isinstance(found, Found) and found.drift.state == "drifted":
        yield Shortfall(
            what=drift_words(found),
            do=drift_do(rig, found.drift, workload) or "",
            evidence=(restarts_words(found.drift), run_words(found)),
        )
