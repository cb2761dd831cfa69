"""When a session stops, and what it measures next: a pure function of how its questions stand.

Group-sequential by server runs: the planned launches are the first look, and each decision to go on makes one more. Look
k may spend 2^-k of a comparison's error rates (stats/bounds.py), so the rates hold whatever this rule does: which arm it
chooses, how many runs it asks for at once and when it gives up may all depend on the numbers (union bound over looks;
Lan and DeMets 1983, "Discrete sequential boundaries for clinical trials", with a spending sequence fixed beforehand).

It goes on only for what is open and can be settled: a clear case, either way, costs nothing beyond the plan, a question
beside a loss that is called is left open, and one that all that is left of the budget could not settle is given up at once. Of several the one is taken up whose
runs settle most per second. Few runs are asked for together, many by halves: a look costs sharper bounds, and half of
many runs may show already that the rest is not needed.

Whatever is started again lies behind the control that closed the bracket of the plan, where a slope would look like a loss.
So restarts of arms bring a restart of the control with them, which comes last (session/restarts.py): the drift check holds
it against the first one. Launches with instruments lie outside of any bracket, in the plan too, and bring none.

Where a change is measured, a restart of its head brings one of its base with it, so that both sides have their runs at
about the same times, whatever the machine does meanwhile.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from tokgate.records.record import Record

from .questions import Question
from .subjects import PHASES

_MOST = 100  # characters of why a question cannot be judged
AT_ONCE = 2  # runs of one arm that are made without a look between them, whatever is wanted


class Stop(Record):
    reason: str
    unsettled: tuple[str, ...] = ()
    hopeless: tuple[str, ...] = ()


class More(Record):
    """Start these again, all of them before the next look."""

    runs: dict[str, int]  # arm, or "ARM+phases" -> restarts
    workloads: tuple[str, ...]  # what they take: those of the questions that they are for
    cost_s: float
    reason: str
    unsettled: tuple[str, ...] = ()
    hopeless: tuple[str, ...] = ()


def what_next(
    questions: Sequence[Question],
    costs: Mapping[str, float],
    left_s: float,
    *,
    left_runs: Mapping[str, int],
    control: str,
    sides: Mapping[str, str] | None = None,
) -> Stop | More:
    """Decide. `costs`: seconds of one more run of each arm, from those made; `left_runs`: restarts still allowed of it.

    `sides`: arm -> the subject of its runs on the base of a change, where one is measured.
    `control`: the arm that closes a round of restarts, unless this session cannot start it or none is left of it. An arm that `costs` or `left_runs` do not name cannot be started again here.
    """
    unsettled = [q for q in questions if not q.settled and not q.moot]
    if not unsettled:
        return Stop(reason=_nothing_open(questions))

    def closed(runs: Mapping[str, int]) -> dict[str, int]:
        both = _balanced(runs, sides or {}, left_runs)
        return {**both, control: 1} if _open(both, control, costs, left_runs) else both

    within = [q for q in unsettled if not q.hopeless and _fits(closed(q.wants), costs, left_s, left_runs)]
    told = {
        "unsettled": tuple(q.words for q in unsettled),
        "hopeless": tuple(
            f"{q.words}: {_why_not(q, closed(q.wants), costs, left_s, left_runs)}"
            for q in unsettled
            if q not in within
        ),
    }
    if not within:
        many = "the open question" if len(unsettled) == 1 else f"all {len(unsettled)} open questions"
        first = unsettled[0]
        return Stop(
            reason=f"{many}: not to be settled here; {first.words}: "
            f"{_why_not(first, closed(first.wants), costs, left_s, left_runs)}",
            **told,
        )
    chosen = max(
        within, key=lambda q: (_settled_by(q.wants, within) / _cost(closed(q.wants), costs), -within.index(q))
    )
    runs = {arm: n if n <= AT_ONCE else math.ceil(n / 2) for arm, n in chosen.wants.items()}
    served = [q for q in within if set(q.wants) <= set(runs)]
    others = len(served) - 1
    more = f" (and {others} more question{'s' if others > 1 else ''})" if others else ""
    return More(
        runs=closed(runs),
        workloads=tuple(dict.fromkeys(q.workload for q in served)),
        cost_s=_cost(closed(runs), costs),
        reason=f"{chosen.why}{more}",
        **told,
    )


def _nothing_open(questions: Sequence[Question]) -> str:
    """Say what became of the questions where none is left to sample for; what is invalid is not settled."""
    void = [q for q in questions if q.void]
    if void and len(void) == len(questions):
        return f"nothing can be judged, and restarts mend nothing: {_short(void[0].why)}"
    beside = sum(q.moot for q in questions)
    rest = [f"{beside} beside a loss that is called"] if beside else []
    rest += [f"{len(void)} that cannot be judged ({_short(void[0].why)})"] if void else []
    return "every question is settled" + (f" but {' and '.join(rest)}" if rest else "")


def _short(why: str) -> str:
    """Its verdict, and all that fail with it, say the same in full."""
    return why if len(why) <= _MOST else f"{why[: _MOST - 1]}…"


def _open(
    runs: Mapping[str, int], control: str, costs: Mapping[str, float], left_runs: Mapping[str, int]
) -> bool:
    """Whether timed runs of other arms would come after the last control, and one more of it can be had."""
    timed = any(not arm.endswith(PHASES) for arm in runs if arm != control)
    return timed and control not in runs and control in costs and left_runs.get(control, 0) > 0


def _balanced(
    runs: Mapping[str, int], sides: Mapping[str, str], left_runs: Mapping[str, int]
) -> dict[str, int]:
    """Add what the other side of a change is to be started again beside these, as far as it may be.

    A question that asks for the base knows best how many of each it lacks.
    """
    beside = {
        base: more
        for arm, base in sides.items()
        if arm in runs and base not in runs and (more := min(runs[arm], left_runs.get(base, 0)))
    }
    return {**runs, **beside}


def _cost(runs: Mapping[str, int], costs: Mapping[str, float]) -> float:
    return math.fsum(n * costs[arm] for arm, n in runs.items())


def _fits(
    runs: Mapping[str, int], costs: Mapping[str, float], left_s: float, left_runs: Mapping[str, int]
) -> bool:
    return (
        all(arm in costs and n <= left_runs.get(arm, 0) for arm, n in runs.items())
        and _cost(runs, costs) <= left_s
    )


def _settled_by(runs: Mapping[str, int], questions: Sequence[Question]) -> int:
    return sum(all(runs.get(arm, 0) >= n for arm, n in q.wants.items()) for q in questions)


def _why_not(
    question: Question,
    runs: Mapping[str, int],
    costs: Mapping[str, float],
    left_s: float,
    left_runs: Mapping[str, int],
) -> str:
    """`runs`: what it wants, with the control that closes them."""
    if question.hopeless:
        return "no number of restarts in this session would settle it"
    wanted = " and ".join(f"{n} more of {arm}" for arm, n in question.wants.items())
    unknown = [arm for arm in question.wants if arm not in costs or arm not in left_runs]
    if unknown:
        return f"wants {wanted}, and {', '.join(unknown)} cannot be started here"
    if any(n > left_runs[arm] for arm, n in question.wants.items()):
        most = ", ".join(f"{left_runs[arm]} of {arm}" for arm in question.wants)
        return f"wants {wanted}; {most} are left (sampling.most_restarts)"
    closing = [arm for arm in runs if arm not in question.wants]
    beside = f" and {closing[0]} behind them" if closing else ""
    return f"wants {wanted}{beside}, some {_cost(runs, costs):.0f} s; {left_s:.0f} s are left (sampling.gpu_time_s)"
